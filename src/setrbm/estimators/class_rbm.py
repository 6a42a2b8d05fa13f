"""ClassRBM: the classification RBM for single vectors."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from setrbm.bags import Bags
from setrbm.estimators.prediction import BaseSetRBM
from setrbm.estimators.trainable import Trainable


@dataclass(eq=False, repr=False)
class ClassRBM(Trainable, BaseSetRBM):
    r"""Classification of vectors by a restricted Boltzmann machine: the case of sets of one vector.

    .. math:: p(y \mid x) = \mathrm{softmax}_y\Big(d_y + \sum_j \mathrm{softplus}(c_j + W_j \cdot x + U_{jy})\Big)

    Parameters and attributes are those of ClassSetRBM without the constraint and the pooling: with one vector there is
    nothing to pool.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from setrbm import ClassRBM
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(ClassRBM(random_state=0).fit(X, y).score(X, y) > 0.9)
    True
    """

    constraint = "xor"
    pooling = "soft"
    # A matrix, or a data frame, is what it is for.
    takes_rows = True

    n_hidden: int = 100
    _: KW_ONLY
    objective: str = "discriminative"
    learning_rate: float = 0.05
    generative_learning_rate: float = 0.003
    max_epochs: int = 300
    early_stopping: bool = True
    validation_fraction: float = 0.2
    patience: int | None = 50
    stopping: str = "likelihood"
    batch_size: int = 1
    weight_decay: float = 0.0
    init_scale: float = 0.3
    visible: str = "binary"
    cd_steps: int = 1
    persistent: bool = False
    scale: str | None = "auto"
    class_weight: Any = None
    engine: str = "auto"
    n_jobs: int | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0

    def _bags(self, X: Any, reset: bool, finite: bool = True) -> Bags:
        bags = super()._bags(X, reset, finite)
        if (bags.sizes > 1).any():
            at = int((bags.sizes > 1).argmax())
            raise ValueError(
                f"ClassRBM takes single vectors. Got a set of {bags.sizes[at]} at index {at}. Use ClassSetRBM, "
                "or pool the inputs first."
            )
        return bags
