"""Fits of many estimators side by side, as the folds of a table: a GPU trains the models of all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from setrbm._warnings import warn
from setrbm.engines.protocol import DeviceMemoryWarning
from setrbm.estimators.inputs import restorer
from setrbm.estimators.search import refits
from setrbm.estimators.search.results import results_of
from setrbm.estimators.search.search import Search, TrainingBatch
from setrbm.training import Outcome

Data = tuple[Any, Any, Any]
Fits = dict[int, Search]


def fit_side_by_side(estimators: Sequence[Any], data: Sequence[Data]) -> list[Exception | None]:
    """Fit estimators that choose, with the same settings, each on its own sets, labels and weights, all at once.

    The result is the same as fitting them one by one. If one fails, it is left unchanged and the others go on. If they
    do not fit into memory together, they are fitted in two halves. Ctrl-C leaves all of them unchanged.

    Returns
    -------
    list of Exception or None
        The error of each fit that failed; None for the others.
    """
    n = len(estimators)
    try:
        return _fit_at_once(estimators, data)
    except MemoryError as fault:
        message = str(fault)
    # Outside of the except clause, no reference to the attempt is left, so its memory is free.
    if n == 1:
        return [MemoryError(message)]
    warn(f"{n} fits do not fit into memory together; they are made in two halves.", DeviceMemoryWarning)
    halves = slice(None, n // 2), slice(n // 2, None)
    return [fault for half in halves for fault in fit_side_by_side(estimators[half], data[half])]


def _fit_at_once(estimators: Sequence[Any], data: Sequence[Data]) -> list[Exception | None]:
    restorers: list[Callable[[], None]] = []
    faults: list[Exception | None] = [None] * len(estimators)
    fits: Fits = {}

    def attempt(i: int, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except Exception as fault:
            restorers[i]()
            faults[i] = fault
            fits.pop(i, None)

    try:
        for i, estimator in enumerate(estimators):
            restorers.append(restorer(estimator))
            if (search := attempt(i, partial(_begun, estimator, *data[i]))) is not None:
                fits[i] = search
        tried = train_together({i: search.to_try() for i, search in fits.items()}, fits)
        for i, search in list(fits.items()):
            attempt(i, partial(_choose, search, tried[i]))
        refitted = train_together(
            {i: refits.to_refit(search) if search.choices.refit else [] for i, search in fits.items()}, fits
        )
        for i, search in fits.items():
            refits.keep(search, refitted[i])
            _refuse_half_a_fit(search)
    except BaseException:
        # Backwards, since estimators may share a generator.
        for restore in reversed(restorers):
            restore()
        raise
    return faults


def _begun(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Search:
    return Search.of(estimator, estimator._choices(), X, y, sample_weight)


def _choose(search: Search, outcomes: dict[Any, Outcome]) -> None:
    search.choose(outcomes)
    _refuse_half_a_fit(search)
    search.estimator._record(results_of(search.candidates), search.best)


def _refuse_half_a_fit(search: Search) -> None:
    """Raise KeyboardInterrupt if Ctrl-C ended scoring or calibration, after which a single fit keeps its results."""
    if search.interrupted:
        raise KeyboardInterrupt


def train_together(batches: dict[int, list[TrainingBatch]], fits: Fits) -> dict[int, dict[Any, Outcome]]:
    """Train the batches of several fits, similar ones together; return the outcomes of each fit by their keys."""
    alike: dict[Any, TrainingBatch] = {}
    for i, of_fit in batches.items():
        for batch in of_fit:
            (model, *_) = (training.model for training in batch.trainings.values())
            kind = replace(batch.schedule, max_epochs=1), batch.spec, model.params.W.shape, model.params.U.shape
            own = {
                (i, key): replace(training, group=i, max_epochs=batch.schedule.max_epochs)
                for key, training in batch.trainings.items()
            }
            known = alike.get(kind, TrainingBatch(batch.schedule, batch.spec, {}))
            longest = max(known.schedule.max_epochs, batch.schedule.max_epochs)
            schedule = replace(batch.schedule, max_epochs=longest)
            alike[kind] = TrainingBatch(schedule, batch.spec, known.trainings | own)
    outcomes: dict[int, dict[Any, Outcome]] = {i: {} for i in batches}
    for batch in alike.values():
        (first, _), *_ = batch.trainings
        of_batch = batch.train(fits[first].estimator, None)
        if of_batch[0].interrupted:
            raise KeyboardInterrupt
        for (i, key), outcome in zip(batch.trainings, of_batch, strict=True):
            outcomes[i][key] = outcome
    return outcomes
