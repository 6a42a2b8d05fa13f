"""Which recipe should ClassSetRBMCV follow? Compares training procedures inside training parts.

The sets of each benchmark are split into ten folds, by a seed that no table uses, and two fifths of each training part
are held back for judging, one after the other: 20 splits per data set. On the rest of a split every setting of a family
is trained for 400 epochs, side by side: without a fifth of the sets (to select by) and with all of them (to use), from
one or several starts. The logits of the held-out sets are kept at checkpoints. Any rule for selecting a setting, a
number of epochs and an average of fits can then be judged from these logits, without training again.

    python lab/experiments/recipe.py collect --data-home FOLDER --logits FOLDER [FAMILY ...]     (needs a GPU)
    python lab/experiments/recipe.py judge --data-home FOLDER --logits FOLDER [FAMILY ...]

``judge`` writes a line for every candidate, the poor ones too, to lab/results/recipe.csv. The recipe was chosen from
these lines (docs/decisions/0005-the-recipe.md).
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from setrbm import Bags, draws
from setrbm.datasets import load_benchmark
from setrbm.energy import initial_params
from setrbm.engines.protocol import LabeledSets, Model, Spec
from setrbm.evaluation.splits import repeated_folds
from setrbm.scaling import Scaling
from setrbm_lab.paper import DATASETS

SEED, N_HIDDEN, PARTS = 1000, 100, 5
CHECKPOINTS = (4, 9, 18, 30, 50, 75, 100, 140, 200, 280, 400)
LATE_CHECKPOINTS = (50, 100, 200, 280, 400)
LOG = Path(__file__).parents[1] / "results" / "recipe.csv"
# Each logit is stored in one byte: up to 8, in steps of 1 / 15.8.
STEP, LARGEST = 15.8, 8.0
TEMPERATURES = np.exp(np.linspace(-3.0, 1.5, 19))


@dataclass(frozen=True)
class Family:
    """Settings that are trained side by side; ``fits`` is the number of fits on all sets."""

    rates: tuple[float, ...]
    sizes: tuple[float, ...]
    decays: tuple[float, ...] = (0.0,)
    scale: str = "to [0, 1]"
    constraint: Any = "xor"
    pooling: Any = "hard"
    parts: int = 1
    fits: int = 5
    checkpoints: tuple[int, ...] = CHECKPOINTS

    @property
    def settings(self) -> list[tuple[float, float, float]]:
        """Every learning rate, initial size and weight decay."""
        return list(product(self.rates, self.sizes, self.decays))

    @property
    def members(self) -> list[int]:
        """The fits of a setting: the index of the part left out; from PARTS on, fits on all sets."""
        return [*range(self.parts), *range(PARTS, PARTS + self.fits)]


FAMILIES = {
    "A": Family((0.01, 0.03, 0.1, 0.3), (0.1, 0.3, 1.0), (0.0, 0.003, 0.01), parts=5, fits=1),
    "B": Family((0.003, 0.01, 0.03, 0.1), (0.05, 0.15, 0.5), (0.0, 0.003, 0.01), "standardised", parts=5, fits=1),
    "C": Family((0.003, 0.01, 0.03, 0.1), (0.3, 1.0), (0.0, 0.001)),
    "D": Family((0.003, 0.01, 0.03, 0.1), (0.3, 1.0), constraint="or"),
    "E": Family((0.003, 0.01, 0.03, 0.1), (0.3, 1.0), pooling="soft"),
    "G": Family((0.003, 0.01, 0.03), (0.1, 0.3, 1.0), scale="to [-1, 1]"),
    "I": Family((0.01, 0.03), (1.0, 2.0), scale="to [-1, 1]", fits=10, checkpoints=LATE_CHECKPOINTS),
    "J": Family((0.003, 0.01), (0.5, 1.0), scale="standardised", checkpoints=LATE_CHECKPOINTS),
    "K": Family((0.01,), (1.0, 2.0), scale="to [-1, 1]", constraint="or", checkpoints=LATE_CHECKPOINTS),
}


@dataclass(frozen=True)
class Part:
    """One split: the sets to train on, the held-out parts of these, and the sets to judge by."""

    train: np.ndarray
    parts: list[np.ndarray]
    test: np.ndarray

    def watched(self, member: int) -> np.ndarray:
        """The sets whose logits a fit keeps: those held out, then those to judge by."""
        return np.concatenate([self.parts[member], self.test]) if member < PARTS else self.test


def splits(y: np.ndarray, n_folds: int = 10) -> list[Part]:
    """Return two splits for each of the first outer folds; they contain no sets of its test part."""
    found: list[Part] = []
    for outer in repeated_folds(y, 10, 1, SEED)[:n_folds]:
        inner = repeated_folds(y[outer.train], PARTS, 1, SEED + 1 + outer.fold)
        for k in (outer.fold % PARTS, (outer.fold + 2) % PARTS):
            train, test = outer.train[inner[k].train], outer.train[inner[k].test]
            parts = [train[part.test] for part in repeated_folds(y[train], PARTS, 1, 7000 + len(found))]
            found.append(Part(train, parts, test))
    return found


def load(name: str, data_home: Path | None) -> tuple[Bags, np.ndarray]:
    """Return a data set in float32, with labels 0 and 1."""
    bags, y = load_benchmark(name, data_home)
    return Bags(bags.X.astype(np.float32), bags.offsets), np.unique(np.asarray(y), return_inverse=True)[1]


def scaled(bags: Bags, train: np.ndarray, scale: str) -> Bags:
    """Return the sets scaled; the scale is fitted to the training sets."""
    if scale == "standardised":
        X = StandardScaler().fit(bags[train].X).transform(bags.X)
        return Bags(X.astype(np.float32), bags.offsets)
    unit = Scaling.fit(bags[train]).apply(bags)
    return unit if scale == "to [0, 1]" else Bags(2.0 * unit.X - 1.0, unit.offsets)


def collect(family: Family, bags: Bags, y: np.ndarray) -> np.ndarray:
    """Train a family on all splits of a data set; return the logits as bytes, by split and member."""
    from setrbm.engines import get_engine

    engine, spec = get_engine("gpu"), Spec(family.constraint, family.pooling, dtype="float32")
    models, placed, learned_from, watched = [], [], [], []
    for i, part in enumerate(splits(y)):
        sets = engine.place(LabeledSets(scaled(bags, part.train, family.scale), y, np.ones(len(y))), spec)
        for member in family.members:
            own = part.train if member >= PARTS else np.setdiff1d(part.train, part.parts[member])
            seed = 100 * i + member
            for rate, size, decay in family.settings:
                start = initial_params(bags.shape[1], N_HIDDEN, 2, size, seed, np.float32)
                models.append(Model(start, seed, rate, 0.0, decay))
                placed.append(sets)
                learned_from.append(own)
                watched.append(part.watched(member))
    session = engine.begin(spec, models, 1)
    kept = [np.zeros((2, len(family.checkpoints), len(which)), np.int8) for which in watched]
    mean: list[Any] = []
    for epoch in range(family.checkpoints[-1]):
        made = {(m.seed, id(own)): own for m, own in zip(models, learned_from, strict=True)}
        orders = {key: draws.order(key[0], epoch, own) for key, own in made.items()}
        session.run(placed, [orders[m.seed, id(own)] for m, own in zip(models, learned_from, strict=True)], epoch)
        now = session._side_by_side.now
        # A running mean of the parameters over the epochs, with more weight on late ones.
        mean = mean or [tensor.clone() for tensor in now]
        for average, tensor in zip(mean, now, strict=True):
            average.lerp_(tensor, 3.0 / (epoch + 3.0))
        if epoch + 1 in family.checkpoints:
            at = family.checkpoints.index(epoch + 1)
            for kind, letters in enumerate((now, mean)):
                for m, logits in _logits_of_all(family, letters, placed, bags):
                    kept[m][kind, at] = np.rint(np.clip(logits[watched[m]], -LARGEST, LARGEST) * STEP)
    return np.concatenate([logits.ravel() for logits in kept])


def _logits_of_all(
    family: Family, letters: Sequence[Any], placed: Sequence[Any], bags: Bags
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the index of each model and its log-odds of class 1 for every set; 48 models are computed at a time."""
    import torch
    from torch.nn.functional import logsigmoid, softplus

    device = letters[0].device
    of_vector = torch.repeat_interleave(torch.arange(len(bags)), torch.from_numpy(bags.sizes)).to(device)
    for first in range(0, len(placed), len(family.settings)):
        for begin in range(first, first + len(family.settings), 48):
            which = slice(begin, min(begin + 48, first + len(family.settings)))
            W, U, _, c, d = (letter[which] for letter in letters)
            rows = placed[begin].rows.dense()
            v = torch.einsum("sf,mfj->msj", rows, W[:, : rows.shape[1]]) + c[:, None]
            v = logsigmoid(v) if family.constraint == "or" else v
            shape = (v.shape[0], len(bags), v.shape[2])
            to = of_vector[None, :, None].expand(shape[0], -1, shape[2])
            pool = torch.full(shape, -torch.inf, device=device).scatter_reduce_(1, to, v, "amax")
            if family.pooling == "soft":
                total = torch.zeros_like(pool).index_add_(1, of_vector, torch.exp(v - pool[:, of_vector]))
                pool = pool + torch.log(total)
            F = [d[:, None, y] + softplus(pool + U[:, None, :, y])[..., :N_HIDDEN].sum(-1) for y in (0, 1)]
            yield from enumerate((F[1] - F[0]).cpu().numpy(), begin)


