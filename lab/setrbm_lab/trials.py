"""One system on one split: fit on the training part, judge on the test part.

A system sees the sets and labels of the training part, then the sets of the test part without their labels. Every
split gets a new, unfitted system, so nothing can leak from one fold to another.
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
from setrbm.evaluation.splits import Split
from setrbm.text import PageTexts
from setrbm_lab.curves import Curve, measure
from setrbm_lab.results import Fold
from setrbm_lab.side_by_side import fit_side_by_side
from setrbm_mail.pages import Documents

# What a system may get.
Sets = Bags | PageTexts | Documents
# Parameters that change how a result is computed, but not the result.
HOW = ("engine", "memory_mib", "n_jobs", "random_state", "verbose")
# Constructor parameters that were added after results had been recorded, by class, with the default that changes no
# result. At that default they stay out of the digest, so recorded results keep theirs and runs can be resumed.
_ADDED_TO_CHOICES: dict[str, Any] = {"cv": None, "scoring": None}
ADDED_PARAMETERS: dict[str, dict[str, Any]] = {
    "ClassSetRBMCV": _ADDED_TO_CHOICES | {"calibrate": False},
    "MaxOutClassifierCV": _ADDED_TO_CHOICES,
}


def settings_digest(estimator: Any, bags: Sets, y: Any, folds: int, repeats: int, seed: int) -> str:
    """Return a digest of everything except the code that decides the results of an experiment."""
    params = {"": estimator} | estimator.get_params(deep=True)
    values = {
        name: _described(name, value)
        for name, value in params.items()
        if not hasattr(value, "get_params") and not _is_ignored(params, name, value)
    }
    data, labels = hashlib.sha256(), np.asarray(y)
    offsets, *X = _arrays(bags)
    # The bytes of an object array would be memory addresses.
    for array in (offsets, labels.astype(str) if labels.dtype == object else labels, *X):
        data.update(np.ascontiguousarray(array).tobytes())
    whole = [type(estimator).__name__, sorted(values.items(), key=str), data.hexdigest(), folds, repeats, seed]
    return hashlib.sha256(json.dumps(whole, default=str).encode()).hexdigest()[:12]


def _described(name: str, value: Any) -> Any:
    """Return a parameter as it enters the digest; of the steps of a pipeline, whose parameters follow, only the names.

    The text of a step would depend on which of its parameters are at their defaults.
    """
    if name.rpartition("__")[2] == "steps" and isinstance(value, list):
        return [(step, type(estimator).__name__) for step, estimator in value]
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def _arrays(bags: Sets) -> list[Any]:
    """Return all contents of sets as arrays; the first has the sizes of the sets."""
    if not isinstance(bags, Bags):
        pages: list[Any]
        if isinstance(bags, PageTexts):
            pages = list(bags.documents)
        else:
            pages = [[page.to_json() for page in document.pages] for document in bags]
        text = json.dumps(pages).encode()
        return [np.array([len(document) for document in pages]), np.frombuffer(text, dtype=np.uint8)]
    return [bags.offsets, *((bags.X.data, bags.X.indices, bags.X.indptr) if bags.is_sparse else (bags.X,))]


def _is_ignored(params: dict[str, Any], name: str, value: Any) -> bool:
    """Return whether a parameter, such as "svc__C" of a pipeline, has no part in the digest."""
    owner, _, own_name = name.rpartition("__")
    added = ADDED_PARAMETERS.get(type(params.get(owner)).__name__, {})
    if own_name not in added:
        return own_name in HOW
    neutral = added[own_name]
    return type(value) is type(neutral) and bool(value == neutral)


@dataclass(frozen=True)
class Trial:
    """One system on one data set: what all its folds have in common."""

    system: str
    dataset: str
    bags: Sets
    y: Any
    seed: int
    settings: str
    engine: str

    def training_part(self, split: Split) -> tuple[Any, Any]:
        """Return the sets and labels a system may learn from."""
        return self.bags[split.train], np.asarray(self.y)[split.train]

    def judge(self, fitted: Any, split: Split, seconds: float) -> Fold:
        """Compare the predictions of a fitted system for the test sets with their labels."""
        test, truth = self.bags[split.test], np.asarray(self.y)[split.test]
        predicted = np.asarray(fitted.predict(test))
        return Fold(
            self.dataset, self.system, split.repeat, split.fold, self.seed, len(truth),
            int((predicted == truth).sum()), _log_loss(fitted, test, truth), chosen_settings(fitted), self.settings,
            self.engine, round(seconds, 3),
        )  # fmt: skip

    def measure(self, fitted: Any, split: Split) -> Curve:
        """Return precision against recall of a fitted system on the test sets."""
        key = self.dataset, self.system, split.repeat, split.fold
        return measure(key, fitted, self.bags[split.test], np.asarray(self.y)[split.test])


def fit_and_judge(trial: Trial, estimator: Any, split: Split) -> Fold:
    """Fit a system on the training part of a split and judge it on the test part."""
    begin = time.perf_counter()
    with quiet():
        estimator.fit(*trial.training_part(split))
    return trial.judge(estimator, split, time.perf_counter() - begin)


def fit_and_judge_side_by_side(
    trial: Trial, estimators: Sequence[Any], splits: Sequence[Split]
) -> list[Fold | Exception]:
    """Do the same for many splits at once: all candidates of all splits are trained side by side."""
    begin = time.perf_counter()
    with quiet():
        data = [(*trial.training_part(split), None) for split in splits]
        errors = fit_side_by_side(estimators, data)
    share = (time.perf_counter() - begin) / len(splits)

    def judged(estimator: Any, split: Split) -> Fold | Exception:
        try:
            return trial.judge(estimator, split, share)
        except Exception as error:
            return error

    return [
        error or judged(estimator, split) for estimator, split, error in zip(estimators, splits, errors, strict=True)
    ]


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore warnings about single folds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("default", DeviceMemoryWarning)
        yield


def _log_loss(fitted: Any, bags: Any, truth: Any) -> float:
    """Return the mean of -log p(true class); NaN for a system without probabilities."""
    if not hasattr(fitted, "predict_proba"):
        return float("nan")
    p = fitted.predict_proba(bags)[np.arange(len(truth)), np.searchsorted(fitted.classes_, truth)]
    # The bound keeps the mean finite where a system was certain and wrong.
    return round(float(-np.log(np.clip(p, 1e-15, None)).mean()), 6)


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
