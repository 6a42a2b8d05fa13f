"""From labelled sets and settings to trained parameters: what every ``fit`` is made of."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from setrbm import draws
from setrbm._types import Floats, Integers
from setrbm.bags import Bags
from setrbm.energy import Params
from setrbm.engines import get_engine, suited_engine
from setrbm.engines.protocol import LabelledSets, Model, Spec
from setrbm.estimators._base import BaseSetClassifier
from setrbm.estimators._checks import check_settings, choices_of
from setrbm.estimators._inputs import as_codes, as_threads, as_weights, unchanged_on_error
from setrbm.scaling import Scaling, feature_range, squeezed_features
from setrbm.shards import Shards
from setrbm.training import (
    HISTORY,
    NO_SETS,
    Outcome,
    Progress,
    Report,
    Schedule,
    hold_out,
    initial_params,
    train,
    train_stream,
)

# Set by whoever shows progress itself, such as the command line; it then stands in for ``verbose``.
progress_report: ContextVar[Report | None] = ContextVar("progress_report", default=None)


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """Raise Ctrl-C as always, where ``fit`` by itself would end early, keep its best and warn."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="Training (on all sets )?was interrupted")
            yield
    except UserWarning as warning:
        if "was interrupted" not in str(warning):
            raise
        raise KeyboardInterrupt from None


def prepare(
    estimator: BaseSetClassifier, X: Any, y: Any, sample_weight: Any, warm: bool = False
) -> tuple[LabelledSets, int]:
    """Check everything, set classes and scaling (unless warm), and return the scaled labelled sets and the seed."""
    check_settings(estimator)
    bags = estimator._bags(X, reset=not warm)
    classes, codes = as_codes(bags, y, estimator.classes_ if warm else None)
    estimator._check_classes(classes)
    sets = weighted_sets(bags, codes, as_weights(bags, y, sample_weight, estimator.class_weight))
    if (n_classes := len(np.unique(sets.y))) < 2:
        raise ValueError(
            f"y must hold at least two classes among the sets whose weight is not zero. Got {n_classes} class."
        )
    if warm:
        return scaled_sets(estimator, sets), estimator.seed_
    estimator.classes_ = classes
    estimator._set_scaling(Scaling.fit(sets.bags) if estimator.scale == "auto" else None)
    warn_if_squeezed(sets.bags, estimator._scaling())
    return scaled_sets(estimator, sets), draws.new_seed(check_random_state(estimator.random_state))


def weighted_sets(bags: Bags, codes: Integers, weight: Floats) -> LabelledSets:
    """Return the sets that have a weight; those without are as if they had not been given."""
    if (weight > 0.0).all():
        return LabelledSets(bags, codes, weight)
    kept = np.flatnonzero(weight > 0.0)
    if not len(kept):
        raise ValueError(f"At least one set must have a weight above zero. Got zero for all {len(bags)}.")
    return LabelledSets(bags[kept], codes[kept], weight[kept])


def scaled_sets(estimator: BaseSetClassifier, sets: LabelledSets) -> LabelledSets:
    """Return the sets as the model sees them, checked."""
    bags = estimator._scaled(sets.bags)
    check_visible(estimator, bags)
    return LabelledSets(bags, sets.y, sets.weight)


def warn_if_squeezed(bags: Bags, scaling: Scaling | None) -> None:
    """Warn where outlying values decide the range of a feature."""
    squeezed = np.empty(0) if scaling is None else squeezed_features(bags, scaling)
    if len(squeezed):
        warnings.warn(
            f"In {len(squeezed)} of {bags.shape[1]} features (the first: {squeezed[0]}) outlying values leave nine "
            "tenths of the others less than 1 / 200 of the range. Clip or transform them first, for example with "
            "PerVector(QuantileTransformer()).",
            stacklevel=4,
        )


