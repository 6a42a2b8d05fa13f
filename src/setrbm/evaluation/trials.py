"""The protocol of every table: folds by set, choices inside the training part alone, the same splits for every system.

A system is shown the sets and labels of a training part, and afterwards the sets of the test part without their
labels. It is made anew for every fold, so that nothing it was shown in another can help it.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from setrbm.bags import Bags
from setrbm.engines.protocol import DeviceMemoryWarning
from setrbm.estimators.choosing import fit_side_by_side
from setrbm.evaluation.results import Fold
from setrbm.evaluation.splits import Split

# Settings that say how the work is done, not what comes of it.
HOW = ("engine", "memory_mib", "n_jobs", "random_state", "verbose")


def settings_digest(estimator: Any, bags: Bags, y: Any, folds: int, repeats: int, seed: int) -> str:
    """Return a digest of everything that decides the results of an experiment but the code."""
    values = {
        name: value if isinstance(value, str | int | float | bool | None) else repr(value)
        for name, value in estimator.get_params(deep=True).items()
        if name.rsplit("__", 1)[-1] not in HOW and not hasattr(value, "get_params")
    }
    data, labels = hashlib.sha256(), np.asarray(y)
    X = (bags.X.data, bags.X.indices, bags.X.indptr) if bags.is_sparse else (bags.X,)
    # Objects would give the addresses they happen to have.
    for array in (bags.offsets, labels.astype(str) if labels.dtype == object else labels, *X):
        data.update(np.ascontiguousarray(array).tobytes())
    whole = [type(estimator).__name__, sorted(values.items(), key=str), data.hexdigest(), folds, repeats, seed]
    return hashlib.sha256(json.dumps(whole, default=str).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Trial:
    """One system on one data set: what all its folds have in common."""

    system: str
    dataset: str
    bags: Bags
    y: Any
    seed: int
    settings: str
    engine: str

    def shown(self, split: Split) -> tuple[Bags, Any]:
        """Return what a system may learn from in a fold."""
        return self.bags[split.train], np.asarray(self.y)[split.train]

    def judge(self, fitted: Any, split: Split, seconds: float) -> Fold:
        """Hold the predictions of a fitted system for the test sets against their labels."""
        hidden, truth = self.bags[split.test], np.asarray(self.y)[split.test]
        predicted = np.asarray(fitted.predict(hidden))
        return Fold(
            self.dataset, self.system, split.repeat, split.fold, self.seed, len(truth),
            int((predicted == truth).sum()), _log_loss(fitted, hidden, truth), chosen_settings(fitted), self.settings,
            self.engine, round(seconds, 3),
        )  # fmt: skip


def fit_and_judge(trial: Trial, estimator: Any, split: Split) -> Fold:
    """Fit a system on the training part of one fold and judge it on the test part."""
    begin = time.perf_counter()
    with quiet():
        estimator.fit(*trial.shown(split))
    return trial.judge(estimator, split, time.perf_counter() - begin)


def fit_and_judge_side_by_side(
    trial: Trial, estimators: Sequence[Any], splits: Sequence[Split], monitor: Monitor | None = None
) -> list[Fold | Exception]:
    """Do the same for many folds at once, every candidate of every fold side by side."""
    begin = time.perf_counter()
    with quiet():
        faults = fit_side_by_side(estimators, [(*trial.shown(split), None) for split in splits], monitor)
    share = (time.perf_counter() - begin) / len(splits)

    def judged(estimator: Any, split: Split) -> Fold | Exception:
        try:
            return trial.judge(estimator, split, share)
        except Exception as fault:
            return fault

    return [
        fault or judged(estimator, split) for estimator, split, fault in zip(estimators, splits, faults, strict=True)
    ]


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out what fits say about single folds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("default", DeviceMemoryWarning)
        yield


def _log_loss(fitted: Any, bags: Bags, truth: Any) -> float:
    """Return the mean -log p of the right classes; NaN where there are no probabilities."""
    if not hasattr(fitted, "predict_log_proba") and not hasattr(fitted, "predict_proba"):
        return float("nan")
    p = fitted.predict_proba(bags)
    right = p[np.arange(len(truth)), np.searchsorted(fitted.classes_, truth)]
    # No system is so sure that one set weighs more than all others together.
    return round(float(-np.log(np.clip(right, 1e-15, None)).mean()), 6)


def chosen_settings(fitted: Any) -> str:
    """Return the settings a fitted system chose, as JSON."""
    last = fitted[-1] if hasattr(fitted, "steps") else fitted
    chosen = dict(getattr(last, "best_params_", {}))
    for name in ("C_", "gamma_", "threshold_", "learning_rate_", "best_epoch_"):
        if hasattr(last, name):
            chosen[name.rstrip("_")] = getattr(last, name)
    return json.dumps({name: _plain(value) for name, value in sorted(chosen.items())})


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return float(f"{value:.6g}") if isinstance(value, float) else value
