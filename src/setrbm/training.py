"""Training schedules: epochs, orders, held-out sets, early stopping, history. Knows no engine's insides."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from setrbm import draws
from setrbm._types import Criterion, Floats, Integers, Mask
from setrbm.energy import Params
from setrbm.engines.ahead import one_ahead
from setrbm.engines.protocol import Engine, LabelledSets, Model, Session, Spec

# A mean loss so many times that of guessing is no training any more.
DIVERGED = 30.0
NO_SETS: Integers = np.empty(0, dtype=np.intp)
HISTORY = ("loss", "held_out_loss", "held_out_error")


@dataclass(frozen=True)
class Schedule:
    """How long to train and what to watch.

    Attributes
    ----------
    max_epochs : int
    patience : int or None
        End after so many epochs without a better held-out score; None never ends early.
    criterion : {"likelihood", "error"}
    first_epoch : int
        Where the count of epochs, and with it the random choices, begins.
    from_start : bool
        Whether the parameters training starts from count too when the best are looked for.
    ends : tuple of int
        The numbers of epochs a model may be returned after, judged by its mean score over their last tenth; by default
        any number, judged by the score after it.
    rungs : tuple of int
        The numbers of epochs after which the worse half of every group of rivals, judged likewise, is left behind.
    """

    max_epochs: int
    patience: int | None = None
    criterion: Criterion = "likelihood"
    first_epoch: int = 0
    from_start: bool = False
    ends: tuple[int, ...] = ()
    rungs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Progress:
    """What is known after an epoch, for whoever shows it."""

    epoch: int
    max_epochs: int
    running: int
    loss: float
    held_out_loss: float
    seconds: float

    @property
    def seconds_left(self) -> float:
        """The time to the last epoch, if none ends early."""
        return self.seconds / self.epoch * (self.max_epochs - self.epoch)


Report = Callable[[Progress], None]


@dataclass
class Outcome:
    """One trained model.

    Its best epoch is counted from 1, and 0 where no epoch was better than the start. One that was left behind by its
    rivals is returned as it was then, with its score.
    """

    params: Params
    history: dict[str, list[float]]
    best_epoch: int
    best_score: float
    diverged_in: int | None
    interrupted: bool
    left_behind: bool = False


class _Watch:
    """The state of training, of all models at once: their histories and their best epochs so far."""

    def __init__(
        self,
        n_models: int,
        schedule: Schedule,
        limit: float,
        epochs: Sequence[int] | None = None,
        rivals: Sequence[int] | None = None,
    ) -> None:
        self.schedule, self.limit = schedule, limit
        self.rivals = np.arange(n_models) if rivals is None else np.asarray(rivals)
        self.left_behind = np.zeros(n_models, dtype=bool)
        self.max_epochs = np.full(n_models, schedule.max_epochs) if epochs is None else np.asarray(epochs)
        # One array of shape (n_models, 3) an epoch, its columns as in HISTORY.
        self.epochs: list[Floats] = []
        self.n_epochs = np.zeros(n_models, dtype=int)
        self.best = np.full((n_models, 2), np.inf)
        self.best_epoch = np.zeros(n_models, dtype=int)
        # 0 where a model has not diverged.
        self.diverged_in = np.zeros(n_models, dtype=int)

    def note_start(self, scores: Floats) -> Mask:
        """Take the scores of the start as the best so far; return where there are any."""
        return self._improve(scores, np.ones(len(scores), dtype=bool))

    def note(self, losses: Floats, scores: Floats, running: Mask) -> Mask:
        """Write down one epoch of the running models; return which are at their best."""
        self.epochs.append(np.column_stack([losses, scores]))
        self.n_epochs += running
        # NaN counts as diverged.
        diverged = running & ~(losses <= self.limit)
        self.diverged_in[diverged] = self.n_epochs[diverged]
        on = running & ~diverged
        epoch = len(self.epochs)
        if epoch in self.schedule.rungs:
            self._leave_behind(on)
        if not self.schedule.ends:
            return self._improve(scores, on)
        if epoch not in self.schedule.ends:
            return np.zeros_like(on)
        return self._improve(self.late_scores(), on & ~self.left_behind)

    def _leave_behind(self, on: Mask) -> None:
        """Leave behind the worse half of every group of rivals that are still on."""
        scores = self.late_scores()
        for group in np.unique(self.rivals[on]):
            members = np.flatnonzero(on & (self.rivals == group))
            first, second = self._by_criterion(scores[members])
            # NaN, where nothing could be scored, comes last.
            ranked = members[np.lexsort((second, first))]
            self.left_behind[ranked[(len(ranked) + 1) // 2 :]] = True

    def late_scores(self) -> Floats:
        """Return the mean scores, loss and error, over the last tenth of the epochs so far."""
        n = len(self.epochs)
        return np.asarray(np.mean([epoch[:, 1:] for epoch in self.epochs[n - max(n // 10, 1) :]], axis=0))

    def _by_criterion(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return what decides, and what decides between equals."""
        loss, error = scores.T
        return (loss, error) if self.schedule.criterion == "likelihood" else (error, loss)

    def _improve(self, scores: Floats, allowed: Mask) -> Mask:
        first, second = self._by_criterion(scores)
        # NaN, where nothing could be scored, is never better.
        better: Mask = allowed & ((first < self.best[:, 0]) | ((first == self.best[:, 0]) & (second < self.best[:, 1])))
        self.best[better] = np.column_stack([first, second])[better]
        self.best_epoch[better] = self.n_epochs[better]
        return better

    def running(self) -> Mask:
        on = (self.diverged_in == 0) & (self.n_epochs < self.max_epochs) & ~self.left_behind
        if self.schedule.patience is not None:
            waited = self.n_epochs - self.best_epoch
            on &= ~np.isfinite(self.best[:, 0]) | (waited < self.schedule.patience)
        return np.asarray(on)

    def score_at_end(self, m: int) -> float:
        """Return the mean score of a model over the last tenth of its epochs."""
        n = int(self.n_epochs[m])
        late = [epoch[m : m + 1, 1:] for epoch in self.epochs[n - max(n // 10, 1) : n]]
        return float(self._by_criterion(np.mean(late, axis=0))[0][0]) if n else np.inf

    def histories(self) -> list[dict[str, list[float]]]:
        """Return what was written down of each model, epoch by epoch."""
        of_model = np.reshape(self.epochs, (len(self.epochs), len(self.n_epochs), len(HISTORY))).transpose(1, 2, 0)
        return [
            {name: row[:n].tolist() for name, row in zip(HISTORY, rows, strict=True)}
            for rows, n in zip(of_model, self.n_epochs, strict=True)
        ]


def train(
    engine: Engine,
    spec: Spec,
    models: Sequence[Model],
    sets: Sequence[LabelledSets],
    training: Sequence[Integers],
    held_out: Sequence[Integers],
    schedule: Schedule,
    n_jobs: int = 1,
    report: Report | None = None,
    epochs: Sequence[int] | None = None,
    rivals: Sequence[int] | None = None,
) -> list[Outcome]:
    """Train models side by side, each on its own sets, and return each as it was at its best held-out score.

    Parameters
    ----------
    sets : sequence of LabelledSets, one a model
        The same object may stand for several models; it is then placed once.
    training, held_out : sequence of ndarray, one a model
        The sets to learn from, and those to watch; a model with none to watch is returned as it ended.
    epochs : sequence of int, one a model
        Where models end at different times; none may exceed the schedule's.
    rivals : sequence of int, one a model
        The group in which a model may be left behind; without it every model stands alone.
    """
    placed_once = {key: engine.place(s, spec) for key, s in {id(s): s for s in sets}.items()}
    placed = [placed_once[id(s)] for s in sets]
    session, orders = engine.begin(spec, models, n_jobs), _Orders(models, training, sets)

    def run(epoch: int, running: Mask) -> Floats:
        return session.run(placed, orders.of(epoch, running), epoch)

    def score(running: Mask) -> Floats:
        return session.score(placed, [h if on else NO_SETS for h, on in zip(held_out, running, strict=True)])

    watched = [len(chosen) > 0 for chosen in held_out]
    return _loop(session, spec, models, watched, schedule, run, score, report, epochs, rivals)


def train_stream(
    engine: Engine,
    spec: Spec,
    models: Sequence[Model],
    stream: Callable[[], Iterable[LabelledSets]],
    fraction: float,
    schedule: Schedule,
    n_jobs: int = 1,
    report: Report | None = None,
) -> list[Outcome]:
    """Train models on sets that come shard by shard, as ``train`` does on sets in memory.

    Parameters
    ----------
    stream : callable
        Begins a pass over the shards; each pass must give the same ones.
    fraction : float
        The part of the sets to hold out, chosen by their number in the stream; 0 holds none out.
    """
    session = engine.begin(spec, models, n_jobs)
    everyone = len(models)

    def placed_stream() -> Iterator[tuple[LabelledSets, Any]]:
        """Return a pass over the shards; the next is read and copied while the device works on one."""
        placed = ((sets, engine.place(sets, spec)) for sets in stream())
        return one_ahead(placed) if engine.copies_ahead else placed

    def run(epoch: int, running: Mask) -> Floats:
        losses, weights = np.zeros(everyone), np.zeros(everyone)
        for sets, placed in placed_stream():
            chosen = np.flatnonzero(~held_out_of(sets, fraction, models[0].seed) & (sets.weight > 0))
            if len(chosen):
                orders = _Orders(models, [chosen] * everyone, [sets] * everyone).of(epoch, running)
                total = sets.weight[chosen].sum()
                losses += total * session.run([placed] * everyone, orders, epoch)
                weights += total
        if not weights.any():
            raise ValueError(
                f"There must be sets to learn from. All of the stream were held out: validation_fraction is {fraction}."
            )
        return losses / weights

    def score(running: Mask) -> Floats:
        scores, weights = np.zeros((everyone, 2)), 0.0
        for sets, placed in placed_stream() if fraction else ():
            chosen = np.flatnonzero(held_out_of(sets, fraction, models[0].seed) & (sets.weight > 0))
            if len(chosen):
                which = [chosen if on else NO_SETS for on in running]
                total = sets.weight[chosen].sum()
                scores += total * session.score([placed] * everyone, which)
                weights += total
        return scores / weights if weights else np.full((everyone, 2), np.nan)

    return _loop(session, spec, models, [fraction > 0] * everyone, schedule, run, score, report)


class _Orders:
    """The order of sets of every model in every epoch; models that share seed and sets share the array."""

    def __init__(self, models: Sequence[Model], training: Sequence[Integers], sets: Sequence[LabelledSets]) -> None:
        keys = [(model.seed, id(chosen), s.first) for model, chosen, s in zip(models, training, sets, strict=True)]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        self.group = np.array([numbers[key] for key in keys])
        self.seeds, self.firsts = np.array([(seed, first) for seed, _, first in numbers]).T
        self.sets = [training[m] for m in np.unique(self.group, return_index=True)[1]]

    def of(self, epoch: int, running: Mask) -> list[Integers]:
        """Return the order of every running model in an epoch, and no sets for the others."""
        wanted = np.unique(self.group[running])
        sets = [self.sets[number] for number in wanted]
        made = draws.orders(self.seeds[wanted], epoch, sets, self.firsts[wanted]) if len(wanted) else []
        of_group = dict(zip(wanted.tolist(), made, strict=True))
        on = running.tolist()
        return [of_group[group] if on[m] else NO_SETS for m, group in enumerate(self.group.tolist())]


def held_out_of(sets: LabelledSets, fraction: float, seed: int) -> Mask:
    """Return which sets of a shard are held out: a matter of their numbers in the stream alone."""
    numbers = np.arange(len(sets.y)) + sets.first
    return np.asarray(draws.uniform(draws.keys(seed, draws.SPLIT), numbers)[0] < fraction)


def _loop(
    session: Session,
    spec: Spec,
    models: Sequence[Model],
    watched: Sequence[bool],
    schedule: Schedule,
    run: Callable[[int, Mask], Floats],
    score: Callable[[Mask], Floats],
    report: Report | None,
    epochs: Sequence[int] | None = None,
    rivals: Sequence[int] | None = None,
) -> list[Outcome]:
    """Run epochs and keep the best of each model, until all have ended."""
    limit = DIVERGED * max(np.log(len(models[0].params.d)), 1.0)
    watch = _Watch(len(models), schedule, limit, epochs, rivals)
    # Decay that turns the weights over at every step has diverged before it began.
    watch.diverged_in[[model.shrink(spec) <= 0.0 for model in models]] = 1
    begin, interrupted = time.perf_counter(), False
    try:
        if schedule.from_start:
            session.remember(watch.note_start(score(watch.running())))
        for epoch in range(schedule.max_epochs):
            running = watch.running()
            if not running.any():
                break
            losses, scores = run(schedule.first_epoch + epoch, running), score(running)
            session.remember(watch.note(losses, scores, running))
            if report is not None:
                seconds = time.perf_counter() - begin
                report(_progress(epoch + 1, schedule.max_epochs, losses, scores, seconds))
    except KeyboardInterrupt:
        interrupted = True
    return _outcomes(session, watch, watched, interrupted)


def _progress(epoch: int, max_epochs: int, losses: Floats, scores: Floats, seconds: float) -> Progress:
    running = np.isfinite(losses)
    held_out = scores[np.isfinite(scores[:, 0]), 0]
    return Progress(
        epoch,
        max_epochs,
        int(running.sum()),
        float(losses[running].min(initial=np.inf)),
        float(held_out.min(initial=np.inf)),
        seconds,
    )


def _outcomes(session: Session, watch: _Watch, watched: Sequence[bool], interrupted: bool) -> list[Outcome]:
    best, last = session.params(remembered=True), session.params(remembered=False)
    outcomes = []
    for m, (is_watched, history) in enumerate(zip(watched, watch.histories(), strict=True)):
        keep_best = is_watched and bool(np.isfinite(watch.best[m, 0]))
        params, epoch = (best[m], watch.best_epoch[m]) if keep_best else (last[m], watch.n_epochs[m])
        unjudged = is_watched and watch.schedule.ends and not keep_best
        score = watch.score_at_end(m) if unjudged else float(watch.best[m, 0])
        diverged_in = int(watch.diverged_in[m]) or None
        behind = bool(watch.left_behind[m])
        outcomes.append(Outcome(params, history, int(epoch), score, diverged_in, interrupted, behind))
    return outcomes


def hold_out(y: Integers, fraction: float, seed: int, at_least_one: bool = False) -> Integers:
    """Return the sets to keep aside: this fraction of each class, and never the whole of one.

    Parameters
    ----------
    at_least_one : bool
        Whether a class of two or more sets must give one even if the fraction asks for less.
    """
    kept = []
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        wanted = round(fraction * len(members))
        wanted = min(max(wanted, int(at_least_one)), len(members) - 1)
        rank = draws.bits(draws.keys(seed, draws.SPLIT), members)[0]
        kept.append(members[np.argsort(rank, kind="stable")[:wanted]])
    return np.sort(np.concatenate(kept))


def initial_params(
    n_features: int, n_hidden: int, n_classes: int, init_scale: float, seed: int, dtype: npt.DTypeLike
) -> Params:
    """Return start parameters: W and U uniform in [-init_scale, init_scale], biases zero."""

    def weights(n: int, stage: int) -> Floats:
        units = np.arange(n_hidden * n)
        u = draws.uniform(draws.keys(seed, stage), units)[0]
        return np.asarray(init_scale * (2.0 * u - 1.0)).reshape(n, n_hidden).T

    return Params(
        W=weights(n_features, draws.INIT_W),
        U=weights(n_classes, draws.INIT_U),
        b=np.zeros(n_features),
        c=np.zeros(n_hidden),
        d=np.zeros(n_classes),
    ).astype(dtype)