@dataclass(frozen=True)
class SplitLogits:
    """The logits of one split: of its held-out parts and its sets to judge by, for every member.

    ``held_out`` and ``judged`` have the axes member, setting, now or averaged parameters, checkpoint, set.
    """

    held_out: list[np.ndarray]
    labels: list[np.ndarray]
    judged: np.ndarray
    truth: np.ndarray
    n_parts: int

    def accuracy(self, logits: np.ndarray) -> float:
        """Return the accuracy of logits on the sets to judge by."""
        return float(((logits > 0.0) == (self.truth == 1)).mean())

    @property
    def fits(self) -> np.ndarray:
        """The logits of the fits on all sets."""
        return self.judged[self.n_parts :]

    def scores(self, part: int, criterion: str) -> np.ndarray:
        """Return the score of every setting at every checkpoint on a held-out part; lower is better."""
        logits, y = self.held_out[part], self.labels[part]
        signed = np.where(y == 1, logits, -logits)
        loss = np.logaddexp(0.0, -signed).mean(axis=-1)
        if criterion == "likelihood":
            return loss
        if criterion == "calibrated":
            return np.min([np.logaddexp(0.0, -t * signed).mean(axis=-1) for t in TEMPERATURES], axis=0)
        return (signed <= 0.0).mean(axis=-1) + 1e-3 * loss


