"""Choosing settings on held-out sets: ``fit`` of every estimator whose name ends in CV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state

from setrbm import draws, persistence
from setrbm._warnings import warn
from setrbm.energy import Params, joined
from setrbm.engines import suited_engine
from setrbm.engines.protocol import DeviceMemoryWarning, Model, Spec
from setrbm.estimators.files import Saveable
from setrbm.estimators.inputs import labeled_sets, refuse_one_class
from setrbm.estimators.offer import Offer
from setrbm.estimators.progress import following
from setrbm.estimators.settings import Settings, as_threads, check_execution
from setrbm.estimators.trainable import refuse_divergence
from setrbm.training import InMemory, Monitor, Outcome, Schedule, Trainee, hold_out, nothing_learned, train

Data = tuple[Any, Any, Any]


class Choosing(Saveable):
    """``fit`` that trains every combination of the choices side by side, and keeps or refits the best."""

    # The settings that may be lists of values to choose from.
    CHOOSABLE: ClassVar[tuple[str, ...]] = ()
    # How many fits of the chosen settings are averaged; a class that can average takes it in its constructor.
    n_fits: Any = 1

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the settings on a held-out part of labeled sets, then learn from all of them.

        Parameters
        ----------
        X : Bags, list of matrices, 3-D array, or matrix (each row a set of one)
        y : array-like of shape (n_sets,)
        sample_weight : array-like of shape (n_sets,), optional

        Returns
        -------
        self

        Notes
        -----
        Ctrl-C raises KeyboardInterrupt. After the first epoch the best candidate so far is kept, without a refit;
        before that the estimator is unchanged.
        """
        with following(self, self._offer().n_phases) as monitor:
            fault = fit_side_by_side([self], [(X, y, sample_weight)], monitor)[0]
            if fault is not None:
                raise fault
        return self

    def _offer(self) -> Offer:
        check_execution(self)
        return Offer.of(self, self.CHOOSABLE)

    def _record(self, offer: Offer, outcomes: list[Outcome], scores: list[float], best: int) -> None:
        """Record what was tried and what was chosen."""

        def chosen(candidate: Settings, outcome: Outcome) -> dict[str, Any]:
            own = {name: getattr(candidate, name) for name in offer.names}
            return own | ({"max_epochs": offer.length(outcome.best_epoch)} if "max_epochs" in own else {})

        tried = [chosen(candidate, outcome) for candidate, outcome in zip(offer.candidates, outcomes, strict=True)]
        self.best_params_ = tried[best]
        self.best_score_ = float(scores[best])
        self.results_ = {
            "params": tried,
            "score": [float(score) for score in scores],
            "best_epoch": [outcome.best_epoch for outcome in outcomes],
            "diverged": [outcome.diverged_in is not None for outcome in outcomes],
            "dropped": [outcome.dropped for outcome in outcomes],
            "history": [outcome.history for outcome in outcomes],
        }

    def _describe(self) -> dict[str, Any]:
        chosen = {"best_params": self.best_params_, "best_score": self.best_score_, "results": self.results_}
        return {"chosen": persistence.to_json(chosen)}

    def _restored_settings(self, description: dict[str, Any]) -> Settings:
        self._offer()
        chosen = persistence.from_json(description["chosen"])
        self.best_params_, self.best_score_ = dict(chosen["best_params"]), float(chosen["best_score"])
        # Files of earlier versions have another name for one list.
        results = {"dropped" if name == "left_behind" else name: kept for name, kept in chosen["results"].items()}
        self.results_ = results
        return self._settings(**self.best_params_)


