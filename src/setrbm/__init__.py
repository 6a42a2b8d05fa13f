"""Classification of sets of vectors with restricted Boltzmann machines.

>>> from setrbm import ClassSetRBMCV
>>> from setrbm.datasets import load_musk1
>>> bags, y = load_musk1()
>>> bags
Bags(92 sets, 476 vectors, 166 features, dense float64)
"""

from typing import TYPE_CHECKING

from setrbm._version import __version__
from setrbm.tools.lazy import lazy_names

if TYPE_CHECKING:
    from setrbm.bags import Bags as Bags
    from setrbm.estimators import ClassRBM as ClassRBM
    from setrbm.estimators import ClassSetRBM as ClassSetRBM
    from setrbm.estimators import ClassSetRBMCV as ClassSetRBMCV
    from setrbm.persistence import load as load
    from setrbm.persistence import save as save

__all__ = ["Bags", "ClassRBM", "ClassSetRBM", "ClassSetRBMCV", "__version__", "load", "save"]
__getattr__, __dir__ = lazy_names(
    __name__,
    {"Bags": "bags"}
    | dict.fromkeys(("ClassRBM", "ClassSetRBM", "ClassSetRBMCV"), "estimators")
    | dict.fromkeys(("load", "save"), "persistence"),
)
