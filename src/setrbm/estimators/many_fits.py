"""Many fits of estimators that choose, side by side: all candidates of all of them are trained at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from setrbm._warnings import warn
from setrbm.engines import suited_engine
from setrbm.engines.protocol import DeviceMemoryWarning, Spec
from setrbm.estimators.inputs import restorer
from setrbm.estimators.one_fit import OneFit
from setrbm.tools.threads import as_threads
from setrbm.training import Monitor, Outcome, Phase, Schedule, Trainee, nothing_learned, train

Data = tuple[Any, Any, Any]


def fit_side_by_side(
    estimators: Sequence[Any], data: Sequence[Data], monitor: Monitor | None = None
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


def _fit_at_once(estimators: Sequence[Any], data: Sequence[Data], monitor: Monitor | None) -> list[Exception | None]:
    restorers: list[Callable[[], None]] = []
    faults: list[Exception | None] = [None] * len(estimators)
    fits: dict[int, OneFit] = {}

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
            if (fit := attempt(i, partial(OneFit.of, estimator, *data[i]))) is not None:
                fits[i] = fit
        outcomes, interrupted = _train_candidates(list(fits.values()), monitor)
        for (i, fit), of_fit in zip(list(fits.items()), outcomes, strict=True):
            attempt(i, partial(fit.choose, of_fit))
        interrupted |= any(fit.interrupted for fit in fits.values())
        refitted, interrupted = ({}, True) if interrupted else _refit(list(fits.values()), monitor)
        for fit in fits.values():
            fit.keep(refitted.get(id(fit), {}), interrupted)
    except BaseException:
        # Backwards, since estimators may share a generator.
        for restore in reversed(restorers):
            restore()
        raise
    if interrupted or any(fit.interrupted for fit in fits.values()):
        raise KeyboardInterrupt
    return faults


def _train_candidates(fits: list[OneFit], monitor: Monitor | None) -> tuple[list[list[list[Outcome]]], bool]:
    """Train all candidates of all fits on all their splits, those of one kind side by side.

    Returns
    -------
    outcomes : list of lists of lists
        For each fit and candidate, one outcome per split.
    interrupted : bool
        Whether Ctrl-C ended it.
    """
    groups: dict[Any, dict[Any, Trainee]] = {}
    for f, fit in enumerate(fits):
        schedule = fit.offer.schedule(len(fit.sources[0].held_out))
        for i, candidate in enumerate(fit.offer.candidates):
            # The settings of a mixture are chosen with its first part.
            settings = candidate.members[0]
            group = groups.setdefault((schedule, *fit.kind(settings)), {})
            for s, source in enumerate(fit.sources_in_coordinates(settings)):
                group[f, i, s] = Trainee(fit.model(settings), source, group=f, candidate=i)
    to_train = [(key[0], key[1], group) for key, group in groups.items()]
    done, interrupted = _train_groups("choosing", fits, to_train, monitor)
    if interrupted and not done:
        raise KeyboardInterrupt
    outcomes = []
    for f, fit in enumerate(fits):
        never = nothing_learned(fit.model(fit.offer.candidates[0].members[0]).params)
        n_candidates, n_splits = len(fit.offer.candidates), len(fit.sources)
        outcomes.append([[done.get((f, i, s), never) for s in range(n_splits)] for i in range(n_candidates)])
    return outcomes, interrupted


def _refit(fits: list[OneFit], monitor: Monitor | None) -> tuple[dict[int, dict[Any, Outcome]], bool]:
    """Train the chosen settings of each fit on all its sets; return the outcomes, and whether Ctrl-C ended it."""
    if not any("fitting" in fit.offer.phases for fit in fits):
        return {}, False
    try:
        groups = _refit_groups(fits)
    except KeyboardInterrupt:
        return {}, True
    done, interrupted = _train_groups("fitting", fits, groups, monitor)
    refitted: dict[int, dict[Any, Outcome]] = {}
    for (fit, key), outcome in done.items():
        refitted.setdefault(fit, {})[key] = outcome
    return refitted, interrupted


def _refit_groups(fits: list[OneFit]) -> list[tuple[Schedule, Spec, dict[Any, Trainee]]]:
    groups: dict[Any, dict[Any, Trainee]] = {}
    for fit in fits:
        for key, trainee in fit.refits().items():
            groups.setdefault(fit.kind(fit.chosen.members[key.member]), {})[id(fit), key] = trainee
    longest = {kind: max(trainee.max_epochs or 0 for trainee in group.values()) for kind, group in groups.items()}
    return [(Schedule(longest[kind]), kind[0], group) for kind, group in groups.items()]


def _train_groups(
    phase: Phase, fits: list[OneFit], groups: Sequence[tuple[Schedule, Spec, dict[Any, Trainee]]],
    monitor: Monitor | None,
) -> tuple[dict[Any, Outcome], bool]:  # fmt: skip
    """Train groups of models of one kind, one group after the other, until Ctrl-C ends it."""
    if monitor is not None:
        monitor.on_phase(phase, len(groups))
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
    estimator: Any, spec: Spec, trainees: list[Trainee], schedule: Schedule, monitor: Monitor | None
) -> list[Outcome]:
    models = [trainee.model for trainee in trainees]
    sets = [part.sets for trainee in trainees for part in trainee.source]
    engine = suited_engine(estimator.engine, spec, models, sets)
    return train(engine, spec, trainees, schedule, as_threads(estimator.n_jobs), monitor)
