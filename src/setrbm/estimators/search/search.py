"""One search of an estimator that chooses: its sets, what is held out of them, its candidates, and the choice."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from setrbm import draws
from setrbm._warnings import warn
from setrbm.bags import as_positions
from setrbm.energy import Params
from setrbm.engines import suited_engine
from setrbm.engines.protocol import LabeledSets, Model, Spec
from setrbm.estimators.inputs import labeled_sets, refuse_one_class, warn_if_constant
from setrbm.estimators.search.choices import Choices
from setrbm.estimators.search.results import Candidate, best_of, judged
from setrbm.estimators.settings import Settings, refuse_divergence
from setrbm.scaling import Coordinates
from setrbm.tools.threads import as_threads
from setrbm.training import InMemory, Monitor, Outcome, Phase, Schedule, Training, hold_out, nothing_learned, train

if TYPE_CHECKING:
    from setrbm.estimators.search.choosing import Choosing


class TrainingBatch(NamedTuple):
    """Models of one kind, with a key each, that are trained side by side."""

    schedule: Schedule
    spec: Spec
    trainings: dict[Any, Training]

    def train(self, estimator: Choosing, monitor: Monitor | None) -> list[Outcome]:
        """Train all models on the engine and the threads of an estimator."""
        trainings = list(self.trainings.values())
        models = [training.model for training in trainings]
        sets = [part.sets for training in trainings for part in training.source]
        engine = suited_engine(estimator.engine, self.spec, models, sets)
        return train(engine, self.spec, trainings, self.schedule, as_threads(estimator.n_jobs), monitor)


@dataclass
class Search:
    """The state of one fit, from the checked input to the chosen candidate.

    Attributes
    ----------
    sources : list of InMemory
        One per split: what is held out, and what is learned from.
    candidates : list of Candidate
        What became of each combination of choices, once they were trained.
    best : int
        The position of the chosen one.
    interrupted : bool
        Whether Ctrl-C has ended training, scoring or calibration.
    """

    estimator: Choosing
    choices: Choices
    seed: int
    sources: list[InMemory]
    candidates: list[Candidate] = field(default_factory=list)
    best: int = 0
    interrupted: bool = False
    # The start of every kind of model, and the sets in every kind of coordinates, each made once.
    _starts: dict[Any, Params] = field(default_factory=dict)
    _in_coordinates: dict[str, tuple[Coordinates, LabeledSets]] = field(default_factory=dict)

    @classmethod
    def of(cls, estimator: Choosing, choices: Choices, X: Any, y: Any, sample_weight: Any) -> Self:
        """Check the input, set features, classes and scaling, and hold sets out."""
        sets = labeled_sets(estimator, choices.any_generative, X, y, sample_weight)
        refuse_one_class(sets)
        warn_if_constant(estimator._scaling())
        if sets.bags.is_sparse and estimator.scale in ("center", "standardize"):
            raise ValueError(
                f"scale must be 'auto' or None for sparse sets, which centering would make dense. Got "
                f"{estimator.scale!r}."
            )
        seed = draws.new_seed(check_random_state(estimator.random_state))
        if choices.cv is not None and len(sets.y) < len(y):
            raise ValueError("cv needs sets with a weight above zero. Leave out the others before fit.")
        if sets.bags.is_sparse:
            choices = choices.without_mixtures()
        return cls(estimator, choices, seed, _splits(sets, choices.cv, estimator.validation_fraction, seed))

    # --- the sets, and models for them ---

    @property
    def sets(self) -> LabeledSets:
        """All sets given to fit."""
        return self.sources[0].sets

    @property
    def chosen(self) -> Settings:
        """The settings of the best candidate."""
        return self.choices.candidates[self.best]

    def sets_for(self, settings: Settings) -> LabeledSets:
        """Return all sets, in the coordinates in which a model with these settings is trained."""
        how = settings.coordinates
        if how is None:
            return self.sets
        if how not in self._in_coordinates:
            coordinates = Coordinates.fit(self.sets.bags, how)
            sets = LabeledSets(coordinates.apply(self.sets.bags), self.sets.y, self.sets.weight)
            self._in_coordinates[how] = coordinates, sets
        return self._in_coordinates[how][1]

    def undone(self, settings: Settings, outcome: Outcome) -> Outcome:
        """Return an outcome of training with the model of the inputs as they are."""
        how = settings.coordinates
        return outcome if how is None else replace(outcome, params=self._in_coordinates[how][0].undo(outcome.params))

    def kind(self, settings: Settings) -> tuple[Spec, tuple[int, ...]]:
        """Return the spec and the shape of a model with these settings."""
        shape = (settings.n_units, self.sets.bags.shape[1], len(self.estimator.classes_))
        return settings.spec(self.sets.bags.dtype), shape

    def model(self, settings: Settings, seed: int) -> Model:
        """Return a new model with these settings; those of the same kind, initial scale and seed share their start."""
        spec, (_, n_features, n_classes) = kind = self.kind(settings)
        alike = (*kind, settings.init_scale, seed)
        if alike not in self._starts:
            self._starts[alike] = settings.start([self.sets.bags], n_features, n_classes, seed, spec.dtype)
        return settings.model(self._starts[alike], seed)

    # --- training ---

    def train(self, phase: Phase, batches: Sequence[TrainingBatch], monitor: Monitor | None) -> dict[Any, Outcome]:
        """Train batches one after the other, until Ctrl-C ends it; return what came of each model that was begun."""
        if monitor is not None:
            monitor.on_phase(phase, len(batches))
        outcomes: dict[Any, Outcome] = {}
        for batch in batches:
            try:
                of_batch = batch.train(self.estimator, monitor)
            except KeyboardInterrupt:
                self.interrupted = True
                break
            outcomes |= zip(batch.trainings, of_batch, strict=True)
            if of_batch[0].interrupted:
                self.interrupted = True
                break
        return outcomes

    # --- the choice ---

    @property
    def _schedule(self) -> Schedule:
        return self.choices.schedule(len(self.sources[0].held_out))

    def to_try(self) -> list[TrainingBatch]:
        """Return all candidates to train, on every split; their keys are the numbers of candidate and split."""
        kinds: dict[Any, dict[Any, Training]] = {}
        for number, candidate in enumerate(self.choices.candidates):
            # The settings of a mixture are chosen with its first part.
            settings = candidate.members[0]
            trainings, sets = kinds.setdefault(self.kind(settings), {}), self.sets_for(settings)
            for split, source in enumerate(self.sources):
                model = self.model(settings, self.seed)
                trainings[number, split] = Training(model, replace(source, sets=sets), candidate=number)
        return [TrainingBatch(self._schedule, spec, trainings) for (spec, _), trainings in kinds.items()]

    def choose(self, outcomes: dict[Any, Outcome]) -> None:
        """Find the best candidate that was not dropped; raise KeyboardInterrupt if Ctrl-C left too little for that."""
        try:
            self._find_best(outcomes)
        except Exception:
            if self.interrupted:
                raise KeyboardInterrupt from None
            raise

    def _find_best(self, outcomes: dict[Any, Outcome]) -> None:
        self.candidates = [self._judged(number, outcomes) for number in range(len(self.choices.candidates))]
        if self.choices.scoring is not None:
            self._refuse_epochs_that_differ()
            try:
                self.candidates = [self._scored(candidate) for candidate in self.candidates]
            except KeyboardInterrupt:
                self.interrupted = True
        self.best = best_of(self.candidates)
        for outcome in self.candidates[self.best].outcomes:
            refuse_divergence(self.chosen, outcome)

    def _judged(self, number: int, outcomes: dict[Any, Outcome]) -> Candidate:
        candidate = self.choices.candidates[number]
        settings = candidate.members[0]
        never = nothing_learned(self.model(settings, self.seed).params)
        splits = [outcomes.get((number, split), never) for split in range(len(self.sources))]
        return judged(self.choices, candidate, [self.undone(settings, outcome) for outcome in splits], self._schedule)

    def _refuse_epochs_that_differ(self) -> None:
        """Refuse to score splits whose models may be of different epochs: the refit has one number of epochs."""
        if len(self.sources) > 1 and len(self._schedule.ends) != 1:
            raise ValueError(
                "scoring with cv needs one number of epochs for all splits. Use early_stopping=False and one value of "
                "max_epochs."
            )

    def _scored(self, candidate: Candidate) -> Candidate:
        """Return a candidate with the scores of the estimator's scorer, if it was finished."""
        if not candidate.is_finished:
            return candidate
        # A view of the estimator with the parameters of the candidate; the sets are scaled already.
        view = copy(self.estimator)
        view._set_scaling(None)
        scores = []
        for source, outcome in zip(self.sources, candidate.outcomes, strict=True):
            view._set_result(candidate.settings.members[0], outcome)
            held_out = source.held_out
            scores.append(self.choices.scoring(view, self.sets.bags[held_out], view.classes_[self.sets.y[held_out]]))
        return replace(candidate, scores=np.array(scores, dtype=float))


