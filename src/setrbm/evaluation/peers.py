"""What a user would take instead today, under the same interface: thin adapters, loaded only when used."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from setrbm import draws
from setrbm._types import Array, Floats, Integers
from setrbm.bags import Bags
from setrbm.estimators import InputPooling, PerVector
from setrbm.estimators._inputs import as_bags, as_codes, unchanged_on_error
from setrbm.scaling import Scaling
from setrbm.training import hold_out


def pooled_svm(C: float = 1.0, gamma: Any = "scale", **settings: Any) -> Pipeline:
    """Return an SVM on the least and the largest value of each feature over a set, scaled to [0, 1] first.

    Examples
    --------
    >>> from setrbm.datasets import load_musk1
    >>> from setrbm.evaluation.peers import pooled_svm
    >>> bags, y = load_musk1()
    >>> pooled_svm(C=10.0).fit(bags[:80], y[:80]).predict(bags[80:]).shape
    (12,)
    """
    scaler = PerVector(MinMaxScaler(clip=True))
    return make_pipeline(scaler, InputPooling(["min", "max"]), SVC(C=C, gamma=gamma, **settings))


class GatedAttention(ClassifierMixin, BaseEstimator):
    """Gated-attention network (ABMIL of the package torchmil), rate and epoch chosen on held-out sets; two classes.

    Needs the extra ``peers``. One set a step, with Adam; the parameters of the best epoch of the best rate are kept.

    Parameters
    ----------
    n_hidden : int
        Units of the layer before the attention.
    attention : int
        Units of the attention.
    learning_rate : tuple of float
        The rates to choose from, by held-out likelihood.
    max_epochs, patience : int
    weight_decay : float
    validation_fraction : float
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    learning_rate_ : float
    best_epoch_ : int
    best_score_ : float
        The held-out mean -log p(y | X).

    Examples
    --------
    >>> from setrbm.datasets import load_musk1
    >>> from setrbm.evaluation.peers import GatedAttention
    >>> bags, y = load_musk1()
    >>> model = GatedAttention(10, learning_rate=(1e-3,), max_epochs=2, random_state=0).fit(bags[:80], y[:80])
    >>> model.predict_proba(bags[80:]).shape
    (12, 2)
    """

    def __init__(
        self,
        n_hidden: int = 100,
        *,
        attention: int = 64,
        learning_rate: tuple[float, ...] = (1e-4, 3e-4, 1e-3, 3e-3),
        max_epochs: int = 100,
        patience: int = 20,
        weight_decay: float = 1e-4,
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.attention = attention
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.patience = patience
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from labelled sets."""
        with unchanged_on_error(self):
            bags = as_bags(self, X, reset=True)
            self.classes_, codes = as_codes(bags, y)
            if len(self.classes_) > 2:
                raise ValueError(f"GatedAttention must have two classes. Got {len(self.classes_)}.")
            self.scaling_ = Scaling.fit(bags)
            seed = draws.new_seed(check_random_state(self.random_state))
            held_out = hold_out(codes, self.validation_fraction, seed, at_least_one=True)
            sets = self._tensors(bags)
            tried = [self._train(sets, codes, held_out, rate, seed) for rate in self.learning_rate]
            best = min(tried, key=lambda one: one[0])
            self.best_score_, self.best_epoch_, self.learning_rate_, self.network_ = best
        return self

    def _tensors(self, bags: Bags) -> list[Any]:
        torch = _torch()
        X = self.scaling_.apply(bags)
        return [torch.tensor(s.toarray() if X.is_sparse else s, dtype=torch.float32).unsqueeze(0) for s in X]

    def _network(self, seed: int) -> Any:
        torch = _torch()
        from torchmil.models import ABMIL

        torch.manual_seed(seed)
        layer = torch.nn.Sequential(torch.nn.Linear(self.n_features_in_, self.n_hidden), torch.nn.ReLU())
        return ABMIL(in_shape=(self.n_features_in_,), att_dim=self.attention, gated=True, feat_ext=layer)

    def _train(
        self, sets: list[Any], codes: Integers, held_out: Integers, rate: float, seed: int
    ) -> tuple[float, int, float, Any]:
        """Return the best held-out loss of one rate, its epoch, the rate, and the network as it was then."""
        torch = _torch()
        network = self._network(seed)
        optimiser = torch.optim.Adam(network.parameters(), lr=rate, weight_decay=self.weight_decay)
        targets = torch.tensor(codes, dtype=torch.float32).unsqueeze(1)
        learned_from = np.setdiff1d(np.arange(len(codes)), held_out)
        best, best_epoch, kept = np.inf, 0, None
        for epoch in range(self.max_epochs):
            for t in draws.order(seed, epoch, learned_from).tolist():
                optimiser.zero_grad()
                network.criterion(network(sets[t]), targets[t]).backward()
                optimiser.step()
            score = self._loss(network, sets, codes, held_out if len(held_out) else learned_from)
            if score < best:
                best, best_epoch = score, epoch + 1
                kept = {name: value.clone() for name, value in network.state_dict().items()}
            elif epoch + 1 - best_epoch >= self.patience:
                break
        if kept is not None:
            network.load_state_dict(kept)
        return best, best_epoch, rate, network

    def _loss(self, network: Any, sets: list[Any], codes: Integers, which: Integers) -> float:
        logits = self._logits(network, [sets[t] for t in which])
        return float(np.logaddexp(0.0, np.where(codes[which] == 1, -logits, logits)).mean())

    @staticmethod
    def _logits(network: Any, sets: list[Any]) -> Floats:
        torch = _torch()
        with torch.no_grad():
            return np.array([float(network(one)) for one in sets])

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds of the second class of each set."""
        check_is_fitted(self, "network_")
        return self._logits(self.network_, self._tensors(as_bags(self, X, reset=False)))

    def predict_proba(self, X: Any) -> Array:
        """Return p(y | X), of shape (n_sets, 2)."""
        p = 1.0 / (1.0 + np.exp(-self.decision_function(X)))
        return np.column_stack([1.0 - p, p])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each set."""
        return np.asarray(self.classes_[(self.decision_function(X) > 0.0).astype(int)])


def _torch() -> Any:
    try:
        import torch
        import torchmil  # noqa: F401
    except ImportError:
        raise ImportError("GatedAttention needs torch and torchmil: pip install 'setrbm[peers]'.") from None
    return torch
