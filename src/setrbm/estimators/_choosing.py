"""Choosing settings on a held-out part: what every estimator that ends in CV is made of."""

from __future__ import annotations

import warnings
from itertools import product
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from setrbm import persistence
from setrbm._types import Integers
from setrbm.energy import Params
from setrbm.engines.protocol import LabelledSets
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
from setrbm.estimators._inputs import unchanged_on_error
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
        with unchanged_on_error(self):
            sets, seed = prepare(self, X, y, sample_weight)
            candidates = self._candidates()
            held_out = hold_out(sets.y, self.validation_fraction, seed, at_least_one=True)
            outcomes = self._train_all(candidates, sets, held_out, seed)
            scores = [np.inf if o.diverged_in is not None else o.best_score for o in outcomes]
            best = int(np.argmin(scores))
            refuse_divergence(candidates[best], outcomes[best])
            self._note(candidates, outcomes, scores, best)
            self.seed_, chosen = seed, outcomes[best]
            if self.refit and len(held_out) and not any(outcome.interrupted for outcome in outcomes):
                chosen = self._refit(candidates[best], chosen, sets, seed)
            self._take(chosen)
        return self

    def _candidates(self) -> list[SimpleNamespace]:
        """Return one set of settings for every combination of choices."""
        choices = [choices_of(getattr(self, name)) for name in self.CHOOSABLE]
        settings = self._settings()
        return [
            SimpleNamespace(**settings | dict(zip(self.CHOOSABLE, values, strict=True))) for values in product(*choices)
        ]

    def _train_all(
        self, candidates: list[SimpleNamespace], sets: LabelledSets, held_out: Integers, seed: int
    ) -> list[Outcome]:
        """Train all candidates, those of one shape side by side; after Ctrl-C the rest are not begun."""
        groups: dict[Any, list[int]] = {}
        for i, candidate in enumerate(candidates):
            groups.setdefault((spec_of(candidate, sets.bags.dtype), hidden_units(candidate)), []).append(i)
        outcomes: dict[int, Outcome] = {}
        patience = self.patience if self.early_stopping else None
        schedule = Schedule(self.max_epochs, patience, self.stopping, keep_last=not self.early_stopping)
        watched = held_out if len(held_out) else np.arange(len(sets.y))
        for (spec, _), members in groups.items():
            models = [model_of(candidates[i], self._start(candidates[i], sets, seed), seed) for i in members]
            try:
                trained = train_side_by_side(self, spec, models, sets, held_out, watched, schedule)
            except KeyboardInterrupt:
                if not outcomes:
                    raise
                break
            outcomes.update(zip(members, trained, strict=True))
            if trained[0].interrupted:
                break
        never = Outcome(self._start(candidates[0], sets, seed), {name: [] for name in HISTORY}, 0, np.inf, None, True)
        return [outcomes.get(i, never) for i in range(len(candidates))]

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

    def _refit(self, settings: SimpleNamespace, chosen: Outcome, sets: LabelledSets, seed: int) -> Outcome:
        """Train the chosen settings on all sets for the chosen number of epochs; if that diverges, keep the chosen."""
        model = model_of(settings, self._start(settings, sets, seed), seed)
        schedule = Schedule(chosen.best_epoch)
        spec = spec_of(settings, sets.bags.dtype)
        try:
            outcome = train_side_by_side(self, spec, [model], sets, NO_SETS, NO_SETS, schedule)[0]
        except KeyboardInterrupt:
            warnings.warn("Training on all sets was interrupted; the model is kept as it was chosen.", stacklevel=3)
            return chosen
        if outcome.interrupted:
            return chosen
        if outcome.diverged_in is None:
            return outcome
        warnings.warn(
            "The chosen settings diverged when they were trained again on all sets. The model is kept as it was chosen,"
            " without the held-out part; offer smaller learning rates.",
            stacklevel=3,
        )
        return chosen

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
