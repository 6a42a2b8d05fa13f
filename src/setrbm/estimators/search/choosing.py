"""Choosing settings on held-out sets: ``fit`` of every estimator whose name ends in CV."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

from setrbm._json_values import from_json, to_json
from setrbm._types import Array
from setrbm.estimators.callbacks import with_callbacks
from setrbm.estimators.inputs import unchanged_on_error
from setrbm.estimators.prediction import BaseSetClassifier
from setrbm.estimators.progress import following
from setrbm.estimators.search import refits
from setrbm.estimators.search.choices import Choices, check_scored_classes
from setrbm.estimators.search.results import of_splits, restored, results_of, stored
from setrbm.estimators.search.search import Search
from setrbm.estimators.settings import Settings, check_execution, is_count
from setrbm.pooling import MIXED


class Choosing(BaseSetClassifier):
    """``fit`` that trains every combination of the choices side by side, and keeps or refits the best."""

    # The settings that may be lists of values to choose from.
    CHOOSABLE: ClassVar[tuple[str, ...]] = ()
    # How many fits of the chosen settings are averaged, and whether probabilities are calibrated; a class that can do
    # this takes it in its constructor.
    n_fits: Any = 1
    calibrate: Any = False

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
        Ctrl-C raises KeyboardInterrupt. After the first epoch the best candidate so far is kept, without a refit or
        calibration; before that the estimator is unchanged.
        """
        choices = self._choices()
        with following(self, len(choices.phases)) as monitor:
            with unchanged_on_error(self):
                search = Search.of(self, choices, X, y, sample_weight)
                search.choose(search.train("choosing", search.to_try(), monitor))
                self._record(results_of(search.candidates), search.best)
                refits.keep(search, refits.refit(search, monitor))
            if search.interrupted:
                raise KeyboardInterrupt
        return self

    def _choices(self) -> Choices:
        check_execution(self)
        return Choices.of(self, self.CHOOSABLE)

    def _settings(self, **chosen: Any) -> Settings:
        settings = super()._settings(**chosen)
        few = is_count(self.n_fits) and int(self.n_fits) < len(MIXED)
        return settings.unmixed if settings.generative or few or not self.refit else settings

    def _check_classes(self, classes: Array) -> None:
        check_scored_classes(self.scoring, classes)

    def _record(self, results: dict[str, Any], best: int) -> None:
        """Record what was tried and what was chosen."""
        self.cv_results_, self.best_index_ = results, best
        self.best_params_ = dict(results["params"][best])
        self.best_score_ = float(results["mean_test_score"][best])
        self.n_splits_ = len(of_splits(results))

    def _describe(self) -> dict[str, Any]:
        chosen = {"best_index": self.best_index_, "cv_results": stored(self.cv_results_)}
        # What was chosen may be a mixture, but only one part of it kept.
        kept = {"pooling": self.settings_.pooling, "scale": self.settings_.scale}
        return {"chosen": to_json(chosen), "kept": kept}

    def _restored_settings(self, description: dict[str, Any]) -> Settings:
        self._choices()
        self._record(*restored(from_json(description["chosen"]), self.stopping))
        # Files of earlier versions keep what was chosen.
        kept, settings = description.get("kept", {}), self._settings(**self.best_params_)
        return replace(settings, **{name: kept.get(name, getattr(settings, name)) for name in ("pooling", "scale")})
