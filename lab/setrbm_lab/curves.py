"""Precision against recall of a system on a test fold: a file beside the results, one line per fold.

Predictions whose score is above a threshold are accepted; precision and recall are micro-averaged over the classes
(`setrbm.selective`). The score is the probability of the predicted class or, for a system without probabilities, how
far it is ahead of the second class.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from setrbm._types import Floats
from setrbm.selective import SelectiveCurve, selective_curve, sureness
from setrbm.selective.curves import Sureness
from setrbm_lab.results import Row

# Precision is recorded at these recalls.
RECALLS = np.linspace(0.0, 1.0, 51)


@dataclass(frozen=True, order=True)
class Curve(Row):
    """How sure a system was of its predictions for one test fold, and how long they took.

    Attributes
    ----------
    dataset, system : str
    repeat, fold : int
        Counting from 0.
    predict_seconds : float
        The time to predict the whole test part once.
    area : float
        The area under precision against recall.
    precision : str
        The precision at each of RECALLS, separated by spaces; "nan" for a recall that is not reached.
    measured : str
        The attribute ``measured_`` of the fitted system, as JSON.
    """

    predict_seconds: float
    area: float
    precision: str
    measured: str

    @property
    def precisions(self) -> Floats:
        """The precision at each of RECALLS; NaN for a recall that is not reached."""
        return np.array([float(text) for text in self.precision.split()])

    def fault(self) -> str:
        """Return what the line must have, and what it has instead; empty if nothing is wrong."""
        n = len(self.precision.split())
        return "" if n == len(RECALLS) else f"a precision at each of {len(RECALLS)} recalls. Got {n}"


def curves_path(path: Path) -> Path:
    """Return the file of curves beside a results file."""
    return path.with_name(f"{path.stem}-curves{path.suffix}")


def measure(key: tuple[str, str, int, int], fitted: Any, test: Any, truth: Any) -> Curve:
    """Predict the test sets with a fitted system, and return its curve.

    Parameters
    ----------
    key : tuple
        The data set, system, repeat and fold.
    fitted : classifier
    test : the test sets
    truth : ndarray of shape (n_sets,)
        Their labels; the system does not see them.
    """
    begin = time.perf_counter()
    kind: Sureness = "probability" if hasattr(fitted, "predict_proba") else "margin"
    predicted, scores = sureness(fitted, test, kind)
    seconds = time.perf_counter() - begin
    curve = selective_curve(truth, predicted, scores)
    precision = " ".join(f"{value:.4f}" for value in precision_at(curve, RECALLS))
    last = fitted[-1] if hasattr(fitted, "steps") else fitted
    measured = json.dumps(getattr(last, "measured_", {}), sort_keys=True)
    return Curve(*key, round(seconds, 3), round(curve.area, 6), precision, measured)


def precision_at(curve: SelectiveCurve, recalls: Floats) -> Floats:
    """Return the precision at the strictest threshold that reaches each recall; NaN if none does."""
    # The tolerance is for recalls that were computed in another way.
    place = np.searchsorted(curve.recall, recalls - 1e-9)
    return np.append(curve.precision, np.nan)[np.minimum(place, len(curve.precision))]
