"""Labels and weights whose index says that they are not in the order of the sets are refused wherever they enter."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import shuffle

from setrbm import Bags, ClassRBM, ClassSetRBM, ClassSetRBMCV
from setrbm.datasets.files import write_csv, write_parquet
from setrbm.estimators import InputPooling, MaxOutClassifier, MaxOutClassifierCV, PerVector, SetSVC, SetSVCCV
from setrbm.label_order import check_order
from setrbm.selective import PrecisionCoverageDisplay, RejectOption, ReliabilityDisplay
from setrbm.shards import write_shard, write_shards
from setrbm.text import PageTexts, PageWords

OTHER_ORDER = "y must be in the order of the sets. Its index holds the same ids in another order: .* Use y.loc.bags.ids"
OTHER_IDS = "The index of y must hold the ids of the sets. It lacks 40 of 40, the first .* use y.to_numpy"
SHORT = {"max_epochs": 2, "random_state": 0}
RBM = ClassSetRBM(3, max_epochs=30, learning_rate=0.1, random_state=0)


def frame_of(ids, seed=0):
    """Return a frame with two rows per id, in random order; the class can be seen in the vectors."""
    rng = np.random.default_rng(seed)
    ids = pd.Series(ids)
    label = pd.Series(np.arange(len(ids)) % 2, index=ids)
    rows = pd.Series(rng.permutation(np.repeat(ids.to_numpy(), 2)))
    y = label.loc[rows].to_numpy()
    return pd.DataFrame({"id": rows, "label": y, "a": y + rng.random(len(y)), "b": rng.random(len(y))})


TEXT = [f"p{k}" for k in range(40)]
NUMBERS = list(range(100, 140))
IDS = {"text": TEXT, "numbers": NUMBERS, "from 0": list(range(40)), "from 1": list(range(1, 41))}


@pytest.fixture(params=IDS)
def data(request):
    """Sets with ids, the labels in their order, and the labels sorted by id."""
    frame = frame_of(IDS[request.param])
    bags, y = Bags.from_frame(frame, bag="id", label="label")
    return bags, pd.Series(y, index=bags.ids), frame.groupby("id").label.first()


@pytest.fixture
def named():
    """The same with ids that are texts."""
    frame = frame_of(TEXT)
    bags, y = Bags.from_frame(frame, bag="id", label="label")
    return bags, pd.Series(y, index=bags.ids), frame.groupby("id").label.first()


def test_labels_grouped_by_id_are_refused_and_the_cure_works(data):
    bags, y, by_id = data
    with pytest.raises(ValueError, match=OTHER_ORDER):
        RBM.fit(bags, by_id)
    np.testing.assert_array_equal(by_id.loc[bags.ids], y)
    expected = RBM.fit(bags, y.to_numpy()).predict_proba(bags)
    np.testing.assert_array_equal(RBM.fit(bags, by_id.loc[bags.ids]).predict_proba(bags), expected)
    np.testing.assert_array_equal(RBM.fit(bags, y).predict_proba(bags), expected)


def test_the_message_counts_what_differs_and_shows_the_first():
    bags = Bags(np.eye(4), range(5), ids=["d", "b", "a", "c"])
    message = "3 of 4 differ, the first a at index 0, where the set is d. Use weight.loc.bags.ids"
    with pytest.raises(ValueError, match=message):
        check_order(bags, pd.Series(1.0, index=list("abcd")), "weight")
    for index, there in (("deac", "'e'"), ("ddac", "'d'"), ("d", "none")):
        with pytest.raises(ValueError, match=f"It lacks . of 4, the first 'b' at index 1, where it has {there}. If"):
            check_order(bags, pd.Series(1.0, index=list(index)))


def test_a_table_with_more_ids_than_sets_gets_the_cure_that_selects():
    bags = Bags(np.eye(3), range(4), ids=["d", "b", "a"])
    values = pd.Series([1, 2, 3, 4], index=list("abcd"))
    with pytest.raises(ValueError, match="holds the ids of all 3 sets and more: 4. Use y.loc.bags.ids"):
        check_order(bags, values)
    check_order(bags, values.loc[bags.ids])


def by_read_csv(by_id):
    return pd.read_csv(io.StringIO(by_id.to_csv()), index_col="id").label


SORTED_BY_ID = {
    "read_csv": by_read_csv,
    "set_index": lambda by_id: by_id.reset_index().set_index("id").label,
    "sort_values": lambda by_id: by_id.reset_index().sort_values("id").set_index("id").label,
    "grouped": lambda by_id: by_id.reset_index().groupby("id", as_index=False).first().set_index("id").label,
}


@pytest.mark.parametrize("source", SORTED_BY_ID)
@pytest.mark.parametrize("first", [0, 1, 7])
def test_a_range_of_ids_is_compared_like_other_ids(source, first):
    """pandas keeps consecutive integers as a range, also if they are ids."""
    frame = frame_of(list(range(first, first + 40)))
    bags, _ = Bags.from_frame(frame, bag="id", label="label")
    by_id = SORTED_BY_ID[source](frame.groupby("id").label.first())
    with pytest.raises(ValueError, match=OTHER_ORDER):
        SetSVC().fit(bags, by_id)
    with pytest.raises(ValueError, match="y must be in the order|The index of y must hold the ids"):
        cross_val_score(SetSVC(), bags, by_id, cv=3, error_score="raise")
    if first:
        with pytest.raises(ValueError, match=OTHER_ORDER):
            SetSVC().fit(bags, by_id.rename_axis(None))


@pytest.mark.parametrize("ids", [[f"{k:03}" for k in range(40)], [str(k) for k in range(7, 47)]])
def test_numbers_and_the_same_numbers_as_text_are_the_same_ids(ids):
    frame = frame_of(ids)
    bags, y = Bags.from_frame(frame, bag="id", label="label")
    by_id = frame.groupby("id").label.first()
    with pytest.raises(ValueError, match=OTHER_ORDER):
        SetSVC().fit(bags, by_id.set_axis(by_id.index.astype(int)))
    SetSVC().fit(bags, pd.Series(y, index=bags.ids.astype(int)))


def test_times_with_a_zone_are_compared_in_utc():
    days = pd.date_range("2020-01-01", periods=40, tz="Europe/Berlin")
    frame = frame_of(days)
    bags, _ = Bags.from_frame(frame, bag="id", label="label")
    SetSVC().fit(bags, frame.groupby("id", sort=False).label.first())
    with pytest.raises(ValueError, match=OTHER_ORDER):
        SetSVC().fit(bags, frame.groupby("id").label.first())


def test_labels_of_other_ids_are_refused(named):
    bags, y, _ = named
    for other in (y.index + "x", pd.MultiIndex.from_product([["hospital"], y.index])):
        with pytest.raises(ValueError, match=OTHER_IDS):
            RBM.fit(bags, y.set_axis(other))


def test_labels_of_other_numbers_are_refused():
    bags, y = Bags.from_frame(frame_of(NUMBERS), bag="id", label="label")
    with pytest.raises(ValueError, match=OTHER_IDS):
        RBM.fit(bags, pd.Series(y, index=bags.ids + 1000))


ESTIMATORS = {
    "ClassSetRBM": ClassSetRBM(2, **SHORT),
    "ClassSetRBMCV": ClassSetRBMCV(2, learning_rate=0.1, init_scale=0.3, n_fits=1, **SHORT),
    "MaxOutClassifier": MaxOutClassifier(n_hidden=2, **SHORT),
    "MaxOutClassifierCV": MaxOutClassifierCV(
        n_hidden=2, learning_rate=(0.1, 0.3), init_scale=0.3, weight_decay=0.0, **SHORT
    ),
    "SetSVC": SetSVC(),
    "SetSVCCV": SetSVCCV(C=(1.0,), gamma_factors=(1.0,)),
    "RejectOption": RejectOption(SetSVC(probability=True), precision=0.5, confidence=0.6, random_state=0),
    "frozen": RejectOption(FrozenEstimator(RBM), precision=0.5, confidence=0.6),
    "PerVector": PerVector(StandardScaler()),
    "InputPooling": InputPooling(),
    "pipeline": make_pipeline(InputPooling(), LogisticRegression()),
    "calibrated": CalibratedClassifierCV(ClassSetRBM(2, **SHORT), cv=2),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_fit_refuses_labels_in_another_order(named, name):
    bags, y, by_id = named
    if name == "frozen":
        RBM.fit(bags, y)
    ESTIMATORS[name].fit(bags, y)
    # Of a part of the sets, labels in another order are those of other sets.
    message = "in the order of all sets first: y.loc.bags.ids" if name == "calibrated" else OTHER_ORDER
    with pytest.raises(ValueError, match=message):
        ESTIMATORS[name].fit(bags, by_id)
    with pytest.raises(ValueError, match=OTHER_IDS.replace("40", r"\d+")):
        ESTIMATORS[name].fit(bags, y.add_prefix("x"))


def test_a_frame_with_one_column_has_an_index_too(named):
    bags, _, by_id = named
    with pytest.raises(ValueError, match=OTHER_ORDER):
        PerVector(StandardScaler()).fit(bags, by_id.to_frame())


@pytest.mark.parametrize("name", ["ClassSetRBM", "ClassSetRBMCV", "MaxOutClassifier", "SetSVC"])
def test_weights_in_another_order_are_refused(named, name):
    bags, y, by_id = named
    model = ESTIMATORS[name]
    message = "sample_weight must be in the order of the sets.* Use sample_weight.loc.bags.ids"
    with pytest.raises(ValueError, match=message):
        model.fit(bags, y, sample_weight=by_id + 1.0)
    model.fit(bags, y, sample_weight=y + 1.0)
    with pytest.raises(ValueError, match=message):
        model.score(bags, y, sample_weight=by_id + 1.0)


@pytest.mark.parametrize("name", ["ClassSetRBM", "MaxOutClassifierCV", "SetSVC", "RejectOption"])
def test_scores_refuse_labels_in_another_order(named, name):
    bags, y, by_id = named
    model = ESTIMATORS[name].fit(bags, y)
    assert model.score(bags, y) == model.score(bags, y.to_numpy()) == (model.predict(bags) == y).mean()
    with pytest.raises(ValueError, match=OTHER_ORDER):
        model.score(bags, by_id)


def test_whatever_takes_sets_and_labels_refuses_another_order(named, tmp_path):
    bags, y, by_id = named
    model = RBM.fit(bags, y)
    takers = {
        "partial_fit": lambda labels: ClassSetRBM(2).partial_fit(bags, labels, classes=[0, 1]),
        "hidden_probabilities": lambda labels: model.hidden_probabilities(bags, labels),
        "explain": lambda labels: model.explain(bags, labels),
        "ClassRBM": lambda labels: ClassRBM(2, **SHORT).fit(Bags(bags.X[:40], range(41), bags.ids), labels),
        "coverage": lambda labels: PrecisionCoverageDisplay.from_estimator(model, bags, labels),
        "reliability": lambda labels: ReliabilityDisplay.from_estimator(model, bags, labels),
        "to_frame": lambda labels: bags.to_frame(labels),
        "write_csv": lambda labels: write_csv(tmp_path / "sets.csv", bags, labels),
        "write_parquet": lambda labels: write_parquet(tmp_path / "sets.parquet", bags, labels),
        "write_shard": lambda labels: write_shard(tmp_path / "shard.npz", bags, labels),
    }
    for take in takers.values():
        take(y)
        with pytest.raises(ValueError, match=OTHER_ORDER):
            take(by_id)
    with pytest.raises(ValueError, match=OTHER_ORDER):
        write_shards(tmp_path, bags, by_id)


def test_documents_keep_their_ids_when_scikit_learn_splits_them():
    pages = [["one two"], ["two"]] * 10
    texts = PageTexts(pages, None, np.array([f"d{k}" for k in np.random.default_rng(0).permutation(20)]))
    labels = pd.Series([0, 1] * 10, index=texts.ids)
    model = make_pipeline(PageWords(pairs=False), SetSVC())
    assert cross_val_score(model, texts, labels, cv=3, error_score="raise").mean() > 0.9
    part, _, part_labels, _ = train_test_split(texts, labels, random_state=0)
    np.testing.assert_array_equal(part.ids, part_labels.index)
    with pytest.raises(ValueError, match="y must be in the order|The index of y must hold the ids"):
        cross_val_score(model, texts, labels.sort_index(), cv=3, error_score="raise")


def test_documents_with_ids_are_compared_with_labels_too():
    texts = PageTexts([["one two"], ["one"], ["two one"]], None, np.array(["c", "a", "b"]))
    labels = pd.Series([0, 1, 1], index=list("cab"))
    PageWords().fit(texts, labels)
    with pytest.raises(ValueError, match="in another order: .* Use y.loc.X.ids"):
        PageWords().fit(texts, labels.sort_index())
    # The numbers of lines.
    PageWords().fit(PageTexts(texts.documents, None, np.array([1, 2, 3])), labels)


def test_ids_are_compared_by_value_whatever_their_type():
    days = pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-03"])
    for ids, index in [
        (np.array([7, 3, 5], np.int8), pd.Index([7, 3, 5], dtype="int64")),
        (np.array([7, 3, 5], np.int64), pd.Index([7.0, 3.0, 5.0])),
        (np.array([7, 3, 5], object), pd.Index([7, 3, 5], dtype="Int64")),
        (np.array(["x", "a", "b"]), pd.Index(["x", "a", "b"], dtype="string")),
        (np.array(["x", "a", "b"], object), pd.CategoricalIndex(["x", "a", "b"])),
        (days.to_numpy().astype("M8[s]"), days.as_unit("ns")),
    ]:
        bags = Bags(np.eye(3), range(4), ids=ids)
        check_order(bags, pd.Series([0, 1, 0], index=index))
        with pytest.raises(ValueError, match="3 of 3 differ"):
            check_order(bags, pd.Series([0, 1, 0], index=index[[1, 2, 0]]))


def test_repeated_sets_may_have_repeated_labels(named):
    bags, y, _ = named
    at = [3, 3, 0, 1]
    check_order(bags[at], y.iloc[at])
    with pytest.raises(ValueError, match="2 of 4 differ"):
        check_order(bags[at], y.iloc[[3, 0, 3, 1]])


# --- what must still work ---


def test_a_shuffled_frame_with_one_row_per_set_is_a_matrix_as_before():
    frame = frame_of(TEXT).sample(frac=1.0, random_state=0)
    X, y = frame[["a", "b"]], frame["label"]
    model = ClassRBM(3, max_epochs=5, random_state=0)
    expected = model.fit(X.to_numpy(), y.to_numpy()).decision_function(X.to_numpy())
    for labels in (y, y.set_axis(np.roll(y.index, 1))):
        np.testing.assert_array_equal(model.fit(X, labels).decision_function(X), expected)
        np.testing.assert_array_equal(model.fit(X.to_numpy(), labels).decision_function(X.to_numpy()), expected)
        np.testing.assert_array_equal(model.fit(Bags.from_rows(X), labels).decision_function(X.to_numpy()), expected)


@pytest.mark.parametrize("key", [slice(5, 35), np.arange(39, 4, -1), np.arange(40) > 9], ids=["slice", "take", "mask"])
def test_sets_without_ids_take_labels_in_their_order(named, key):
    bags, y, by_id = named
    bags = Bags(bags.X, bags.offsets)
    assert bags.given_ids is bags[key].given_ids is bags[key][::2].given_ids is None
    for labels in (y, by_id, y.set_axis(np.random.default_rng(0).permutation(40))):
        SetSVC().fit(bags[key], labels.to_numpy()[key])
        SetSVC().fit(bags[key], labels.iloc[key])
    joined = Bags.concatenate([bags[key], bags[key][::2]])
    assert joined.given_ids is None
    check_order(joined, pd.concat([by_id.iloc[key], by_id.iloc[key][::2]]))


def test_labels_that_are_split_with_the_sets_stay_theirs(data):
    """A Series that counts rows has the numbers of the sets after a split, which are not their ids."""
    bags, y, _ = data
    for labels in (y, y.reset_index(drop=True)):
        train, test, y_train, y_test = train_test_split(bags, labels, stratify=labels, random_state=0)
        assert SetSVC().fit(train, y_train).score(test, y_test) > 0.7
        part, _, y_part, _ = train_test_split(train, y_train, random_state=1)
        SetSVC().fit(part, y_part)
        SetSVC().fit(part[3:], y_part[3:])
        SetSVC().fit(*shuffle(bags, labels, random_state=0))
        lifted = PerVector(StandardScaler()).fit_transform(train, y_train)
        SetSVC().fit(lifted, y_train)


def test_the_tools_of_scikit_learn_take_a_series(data):
    bags, y, by_id = data
    for labels in (y, y.reset_index(drop=True)):
        expected = cross_val_score(SetSVC(), bags, y.to_numpy(), cv=3)
        np.testing.assert_array_equal(cross_val_score(SetSVC(), bags, labels, cv=3), expected)
        assert cross_val_predict(SetSVC(), bags, labels, cv=3).shape == (40,)
        pipeline = make_pipeline(PerVector(StandardScaler()), SetSVC())
        assert GridSearchCV(pipeline, {"setsvc__C": [0.1, 1.0]}, cv=3, error_score="raise").fit(bags, labels)
        assert CalibratedClassifierCV(SetSVC(), cv=3).fit(bags, labels)
        assert ESTIMATORS["RejectOption"].fit(bags, labels).score(bags, labels) > 0.7
    with pytest.raises(ValueError, match="y must be in the order of the sets|The index of y must hold the ids"):
        GridSearchCV(SetSVC(), {"C": [0.1, 1.0]}, cv=3, error_score="raise").fit(bags, by_id)


def test_the_numbers_of_the_rows_of_a_table_cannot_be_ids_that_are_texts(named):
    """As of the first row of each set, which are in the order of the sets."""
    bags, _, _ = named
    y = frame_of(TEXT).drop_duplicates("id").label
    assert y.index[-1] > 40
    assert SetSVC().fit(bags, y).score(bags, y) > 0.7


def test_labels_without_an_index_are_taken_in_their_order(named):
    bags, y, _ = named
    for labels in (y.to_numpy(), y.tolist(), tuple(y), pl.Series(y.to_numpy()), y.array):
        check_order(bags, labels)
        SetSVC().fit(bags, labels)
