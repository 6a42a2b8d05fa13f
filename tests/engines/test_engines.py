import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import setrbm
from brute import CONSTRAINTS, DEFINITIONS, POOLINGS, random_params
from setrbm import Bags, ClassSetRBM, ClassSetRBMCV, draws
from setrbm.engines import get_engine
from setrbm.engines.cpu import compiling, random_numbers, scalar_math
from setrbm.engines.protocol import LabeledSets, Model, Spec

N_SETS, N_FEATURES, N_HIDDEN, N_CLASSES = 12, 7, 5, 3
GENERATIVE = {
    "discriminative": {},
    "hybrid": {"generative": True},
    "generative": {"generative": True, "discriminative": False},
    "three steps": {"generative": True, "cd_steps": 3},
    "persistent": {"generative": True, "persistent": True},
    "gaussian": {"generative": True, "visible": "gaussian", "cd_steps": 2},
}


def make_sets(seed, is_sparse=False, dtype=np.float64, first=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, N_SETS)
    X = rng.random((sizes.sum(), N_FEATURES)) * (rng.random((sizes.sum(), N_FEATURES)) < 0.6)
    X = X.astype(dtype)
    bags = Bags(sparse.csr_array(X) if is_sparse else X, np.concatenate([[0], np.cumsum(sizes)]))
    return LabeledSets(bags, rng.integers(0, N_CLASSES, N_SETS), rng.random(N_SETS) + 0.5, first)


def make_models(seed):
    rng = np.random.default_rng(seed)
    return [
        Model(random_params(rng, N_FEATURES, N_HIDDEN, N_CLASSES, 0.5), 5, 0.1, 0.05, 0.01),
        Model(random_params(rng, N_FEATURES, N_HIDDEN, N_CLASSES, 0.5), 6, 0.02, 0.01, 0.0),
    ]


@pytest.fixture
def thread_pools(monkeypatch):
    """The sizes of the pools of threads that the CPU engine makes."""
    sizes = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, n):
            sizes.append(n)
            super().__init__(n)

    monkeypatch.setattr("setrbm.engines.cpu.session.ThreadPoolExecutor", Pool)
    return sizes


def train(engine, spec, models, sets, n_epochs=5, n_jobs=1):
    """Train and return losses, scores and parameters as one list of arrays."""
    engine = get_engine(engine)
    placed, session = [engine.place(sets, spec)] * len(models), engine.begin(spec, models, n_jobs)
    everything = np.arange(N_SETS)
    out = []
    for epoch in range(n_epochs):
        orders = [draws.order(model.seed, epoch, everything) for model in models]
        out.append(session.run(placed, orders, epoch))
    out.append(session.score(placed, [everything[:4]] * len(models)))
    for params in session.params(remembered=False):
        out.extend(getattr(params, letter) for letter in "WUbcd")
    return out


@pytest.mark.parametrize("batch_size", [1, 5])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("objective", GENERATIVE)
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_cpu_equals_reference_over_whole_training_runs(constraint, pooling, objective, is_sparse, batch_size):
    spec = Spec(constraint, pooling, batch_size=batch_size, **GENERATIVE[objective])
    sets, models = make_sets(0, is_sparse), make_models(1)
    for slow, fast in zip(train("reference", spec, models, sets), train("cpu", spec, models, sets), strict=True):
        np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-10)


@pytest.mark.parametrize("objective", ["discriminative", "hybrid"])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_float32_is_near_float64(constraint, pooling, objective):
    models = make_models(1)
    results = []
    for dtype in ("float32", "float64"):
        spec = Spec(constraint, pooling, dtype=dtype, **GENERATIVE[objective])
        # The same numbers in both, so that only the arithmetic differs.
        sets = make_sets(0, dtype=np.float32)
        results.append(train("cpu", spec, models, sets, n_epochs=3))
    for single, double in zip(*results, strict=True):
        assert single.dtype == double.dtype or single.dtype == np.float32
        np.testing.assert_allclose(single, double, rtol=0, atol=2e-5)


def test_engines_do_not_take_the_pooling_of_a_mixture():
    with pytest.raises(ValueError, match="Engines pool all units alike. Got pooling='mixed'"):
        Spec("xor", "mixed")


