"""One fit of an estimator that chooses: its sets, its candidates, the choice, the refit and the calibration."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state

from setrbm import draws
from setrbm._types import Integers
from setrbm._warnings import warn
from setrbm.calibration import fit_temperature
from setrbm.energy import Params, joined
from setrbm.engines.protocol import LabeledSets, Model, Spec
from setrbm.estimators.candidates import Candidate, best_of, judged
from setrbm.estimators.cv_results import results_of
from setrbm.estimators.inputs import labeled_sets, refuse_one_class, warn_if_constant
from setrbm.estimators.offer import Offer
from setrbm.estimators.settings import Settings
from setrbm.estimators.splits import splits_of
from setrbm.estimators.trainable import refuse_divergence
from setrbm.training import Coordinates, InMemory, Outcome, Schedule, Trainee, folds

if TYPE_CHECKING:
    from setrbm.estimators.choosing import Choosing

# The folds of the predictions that probabilities are calibrated on.
CALIBRATION_FOLDS = 5


class Refit(NamedTuple):
    """A model to train with the chosen settings.

    Attributes
    ----------
    fold : int or None
        The fold it does not learn from, for calibration; None if it learns from all sets.
    member : int
        Which part of a mixture it is; 0 without one.
    start : int
        Which of the random starts of its part it has.
    """

    fold: int | None
    member: int
    start: int


@dataclass
class OneFit:
    """One estimator at work: its sets, what is held out, and what became of its candidates."""

    estimator: Choosing
    offer: Offer
    seed: int
    # One per split: what is held out, and what is learned from.
    sources: list[InMemory]
    candidates: list[Candidate] = field(default_factory=list)
    best: int = 0
    starts: dict[Any, Params] = field(default_factory=dict)
    # All sets in the coordinates they are trained in, and the coordinates.
    in_coordinates: dict[str, tuple[Coordinates, LabeledSets]] = field(default_factory=dict)
    # Whether Ctrl-C came while candidates were scored, or probabilities calibrated.
    interrupted: bool = False

    @classmethod
    def of(cls, estimator: Choosing, X: Any, y: Any, sample_weight: Any) -> Self:
        """Check everything, set features, classes and scaling, and hold sets out."""
        offer = estimator._offer()
        sets = labeled_sets(estimator, offer.any_generative, X, y, sample_weight)
        refuse_one_class(sets)
        warn_if_constant(estimator._scaling())
        if sets.bags.is_sparse and estimator.scale in ("center", "standardize"):
            raise ValueError(
                f"scale must be 'auto' or None for sparse sets, which centering would make dense. Got "
                f"{estimator.scale!r}."
            )
        seed = draws.new_seed(check_random_state(estimator.random_state))
        if offer.cv is not None and len(sets.y) < len(y):
            raise ValueError("cv needs sets with a weight above zero. Leave out the others before fit.")
        if sets.bags.is_sparse:
            offer = offer.without_mixtures()
        return cls(estimator, offer, seed, splits_of(sets, offer.cv, estimator.validation_fraction, seed))

    @property
    def sets(self) -> LabeledSets:
        """All sets given to fit."""
        return self.sources[0].sets

    @property
    def chosen(self) -> Settings:
        """The settings of the best candidate."""
        return self.offer.candidates[self.best]

    def _coordinates(self, settings: Settings) -> tuple[Coordinates | None, LabeledSets]:
        """Return the coordinates a model with these settings is trained in, and all sets in them."""
        how = settings.coordinates
        if how is None:
            return None, self.sets
        if how not in self.in_coordinates:
            coordinates = Coordinates.fit(self.sets.bags, how)
            sets = LabeledSets(coordinates.apply(self.sets.bags), self.sets.y, self.sets.weight)
            self.in_coordinates[how] = coordinates, sets
        return self.in_coordinates[how]

    def sources_in_coordinates(self, settings: Settings) -> list[InMemory]:
        """Return what is held out and learned from, in the coordinates of these settings, split by split."""
        sets = self._coordinates(settings)[1]
        return [replace(source, sets=sets) for source in self.sources]

    def _undone(self, settings: Settings, outcome: Outcome) -> Outcome:
        """Return an outcome of training with the model of the inputs as they are."""
        coordinates = self._coordinates(settings)[0]
        return outcome if coordinates is None else replace(outcome, params=coordinates.undo(outcome.params))

    def kind(self, settings: Settings) -> tuple[Spec, tuple[int, ...]]:
        """Return the spec and the shape of a model with these settings."""
        shape = (settings.n_units, self.sets.bags.shape[1], len(self.estimator.classes_))
        return settings.spec(self.sets.bags.dtype), shape

    def model(self, settings: Settings) -> Model:
        """Return a new model with these settings; those of the same kind and initial scale share their start."""
        alike = (*self.kind(settings), settings.init_scale)
        if alike not in self.starts:
            self.starts[alike] = self._start(settings, self.seed)
        return settings.model(self.starts[alike], self.seed)

    def _start(self, settings: Settings, seed: int) -> Params:
        spec, (_, n_features, n_classes) = self.kind(settings)
        return settings.start([self.sets.bags], n_features, n_classes, seed, spec.dtype)

    def choose(self, outcomes: Sequence[list[Outcome]]) -> None:
        """Find the best candidate that was not dropped, and record what was tried."""
        schedule = self.offer.schedule(len(self.sources[0].held_out))
        self.candidates = [
            judged(self.offer, settings, [self._undone(settings.members[0], outcome) for outcome in one], schedule)
            for settings, one in zip(self.offer.candidates, outcomes, strict=True)
        ]
        if self.offer.scoring is not None:
            self._refuse_epochs_that_differ(schedule)
            try:
                self.candidates = [self._scored(one) for one in self.candidates]
            except KeyboardInterrupt:
                self.interrupted = True
        self.best = best_of(self.candidates)
        for outcome in self.candidates[self.best].outcomes:
            refuse_divergence(self.chosen, outcome)
        self.estimator._record(results_of(self.candidates), self.best)

    def _refuse_epochs_that_differ(self, schedule: Schedule) -> None:
        """Refuse to score splits whose models may be of different epochs: the refit has one number of epochs."""
        if len(self.sources) > 1 and len(schedule.ends) != 1:
            raise ValueError(
                "scoring with cv needs one number of epochs for all splits. Use early_stopping=False and one value of "
                "max_epochs."
            )

    def _scored(self, candidate: Candidate) -> Candidate:
        """Return a candidate with the scores of the estimator's scorer, if it was finished."""
        if not candidate.is_finished:
            return candidate
        # A view of the estimator with the letters of the candidate; the sets are scaled already.
        view = copy(self.estimator)
        view._set_scaling(None)
        scores = []
        for source, outcome in zip(self.sources, candidate.outcomes, strict=True):
            view._set_result(candidate.settings.members[0], outcome)
            held_out = source.held_out
            scores.append(self.offer.scoring(view, self.sets.bags[held_out], view.classes_[self.sets.y[held_out]]))
        return replace(candidate, scores=np.array(scores, dtype=float))

    def refits(self) -> dict[Refit, Trainee]:
        """Return the models to train with the chosen settings, each for the chosen number of epochs."""
        n_fits, members = self.offer.n_fits_of(self.chosen), self.chosen.members
        one = n_fits == len(members) == 1
        on_all = one and len(self.sources) == 1 and len(self.sources[0].training) == len(self.sets.y)
        sources: dict[int | None, InMemory] = {}
        if self.offer.refit and not on_all:
            sources[None] = InMemory.of(self.sets)
        if self.offer.refit:
            sources |= {fold: self._all_but(held_out) for fold, held_out in enumerate(self._folds())}
        seeds = [self.seed, *draws.further_seeds(self.seed, n_fits * len(members) - 1)]
        n_epochs = self.candidates[self.best].n_epochs_to_refit(self.offer.lengths[-1])
        found: dict[Refit, Trainee] = {}
        for m, settings in enumerate(members if sources else ()):
            own = seeds[m * n_fits : (m + 1) * n_fits]
            models = [settings.model(self._start(settings, seed), seed) for seed in own]
            sets = self._coordinates(settings)[1]
            for fold, source in sources.items():
                source = replace(source, sets=sets)
                found |= {Refit(fold, m, k): Trainee(model, source, n_epochs) for k, model in enumerate(models)}
        return found

    def _all_but(self, held_out: Integers) -> InMemory:
        """Return all sets but these to learn from. They are not watched: the last epoch counts, as in the refit."""
        source = InMemory.of(self.sets, held_out)
        return replace(source, held_out=held_out[:0])

    def _folds(self) -> list[Integers]:
        """Return the sets to calibrate on, fold by fold."""
        return folds(self.sets.y, CALIBRATION_FOLDS, self.seed) if self.offer.calibrate else []

    def keep(self, refitted: dict[Refit, Outcome], interrupted: bool) -> None:
        """Keep the average of the refitted models, or the chosen candidate as it is; calibrate it if asked."""
        members = self.chosen.members
        refitted = {key: self._undone(members[key.member], outcome) for key, outcome in refitted.items()}
        n_refits = sum(key.fold is None for key in refitted)
        n_diverged = sum(key.fold is None and one.diverged_in is not None for key, one in refitted.items())
        sound = self._sound(refitted, None)
        if n_diverged:
            kept = "The others are kept." if sound else "The best candidate is kept without a refit."
            if sound and len(members) > 1:
                kept = "Of the others, the same number is kept for each part of the mixture."
            warn(
                f"The chosen settings diverged in {n_diverged} of {n_refits} refits. {kept} Offer smaller learning "
                "rates."
            )
        estimator = self.estimator
        settings = replace(estimator._settings(**estimator.best_params_), pooling=self.chosen.pooling)
        if not sound or interrupted:
            sound, settings = [self.candidates[self.best].outcomes[0]], settings.members[0]
        estimator.seed_ = self.seed
        params = joined([outcome.params for outcome in sound])
        estimator._set_result(settings, replace(sound[0], params=params))
        estimator.temperature_ = float(len(sound))
        if self.offer.calibrate and not interrupted:
            try:
                estimator.calibration_temperature_ = self._calibrated(refitted)
            except KeyboardInterrupt:
                self.interrupted = True

    def _sound(self, refitted: dict[Refit, Outcome], fold: int | None) -> list[Outcome]:
        """Return the refits that did not diverge, as many for every part of a mixture, part by part."""
        parts: list[list[Outcome]] = [[] for _ in self.chosen.members]
        for key in sorted(key for key in refitted if key.fold == fold):
            if refitted[key].diverged_in is None:
                parts[key.member].append(refitted[key])
        n = min(map(len, parts))
        return [outcome for part in parts for outcome in part[:n]]

    def _calibrated(self, refitted: dict[Refit, Outcome]) -> float:
        """Return the temperature that fits predictions for sets that the models did not learn from."""
        # If only one part of a mixture is kept, the folds say nothing about it.
        is_whole = self.estimator.settings_.pooling == self.chosen.pooling
        parts = self._calibration_parts(refitted) if is_whole else []
        if not parts:
            warn("The probabilities are not calibrated: no set could be held out, or all refits diverged.")
            return 1.0
        settings = self.chosen if self.offer.refit else self.chosen.members[0]
        F = [
            self.estimator._forward(self.sets.bags[rows], joined(params), settings)[1] / len(params)
            for params, rows in parts
        ]
        rows = np.concatenate([rows for _, rows in parts])
        return fit_temperature(np.concatenate(F), self.sets.y[rows], self.sets.weight[rows])

    def _calibration_parts(self, refitted: dict[Refit, Outcome]) -> list[tuple[list[Params], Integers]]:
        """Return sets to calibrate on, each part with the models that did not learn from it."""
        if not self.offer.refit:
            (source,) = self.sources
            is_held_out = len(source.training) < len(self.sets.y)
            return [([self.candidates[self.best].outcomes[0].params], source.held_out)] if is_held_out else []
        sound = [[outcome.params for outcome in self._sound(refitted, fold)] for fold, _ in enumerate(self._folds())]
        return [(params, held_out) for params, held_out in zip(sound, self._folds(), strict=True) if params]
