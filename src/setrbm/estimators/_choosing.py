"""Choosing settings on a held-out part: what every estimator that ends in CV is made of."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from setrbm import draws, persistence
from setrbm._types import Integers
from setrbm.energy import Params, joined
from setrbm.engines.protocol import DeviceMemoryWarning, LabelledSets, Model
from setrbm.estimators._base import BaseSetClassifier
from setrbm.estimators._checks import check_settings, choices_of
from setrbm.estimators._fitting import (
    hidden_units,
    model_of,
    prepare,
    refuse_divergence,
    spec_of,
    start_of,
    train_side_by_side,
)
from setrbm.training import HISTORY, NO_SETS, Outcome, Schedule, hold_out

# With so many held-out sets or more the best epoch can be told from a lucky one.
SETS_TO_STOP_BY = 200
# Candidates are halved after these parts of their epochs, but not in their first steps, when slow and fast differ most.
RUNGS, FEWEST_BEFORE_RUNG = (8, 4), 25
N_FITS = 5


class Choosing(BaseSetClassifier):
    """``fit`` that tries every combination of the choices side by side and keeps, or trains anew, the best."""

    # How many fits of the chosen settings are averaged; a class that can average takes it in its constructor.
    n_fits: Any = 1

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the settings on a held-out part of labelled sets, then learn from all of them.

        Parameters
        ----------
        X : Bags, list of matrices, 3-D array, or matrix (each row a set of one)
        y : array-like of shape (n_sets,)
        sample_weight : array-like of shape (n_sets,), optional

        Returns
        -------
        self
        """
        fault = fit_side_by_side([self], [(X, y, sample_weight)])[0]
        if fault is not None:
            raise fault
        return self

    def _candidates(self) -> list[SimpleNamespace]:
        """Return one set of settings for every combination of choices."""
        names = [name for name in self.CHOOSABLE if name != "max_epochs"]
        choices = [choices_of(getattr(self, name)) for name in names]
        settings = self._settings()
        return [SimpleNamespace(**settings | dict(zip(names, values, strict=True))) for values in product(*choices)]

    def _schedule(self, n_held_out: int) -> Schedule:
        """Return how the candidates are trained and judged."""
        lengths = sorted({int(length) for length in choices_of(self.max_epochs)})
        stops_early = n_held_out >= SETS_TO_STOP_BY if self.early_stopping == "auto" else self.early_stopping
        if stops_early:
            return Schedule(lengths[-1], self.patience, self.stopping)
        # Whoever has reached an end is not left behind any more.
        rungs = [rung for part in RUNGS if FEWEST_BEFORE_RUNG <= (rung := lengths[-1] // part) < lengths[0]]
        return Schedule(
            lengths[-1], None, self.stopping, ends=tuple(lengths), rungs=tuple(rungs) if self.halving else ()
        )

    def _n_fits(self, chosen: SimpleNamespace) -> int:
        """Return how many fits of the chosen settings are made on all sets."""
        if self.n_fits == "auto":
            return N_FITS if chosen.objective == "discriminative" and self.refit else 1
        return int(self.n_fits)

    def _start(self, settings: SimpleNamespace, sets: LabelledSets, seed: int) -> Params:
        bags = sets.bags
        return start_of(settings, [bags], bags.shape[1], len(self.classes_), seed, bags.dtype)

    def _note(self, candidates: list[SimpleNamespace], outcomes: list[Outcome], scores: list[float], best: int) -> None:
        """Write down what was tried and what was chosen."""
        names = [name for name in self.CHOOSABLE if isinstance(getattr(self, name), list | tuple | range | np.ndarray)]

        def chosen(candidate: SimpleNamespace, outcome: Outcome) -> dict[str, Any]:
            own = {name: getattr(candidate, name) for name in names}
            if "max_epochs" in names:
                # One that ended before any of the lengths offered was on its way to the next.
                own["max_epochs"] = min(n for n in choices_of(self.max_epochs) if n >= outcome.best_epoch)
            return own

        tried = [chosen(candidate, outcome) for candidate, outcome in zip(candidates, outcomes, strict=True)]
        self.best_params_ = tried[best]
        self.best_score_ = float(scores[best])
        self.results_ = {
            "params": tried,
            "score": [float(score) for score in scores],
            "best_epoch": [outcome.best_epoch for outcome in outcomes],
            "diverged": [outcome.diverged_in is not None for outcome in outcomes],
            "left_behind": [outcome.left_behind for outcome in outcomes],
            "history": [outcome.history for outcome in outcomes],
        }

    def _take_chosen(self, part: _Part, refitted: list[Outcome]) -> None:
        """Keep the model that was chosen, or as it was trained again on all sets, once or several times."""
        self.seed_ = part.seed
        sound = [outcome for outcome in refitted if outcome.diverged_in is None]
        if len(sound) < len(refitted):
            warnings.warn(
                "The chosen settings diverged when they were trained again on all sets"
                + (f", in {len(refitted) - len(sound)} of {len(refitted)} fits, which are left out" if sound else "")
                + ("" if sound else ". The model is kept as it was chosen, without the held-out part")
                + "; offer smaller learning rates.",
                stacklevel=4,
            )
        if not sound or any(outcome.interrupted for outcome in sound):
            sound = [part.outcomes[part.best]]
        self._take(replace(sound[0], params=joined([outcome.params for outcome in sound])))
        self.temperature_ = float(len(sound))

    def _settings(self) -> dict[str, Any]:
        """Return the constructor's settings, and those the class has fixed."""
        fixed = {name: getattr(self, name) for name in self.FIXED}
        return fixed | dict(self.get_params(deep=False))

    def _resolved(self) -> Any:
        """Return the settings with the chosen values in place of the choices."""
        return SimpleNamespace(**self._settings() | self.best_params_)

    def _describe(self) -> dict[str, Any]:
        chosen = {"best_params": self.best_params_, "best_score": self.best_score_, "results": self.results_}
        return {"chosen": persistence.to_json(chosen)}

    def _restore(self, description: dict[str, Any]) -> None:
        chosen = persistence.from_json(description["chosen"])
        self.best_params_, self.best_score_ = dict(chosen["best_params"]), float(chosen["best_score"])
        self.results_ = dict(chosen["results"])
        # What was chosen must be settings a model of one kind could have.
        one = vars(self._resolved()) | {"n_fits": self.n_fits, "CHOOSABLE": ("max_epochs",), "UNITS": self.UNITS}
        check_settings(SimpleNamespace(**one))


@dataclass
class _Part:
    """One estimator at work: its sets, what is held out, and what became of its candidates."""

    estimator: Choosing
    sets: LabelledSets
    seed: int
    # Where nothing can be held out, all sets are watched, and learned from.
    held_out: Integers
    learned_from: Integers
    candidates: list[SimpleNamespace]
    outcomes: list[Outcome] = field(default_factory=list)
    best: int = 0
    starts: dict[Any, Params] = field(default_factory=dict)

    def kind(self, settings: SimpleNamespace) -> tuple[Any, tuple[int, ...]]:
        """Return the spec and the shape of a model with these settings."""
        shape = (hidden_units(settings), self.sets.bags.shape[1], len(self.estimator.classes_))
        return spec_of(settings, self.sets.bags.dtype), shape

    def model(self, settings: SimpleNamespace) -> Model:
        """Return a candidate as a model; those of the same kind and size begin with the same parameters."""
        alike = (*self.kind(settings), settings.init_scale)
        if alike not in self.starts:
            self.starts[alike] = self.estimator._start(settings, self.sets, self.seed)
        return model_of(settings, self.starts[alike], self.seed)

    def fits(self) -> list[Model]:
        """Return the models to train on all sets, each from a start of its own."""
        settings = self.candidates[self.best]
        seeds = [self.seed, *draws.further_seeds(self.seed, self.estimator._n_fits(settings) - 1)]
        return [model_of(settings, self.estimator._start(settings, self.sets, seed), seed) for seed in seeds]

    def choose(self) -> None:
        """Find the best candidate that was not left behind and write down what was tried."""
        scores = [np.inf if o.diverged_in is not None or o.left_behind else o.best_score for o in self.outcomes]
        sound = [i for i, o in enumerate(self.outcomes) if o.diverged_in is None]
        to_the_end = [i for i in sound if not self.outcomes[i].left_behind]
        if sound and not to_the_end:
            warnings.warn(
                "All candidates that were not left behind diverged later. The best of those left behind is taken; "
                "offer smaller learning rates.",
                stacklevel=5,
            )
        self.best = min(to_the_end or sound or range(len(scores)), key=lambda i: self.outcomes[i].best_score)
        refuse_divergence(self.candidates[self.best], self.outcomes[self.best])
        self.estimator._note(self.candidates, self.outcomes, scores, self.best)

    @property
    def n_epochs(self) -> int:
        """For how many epochs the chosen one is trained on all sets: to an end, also where it was left behind."""
        outcome = self.outcomes[self.best]
        return max(choices_of(self.estimator.max_epochs)) if outcome.left_behind else outcome.best_epoch


def fit_side_by_side(estimators: Sequence[Choosing], data: Sequence[tuple[Any, Any, Any]]) -> list[Exception | None]:
    """Fit estimators with the same settings, each on its own sets, labels and weights, all candidates at once.

    Each is fitted as it would be alone. Where one cannot be, it stays as it was and the others go on. Where memory does
    not hold them all, they are fitted in halves.

    Returns
    -------
    list of Exception or None
        What kept each from being fitted.
    """
    n = len(estimators)
    try:
        return _fit_at_once(estimators, data)
    except MemoryError as fault:
        told = str(fault)
    # Out here nothing of the attempt is held any more, as it would be by the fault itself.
    if n == 1:
        return [MemoryError(told)]
    warnings.warn(
        f"{n} fits at once do not fit the memory; they are made in two halves, one after the other.",
        DeviceMemoryWarning,
        stacklevel=2,
    )
    first, second = slice(None, n // 2), slice(n // 2, None)
    return [*fit_side_by_side(estimators[first], data[first]), *fit_side_by_side(estimators[second], data[second])]


def _fit_at_once(estimators: Sequence[Choosing], data: Sequence[tuple[Any, Any, Any]]) -> list[Exception | None]:
    before = [dict(vars(estimator)) for estimator in estimators]
    generators = [e.random_state for e in estimators if isinstance(e.random_state, np.random.RandomState)]
    states = [generator.get_state() for generator in generators]
    faults: list[Exception | None] = [None] * len(estimators)
    parts: dict[int, _Part] = {}

    def put_back(i: int) -> None:
        estimators[i].__dict__.clear()
        estimators[i].__dict__.update(before[i])

    def attempt(i: int, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except Exception as fault:
            put_back(i)
            faults[i] = fault
            parts.pop(i, None)

    try:
        for i, one in enumerate(estimators):
            part = attempt(i, partial(_prepared, one, *data[i]))
            if part is not None:
                parts[i] = part
        _train_all(list(parts.values()))
        for i, part in list(parts.items()):
            attempt(i, part.choose)
        refitted = _refit(list(parts.values()))
        for part in parts.values():
            part.estimator._take_chosen(part, refitted.get(id(part), []))
    except BaseException:
        for i in range(len(estimators)):
            put_back(i)
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)
        raise
    return faults


def _prepared(estimator: Choosing, X: Any, y: Any, sample_weight: Any) -> _Part:
    sets, seed = prepare(estimator, X, y, sample_weight)
    held_out = hold_out(sets.y, estimator.validation_fraction, seed, at_least_one=True)
    if not len(held_out):
        warnings.warn(
            "No set can be held out: every class has one. Settings are chosen by the sets they were learned from.",
            stacklevel=5,
        )
    everything = np.arange(len(sets.y))
    watched = held_out if len(held_out) else everything
    return _Part(estimator, sets, seed, watched, np.setdiff1d(everything, held_out), estimator._candidates())


def _train_all(parts: list[_Part]) -> None:
    """Train all candidates of all parts, those of one shape side by side; after Ctrl-C the rest are not begun."""
    if not parts:
        return
    done: dict[tuple[int, int], Outcome] = {}
    for (schedule, spec, _), members in _groups(parts).items():
        models = [parts[p].model(parts[p].candidates[i]) for p, i in members]
        which = [parts[p] for p, _ in members]
        try:
            trained = train_side_by_side(
                parts[0].estimator,
                spec,
                models,
                [part.sets for part in which],
                [part.learned_from for part in which],
                [part.held_out for part in which],
                schedule,
                rivals=[p for p, _ in members],
            )
        except KeyboardInterrupt:
            if not done:
                raise
            warnings.warn(
                "Training was interrupted before all candidates were begun; the best of the others is kept.",
                stacklevel=5,
            )
            break
        done.update(zip(members, trained, strict=True))
        if trained[0].interrupted:
            break
    for p, part in enumerate(parts):
        never = Outcome(part.model(part.candidates[0]).params, {name: [] for name in HISTORY}, 0, np.inf, None, True)
        part.outcomes = [done.get((p, i), never) for i in range(len(part.candidates))]


def _groups(parts: list[_Part]) -> dict[Any, list[tuple[int, int]]]:
    """Return the candidates that can be trained side by side: those with the same schedule, spec and shape."""
    groups: dict[Any, list[tuple[int, int]]] = {}
    for p, part in enumerate(parts):
        schedule = part.estimator._schedule(len(part.held_out))
        for i, candidate in enumerate(part.candidates):
            groups.setdefault((schedule, *part.kind(candidate)), []).append((p, i))
    return groups


def _refit(parts: list[_Part]) -> dict[int, list[Outcome]]:
    """Train the chosen settings of each part on all its sets for the chosen number of epochs."""
    if not parts or not parts[0].estimator.refit:
        return {}
    if any(outcome.interrupted for part in parts for outcome in part.outcomes):
        return {}
    groups: dict[Any, list[tuple[_Part, Model]]] = {}
    for part in parts:
        fits = part.fits()
        if len(part.learned_from) < len(part.sets.y) or len(fits) > 1:
            groups.setdefault(part.kind(part.candidates[part.best]), []).extend((part, fit) for fit in fits)
    done: dict[int, list[Outcome]] = {}
    for (spec, _), members in groups.items():
        epochs = [part.n_epochs for part, _ in members]
        everything = {id(part): np.arange(len(part.sets.y)) for part, _ in members}
        try:
            outcomes = train_side_by_side(
                parts[0].estimator,
                spec,
                [fit for _, fit in members],
                [part.sets for part, _ in members],
                [everything[id(part)] for part, _ in members],
                [NO_SETS] * len(members),
                Schedule(max(epochs)),
                epochs,
            )
        except KeyboardInterrupt:
            warnings.warn("Training on all sets was interrupted; the model is kept as it was chosen.", stacklevel=5)
            break
        for (part, _), outcome in zip(members, outcomes, strict=True):
            done.setdefault(id(part), []).append(outcome)
    return done
