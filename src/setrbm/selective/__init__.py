"""Selective classification: accept the predictions a classifier is sure of, and leave the others to a person."""

from setrbm.selective.curves import SelectiveCurve as SelectiveCurve
from setrbm.selective.curves import selective_curve as selective_curve
from setrbm.selective.curves import sureness as sureness
from setrbm.selective.displays import PrecisionCoverageDisplay as PrecisionCoverageDisplay
from setrbm.selective.displays import ReliabilityDisplay as ReliabilityDisplay
from setrbm.selective.displays import RiskCoverageDisplay as RiskCoverageDisplay
from setrbm.selective.displays import SelectivePrecisionRecallDisplay as SelectivePrecisionRecallDisplay
from setrbm.selective.promise import Promise as Promise
from setrbm.selective.promise import promise as promise
from setrbm.selective.reject import RejectOption as RejectOption

__all__ = [
    "PrecisionCoverageDisplay",
    "Promise",
    "RejectOption",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "SelectiveCurve",
    "SelectivePrecisionRecallDisplay",
    "promise",
    "selective_curve",
    "sureness",
]
