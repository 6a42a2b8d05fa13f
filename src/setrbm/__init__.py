"""Classification of sets of vectors with restricted Boltzmann machines.

>>> from setrbm import ClassSetRBMCV
>>> from setrbm.datasets import load_musk1
>>> bags, y = load_musk1()
>>> bags
Bags(92 sets, 476 vectors, 166 features, dense float64)
"""

from setrbm._version import __version__
from setrbm.bags import Bags
from setrbm.estimators import ClassRBM, ClassSetRBM, ClassSetRBMCV, load

__all__ = ["Bags", "ClassRBM", "ClassSetRBM", "ClassSetRBMCV", "__version__", "load"]