def unpacked(family: Family, flat: np.ndarray, y: np.ndarray) -> list[SplitLogits]:
    """Return the logits of every split from the bytes of ``collect``."""
    at, found = 0, []
    for part in splits(y):
        blocks = []
        for member in family.members:
            shape = (len(family.settings), 2, len(family.checkpoints), len(part.watched(member)))
            size = int(np.prod(shape))
            blocks.append(flat[at : at + size].reshape(shape).astype(np.float32) / STEP)
            at += size
        held_out = [block[..., : len(part.parts[k])] for k, block in enumerate(blocks[: family.parts])]
        judged = np.stack([block[..., -len(part.test) :] for block in blocks])
        labels = [y[which] for which in part.parts[: family.parts]]
        found.append(SplitLogits(held_out, labels, judged, y[part.test], family.parts))
    return found


Rule = Callable[[SplitLogits], float]


def rules(family: Family) -> Iterator[tuple[str, str, Rule]]:
    """Yield every candidate: the settings it selects from, its name, and a function that judges it on a split."""
    for decay in family.decays if len(family.decays) > 1 else ():
        yield from _rules_of(family, f"decay {decay:g}", [s for s, v in enumerate(family.settings) if v[2] == decay])
    yield from _rules_of(family, "all settings", list(range(len(family.settings))))
    if family.parts == 1:
        fast = [s for s, (rate, _, decay) in enumerate(family.settings) if rate >= 0.01 and decay == 0.0]
        yield from _rules_of(family, "rates from 0.01, no decay", fast)
        for s, (rate, size, decay) in enumerate(family.settings):
            for n in (1, 5, 10)[: 3 if family.fits == 10 else 2]:
                name = f"rate {rate:g}, size {size:g}, decay {decay:g}"
                yield name, f"to the end, {n} fits averaged", _fixed(s, n, len(family.checkpoints) - 1)


