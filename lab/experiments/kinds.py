"""Which kinds of model, and which scaling of the inputs, should ClassSetRBMCV choose from or average?

The protocol is that of lab/experiments/recipe.py, on more data: the paper's five benchmarks, six more, and made-up
problems that isolate one property each. One fifth of each training part is held back for judging. On the rest every
kind of model is trained on inputs scaled in several ways, with several rates and initial sizes, for 400 epochs: once
without a fifth of the sets (to select by) and twice with all of them (to use). The scores of the held-out sets are kept
at checkpoints, so that any rule for selecting and averaging can be judged without training again.

    python lab/experiments/kinds.py collect --grid GRID --data-home FOLDER --logits FOLDER [DATASET ...]   # needs a GPU
    python lab/experiments/kinds.py svm --data-home FOLDER [DATASET ...]
    python lab/experiments/kinds.py judge --grid GRID --data-home FOLDER --logits FOLDER

There are two grids: ``kinds`` is the first round, ``starts`` the second, with fewer kinds, more rates and initial
sizes, and shares of mean pooling chosen on held-out sets. ``svm`` writes the accuracies of the SVMs on the same splits
to lab/results/kinds_svm.csv; ``judge`` writes a line for every candidate, the poor ones too, to lab/results/kinds.csv
or lab/results/starts.csv. The default was chosen from these lines (docs/decisions/0007-kinds-and-scaling.md).
"""

from __future__ import annotations

import argparse
import csv
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import recipe
from joblib import Parallel, delayed
from recipe import PARTS, Part

from setrbm import Bags, draws
from setrbm.datasets import load_benchmark
from setrbm.datasets.benchmarks import BENCHMARKS
from setrbm.energy import initial_params
from setrbm.engines.protocol import LabeledSets, Model, Spec
from setrbm.scaling import Scaling
from setrbm_lab.paper import DATASETS as PAPER
from setrbm_lab.set_problems import SET_PROBLEMS, make_set_problem
from setrbm_lab.systems import ROWS

N_HIDDEN = 100
CHECKPOINTS = (50, 100, 200, 400)
HARD, MEAN, SOFT, OR = KINDS = (("xor", "hard"), ("xor", "mean"), ("xor", "soft"), ("or", "hard"))
SCALES = ("[0, 1]", "[-1, 1]", "[0, 1], normed", "centered, normed", "standardized, normed")
UNIT, _, NORMED, CENTERED, STANDARD = SCALES
# A normed scaling gives the vectors this variance, summed over the features.
VARIANCE = 5.0
# One fit to select by (the index of the part left out), and two on all sets.
MEMBERS = (0, PARTS, PARTS + 1)
# Each score, F minus its mean over the classes, is stored in one byte: up to 8, in steps of 1 / 15.8.
STEP, LARGEST = 15.8, 8.0
SVMS = ("SVM-max", "SVM-miGraph", "Pooled SVM")
RESULTS = Path(__file__).parents[1] / "results"
DATASETS = (*BENCHMARKS, *SET_PROBLEMS)
# Shares of the second part of a mixture, to be chosen on held-out sets.
SHARES = (0.0, 0.2, 0.5, 0.8, 1.0)


@dataclass(frozen=True)
class Grid:
    """What is trained: every kind on inputs scaled in every way, with every rate and initial size."""

    kinds: tuple[tuple[Any, Any], ...]
    scales: tuple[str, ...]
    rates: tuple[float, ...]
    sizes: tuple[float, ...]

    @property
    def settings(self) -> list[tuple[float, float]]:
        """Every pair of rate and initial size."""
        return list(product(self.rates, self.sizes))

    def among(self, rates: Sequence[float], sizes: Sequence[float]) -> tuple[int, ...]:
        """Return the indices of the settings with these rates and sizes."""
        return tuple(i for i, (rate, size) in enumerate(self.settings) if rate in rates and size in sizes)


GRIDS = {
    "kinds": Grid(KINDS, SCALES, (0.01, 0.03, 0.1), (0.3, 1.0)),
    "starts": Grid((HARD, MEAN), (UNIT, CENTERED, STANDARD), (0.01, 0.03, 0.1, 0.3), (0.1, 0.3, 1.0)),
}


