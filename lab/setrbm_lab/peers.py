"""Other methods to compare with, as scikit-learn estimators of sets. Their packages are imported only when used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from setrbm import draws
from setrbm._types import Array, Floats, Integers
from setrbm.bags import Bags
from setrbm.estimators import InputPooling, PerVector
from setrbm.estimators.inputs import as_bags, unchanged_on_error
from setrbm.estimators.labels import as_codes
from setrbm.estimators.scoring import SetClassifierMixin
from setrbm.estimators.settings import choices_of
from setrbm.scaling import Scaling
from setrbm.training import hold_out
from setrbm.training.early_stopping import late


def pooled_svm(C: float = 1.0, gamma: Any = "scale", **settings: Any) -> Pipeline:
    """Return an SVM on the minimum and maximum of each feature over a set; features are scaled to [0, 1] first.

    Examples
    --------
    >>> from setrbm.datasets import load_musk1
    >>> from setrbm_lab.peers import pooled_svm
    >>> bags, y = load_musk1()
    >>> pooled_svm(C=10.0).fit(bags[:80], y[:80]).predict(bags[80:]).shape
    (12,)
    """
    scaler = PerVector(MinMaxScaler(clip=True))
    return make_pipeline(scaler, InputPooling(["min", "max"]), SVC(C=C, gamma=gamma, **settings))


@dataclass(eq=False, repr=False)
class GatedAttention(SetClassifierMixin, BaseEstimator):
    """Gated-attention network for two classes (torchmil's ABMIL) with the learning rate chosen on held-out sets.

    Needs the extra ``peers``. Trained with Adam, one set per step. For a fair comparison it follows the recipe of our
    own models: all rates are trained for all epochs, except that the worse half is dropped after an eighth of the
    epochs and again after a quarter; the rate with the lowest mean held-out loss over the last tenth of the epochs is
    refitted on all sets.

    Parameters
    ----------
    n_hidden : int
        Number of units of the layer before the attention.
    attention : int
        Number of units of the attention layer.
    learning_rate : tuple of float
        The candidates.
    max_epochs : int
    weight_decay : float
    validation_fraction : float
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    learning_rate_ : float
    best_score_ : float
        The mean held-out -log p(y | X) of the chosen rate.

    Examples
    --------
    >>> from setrbm.datasets import load_musk1
    >>> from setrbm_lab.peers import GatedAttention
    >>> bags, y = load_musk1()
    >>> model = GatedAttention(10, learning_rate=(1e-3,), max_epochs=2, random_state=0).fit(bags[:80], y[:80])
    >>> model.predict_proba(bags[80:]).shape
    (12, 2)
    """

    n_hidden: int = 100
    _: KW_ONLY
    attention: int = 64
    learning_rate: tuple[float, ...] = (1e-4, 3e-4, 1e-3, 3e-3)
    max_epochs: int = 100
    weight_decay: float = 1e-4
    validation_fraction: float = 0.2
    random_state: Any = None

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to labeled sets."""
        with unchanged_on_error(self):
            bags = as_bags(self, X, reset=True)
            self.classes_, codes = as_codes(bags, y)
            if len(self.classes_) > 2:
                raise ValueError(f"GatedAttention supports two classes. Got {len(self.classes_)}.")
            self._check_settings()
            self.scaling_ = Scaling.fit(bags)
            seed = draws.new_seed(check_random_state(self.random_state))
            held_out = hold_out(codes, self.validation_fraction, seed, at_least_one=True)
            sets = self._tensors(bags)
            with _one_thread():
                self.learning_rate_, self.best_score_ = self._choose(sets, codes, held_out, seed)
                if not np.isfinite(self.best_score_):
                    raise ValueError(
                        f"Training diverged with every learning rate in {self.learning_rate}. Try smaller ones."
                    )
                chosen = _Training(self._network(seed), self.learning_rate_, self.weight_decay)
                for epoch in range(self.max_epochs):
                    chosen.run_epoch(sets, codes, draws.order(seed, epoch, np.arange(len(codes))))
            self.network_ = chosen.network
        return self

    def _check_settings(self) -> None:
        rates = choices_of(self.learning_rate)
        if not rates or not all(isinstance(rate, Real) and 0.0 < float(rate) < np.inf for rate in rates):
            raise ValueError(f"learning_rate must be one or more positive numbers. Got {self.learning_rate!r}.")
        if not isinstance(self.max_epochs, Integral) or self.max_epochs < 1:
            raise ValueError(f"max_epochs must be an integer of 1 or more. Got {self.max_epochs!r}.")
        if not 0.0 < self.validation_fraction < 1.0:
            raise ValueError(f"validation_fraction must be between 0 and 1. Got {self.validation_fraction!r}.")

    def _choose(self, sets: list[Any], codes: Integers, held_out: Integers, seed: int) -> tuple[float, float]:
        """Return the rate with the lowest held-out loss, and that loss."""
        train = np.setdiff1d(np.arange(len(codes)), held_out)
        judged = held_out if len(held_out) else train
        running = [_Training(self._network(seed), rate, self.weight_decay) for rate in choices_of(self.learning_rate)]
        for epoch in range(self.max_epochs):
            for training in running:
                training.run_epoch(sets, codes, draws.order(seed, epoch, train))
                training.losses.append(self._loss(training.network, sets, codes, judged))
            if epoch + 1 in (self.max_epochs // 8, self.max_epochs // 4):
                running = sorted(running, key=_Training.late_loss)[: (len(running) + 1) // 2]
        best = min(running, key=_Training.late_loss)
        return best.rate, best.late_loss()

    def _tensors(self, bags: Bags) -> list[Any]:
        torch = _torch()
        X = self.scaling_.apply(bags)
        return [torch.tensor(s.toarray() if X.is_sparse else s, dtype=torch.float32).unsqueeze(0) for s in X]

    def _network(self, seed: int) -> Any:
        torch = _torch()
        from torchmil.models import ABMIL

        with torch.random.fork_rng(devices=()):
            torch.manual_seed(seed)
            layer = torch.nn.Sequential(torch.nn.Linear(self.n_features_in_, self.n_hidden), torch.nn.ReLU())
            return ABMIL(in_shape=(self.n_features_in_,), att_dim=self.attention, gated=True, feat_ext=layer)

    def _loss(self, network: Any, sets: list[Any], codes: Integers, which: Integers) -> float:
        logits = self._logits(network, [sets[t] for t in which])
        with np.errstate(invalid="ignore"):
            loss = float(np.logaddexp(0.0, np.where(codes[which] == 1, -logits, logits)).mean())
        return loss if np.isfinite(loss) else np.inf

    @staticmethod
    def _logits(network: Any, sets: list[Any]) -> Floats:
        torch = _torch()
        with torch.no_grad(), _one_thread():
            return np.array([float(network(tensor)) for tensor in sets])

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds of the second class for each set."""
        check_is_fitted(self, "network_")
        return self._logits(self.network_, self._tensors(as_bags(self, X, reset=False)))

    def predict_proba(self, X: Any) -> Array:
        """Return p(y | X), of shape (n_sets, 2)."""
        p = 1.0 / (1.0 + np.exp(-self.decision_function(X)))
        return np.column_stack([1.0 - p, p])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the predicted class of each set."""
        return np.asarray(self.classes_[(self.decision_function(X) > 0.0).astype(int)])


class _Training:
    """A network in training, with its held-out losses so far."""

    def __init__(self, network: Any, rate: float, weight_decay: float) -> None:
        self.network, self.rate = network, rate
        self.optimizer = _torch().optim.Adam(network.parameters(), lr=rate, weight_decay=weight_decay, fused=True)
        self.losses: list[float] = []

    def run_epoch(self, sets: list[Any], codes: Integers, order: Integers) -> None:
        """Make one step per set, in the given order."""
        targets = _torch().tensor(codes, dtype=_torch().float32).unsqueeze(1)
        for t in order.tolist():
            self.optimizer.zero_grad()
            self.network.criterion(self.network(sets[t]), targets[t]).backward()
            self.optimizer.step()

    def late_loss(self) -> float:
        """Return the mean held-out loss over the last tenth of the epochs."""
        return float(np.mean(self.losses[late(len(self.losses))]))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit torch to one thread; with products this small, more threads only wait for each other."""
    torch = _torch()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _torch() -> Any:
    try:
        import torch
        import torchmil  # noqa: F401
    except ImportError:
        raise ImportError("GatedAttention needs torch and torchmil: pip install 'setrbm[peers]'.") from None
    return torch
