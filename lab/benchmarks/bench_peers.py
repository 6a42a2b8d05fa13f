"""Throughput compared with alternatives.

The same model: PyTorch on the CPU (XOR*, sparse sets), with autograd and with a gradient written by hand, and
learnergy's discriminative RBM (ClassRBM, single dense vectors). Both must arrive at our parameters before anything is
timed. Other models, for a sense of scale: scikit-learn's SGDClassifier and MLPClassifier on the sum of each set, and
torchmil's gated attention network on dense sets (Musk1). PyTorch uses the number of threads that is fastest for it, all
others one core.
"""

# Longer than the other files: its contenders share the data, the checks and the run that compares them.

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from _bars import SETS_PER_SECOND
from _harness import (
    Benchmark,
    Contender,
    Seconds,
    epoch_seconds,
    fitted_params,
    interleave,
    mail_sets,
    require_agreement,
    start_params,
    wall,
    way_apart,
)
from _machine import cores
from setrbm import Bags, ClassRBM, ClassSetRBM, draws
from setrbm.datasets import load_musk1
from setrbm.energy import Params

N_SETS, QUICK_SETS = 14_593, 1_000
# The number of sets to time the slower contenders on: steps do not get cheaper with more of them.
PEER_SETS, QUICK_PEER_SETS = 1_920, 256
N_VECTORS, QUICK_VECTORS = 640, 64
N_HIDDEN = 100
RATE = 0.05
BATCH = 64
EPOCHS, QUICK_EPOCHS = (1, 5), (1, 9)
# On small data a difference of two fits takes many epochs to be measurable.
SMALL_EPOCHS, QUICK_SMALL_EPOCHS = (1, 101), (1, 21)
# Relative to the distance from the start, in float32. Where two vectors share a maximum up to rounding, either may be
# taken.
TOLERANCE = 1e-3
CHECKED_SETS = 128
HAND_WRITTEN = "hand-written gradient"

try:
    import torch
except ImportError:
    torch = None


def ours(batch_size: int, max_epochs: int) -> ClassSetRBM:
    """XOR* without weight decay, which torch's sparse optimizer does not have."""
    return ClassSetRBM(
        N_HIDDEN, learning_rate=RATE, weight_decay=0.0, batch_size=batch_size, max_epochs=max_epochs, scale=None,
        early_stopping=False, n_jobs=1, random_state=0,
    )  # fmt: skip


# --- torch, the same model on the same sparse sets ---


def check_torch(bags: Bags, y: np.ndarray) -> None:
    """One epoch of torch, with autograd and with a hand-written gradient, must give our parameters."""
    from _torch_models import XorStar, autograd_epoch, batches_of, by_hand_epoch

    few, labels = bags[:CHECKED_SETS], y[:CHECKED_SETS]
    for size in (1, BATCH):
        model = ours(size, 1).fit(few, labels)
        start = start_params(model, bags.shape[1], len(model.classes_))
        order = draws.order(model.seed_, 0, np.arange(len(few)))
        for name, epoch in (("autograd", autograd_epoch), ("a hand-written gradient", by_hand_epoch)):
            theirs = XorStar(start)
            epoch(theirs, batches_of(few, labels, order, size), RATE)
            apart = way_apart(fitted_params(model), theirs.params(), start)
            require_agreement(f"an epoch of ours and of torch with {name}, {sets_per_step(size)}", apart, TOLERANCE)