@pytest.mark.parametrize("objective", GENERATIVE)
def test_models_are_bit_identical_for_any_number_of_threads(objective):
    spec = Spec("or", "soft", **GENERATIVE[objective])
    sets, models = make_sets(0), make_models(1)
    for one, three in zip(
        train("cpu", spec, models, sets, n_jobs=1), train("cpu", spec, models, sets, n_jobs=3), strict=True
    ):
        np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_models_trained_side_by_side_equal_models_trained_alone(engine):
    spec = Spec("xor", "soft", generative=True, batch_size=2)
    sets, models = make_sets(2), make_models(3)
    together = train(engine, spec, models, sets)
    alone = train(engine, spec, models[1:], sets)
    np.testing.assert_array_equal(together[-5], alone[-5])


@pytest.mark.parametrize("objective", ["hybrid", "persistent"])
@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_training_does_not_depend_on_how_a_stream_is_cut_into_shards(engine, objective):
    whole, spec = make_sets(4), Spec("or", "soft", **GENERATIVE[objective])
    cut = 5
    shards = [
        LabeledSets(whole.bags[:cut], whole.y[:cut], whole.weight[:cut], 0),
        LabeledSets(whole.bags[cut:], whole.y[cut:], whole.weight[cut:], cut),
    ]
    engine = get_engine(engine)
    models = make_models(1)[:1]
    one, two = engine.begin(spec, models, 1), engine.begin(spec, models, 1)
    for epoch in range(3):
        one.run([engine.place(whole, spec)], [np.arange(N_SETS)], epoch)
        for shard in shards:
            two.run([engine.place(shard, spec)], [np.arange(len(shard.y))], epoch)
    np.testing.assert_array_equal(one.params(False)[0].W, two.params(False)[0].W)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_an_empty_order_leaves_a_model_unchanged(engine):
    engine, spec, models = get_engine(engine), Spec(), make_models(0)
    session, placed = engine.begin(spec, models, 1), engine.place(make_sets(0), spec)
    losses = session.run([placed] * 2, [np.arange(3), np.empty(0, dtype=int)], 0)
    assert np.isfinite(losses[0])
    assert np.isnan(losses[1])
    np.testing.assert_array_equal(session.params(False)[1].W, models[1].params.W)
    assert (session.params(False)[0].W != models[0].params.W).any()


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_remembered_parameters_do_not_change(engine):
    engine, spec, models = get_engine(engine), Spec(), make_models(0)
    session, placed = engine.begin(spec, models, 1), engine.place(make_sets(0), spec)
    everything = [np.arange(N_SETS)] * 2
    session.run([placed] * 2, everything, 0)
    session.remember(np.array([True, False]))
    kept = session.params(remembered=True)[0].copy()
    session.run([placed] * 2, everything, 1)
    np.testing.assert_array_equal(session.params(remembered=True)[0].W, kept.W)
    assert (session.params(remembered=False)[0].W != kept.W).any()


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_cpu_equals_reference_in_prediction(constraint, pooling, is_sparse, n_jobs):
    sets, params = make_sets(5, is_sparse), make_models(6)[0].params
    slow = get_engine("reference").forward(params, sets.bags, Spec(constraint, pooling), 1)
    fast = get_engine("cpu").forward(params, sets.bags, Spec(constraint, pooling), n_jobs)
    for a, b in zip(slow, fast, strict=True):
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("size", [1, 10_000])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_activations_of_ten_thousand_give_no_nan_and_no_overflow(constraint, pooling, size, engine, dtype):
    params = random_params(np.random.default_rng(0), 2, 4, 3)
    params.W[:] = [[1e4, 0.0], [-1e4, 0.0], [0.0, 1e4], [1e4, -1e4]]
    X = np.tile(np.array([[1.0, 0.0], [0.0, 1.0]], dtype=dtype), (size, 1))[:size]
    spec = Spec(constraint, pooling, generative=True, dtype=np.dtype(dtype).name)
    engine = get_engine(engine)
    sets = LabeledSets(Bags(X, [0, size]), np.array([1]), np.ones(1))
    session = engine.begin(spec, [Model(params, 0, 1e-3, 1e-6)], 1)
    placed = [engine.place(sets, spec)]
    assert np.isfinite(session.run(placed, [np.zeros(1, dtype=int)], 0)).all()
    assert np.isfinite(session.score(placed, [np.zeros(1, dtype=int)])).all()
    for letter in "WUbcd":
        assert np.isfinite(getattr(session.params(False)[0], letter)).all()
    pools, F = engine.forward(params.astype(dtype), sets.bags, spec, 1)
    # Expected: a set has one kind of vector, or half of each kind.
    a = params.c + np.array([[1e4, -1e4, 0.0, 1e4], [0.0, 0.0, 1e4, -1e4]])[: min(size, 2)]
    v = a if constraint == "xor" else -np.logaddexp(0.0, -a)
    expected = DEFINITIONS[pooling](np.repeat(v, max(size // 2, 1), axis=0))
    tolerance = {"rtol": 1e-12, "atol": 1e-12} if dtype == np.float64 else {"rtol": 1e-5, "atol": 1e-4}
    np.testing.assert_allclose(pools[0], expected, **tolerance)
    expected_F = -params.d - np.logaddexp(0.0, expected[:, np.newaxis] + params.U).sum(axis=0)
    np.testing.assert_allclose(F[0], expected_F, **tolerance)


def test_kernels_draw_the_same_numbers_as_draws():
    set_key = draws.keys(3, 4, 5)[0]
    for vector in (0, 7):
        key = random_numbers.vector_key(set_key, 2, draws.INPUT, vector)
        expected = draws.uniform(draws.keys(3, 4, 5, 2, draws.INPUT, vector), 1000)[0]
        assert [random_numbers.uniform(key, unit) for unit in range(1000)] == expected.tolist()


def test_folding_in_the_scale_of_strong_weight_decay_does_not_change_the_model():
    spec, sets = Spec("xor", "soft"), make_sets(0)
    models = [Model(make_models(1)[0].params, 1, 0.5, 0.0, 0.9)]
    for slow, fast in zip(train("reference", spec, models, sets), train("cpu", spec, models, sets), strict=True):
        np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-10)


def test_an_unknown_engine_is_refused():
    with pytest.raises(ValueError, match="engine must be one of 'auto', 'reference', 'cpu', 'gpu'. Got 'tpu'"):
        get_engine("tpu")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_and_log_stay_within_their_stated_errors(dtype):
    import numba

    @numba.njit
    def both(x, exps, logs):
        for i in range(len(x)):
            exps[i] = scalar_math.exp_nonpositive(-x[i])
            logs[i] = scalar_math.log_positive(x[i])

    edges = np.array([0.0, 1e-8, 1e-4, 0.5, np.log(2) / 2, np.log(2), 1.0, 20.0, 86.9])
    x = np.concatenate([edges, np.linspace(0, 87, 200_001)[1:], np.logspace(-37, 37, 100_001)]).astype(dtype)
    exps, logs = np.empty_like(x), np.empty_like(x)
    positive = x > 0
    both(np.where(positive, x, 1).astype(dtype), exps, logs)
    exact_log = np.log(x[positive].astype(np.float64))
    assert (np.abs(logs[positive] - exact_log) / np.maximum(1, np.abs(exact_log))).max() < 2e-7
    both(x[: len(edges) + 200_000], exps[: len(edges) + 200_000], logs[: len(edges) + 200_000])
    near = x[: len(edges) + 200_000].astype(np.float64)
    assert (np.abs(exps[: len(near)] / np.exp(-near) - 1)).max() < 2e-7


def test_nan_parameters_make_loss_and_score_not_finite():
    spec, sets = Spec("xor", "soft", dtype="float32"), make_sets(0, dtype=np.float32)
    params = random_params(np.random.default_rng(0), N_FEATURES, N_HIDDEN, N_CLASSES)
    params.W[0, 0] = np.nan
    losses, scores = train("cpu", spec, [Model(params, 0, 0.1)], sets, n_epochs=1)[:2]
    assert np.isinf(losses).all()
    assert np.isnan(scores[:, 0]).all()


@pytest.mark.parametrize("n_hidden", [1, 15, 16, 17, 96, 97, 250, 1100])
def test_cpu_equals_reference_for_any_number_of_hidden_units(n_hidden):
    params = random_params(np.random.default_rng(0), N_FEATURES, n_hidden, N_CLASSES)
    sets = make_sets(0)
    slow = get_engine("reference").forward(params, sets.bags, Spec("or", "soft"), 1)
    for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-5)):
        single = Bags(sets.bags.X.astype(dtype), sets.bags.offsets)
        fast = get_engine("cpu").forward(params.astype(dtype), single, Spec("or", "soft"), 1)
        for a, b in zip(slow, fast, strict=True):
            np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance)