def check_visible(settings: Any, bags: Bags) -> None:
    """Refuse values that are no probabilities where binary units are to be learned generatively."""
    learned = [objective for objective in choices_of(settings.objective) if objective != "discriminative"]
    if not learned or settings.visible != "binary":
        return
    values = bags.X.data if bags.is_sparse else bags.X
    bad = (values < 0.0) | (values > 1.0)
    if bad.any():
        raise ValueError(
            f"Values must lie in [0, 1] for objective={learned[0]!r} with visible='binary'. Got {bad.sum()} outside, "
            f"from {values.min():g} to {values.max():g}, the first in {bags.place_of_first(bad)}. Use scale='auto' "
            "(dense data), scale them yourself, or use visible='gaussian'."
        )


def spec_of(settings: Any, dtype: np.dtype[Any]) -> Spec:
    """Return what models with these settings share with others trained beside them."""
    return Spec(
        constraint=settings.constraint,
        pooling=settings.pooling,
        discriminative=settings.objective != "generative",
        generative=settings.objective != "discriminative",
        visible=settings.visible,
        cd_steps=int(settings.cd_steps),
        persistent=bool(settings.persistent),
        batch_size=int(settings.batch_size),
        dtype=dtype.name,
        unit=settings.unit,
    )


def model_of(settings: Any, params: Params, seed: int) -> Model:
    """Return a model with these settings, starting from these parameters."""
    rate, generative_rate = float(settings.learning_rate), float(settings.generative_learning_rate)
    return Model(params, seed, rate, generative_rate, float(settings.weight_decay))


def hidden_units(settings: Any) -> int:
    """Return the number of hidden units; logistic regression is one, without an outer layer."""
    return 1 if settings.unit == "logit" else int(settings.n_hidden)


def start_of(settings: Any, parts: Iterable[Bags], n_features: int, n_classes: int, seed: int, dtype: Any) -> Params:
    """Return random start parameters; a generative model's input biases start at the inputs' means."""
    params = initial_params(n_features, hidden_units(settings), n_classes, settings.init_scale, seed, dtype)
    if settings.objective != "discriminative":
        total, n_vectors = np.zeros(n_features), 0
        for bags in parts:
            total += np.asarray(bags.X.sum(axis=0, dtype=np.float64)).ravel()
            n_vectors += bags.n_vectors
        mean = total / n_vectors
        params.b[:] = _log_odds(mean, n_vectors) if settings.visible == "binary" else mean
    return params


def _log_odds(mean: Floats, n_vectors: int) -> Floats:
    """Return log(mean / (1 - mean)), with means kept off 0 and 1 by half a vector."""
    edge = 0.5 / (n_vectors + 1)
    mean = np.clip(mean, edge, 1.0 - edge)
    return np.log(mean) - np.log1p(-mean)


def train_side_by_side(
    estimator: BaseSetClassifier,
    spec: Spec,
    models: Sequence[Model],
    sets: Sequence[LabelledSets],
    learned_from: Sequence[Integers],
    watched: Sequence[Integers],
    schedule: Schedule,
    epochs: Sequence[int] | None = None,
    rivals: Sequence[int] | None = None,
) -> list[Outcome]:
    """Train models, each on some of its sets, watching its score on others, as the estimator is set."""
    return supervised(
        estimator,
        schedule,
        lambda n_jobs, report: train(
            suited_engine(estimator.engine, spec, models, sets),
            spec, models, sets, learned_from, watched, schedule, n_jobs, report, epochs, rivals,
        ),
    )  # fmt: skip


def supervised(
    estimator: BaseSetClassifier, schedule: Schedule, work: Callable[[int, Report | None], list[Outcome]]
) -> list[Outcome]:
    """Run a training with the estimator's threads and progress; say so if it was interrupted."""
    report = progress_report.get() or progress_printer(estimator.verbose, type(estimator).__name__)
    outcomes = work(as_threads(estimator.n_jobs), report)
    if any(outcome.interrupted for outcome in outcomes):
        ended_in = max(len(outcome.history["loss"]) for outcome in outcomes)
        if not ended_in:
            # Nothing was learned that could be kept.
            raise KeyboardInterrupt
        warnings.warn(
            f"Training was interrupted in epoch {ended_in + 1} of {schedule.max_epochs}; the "
            "best parameters so far are kept.",
            stacklevel=4,
        )
    return outcomes


