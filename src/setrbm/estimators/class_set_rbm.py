"""ClassSetRBM, and ClassSetRBMCV that chooses its settings on a held-out part."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

from setrbm._types import Criterion
from setrbm.estimators.choosing import Choosing
from setrbm.estimators.prediction import BaseSetRBM
from setrbm.estimators.settings import Settings, is_count
from setrbm.estimators.trainable import Trainable
from setrbm.pooling import MIXED

# What suits the vectors of PageWords (lab/experiments/text_preset.py). Nothing is chosen on held-out sets: their labels
# have had a part in the weights of the words, so they would ask for too many epochs.
FOR_TEXT: dict[str, Any] = {
    "pooling": "hard", "scale": None, "learning_rate": 0.25, "init_scale": 0.1, "max_epochs": 20,
    "early_stopping": False,
}  # fmt: skip


@dataclass(eq=False, repr=False)
class ClassSetRBM(Trainable, BaseSetRBM):
    r"""Classification of sets of vectors by a restricted Boltzmann machine pooled at its hidden layer.

    Each vector of a set has its own copy of the hidden layer; copies of a unit compete (xor) or may be on together
    (or), and their pooled activation decides the class:

    .. math:: p(y \mid X) = \mathrm{softmax}_y\Big(d_y + \sum_j \mathrm{softplus}(\mathrm{pool}_j(X) + U_{jy})\Big)

    Parameters
    ----------
    n_hidden : int
    constraint : {"xor", "or"}
        Whether a hidden feature is expected in one vector of the set, or possibly in several.
    pooling : {"hard", "soft", "mean"}, or another name of ``setrbm.pooling.POOLINGS``
        The maximum over the set (the paper's starred variants), the log-sum-exp, for which the posterior is exact, or
        the log-mean-exp, also exact but not in the paper: it responds to the share of vectors with a feature, not to
        their number.
    objective : {"discriminative", "generative", "hybrid"}
        Learn p(y | X), or p(X, y) by contrastive divergence, or both, each with its own rate.
    learning_rate : float
        Step size of the discriminative gradient.
    generative_learning_rate : float
        Step size of the contrastive-divergence gradient.
    max_epochs : int
        The maximum number of passes over the training sets.
    early_stopping : bool
        Whether to hold sets out and keep the parameters that were best on them.
    validation_fraction : float
        The fraction of each class that is held out, never a whole class. With too few sets to hold any out, all sets
        are learned from for ``max_epochs``.
    patience : int or None
        Stop after this many epochs without a better held-out score; None runs all epochs.
    stopping : {"likelihood", "error"}
        What is watched on the held-out sets.
    batch_size : int
        Sets per step; a step follows the mean of their gradients.
    weight_decay : float
        L2 penalty on W and U, applied at every step: many steps, as over large or sparse data, call for less.
    init_scale : float
        Start weights are uniform in [-init_scale, init_scale].
    visible : {"binary", "gaussian"}
        The visible units of the generative part: values in [0, 1], or any values, with unit variance.
    cd_steps : int
        Gibbs steps of contrastive divergence.
    persistent : bool
        Whether each set's chain continues from its last visit.
    scale : {"auto", None}
        "auto" scales each feature to [0, 1] (dense data) or by its largest absolute value (sparse data), as measured
        on the training vectors, and clips later values.
    class_weight : dict, "balanced" or None
    engine : {"auto", "cpu", "gpu", "reference"}
    n_jobs : int or None
        Threads of prediction; a single model trains on one. None means all cores, and one inside a parallel worker. The
        result does not depend on it.
    warm_start : bool
        Whether ``fit`` continues from the fitted parameters.
    random_state : int, RandomState or None
    verbose : int
        0 is silent, 1 prints about once a second, 2 every epoch.

    Attributes
    ----------
    W_ : ndarray of shape (n_hidden, n_features)
    U_ : ndarray of shape (n_hidden, n_classes)
    b_, c_, d_ : ndarray
        Biases of inputs, hidden units and classes. All five can be assigned; predictions follow them.
    classes_ : ndarray of shape (n_classes,)
    history_ : dict of lists
        ``loss``, ``held_out_loss`` and ``held_out_error``, one value per epoch.
    best_epoch_ : int
        The epoch whose parameters were kept, counted from 1.
    n_epochs_ : int
        How many epochs were run.
    settings_ : Settings
        The settings of the fitted model.

    Examples
    --------
    >>> from setrbm import ClassSetRBM
    >>> from setrbm.datasets import load_musk1
    >>> bags, y = load_musk1()
    >>> model = ClassSetRBM(random_state=0).fit(bags[:80], y[:80])
    >>> model.predict_proba(bags[80:]).shape
    (12, 2)
    """

    n_hidden: Any = 100
    _: KW_ONLY
    constraint: Any = "xor"
    pooling: Any = "hard"
    objective: Any = "discriminative"
    learning_rate: Any = 0.05
    generative_learning_rate: Any = 0.003
    max_epochs: int = 300
    early_stopping: bool = True
    validation_fraction: float = 0.2
    patience: int | None = 50
    stopping: Criterion = "likelihood"
    batch_size: Any = 1
    weight_decay: Any = 0.0
    init_scale: Any = 0.3
    visible: Any = "binary"
    cd_steps: Any = 1
    persistent: bool = False
    scale: str | None = "auto"
    class_weight: Any = None
    engine: str = "auto"
    n_jobs: int | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0


@dataclass(eq=False, repr=False)
class ClassSetRBMCV(Choosing, BaseSetRBM):
    """ClassSetRBM that chooses its settings on held-out training sets, then learns from all of them.

    Any of ``CHOOSABLE`` may be given as a list or tuple of values. All combinations are trained side by side on the
    training sets without a held-out part. The one with the best held-out score is chosen, together with its number of
    epochs, and (with ``refit``) trained again on all sets for that many epochs, ``n_fits`` times from different starts,
    whose free energies are averaged. With the default pooling, four of five fits pool by the maximum, one by the mean.
    The defaults were chosen inside training parts of eleven data sets (``docs/decisions/0007-kinds-and-scaling.md``).

    Parameters
    ----------
    n_hidden, constraint, objective, learning_rate, generative_learning_rate, batch_size, weight_decay, init_scale, \
cd_steps : as for ClassSetRBM, or a list of values to choose from
    pooling : {"mixed", "hard", "soft", "mean"}, or a list of values to choose from
        "mixed" chooses the other settings with hard pooling, and averages fits with hard pooling (four of five) and
        with mean pooling (one of five): the former decide by the strongest vector, the latter by the share of vectors
        with a feature. With fewer than five fits (``n_fits``, ``refit=False``, or an ``objective`` that models the sets
        themselves), and for sparse sets, it is "hard".
    max_epochs : int, or a list of values to choose from
        The longest training.
    early_stopping : bool or "auto"
        Whether any epoch may be the best. If not, all candidates train to the end (or to one of the numbers of epochs
        offered by ``max_epochs``) and are judged by their mean score over the last tenth of the epochs. "auto" stops
        early if at least 200 sets are held out: on fewer sets the best epoch is mostly luck.
    halving : bool
        Whether, without early stopping, the worse half of the candidates (of those with the same constraint, pooling,
        objective and number of units) is dropped after an eighth of the epochs, and again after a quarter, but never
        before 25 epochs.
    cv : int, splitter, iterable of splits, or None
        What is held out. None holds out ``validation_fraction`` of each class, once. An integer, or a splitter of
        scikit-learn, trains every candidate once per split and compares mean scores; this needs ``refit``.
    scoring : str, callable or None
        The score by which finished candidates are compared, as in scikit-learn. None compares what ``stopping``
        watches: the log loss or the error. The number of epochs is always chosen by ``stopping``. A scorer ignores
        ``sample_weight`` and ``class_weight``, and sees the held-out sets as the model does, scaled (``scale``). With
        ``cv`` it needs ``early_stopping=False`` and one ``max_epochs``.
    refit : bool
        Whether to train the chosen settings again on all sets. False is the paper's way: the best candidate is kept.
    n_fits : int or "auto"
        How many refits are averaged: "auto" is 5, or 10 with mixed pooling, but 1 with ``refit=False`` or if a model of
        the sets themselves is learned (``objective``), which an average is not.
    calibrate : bool
        Whether to fit a temperature, which divides the free energies, to predictions for sets that the model did not
        learn from: those of five folds, each refitted without it. It changes probabilities, not predicted classes, and
        takes five times as long as the refit. With ``refit=False`` the held-out sets are used.
    scale : {"auto", "center", "standardize", None}
        "auto" scales each feature as ClassSetRBM does. "center" and "standardize" do so too, and then train on inputs
        with zero mean ("standardize": and equal variances) whose total variance is the same for all data, so that the
        same learning rates suit them. ``init_scale`` and ``weight_decay`` refer to these inputs; the fitted model is
        converted back to values in [0, 1]. With mixed pooling "auto" is "center" for hard pooling and "standardize" for
        mean pooling. Sparse data take "auto" or None.
    n_jobs : int or None
        Threads, which train candidates and refits side by side; otherwise as for ClassSetRBM.
    validation_fraction, patience, stopping, visible, persistent, class_weight, engine, random_state, verbose \
: as for ClassSetRBM

    Attributes
    ----------
    best_params_ : dict
        The chosen value of every setting given as a list.
    best_score_ : float
        Its mean held-out score, where higher is better: the mean log p(y | X), the accuracy with ``stopping="error"``,
        or what ``scoring`` gives. Optimistic, since it is the best of several.
    best_index_ : int
        Its position in ``cv_results_``.
    cv_results_ : dict
        One entry per candidate, in scikit-learn's layout: ``params``, ``param_*``, ``split0_test_score`` and so on,
        ``mean_test_score`` (NaN for candidates that diverged or were dropped), ``std_test_score``,
        ``rank_test_score``; also ``n_epochs``, ``diverged``, ``dropped``, and the curves of each split, such as
        ``split0_history``. ``history_`` is that of the refit (the first of several).
    n_splits_ : int
        How often sets were held out.
    temperature_ : float
        The number of fits averaged: the letters hold all their hidden units, and p(y | X) is the softmax of
        -F / (``temperature_`` * ``calibration_temperature_``).
    calibration_temperature_ : float
        The temperature fitted by ``calibrate``; 1 without it. Above 1, the model was overconfident.

    Examples
    --------
    >>> from setrbm import ClassSetRBMCV
    >>> from setrbm.datasets import load_musk1
    >>> bags, y = load_musk1()
    >>> model = ClassSetRBMCV(learning_rate=(0.01, 0.1), init_scale=0.3, max_epochs=40, random_state=0).fit(bags, y)
    >>> sorted(model.best_params_), len(model.cv_results_["params"])
    (['learning_rate'], 2)
    """

    AVERAGES = True
    CHOOSABLE: ClassVar[tuple[str, ...]] = (
        "n_hidden", "constraint", "pooling", "objective", "learning_rate", "generative_learning_rate", "batch_size",
        "weight_decay", "init_scale", "cd_steps", "max_epochs",
    )  # fmt: skip

    n_hidden: Any = 100
    _: KW_ONLY
    constraint: Any = "xor"
    pooling: Any = "mixed"
    objective: Any = "discriminative"
    learning_rate: Any = (0.01, 0.03, 0.1)
    generative_learning_rate: Any = 0.003
    max_epochs: Any = 400
    early_stopping: bool | str = "auto"
    halving: bool = True
    cv: Any = None
    scoring: Any = None
    validation_fraction: float = 0.2
    patience: int | None = 50
    stopping: Criterion = "likelihood"
    batch_size: Any = 1
    weight_decay: Any = 0.0
    init_scale: Any = (0.3, 1.0)
    visible: Any = "binary"
    cd_steps: Any = 1
    persistent: bool = False
    scale: str | None = "auto"
    class_weight: Any = None
    refit: bool = True
    n_fits: int | str = "auto"
    calibrate: bool = False
    engine: str = "auto"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def _settings(self, **chosen: Any) -> Settings:
        settings = super()._settings(**chosen)
        few = is_count(self.n_fits) and int(self.n_fits) < len(MIXED)
        return settings.unmixed if settings.generative or few or not self.refit else settings

    @classmethod
    def for_text(cls, **settings: Any) -> Self:
        """Return an unfitted estimator with settings that suit the word vectors of PageWords.

        Learning rate and number of epochs are fixed, so a fit takes seconds; five fits are averaged. The scores in
        ``cv_results_`` are optimistic if the weights of the words are "informative": the held-out sets have had a part
        in them. This holds for the temperature of ``calibrate=True`` too; use CalibratedClassifierCV around the
        whole pipeline instead.

        Parameters
        ----------
        settings : as for ClassSetRBMCV
            They override those for text.

        Examples
        --------
        >>> ClassSetRBMCV.for_text(n_hidden=50)
        ClassSetRBMCV(early_stopping=False, init_scale=0.1, learning_rate=0.25,
                      max_epochs=20, n_hidden=50, pooling='hard', scale=None)
        """
        return cls(**FOR_TEXT | settings)
