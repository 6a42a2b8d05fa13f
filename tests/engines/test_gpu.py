"""The GPU engine: on a GPU where there is one, else on torch's CPU build with Triton's interpreter."""

import ast
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch", reason="the GPU engine needs torch")
HAS_CUDA = torch.cuda.is_available()
if not HAS_CUDA:
    os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="the GPU engine's kernels need triton")

from test_engines import GENERATIVE, N_FEATURES, N_HIDDEN, N_SETS, make_models, make_sets  # noqa: E402

from brute import CONSTRAINTS, POOLINGS, random_params  # noqa: E402
from setrbm import (  # noqa: E402
    Bags,
    ClassSetRBM,
    draws,
    engines,
)
from setrbm.energy import initial_params  # noqa: E402
from setrbm.engines import get_engine  # noqa: E402
from setrbm.engines.gpu import device, limits, many, packed, torch_draws  # noqa: E402
from setrbm.engines.gpu import engine as gpu  # noqa: E402
from setrbm.engines.gpu import sparse as sparse_models  # noqa: E402
from setrbm.engines.protocol import DeviceMemoryWarning, LabeledSets, Model, Spec  # noqa: E402

ENGINE = gpu.GpuEngine("cuda" if HAS_CUDA else "cpu")

# How far float32 may be from float64 after two epochs, relative to the largest number of its kind.
FLOAT32_TOLERANCE = 2e-5


