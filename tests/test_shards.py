import os
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from setrbm import Bags, ClassSetRBM, ClassSetRBMCV
from setrbm.shards import Shards, read_shard, write_shard, write_shards


def make_sets(n_sets=60, is_sparse=False, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n_sets)
    X = (rng.random((sizes.sum(), 5)) * (rng.random((sizes.sum(), 5)) < 0.6)).astype(dtype)
    y = np.array(["no", "yes"])[np.arange(n_sets) % 2]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X[offsets[:-1][y == "yes"], 0] = 1.0
    return Bags(sparse.csr_array(X) if is_sparse else X, offsets), y


def rewrite(path, **changes):
    """Write a shard again with other arrays, keeping the time (and, for arrays of the same shape, the size)."""
    with np.load(path) as stored:
        arrays = dict(stored)
    before = path.stat()
    np.savez(path, **arrays | changes)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_shards_return_the_sets_and_labels_written(tmp_path, is_sparse, dtype):
    bags, y = make_sets(is_sparse=is_sparse, dtype=dtype)
    shards = write_shards(tmp_path, bags, y, sets_per_shard=25)
    assert [shard.n_sets for shard in shards.shards] == [25, 25, 10]
    assert shards.shape == bags.shape
    assert shards.classes.tolist() == ["no", "yes"]
    for shard, part, labels in shards:
        whole = bags[shard.first : shard.first + len(part)]
        assert part.dtype == dtype
        dense = [m.toarray() if is_sparse else m for m in (part.X, whole.X)]
        np.testing.assert_array_equal(*dense)
        np.testing.assert_array_equal(part.offsets, whole.offsets)
        np.testing.assert_array_equal(labels, y[shard.first : shard.first + len(part)])