def torch_contenders(bags: Bags, y: np.ndarray, threads_to_try: Sequence[int]) -> dict[str, tuple[Contender, int]]:
    """Return torch's epochs over these sets, each with the number of threads that is fastest for it."""
    from _torch_models import XorStar, autograd_epoch, batches_of, by_hand_epoch

    model = ours(1, 1).fit(bags[:CHECKED_SETS], y[:CHECKED_SETS])
    start = start_params(model, bags.shape[1], len(np.unique(y)))
    order = np.random.default_rng(0).permutation(len(bags))
    found = {}
    for size in (1, BATCH):
        batches = batches_of(bags, y, order, size)
        for name, epoch in (("autograd", autograd_epoch), (HAND_WRITTEN, by_hand_epoch)):
            theirs = XorStar(start)
            some = batches[: max(2, 32 // size)]
            threads = fastest(threads_to_try, lambda e=epoch, t=theirs, b=some: e(t, b, RATE))
            job = on_threads(threads, lambda e=epoch, t=theirs, b=batches: e(t, b, RATE))
            found[f"PyTorch {name}, {sets_per_step(size)}"] = job, threads
    return found


def sets_per_step(size: int) -> str:
    return "1 set per step" if size == 1 else f"{size} sets per step"


def vectors_per_step(size: int) -> str:
    return sets_per_step(size).replace("set", "vector")


def on_threads(threads: int, job: Callable[[], object]) -> Contender:
    """Return a contender that times a job with this number of torch threads."""

    def run() -> float:
        torch.set_num_threads(threads)
        return wall(job)

    return run


def fastest(threads_to_try: Sequence[int], job: Callable[[], object]) -> int:
    """Return the number of threads with which torch does a job fastest."""
    trials = {threads: on_threads(threads, job) for threads in threads_to_try}
    if len(trials) == 1:
        return threads_to_try[0]
    return min(trials, key=lambda threads: min(trials[threads]() for _ in range(3)))


def add_torch(bench: Benchmark, bags: Bags, y: np.ndarray) -> None:
    """Sparse sets: ours, torch, and scikit-learn's models on summed sets, all in one run."""
    few = QUICK_PEER_SETS if bench.quick else PEER_SETS
    epochs = QUICK_EPOCHS if bench.quick else EPOCHS
    contenders: dict[str, Contender] = {}
    n_sets, threads = {}, {}
    for size in (1, BATCH):
        name = f"setrbm XOR*, {sets_per_step(size)}"
        contenders[name] = lambda s=size: epoch_seconds(lambda n: ours(s, n).fit(bags, y), *epochs)
        n_sets[name], threads[name] = len(bags), 1
    peers = summed_contenders(bags[:few], y[:few])
    if torch is not None:
        check_torch(bags, y)
        # More threads than free cores make torch wait for itself: a quick run, on any machine, tries one only.
        threads_to_try = [1] if bench.quick else sorted({1, cores()})
        peers = torch_contenders(bags[:few], y[:few], threads_to_try) | peers
    for name, (job, n_threads) in peers.items():
        contenders[name], n_sets[name], threads[name] = job, few, n_threads
    seconds = interleave(contenders, bench.rounds)
    speed = {name: n_sets[name] / values for name, values in seconds.items()}
    shape = f"{bags.n_vectors / len(bags):.1f} vectors per set, {bags.shape[1]:,} features, {N_HIDDEN} units, float32"
    if torch is not None:
        add_ratios(bench, speed, shape)
    for name, values in speed.items():
        bench.add(name, values, SETS_PER_SECOND, threads=threads[name], sizes=f"{n_sets[name]:,} sets; {shape}")


def add_ratios(bench: Benchmark, speed: dict[str, Seconds], shape: str) -> None:
    one, many = f"setrbm XOR*, {sets_per_step(1)}", f"setrbm XOR*, {sets_per_step(BATCH)}"
    for mine, name, size, bar in (
        (one, "autograd", 1, "torch-1"),
        (one, "autograd", BATCH, "torch-64"),
        (one, HAND_WRITTEN, 1, ""),
        (one, HAND_WRITTEN, BATCH, ""),
        (many, "autograd", BATCH, ""),
        (many, HAND_WRITTEN, BATCH, ""),
    ):
        theirs = f"PyTorch {name}, {sets_per_step(size)}"
        bench.add(f"{mine} ÷ {theirs}", speed[mine] / speed[theirs], bar=bar, sizes=shape)


# --- scikit-learn, linear model and network on the sum of each set ---


def summed_contenders(bags: Bags, y: np.ndarray) -> dict[str, tuple[Contender, int]]:
    """Return one pass of scikit-learn's models over the sums of these sets."""
    # scikit-learn takes 32-bit indices only.
    columns, starts = (array.astype(np.int32) for array in (np.arange(bags.n_vectors), bags.offsets))
    membership = sparse.csr_array((np.ones(bags.n_vectors, np.float32), columns, starts))
    sums, classes = sparse.csr_array(membership @ bags.X), np.unique(y)
    linear = SGDClassifier(loss="log_loss", random_state=0)
    network = MLPClassifier((N_HIDDEN,), solver="sgd", batch_size=BATCH, momentum=0.0, alpha=0.0, random_state=0)

    def one_pass(model: object) -> float:
        with threadpool_limits(1):
            return wall(lambda: model.partial_fit(sums, y, classes=classes))

    return {
        "sklearn SGDClassifier on summed sets": (lambda: one_pass(linear), 1),
        f"sklearn MLPClassifier on summed sets, {sets_per_step(BATCH)}": (lambda: one_pass(network), 1),
    }


# --- learnergy, the same model for single vectors ---


def digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return (X / 16.0).astype(np.float32), y


def our_class_rbm(batch_size: int, max_epochs: int) -> ClassRBM:
    return ClassRBM(
        N_HIDDEN, learning_rate=RATE, weight_decay=0.0, batch_size=batch_size, max_epochs=max_epochs, scale=None,
        early_stopping=False, n_jobs=1, random_state=0,
    )  # fmt: skip


def learnergy_model(start: Params) -> object:
    """Return learnergy's discriminative RBM with these parameters; its b and c are our c and d."""
    from learnergy.models.bernoulli import DiscriminativeRBM

    n_hidden, n_features = start.W.shape
    model = DiscriminativeRBM(n_features, n_hidden, start.U.shape[1], learning_rate=RATE)
    for mine, value in ((model.W, start.W.T), (model.U, start.U.T), (model.b, start.c), (model.c, start.d)):
        mine.data.copy_(torch.tensor(np.ascontiguousarray(value)))
    return model


def check_learnergy(X: np.ndarray, y: np.ndarray) -> None:
    """Three steps over all vectors at once, whose order then does not matter, must give our parameters."""
    model = our_class_rbm(len(X), 3).fit(X, y)
    start = start_params(model, X.shape[1], len(model.classes_))
    theirs = learnergy_model(start)
    theirs.fit(dataset_of(X, y), batch_size=len(X), epochs=3)
    W, U, c, d = (p.detach().numpy() for p in (theirs.W, theirs.U, theirs.b, theirs.c))
    apart = way_apart(fitted_params(model), Params(W.T, U.T, start.b, c, d), start)
    require_agreement("three steps of ClassRBM and of learnergy", apart, TOLERANCE)


def dataset_of(X: np.ndarray, y: np.ndarray) -> object:
    return torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(y))


def add_learnergy(bench: Benchmark) -> None:
    X, y = digits()
    check_learnergy(X, y)
    few = QUICK_VECTORS if bench.quick else N_VECTORS
    epochs = QUICK_SMALL_EPOCHS if bench.quick else SMALL_EPOCHS
    contenders: dict[str, Contender] = {}
    for size in (1, BATCH):
        theirs = learnergy_model(start_params(our_class_rbm(size, 1).fit(X, y), X.shape[1], len(np.unique(y))))
        contenders[f"setrbm ClassRBM, {vectors_per_step(size)}"] = lambda s=size: (
            epoch_seconds(lambda n: our_class_rbm(s, n).fit(X, y), *epochs) / len(X)
        )
        contenders[f"learnergy DiscriminativeRBM, {vectors_per_step(size)}"] = lambda t=theirs, s=size: (
            on_threads(1, lambda: t.fit(dataset_of(X[:few], y[:few]), batch_size=s, epochs=1))() / few
        )
    add_pairs(
        bench, contenders, f"digits: {len(X):,} vectors (learnergy {few}), 64 features, {N_HIDDEN} units, float32"
    )


def add_pairs(bench: Benchmark, contenders: dict[str, Contender], sizes: str) -> None:
    """Time contenders that come in pairs, ours first, by their seconds per set; add ratios and speeds."""
    seconds = interleave(contenders, bench.rounds)
    names = list(seconds)
    for mine, theirs in zip(names[::2], names[1::2], strict=True):
        bench.add(f"{mine} ÷ {theirs}", seconds[theirs] / seconds[mine], sizes=sizes)
    for name, values in seconds.items():
        bench.add(name, 1.0 / values, SETS_PER_SECOND, sizes=sizes)


# --- torchmil, another model for dense sets ---


def torchmil_epoch(bags: Bags, y: np.ndarray) -> Callable[[], object]:
    """Return one pass of a gated-attention network, one set per step, with Adam and a hidden layer as large as ours."""
    from torchmil.models import ABMIL

    torch.manual_seed(0)
    layer = torch.nn.Sequential(torch.nn.Linear(bags.shape[1], N_HIDDEN), torch.nn.ReLU())
    model = ABMIL(in_shape=(bags.shape[1],), att_dim=64, gated=True, feat_ext=layer)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    sets = [torch.tensor(bags[i]).unsqueeze(0) for i in range(len(bags))]
    targets = torch.tensor(y, dtype=torch.float32).unsqueeze(1)

    def epoch() -> float:
        total = 0.0
        for i in torch.randperm(len(sets)).tolist():
            optimizer.zero_grad()
            loss = model.criterion(model(sets[i]), targets[i])
            loss.backward()
            optimizer.step()
            total += loss.item()
        return total / len(sets)

    return epoch


def check_torchmil(epoch: Callable[[], float]) -> None:
    """Check that a different model learns, since its parameters cannot be compared."""
    losses = [epoch() for _ in range(8)]
    require_agreement("torchmil's loss after and before some epochs (their ratio)", losses[-1] / losses[0], 0.97)


def add_torchmil(bench: Benchmark) -> None:
    raw, y = load_musk1()
    low, high = raw.X.min(axis=0), raw.X.max(axis=0)
    bags = raw.with_vectors(((raw.X - low) / np.maximum(high - low, 1)).astype(np.float32))
    epoch = torchmil_epoch(bags, y)
    check_torchmil(epoch)
    epochs = QUICK_SMALL_EPOCHS if bench.quick else SMALL_EPOCHS
    contenders = {
        "setrbm XOR* on Musk1, 1 set per step": lambda: (
            epoch_seconds(lambda n: ours(1, n).fit(bags, y), *epochs) / len(bags)
        ),
        "torchmil ABMIL (gated) on Musk1, 1 set per step": lambda: on_threads(1, epoch)() / len(bags),
    }
    add_pairs(bench, contenders, f"Musk1: 92 dense sets, 476 vectors, 166 features, {N_HIDDEN} units, float32")


def is_installed(package: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            __import__(package)
    except ImportError:
        print(f"  left out: {package} is not installed")
        return False
    return True


def main(argv: Sequence[str] | None = None) -> None:
    bench = Benchmark(__file__, __doc__, argv)
    bags, y = mail_sets(QUICK_SETS if bench.quick else N_SETS)
    with_torch = is_installed("torch")
    if with_torch:
        torch.set_num_threads(1)
    add_torch(bench, bags, y)
    if with_torch and is_installed("learnergy"):
        add_learnergy(bench)
    if with_torch and is_installed("torchmil"):
        add_torchmil(bench)
    bench.finish()


if __name__ == "__main__":
    main()