def test_kernels_compile_without_a_writable_cache_folder_and_say_so_once(monkeypatch, capsys):
    monkeypatch.setattr(compiling.KernelCache._impl_class, "_locator_classes", [])
    compiling.say.cache_clear()
    assert compiling.kernel(lambda x: x + 1)(1) == 2
    assert compiling.kernel(lambda x: x + 2)(1) == 3
    assert capsys.readouterr().err.count("no writable folder to keep them in. Set NUMBA_CACHE_DIR") == 1


def test_compiling_is_announced_only_when_something_is_compiled(tmp_path):
    (tmp_path / "tiny.py").write_text(
        "from setrbm.engines.cpu.compiling import kernel\n"
        "def one(x): return x + 1\n"
        "def two(x): return x + 2\n"
        "print(kernel(one)(1), kernel(two)(1))\n"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    runs = [
        subprocess.run(
            [sys.executable, tmp_path / "tiny.py"], check=True, capture_output=True, text=True, env=environment
        )
        for _ in range(2)
    ]
    assert [run.stdout.split() for run in runs] == [["2", "3"]] * 2
    assert runs[0].stderr == "setrbm: compiling the CPU kernels once, which takes 10 to 20 seconds ...\n"
    assert runs[1].stderr == ""


def wide_sets(seed):
    """Sparse binary sets with 1,200 inputs, most of them rarely on: several blocks of inputs."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, N_SETS)
    X = sparse.random_array((sizes.sum(), 1200), density=0.02, random_state=rng, format="csr")
    X.data[:] = 1.0
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return LabeledSets(Bags(X, offsets), rng.integers(0, N_CLASSES, N_SETS), np.ones(N_SETS))


@pytest.mark.parametrize("batch_size", [1, 5])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_cpu_equals_reference_on_wide_sparse_sets(constraint, batch_size):
    rng = np.random.default_rng(1)
    params = random_params(rng, 1200, 20, N_CLASSES, 0.5)
    params.b[:] = rng.uniform(-6.0, 1.0, 1200)
    spec = Spec(constraint, "hard", generative=True, batch_size=batch_size)
    models, sets = [Model(params, 5, 0.1, 0.3, 0.01)], wide_sets(0)
    for slow, fast in zip(train("reference", spec, models, sets), train("cpu", spec, models, sets), strict=True):
        np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("tight_bound", ["bias", "largest weight", "sum of positive weights"])
def test_no_active_input_is_missed_where_the_bound_on_its_probability_is_tight(tight_bound, dtype):
    n_hidden, n_features = 20, 1200
    rng = np.random.default_rng(0)
    params = random_params(rng, n_features, n_hidden, N_CLASSES, 0.5)
    # Under "or", these biases turn units on or off for certain.
    n_on = {"bias": 0, "largest weight": n_hidden // 2, "sum of positive weights": n_hidden}[tight_bound]
    params.c[:] = np.where(np.arange(n_hidden) < n_on, 30.0, -30.0)
    if tight_bound == "largest weight":
        params.W[:] = rng.uniform(0.0, 0.1, n_features)
    elif tight_bound == "sum of positive weights":
        params.W[:] = rng.uniform(0.0, 0.1, (n_hidden, n_features))
    # exp is bounded by its chords between powers of two: at 2^-6 the bound exceeds the probability by 2^-6 of it.
    params.b[:] = -6.0 * np.log(2.0) - params.W[:n_on].sum(axis=0)
    models, sets = [Model(params, 5, 0.1, 0.3)], wide_sets(0)
    slow, fast = (
        train(engine, Spec("or", "hard", generative=True, batch_size=N_SETS, dtype=kind), models, sets, n_epochs=1)
        for engine, kind in (("reference", "float64"), ("cpu", dtype))
    )
    for a, b in zip(slow, fast, strict=True):
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-10 if dtype == "float64" else 1e-4)


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_cpu_breaks_ties_between_vectors_like_the_reference(constraint):
    params = random_params(np.random.default_rng(0), N_FEATURES, N_HIDDEN, N_CLASSES)
    params.W[:] = 0.0
    # A single step over all sets: after it there are no ties.
    spec = Spec(constraint, "hard", batch_size=N_SETS)
    models, sets = [Model(params, 0, 0.1)], make_sets(0)
    for slow, fast in zip(train("reference", spec, models, sets, 1), train("cpu", spec, models, sets, 1), strict=True):
        np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-12)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_predictions_do_not_depend_on_the_order_of_sets_and_vectors(engine, constraint, pooling):
    sets, params = make_sets(5), make_models(6)[0].params
    spec, rng = Spec(constraint, pooling), np.random.default_rng(0)
    order = rng.permutation(N_SETS)
    shuffled = Bags.from_list([rng.permutation(sets.bags[k]) for k in order])
    for plain, mixed in zip(
        get_engine(engine).forward(params, sets.bags, spec, 1),
        get_engine(engine).forward(params, shuffled, spec, 1),
        strict=True,
    ):
        np.testing.assert_allclose(mixed, plain[order], rtol=0, atol=1e-12)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_predictions_are_bit_identical_for_any_number_of_threads(is_sparse, monkeypatch, thread_pools):
    rng = np.random.default_rng(0)
    # Little work, but on several threads.
    monkeypatch.setattr("setrbm.engines.cpu.session.MIN_WORK_PER_THREAD", 1_000_000)
    n_sets, params = 400, random_params(rng, 60, 120, N_CLASSES, 0.3)
    X = rng.random((3 * n_sets, 60)) * (rng.random((3 * n_sets, 60)) < 0.5)
    bags = Bags(sparse.csr_array(X) if is_sparse else X, np.arange(n_sets + 1) * 3)
    one, three = (get_engine("cpu").forward(params, bags, Spec("or", "soft"), n_jobs) for n_jobs in (1, 3))
    assert thread_pools == [3]
    for a, b in zip(one, three, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("generative", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_cpu_equals_reference_at_a_realistic_size(is_sparse, generative, dtype):
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 30, N_SETS)
    X = (rng.random((sizes.sum(), 600)) * (rng.random((sizes.sum(), 600)) < 0.1)).astype(dtype)
    # Two equal vectors in a set give ties and repeated columns.
    X[1] = X[0]
    bags = Bags(sparse.csr_array(X) if is_sparse else X, np.concatenate([[0], np.cumsum(sizes)]))
    sets = LabeledSets(bags, rng.integers(0, N_CLASSES, N_SETS), np.ones(N_SETS))
    # Weight decay is strong enough for the scale of W to be folded in.
    models = [Model(random_params(rng, 600, 110, N_CLASSES, 0.1), 5, 0.5, 0.001, 0.5)]
    results = []
    for engine, kind in (("reference", "float64"), ("cpu", dtype)):
        spec = Spec("xor", "hard", generative=generative, dtype=kind, batch_size=3)
        results.append(train(engine, spec, models, sets, n_epochs=3))
    for slow, fast in zip(*results, strict=True):
        np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-10 if dtype == "float64" else 1e-3)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_parameters_out_of_bounds_give_an_infinite_loss(engine):
    for letter in "WUbcd":
        params = random_params(np.random.default_rng(0), N_FEATURES, N_HIDDEN, N_CLASSES)
        getattr(params, letter).flat[0] = -1e9
        assert np.isinf(train(engine, Spec(), [Model(params, 0, 1e-9)], make_sets(0), n_epochs=1)[0]).all(), letter


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_models_of_different_shapes_are_refused(engine):
    models = make_models(0)
    models[1] = Model(random_params(np.random.default_rng(0), N_FEATURES, N_HIDDEN + 1, N_CLASSES), 0, 0.1)
    with pytest.raises(ValueError, match="must have the same shapes"):
        get_engine(engine).begin(Spec(), models, 1)


@pytest.mark.parametrize("settings", [{}, {"early_stopping": False, "batch_size": 16}, {"objective": "hybrid"}])
def test_one_model_trains_on_one_thread(thread_pools, settings):
    sets = make_sets(0)
    for n_jobs in (None, 4):
        ClassSetRBM(5, max_epochs=2, engine="cpu", n_jobs=n_jobs, **settings).fit(sets.bags, sets.y)
    assert thread_pools == []


def test_the_single_refit_of_a_choice_trains_on_one_thread(thread_pools):
    sets = make_sets(0)
    settings = {"max_epochs": 2, "n_fits": 1, "calibrate": False, "pooling": "hard", "engine": "cpu"}
    ClassSetRBMCV(5, learning_rate=(0.1, 0.01), n_jobs=2, **settings).fit(sets.bags, sets.y)
    # One pool for the candidates, none for the refit.
    assert thread_pools == [2]


def test_a_small_prediction_starts_no_threads(thread_pools):
    params = random_params(np.random.default_rng(0), N_FEATURES, N_HIDDEN, N_CLASSES)
    get_engine("cpu").forward(params, make_sets(0).bags, Spec(), n_jobs=4)
    assert thread_pools == []


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_persistent_chains_refuse_sets_of_different_sizes(constraint):
    engine, spec = get_engine("cpu"), Spec(constraint, "soft", generative=True, persistent=True)
    session = engine.begin(spec, make_models(0)[:1], 1)
    sets = make_sets(0)
    session.run([engine.place(sets, spec)], [np.arange(N_SETS)], 0)
    other = LabeledSets(make_sets(1).bags, sets.y, sets.weight)
    with pytest.raises(ValueError, match="every pass must use the same sets. Got sets of different sizes"):
        session.run([engine.place(other, spec)], [np.arange(N_SETS)], 1)


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
@pytest.mark.parametrize("objective", ["discriminative", "hybrid"])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_a_diverged_model_does_not_affect_the_next_one(constraint, pooling, objective):
    spec, sets, engine = Spec(constraint, pooling, **GENERATIVE[objective]), make_sets(0), get_engine("cpu")
    sound = make_models(1)[0]
    diverging = Model(sound.params, sound.seed, 1e300, 1e300)
    results = []
    for models in ([sound], [diverging, sound]):
        placed, session = engine.place(sets, spec), engine.begin(spec, models, 1)
        for epoch in range(2):
            session.run([placed] * len(models), [draws.order(1, epoch, np.arange(N_SETS))] * len(models), epoch)
        results.append(session.params(False)[-1])
    for one, other in zip(*(params.arrays() for params in results), strict=True):
        np.testing.assert_array_equal(one, other)


def test_scratch_memory_is_reused_in_every_epoch():
    spec, sets, engine = Spec(), make_sets(0), get_engine("cpu")
    placed, session = engine.place(sets, spec), engine.begin(spec, make_models(1)[:1], 1)
    rooms = set()
    for epoch in range(3):
        session.run([placed], [draws.order(1, epoch, np.arange(N_SETS))], epoch)
        rooms.add(session.buffers.buffers.a.ctypes.data)
    assert len(rooms) == 1
    assert len(session.buffers.buffers.a) == sets.bags.sizes.max()


USE_KERNELS = """
import sys
from setrbm import draws
from setrbm.engines.cpu import layout, random_numbers
key = draws.keys(3)
drawn = [random_numbers.uniform(key[0], unit) for unit in range(5)]
record = getattr(layout, sys.argv[1])(False, 0, 0.0, 0.0, False, False, 1, False, 13)
kernels = random_numbers.uniform, layout.padded_hidden
print(drawn == draws.uniform(key, 5)[0].tolist(), layout.padded_hidden(record))
print(*(sum(kernel.stats.cache_hits.values()) for kernel in kernels))
"""


def test_a_change_in_any_compiled_file_recompiles_all_kernels(tmp_path):
    package = shutil.copytree(Path(setrbm.__file__).parent, tmp_path / "setrbm", ignore=shutil.ignore_patterns("*.nb?"))
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(record="KernelSpec"):
        command = [sys.executable, "-c", USE_KERNELS, record]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return done.stdout.split(), sorted(file.name for file in (tmp_path / "cache").rglob("*"))

    def replace(path, old, new):
        path.write_text(path.read_text().replace(old, new))

    results, cached = run()
    assert results == ["True", "16", "0", "0"]
    assert len(cached) > 4
    # New code must replace old code in the cache.
    assert run() == (["True", "16", "1", "1"], cached)
    replace(package / "draws.py", "0x7FEB352D", "0x7FEB352F")
    assert run() == (["True", "16", "0", "0"], cached)
    for path in (package / "engines" / "cpu").glob("*.py"):
        replace(path, "KernelSpec", "RenamedSpec")
    assert run("RenamedSpec") == (["True", "16", "0", "0"], cached)
