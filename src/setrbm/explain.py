r"""Which vectors and which features are responsible for a prediction.

For vector s of a set and class y: the *drop*, :math:`\log p(y \mid X) - \log p(y \mid X \setminus x_s)`; the
posterior of the vector *alone*; and the *contributions* of its features, the gradient of the class's log-odds times
the input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setrbm._types import Array, Constraint, Integers, Mask
from setrbm.bags import Bags, FrameBackend, as_frame, as_positions, rows_of
from setrbm.energy import Params, activations, free_energy_of_pool, log_posterior, pool_gradient
from setrbm.pooling.pools import pools_without_each, set_pool, values
from setrbm.tools.text import count, listed

# Number of vectors explained at once, which bounds the memory.
CHUNK = 2048
# The axis of the drops reaches at least this far, or a ladder of rounding errors would look like evidence.
NARROWEST = 0.01


@dataclass(frozen=True, repr=False)
class Explanation:
    """Explanation of the class of each set. Rows of the arrays are vectors; those of a set are contiguous.

    A vector *decided* if leaving it out changes the predicted class of its set. Often no vector did: the others give
    the same class without it. In other sets several did, each of them needed for the class. Whether a vector decided
    depends on the predicted class alone, whichever class is explained; of classes with equal probabilities the first is
    predicted. A set of one vector has neither a drop nor a vector that decided: leaving it out leaves an empty set, for
    which the model is not defined.

    Attributes
    ----------
    classes : ndarray of shape (n_sets,)
        The class that is explained: the predicted or the requested one.
    predicted : ndarray of shape (n_sets,)
        The predicted class.
    drop : ndarray of shape (n_vectors,)
        Decrease of the log-probability of the explained class if the vector is left out. It is negative if the vector
        is evidence against the class, and NaN for the only vector of a set. Two identical vectors can both have a drop
        of 0 although the class rests on them, so consider ``alone`` as well.
    decided : ndarray of bool of shape (n_vectors,)
        Whether the predicted class changes if the vector is left out.
    alone : ndarray of shape (n_vectors, n_classes)
        The posterior of each vector as a set of its own.
    contributions : ndarray or csr_array of shape (n_vectors, n_features)
        Gradient of the log-odds of the class times the (scaled) input.
    total : ndarray of shape (n_sets,)
        The sum of a set's contributions.
    offsets : ndarray of shape (n_sets + 1,)
    ids : ndarray of shape (n_sets,)
    labels : ndarray of shape (n_classes,)
        The classes in the columns of ``alone``.
    feature_names : ndarray of shape (n_features,), optional

    Examples
    --------
    >>> from setrbm import ClassSetRBM
    >>> from setrbm.datasets import load_musk1
    >>> bags, y = load_musk1()
    >>> explained = ClassSetRBM(max_epochs=5, random_state=0).fit(bags, y).explain(bags[:2])
    >>> explained
    Explanation(2 sets, 8 vectors, 166 features)
    >>> explained.drop.shape, explained.strongest_vectors().shape, len(explained.top_features(3)[0])
    ((8,), (2,), 3)
    >>> list(explained.to_frame().columns)
    ['set', 'vector', 'class', 'drop', 'alone', 'decided']
    """

    classes: npt.NDArray[Any]
    predicted: npt.NDArray[Any]
    drop: Array
    decided: Mask
    alone: Array
    contributions: Any
    total: Array
    offsets: Integers
    ids: npt.NDArray[Any]
    labels: npt.NDArray[Any]
    feature_names: npt.NDArray[Any] | None = None

    def __repr__(self) -> str:
        counts = ((len(self), "set"), (len(self.drop), "vector"), (self.contributions.shape[1], "feature"))
        return f"Explanation({', '.join(count(n, word) for n, word in counts)})"

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, key: Any) -> Explanation:
        """Return the explanation of one set or, for a slice, a mask or a list of positions, of several."""
        sets = as_positions([key] if isinstance(key, Integral) else key, len(self))
        rows, offsets = rows_of(self.offsets, sets)
        return Explanation(
            self.classes[sets],
            self.predicted[sets],
            self.drop[rows],
            self.decided[rows],
            self.alone[rows],
            self.contributions[rows],
            self.total[sets],
            offsets,
            self.ids[sets],
            self.labels,
            self.feature_names,
        )

    def __iter__(self) -> Iterator[Explanation]:
        return (self[k] for k in range(len(self)))

    def strongest_vectors(self) -> Integers:
        """Return for each set the position of the vector with the largest drop, whether or not it ``decided``."""
        return np.array([int(part.drop.argmax()) for part in self])

    def top_features(self, n: int = 5) -> list[list[tuple[Any, float]]]:
        """Return for each set the n features with the largest absolute contribution, summed over its vectors."""
        _check_count(n)
        tops = []
        for part in self:
            weight = np.asarray(part.contributions.sum(axis=0)).ravel()
            tops.append(self._named(weight, np.argsort(-np.abs(weight), kind="stable")[:n]))
        return tops

    def features_for(self, vector: int, n: int = 5) -> list[tuple[Any, float]]:
        """Return the n features of a vector with the largest contributions for the class; none that speak against it.

        Parameters
        ----------
        vector : int
            Its position among all vectors of the explanation; in its set, if this is the explanation of one set.
        n : int
        """
        _check_count(n)
        row = self.contributions[[vector]]
        weight = (row.toarray() if sparse.issparse(row) else row)[0]
        best = np.argsort(-weight, kind="stable")[:n]
        return self._named(weight, best[weight[best] > 0.0])

    def _named(self, weight: Array, chosen: Integers) -> list[tuple[Any, float]]:
        """Return the names, or else the positions, of some features with their weights."""
        names = chosen.tolist() if self.feature_names is None else self.feature_names[chosen].tolist()
        return list(zip(names, weight[chosen].tolist(), strict=True))

    def _alone(self) -> Array:
        """Return the probability of the explained class of its set for each vector alone."""
        codes = np.searchsorted(self.labels, self.classes)
        return self.alone[np.arange(len(self.drop)), np.repeat(codes, np.diff(self.offsets))]

    def to_frame(self, backend: FrameBackend = "pandas") -> Any:
        """Return a data frame with one row per vector.

        Columns: the id of the set, the position of the vector in it, the explained class, ``drop``, the probability of
        the class for the vector ``alone``, and whether the vector ``decided``.
        """
        sizes = np.diff(self.offsets)
        columns = {
            "set": np.repeat(self.ids, sizes),
            "vector": np.arange(len(self.drop)) - np.repeat(self.offsets[:-1], sizes),
            "class": np.repeat(self.classes, sizes),
            "drop": self.drop,
            "alone": self._alone(),
            "decided": self.decided,
        }
        return as_frame(columns, backend)

    def plot(self, n_features: int = 8, figure: Any = None) -> Any:
        """Draw the explanation of one set: drops, probabilities of the vectors alone, and the top features.

        Vectors that decided have another color.

        Parameters
        ----------
        n_features : int
            How many features to show.
        figure : matplotlib Figure or SubFigure, optional
            Where to draw; by default a new figure of pyplot.

        Returns
        -------
        ndarray of three matplotlib Axes
        """
        if len(self) != 1:
            raise ValueError(f"plot shows one set. Got {len(self)}. Select one first: explanation[0].plot().")
        axes = _draw(figure, self.drop, self.decided, self._alone(), self.top_features(n_features)[0])
        axes[0].figure.suptitle(self._title())
        return axes

    def _title(self) -> str:
        """Return the class of one set, and what is known of its vectors."""
        facts = [verdict(self.decided)]
        if self.classes[0] != self.predicted[0]:
            facts.insert(0, f"predicted {self.predicted[0]}")
        if len(self.drop) > 1 and not self.decided.any():
            facts.append(f"the largest drop is {self.drop.max():+.2g}")
        return f"Set {self.ids[0]}: {self.classes[0]} ({'; '.join(facts)})"


def verdict(decided: Sequence[bool] | Mask, vector: str = "vector", first: int = 0) -> str:
    """Return in words which vectors of a set decided.

    Parameters
    ----------
    decided : sequence of bool
        Whether each vector of the set decided.
    vector : str
        What a vector is called.
    first : int
        The number of the first vector.

    Examples
    --------
    >>> verdict([False, True, False]), verdict([True, True]), verdict([False, False]), verdict([False], "page")
    ('vector 1 decided', 'each of vectors 0, 1 decided', 'no single vector decided', 'it has only one page')
    """
    if len(decided) == 1:
        return f"it has only one {vector}"
    who = [first + s for s, is_needed in enumerate(decided) if is_needed]
    if not who:
        return f"no single {vector} decided"
    return f"{vector} {who[0]} decided" if len(who) == 1 else f"each of {vector}s {listed(who)} decided"


def _check_count(n: int) -> None:
    if n < 1:
        raise ValueError(f"n must be 1 or more. Got {n}.")


# Vectors that decided, other vectors, and features; from a palette that is safe for color-blind readers.
DECIDING, OTHERS, FEATURES = "#D55E00", "#56B4E9", "#0072B2"


def _draw(figure: Any, drop: Array, decided: Mask, alone: Array, features: list[tuple[Any, float]]) -> Any:
    """Draw one set, one panel per quantity."""
    if figure is None:
        try:
            from matplotlib import pyplot as plt
        except ImportError:
            raise ImportError("plot needs matplotlib. Run: pip install matplotlib.") from None

        figure = plt.figure(figsize=(9.0, 1.6 + 0.28 * max(min(len(drop), 30), len(features))), layout="constrained")
    axes = figure.subplots(1, 3)
    axes[1].sharey(axes[0])
    places = np.arange(len(drop))
    colors = np.where(decided, DECIDING, OTHERS)
    axes[0].barh(places, drop, color=colors)
    axes[1].barh(places, alone, color=colors)
    axes[0].set(ylabel="vector", xlabel="drop in log p without the vector")
    axes[1].set(xlabel="p of the class, vector alone", xlim=(0.0, 1.0))
    known = np.nan_to_num(drop)
    axes[0].set_xlim(min(float(known.min()), 0.0) - NARROWEST, max(float(known.max()), 0.0) + NARROWEST)
    axes[0].yaxis.get_major_locator().set_params(integer=True)
    axes[0].invert_yaxis()
    names, weights = zip(*features, strict=True)
    axes[2].barh(range(len(names)), weights, color=FEATURES)
    axes[2].set_yticks(range(len(names)), [str(name) for name in names])
    axes[2].invert_yaxis()
    axes[2].set(xlabel="contribution of the feature")
    for panel in axes:
        panel.axvline(0.0, color="black", linewidth=0.8)
        panel.spines[["top", "right"]].set_visible(False)
    return axes


def log_odds_slopes(p: Array, y: Integers) -> Array:
    r"""Return the derivative of :math:`\log p_y - \log(1 - p_y)` by each logit: 1, and :math:`-p_{y'} / (1 - p_y)`."""
    others = p.copy()
    rows = np.arange(len(y))
    others[rows, y] = 0.0
    rest = others.sum(axis=1, keepdims=True)
    # If the other classes have no probability left, they share it equally.
    slopes = np.where(rest > 0, -others / np.where(rest > 0, rest, 1.0), -1.0 / (p.shape[1] - 1))
    slopes[rows, y] = 1.0
    return slopes


def _contributions(X: Any, d_a: Array, W: Array) -> Any:
    """Return gradient times input; for sparse vectors only for stored values."""
    gradient = d_a @ W
    if not sparse.issparse(X):
        return X * gradient
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return sparse.csr_array((X.data * gradient[rows, X.indices], X.indices, X.indptr), shape=X.shape)


def _explain_chunk(
    bags: Bags, y: Integers, params: Params, constraint: Constraint, pooling: str, temperature: float
) -> tuple[Array, Mask, Array, Any, Array]:
    def log_p_of(pool: Array) -> Array:
        return log_posterior(free_energy_of_pool(pool, params) / temperature)

    a = activations(bags.X, params)
    v = values(a, constraint)
    pool, slope = set_pool(a, bags.offsets, constraint, pooling)
    log_p = log_p_of(pool)
    of_vector = np.repeat(np.arange(len(y)), bags.sizes)
    without = log_p_of(pools_without_each(v, bags.offsets, pooling))
    # An empty set has no class.
    has_others = bags.sizes[of_vector] > 1
    drop = np.where(has_others, log_p[of_vector, y[of_vector]] - without[np.arange(len(v)), y[of_vector]], np.nan)
    decided = has_others & (log_p.argmax(axis=1)[of_vector] != without.argmax(axis=1))
    alone = np.exp(log_p_of(v))
    d_pool, _ = pool_gradient(pool, params, log_odds_slopes(np.exp(log_p), y) / temperature)
    contributions = _contributions(bags.X, d_pool[of_vector] * slope, params.W)
    total = np.add.reduceat(np.asarray(contributions.sum(axis=1)).ravel(), bags.offsets[:-1])
    return drop, decided, alone, contributions, total


def explain(
    bags: Bags, y: Integers, params: Params, constraint: Constraint, pooling: str, temperature: float = 1.0
) -> tuple[Array, Mask, Array, Any, Array]:
    """Return drop, decided, alone, contributions and totals for class codes y; see ``Explanation``."""
    params = params.astype(np.float64)
    parts, first = [], 0
    while first < len(bags):
        reach = bags.offsets[first] + CHUNK
        last = max(first + 1, int(np.searchsorted(bags.offsets, reach, side="right")) - 1)
        parts.append(_explain_chunk(bags[first:last], y[first:last], params, constraint, pooling, temperature))
        first = last
    drop, decided, alone, contributions, total = zip(*parts, strict=True)
    stack = sparse.vstack(contributions, format="csr") if bags.is_sparse else np.concatenate(contributions)
    return np.concatenate(drop), np.concatenate(decided), np.concatenate(alone), stack, np.concatenate(total)
