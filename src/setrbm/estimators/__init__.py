"""Estimators: what users call, under scikit-learn's contract."""

from setrbm.estimators._loading import load
from setrbm.estimators.class_rbm import ClassRBM
from setrbm.estimators.class_set_rbm import ClassSetRBM, ClassSetRBMCV
from setrbm.estimators.per_vector import PerVector

__all__ = ["ClassRBM", "ClassSetRBM", "ClassSetRBMCV", "PerVector", "load"]
