import os
import re

import numpy as np
import pandas as pd
import pytest
from rewriting import rewrite
from safetensors.numpy import save_file

from setrbm import Bags, ClassRBM, ClassSetRBM, ClassSetRBMCV, load
from setrbm._json_values import to_json
from setrbm.datasets import load_musk1
from setrbm.persistence.model_file import FORMAT, METADATA

RNG = np.random.default_rng(0)
X = RNG.random((12, 3, 4))
Y = np.arange(12) % 2


@pytest.fixture
def model():
    return ClassSetRBM(n_hidden=5, max_epochs=3, random_state=0).fit(X, Y)


@pytest.fixture
def path(tmp_path, model):
    path = tmp_path / "model.safetensors"
    model.save(path)
    return path


@pytest.mark.parametrize(
    "estimator",
    [
        ClassSetRBM(constraint="or", pooling="soft", objective="hybrid", max_epochs=3, random_state=1),
        ClassSetRBM(max_epochs=2, scale=None, class_weight={"yes": 2.0, "no": 1.0}),
        ClassSetRBMCV(learning_rate=(0.01, 1e6), init_scale=0.1, max_epochs=4, random_state=np.random.RandomState(0)),
    ],
    ids=["hybrid", "weights", "cv"],
)
def test_a_loaded_model_predicts_the_same_to_the_bit_and_knows_its_settings(tmp_path, estimator):
    labels = np.array(["no", "yes"])[Y]
    frame = pd.DataFrame(X.reshape(36, 4), columns=list("abcd")).assign(bag=np.repeat(np.arange(12), 3))
    bags = Bags.from_frame(frame)
    estimator.fit(bags, labels).save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert type(again) is type(estimator)
    np.testing.assert_array_equal(again.predict_proba(bags), estimator.predict_proba(bags))
    assert list(again.predict(bags)) == list(estimator.predict(bags))
    settings = estimator.get_params() | {"random_state": again.random_state}
    assert again.get_params() == settings
    assert again.history_.keys() == estimator.history_.keys()
    assert list(again.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(again.explain(bags).drop, estimator.explain(bags).drop)


@pytest.mark.parametrize("labels", [[0, 1], [1.0, 2.0], [False, True], ["a", "b"], np.array(["a", "b"], dtype=object)])
def test_labels_of_every_kind_come_back_with_their_type(tmp_path, labels):
    y = np.asarray(labels)[Y]
    ClassSetRBM(n_hidden=2, max_epochs=1).fit(X, y).save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.classes_.dtype == y.dtype
    assert again.classes_.tolist() == list(labels)


def test_a_loaded_model_can_continue_training(tmp_path):
    rows = X[:, 0]
    once = ClassRBM(n_hidden=3, random_state=0).partial_fit(rows, Y, classes=[0, 1])
    once.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").partial_fit(rows, Y).W_, once.partial_fit(rows, Y).W_)


def test_every_truncation_gets_a_clear_error(path):
    whole = path.read_bytes()
    for length in [0, 4, 8, 50, len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="must be a model file written by save"):
            load(path)


def test_every_flipped_byte_is_noticed_and_the_file_named(path):
    whole = path.read_bytes()
    for at in [*range(0, len(whole), 37), len(whole) - 1]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1 :])
        with pytest.raises(ValueError, match=re.escape(str(path))):
            load(path)


