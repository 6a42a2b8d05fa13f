"""The command line with page texts, and with pipelines as model files."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from command_line import answer, run
from setrbm import Bags, ClassRBM, ClassSetRBM, ClassSetRBMCV, load, save
from setrbm.datasets import read_bags, read_pages, write_csv
from setrbm.estimators import InputPooling, PerVector, SetSVC
from setrbm.selective import RejectOption
from setrbm.text import PageWords

QUICK = ("--epochs", "40", "--hidden", "4", "--learning-rate", "0.3", "--engine", "cpu")
TOPICS = {"bill": "Invoice: amount due 40 euros, total 99", "end": "I want to cancel my contract, please cancel it"}


def documents(n_documents=20):
    """Return documents whose second page decides."""
    rng = np.random.default_rng(0)
    filler = ["dear", "sir", "terms", "of", "sale", "page", "kind", "regards"]
    for k in range(n_documents):
        label = ["bill", "end"][k % 2]
        pages = [" ".join(rng.choice(filler, 5)) for _ in range(rng.integers(2, 5))]
        yield {"bag": f"doc{k}", "label": label, "pages": [pages[0], TOPICS[label], *pages[1:]], "date": k}


def written(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def mail(tmp_path_factory):
    """A folder with mail.jsonl and a model fitted on it."""
    folder = tmp_path_factory.mktemp("mail")
    written(folder / "mail.jsonl", documents())
    result = run("fit", folder / "mail.jsonl", folder / "m.safetensors", *QUICK)
    assert result.exit_code == 0, result.stderr
    return folder


# --- page texts ---


def test_a_model_of_texts_is_the_one_the_library_would_fit(mail, tmp_path):
    fitted = load(mail / "m.safetensors")
    settings = {"max_epochs": 40, "n_hidden": 4, "learning_rate": 0.3, "engine": "cpu", "random_state": 0}
    texts = read_pages(mail / "mail.jsonl")
    same = make_pipeline(PageWords(), ClassSetRBMCV.for_text(**settings)).fit(texts, texts.y)
    np.testing.assert_array_equal(fitted.predict_proba(texts), same.predict_proba(texts))
    given = load_settings(mail, tmp_path, "--scale", "auto")
    assert (given.scale, given.learning_rate) == ("auto", 0.3)


def load_settings(mail, tmp_path, *options):
    assert run("fit", mail / "mail.jsonl", tmp_path / "m", *QUICK, *options).exit_code == 0
    return load(tmp_path / "m")[-1]


def test_the_summary_of_a_fit_counts_pages_and_words(mail, tmp_path):
    shown = run("fit", mail / "mail.jsonl", tmp_path / "m", *QUICK).stdout
    assert "chosen     40 epochs\n" in shown
    words = len(load(tmp_path / "m")[0].words_)
    n_pages = read_pages(mail / "mail.jsonl").n_pages
    assert f"sets       20, with {n_pages} pages; {words} words\n" in shown
    found = answer("fit", mail / "mail.jsonl", tmp_path / "other", *QUICK)
    assert (found["sets"], found["pages"], found["features"]) == (20, n_pages, words)


def test_progress_is_shown_for_texts_too(mail, tmp_path, monkeypatch):
    monkeypatch.setattr("setrbm.tools.progress.SECONDS_BETWEEN_LINES", 0.0)
    shown = run("fit", mail / "mail.jsonl", tmp_path / "m", *QUICK).stderr
    assert "Fitting: choosing settings, epoch 1/40" in shown
    assert "Fitting: refitting on all sets" in shown


def test_training_that_diverges_names_the_options_for_texts_too(mail, tmp_path):
    result = run("fit", mail / "mail.jsonl", tmp_path / "m", "--learning-rate", "1e30", "--engine", "reference")
    assert result.exit_code == 1
    assert "Training diverged with --learning-rate 1e+30. Use a smaller one" in result.stderr


def test_documents_are_predicted_without_labels(mail, tmp_path):
    new = written(tmp_path / "new.jsonl", ({"id": k, "texts": one["pages"]} for k, one in enumerate(documents(4))))
    shown = run("predict", mail / "m.safetensors", new, "--bag", "id", "--pages", "texts").stdout
    assert [row.split(",")[:2] for row in shown.splitlines()] == [
        ["id", "label"], ["0", "bill"], ["1", "end"], ["2", "bill"], ["3", "end"],
    ]  # fmt: skip
    found = answer("predict", mail / "m.safetensors", mail / "mail.jsonl", "--proba")["sets"]
    texts = read_pages(mail / "mail.jsonl")
    p = load(mail / "m.safetensors").predict_proba(texts)
    np.testing.assert_array_equal([list(one["probabilities"].values()) for one in found], p)
    assert [one["set"] for one in found] == texts.ids.tolist()


def test_documents_without_a_known_word_are_counted(mail, tmp_path):
    pages = [["xyzzy", ""], [TOPICS["bill"]], [""], ["", "contract"]]
    new = written(tmp_path / "new.jsonl", ({"bag": f"n{k}", "pages": one} for k, one in enumerate(pages)))
    result = run("predict", mail / "m.safetensors", new)
    assert "2 of 4 documents have no known word: their class is a guess, whatever its probability." in result.stderr
    assert len(result.stdout.splitlines()) == 5
    assert answer("predict", mail / "m.safetensors", new)["without_known_words"] == ["n0", "n2"]
    written(new, [{"pages": [""]}])
    assert (
        "1 of 1 document has no known word: its class is a guess" in run("predict", mail / "m.safetensors", new).stderr
    )
    result = run("predict", mail / "m.safetensors", mail / "mail.jsonl")
    assert "known word" not in result.stderr
    assert answer("predict", mail / "m.safetensors", mail / "mail.jsonl")["without_known_words"] == []


def test_a_model_of_texts_is_scored(mail):
    found = answer("evaluate", mail / "mail.jsonl", "--model", mail / "m.safetensors")
    assert (found["predictions"], found["accuracy"]) == (20, 1.0)


def test_cross_validation_makes_the_vocabulary_in_each_training_part(mail, monkeypatch):
    seen = []
    fit_transform = PageWords.fit_transform

    def watched(self, X, y=None):
        seen.append(X.ids.tolist())
        return fit_transform(self, X, y)

    monkeypatch.setattr(PageWords, "fit_transform", watched)
    found = answer("evaluate", mail / "mail.jsonl", "--folds", "2", *QUICK)
    assert (found["predictions"], found["accuracy"]) == (20, 1.0)
    assert sorted(seen[0] + seen[1]) == sorted(f"doc{k}" for k in range(20))


def test_an_explanation_shows_the_page_its_words_and_a_snippet(mail):
    shown = run("explain", mail / "m.safetensors", mail / "mail.jsonl", "--set", "doc0", "--set", "doc1").stdout
    bill, end = re.split("(?=Set doc1)", shown)
    assert re.match(r"Set doc0: class bill with probability 0\.\d+; no single page decided; the largest drop is", bill)
    assert "Words of page 2: " in bill
    assert "amount +" in bill
    assert TOPICS["bill"] in bill
    assert not re.search(r" decided *$", bill, re.MULTILINE), "without words the class is bill, too"
    assert re.match(r"Set doc1: class end with probability 0\.\d+; page 2 decided\n", end)
    assert re.findall(r"^ +(\d+) .* decided *$", end, re.MULTILINE) == ["2"]


def test_an_explanation_as_json_holds_the_same(mail):
    found = answer("explain", mail / "m.safetensors", mail / "mail.jsonl", "--class", "end", "--top", "2")["sets"]
    texts = read_pages(mail / "mail.jsonl")[:5]
    fitted = load(mail / "m.safetensors")
    explained = fitted[-1].explain(fitted[:-1].transform(texts), ["end"] * 5)
    assert [one["set"] for one in found] == texts.ids.tolist()
    for one, part in zip(found, explained, strict=True):
        assert one["explained"] == "end"
        assert [page["drop"] for page in one["pages"]] == part.drop.tolist()
        assert [page["decided"] for page in one["pages"]] == part.decided.tolist()
        assert [page["page"] for page in one["pages"]] == list(range(1, len(part.drop) + 1))
        assert one["strongest_page"] == part.drop.argmax() + 1
    about = found[1]
    assert about["strongest_page"] == 2
    assert len(about["words"]) == 2
    assert about["words"][0]["contribution"] >= about["words"][1]["contribution"] > 0.0
    # A "word" may be a pair of words, which must then stand side by side in the text.
    assert all(
        f" {word['word']} " in f" {TOPICS['end'].lower().replace(',', '').rstrip('.')} " for word in about["words"]
    )
    assert about["snippet"] == TOPICS["end"]


def test_a_document_without_known_words_is_explained_too(mail, tmp_path):
    new = written(tmp_path / "new.jsonl", [{"pages": ["", ""]}])
    shown = run("explain", mail / "m.safetensors", new).stdout
    assert "Set 1: class " in shown
    assert "no single page decided; the largest drop is 0" in shown
    assert "No known word: the class is a guess, whatever its probability." in shown


@pytest.mark.parametrize("label", ["bill", "end"])
def test_the_page_with_a_known_word_comes_first_whichever_class_is_explained(mail, tmp_path, label):
    new = written(tmp_path / "new.jsonl", [{"pages": ["xyzzy", TOPICS["bill"]]}])
    found = answer("explain", mail / "m.safetensors", new, "--class", label)["sets"]
    assert found[0]["strongest_page"] == 2


def test_the_only_page_of_a_document_has_no_drop_and_no_verdict(mail, tmp_path):
    new = written(tmp_path / "new.jsonl", [{"bag": "one", "pages": [TOPICS["bill"]]}])
    found = answer("explain", mail / "m.safetensors", new)["sets"]
    assert [(page["drop"], page["decided"]) for page in found[0]["pages"]] == [(None, False)]
    shown = run("explain", mail / "m.safetensors", new).stdout
    assert re.search(r"^Set one: class bill with probability 0\.\d+; it has only one page$", shown, re.MULTILINE)
    assert re.search(r"^ +1 +0\.\d+ *$", shown, re.MULTILINE), "page, no drop, p alone"
    assert TOPICS["bill"] in shown


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"pages": ["x"]}], "Every line must have a value in the field 'label'. Got 'pages' in line 1 of"),
        ([{"label": "a", "pages": ["x"]}] * 2, "must have at least two classes. Got one: a for all 2 sets"),
        (
            [{"label": k + 0.5, "pages": ["x"]} for k in range(4)],
            "must have classes. Got numbers with decimals, the first 0.5 for set 1",
        ),
        (
            [{"label": "ab"[k % 2], "pages": ["?"]} for k in range(4)],
            "At least one training page must have a word, that is",
        ),
    ],
)
def test_texts_that_cannot_be_learned_from_are_refused_in_one_sentence(tmp_path, records, message):
    result = run("fit", written(tmp_path / "bad.jsonl", records), tmp_path / "m", *QUICK)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_a_field_of_unknown_labels_is_named(mail, tmp_path):
    new = written(tmp_path / "new.jsonl", [{"label": "letter", "pages": ["x"]}])
    result = run("evaluate", new, "--model", mail / "m.safetensors")
    assert result.exit_code == 1
    assert "Field 'label' of" in result.stderr
    assert "must hold classes the model has learned: bill, end. Got letter for set 1." in result.stderr


@pytest.mark.parametrize("other", ["--bag", "--label"])
def test_a_field_cannot_be_two_things(mail, tmp_path, other):
    result = run("fit", mail / "mail.jsonl", tmp_path / "m", other, "pages")
    assert result.exit_code == 2
    assert "--pages must name another field than --bag and --label. Got 'pages'." in result.stderr


@pytest.mark.parametrize("command", ["fit", "predict", "explain", "evaluate"])
def test_page_texts_have_no_columns_to_ignore(mail, tmp_path, command):
    files = {"fit": (mail / "mail.jsonl", tmp_path / "m"), "evaluate": (mail / "mail.jsonl",)}
    result = run(command, *files.get(command, (mail / "m.safetensors", mail / "mail.jsonl")), "--ignore", "date")
    assert result.exit_code == 2
    assert "--ignore is for columns of CSV and Parquet files. Got 'date' for" in result.stderr
    assert "Leave it out." in result.stderr


@pytest.mark.parametrize("command", ["fit", "evaluate"])
def test_documents_without_a_common_word_need_more_documents(tmp_path, command):
    data = written(tmp_path / "few.jsonl", ({"label": "ab"[k % 2], "pages": [f"word{k}"]} for k in range(4)))
    result = run(command, data, *([tmp_path / "m"] if command == "fit" else ["--folds", "2"]), *QUICK)
    assert result.exit_code == 1
    assert result.stderr.endswith("documents to learn from. Got none. Use more documents.\n")


def test_texts_can_be_learned_generatively(mail, tmp_path):
    fitted = load_settings(mail, tmp_path, "--objective", "hybrid", "--engine", "reference")
    assert fitted.objective == "hybrid"


# --- models and data of different kinds ---


def sets():
    rng = np.random.default_rng(0)
    ids = [f"set{k}" for k in range(12)]
    X = rng.random((24, 2)) + np.repeat(np.arange(12) % 2, 2)[:, np.newaxis]
    return Bags(X, np.arange(0, 25, 2), ids, ["size", "shape"]), np.array(["no", "yes"] * 6)


def test_texts_and_vectors_do_not_go_together(mail, tmp_path):
    write_csv(tmp_path / "data.csv", *sets())
    ClassSetRBM(2, max_epochs=2, random_state=0).fit(*sets()).save(tmp_path / "vectors")
    for model, data, message in (
        (tmp_path / "vectors", mail / "mail.jsonl", "fitted to: vectors. Got page texts in"),
        (mail / "m.safetensors", tmp_path / "data.csv", "fitted to: page texts. Got vectors in"),
    ):
        for arguments in (("predict", model, data), ("explain", model, data), ("evaluate", data, "--model", model)):
            result = run(*arguments)
            assert result.exit_code == 1
            assert f"The data must be of the kind the model was {message}" in result.stderr


# --- pipelines of vectors ---

SHORT = {"max_epochs": 20, "random_state": 0}
PIPELINES = {
    "scaled": lambda: make_pipeline(PerVector(StandardScaler()), ClassSetRBM(3, **SHORT)),
    "pooled": lambda: make_pipeline(InputPooling("max"), StandardScaler(), ClassRBM(3, **SHORT)),
    "nested": lambda: make_pipeline("passthrough", make_pipeline(PerVector(StandardScaler()), ClassSetRBM(3, **SHORT))),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_of_vectors_predicts_explains_and_is_scored(tmp_path, name):
    bags, y = sets()
    write_csv(tmp_path / "data.csv", bags, y)
    model = PIPELINES[name]().fit(bags, y)
    save(model, tmp_path / "m")
    read = read_bags(tmp_path / "data.csv")
    found = answer("predict", tmp_path / "m", tmp_path / "data.csv")["sets"]
    np.testing.assert_array_equal([one["probability"] for one in found], model.predict_proba(read).max(axis=1))
    assert answer("evaluate", tmp_path / "data.csv", "--model", tmp_path / "m")["accuracy"] == model.score(bags, y)
    explained = answer("explain", tmp_path / "m", tmp_path / "data.csv", "--set", "set3", "--set", "set0")["sets"]
    assert [one["set"] for one in explained] == ["set3", "set0"]
    assert [len(one["vectors"]) for one in explained] == ([1, 1] if name == "pooled" else [2, 2])
    known = {"max_size", "max_shape"} if name == "pooled" else {"size", "shape"}
    assert {feature["feature"] for one in explained for feature in one["features"]} == known


def test_the_range_of_what_the_last_step_gets_is_checked(tmp_path):
    bags, y = sets()
    save(PIPELINES["scaled"]().fit(bags, y), tmp_path / "m")
    outside = bags.X.copy()
    outside[0, 1] = 9.0
    write_csv(tmp_path / "data.csv", bags.with_vectors(outside, bags.feature_names))
    found = answer("predict", tmp_path / "m", tmp_path / "data.csv", "--check-range")["range"]
    assert found["values_outside_by_feature"] == {"shape": 1}


def test_pages_pooled_to_one_vector_are_explained_by_features(mail, tmp_path):
    texts = read_pages(mail / "mail.jsonl")
    save(make_pipeline(PageWords(), InputPooling("max"), ClassRBM(3, **SHORT)).fit(texts, texts.y), tmp_path / "m")
    one = answer("explain", tmp_path / "m", mail / "mail.jsonl", "--set", "doc0")["sets"][0]
    assert len(one["vectors"]) == 1
    assert one["features"][0]["feature"].startswith("max_")


def test_a_pipeline_that_cannot_explain_is_refused_by_its_last_step(mail, tmp_path):
    texts = read_pages(mail / "mail.jsonl")
    save(make_pipeline(PageWords(), SetSVC(probability=True)).fit(texts, texts.y), tmp_path / "m")
    assert run("predict", tmp_path / "m", mail / "mail.jsonl").exit_code == 0
    result = run("explain", tmp_path / "m", mail / "mail.jsonl")
    assert result.exit_code == 1
    assert "holds a Pipeline that ends with SetSVC, which has no such method." in result.stderr


def rejecting(folder, texts):
    """Return a reject option with the model of a folder, strict enough to leave some sets to people."""
    frozen = FrozenEstimator(load(folder / "m.safetensors"))
    model = RejectOption(frozen, precision=0.5, confidence=0.5).fit(texts, texts.y)
    median = np.median(model.predict_proba(texts).max(axis=1))
    model.promise_ = replace(model.promise_, threshold=float(median))
    # Which has other counts on the held-out sets.
    model.held_out_ = None
    return model


def test_a_reject_option_says_which_sets_are_left_to_people(mail, tmp_path):
    texts = read_pages(mail / "mail.jsonl")
    save(rejecting(mail, texts), tmp_path / "m")
    accepted = load(tmp_path / "m").accepts(texts).tolist()
    assert set(accepted) == {True, False}
    told = answer("predict", tmp_path / "m", mail / "mail.jsonl")
    assert [one["accepted"] for one in told["sets"]] == accepted
    head, *rows = run("predict", tmp_path / "m", mail / "mail.jsonl", "--proba").stdout.splitlines()
    assert head == "bag,label,probability,accepted,p_bill,p_end"
    assert [row.split(",")[3] for row in rows] == [str(one).lower() for one in accepted]
    assert "accepted" not in answer("predict", mail / "m.safetensors", mail / "mail.jsonl")["sets"][0]
    assert run("explain", tmp_path / "m", mail / "mail.jsonl").exit_code == 0


def test_a_reject_option_is_scored_over_all_sets_and_over_those_it_accepts(mail, tmp_path):
    model = rejecting(mail, read_pages(mail / "mail.jsonl"))
    save(model, tmp_path / "m")
    # Every fourth label is wrong.
    records = [one | ({"label": "end"} if k % 4 == 0 else {}) for k, one in enumerate(documents())]
    asked = ("evaluate", written(tmp_path / "test.jsonl", records), "--model", tmp_path / "m")
    texts = read_pages(tmp_path / "test.jsonl")
    accepted, right = model.accepts(texts), model.predict(texts) == texts.y
    told = answer(*asked)
    assert told["accuracy"] == right.mean() < 1.0
    assert (told["accepted"], told["accepted_right"]) == (accepted.sum(), right[accepted].sum())
    assert (told["share_accepted"], told["accuracy_of_accepted"]) == (accepted.mean(), right[accepted].mean())
    n = accepted.sum()
    shown = run(*asked).stdout
    assert f"accepted            {100 * n / 20:.1f} %, {n} of 20 sets\n" in shown
    assert f"accuracy of these   {100 * right[accepted].mean():.1f} %, {right[accepted].sum()} of {n} sets\n" in shown
    assert "accepted" not in answer("evaluate", asked[1], "--model", mail / "m.safetensors")


def test_a_reject_option_that_accepts_nothing_has_no_accuracy_of_accepted_sets(mail, tmp_path):
    model = rejecting(mail, read_pages(mail / "mail.jsonl"))
    model.promise_ = replace(model.promise_, threshold=np.inf, n_accepted=0, n_right=0)
    model.held_out_ = None
    save(model, tmp_path / "m")
    asked = ("evaluate", mail / "mail.jsonl", "--model", tmp_path / "m")
    assert answer(*asked)["accuracy_of_accepted"] is None
    shown = run(*asked).stdout
    assert "accepted            0.0 %, 0 of 20 sets\n" in shown
    assert "accuracy of these" not in shown
