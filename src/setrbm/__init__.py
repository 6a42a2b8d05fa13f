"""Classification of sets of vectors with restricted Boltzmann machines.

>>> from setrbm import ClassSetRBMCV
>>> from setrbm.datasets import load_musk1
>>> bags, y = load_musk1()
>>> bags
Bags(92 sets, 476 vectors, 166 features, dense float64)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from setrbm._version import __version__

if TYPE_CHECKING:
    from setrbm.bags import Bags as Bags
    from setrbm.estimators import ClassRBM as ClassRBM
    from setrbm.estimators import ClassSetRBM as ClassSetRBM
    from setrbm.estimators import ClassSetRBMCV as ClassSetRBMCV
    from setrbm.estimators import load as load

# Loaded when first asked for, so that `setrbm --help` need not wait for scikit-learn.
_HOMES = {
    "Bags": "setrbm.bags",
    "ClassRBM": "setrbm.estimators",
    "ClassSetRBM": "setrbm.estimators",
    "ClassSetRBMCV": "setrbm.estimators",
    "load": "setrbm.estimators",
}

__all__ = ["Bags", "ClassRBM", "ClassSetRBM", "ClassSetRBMCV", "__version__", "load"]


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name not in _HOMES:
        raise AttributeError(f"module 'setrbm' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