def test_other_files_are_refused(tmp_path):
    save_file({"W": np.zeros(3)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="without a description of a model"):
        load(tmp_path / "other.safetensors")
    (tmp_path / "pickle").write_bytes(b"\x80\x04cos\nsystem\n(S'touch hacked'\ntR.")
    with pytest.raises(ValueError, match="must be a model file"):
        load(tmp_path / "pickle")
    assert not (tmp_path / "hacked").exists()
    with pytest.raises(FileNotFoundError, match="no model file"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize("version", [0, -1, True, 1.5, "2", None])
def test_a_file_format_that_never_was_is_refused(path, version):
    rewrite(path, lambda header, arrays: header.update(format=version))
    with pytest.raises(ValueError, match="without a description of a model"):
        load(path)


def test_endless_nesting_in_a_description_is_refused(path):
    def nest(header, arrays):
        header["settings"] = 1
        for _ in range(900):
            header["settings"] = [header["settings"]]

    rewrite(path, nest)
    with pytest.raises(ValueError, match=re.escape(str(path))):
        load(path)
    text = '{"format": 2, "kind": "ClassSetRBM", "settings": ' + "[" * 100_000 + "]" * 100_000 + "}"
    save_file({"W": np.zeros(3)}, path, metadata={METADATA: text})
    with pytest.raises(ValueError, match=re.escape(str(path))):
        load(path)


@pytest.mark.parametrize("version", [FORMAT + 1, 99])
def test_a_newer_file_format_asks_for_an_upgrade(path, version):
    rewrite(path, lambda header, arrays: header.update(format=version, version="7.0"))
    cure = f"This version reads formats up to {FORMAT}. Upgrade setrbm to load it."
    with pytest.raises(ValueError, match=rf"newer version of setrbm \(7.0, file format {version}\). {cure}"):
        load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda header, arrays: header.update(kind="os.system"),
        lambda header, arrays: arrays.pop("U"),
        lambda header, arrays: arrays.update(W=np.zeros((2, 2))),
        lambda header, arrays: header["settings"]["pairs"].append(["__class__", "evil"]),
        lambda header, arrays: header.update(classes={"dtype": "V8", "values": []}),
        lambda header, arrays: header.pop("history"),
        lambda header, arrays: arrays.update(b=np.zeros(())),
        lambda header, arrays: arrays.update(W=arrays["W"].astype(np.int64)),
        lambda header, arrays: arrays.update(W=np.full_like(arrays["W"], np.nan)),
        lambda header, arrays: arrays.update(scale_low=np.zeros(1)),
        lambda header, arrays: header.update(classes={"dtype": "<i8", "values": [0]}),
        lambda header, arrays: header.update(classes={"dtype": "<i8", "values": [1, 0]}),
        lambda header, arrays: header.update(classes={"dtype": "<i8", "values": [10**30, 1]}),
        lambda header, arrays: header.update(classes={"dtype": "<U99999999", "values": ["a", "b"]}),
        lambda header, arrays: header.update(classes={"dtype": "O", "values": [["a"], "b"]}),
        lambda header, arrays: header.update(feature_names=["a"]),
        lambda header, arrays: header.update(feature_names="abcd"),
        lambda header, arrays: header.update(seed={"float": "inf"}),
        lambda header, arrays: header.update(settings=[1, 2]),
        lambda header, arrays: header.update(kind=["ClassSetRBM"]),
        lambda header, arrays: header.update(scale_floor=0.5),
        lambda header, arrays: header.update(n_epochs=-1),
        lambda header, arrays: header.update(history=[1]),
    ],
    ids=[
        "kind",
        "missing array",
        "wrong shape",
        "unknown setting",
        "odd classes",
        "missing part",
        "no dimension",
        "integers",
        "nan",
        "scale shape",
        "one class",
        "unsorted",
        "huge label",
        "long dtype",
        "nested label",
        "few names",
        "names as text",
        "odd seed",
        "odd settings",
        "kind as list",
        "odd floor",
        "negative epochs",
        "odd history",
    ],
)
def test_hostile_descriptions_are_refused(path, change):
    rewrite(path, change)
    with pytest.raises(ValueError, match=str(path)):
        load(path)


def test_a_failed_write_leaves_the_old_file_whole_and_nothing_beside_it(path, model, monkeypatch):
    before = path.read_bytes()

    def fail(handle):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        model.save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_an_unfitted_model_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        ClassSetRBM().save(tmp_path / "m")


def test_a_selected_setting_that_is_invalid_is_refused(tmp_path):
    model = ClassSetRBMCV(5, pooling=("soft", "hard"), learning_rate=0.1, init_scale=0.1, max_epochs=2).fit(X, Y)
    model.cv_results_["params"][model.best_index_]["pooling"] = "zz"
    with pytest.raises(ValueError, match="pooling must be one of 'soft', 'hard', 'mean', 'mixed'. Got 'zz'"):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("temperature", [0, -1, 2.5, 4, 99, "5", None, True, {"float": "nan"}])
def test_an_invalid_temperature_is_refused(tmp_path, temperature):
    bags, y = load_musk1()
    settings = {"learning_rate": 0.1, "init_scale": 0.3, "max_epochs": 2, "random_state": 0}
    model = ClassSetRBMCV(2, pooling="hard", n_fits=3, **settings).fit(bags, y)
    model.save(tmp_path / "average")
    assert load(tmp_path / "average").temperature_ == 3.0
    rewrite(tmp_path / "average", lambda header, arrays: header.update(temperature=temperature))
    with pytest.raises(ValueError, match="average"):
        load(tmp_path / "average")


