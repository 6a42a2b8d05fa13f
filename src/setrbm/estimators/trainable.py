"""``fit`` and ``partial_fit`` of one model with given settings."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from setrbm import draws
from setrbm._types import Array
from setrbm._warnings import warn
from setrbm.engines import get_engine, suited_engine
from setrbm.estimators.callbacks import with_callbacks
from setrbm.estimators.inputs import (
    labeled_sets,
    labeled_stream,
    refuse_one_class,
    unchanged_on_error,
    warn_if_constant,
)
from setrbm.estimators.prediction import BaseSetClassifier
from setrbm.estimators.progress import following
from setrbm.estimators.settings import Settings, check_execution, flag, one_of, refuse_divergence
from setrbm.pooling import POOLINGS
from setrbm.shards import Shards
from setrbm.tools.threads import as_threads
from setrbm.training import HISTORY, InMemory, Monitor, Outcome, Schedule, Source, Streamed, Training, train


class Trainable(BaseSetClassifier):
    """``fit`` and ``partial_fit`` of one model with given settings."""

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from labeled sets.

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
        Ctrl-C raises KeyboardInterrupt. After the first epoch the best parameters so far are kept; before that the
        estimator is unchanged.
        """
        settings = self._checked_settings()
        again = bool(self.warm_start) and hasattr(self, "W_")
        with following(self, n_tasks=1) as monitor:
            with unchanged_on_error(self):
                source = self._source(settings, X, y, sample_weight, self.classes_ if again else None, again)
                if isinstance(source, InMemory):
                    refuse_one_class(source.sets)
                    warn_if_constant(self._scaling())
                if not again:
                    self._begin(settings, source)
                if settings.early_stopping:
                    source = source.hold_out(settings.validation_fraction, self.seed_)
                outcome = self._train(settings, source, settings.schedule(self.n_epochs_, again), monitor)
                self._set_result(settings, outcome, more=again)
            if outcome.interrupted:
                raise KeyboardInterrupt
        warn_if_worse_than_guessing(settings, outcome, len(self.classes_))
        return self

    @with_callbacks
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over some labeled sets, from where the last call ended.

        Parameters
        ----------
        X, y, sample_weight : as for ``fit``
        classes : array-like, optional
            All classes that will come; needed in the first call only. Scaling is fitted on the sets of the first call.

        Returns
        -------
        self

        Notes
        -----
        Ctrl-C raises KeyboardInterrupt and leaves the estimator unchanged.
        """
        settings = self._checked_settings()
        again = hasattr(self, "W_")
        refuse_for_one_pass(settings, X, classes)
        with following(self, n_tasks=1) as monitor, unchanged_on_error(self):
            known = None if isinstance(X, Shards) else self._all_classes(classes, again)
            source = self._source(settings, X, y, sample_weight, known, again)
            if not again:
                self._begin(settings, source)
                self._refuse_constant()
            outcome = self._train(settings, source, Schedule(1, first_epoch=self.n_epochs_), monitor)
            if outcome.interrupted:
                raise KeyboardInterrupt
            self._set_result(settings, outcome, more=True)
        return self

    def _checked_settings(self) -> Settings:
        check_execution(self)
        flag("early_stopping", self.early_stopping)
        # Averages, and other inputs to train on, are for estimators that choose.
        one_of(*POOLINGS)("pooling", self.pooling)
        one_of("auto", None)("scale", self.scale)
        return self._settings()

    def _restored_settings(self, description: dict[str, Any]) -> Settings:
        return self._checked_settings()

    def _source(
        self, settings: Settings, X: Any, y: Any, sample_weight: Any, classes: Array | None, again: bool
    ) -> Source:
        """Return the sets to learn from; set features, classes and scaling unless (again) they are known."""
        if again and len(self.c_) != settings.n_units:
            raise ValueError(
                f"Training continues with the {len(self.c_)} hidden units fitted. Got n_hidden={self.n_hidden}. Fit a "
                "new model (warm_start=False) to start again."
            )
        if not isinstance(X, Shards):
            return InMemory.of(labeled_sets(self, settings, X, y, sample_weight, classes, again))
        if y is not None or sample_weight is not None:
            raise ValueError("Shards bring their own labels and take no weights. Got y or sample_weight beside them.")
        return Streamed(labeled_stream(self, settings, X, again), X.dtype)

    def _begin(self, settings: Settings, source: Source) -> None:
        """Draw the seed and the start parameters, and begin the history."""
        self.seed_ = draws.new_seed(check_random_state(self.random_state))
        self.n_epochs_, self.best_epoch_ = 0, 0
        self.history_ = {name: [] for name in HISTORY}
        bags = (part.sets.bags for part in source)
        self._set_parameters(settings.start(bags, self.n_features_in_, len(self.classes_), self.seed_, source.dtype))

    def _train(self, settings: Settings, source: Source, schedule: Schedule, monitor: Monitor | None) -> Outcome:
        """Train from the present parameters."""
        spec, model = settings.spec(source.dtype), settings.model(self._params(), self.seed_)
        engine = get_engine(self.engine)
        if isinstance(source, InMemory):
            engine = suited_engine(self.engine, spec, [model], [source.sets])
        outcome = train(engine, spec, [Training(model, source)], schedule, as_threads(self.n_jobs), monitor)[0]
        if outcome.interrupted and outcome.diverged_in is not None:
            raise KeyboardInterrupt
        refuse_divergence(settings, outcome)
        return outcome

    def _all_classes(self, classes: Any, again: bool) -> Array:
        """Return all classes there are: those of the first call of ``partial_fit``."""
        if again:
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError(f"classes must be those of the first call, {self.classes_.tolist()}. Got {classes}.")
            return self.classes_
        if classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit. Got None.")
        if len(known := np.unique(classes)) < 2:
            raise ValueError(f"classes must name at least two classes. Got {known.tolist()}.")
        return known

    def _refuse_constant(self) -> None:
        """Refuse to fit the scaling on a first part in which no feature varies."""
        scaling = self._scaling()
        if scaling is not None and not scaling.factor.any():
            raise ValueError(
                "The first part must show the range of the features. Every feature is constant in it. Pass more sets "
                "in the first call, or use scale=None."
            )


def refuse_for_one_pass(settings: Settings, X: Any, classes: Any) -> None:
    """Refuse what ``partial_fit`` cannot follow."""
    if settings.persistent and settings.generative:
        raise ValueError(
            "persistent=True keeps a chain for each set from epoch to epoch, and partial_fit sees each set once. "
            "Use fit, or persistent=False."
        )
    if classes is not None and isinstance(X, Shards):
        raise ValueError("Shards bring their own classes. Got classes beside them.")
    if settings.class_weight == "balanced" and not isinstance(X, Shards):
        raise ValueError("class_weight='balanced' needs all sets at once. Pass a dict of weights to partial_fit.")


def warn_if_worse_than_guessing(settings: Settings, outcome: Outcome, n_classes: int) -> None:
    """Warn if the model that was kept is confident and wrong."""
    by_likelihood = np.isfinite(outcome.best_score) and settings.stopping == "likelihood"
    loss = outcome.best_score if by_likelihood else outcome.history["loss"][-1]
    if loss > 2.0 * np.log(n_classes):
        warn(
            f"The model is worse than guessing: its mean loss is {loss:.3g}, that of guessing {np.log(n_classes):.3g}."
            f" The learning rate ({settings.learning_rate}) is probably too large."
        )