@dataclass
class _Fit:
    """One estimator at work: its sets, what is held out, and what became of its candidates."""

    estimator: Choosing
    offer: Offer
    seed: int
    # If nothing can be held out, the sets that are learned from are watched.
    source: InMemory
    outcomes: list[Outcome] = field(default_factory=list)
    best: int = 0
    starts: dict[Any, Params] = field(default_factory=dict)

    @classmethod
    def of(cls, estimator: Choosing, X: Any, y: Any, sample_weight: Any) -> Self:
        """Check everything, set features, classes and scaling, and hold sets out."""
        offer = estimator._offer()
        sets = labeled_sets(estimator, offer.any_generative, X, y, sample_weight)
        refuse_one_class(sets)
        seed = draws.new_seed(check_random_state(estimator.random_state))
        held_out = hold_out(sets.y, estimator.validation_fraction, seed, at_least_one=True)
        source = InMemory.of(sets, held_out)
        if not len(held_out):
            warn("No set can be held out: every class has only one. Settings are chosen by the training loss.")
            source = InMemory(sets, source.training, source.training)
        return cls(estimator, offer, seed, source)

    @property
    def chosen(self) -> Settings:
        """The settings of the best candidate."""
        return self.offer.candidates[self.best]

    def kind(self, settings: Settings) -> tuple[Spec, tuple[int, ...]]:
        """Return the spec and the shape of a model with these settings."""
        shape = (settings.n_units, self.source.sets.bags.shape[1], len(self.estimator.classes_))
        return settings.spec(self.source.dtype), shape

    def candidate(self, settings: Settings) -> Model:
        """Return a candidate as a model; candidates of the same kind and initial scale share their start."""
        alike = (*self.kind(settings), settings.init_scale)
        if alike not in self.starts:
            self.starts[alike] = self._start(settings, self.seed)
        return settings.model(self.starts[alike], self.seed)

    def _start(self, settings: Settings, seed: int) -> Params:
        _, (_, n_features, n_classes) = self.kind(settings)
        return settings.start([self.source.sets.bags], n_features, n_classes, seed, self.source.dtype)

    def choose(self) -> None:
        """Find the best candidate that was not dropped, and record what was tried."""
        outcomes = self.outcomes
        scores = [np.inf if o.diverged_in is not None or o.dropped else o.best_score for o in outcomes]
        # A candidate whose training was never begun has no history.
        sound = [i for i, one in enumerate(outcomes) if one.diverged_in is None and one.history["loss"]]
        to_the_end = [i for i in sound if not outcomes[i].dropped]
        if sound and not to_the_end:
            warn(
                "All candidates that were not dropped diverged later. The best of the dropped ones is used; offer "
                "smaller learning rates."
            )
        diverged = [i for i, outcome in enumerate(outcomes) if outcome.diverged_in is not None]
        if not sound and not diverged:
            raise ValueError("Training was interrupted before any candidate was begun.")
        self.best = min(to_the_end or sound or diverged, key=lambda i: outcomes[i].best_score)
        refuse_divergence(self.chosen, outcomes[self.best])
        self.estimator._record(self.offer, outcomes, scores, self.best)

    def refits(self) -> list[Trainee]:
        """Return the models to train on all sets, each from its own start, for the chosen number of epochs."""
        n_fits = self.offer.n_fits_of(self.chosen)
        if not self.offer.refit or (n_fits == 1 and len(self.source.training) == len(self.source.sets.y)):
            return []
        outcome = self.outcomes[self.best]
        n_epochs = self.offer.lengths[-1] if outcome.dropped else outcome.best_epoch
        source = InMemory.of(self.source.sets)
        seeds = [self.seed, *draws.further_seeds(self.seed, n_fits - 1)]
        return [Trainee(self.chosen.model(self._start(self.chosen, seed), seed), source, n_epochs) for seed in seeds]

    def keep(self, refitted: list[Outcome]) -> None:
        """Keep the average of the refitted models, or the chosen candidate as it is."""
        sound = [outcome for outcome in refitted if outcome.diverged_in is None]
        if len(sound) < len(refitted):
            kept = "The others are kept." if sound else "The best candidate is kept without a refit."
            warn(
                f"The chosen settings diverged in {len(refitted) - len(sound)} of {len(refitted)} refits. {kept} Offer "
                "smaller learning rates."
            )
        if not sound or any(outcome.interrupted for outcome in sound):
            sound = [self.outcomes[self.best]]
        estimator = self.estimator
        estimator.seed_ = self.seed
        params = joined([outcome.params for outcome in sound])
        estimator._take(estimator._settings(**estimator.best_params_), replace(sound[0], params=params))
        estimator.temperature_ = float(len(sound))


