"""MaxOutClassifier: the vector with the highest response decides the class of a set."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from setrbm import max_out
from setrbm._types import Array, Criterion, Integers
from setrbm.estimators.prediction import BaseSetClassifier
from setrbm.estimators.search.choosing import Choosing
from setrbm.estimators.settings import Settings, one_of
from setrbm.estimators.trainable import Trainable


class _MaxOut(BaseSetClassifier):
    """What both max-out estimators share: two classes, and no generative part."""

    # Settings that the constructors do not take.
    constraint, pooling, objective, visible = "xor", "hard", "discriminative", "binary"
    generative_learning_rate, cd_steps, persistent = 1.0, 1, False

    def _settings(self, **chosen: Any) -> Settings:
        one_of("rbm", "mlp", "logit")("unit", chosen.get("unit", self.unit))
        return super()._settings(**chosen)

    def _check_classes(self, classes: Array) -> None:
        if len(classes) > 2:
            raise ValueError(
                f"{type(self).__name__} must have two classes: the highest response says nothing between more. Got "
                f"{len(classes)} classes. Only binary classification is supported. Use ClassSetRBM, SetSVC, or "
                "InputPooling before any classifier of vectors."
            )
        super()._check_classes(classes)

    def strongest_vectors(self, X: Any) -> Integers:
        """Return the position, within each set, of the vector with the highest response, which gives the class."""
        bags = self._input(X)
        rows, _, _ = max_out.chosen_activations(bags.X, bags.offsets, self._params(), self.settings_.unit)
        return np.asarray(rows - bags.offsets[:-1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(eq=False, repr=False)
class MaxOutClassifier(_MaxOut, Trainable):
    """Classification of sets by the vector with the highest response, for two classes.

    A classifier of single vectors is trained, set by set, on the vector that currently responds most for the second
    class: the baselines ClassRBM-maxOut, MLP-maxOut and Logit-maxOut of the paper.

    Parameters
    ----------
    unit : {"rbm", "mlp", "logit"}
        The model of a vector: a ClassRBM, a perceptron with one hidden layer of logistic units, or logistic regression.
    n_hidden : int
        Hidden units; logistic regression has none.
    learning_rate, max_epochs, early_stopping, validation_fraction, patience, stopping, batch_size, weight_decay, \
init_scale, scale, class_weight, engine, n_jobs, warm_start, random_state, verbose : as for ClassSetRBM

    Attributes
    ----------
    classes_, history_, best_epoch_, n_epochs_ : as for ClassSetRBM
    W_, U_, c_, d_ : ndarray
        The parameters of the unit; logistic regression is ``W_[0] @ x + c_[0]``.

    Examples
    --------
    >>> from setrbm.datasets import load_musk1
    >>> from setrbm.estimators import MaxOutClassifier
    >>> bags, y = load_musk1()
    >>> model = MaxOutClassifier("mlp", random_state=0).fit(bags[:80], y[:80])
    >>> model.predict_proba(bags[80:]).shape, model.strongest_vectors(bags[80:]).shape
    ((12, 2), (12,))
    """

    unit: Any = "rbm"
    _: KW_ONLY
    n_hidden: Any = 100
    learning_rate: Any = 0.05
    max_epochs: int = 300
    early_stopping: bool = True
    validation_fraction: float = 0.2
    patience: int | None = 50
    stopping: Criterion = "likelihood"
    batch_size: Any = 1
    weight_decay: Any = 0.0
    init_scale: Any = 0.3
    scale: str | None = "auto"
    class_weight: Any = None
    engine: str = "auto"
    n_jobs: int | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0


@dataclass(eq=False, repr=False)
class MaxOutClassifierCV(_MaxOut, Choosing):
    """MaxOutClassifier that chooses its settings on held-out training sets.

    By default the best candidate is kept as it was at its best epoch, as in the paper: which vector decides changes
    abruptly during training, so the same number of epochs on other sets may end in a worse model.

    Parameters
    ----------
    unit, n_hidden, learning_rate, batch_size, weight_decay, init_scale : as for MaxOutClassifier, or a list of values \
to choose from
    cv, scoring : as for ClassSetRBMCV
        A scorer ignores sample and class weights, and sees scaled sets. ``cv`` needs ``refit=True``; with a scorer also
        ``early_stopping=False``.
    refit, max_epochs, early_stopping, halving, validation_fraction, patience, stopping, scale, class_weight, engine, \
n_jobs, random_state, verbose : as for ClassSetRBMCV

    Attributes
    ----------
    best_params_, best_score_, best_index_, cv_results_, n_splits_ : as for ClassSetRBMCV

    Examples
    --------
    >>> from setrbm.datasets import load_musk1
    >>> from setrbm.estimators import MaxOutClassifierCV
    >>> bags, y = load_musk1()
    >>> model = MaxOutClassifierCV("logit", learning_rate=(0.1, 0.3), init_scale=0.1, random_state=0).fit(bags, y)
    >>> sorted(model.best_params_)
    ['learning_rate', 'weight_decay']
    """

    CHOOSABLE: ClassVar[tuple[str, ...]] = (
        "unit", "n_hidden", "learning_rate", "batch_size", "weight_decay", "init_scale", "max_epochs",
    )  # fmt: skip

    unit: Any = "rbm"
    _: KW_ONLY
    n_hidden: Any = 100
    learning_rate: Any = (0.01, 0.03, 0.1, 0.3)
    max_epochs: Any = 300
    early_stopping: bool | str = True
    halving: bool = True
    cv: Any = None
    scoring: Any = None
    validation_fraction: float = 0.2
    patience: int | None = 50
    stopping: Criterion = "likelihood"
    batch_size: Any = 1
    weight_decay: Any = (0.0, 0.001, 0.01)
    init_scale: Any = (0.1, 0.3, 1.0)
    scale: str | None = "auto"
    class_weight: Any = None
    refit: bool = False
    engine: str = "auto"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