def load(name: str, data_home: Path | None) -> tuple[Bags, np.ndarray]:
    """Return a data set in float32, with labels from 0."""
    if name in SET_PROBLEMS:
        bags, y = make_set_problem(name, random_state=0)
    else:
        bags, y = load_benchmark(name, data_home)
    return Bags(bags.X.astype(np.float32), bags.offsets), np.unique(np.asarray(y), return_inverse=True)[1]


def splits(y: np.ndarray) -> list[Part]:
    """Return the splits of a data set, two for every outer fold; of larger data sets fewer."""
    return recipe.splits(y, 10 if len(y) < 150 else 5 if len(y) < 500 else 2)


def scaled(bags: Bags, train: np.ndarray, scale: str) -> Bags:
    """Return the sets scaled; the scale is fitted to the training sets."""
    unit = Scaling.fit(bags[train]).apply(bags).X
    known = unit[np.concatenate([np.arange(bags.offsets[i], bags.offsets[i + 1]) for i in train])]
    if scale == "[-1, 1]":
        unit = 2.0 * unit - 1.0
    if scale.startswith("centered"):
        unit = unit - known.mean(axis=0)
    if scale.startswith("standardized"):
        spread = known.std(axis=0)
        unit = np.where(spread > 0.0, (unit - known.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0), 0.0)
        unit *= np.sqrt(VARIANCE / max((spread > 0.0).sum(), 1))
    elif scale.endswith("normed"):
        unit = unit * np.sqrt(VARIANCE / known.var(axis=0).sum())
    return Bags(np.ascontiguousarray(unit, dtype=np.float32), bags.offsets)


def collect(grid: Grid, kind: tuple[Any, Any], bags: Bags, y: np.ndarray) -> list[np.ndarray]:
    """Train models of one kind on all splits; return for each the scores of its sets at the checkpoints."""
    from setrbm.engines import get_engine

    engine, spec, n_classes = get_engine("gpu"), Spec(*kind, dtype="float32"), int(y.max()) + 1
    models, placed, learned_from, watched = [], [], [], []
    for i, part in enumerate(splits(y)):
        for scale in grid.scales:
            sets = engine.place(LabeledSets(scaled(bags, part.train, scale), y, np.ones(len(y))), spec)
            for member in MEMBERS:
                own = part.train if member >= PARTS else np.setdiff1d(part.train, part.parts[member])
                seed = 100 * i + member
                for rate, size in grid.settings:
                    start = initial_params(bags.shape[1], N_HIDDEN, n_classes, size, seed, np.float32)
                    models.append(Model(start, seed, rate, 0.0, 0.0))
                    placed.append(sets)
                    learned_from.append(own)
                    watched.append(part.watched(member))
    session = engine.begin(spec, models, 1)
    step = len(grid.settings) * len(MEMBERS)
    kept = [np.zeros((len(CHECKPOINTS), len(which), n_classes), np.int8) for which in watched]
    for epoch in range(CHECKPOINTS[-1]):
        made = {(m.seed, id(own)): own for m, own in zip(models, learned_from, strict=True)}
        orders = {key: draws.order(key[0], epoch, own) for key, own in made.items()}
        session.run(placed, [orders[m.seed, id(own)] for m, own in zip(models, learned_from, strict=True)], epoch)
        if epoch + 1 in CHECKPOINTS:
            at = CHECKPOINTS.index(epoch + 1)
            for m, scores in _scores_of_all(kind, session._side_by_side.now, placed, bags, n_classes, step):
                shown = np.nan_to_num(scores - scores.mean(axis=1, keepdims=True))
                kept[m][at] = np.rint(np.clip(shown[watched[m]], -LARGEST, LARGEST) * STEP)
    return kept