def test_shards_of_a_frame_return_its_vectors_though_its_matrix_is_stored_by_columns(tmp_path):
    frame = pd.DataFrame(np.arange(40.0).reshape(10, 4), columns=list("abcd")).assign(bag=np.arange(10) // 2)
    bags = Bags.from_frame(frame)
    assert bags.X.flags.f_contiguous and not bags.X.flags.c_contiguous
    ((_, again, _),) = write_shards(tmp_path, bags, np.arange(5) % 2)
    np.testing.assert_array_equal(again.X, frame[list("abcd")])


@pytest.mark.parametrize("is_sparse", [False, True])
def test_changing_the_sets_that_were_read_leaves_the_file_as_it_was(tmp_path, is_sparse):
    bags, y = make_sets(is_sparse=is_sparse)
    path = write_shards(tmp_path, bags, y).shards[0].path
    before = path.read_bytes()
    read, labels = read_shard(path)
    for array in [labels, read.offsets, *([read.X.data, read.X.indices, read.X.indptr] if is_sparse else [read.X])]:
        array[:] = array[::-1].copy()
    del read, array
    assert path.read_bytes() == before
    np.testing.assert_array_equal(read_shard(path)[0].offsets, bags.offsets)


def test_shards_know_their_largest_set_and_how_many_sets_carry_each_label(tmp_path):
    bags = Bags(np.ones((9, 2)), [0, 1, 5, 7, 8, 9])
    shards = write_shards(tmp_path, bags, ["a", "b", "b", "b", "a"], sets_per_shard=2)
    assert [shard.largest_set for shard in shards.shards] == [4, 2, 1]
    assert shards.largest_set == 4
    assert shards.label_counts == {"a": 2, "b": 3}


@pytest.mark.parametrize("objective", ["discriminative", "hybrid"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_training_from_one_shard_equals_training_from_memory(tmp_path, is_sparse, objective):
    bags, y = make_sets(is_sparse=is_sparse)
    model = ClassSetRBM(5, objective=objective, max_epochs=4, early_stopping=False, random_state=0)
    expected = model.fit(bags, y).W_
    np.testing.assert_allclose(model.fit(write_shards(tmp_path, bags, y)).W_, expected, rtol=0, atol=1e-12)


def test_training_and_prediction_work_over_many_shards(tmp_path):
    bags, y = make_sets(200)
    shards = write_shards(tmp_path, bags, y, sets_per_shard=30)
    model = ClassSetRBM(20, random_state=0, max_epochs=60).fit(shards)
    assert (model.predict(shards) == y).mean() > 0.9
    np.testing.assert_allclose(model.predict_proba(shards), model.predict_proba(bags), rtol=1e-12)
    np.testing.assert_allclose(model.transform(shards), model.transform(bags), rtol=1e-12)
    assert len(model.history_["held_out_loss"]) == model.n_epochs_
    assert np.isfinite(model.history_["held_out_loss"]).all()


def test_partial_fit_over_a_stream_is_one_pass_of_fit(tmp_path):
    bags, y = make_sets()
    shards = write_shards(tmp_path, bags, y, sets_per_shard=25)
    whole = ClassSetRBM(5, max_epochs=3, early_stopping=False, random_state=0).fit(shards)
    parts = ClassSetRBM(5, random_state=0)
    for _ in range(3):
        parts.partial_fit(shards)
    np.testing.assert_allclose(parts.W_, whole.W_, rtol=0, atol=1e-13)
    assert parts.n_epochs_ == 3
    assert parts.history_["loss"] == pytest.approx(whole.history_["loss"], rel=1e-12)


def test_scaling_is_measured_over_all_shards(tmp_path):
    bags, y = make_sets()
    bags.X[:] = bags.X * 7 - 3
    model = ClassSetRBM(5, max_epochs=1, random_state=0).fit(write_shards(tmp_path, bags, y, sets_per_shard=7))
    np.testing.assert_array_equal(model.scale_low_, bags.X.min(axis=0))
    np.testing.assert_allclose(model.scale_factor_, 1 / (bags.X.max(axis=0) - bags.X.min(axis=0)), rtol=1e-14)


def test_balanced_weights_count_all_shards(tmp_path):
    bags, _ = make_sets(60)
    y = (np.arange(60) % 10 == 0).astype(int)
    shards = write_shards(tmp_path, bags, y, sets_per_shard=20)
    plain, balanced = (
        ClassSetRBM(5, class_weight=weight, random_state=0, max_epochs=30)
        .fit(shards)
        .predict_proba(shards)[:, 1]
        .mean()
        for weight in (None, "balanced")
    )
    assert balanced > plain + 0.2


def test_memory_stays_bounded_by_a_shard(tmp_path):
    rng = np.random.default_rng(0)
    bags = Bags(rng.random((40_000, 50)), np.arange(0, 40_001, 4))
    shards = write_shards(tmp_path, bags, np.arange(10_000) % 2, sets_per_shard=500)
    del bags
    model = ClassSetRBM(5, max_epochs=1, early_stopping=False, random_state=0)
    model.fit(shards)
    tracemalloc.start()
    model.fit(shards)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # All data take 16 MB; a shard 0.8 MB, of which scaling makes a copy or two.
    assert peak < 6e6


@pytest.mark.parametrize(
    "damage", ["missing", "truncated", "foreign", "width", "labels", "type of labels", "nan", "kind", "sparse"]
)
def test_a_bad_shard_is_named_before_anything_is_trained(tmp_path, damage):
    bags, y = make_sets()
    paths = [shard.path for shard in write_shards(tmp_path, bags, y, sets_per_shard=25).shards]
    bad = paths[1]
    if damage == "missing":
        bad.unlink()
    elif damage == "truncated":
        bad.write_bytes(bad.read_bytes()[:-200])
    elif damage == "foreign":
        bad.write_bytes(b"not a shard at all")
    elif damage == "width":
        write_shard(bad, Bags(np.ones((3, 4)), [0, 3]), np.array(["no"]))
    elif damage == "labels":
        rewrite(bad, y=np.array(["no"]))
    elif damage == "type of labels":
        rewrite(bad, y=np.arange(25))
    elif damage == "nan":
        write_shard(bad, Bags(np.full((3, 5), np.nan), [0, 3]), np.array(["no"]))
    elif damage == "sparse":
        write_shard(bad, Bags(sparse.csr_array(np.ones((3, 5))), [0, 3]), np.array(["no"]))
    else:
        write_shard(bad, Bags(np.ones((3, 5), dtype=np.float32), [0, 3]), np.array(["no"]))
    with pytest.raises((ValueError, FileNotFoundError), match=bad.name):
        Shards(paths)


def test_a_shard_that_changes_during_training_is_named(tmp_path):
    bags, y = make_sets()
    shards = write_shards(tmp_path, bags, y, sets_per_shard=25)
    write_shard(shards.shards[2].path, bags[:3], y[:3])
    model = ClassSetRBM(5, max_epochs=2)
    with pytest.raises(ValueError, match="shard-00002.npz' changed after the Shards were created"):
        model.fit(shards)
    assert not hasattr(model, "W_")


def test_a_shard_written_again_with_the_same_sets_counts_as_changed(tmp_path):
    bags, y = make_sets()
    shards = write_shards(tmp_path, bags, y)
    path = shards.shards[0].path
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    with pytest.raises(ValueError, match="shard-00000.npz' changed after the Shards were created"):
        list(shards)


def test_objects_are_never_unpickled(tmp_path):
    np.savez(tmp_path / "evil.npz", offsets=np.array([object()], dtype=object))
    with pytest.raises(ValueError, match="holds objects, which are never loaded"):
        read_shard(tmp_path / "evil.npz")


def test_arrays_that_cannot_be_mapped_as_floats_are_refused(tmp_path):
    bags, y = make_sets()
    path = write_shards(tmp_path, bags, y).shards[0].path
    with np.load(path) as stored:
        arrays = dict(stored)
    np.savez_compressed(path, **arrays)
    with pytest.raises(ValueError, match=r"shard-00000.npz.*npy is compressed and cannot be mapped"):
        read_shard(path)
    for dtype in (np.float16, np.int64, ">f8"):
        np.savez(path, **arrays | {"X": arrays["X"].astype(dtype)})
        with pytest.raises(ValueError, match="its vectors must be float32 or float64, not"):
            read_shard(path)


def test_a_number_of_sets_per_shard_below_one_is_refused(tmp_path):
    with pytest.raises(ValueError, match="sets_per_shard must be at least 1. Got 0"):
        write_shards(tmp_path, *make_sets(), sets_per_shard=0)


def test_a_missing_label_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Every set must have a label. Got 2 that are NaN"):
        write_shards(tmp_path, Bags.from_rows(np.ones((3, 2))), [np.nan, 1.0, np.nan])


def test_labels_and_weights_beside_shards_are_refused(tmp_path):
    bags, y = make_sets()
    shards = write_shards(tmp_path, bags, y)
    with pytest.raises(ValueError, match="bring their own labels"):
        ClassSetRBM().fit(shards, y)


def test_estimators_that_do_not_support_shards_refuse_them(tmp_path):
    shards = write_shards(tmp_path, *make_sets())
    with pytest.raises(TypeError, match="one by one"):
        ClassSetRBMCV().fit(shards, None)


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    bags, y = make_sets()

    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        write_shards(tmp_path, bags, y)
    assert list(tmp_path.iterdir()) == []


def test_a_shard_whose_columns_lie_beyond_its_width_is_refused(tmp_path):
    X = sparse.csr_array(np.eye(4))
    X.indices[2] = 9
    write_shard(tmp_path / "bad.npz", Bags._trusted(X, np.arange(5), None, None), np.arange(4))
    with pytest.raises(
        ValueError, match=r"bad.npz.*column indices of a sparse matrix must lie between 0 and 3. Got 0 to 9"
    ):
        Shards([tmp_path / "bad.npz"])


def test_shards_of_which_nothing_or_everything_is_held_out(tmp_path):
    bags, y = Bags(np.random.default_rng(0).random((8, 3)), np.arange(9)), np.arange(8) % 2
    shards = write_shards(tmp_path, bags, y, sets_per_shard=4)
    none_held_out = [ClassSetRBM(5, max_epochs=3, validation_fraction=1e-9, random_state=0).fit(shards)]
    assert none_held_out[0].best_epoch_ == 3
    with pytest.raises(ValueError, match="must be sets to learn from. All were held out"):
        ClassSetRBM(5, max_epochs=3, validation_fraction=1 - 1e-9, random_state=0).fit(shards)


def test_a_reader_that_gives_other_sets_on_a_later_pass_is_noticed(tmp_path):
    bags, y = Bags(np.random.default_rng(0).random((8, 3)), np.arange(0, 9, 2)), np.arange(4) % 2
    paths = [shard.path for shard in write_shards(tmp_path, bags, y).shards]
    calls = []

    def read(path):
        calls.append(path)
        whole, labels = read_shard(path)
        return (whole, labels) if len(calls) == 1 else (Bags(whole.X[:4], np.arange(5)), labels)

    with pytest.raises(ValueError, match="changed after the Shards were created"):
        ClassSetRBM(5, max_epochs=2).fit(Shards(paths, read=read))


def test_a_folder_stands_for_its_shards_and_is_not_overwritten(tmp_path):
    bags, y = Bags(np.random.default_rng(0).random((8, 3)), np.arange(9)), np.arange(8) % 2
    written = write_shards(tmp_path / "s", bags.to_list(), y, sets_per_shard=4)
    assert [s.path for s in Shards(tmp_path / "s").shards] == [s.path for s in written.shards]
    assert 0.0 <= ClassSetRBM(5, max_epochs=1).fit(written).score(written) <= 1.0
    with pytest.raises(FileExistsError, match="must not contain shards yet. Got 2, the first 'shard-00000.npz'"):
        write_shards(tmp_path / "s", bags, y)
    with pytest.raises(ValueError, match=r"at least one shard. Got none \(a folder is searched for shard-\*.npz\)"):
        Shards(tmp_path)


def test_shards_of_one_class_each_cause_a_warning(tmp_path):
    bags, y = Bags(np.random.default_rng(0).random((40, 3)), np.arange(41)), np.repeat([0, 1], 20)
    with pytest.warns(UserWarning, match="4 of 4 shards hold sets of one class only .* write them in random order"):
        ClassSetRBM(5, max_epochs=2).fit(write_shards(tmp_path, bags, y, sets_per_shard=10))


def test_a_shard_with_a_flipped_byte_is_named(tmp_path):
    bags, y = Bags(np.random.default_rng(0).random((40, 30)), np.arange(41)), np.arange(40) % 2
    path = write_shards(tmp_path, bags, y).shards[0].path
    whole = path.read_bytes()
    path.write_bytes(whole[:3000] + bytes([whole[3000] ^ 1]) + whole[3001:])
    with pytest.raises(ValueError, match="shard-00000.npz.*is damaged"):
        Shards([path])


@pytest.mark.parametrize(
    ("labels", "kind"),
    [([0, 1], int), ([False, True], bool), (["a", "b"], str), ([0.5, 1.5], float), ([np.int64(3), 5], int)],
)
@pytest.mark.parametrize("make", [lambda y: np.array(y, dtype=object), list, lambda y: pd.Series(y, dtype=object)])
def test_labels_come_back_with_their_type(tmp_path, labels, kind, make):
    bags, _ = make_sets(60)
    y = [labels[k % 2] for k in range(60)]
    shards = write_shards(tmp_path, bags, make(y), sets_per_shard=25)
    assert [type(label) for label in shards.classes.tolist()] == [kind, kind]
    assert np.concatenate([part for _, _, part in shards]).tolist() == y


def test_labels_of_numpy_s_type_of_strings_come_back_as_strings(tmp_path):
    bags, y = make_sets()
    ((_, _, labels),) = write_shards(tmp_path, bags, y.astype(np.dtypes.StringDType()))
    assert labels.dtype.kind == "U"
    assert labels.tolist() == y.tolist()


def test_a_model_trained_from_shards_predicts_labels_of_object_type_as_they_were_given(tmp_path):
    bags, text = make_sets(200)
    y = np.array([int(label == "yes") for label in text], dtype=object)
    model = ClassSetRBM(20, random_state=0, max_epochs=60).fit(write_shards(tmp_path, bags, y, sets_per_shard=50))
    assert model.score(bags, y.astype(int)) > 0.9


@pytest.mark.parametrize("y", [[0, "1", 2], ["a", None, "b"], ["a", np.nan, "b"], [2**70, 1, 2]])
@pytest.mark.parametrize("make", [list, lambda y: pd.Series(y, dtype=object)])
def test_labels_that_would_not_come_back_as_given_are_refused(tmp_path, y, make):
    with pytest.raises(TypeError, match="Labels must be all integers, all floats, all booleans or all strings"):
        write_shards(tmp_path / "new", Bags.from_rows(np.ones((3, 2))), make(y))
    assert not (tmp_path / "new").exists()


def test_a_shard_takes_one_label_per_set(tmp_path):
    with pytest.raises(ValueError, match=r"y must hold one label for each of 1 sets. Got shape \(2,\)"):
        write_shard(tmp_path / "one.npz", Bags(np.ones((3, 5)), [0, 3]), np.array([0, 1]))


def changed_indices(path, at, to):
    with np.load(path) as stored:
        indices = stored["indices"].copy()
    indices[at] = to
    return indices


@pytest.mark.parametrize("column", [5, 2**31 - 1, -1])
def test_a_column_index_changed_between_epochs_is_noticed_though_size_and_time_are_the_same(tmp_path, column):
    bags, y = make_sets(is_sparse=True)
    shards = write_shards(tmp_path, bags, y, sets_per_shard=25)
    path = shards.shards[1].path
    rewrite(path, indices=changed_indices(path, -1, column))
    with pytest.raises(ValueError, match="shard-00001.npz.*column indices of a sparse matrix must lie between 0 and 4"):
        list(shards)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("offsets", lambda a: np.concatenate([a[:-2], [a[-1] + 9, a[-1]]]), "offsets must not decrease"),
        ("offsets", lambda a: np.concatenate([a[:-2], a[-3:-2], a[-1:]]), "at least one vector"),
        (
            "indptr",
            lambda a: np.concatenate([a[:1], [10**6], a[2:]]).astype(a.dtype),
            "row pointers of a sparse matrix must not decrease",
        ),
        ("indptr", lambda a: np.concatenate([a[:-1], [10**6]]).astype(a.dtype), "index pointer"),
        ("y", lambda a: np.where(np.arange(len(a)) == 3, "xx", a), "changed after the Shards were created"),
        ("y", lambda a: np.roll(a, 1), None),
    ],
)
def test_parts_changed_between_epochs_are_noticed_though_size_and_time_are_the_same(tmp_path, name, change, message):
    bags, y = make_sets(is_sparse=True)
    shards = write_shards(tmp_path, bags, y, sets_per_shard=30)
    path = shards.shards[1].path
    with np.load(path) as stored:
        rewrite(path, **{name: change(stored[name])})
    assert path.stat().st_size == shards.shards[1].stamp[0]
    if message is None:
        assert len(list(shards)) == 2
        return
    with pytest.raises(ValueError, match=f"shard-00001.npz.*{message}"):
        list(shards)


def test_duplicate_column_indices_are_summed_in_every_pass(tmp_path):
    offsets, indptr = np.arange(3), np.array([0, 3, 4], dtype=np.int32)
    data, indices = np.array([1.0, 2.0, 4.0, 8.0]), np.array([2, 0, 2, 1], dtype=np.int32)
    path = tmp_path / "shard-00000.npz"
    np.savez(path, offsets=offsets, y=np.arange(2), n_features=3, data=data, indices=indices, indptr=indptr)
    shards = Shards([path])
    for bags in (read_shard(path)[0], *(bags for _ in range(2) for _, bags, _ in shards)):
        assert bags.X.has_canonical_format
        np.testing.assert_array_equal(bags.X.toarray(), [[2, 0, 5], [0, 8, 0]])


def test_writers_of_the_same_shard_at_once_all_succeed_and_leave_a_whole_file(tmp_path):
    bags, y = make_sets(400)
    path = tmp_path / "shard-00000.npz"
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: write_shard(path, bags, y), range(40)))
    again, labels = read_shard(path)
    np.testing.assert_array_equal(again.X, bags.X)
    np.testing.assert_array_equal(labels, y)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize(
    "changes",
    [
        {"n_features": np.arange(2)},
        {"indices": np.zeros(3, dtype=np.complex128)},
        {"indptr": np.zeros(3)},
        {"indptr": np.array(3)},
        {"offsets": np.zeros((2, 2), dtype=np.intp)},
        {"data": np.array(["a", "b"])},
        {"y": np.zeros((0, 4))},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_shard_with_arrays_of_the_wrong_kind_is_refused_by_name(tmp_path, changes):
    path = write_shards(tmp_path, *make_sets(is_sparse=True)).shards[0].path
    rewrite(path, **changes)
    with pytest.raises(ValueError, match=path.name):
        Shards([path])


def test_a_shard_changed_at_any_place_of_its_archive_is_refused_by_name(tmp_path):
    bags, y = make_sets(2)
    path = write_shards(tmp_path, bags, y).shards[0].path
    whole = path.read_bytes()
    # Everything past the arrays: names, sizes, versions, compression methods and checksums of the members.
    for at in range(whole.index(b"PK\x01\x02"), len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            list(Shards([path]))
        except ValueError as error:
            message = str(error)
        else:
            # Times, attributes and the like do not matter.
            continue
        assert path.name in message