def _rules_of(family: Family, name: str, among: list[int]) -> Iterator[tuple[str, str, Rule]]:
    last = len(family.checkpoints) - 1
    for kind, averaged in enumerate(("", ", parameters averaged")):
        for criterion in ("likelihood", "error", "calibrated"):
            for what, ends in (("any epoch", range(last + 1)), ("the end", [last])):
                rule = f"{what} by {criterion}{averaged}"
                for n_parts in (1, 5)[: 2 if family.parts == 5 else 1]:
                    where = f"{rule}, {n_parts} part{'s' if n_parts > 1 else ''}"
                    pick = _pick(among, kind, list(ends), criterion, n_parts)
                    yield name, f"{where}: kept", _kept(pick)
                    for n_fits in (1, 5)[: 2 if family.fits >= 5 else 1]:
                        yield name, f"{where}: refitted, {n_fits} averaged", _refitted(pick, n_fits)
                    if n_parts == 5:
                        yield name, f"{where}: those without a part averaged", _committee(pick)
    if family.checkpoints[-1] == 400 and 50 in family.checkpoints:
        rungs = [family.checkpoints.index(50), family.checkpoints.index(100)]
        for n_fits in (1, 5)[: 2 if family.fits >= 5 else 1]:
            yield name, f"halved, the end by likelihood: refitted, {n_fits} averaged", _halved(among, rungs, n_fits)


Pick = Callable[[SplitLogits], tuple[int, int, int]]


def _pick(among: list[int], kind: int, ends: list[int], criterion: str, n_parts: int) -> Pick:
    def pick(split: SplitLogits) -> tuple[int, int, int]:
        scores = np.mean([split.scores(part, criterion) for part in range(n_parts)], axis=0)
        best = scores[np.ix_(among, [kind], ends)].reshape(len(among), len(ends))
        s, e = np.unravel_index(best.argmin(), best.shape)
        return among[s], kind, ends[e]

    return pick


def _kept(pick: Pick) -> Rule:
    return lambda split: split.accuracy(split.judged[0][pick(split)])


def _refitted(pick: Pick, n_fits: int) -> Rule:
    def rule(split: SplitLogits) -> float:
        chosen = pick(split)
        logits = [fit[chosen] for fit in split.fits]
        groups = [logits[i : i + n_fits] for i in range(0, len(logits) - n_fits + 1, n_fits)]
        return float(np.mean([split.accuracy(np.mean(group, axis=0)) for group in groups]))

    return rule


def _committee(pick: Pick) -> Rule:
    def rule(split: SplitLogits) -> float:
        chosen = pick(split)
        return split.accuracy(np.mean([member[chosen] for member in split.judged[: split.n_parts]], axis=0))

    return rule


def _halved(among: list[int], rungs: list[int], n_fits: int) -> Rule:
    def pick(split: SplitLogits) -> tuple[int, int, int]:
        scores, left = split.scores(0, "likelihood")[:, 0], np.array(among)
        for rung in rungs:
            left = left[np.argsort(scores[left, rung], kind="stable")[: (len(left) + 1) // 2]]
        return int(left[scores[left, -1].argmin()]), 0, scores.shape[1] - 1

    return _refitted(pick, n_fits)


def _fixed(setting: int, n_fits: int, end: int) -> Rule:
    return _refitted(lambda split: (setting, 0, end), n_fits)


def judge(name: str, logits: Path, data_home: Path | None) -> list[dict[str, Any]]:
    """Return a line for every candidate of a family."""
    family = FAMILIES[name]
    known = {}
    for dataset in DATASETS:
        known[dataset] = unpacked(family, np.load(logits / f"{name}-{dataset}.npy"), load(dataset, data_home)[1])
    lines = []
    for settings, what, rule in rules(family):
        accuracies = {data: round(100.0 * float(np.mean([rule(s) for s in of])), 2) for data, of in known.items()}
        lines.append(
            {
                "family": name,
                "model": f"{family.constraint} {family.pooling}",
                "inputs": family.scale,
                "settings": settings,
                "recipe": what,
                **accuracies,
                "average": round(float(np.mean(list(accuracies.values()))), 2),
            }
        )
    return lines


def main() -> None:
    """Collect or judge the families named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("collect", "judge"))
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"of {', '.join(FAMILIES)}")
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--logits", type=Path, required=True)
    parser.add_argument("--log", type=Path, default=LOG)
    options = parser.parse_args()
    families = options.families or list(FAMILIES)
    if options.what == "collect":
        options.logits.mkdir(parents=True, exist_ok=True)
        for name, dataset in product(families, DATASETS):
            np.save(
                options.logits / f"{name}-{dataset}.npy", collect(FAMILIES[name], *load(dataset, options.data_home))
            )
            print(f"{name} {dataset}", flush=True)
        return
    lines = [line for name in families for line in judge(name, options.logits, options.data_home)]
    with options.log.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(lines, key=lambda line: -line["average"]))


if __name__ == "__main__":
    main()
