"""Estimators: what users call, under scikit-learn's contract."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setrbm.estimators.class_rbm import ClassRBM as ClassRBM
    from setrbm.estimators.class_set_rbm import ClassSetRBM as ClassSetRBM
    from setrbm.estimators.class_set_rbm import ClassSetRBMCV as ClassSetRBMCV
    from setrbm.estimators.input_pooling import InputPooling as InputPooling
    from setrbm.estimators.loading import load as load
    from setrbm.estimators.max_out import MaxOutClassifier as MaxOutClassifier
    from setrbm.estimators.max_out import MaxOutClassifierCV as MaxOutClassifierCV
    from setrbm.estimators.per_vector import PerVector as PerVector
    from setrbm.estimators.set_svc import SetSVC as SetSVC
    from setrbm.estimators.set_svc import SetSVCCV as SetSVCCV

# Loaded when first asked for: one estimator need not wait for what the others stand on.
_HOMES = {
    "ClassRBM": "class_rbm",
    "ClassSetRBM": "class_set_rbm",
    "ClassSetRBMCV": "class_set_rbm",
    "InputPooling": "input_pooling",
    "MaxOutClassifier": "max_out",
    "MaxOutClassifierCV": "max_out",
    "PerVector": "per_vector",
    "SetSVC": "set_svc",
    "SetSVCCV": "set_svc",
    "load": "loading",
}

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
    "load",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name not in _HOMES:
        raise AttributeError(f"module 'setrbm.estimators' has no attribute {name!r}")
    value = getattr(import_module(f"setrbm.estimators.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