def fit_side_by_side(
    estimators: Sequence[Choosing], data: Sequence[Data], monitor: Monitor | None = None
) -> list[Exception | None]:
    """Fit estimators with the same settings, each on its own sets, labels and weights, all candidates at once.

    The result is the same as fitting them one by one. If one fails, it is left unchanged and the others go on. If they
    do not fit into memory together, they are fitted in two halves.

    Returns
    -------
    list of Exception or None
        What kept each from being fitted.
    """
    n = len(estimators)
    try:
        return _fit_at_once(estimators, data, monitor)
    except MemoryError as fault:
        message = str(fault)
    # Outside of the except clause nothing of the attempt is held any more.
    if n == 1:
        return [MemoryError(message)]
    warn(f"{n} fits do not fit into memory together; they are made in two halves.", DeviceMemoryWarning)
    halves = slice(None, n // 2), slice(n // 2, None)
    return [fault for half in halves for fault in fit_side_by_side(estimators[half], data[half], monitor)]


def _fit_at_once(
    estimators: Sequence[Choosing], data: Sequence[Data], monitor: Monitor | None
) -> list[Exception | None]:
    before = [dict(vars(estimator)) for estimator in estimators]
    generators = [e.random_state for e in estimators if isinstance(e.random_state, np.random.RandomState)]
    states = [generator.get_state() for generator in generators]
    faults: list[Exception | None] = [None] * len(estimators)
    fits: dict[int, _Fit] = {}

    def restore(i: int) -> None:
        estimators[i].__dict__.clear()
        estimators[i].__dict__.update(before[i])

    def attempt(i: int, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except Exception as fault:
            restore(i)
            faults[i] = fault
            fits.pop(i, None)

    try:
        for i, estimator in enumerate(estimators):
            if (fit := attempt(i, partial(_Fit.of, estimator, *data[i]))) is not None:
                fits[i] = fit
        interrupted = _train_candidates(list(fits.values()), monitor)
        for i, fit in list(fits.items()):
            attempt(i, fit.choose)
        refitted, interrupted = ({}, True) if interrupted else _refit(list(fits.values()), monitor)
        for fit in fits.values():
            fit.keep(refitted.get(id(fit), []))
    except BaseException:
        for i in range(len(estimators)):
            restore(i)
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)
        raise
    if interrupted:
        raise KeyboardInterrupt
    return faults


def _train_candidates(fits: list[_Fit], monitor: Monitor | None) -> bool:
    """Train all candidates of all fits, those of one kind side by side; return whether Ctrl-C ended it."""
    groups: dict[Any, dict[Any, Trainee]] = {}
    for f, fit in enumerate(fits):
        schedule = fit.offer.schedule(len(fit.source.held_out))
        for i, candidate in enumerate(fit.offer.candidates):
            trainee = Trainee(fit.candidate(candidate), fit.source, group=f)
            groups.setdefault((schedule, *fit.kind(candidate)), {})[f, i] = trainee
    done, interrupted = _train_groups(fits, [(key[0], key[1], group) for key, group in groups.items()], monitor)
    if interrupted and not done:
        raise KeyboardInterrupt
    for f, fit in enumerate(fits):
        never = nothing_learned(fit.candidate(fit.offer.candidates[0]).params)
        fit.outcomes = [done.get((f, i), never) for i in range(len(fit.offer.candidates))]
    return interrupted


def _refit(fits: list[_Fit], monitor: Monitor | None) -> tuple[dict[int, list[Outcome]], bool]:
    """Train the chosen settings of each fit on all its sets; return the outcomes, and whether Ctrl-C ended it."""
    try:
        groups = _refit_groups(fits)
    except KeyboardInterrupt:
        return {}, True
    done, interrupted = _train_groups(fits, groups, monitor)
    refitted: dict[int, list[Outcome]] = {}
    for (key, _), outcome in done.items():
        refitted.setdefault(key, []).append(outcome)
    return refitted, interrupted


def _refit_groups(fits: list[_Fit]) -> list[tuple[Schedule, Spec, dict[Any, Trainee]]]:
    groups: dict[Any, dict[Any, Trainee]] = {}
    for fit in fits:
        for k, trainee in enumerate(fit.refits()):
            groups.setdefault(fit.kind(fit.chosen), {})[id(fit), k] = trainee
    longest = {kind: max(trainee.max_epochs or 0 for trainee in group.values()) for kind, group in groups.items()}
    return [(Schedule(longest[kind]), kind[0], group) for kind, group in groups.items()]


def _train_groups(
    fits: list[_Fit], groups: Sequence[tuple[Schedule, Spec, dict[Any, Trainee]]], monitor: Monitor | None
) -> tuple[dict[Any, Outcome], bool]:
    """Train groups of models of one kind, one group after the other, until Ctrl-C ends it."""
    done: dict[Any, Outcome] = {}
    for schedule, spec, group in groups:
        try:
            outcomes = _train(fits[0].estimator, spec, list(group.values()), schedule, monitor)
        except KeyboardInterrupt:
            return done, True
        done.update(zip(group, outcomes, strict=True))
        if outcomes[0].interrupted:
            return done, True
    return done, False


def _train(
    estimator: Choosing, spec: Spec, trainees: list[Trainee], schedule: Schedule, monitor: Monitor | None
) -> list[Outcome]:
    models = [trainee.model for trainee in trainees]
    sets = [part.sets for trainee in trainees for part in trainee.source]
    engine = suited_engine(estimator.engine, spec, models, sets)
    return train(engine, spec, trainees, schedule, as_threads(estimator.n_jobs), monitor)
