"""Estimators: what users call, under scikit-learn's contract."""

from typing import TYPE_CHECKING

from setrbm.tools.lazy import lazy_names

if TYPE_CHECKING:
    from setrbm.estimators.class_rbm import ClassRBM as ClassRBM
    from setrbm.estimators.class_set_rbm import ClassSetRBM as ClassSetRBM
    from setrbm.estimators.class_set_rbm import ClassSetRBMCV as ClassSetRBMCV
    from setrbm.estimators.input_pooling import InputPooling as InputPooling
    from setrbm.estimators.max_out import MaxOutClassifier as MaxOutClassifier
    from setrbm.estimators.max_out import MaxOutClassifierCV as MaxOutClassifierCV
    from setrbm.estimators.per_vector import PerVector as PerVector
    from setrbm.estimators.set_svc import SetSVC as SetSVC
    from setrbm.estimators.set_svc import SetSVCCV as SetSVCCV

__all__ = [
    "ClassRBM",
    "ClassSetRBM",
    "ClassSetRBMCV",
    "InputPooling",
    "MaxOutClassifier",
    "MaxOutClassifierCV",
    "PerVector",
    "SetSVC",
    "SetSVCCV",
]
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ClassRBM": "class_rbm",
        "ClassSetRBM": "class_set_rbm",
        "ClassSetRBMCV": "class_set_rbm",
        "InputPooling": "input_pooling",
        "MaxOutClassifier": "max_out",
        "MaxOutClassifierCV": "max_out",
        "PerVector": "per_vector",
        "SetSVC": "set_svc",
        "SetSVCCV": "set_svc",
    },
)