def _scores_of_all(
    kind: tuple[Any, Any], letters: Sequence[Any], placed: Sequence[Any], bags: Bags, n_classes: int, step: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the index of each model and its scores for every set, minus free energies; ``step`` models share inputs."""
    import torch
    from torch.nn.functional import logsigmoid, softplus

    constraint, pooling = kind
    device = letters[0].device
    sizes = torch.from_numpy(bags.sizes.astype(np.float32)).to(device)
    of_vector = torch.repeat_interleave(torch.arange(len(bags)), torch.from_numpy(bags.sizes)).to(device)
    for first in range(0, len(placed), step):
        which = slice(first, first + step)
        W, U, _, c, d = (letter[which] for letter in letters)
        rows = placed[first].rows.dense()
        v = torch.einsum("sf,mfj->msj", rows, W[:, : rows.shape[1]]) + c[:, None]
        v = logsigmoid(v) if constraint == "or" else v
        shape = (v.shape[0], len(bags), v.shape[2])
        to = of_vector[None, :, None].expand(shape[0], -1, shape[2])
        pool = torch.full(shape, -torch.inf, device=device).scatter_reduce_(1, to, v, "amax")
        if pooling != "hard":
            total = torch.zeros_like(pool).index_add_(1, of_vector, torch.exp(v - pool[:, of_vector]))
            pool = pool + torch.log(total)
        if pooling == "mean":
            pool = pool - torch.log(sizes)[None, :, None]
        F = [d[:, None, y] + softplus(pool + U[:, None, :, y])[..., :N_HIDDEN].sum(-1) for y in range(n_classes)]
        yield from enumerate(torch.stack(F, dim=-1).cpu().numpy(), first)


def write_csv(path: Path, lines: Sequence[dict[str, Any]]) -> None:
    """Write lines as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def svm_accuracies(name: str, data_home: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the accuracy of each SVM on each split of a data set."""
    bags, y = load(name, data_home)
    for system, (i, part) in product(SVMS, enumerate(splits(y))):
        model = ROWS[system].make(100 * i, False, "cpu", 1).fit(bags[part.train], y[part.train])
        right = model.predict(bags[part.test]) == y[part.test]
        yield {"dataset": name, "system": system, "split": i, "accuracy": round(100.0 * float(right.mean()), 2)}


@dataclass(frozen=True)
class Split:
    """The scores of one split by kind and scaling: one array per member, by setting, checkpoint, set and class."""

    part: Part
    y: np.ndarray
    scores: dict[tuple[Any, str], list[np.ndarray]]

    def held_out(self, key: tuple[Any, str]) -> np.ndarray:
        """Return the scores of the held-out sets, by setting, set and class."""
        return self.scores[key][0][:, -1, : len(self.part.parts[0])]

    def losses(self, F: np.ndarray) -> np.ndarray:
        """Return the log loss of scores of the held-out sets, by setting."""
        held_out = self.part.parts[0]
        log_p = F - np.logaddexp.reduce(F, axis=-1, keepdims=True)
        return -log_p[:, np.arange(len(held_out)), self.y[held_out]].mean(axis=1)

    def judged(self, key: tuple[Any, str], setting: int) -> np.ndarray:
        """Return the mean scores of two fits on all sets, for the sets to judge by."""
        return np.mean([fit[setting, -1, -len(self.part.test) :] for fit in self.scores[key][1:]], axis=0)


def read_splits(grid: Grid, name: str, logits: Path, data_home: Path | None) -> list[Split]:
    """Return the scores that ``collect`` stored for a data set."""
    y = load(name, data_home)[1]
    parts, n_classes = splits(y), int(y.max()) + 1
    found = [Split(part, y, {}) for part in parts]
    for archive in (zipfile.ZipFile(path) for path in sorted(logits.glob("*.zip"))):
        for kind in grid.kinds:
            if (entry := f"{name}-{'-'.join(kind)}") not in archive.namelist():
                continue
            flat, at = np.frombuffer(archive.read(entry), np.int8), 0
            for split, scale, member in product(found, grid.scales, MEMBERS):
                shape = (len(grid.settings), len(CHECKPOINTS), len(split.part.watched(member)), n_classes)
                block = flat[at : at + int(np.prod(shape))].reshape(shape).astype(np.float32) / STEP
                split.scores.setdefault((kind, scale), []).append(block)
                at += block.size
    return found


@dataclass(frozen=True)
class Candidate:
    """A way to use the trained models.

    Attributes
    ----------
    parts : tuple of (weight, key)
        Models of which kind and scaling are averaged, with which weights.
    rule : {"each", "first", "best", "share"}
        Every part has its own best setting; all have that of the first; only the best part is used; or every part has
        its own best setting, and the share of the second of two parts is chosen as well.
    among : tuple of int
        The settings to choose from.
    grid : Grid
    shares : tuple of float
        What to choose the share from, with the rule "share".
    """

    parts: tuple[tuple[float, tuple[Any, str]], ...]
    rule: str
    among: tuple[int, ...]
    grid: Grid
    shares: tuple[float, ...] = ()

    def accuracy(self, split: Split) -> float:
        """Return the accuracy on the sets to judge by."""
        losses = [split.losses(split.held_out(key))[list(self.among)] for _, key in self.parts]
        parts, best = self.parts, [self.among[int(loss.argmin())] for loss in losses]
        if self.rule == "first":
            best = [best[0]] * len(parts)
        elif self.rule == "best":
            one = int(np.argmin([loss.min() for loss in losses]))
            parts, best = (parts[one],), [best[one]]
        elif self.rule == "share":
            parts = self._weighted(split, best)
        F = sum(weight * split.judged(key, setting) for (weight, key), setting in zip(parts, best, strict=True))
        return 100.0 * float((F.argmax(axis=1) == split.y[split.part.test]).mean())

    def _weighted(self, split: Split, best: Sequence[int]) -> tuple[tuple[float, tuple[Any, str]], ...]:
        """Return the two parts with the share that is best on the held-out sets."""
        keys = [key for _, key in self.parts]
        one, other = (split.held_out(key)[setting] for key, setting in zip(keys, best, strict=True))
        losses = split.losses(np.array([(1.0 - share) * one + share * other for share in self.shares]))
        share = self.shares[int(losses.argmin())]
        return (1.0 - share, keys[0]), (share, keys[1])

    def line(self) -> dict[str, str]:
        """Return the columns that describe it."""
        models = "; ".join(f"{weight:.2f} {' '.join(kind)} {scale}" for weight, (kind, scale) in self.parts)
        settings = ", ".join(f"{self.grid.settings[one][0]:g}/{self.grid.settings[one][1]:g}" for one in self.among)
        rule = f"{self.rule} of {self.shares}" if self.shares else self.rule
        return {"models": models, "setting": rule, "rate/size": settings}


def of_kinds(grid: Grid) -> Iterator[Candidate]:
    """Yield every candidate of the first round."""
    every, large = grid.among(grid.rates, grid.sizes), grid.among(grid.rates, (1.0,))
    for key, among in product(product(KINDS, SCALES), (every, large, *((one,) for one in every))):
        yield Candidate(((1.0, key),), "each", among, grid)
    groups = [
        [(HARD, CENTERED), (MEAN, STANDARD)], [(HARD, CENTERED), (MEAN, CENTERED)],
        [(HARD, STANDARD), (MEAN, STANDARD)], [(HARD, NORMED), (MEAN, NORMED)], [(OR, CENTERED), (MEAN, CENTERED)],
        [(OR, CENTERED), (MEAN, STANDARD)], [(HARD, CENTERED), (HARD, STANDARD)],
        [(HARD, CENTERED), (OR, CENTERED)], [(HARD, UNIT), (MEAN, STANDARD)], [(MEAN, CENTERED), (MEAN, STANDARD)],
        [(HARD, UNIT), (HARD, CENTERED), (MEAN, STANDARD)], [(HARD, NORMED), (HARD, CENTERED), (MEAN, STANDARD)],
        [(HARD, CENTERED), (HARD, STANDARD), (MEAN, STANDARD)],
        [(HARD, CENTERED), (OR, CENTERED), (MEAN, CENTERED)],
        [(HARD, CENTERED), (OR, CENTERED), (MEAN, STANDARD)],
        [(HARD, CENTERED), (MEAN, CENTERED), (SOFT, CENTERED)],
        [(kind, CENTERED) for kind in KINDS], list(product((HARD, MEAN), (CENTERED, STANDARD))),
        list(product((HARD, OR, MEAN), (CENTERED, STANDARD))), list(product(KINDS, (CENTERED, STANDARD))),
        list(product(KINDS, SCALES)),
    ]  # fmt: skip
    for keys, rule, among in product(groups, ("each", "first", "best"), (every, large)):
        yield Candidate(tuple((1.0 / len(keys), key) for key in keys), rule, among, grid)
    for share, among in product((0.1, 0.2, 0.25, 1 / 3), (every, large)):
        yield Candidate(((1.0 - share, (HARD, CENTERED)), (share, (MEAN, STANDARD))), "first", among, grid)
        for other in ((HARD, UNIT), (OR, CENTERED), (HARD, NORMED), (HARD, STANDARD)):
            half = (1.0 - share) / 2.0
            parts = ((half, (HARD, CENTERED)), (half, other), (share, (MEAN, STANDARD)))
            yield Candidate(parts, "first", among, grid)
        parts = ((1.0 - share, (HARD, CENTERED)), (share / 2.0, (MEAN, CENTERED)), (share / 2.0, (MEAN, STANDARD)))
        yield Candidate(parts, "first", among, grid)


def of_starts(grid: Grid) -> Iterator[Candidate]:
    """Yield every candidate of the second round."""
    rates = ((0.01, 0.03, 0.1), (0.03, 0.1, 0.3), (0.01, 0.03, 0.1, 0.3))
    sizes = ((0.1,), (0.3,), (1.0,), (0.3, 1.0))
    hard, unit, mean = (HARD, CENTERED), (HARD, UNIT), (MEAN, STANDARD)
    for among in (grid.among(*one) for one in product(rates, sizes)):
        for key in product(grid.kinds, grid.scales):
            yield Candidate(((1.0, key),), "each", among, grid)
        for kind in grid.kinds:
            yield Candidate(tuple((1.0, (kind, scale)) for scale in grid.scales), "best", among, grid)
        for first, rule, share in product((hard, unit), ("each", "first"), (0.2, 1 / 3, 0.5)):
            yield Candidate(((1.0 - share, first), (share, mean)), rule, among, grid)
        for share in (0.2, 1 / 3):
            half = (1.0 - share) / 2.0
            yield Candidate(((half, hard), (half, unit), (share, mean)), "first", among, grid)
        for first, shares in product((hard, unit), (SHARES, SHARES[1:4], SHARES[1:3], SHARES[:3])):
            yield Candidate(((0.5, first), (0.5, mean)), "share", among, grid, shares)


CANDIDATES = {"kinds": of_kinds, "starts": of_starts}


def judge(name: str, logits: Path, data_home: Path | None) -> list[dict[str, Any]]:
    """Return a line for every candidate, the best first."""
    names = {entry.rsplit("-", 2)[0] for path in logits.glob("*.zip") for entry in zipfile.ZipFile(path).namelist()}
    grid = GRIDS[name]
    known = {name: read_splits(grid, name, logits, data_home) for name in DATASETS if name in names}
    lines = []
    for candidate in CANDIDATES[name](grid):
        found = {name: float(np.mean([candidate.accuracy(split) for split in of])) for name, of in known.items()}
        average = float(np.mean([value for name, value in found.items() if name in BENCHMARKS]))
        of_paper = float(np.mean([found[name] for name in PAPER]))
        rounded = {name: round(value, 2) for name, value in found.items()}
        lines.append(
            candidate.line() | rounded | {"the paper's five": round(of_paper, 2), "average": round(average, 2)}
        )
    return sorted(lines, key=lambda line: -line["average"])


def main() -> None:
    """Collect scores, fit SVMs, or judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("collect", "svm", "judge"))
    parser.add_argument("datasets", nargs="*", metavar="DATASET", help=f"of {', '.join(DATASETS)}")
    parser.add_argument("--grid", choices=GRIDS, default="starts")
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--logits", type=Path)
    options = parser.parse_intermixed_args()
    datasets = options.datasets or DATASETS
    if options.what == "svm":
        lines = Parallel(2)(delayed(lambda name: list(svm_accuracies(name, options.data_home)))(n) for n in datasets)
        write_csv(RESULTS / "kinds_svm.csv", [line for some in lines for line in some])
        return
    if options.what == "judge":
        write_csv(RESULTS / f"{options.grid}.csv", judge(options.grid, options.logits, options.data_home))
        return
    grid = GRIDS[options.grid]
    for name in datasets:
        bags, y = load(name, options.data_home)
        options.logits.mkdir(parents=True, exist_ok=True)
        begin = time.perf_counter()
        kept = [np.concatenate([one.ravel() for one in collect(grid, kind, bags, y)]) for kind in grid.kinds]
        # Few large files: what comes back from a lent machine is counted.
        group = "problems" if name in SET_PROBLEMS else "many_classes" if y.max() > 1 else "benchmarks"
        with zipfile.ZipFile(options.logits / f"{group}.zip", "a", zipfile.ZIP_DEFLATED) as archive:
            for kind, flat in zip(grid.kinds, kept, strict=True):
                archive.writestr(f"{name}-{'-'.join(kind)}", flat.tobytes())
        print(f"{name} {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