def test_the_temperature_of_a_single_model_is_one(path):
    rewrite(path, lambda header, arrays: header.update(temperature=2.0))
    with pytest.raises(ValueError, match="temperature must be the number of fits averaged"):
        load(path)


def test_files_of_versions_without_averages_are_read(path):
    rewrite(path, lambda header, arrays: header.pop("temperature"))
    assert load(path).temperature_ == 1.0


def change_setting(header, name, value):
    header["settings"]["pairs"] = [
        [key, value if key == name else old] for key, old in header["settings"]["pairs"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("engine", {"pairs": []}),
        ("engine", "abacus"),
        ("engine", None),
        ("n_jobs", 0),
        ("n_jobs", "two"),
        ("class_weight", "heavy"),
        ("class_weight", {"pairs": [[0, -1.0]]}),
        ("class_weight", 3),
    ],
)
def test_every_setting_is_checked_on_load(path, name, value):
    rewrite(path, lambda header, arrays: change_setting(header, name, value))
    with pytest.raises(ValueError, match=f"{re.escape(str(path))}.*{name}"):
        load(path)


@pytest.mark.parametrize(("name", "value"), [("pooling", "mixed"), ("scale", "center"), ("early_stopping", "auto")])
def test_what_a_single_model_cannot_be_fitted_with_is_refused_on_load(path, name, value):
    rewrite(path, lambda header, arrays: change_setting(header, name, value))
    with pytest.raises(ValueError, match=f"{re.escape(str(path))}.*{name} must be"):
        load(path)


@pytest.fixture
def mixture(tmp_path):
    """The file of a mixture of five models with three hidden units each."""
    ClassSetRBMCV(3, n_fits=5, learning_rate=0.1, max_epochs=2, random_state=0).fit(X, Y).save(tmp_path / "mixture")
    assert load(tmp_path / "mixture").settings_.pooling == "mixed"
    return tmp_path / "mixture"


@pytest.mark.parametrize("temperature", [1.0, 3.0, 15.0])
def test_a_mixture_must_have_as_many_fits_for_each_part(mixture, temperature):
    rewrite(mixture, lambda header, arrays: header.update(temperature=temperature))
    if temperature % 5:
        with pytest.raises(ValueError, match=f"mixture.*Mixed pooling needs a multiple of 5 fits. Got {temperature:g}"):
            load(mixture)
    else:
        assert load(mixture).predict(X).shape == Y.shape


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0, 7.0, 14.0])
def test_a_mixture_whose_hidden_units_cannot_be_parted_is_refused_on_load(mixture, temperature):
    def cut(header, arrays):
        arrays.update({letter: arrays[letter][:-1].copy() for letter in "WUc"})
        header.update(temperature=temperature)

    rewrite(mixture, cut)
    with pytest.raises(ValueError, match="mixture"):
        load(mixture)


@pytest.mark.parametrize(
    "kept",
    [
        "mixed", ["pooling"], None, 3, {"pooling": "max"}, {"pooling": None}, {"pooling": ["hard"]}, {"scale": "log"},
        {"scale": {}},
    ],
    ids=str,
)  # fmt: skip
def test_a_hostile_account_of_what_was_kept_is_refused(mixture, kept):
    rewrite(mixture, lambda header, arrays: header.update(kept=kept))
    with pytest.raises(ValueError, match=re.escape(str(mixture))):
        load(mixture)


def test_a_single_model_cannot_be_called_a_mixture(tmp_path):
    settings = {"pooling": "hard", "n_fits": 1, "learning_rate": 0.1, "max_epochs": 2, "random_state": 0}
    ClassSetRBMCV(5, **settings).fit(X, Y).save(tmp_path / "single")
    rewrite(tmp_path / "single", lambda header, arrays: header.update(kept={"pooling": "mixed", "scale": "auto"}))
    with pytest.raises(ValueError, match="single.*Mixed pooling needs a multiple of 5 fits. Got 1"):
        load(tmp_path / "single")


