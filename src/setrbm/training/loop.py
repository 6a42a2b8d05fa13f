"""The training loop: epochs over the sets of every model, until all models have ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from setrbm import draws
from setrbm._types import Floats, Integers, Mask
from setrbm.engines.protocol import Engine, Model, Session, Spec
from setrbm.training.monitor import Epoch, Monitor
from setrbm.training.schedule import Outcome, Schedule
from setrbm.training.sources import InMemory, Part, Source
from setrbm.training.tracker import Tracker

# A mean loss this many times that of guessing counts as divergence.
DIVERGED = 30.0
NO_SETS: Integers = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Trainee:
    """One model to train.

    Attributes
    ----------
    model : Model
    source : Source
        The sets to learn from and to watch; models that share them should share the object.
    max_epochs : int, optional
        Where a model ends before the schedule does.
    group : int, optional
        The group in which the worse half may be dropped; by default a model is alone in its group.
    candidate : int, optional
        The candidate of its group that the model belongs to. Models of one candidate, which differ in what is held out,
        are dropped together, judged by their mean score. By default every model is a candidate of its own.
    """

    model: Model
    source: Source
    max_epochs: int | None = None
    group: int | None = None
    candidate: int | None = None


def train(
    engine: Engine,
    spec: Spec,
    trainees: Sequence[Trainee],
    schedule: Schedule,
    n_jobs: int = 1,
    monitor: Monitor | None = None,
) -> list[Outcome]:
    """Train models side by side, each on its own sets, and return each as it was at its best held-out score.

    A model with no held-out sets is returned as it ended. Once an epoch is complete, Ctrl-C ends training and the
    outcomes are marked as interrupted; before that, KeyboardInterrupt is raised.
    """
    rounds, session, tracker = _begin(engine, spec, trainees, schedule, n_jobs)
    watched = [trainee.source.watches for trainee in trainees]
    begin, interrupted = time.perf_counter(), False
    try:
        if schedule.from_start:
            session.remember(tracker.note_start(_score(session, rounds, watched, tracker.running())))
        for number in range(1, schedule.max_epochs + 1):
            running = tracker.running()
            if not running.any():
                break
            losses = _run(session, rounds, schedule.first_epoch + number - 1, running)
            scores = _score(session, rounds, watched, running)
            session.remember(tracker.note(losses, scores, running))
            if monitor is not None and monitor.on_epoch(_epoch(schedule, number, losses, scores, begin)):
                break
    except KeyboardInterrupt:
        if not tracker.epochs:
            raise
        interrupted = True
    return tracker.outcomes(session, watched, interrupted)


def _begin(
    engine: Engine, spec: Spec, trainees: Sequence[Trainee], schedule: Schedule, n_jobs: int
) -> tuple[_Rounds, Session, Tracker]:
    models = [trainee.model for trainee in trainees]
    rounds = _Rounds(engine, spec, models, [trainee.source for trainee in trainees])
    limit = DIVERGED * max(np.log(len(models[0].params.d)), 1.0)
    max_epochs = [schedule.max_epochs if t.max_epochs is None else t.max_epochs for t in trainees]
    groups = [-m if trainee.group is None else trainee.group for m, trainee in enumerate(trainees, start=1)]
    candidates = [-m if trainee.candidate is None else trainee.candidate for m, trainee in enumerate(trainees, start=1)]
    tracker = Tracker(schedule, max_epochs, groups, candidates, limit)
    # A decay factor of zero or less would flip the sign of the weights at every step.
    tracker.diverged_in[[model.shrink(spec) <= 0.0 for model in models]] = 1
    return rounds, engine.begin(spec, models, n_jobs), tracker


class _Orders:
    """The order of the sets of every model in every epoch; models that share seed and sets share the array."""

    def __init__(self, models: Sequence[Model], parts: Sequence[Part]) -> None:
        keys = [(model.seed, id(part.training), part.sets.first) for model, part in zip(models, parts, strict=True)]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        self.group = np.array([numbers[key] for key in keys])
        self.seeds, self.firsts = np.array([(seed, first) for seed, _, first in numbers]).T
        self.sets = [parts[m].training for m in np.unique(self.group, return_index=True)[1]]

    def of(self, epoch: int, running: Mask) -> list[Integers]:
        """Return the order of every running model in an epoch, and no sets for the others."""
        wanted = np.unique(self.group[running])
        sets = [self.sets[number] for number in wanted]
        made = draws.orders(self.seeds[wanted], epoch, sets, self.firsts[wanted]) if len(wanted) else []
        of_group = dict(zip(wanted.tolist(), made, strict=True))
        on = running.tolist()
        return [of_group[group] if on[m] else NO_SETS for m, group in enumerate(self.group.tolist())]


class _Round:
    """One part of the sets of every model, placed on the engine."""

    def __init__(self, models: Sequence[Model], parts: Sequence[Part], placed: Sequence[Any]) -> None:
        self.parts, self.placed = parts, placed
        self.orders = _Orders(models, parts)

    def held_out(self, running: Mask) -> list[Integers]:
        """Return the sets every running model is watched on, and no sets for the others."""
        return [part.held_out if on else NO_SETS for part, on in zip(self.parts, running, strict=True)]


class _Rounds:
    """The rounds of a pass over the sets of every model.

    Sets in memory are placed once and make one round. A stream, which all models share, is placed anew in every pass.
    """

    def __init__(self, engine: Engine, spec: Spec, models: Sequence[Model], sources: Sequence[Source]) -> None:
        self.engine, self.spec, self.models, self.sources = engine, spec, models, sources
        in_memory = all(isinstance(source, InMemory) for source in sources)
        self.kept = self._round([part for source in sources for part in source]) if in_memory else None

    def _round(self, parts: Sequence[Part]) -> _Round:
        once = {id(part.sets): part.sets for part in parts}
        placed = {key: self.engine.place(sets, self.spec) for key, sets in once.items()}
        return _Round(self.models, parts, [placed[id(part.sets)] for part in parts])

    def _read(self) -> Iterator[_Round]:
        return (self._round([part] * len(self.models)) for part in self.sources[0])

    def mean(self, which: str, work: Callable[[_Round], Floats]) -> Floats | None:
        """Return the mean result of some work over all rounds, weighted by the sets used; None if there are none.

        Parameters
        ----------
        which : {"training", "held_out"}
            The sets that are used.
        work : callable
            From a round to one result per model.
        """
        if self.kept is not None:
            return work(self.kept)
        total, weight = np.zeros(1), 0.0
        for one in self._read():
            part = one.parts[0]
            used = part.sets.weight[getattr(part, which)]
            if len(used):
                total = total + used.sum() * work(one)
                weight += used.sum()
        return total / weight if weight else None


def _run(session: Session, rounds: _Rounds, epoch: int, running: Mask) -> Floats:
    """Run one epoch and return the mean loss of each model."""
    losses = rounds.mean("training", lambda one: session.run(one.placed, one.orders.of(epoch, running), epoch))
    if losses is None:
        raise ValueError("There must be sets to learn from. All were held out: lower validation_fraction.")
    return losses


def _score(session: Session, rounds: _Rounds, watched: Sequence[bool], running: Mask) -> Floats:
    """Return the mean held-out loss and error of each running model; shape (n_models, 2)."""
    nothing = np.full((len(watched), 2), np.nan)
    if not any(watched):
        return nothing
    scores = rounds.mean("held_out", lambda one: session.score(one.placed, one.held_out(running)))
    return nothing if scores is None else scores


def _epoch(schedule: Schedule, number: int, losses: Floats, scores: Floats, begin: float) -> Epoch:
    running = np.isfinite(losses)
    held_out = scores[np.isfinite(scores[:, 0]), 0]
    return Epoch(
        schedule.phase,
        number,
        schedule.max_epochs,
        int(running.sum()),
        float(losses[running].min(initial=np.inf)),
        float(held_out.min(initial=np.inf)),
        time.perf_counter() - begin,
    )
