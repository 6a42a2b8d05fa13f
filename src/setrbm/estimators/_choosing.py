"""Choosing settings on a held-out part: what every estimator that ends in CV is made of."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from setrbm import persistence
from setrbm._types import Integers
from setrbm.energy import Params
from setrbm.engines.protocol import LabelledSets, Model
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


class Choosing(BaseSetClassifier):
    """``fit`` that tries every combination of the choices side by side and keeps, or trains anew, the best."""

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
        choices = [choices_of(getattr(self, name)) for name in self.CHOOSABLE]
        settings = self._settings()
        return [
            SimpleNamespace(**settings | dict(zip(self.CHOOSABLE, values, strict=True))) for values in product(*choices)
        ]

    def _start(self, settings: SimpleNamespace, sets: LabelledSets, seed: int) -> Params:
        bags = sets.bags
        return start_of(settings, [bags], bags.shape[1], len(self.classes_), seed, bags.dtype)

    def _note(self, candidates: list[SimpleNamespace], outcomes: list[Outcome], scores: list[float], best: int) -> None:
        """Write down what was tried and what was chosen."""
        names = [name for name in self.CHOOSABLE if isinstance(getattr(self, name), list | tuple | np.ndarray)]
        tried = [{name: getattr(candidate, name) for name in names} for candidate in candidates]
        self.best_params_ = tried[best]
        self.best_score_ = float(scores[best])
        self.results_ = {
            "params": tried,
            "score": [float(score) for score in scores],
            "best_epoch": [outcome.best_epoch for outcome in outcomes],
            "diverged": [outcome.diverged_in is not None for outcome in outcomes],
            "history": [outcome.history for outcome in outcomes],
        }

    def _take_chosen(self, part: _Part, refitted: Outcome | None) -> None:
        """Keep the model that was chosen, or as it was trained again on all sets."""
        chosen = part.outcomes[part.best]
        if refitted is not None and refitted.diverged_in is not None:
            warnings.warn(
                "The chosen settings diverged when they were trained again on all sets. The model is kept as it was "
                "chosen, without the held-out part; offer smaller learning rates.",
                stacklevel=4,
            )
            refitted = None
        self.seed_ = part.seed
        self._take(chosen if refitted is None or refitted.interrupted else refitted)

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
        check_settings(SimpleNamespace(**vars(self._resolved()), CHOOSABLE=(), UNITS=self.UNITS))


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

    def model(self, settings: SimpleNamespace) -> Model:
        return model_of(settings, self.estimator._start(settings, self.sets, self.seed), self.seed)

    def choose(self) -> None:
        """Find the best candidate and write down what was tried."""
        scores = [np.inf if o.diverged_in is not None else o.best_score for o in self.outcomes]
        self.best = int(np.argmin(scores))
        refuse_divergence(self.candidates[self.best], self.outcomes[self.best])
        self.estimator._note(self.candidates, self.outcomes, scores, self.best)


def fit_side_by_side(estimators: Sequence[Choosing], data: Sequence[tuple[Any, Any, Any]]) -> list[Exception | None]:
    """Fit estimators with the same settings, each on its own sets, labels and weights, all candidates at once.

    Each is fitted as it would be alone. Where one cannot be, it stays as it was and the others go on.

    Returns
    -------
    list of Exception or None
        What kept each from being fitted.
    """
    before = [dict(vars(estimator)) for estimator in estimators]
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
            part.estimator._take_chosen(part, refitted.get(id(part)))
    except BaseException:
        for i in range(len(estimators)):
            put_back(i)
        raise
    return faults


def _prepared(estimator: Choosing, X: Any, y: Any, sample_weight: Any) -> _Part:
    sets, seed = prepare(estimator, X, y, sample_weight)
    held_out = hold_out(sets.y, estimator.validation_fraction, seed, at_least_one=True)
    everything = np.arange(len(sets.y))
    watched = held_out if len(held_out) else everything
    return _Part(estimator, sets, seed, watched, np.setdiff1d(everything, held_out), estimator._candidates())


def _train_all(parts: list[_Part]) -> None:
    """Train all candidates of all parts, those of one shape side by side; after Ctrl-C the rest are not begun."""
    if not parts:
        return
    leader = parts[0].estimator
    patience = leader.patience if leader.early_stopping else None
    schedule = Schedule(leader.max_epochs, patience, leader.stopping, keep_last=not leader.early_stopping)
    done: dict[tuple[int, int], Outcome] = {}
    for spec, members in _groups(parts).items():
        models = [parts[p].model(parts[p].candidates[i]) for p, i in members]
        which = [parts[p] for p, _ in members]
        try:
            trained = train_side_by_side(
                leader,
                spec[0],
                models,
                [part.sets for part in which],
                [part.learned_from for part in which],
                [part.held_out for part in which],
                schedule,
            )
        except KeyboardInterrupt:
            if not done:
                raise
            break
        done.update(zip(members, trained, strict=True))
        if trained[0].interrupted:
            break
    for p, part in enumerate(parts):
        never = Outcome(part.model(part.candidates[0]).params, {name: [] for name in HISTORY}, 0, np.inf, None, True)
        part.outcomes = [done.get((p, i), never) for i in range(len(part.candidates))]


def _groups(parts: list[_Part]) -> dict[Any, list[tuple[int, int]]]:
    """Return the candidates that can be trained side by side: those with the same spec and shape."""
    groups: dict[Any, list[tuple[int, int]]] = {}
    for p, part in enumerate(parts):
        for i, candidate in enumerate(part.candidates):
            spec = spec_of(candidate, part.sets.bags.dtype)
            shape = (hidden_units(candidate), part.sets.bags.shape[1], len(part.estimator.classes_))
            groups.setdefault((spec, shape), []).append((p, i))
    return groups


def _refit(parts: list[_Part]) -> dict[int, Outcome]:
    """Train the chosen settings of each part on all its sets for the chosen number of epochs."""
    if not parts or not parts[0].estimator.refit:
        return {}
    if any(outcome.interrupted for part in parts for outcome in part.outcomes):
        return {}
    groups: dict[Any, list[_Part]] = {}
    for part in parts:
        if len(part.learned_from) < len(part.sets.y):
            settings = part.candidates[part.best]
            shape = (hidden_units(settings), part.sets.bags.shape[1], len(part.estimator.classes_))
            groups.setdefault((spec_of(settings, part.sets.bags.dtype), shape), []).append(part)
    done: dict[int, Outcome] = {}
    for (spec, _), members in groups.items():
        epochs = [part.outcomes[part.best].best_epoch for part in members]
        models = [part.model(part.candidates[part.best]) for part in members]
        everything = [np.arange(len(part.sets.y)) for part in members]
        none = [NO_SETS] * len(members)
        sets = [part.sets for part in members]
        try:
            outcomes = train_side_by_side(
                members[0].estimator, spec, models, sets, everything, none, Schedule(max(epochs)), epochs
            )
        except KeyboardInterrupt:
            warnings.warn("Training on all sets was interrupted; the model is kept as it was chosen.", stacklevel=5)
            break
        done.update((id(part), outcome) for part, outcome in zip(members, outcomes, strict=True))
    return done