def _splits(sets: LabeledSets, cv: Any, fraction: float, seed: int) -> list[InMemory]:
    """Return what is held out: a fraction of each class once or, with ``cv``, what scikit-learn's splitter says."""
    if cv is not None:
        return _splits_by(cv, sets)
    held_out = hold_out(sets.y, fraction, seed, at_least_one=True)
    source = InMemory.of(sets, held_out)
    if len(held_out):
        return [source]
    warn("No set can be held out: every class has only one. Settings are chosen by the training loss.")
    return [InMemory(sets, source.training, source.training)]


def _splits_by(cv: Any, sets: LabeledSets) -> list[InMemory]:
    sources = [
        InMemory(sets, np.sort(as_positions(training, len(sets.y))), np.sort(as_positions(held_out, len(sets.y))))
        for training, held_out in check_cv(cv, sets.y, classifier=True).split(np.zeros(len(sets.y)), sets.y)
    ]
    for k, source in enumerate(sources):
        if not len(source.held_out) or len(np.unique(sets.y[source.training])) < 2:
            raise ValueError(
                f"Every split of cv must hold out at least one set and leave sets of at least two classes. Split {k} "
                "does not. Use fewer splits."
            )
    if not sources:
        raise ValueError("cv must give at least one split. Got none.")
    return sources
