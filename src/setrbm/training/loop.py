"""The training loop: epochs over the sets of every model, until all models have ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from setrbm import draws
from setrbm._types import Floats, Integers, Mask
from setrbm.engines.protocol import Engine, Model, Session, Spec
from setrbm.training.early_stopping import Outcome, Schedule, Tracker
from setrbm.training.monitor import Epoch, Monitor
from setrbm.training.sources import InMemory, Part, Source

# A mean loss this many times that of guessing counts as divergence.
DIVERGED = 30.0
NO_SETS: Integers = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Training:
    """One model to train, and the sets it learns from.

    Attributes
    ----------
    model : Model
    source : Source
        The sets to learn from and to watch; models that share them should share the object.
    max_epochs : int, optional
        Where a model ends before the schedule does, as models of several fits may (``setrbm_lab.side_by_side``).
    candidate : int, optional
        The candidate the model belongs to. Models of one candidate, which differ in what is held out, are dropped
        together, judged by their mean score. By default every model is a candidate of its own.
    group : int
        The group of candidates of which the worse half may be dropped: those of one fit.
    """

    model: Model
    source: Source
    max_epochs: int | None = None
    candidate: int | None = None
    group: int = 0


def train(
    engine: Engine,
    spec: Spec,
    trainings: Sequence[Training],
    schedule: Schedule,
    n_jobs: int = 1,
    monitor: Monitor | None = None,
) -> list[Outcome]:
    """Train models side by side, each on its own sets, and return each as it was at its best held-out score.

    A model with no held-out sets is returned as it ended. Once an epoch is complete, Ctrl-C ends training and the
    outcomes are marked as interrupted; before that, KeyboardInterrupt is raised.
    """
    models = [training.model for training in trainings]
    passes = _Passes(engine, spec, models, [training.source for training in trainings])
    tracker, session = _tracker(spec, trainings, schedule), engine.begin(spec, models, n_jobs)
    begin, interrupted = time.perf_counter(), False
    try:
        if schedule.from_start:
            session.remember(tracker.note_start(passes.score(session, tracker.running())))
        for number in range(1, schedule.max_epochs + 1):
            running = tracker.running()
            if not running.any():
                break
            losses = passes.run(session, schedule.first_epoch + number - 1, running)
            scores = passes.score(session, running)
            session.remember(tracker.note(losses, scores, running))
            if monitor is not None and monitor.on_epoch(_epoch(schedule, number, losses, scores, begin)):
                break
    except KeyboardInterrupt:
        if not tracker.epochs:
            raise
        interrupted = True
    return tracker.outcomes(session, passes.watched, interrupted)


def _tracker(spec: Spec, trainings: Sequence[Training], schedule: Schedule) -> Tracker:
    limit = DIVERGED * max(np.log(len(trainings[0].model.params.d)), 1.0)
    max_epochs = [schedule.max_epochs if one.max_epochs is None else one.max_epochs for one in trainings]
    # A candidate of its own has a number that no other has.
    candidates = [-m if one.candidate is None else one.candidate for m, one in enumerate(trainings, start=1)]
    tracker = Tracker(schedule, max_epochs, [training.group for training in trainings], candidates, limit)
    # A decay factor of zero or less would flip the sign of the weights at every step.
    tracker.diverged_in[[training.model.shrink(spec) <= 0.0 for training in trainings]] = 1
    return tracker


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


class _Placed:
    """One part of the sets of every model, placed on the engine."""

    def __init__(self, engine: Engine, spec: Spec, models: Sequence[Model], parts: Sequence[Part]) -> None:
        once = {id(part.sets): part.sets for part in parts}
        placed = {key: engine.place(sets, spec) for key, sets in once.items()}
        self.parts, self.sets = parts, [placed[id(part.sets)] for part in parts]
        self.orders = _Orders(models, parts)

    def held_out(self, running: Mask) -> list[Integers]:
        """Return the sets every running model is watched on, and no sets for the others."""
        return [part.held_out if on else NO_SETS for part, on in zip(self.parts, running, strict=True)]


class _Passes:
    """Passes over the sets of every model, to train on them or to score them.

    Sets in memory are placed once. A stream, which all models share, is placed anew in every pass, part by part.
    """

    def __init__(self, engine: Engine, spec: Spec, models: Sequence[Model], sources: Sequence[Source]) -> None:
        self.engine, self.spec, self.models, self.sources = engine, spec, models, sources
        self.watched = [source.watches for source in sources]
        self.in_memory: _Placed | None = None
        if all(isinstance(source, InMemory) for source in sources):
            self.in_memory = self._placed([part for source in sources for part in source])

    def run(self, session: Session, epoch: int, running: Mask) -> Floats:
        """Run one epoch and return the mean loss of each model."""
        if self.in_memory is not None:
            return session.run(self.in_memory.sets, self.in_memory.orders.of(epoch, running), epoch)
        losses = self._mean("training", lambda part: session.run(part.sets, part.orders.of(epoch, running), epoch))
        if losses is None:
            raise ValueError("There must be sets to learn from. All were held out: lower validation_fraction.")
        return losses

    def score(self, session: Session, running: Mask) -> Floats:
        """Return the mean held-out loss and error of each running model, NaN where nothing is; (n_models, 2)."""
        scores: Floats | None = None
        if self.in_memory is not None and any(self.watched):
            scores = session.score(self.in_memory.sets, self.in_memory.held_out(running))
        elif any(self.watched):
            scores = self._mean("held_out", lambda part: session.score(part.sets, part.held_out(running)))
        return np.full((len(self.watched), 2), np.nan) if scores is None else scores

    def _placed(self, parts: Sequence[Part]) -> _Placed:
        return _Placed(self.engine, self.spec, self.models, parts)

    def _mean(self, which: str, work: Callable[[_Placed], Any]) -> Floats | None:
        """Return the mean result of some work over a stream, weighted by the sets used; None if there are none.

        Parameters
        ----------
        which : {"training", "held_out"}
            The sets that are used.
        work : callable
            From a part of the stream to one result per model.
        """
        total, weight = np.zeros(1), 0.0
        for part in self.sources[0]:
            placed = self._placed([part] * len(self.models))
            used = part.sets.weight[getattr(part, which)]
            if len(used):
                total = total + used.sum() * work(placed)
                weight += used.sum()
        return total / weight if weight else None


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