def refuse_divergence(settings: Any, outcome: Outcome) -> None:
    """Raise ValueError if training left the ground."""
    if outcome.diverged_in is None:
        return
    if not (losses := outcome.history["loss"]):
        raise ValueError(
            f"Training must not diverge. The learning rate times weight_decay must be below 1. Got weight_decay="
            f"{settings.weight_decay} with learning_rate={settings.learning_rate}, "
            f"generative_learning_rate={settings.generative_learning_rate}. Lower the rate or the decay."
        )
    got = f"a mean loss of {losses[-1]:g}" if np.isfinite(losses[-1]) else "parameters beyond all bounds"
    raise ValueError(
        f"Training must not diverge. Got {got} in epoch {outcome.diverged_in} "
        f"with learning_rate={settings.learning_rate}, generative_learning_rate={settings.generative_learning_rate}, "
        f"weight_decay={settings.weight_decay}, init_scale={settings.init_scale}. Lower the learning rate"
        + (", or scale the inputs (scale='auto')." if settings.scale is None else ", or the sample weights.")
    )


def warn_if_worse_than_guessing(settings: Any, outcome: Outcome, n_classes: int) -> None:
    """Warn where what was kept is sure of itself and wrong."""
    by_likelihood = np.isfinite(outcome.best_score) and settings.stopping == "likelihood"
    loss = outcome.best_score if by_likelihood else outcome.history["loss"][-1]
    if loss > 2.0 * np.log(n_classes):
        warnings.warn(
            f"The model is worse than guessing: its mean loss is {loss:.3g}, that of guessing {np.log(n_classes):.3g}."
            f" The learning rate ({settings.learning_rate}) is probably too large.",
            stacklevel=4,
        )