def train(engine, spec, models, sets, n_epochs=2):
    """Train each model on its own sets; return losses, scores and parameters as a list of arrays, and the session."""
    placed = {id(s): engine.place(s, spec) for s in sets}
    placed = [placed[id(s)] for s in sets]
    session = engine.begin(spec, models, 1)
    everything, out = np.arange(N_SETS // 2), []
    for epoch in range(n_epochs):
        orders = [draws.order(model.seed, epoch, everything[m:]) for m, model in enumerate(models)]
        out.append(session.run(placed, orders, epoch))
        out.append(session.score(placed, [everything[: 1 + m] for m in range(len(models))]))
    for params in session.params(remembered=False):
        out.extend(params.arrays())
    return out, session


def assert_same(spec, models, sets, n_epochs=2):
    slow, _ = train(get_engine("reference"), spec, models, sets, n_epochs)
    fast, session = train(ENGINE, spec, models, sets, n_epochs)
    for one, other in zip(slow, fast, strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-9)
    return session


@pytest.mark.parametrize("objective", sorted(set(GENERATIVE) - {"persistent"}))
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_models_side_by_side_equal_reference_over_whole_training_runs(constraint, pooling, objective):
    spec = Spec(constraint, pooling, **GENERATIVE[objective])
    # Models with their own sets, orders and learning rates; two of them share sets.
    first, second = make_sets(0), make_sets(1, first=40)
    models = [*make_models(1), make_models(2)[0]]
    session = assert_same(spec, models, [first, second, first])
    assert session._side_by_side is not None


@pytest.mark.parametrize("objective", ["discriminative", "hybrid"])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_float32_differs_by_rounding_and_is_reproducible(constraint, pooling, objective):
    single = Spec(constraint, pooling, dtype="float32", **GENERATIVE[objective])
    models, sets = make_models(1), [make_sets(0), make_sets(1, first=40)]
    rounded = [replace(model, params=model.params.astype(np.float32)) for model in models]
    exact, _ = train(get_engine("reference"), replace(single, dtype="float64"), models, sets)
    once, _ = train(ENGINE, single, rounded, sets)
    again, _ = train(ENGINE, single, rounded, sets)
    for expected, one, other in zip(exact, once, again, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, expected, rtol=0, atol=FLOAT32_TOLERANCE * np.abs(expected).max())


def test_kernels_compile_for_a_gpu(tmp_path):
    """The interpreter accepts code that the compiler rejects. All variants, dtypes, dense and sparse."""
    script = Path(__file__).with_name("compile_kernels.py")
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["PYTHONPATH"] = os.pathsep.join([str(script.parents[1]), environment.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [sys.executable, script],
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert set(ran.stdout.split()) == {
        "train_epoch", "score_sets", "vector_activations", "set_steps", "feature_steps", "outer_steps"
    }  # fmt: skip


@pytest.mark.skipif(not HAS_CUDA, reason="needs a GPU: Triton's interpreter is not thread-safe")
def test_sessions_in_threads_give_the_same_as_one_by_one():
    def work(seed):
        sets = make_sets(seed)
        return train(gpu.ENGINE, Spec("or", "soft", **GENERATIVE["hybrid"]), make_models(seed), [sets] * 2, 50)[0]

    alone = [work(seed) for seed in range(6)]
    with ThreadPoolExecutor(3) as threads:
        together = list(threads.map(work, range(6)))
    for one, other in zip(alone, together, strict=True):
        for expected, got in zip(one, other, strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("batch_size", [1, 5])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("objective", GENERATIVE)
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_one_model_equals_reference_over_whole_training_runs(
    constraint, pooling, objective, is_sparse, batch_size, monkeypatch
):
    monkeypatch.setattr(limits, "MOST_HIDDEN", 0)
    spec = Spec(constraint, pooling, batch_size=batch_size, **GENERATIVE[objective])
    session = assert_same(spec, make_models(1)[:1], [make_sets(0, is_sparse, first=7)])
    assert session._one_by_one is not None


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_one_sparse_model_by_kernels_equals_reference(constraint, pooling, batch_size):
    spec = Spec(constraint, pooling, batch_size=batch_size)
    session = assert_same(spec, make_models(1)[:2], [make_sets(0, True), make_sets(3, True)])
    assert all(isinstance(model, sparse_models.SparseModel) for model in session._one_by_one)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_larger_problems_equal_the_cpu_engine(is_sparse, monkeypatch):
    # Several tiles of vectors and sets, several blocks of features and entries. One hidden unit has the same activation
    # for all vectors: the first one wins.
    monkeypatch.setattr(sparse_models, "FEATURE_ENTRIES", 16)
    rng = np.random.default_rng(0)
    sizes = np.concatenate([[40, 3, 17, 16, 1, 33], np.full(20, 2)])
    X = (rng.random((sizes.sum(), 70)) < 0.4).astype(float)
    bags = Bags(sparse.csr_array(X) if is_sparse else X, np.concatenate([[0], np.cumsum(sizes)]))
    sets = LabeledSets(bags, np.arange(26) % 5, np.ones(26))
    spec = Spec("xor", "hard", batch_size=20 if is_sparse else 1)
    params = initial_params(70, 20, 5, 0.3, 3, np.float64)
    params.W[3] = 0.0
    models = [Model(params, 3, 0.5)]
    results = []
    for engine in (ENGINE, get_engine("cpu")):
        placed, session = engine.place(sets, spec), engine.begin(spec, models, 1)
        losses = [session.run([placed], [draws.order(3, epoch, np.arange(26))], epoch) for epoch in range(2)]
        results.append([*losses, session.score([placed], [np.arange(26)]), *session.params(False)[0].arrays()])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("unit", ["rbm", "mlp", "logit"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_max_out_units_equal_reference(unit, is_sparse):
    rng = np.random.default_rng(0)
    sets = make_sets(0, is_sparse)
    sets.y[:] %= 2
    params = random_params(rng, N_FEATURES, 1 if unit == "logit" else N_HIDDEN, 2, 0.5)
    assert_same(Spec(unit=unit, batch_size=2), [Model(params, 3, 0.2, 0.0, 0.01)], [sets])


def test_random_numbers_on_the_device_are_bitwise_equal():
    fields, within = (3, 17, 2, draws.INPUT), np.array([0, 1, 999])
    for seed in (0, 1, 2**31 - 2):
        expected = draws.uniform(draws.keys(seed, *fields, within), 50)
        key = torch_draws.keys(seed, *fields, torch.from_numpy(within), device="cpu")
        np.testing.assert_array_equal(torch_draws.uniform(key, 50).numpy(), expected)


def test_prediction_equals_reference_however_sets_are_split(monkeypatch):
    sets, model = make_sets(0), make_models(1)[0]
    for most in (1, 2**26):
        monkeypatch.setattr(packed, "SCORED_AT_ONCE", most)
        for constraint in CONSTRAINTS:
            spec = Spec(constraint, "soft")
            expected = get_engine("reference").forward(model.params, sets.bags, spec, 1)
            for one, other in zip(expected, ENGINE.forward(model.params, sets.bags, spec, 1), strict=True):
                np.testing.assert_allclose(other, one, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("engine", ["cpu", "gpu", "reference"])
def test_predictions_have_the_dtype_of_the_sets(engine, dtype, monkeypatch):
    """Whatever the dtype of the parameters; the reference always computes in float64."""
    monkeypatch.setattr(gpu, "ENGINE", ENGINE)
    sets = make_sets(0)
    fitted = ClassSetRBM(3, max_epochs=1, early_stopping=False, engine="reference", random_state=0)
    fitted.fit(sets.bags, sets.y)
    fitted.engine = engine
    bags = sets.bags.with_vectors(sets.bags.X.astype(dtype))
    expected = np.float64 if engine == "reference" else dtype
    for params_dtype in (np.float32, np.float64):
        for letter in "WUbcd":
            setattr(fitted, f"{letter}_", getattr(fitted, f"{letter}_").astype(params_dtype))
        for method in (fitted.transform, fitted.free_energy, fitted.predict_proba, fitted.predict_log_proba):
            assert method(bags).dtype == expected, method


def test_models_that_do_not_fit_in_memory_are_split_with_a_warning(monkeypatch):
    spec, models = Spec("or", "soft"), make_models(1) + make_models(2)
    sets = [make_sets(0)] * 4
    whole, _ = train(ENGINE, spec, models, sets)
    monkeypatch.setattr(many, "free_bytes", lambda device: 2 * 16 * 5 * 8 / many.SHARE)
    with pytest.warns(DeviceMemoryWarning, match="4 models do not fit in the memory of the GPU at once; .* in 2 parts"):
        split, _ = train(ENGINE, spec, models, sets)
    for one, other in zip(whole, split, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("is_sparse", "objective"), [(True, "discriminative"), (True, "hybrid"), (False, "hybrid")])
@pytest.mark.parametrize("batch_size", [1, 4])
def test_sets_that_do_not_fit_are_copied_in_pieces_with_the_same_results(is_sparse, objective, batch_size, monkeypatch):
    spec = Spec("xor", "soft", batch_size=batch_size, **GENERATIVE[objective])
    models, sets = make_models(1)[:1], [make_sets(0, is_sparse, first=7)]
    seen = []
    piece_of = gpu.HostStore._piece
    monkeypatch.setattr(gpu.HostStore, "_piece", lambda self, which: seen.append(len(which)) or piece_of(self, which))
    monkeypatch.setattr(gpu, "free_bytes", lambda device: 600.0)
    engine = gpu.GpuEngine(ENGINE.device)
    message = r"These sets need .* GiB on the GPU, only .* GiB are free. They are copied to it in pieces"
    with pytest.warns(DeviceMemoryWarning, match=message):
        fast, session = train(engine, spec, models, sets)
    slow, _ = train(get_engine("reference"), spec, models, sets)
    for one, other in zip(slow, fast, strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-9)
    assert session._one_by_one is not None
    assert len(seen) > 4
    with pytest.warns(DeviceMemoryWarning, match=message):
        pool, energies = engine.forward(models[0].params, sets[0].bags, spec, 1)
    expected = get_engine("reference").forward(models[0].params, sets[0].bags, spec, 1)
    np.testing.assert_allclose(pool, expected[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(energies, expected[1], rtol=0, atol=1e-12)


def test_models_are_trained_one_by_one_after_a_shard_that_does_not_fit(monkeypatch):
    spec, models = Spec("or", "soft"), make_models(1)
    first, second = make_sets(0), make_sets(1, first=N_SETS)
    results = []
    for engine in (gpu.GpuEngine(ENGINE.device), get_engine("reference")):
        session, out = engine.begin(spec, models, 1), []
        for epoch in range(2):
            for sets in (first, second):
                if engine.name == "gpu":
                    monkeypatch.setattr(gpu, "free_bytes", lambda device, few=sets is second: 600.0 if few else 2.0**33)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    placed = engine.place(sets, spec)
                orders = [draws.order(model.seed, epoch, np.arange(N_SETS)) for model in models]
                out.append(session.run([placed] * 2, orders, epoch))
                session.remember(np.array([epoch == 0, False]))
        out += [array for kept in (True, False) for params in session.params(kept) for array in params.arrays()]
        results.append(out)
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


def test_a_piece_has_at_most_most_entries_but_at_least_one_batch():
    sets = make_sets(0)
    entries = gpu.entries_of(sets)
    order = draws.order(1, 0, np.arange(N_SETS))
    for most in (1, int(entries.max()), int(entries.sum() // 2), int(entries.sum())):
        store = gpu.HostStore(sets, torch.float64, "cpu", most)
        pieces = list(store.pieces(order, 2))
        assert np.array_equal(np.concatenate([piece.numbers.numpy() for piece in pieces]), order)
        for piece in pieces:
            assert piece.n_sets <= 2 or piece.host_entries.sum() <= most
        assert len(pieces) == 1 if most == entries.sum() else len(pieces) > 1


@pytest.mark.parametrize("order", [np.arange(3, N_SETS), np.arange(N_SETS)])
def test_an_epoch_of_a_sparse_model_over_some_of_the_sets_equals_the_reference(order):
    """One set per step, and with sets left out: a step too many would change the result."""
    spec, model, sets = Spec("or", "soft"), make_models(1)[0], make_sets(0, True)
    results = []
    for engine in (ENGINE, get_engine("reference")):
        session = engine.begin(spec, [model], 1)
        loss = session.run([engine.place(sets, spec)], [order], 0)
        results.append([loss, *session.params(False)[0].arrays()])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("path", sorted(Path(gpu.__file__).parent.glob("*.py")), ids=lambda path: path.name)
def test_no_module_keeps_weak_references(path):
    """A weak reference to a torch stream crashes the interpreter once the stream is gone."""
    imported = {
        name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (getattr(node, "module", None), *(alias.name for alias in node.names))
    }
    assert "weakref" not in imported


def test_sessions_begun_and_dropped_repeatedly_give_the_same():
    sets, models = make_sets(0), make_models(0)
    spec = Spec(dtype="float32")
    placed, losses = ENGINE.place(sets, spec), []
    for _ in range(100 if HAS_CUDA else 3):
        session = ENGINE.begin(spec, models, 1)
        losses.append(session.run([placed] * 2, [np.arange(N_SETS)] * 2, 0))
        del session
    np.testing.assert_array_equal(losses, np.broadcast_to(losses[0], np.shape(losses)))


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_diverged_model_has_an_infinite_loss(is_sparse):
    spec = Spec(batch_size=2 if is_sparse else 1)
    session, sets = ENGINE.begin(spec, [Model(make_models(1)[0].params, 5, 1e30)], 1), make_sets(0, is_sparse)
    assert session.run([ENGINE.place(sets, spec)], [np.arange(N_SETS)], 0)[0] == np.inf


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
def test_the_loss_is_infinite_for_diverged_models_and_nan_for_empty_orders():
    models = [Model(make_models(1)[0].params, 5, 1e30), *make_models(2)]
    session, placed = ENGINE.begin(Spec(), models, 1), ENGINE.place(make_sets(0), Spec())
    losses = session.run([placed] * 3, [np.arange(N_SETS), np.empty(0, dtype=int), np.arange(3)], 0)
    assert losses[0] == np.inf
    assert np.isnan(losses[1])
    assert np.isfinite(losses[2])
    np.testing.assert_array_equal(session.params(False)[1].W, models[1].params.W)


@pytest.mark.parametrize("most", [0, limits.MOST_HIDDEN])
def test_remembered_parameters_do_not_change(most, monkeypatch):
    monkeypatch.setattr(limits, "MOST_HIDDEN", most)
    models = make_models(0)
    session, placed = ENGINE.begin(Spec(), models, 1), ENGINE.place(make_sets(0), Spec())
    assert (session.params(True)[0].W == models[0].params.W).all()
    session.run([placed] * 2, [np.arange(N_SETS)] * 2, 0)
    session.remember(np.array([True, False]))
    kept = session.params(False)
    session.run([placed] * 2, [np.arange(N_SETS)] * 2, 1)
    now, best = session.params(False), session.params(True)
    np.testing.assert_array_equal(best[0].W, kept[0].W)
    np.testing.assert_array_equal(best[1].W, now[1].W)
    assert (best[0].W != now[0].W).any()


@pytest.mark.skipif(HAS_CUDA, reason="there is a GPU")
def test_without_a_gpu_the_error_says_so():
    with pytest.raises(RuntimeError, match="needs a GPU that torch can use. Got none"):
        get_engine("gpu").begin(Spec(), make_models(0), 1)


@pytest.mark.parametrize("spec", [Spec("xor", "soft"), Spec("or", "hard", generative=True)])
def test_buffers_kept_between_epochs_match_the_current_sets(spec):
    """Stores change, sets grow, and models pause."""
    rng = np.random.default_rng(3)
    shards, first = [], 0
    for n, largest in ((5, 2), (4, 20), (6, 7)):
        sizes = rng.integers(1, largest + 1, n)
        X = (rng.random((sizes.sum(), 5)) < 0.5).astype(float)
        bags = Bags(X, np.concatenate([[0], np.cumsum(sizes)]))
        shards.append(LabeledSets(bags, rng.integers(0, 2, n), rng.random(n) + 0.1, first))
        first += n
    models = [Model(initial_params(5, 4, 2, 0.3, m % 3, np.float64), m % 3, 0.1, 0.05, 0.01) for m in range(4)]

    def trained(engine):
        session, results = engine.begin(spec, models, 1), []
        placed = [engine.place(sets, spec) for sets in shards]
        for epoch in range(3):
            which = [(epoch + m) % 3 if m < 2 else epoch for m in range(4)]
            shared = {w: draws.order(0, epoch, np.arange(len(shards[w].y)), shards[w].first) for w in which}
            orders = [shared[w] if m != epoch else np.empty(0, int) for m, w in enumerate(which)]
            results.append(session.run([placed[w] for w in which], orders, epoch))
            results.append(session.score([placed[w] for w in which], [np.arange(epoch + 1)] * 4))
        return [*results, *(letter for params in session.params(False) for letter in params.arrays())]

    for got, expected in zip(trained(ENGINE), trained(get_engine("reference")), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


def test_errors_of_the_device_are_explained():
    with pytest.raises(MemoryError, match="must fit in the memory of the GPU"), device.explained_errors():
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB\nmore")
    with pytest.raises(RuntimeError, match="The GPU failed during training"), device.explained_errors():
        raise RuntimeError("CUDA error: unspecified launch failure\nmore")
    with pytest.raises(RuntimeError, match="The GPU failed during training"), device.explained_errors():
        raise RuntimeError("Triton Error [CUDA]: an illegal memory access was encountered")
    with pytest.raises(MemoryError, match="must fit in the memory of the GPU"), device.explained_errors():
        raise RuntimeError("Triton Error [CUDA]: out of memory")
    with pytest.raises(RuntimeError, match="^something else$"), device.explained_errors():
        raise RuntimeError("something else")


FLOAT32 = Spec(dtype="float32")


@pytest.fixture
def gpu_found(monkeypatch):
    """Stand in for the queries of the device: a function that says which GPU there is, if any."""

    def found(capability):
        monkeypatch.setattr(engines, "GPU_DRIVER", os.devnull)
        monkeypatch.setattr(device, "is_available", lambda: capability is not None)
        monkeypatch.setattr(device, "compute_capability", lambda: capability)

    found((9, 0))
    return found


def test_auto_takes_the_gpu_for_many_dense_models(gpu_found):
    sets, models = [make_sets(0)], [make_models(0)[0]] * limits.MANY_MODELS
    assert engines.suited_engine("auto", FLOAT32, models, sets).name == "gpu"
    assert engines.suited_engine("auto", FLOAT32, models[:-1], sets).name == "cpu"
    assert engines.suited_engine("reference", FLOAT32, models, sets).name == "reference"
    for not_supported in ({"batch_size": 2}, {"generative": True, "persistent": True}, {"unit": "mlp"}):
        assert not limits.is_faster(replace(FLOAT32, **not_supported), models, sets)


@pytest.mark.parametrize(("n_hidden", "n_classes"), [(257, 2), (200, 100)])
def test_auto_leaves_models_too_large_for_the_kernels_to_the_cpu(n_hidden, n_classes, gpu_found):
    large = Model(initial_params(5, n_hidden, n_classes, 0.1, 0, np.float32), 0, 0.1)
    assert not limits.is_faster(FLOAT32, [large] * limits.MANY_MODELS, [make_sets(0)])


def test_auto_takes_the_gpu_for_many_sparse_entries_in_large_batches(gpu_found, monkeypatch):
    sets, model = make_sets(0, True), make_models(0)[0]
    spec = replace(FLOAT32, batch_size=limits.LARGE_BATCH)
    assert not limits.is_faster(spec, [model], [sets])
    monkeypatch.setattr(limits, "MANY_ENTRIES", 1)
    assert limits.is_faster(spec, [model], [sets])
    assert not limits.is_faster(replace(spec, batch_size=limits.LARGE_BATCH - 1), [model], [sets])
    assert not limits.is_faster(replace(spec, generative=True), [model], [sets])
    assert sparse_models.fits(spec, model, [ENGINE.place(sets, spec)])
    monkeypatch.setattr(limits, "MOST_PLACES", 2 * N_FEATURES - 1)
    assert not limits.is_faster(spec, [model], [sets])
    assert not sparse_models.fits(spec, model, [ENGINE.place(sets, spec)])


@pytest.mark.parametrize(
    ("capability", "dtypes"),
    [(None, []), ((8, 9), ["float32"]), ((12, 0), ["float32"]), ((9, 0), ["float32", "float64"])],
)
def test_auto_takes_the_gpu_for_dtypes_it_is_fast_at(capability, dtypes, gpu_found):
    gpu_found(capability)
    sets, models = [make_sets(0)], [make_models(0)[0]] * limits.MANY_MODELS
    for dtype in ("float32", "float64"):
        chosen = engines.suited_engine("auto", Spec(dtype=dtype), models, sets).name
        assert chosen == ("gpu" if dtype in dtypes else "cpu")


@pytest.mark.parametrize("is_missing", ["driver", "torch"])
def test_auto_without_a_driver_or_torch_is_the_cpu(is_missing, gpu_found, monkeypatch):
    if is_missing == "driver":
        monkeypatch.setattr(engines, "GPU_DRIVER", "no such file")
    else:
        monkeypatch.setattr(limits, "find_spec", lambda name: None)
    models = [make_models(0)[0]] * limits.MANY_MODELS
    assert engines.suited_engine("auto", FLOAT32, models, [make_sets(0)]).name == "cpu"
