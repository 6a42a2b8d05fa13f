"""One fit of an estimator that chooses: its sets, its candidates, the choice, the refit and the calibration."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

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
from setrbm.training import InMemory, Outcome, Schedule, Trainee, folds

if TYPE_CHECKING:
    from setrbm.estimators.choosing import Choosing

# The folds of the predictions that probabilities are calibrated on.
CALIBRATION_FOLDS = 5


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
    # Whether Ctrl-C came while candidates were scored, or probabilities calibrated.
    interrupted: bool = False

    @classmethod
    def of(cls, estimator: Choosing, X: Any, y: Any, sample_weight: Any) -> Self:
        """Check everything, set features, classes and scaling, and hold sets out."""
        offer = estimator._offer()
        sets = labeled_sets(estimator, offer.any_generative, X, y, sample_weight)
        refuse_one_class(sets)
        warn_if_constant(estimator._scaling())
        seed = draws.new_seed(check_random_state(estimator.random_state))
        if offer.cv is not None and len(sets.y) < len(y):
            raise ValueError("cv needs sets with a weight above zero. Leave out the others before fit.")
        return cls(estimator, offer, seed, splits_of(sets, offer.cv, estimator.validation_fraction, seed))

    @property
    def sets(self) -> LabeledSets:
        """All sets given to fit."""
        return self.sources[0].sets

    @property
    def chosen(self) -> Settings:
        """The settings of the best candidate."""
        return self.offer.candidates[self.best]

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
            judged(self.offer, settings, one, schedule)
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
            view._take(candidate.settings, outcome)
            held_out = source.held_out
            scores.append(self.offer.scoring(view, self.sets.bags[held_out], view.classes_[self.sets.y[held_out]]))
        return replace(candidate, scores=np.array(scores, dtype=float))

    def refits(self) -> dict[Any, Trainee]:
        """Return the models to train with the chosen settings, each for the chosen number of epochs.

        Those with the keys (None, k) learn from all sets, each from its own start. Those with the keys (fold, k) learn
        from all but a fold, for calibration.
        """
        n_fits = self.offer.n_fits_of(self.chosen)
        on_all = n_fits == 1 and len(self.sources) == 1 and len(self.sources[0].training) == len(self.sets.y)
        sources: dict[int | None, InMemory] = {}
        if self.offer.refit and not on_all:
            sources[None] = InMemory.of(self.sets)
        if self.offer.refit:
            sources |= {fold: self._all_but(held_out) for fold, held_out in enumerate(self._folds())}
        seeds = [self.seed, *draws.further_seeds(self.seed, n_fits - 1)]
        models = [self.chosen.model(self._start(self.chosen, seed), seed) for seed in seeds] if sources else []
        n_epochs = self.candidates[self.best].n_epochs_to_refit(self.offer.lengths[-1])
        return {
            (fold, k): Trainee(model, source, n_epochs)
            for fold, source in sources.items()
            for k, model in enumerate(models)
        }

    def _all_but(self, held_out: Integers) -> InMemory:
        """Return all sets but these to learn from. They are not watched: the last epoch counts, as in the refit."""
        source = InMemory.of(self.sets, held_out)
        return replace(source, held_out=held_out[:0])

    def _folds(self) -> list[Integers]:
        """Return the sets to calibrate on, fold by fold."""
        return folds(self.sets.y, CALIBRATION_FOLDS, self.seed) if self.offer.calibrate else []

    def keep(self, refitted: dict[Any, Outcome], interrupted: bool) -> None:
        """Keep the average of the refitted models, or the chosen candidate as it is; calibrate it if asked."""
        on_all = [outcome for (fold, _), outcome in refitted.items() if fold is None]
        sound = [outcome for outcome in on_all if outcome.diverged_in is None]
        if len(sound) < len(on_all):
            kept = "The others are kept." if sound else "The best candidate is kept without a refit."
            warn(
                f"The chosen settings diverged in {len(on_all) - len(sound)} of {len(on_all)} refits. {kept} Offer "
                "smaller learning rates."
            )
        if not sound or interrupted:
            sound = [self.candidates[self.best].outcomes[0]]
        estimator = self.estimator
        estimator.seed_ = self.seed
        params = joined([outcome.params for outcome in sound])
        estimator._take(estimator._settings(**estimator.best_params_), replace(sound[0], params=params))
        estimator.temperature_ = float(len(sound))
        if self.offer.calibrate and not interrupted:
            try:
                estimator.calibration_temperature_ = self._calibrated(refitted)
            except KeyboardInterrupt:
                self.interrupted = True

    def _calibrated(self, refitted: dict[Any, Outcome]) -> float:
        """Return the temperature that fits predictions for sets that the models did not learn from."""
        parts = self._calibration_parts(refitted)
        if not parts:
            warn("The probabilities are not calibrated: no set could be held out, or all refits diverged.")
            return 1.0
        F = [self.estimator._forward(self.sets.bags[rows], joined(params))[1] / len(params) for params, rows in parts]
        rows = np.concatenate([rows for _, rows in parts])
        return fit_temperature(np.concatenate(F), self.sets.y[rows], self.sets.weight[rows])

    def _calibration_parts(self, refitted: dict[Any, Outcome]) -> list[tuple[list[Params], Integers]]:
        """Return sets to calibrate on, each part with the models that did not learn from it."""
        if not self.offer.refit:
            (source,) = self.sources
            is_held_out = len(source.training) < len(self.sets.y)
            return [([self.candidates[self.best].outcomes[0].params], source.held_out)] if is_held_out else []
        sound: dict[int | None, list[Params]] = {}
        for (fold, _), outcome in refitted.items():
            if outcome.diverged_in is None:
                sound.setdefault(fold, []).append(outcome.params)
        return [(sound[fold], held_out) for fold, held_out in enumerate(self._folds()) if fold in sound]