class Trainable(BaseSetClassifier):
    """``fit`` and ``partial_fit`` of one model with given settings."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from labelled sets.

        Parameters
        ----------
        X : Bags, list of matrices, 3-D array, matrix (each row a set of one), or Shards
        y : array-like of shape (n_sets,)
            None with Shards, which bring their labels.
        sample_weight : array-like of shape (n_sets,), optional

        Returns
        -------
        self

        Notes
        -----
        Ctrl-C after the first epoch ends training, not the program: the best parameters so far are kept, and a warning
        says so. Before that there is nothing to keep, and it is raised as always.
        """
        if isinstance(X, Shards):
            return self._fit_stream(X, y, sample_weight)
        with unchanged_on_error(self):
            warm = self.warm_start and hasattr(self, "W_")
            if warm:
                self._refuse_another_size()
            sets, seed = prepare(self, X, y, sample_weight, warm)
            start = self._params() if warm else self._start([sets.bags], sets.bags.dtype, seed)
            first_epoch = self.n_epochs_ if warm else 0
            held_out = hold_out(sets.y, self.validation_fraction, seed) if self.early_stopping else NO_SETS
            schedule = Schedule(self.max_epochs, self.patience, self.stopping, first_epoch, from_start=warm)
            spec, model = spec_of(self, sets.bags.dtype), model_of(self, start, seed)
            learned_from = np.setdiff1d(np.arange(len(sets.y)), held_out)
            outcome = train_side_by_side(self, spec, [model], [sets], [learned_from], [held_out], schedule)[0]
            refuse_divergence(self, outcome)
            warn_if_worse_than_guessing(self, outcome, len(self.classes_))
            self.seed_ = seed
            self._take(outcome, more=warm)
        return self

    def _start(self, parts: Iterable[Bags], dtype: Any, seed: int) -> Params:
        return start_of(self, parts, self.n_features_in_, len(self.classes_), seed, dtype)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over some labelled sets, from where the last call ended.

        Parameters
        ----------
        X, y, sample_weight : as for ``fit``
        classes : array-like, optional
            All classes that will come; needed in the first call only. Scaling is fitted on the sets of the first call.

        Returns
        -------
        self
        """
        if isinstance(X, Shards):
            return self._fit_stream(X, y, sample_weight, one_pass=True)
        with unchanged_on_error(self):
            sets = self._prepare_part(X, y, classes, sample_weight)
            spec, model = spec_of(self, sets.bags.dtype), model_of(self, self._params(), self.seed_)
            schedule = Schedule(max_epochs=1, first_epoch=self.n_epochs_)
            everything = np.arange(len(sets.y))
            outcome = train_side_by_side(self, spec, [model], [sets], [everything], [NO_SETS], schedule)[0]
            refuse_divergence(self, outcome)
            self._take(outcome, more=True)
        return self

    def _refuse_another_size(self) -> None:
        if len(self.c_) != hidden_units(self):
            raise ValueError(
                f"Training goes on with the {len(self.c_)} hidden units fitted. Got n_hidden={self.n_hidden}. Fit a new"
                " model (warm_start=False) to begin anew."
            )

    def _refuse_persistent(self) -> None:
        if self.persistent and self.objective != "discriminative":
            raise ValueError(
                "persistent=True keeps a chain for each set from epoch to epoch, and partial_fit meets each set once. "
                "Use fit, or persistent=False."
            )

    def _prepare_part(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> LabelledSets:
        check_settings(self)
        self._refuse_persistent()
        new = not hasattr(self, "W_")
        if not new:
            self._refuse_another_size()
        bags = self._bags(X, reset=new)
        if new:
            self._set_classes(classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes must be those of the first call, {self.classes_.tolist()}. Got {classes}.")
        _, codes = as_codes(bags, y, self.classes_)
        if isinstance(self.class_weight, str):
            raise ValueError("class_weight='balanced' needs all sets at once. Give partial_fit a dict of weights.")
        sets = weighted_sets(bags, codes, as_weights(bags, y, sample_weight, self.class_weight))
        if not new:
            return scaled_sets(self, sets)
        self._begin_parts(sets.bags)
        sets = scaled_sets(self, sets)
        self._set_letters(self._start([sets.bags], sets.bags.dtype, self.seed_))
        return sets

    def _set_classes(self, classes: Any) -> None:
        if classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit. Got None.")
        self.classes_ = np.unique(classes)
        if len(self.classes_) < 2:
            raise ValueError(f"classes must name at least two classes. Got {self.classes_.tolist()}.")
        self._check_classes(self.classes_)

    def _begin_parts(self, bags: Bags) -> None:
        """Set what the first part decides: scaling and seed."""
        self._set_scaling(Scaling.fit(bags) if self.scale == "auto" else None)
        if self.scale == "auto" and not self.scale_factor_.any():
            raise ValueError(
                f"The first part must show the range of the features. Got {bags.n_vectors} vector(s) in which every "
                "feature is constant. Give more sets in the first call, or use scale=None."
            )
        self._begin_history()

    def _begin_history(self) -> None:
        self.seed_ = draws.new_seed(check_random_state(self.random_state))
        self.n_epochs_, self.best_epoch_ = 0, 0
        self.history_ = {name: [] for name in HISTORY}

    def _fit_stream(self, shards: Shards, y: Any, sample_weight: Any, one_pass: bool = False) -> Self:
        """Learn from shards: as ``fit`` does, or (one_pass) as ``partial_fit``."""
        if y is not None or sample_weight is not None:
            raise ValueError("Shards bring their own labels and take no weights. Got y or sample_weight beside them.")
        with unchanged_on_error(self):
            check_settings(self)
            if one_pass:
                self._refuse_persistent()
            again = hasattr(self, "W_") and (one_pass or self.warm_start)
            if again:
                self._refuse_another_size()
            else:
                self._begin_history()
            stream = labelled_stream(self, shards, again)
            if not again:
                self._set_letters(self._start((sets.bags for sets in stream()), shards.dtype, self.seed_))
            fraction = self.validation_fraction if self.early_stopping and not one_pass else 0.0
            max_epochs = 1 if one_pass else self.max_epochs
            schedule = Schedule(max_epochs, self.patience, self.stopping, self.n_epochs_, again and not one_pass)
            spec, models = spec_of(self, shards.dtype), [model_of(self, self._params(), self.seed_)]
            outcome = supervised(
                self,
                schedule,
                lambda n_jobs, report: train_stream(
                    get_engine(self.engine), spec, models, stream, fraction, schedule, n_jobs, report
                ),
            )[0]
            refuse_divergence(self, outcome)
            if not one_pass:
                warn_if_worse_than_guessing(self, outcome, len(self.classes_))
            self._take(outcome, more=again)
        return self


def labelled_stream(estimator: BaseSetClassifier, shards: Shards, again: bool) -> Callable[[], Iterator[LabelledSets]]:
    """Return what begins a pass over shards: scaled sets with class codes and weights.

    Classes, features and scaling are set from the shards, or (again) held against those already fitted.
    """
    if not again:
        estimator.n_features_in_ = shards.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        estimator.classes_ = shards.classes
        if len(estimator.classes_) < 2:
            raise ValueError(f"y must hold at least two classes. Got 1 class: {estimator.classes_[0]!s}.")
        estimator._check_classes(estimator.classes_)
        ranges = [feature_range(bags) for _, bags, _ in shards] if estimator.scale == "auto" else []
        is_sparse = shards.shards[0].is_sparse
        estimator._set_scaling(Scaling.from_ranges(ranges, is_sparse) if ranges else None)
    warn_if_sorted(shards)
    of_class = class_weights(estimator, shards)

    def stream() -> Iterator[LabelledSets]:
        for shard, bags, y in shards:
            # Shards look at every value when they are made.
            bags = estimator._scaled(estimator._bags(bags, reset=False, finite=False))
            check_visible(estimator, bags)
            _, codes = as_codes(bags, y, estimator.classes_)
            yield LabelledSets(bags, codes, of_class[codes], shard.first)

    return stream


def warn_if_sorted(shards: Shards) -> None:
    """Warn where shards hold one class each: what one teaches the next then makes forgotten."""
    alone = [shard for shard in shards.shards if shard.n_sets > 1 and len(shard.label_counts) == 1]
    if len(alone) > len(shards.shards) // 2 and len(shards.shards) > 1:
        warnings.warn(
            f"{len(alone)} of {len(shards.shards)} shards hold sets of one class only (the first: "
            f"{str(alone[0].path)!r}). Sets are shuffled within a shard, not across: write them in random order.",
            stacklevel=4,
        )


def class_weights(estimator: BaseSetClassifier, shards: Shards) -> Floats:
    """Return the weight of each class."""
    counts = [shards.label_counts.get(label, 0) for label in estimator.classes_.tolist()]
    if isinstance(estimator.class_weight, dict):
        weights = np.array([float(estimator.class_weight.get(label, 1.0)) for label in estimator.classes_.tolist()])
        if not (np.isfinite(weights).all() and (weights > 0.0).all()):
            raise ValueError(f"class_weight must hold positive numbers where Shards are read. Got {weights.tolist()}.")
        return weights
    if estimator.class_weight == "balanced":
        return len(shards) / (len(counts) * np.maximum(counts, 1.0))
    return np.ones(len(counts))


def progress_printer(verbose: int, name: str) -> Report | None:
    """Return what prints progress: at most one line a second with ``verbose=1``, every epoch with 2."""
    if not verbose:
        return None
    last = 0.0

    def show(progress: Progress) -> None:
        nonlocal last
        now = time.perf_counter()
        if verbose < 2 and now - last < 1.0 and progress.epoch < progress.max_epochs:
            return
        last = now
        held_out = f", held out {progress.held_out_loss:.4f}" if np.isfinite(progress.held_out_loss) else ""
        models = f", {progress.running} models" if progress.running > 1 else ""
        print(
            f"[{name}] epoch {progress.epoch}/{progress.max_epochs}{models}: loss {progress.loss:.4f}{held_out} "
            f"({progress.seconds:.1f} s, at most {progress.seconds_left:.1f} s left)",
            file=sys.stderr,
        )

    return show