def test_files_that_do_not_say_what_was_kept_keep_what_was_chosen(mixture):
    expected = load(mixture)
    rewrite(mixture, lambda header, arrays: header.pop("kept"))
    again = load(mixture)
    assert again.settings_ == expected.settings_
    np.testing.assert_array_equal(again.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("letter", ["W", "U", "b", "c", "d"])
@pytest.mark.parametrize("value", [np.finfo(np.float64).max, -1.001e8])
def test_parameters_beyond_what_training_allows_are_refused_on_load(path, letter, value):
    def change(header, arrays):
        arrays[letter].flat[-1] = value

    rewrite(path, change)
    message = f"{letter} must hold values of at most 1e+08 in size. Got {value:g}"
    with pytest.raises(ValueError, match=f"{re.escape(str(path))}.*{re.escape(message)}"):
        load(path)


def test_parameters_at_the_limit_and_scaling_of_large_raw_values_are_loaded(tmp_path):
    model = ClassSetRBM(n_hidden=2, max_epochs=2, random_state=0).fit(X * 1e12 - 1e15, Y)
    model.W_[0, 0] = -1e8
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X * 1e12 - 1e15), model.predict_proba(X * 1e12 - 1e15))


@pytest.mark.parametrize("change", [{"learning_rate": (0.1, 0.2)}, {"constraint": "or"}, {"max_epochs": 7}])
@pytest.mark.parametrize("kind", [ClassSetRBM, ClassSetRBMCV])
def test_settings_changed_after_a_fit_are_not_saved(tmp_path, kind, change):
    bags, y = load_musk1()
    model = kind(5, learning_rate=0.1, init_scale=0.3, max_epochs=2, random_state=0).fit(bags, y)
    expected = model.predict_proba(bags)
    model.set_params(**change).save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_proba(bags), expected)
    assert again.settings_ == model.settings_


def test_a_setting_that_cannot_be_loaded_is_refused_when_the_model_is_saved(tmp_path):
    bags, y = load_musk1()
    model = ClassSetRBM(5, max_epochs=2, random_state=0).fit(bags, y).set_params(engine="nonsense")
    with pytest.raises(ValueError, match="engine must be one of"):
        model.save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("stopping", ["likelihood", "error"])
@pytest.mark.parametrize("dropped", ["dropped", "left_behind"])
def test_files_of_the_first_format_give_scores_where_higher_is_better(tmp_path, stopping, dropped):
    bags, y = load_musk1()
    path = tmp_path / "model.safetensors"
    settings = {"init_scale": 0.3, "max_epochs": 3, "stopping": stopping, "random_state": 0}
    model = ClassSetRBMCV(5, learning_rate=(0.1, 1e9), **settings).fit(bags, y)
    model.save(path)
    loss = -model.best_score_ if stopping == "likelihood" else 1.0 - model.best_score_

    def as_before(header, arrays):
        results = {
            "params": model.cv_results_["params"], "score": [loss, np.inf], "best_epoch": [3, 1],
            "diverged": [False, True], dropped: [False, False], "history": model.cv_results_["split0_history"],
        }  # fmt: skip
        chosen = {"best_params": model.best_params_, "best_score": loss, "results": results}
        header["chosen"] = to_json(chosen)

    rewrite(path, as_before)
    again = load(path)
    assert again.best_score_ == pytest.approx(model.best_score_, rel=1e-12)
    assert again.best_params_ == model.best_params_
    assert list(again.cv_results_) == list(model.cv_results_)
    for name in ("mean_test_score", "rank_test_score", "diverged", "dropped", "param_learning_rate"):
        np.testing.assert_allclose(again.cv_results_[name], model.cv_results_[name], rtol=1e-12)


def test_a_calibrated_model_is_saved_with_its_temperature(tmp_path):
    bags, y = load_musk1()
    path = tmp_path / "model.safetensors"
    settings = {"learning_rate": 0.1, "init_scale": 0.3, "max_epochs": 20, "calibrate": True, "random_state": 0}
    model = ClassSetRBMCV(5, **settings).fit(bags, y)
    model.save(path)
    assert load(path).calibration_temperature_ == model.calibration_temperature_ != 1.0
    np.testing.assert_array_equal(load(path).predict_proba(bags), model.predict_proba(bags))
    for value in (0, -1.0, "1", None, True, {"float": "inf"}):
        rewrite(path, lambda header, arrays, value=value: header.update(calibration_temperature=value))
        with pytest.raises(ValueError, match="calibration_temperature must be a positive number"):
            load(path)
