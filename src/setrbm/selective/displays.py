"""Pictures of selective classification, in the manner of scikit-learn's displays."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from setrbm._types import Floats
from setrbm.label_order import check_order
from setrbm.selective.curves import SelectiveCurve, Sureness, check_predictions, selective_curve, sureness


class _CurveDisplay:
    """One quantity of a selective curve against another."""

    X_AXIS: ClassVar[str]
    Y_AXIS: ClassVar[str]
    # What the legend says of the whole curve.
    AREA: ClassVar[str]

    def __init__(self, curve: SelectiveCurve, *, name: str | None = None) -> None:
        self.curve, self.name = curve, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        kind: Sureness = "probability",
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted classifier on labeled sets.

        Parameters
        ----------
        estimator : classifier
        X, y : sets and labels
        kind : {"probability", "margin"}
            How sure the classifier is: the probability of the predicted class, or its lead over the second.
        name : str, optional
            For the legend; by default the name of the class.
        ax : matplotlib Axes, optional
        **kwargs : passed to ``Axes.plot``
        """
        check_order(X, y)
        predicted, scores = sureness(estimator, X, kind)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, predicted, scores, name=name, ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, scores: Any, *, name: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the curve of predictions and how sure each is."""
        return cls(selective_curve(y_true, y_pred, scores), name=name).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the curve on the given axes, or on a new figure."""
        from matplotlib import pyplot as plt

        self.ax_ = plt.subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        area = f"area {getattr(self.curve, self.AREA):.3f}"
        label = area if self.name is None else f"{self.name} ({area})"
        x, y = getattr(self.curve, self.X_AXIS), getattr(self.curve, self.Y_AXIS)
        self.line_: Any = self.ax_.plot(x, y, **{"label": label, "drawstyle": "steps-pre", **kwargs})[0]
        self.ax_.set(xlabel=LABELS[self.X_AXIS], ylabel=LABELS[self.Y_AXIS], xlim=(0.0, 1.0))
        self.ax_.legend()
        return self


LABELS = {
    "coverage": "coverage: part of the sets that is accepted",
    "precision": "precision: part of the accepted that is right",
    "recall": "recall: part of all sets that is accepted and right",
    "risk": "risk: part of the accepted that is wrong",
}


class PrecisionCoverageDisplay(_CurveDisplay):
    """Precision of the accepted predictions against the part of the sets that is accepted.

    Parameters
    ----------
    curve : SelectiveCurve
    name : str, optional
        For the legend.

    Attributes
    ----------
    curve, name : as given
    ax_, figure_, line_ : matplotlib Axes, Figure and Line2D
        Set by ``plot``, which ``from_estimator`` and ``from_predictions`` call.

    Examples
    --------
    >>> from setrbm.selective import PrecisionCoverageDisplay
    >>> shown = PrecisionCoverageDisplay.from_predictions([0, 1, 1], [0, 1, 0], [0.9, 0.8, 0.6])
    >>> shown.curve.precision.round(2).tolist()
    [1.0, 1.0, 0.67]
    """

    X_AXIS, Y_AXIS, AREA = "coverage", "precision", "precision_area"


class RiskCoverageDisplay(_CurveDisplay):
    """Risk of the accepted predictions against the part of the sets that is accepted.

    Parameters and attributes are those of PrecisionCoverageDisplay.

    Examples
    --------
    >>> from setrbm.selective import RiskCoverageDisplay
    >>> shown = RiskCoverageDisplay.from_predictions([0, 1, 1], [0, 1, 0], [0.9, 0.8, 0.6])
    >>> shown.line_.get_label()
    'area 0.111'
    """

    X_AXIS, Y_AXIS, AREA = "coverage", "risk", "risk_area"


class SelectivePrecisionRecallDisplay(_CurveDisplay):
    """Micro-averaged precision against recall over every threshold, as in the paper's figure.

    Parameters and attributes are those of PrecisionCoverageDisplay.

    Examples
    --------
    >>> from setrbm.selective import SelectivePrecisionRecallDisplay
    >>> shown = SelectivePrecisionRecallDisplay.from_predictions([0, 1, 1], [0, 1, 0], [0.9, 0.8, 0.6])
    >>> shown.line_.get_label()
    'area 0.667'
    """

    X_AXIS, Y_AXIS, AREA = "recall", "precision", "area"


class ReliabilityDisplay:
    """How often predictions are right, against how probable they were said to be.

    Parameters
    ----------
    confidence, accuracy, counts : ndarray of shape (n_bins,)
        For each bin that is not empty: the mean probability of the predicted class, the part that is right, and the
        number of predictions.
    name : str, optional
        For the legend.

    Examples
    --------
    >>> from setrbm.selective import ReliabilityDisplay
    >>> shown = ReliabilityDisplay.from_predictions([0, 1, 1, 0], [0, 1, 0, 0], [0.95, 0.95, 0.55, 0.55], n_bins=10)
    >>> shown.accuracy.tolist(), shown.counts.tolist()
    ([0.5, 1.0], [2, 2])
    """

    def __init__(self, confidence: Floats, accuracy: Floats, counts: Any, *, name: str | None = None) -> None:
        self.confidence, self.accuracy, self.counts, self.name = confidence, accuracy, counts, name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_bins: int = 10, name: str | None = None, ax: Any = None
    ) -> Self:
        """Draw the reliability of a fitted classifier on labeled sets."""
        check_order(X, y)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, *sureness(estimator, X), n_bins=n_bins, name=name, ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, confidence: Any, *, n_bins: int = 10, name: str | None = None, ax: Any = None
    ) -> Self:
        """Draw the reliability of predictions, given the probability of each predicted class."""
        y_true, y_pred, confidence = check_predictions(y_true, y_pred, confidence)
        bins = np.clip((confidence * n_bins).astype(int), 0, n_bins - 1)
        counts = np.bincount(bins, minlength=n_bins)
        there = counts > 0
        sums = [np.bincount(bins, values, n_bins)[there] for values in (confidence, y_true == y_pred)]
        return cls(sums[0] / counts[there], sums[1] / counts[there], counts[there], name=name).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw a point for each bin, larger the more predictions it has, and the line where both are equal."""
        from matplotlib import pyplot as plt

        self.ax_ = plt.subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        self.ax_.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--")
        size = 20 + 180 * self.counts / self.counts.max()
        self.points_ = self.ax_.scatter(self.confidence, self.accuracy, s=size, label=self.name)
        self.ax_.plot(self.confidence, self.accuracy, linewidth=1)
        self.ax_.set(xlabel="mean probability of the predicted class", ylabel="part that is right")
        self.ax_.set(xlim=(0.0, 1.02), ylim=(0.0, 1.02))
        if self.name is not None:
            self.ax_.legend()
        return self
