"""One model on a device: every variant, on mini-batches of packed sets, dense or sparse.

The functions mirror ``energy``, ``gibbs`` and ``max_out``; W is stored transposed, one row per feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.functional import logsigmoid

from setrbm import draws
from setrbm._types import Floats, Integers
from setrbm.energy import Params
from setrbm.engines.gpu import torch_draws
from setrbm.engines.gpu.pools import first_largest, pool_and_share, set_pool
from setrbm.engines.gpu.store import Batch, DenseRows, Store
from setrbm.engines.protocol import LARGEST, Model, Spec

NOBODY = -1
# Sets are scored with at most this many activations in memory.
SCORED_AT_ONCE = 2**26


@dataclass
class DeviceParams:
    """The parameters on the device; Wt is W transposed."""

    Wt: torch.Tensor
    U: torch.Tensor
    b: torch.Tensor
    c: torch.Tensor
    d: torch.Tensor

    @staticmethod
    def of(params: Params, dtype: Any, device: Any) -> DeviceParams:
        """Copy parameters to a device."""
        # The kernels need contiguous rows.
        W, *others = (torch.tensor(array, dtype=dtype, device=device).contiguous() for array in params.arrays())
        return DeviceParams(W.T.contiguous(), *others)

    def tensors(self) -> tuple[torch.Tensor, ...]:
        """Return the five tensors."""
        return self.Wt, self.U, self.b, self.c, self.d

    def copy(self) -> DeviceParams:
        """Return a deep copy."""
        return DeviceParams(*(tensor.clone() for tensor in self.tensors()))

    def params(self) -> Params:
        """Copy the parameters to the host."""
        Wt, *others = (tensor.cpu().numpy() for tensor in self.tensors())
        return Params(Wt.T.copy(), *others)

    def add(self, step: float, other: DeviceParams) -> None:
        """Add ``step`` times other parameters, in place."""
        for mine, theirs in zip(self.tensors(), other.tensors(), strict=True):
            mine.add_(theirs, alpha=step)

    def zeros(self) -> DeviceParams:
        """Return parameters of the same shapes, all zero."""
        return DeviceParams(*(torch.zeros_like(tensor) for tensor in self.tensors()))

    def in_bounds(self) -> torch.Tensor:
        """Return whether every absolute value is at most ``LARGEST``, as a tensor."""
        return torch.stack([(tensor.abs() <= LARGEST).all() for tensor in self.tensors()]).all()


@dataclass
class Hidden:
    """A sample of the hidden units: the vector that holds each unit of a set, and the units that are on per vector."""

    holder: torch.Tensor
    h: torch.Tensor


def activations(rows: Any, p: DeviceParams) -> torch.Tensor:
    """Return c + W x of every vector."""
    a: torch.Tensor = rows.times(p.Wt) + p.c
    return a


def free_energies(pool: torch.Tensor, p: DeviceParams) -> torch.Tensor:
    """Return F of every set and class."""
    return -p.d - torch.stack([-logsigmoid(-pool - U).sum(1) for U in p.U.T], dim=1)


def pool_gradient(pool: torch.Tensor, p: DeviceParams, delta: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Propagate the derivatives with respect to the logits back to the pool and to U."""
    parts = [delta[:, [y]] * torch.sigmoid(pool + p.U[:, y]) for y in range(len(p.d))]
    return torch.stack(parts).sum(0), torch.stack([part.sum(0) for part in parts], dim=1)


def forward(batch: Batch, p: DeviceParams, spec: Spec) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the pooled activations (for max-out: of the deciding vector) and the free energies."""
    a = activations(batch.rows, p)
    if spec.unit == "set":
        pool, _ = set_pool(a, batch, spec.constraint, spec.pooling)
        return pool, free_energies(pool, p)
    logits = unit_logits(a, p, spec)
    decider = deciding_vectors(logits, batch)
    return a[decider], -logits[decider]


def unit_logits(a: torch.Tensor, p: DeviceParams, spec: Spec) -> torch.Tensor:
    """Return the logits of the vectors in a max-out model."""
    if spec.unit == "rbm":
        return -free_energies(a, p)
    if spec.unit == "mlp":
        return p.d + torch.sigmoid(a) @ p.U
    return torch.cat([torch.zeros_like(a), a], dim=1)


def deciding_vectors(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Return the vector of each set with the highest response; the first one in case of ties."""
    _, first = first_largest(logits[:, 1:] - logits[:, :1], batch)
    return torch.nonzero(first[:, 0])[:, 0]


def posterior_step(logits: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Return each set's loss and the derivatives of the weighted losses with respect to the logits."""
    log_p = torch.log_softmax(logits, dim=1)
    labels = batch.labels[:, None]
    delta = torch.exp(log_p).scatter_add(1, labels, -torch.ones_like(log_p[:, :1]))
    return -log_p.gather(1, labels)[:, 0], delta * batch.weights[:, None]


def discriminative(batch: Batch, p: DeviceParams, spec: Spec) -> tuple[torch.Tensor, DeviceParams]:
    """Return each set's loss and the gradient of their weighted sum."""
    a = activations(batch.rows, p)
    if spec.unit != "set":
        return _max_out(a, batch, p, spec)
    pool, slope = set_pool(a, batch, spec.constraint, spec.pooling)
    loss, delta = posterior_step(-free_energies(pool, p), batch)
    d_pool, d_U = pool_gradient(pool, p, delta)
    d_a = d_pool[batch.set_of] * slope
    gradient = DeviceParams(batch.rows.transposed_times(d_a), d_U, torch.zeros_like(p.b), d_a.sum(0), delta.sum(0))
    return loss, gradient


def _max_out(a: torch.Tensor, batch: Batch, p: DeviceParams, spec: Spec) -> tuple[torch.Tensor, DeviceParams]:
    logits = unit_logits(a, p, spec)
    decider = deciding_vectors(logits, batch)
    loss, delta = posterior_step(logits[decider], batch)
    d_U, d_d = torch.zeros_like(p.U), torch.zeros_like(p.d)
    if spec.unit == "rbm":
        d_decider, d_U = pool_gradient(a[decider], p, delta)
        d_d = delta.sum(0)
    elif spec.unit == "mlp":
        on = torch.sigmoid(a[decider])
        d_decider, d_U, d_d = on * (1.0 - on) * (delta @ p.U.T), on.T @ delta, delta.sum(0)
    else:
        d_decider = delta[:, 1:]
    d_a = torch.zeros_like(a).index_copy(0, decider, d_decider)
    return loss, DeviceParams(batch.rows.transposed_times(d_a), d_U, torch.zeros_like(p.b), d_decider.sum(0), d_d)


class BatchDraws:
    """The random numbers for the Gibbs chains of a batch of sets, the same as from ``draws.ChainDraws``."""

    def __init__(self, seed: int, epoch: int, batch: Batch, dtype: Any) -> None:
        self.seed, self.epoch, self.batch, self.dtype = seed, epoch, batch, dtype
        self.device = batch.labels.device

    def _vector_keys(self, step: int, stage: int) -> torch.Tensor:
        numbers = self.batch.numbers[self.batch.set_of]
        return torch_draws.keys(self.seed, self.epoch, numbers, step, stage, self.batch.within, device=self.device)

    def per_set(self, step: int, stage: int, n_units: int) -> torch.Tensor:
        """Return uniform numbers of shape (n_sets, n_units)."""
        key = torch_draws.keys(self.seed, self.epoch, self.batch.numbers, step, stage, 0, device=self.device)
        return torch_draws.uniform(key, n_units).to(self.dtype)

    def per_vector(self, step: int, stage: int, n_units: int) -> torch.Tensor:
        """Return uniform numbers of shape (n_vectors, n_units)."""
        return torch_draws.uniform(self._vector_keys(step, stage), n_units).to(self.dtype)

    def normal_per_vector(self, step: int, n_units: int) -> torch.Tensor:
        """Return the normal numbers for Gaussian inputs, of shape (n_vectors, n_units)."""
        radius, angle = self._vector_keys(step, draws.INPUT), self._vector_keys(step, draws.INPUT_ANGLE)
        return torch_draws.normal(radius, angle, n_units, self.dtype)


def hidden_probabilities(
    a: torch.Tensor, labels: torch.Tensor, batch: Batch, p: DeviceParams, spec: Spec
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return p(h = 1 | X, y) and p(g = 1 | X, y)."""
    pool, share = pool_and_share(a, batch, spec.constraint, spec.joint.pooling)
    g = share * torch.sigmoid(pool + p.U.T[labels])[batch.set_of]
    return (g, g) if spec.constraint == "xor" else (g + (1.0 - g) * torch.sigmoid(a), g)


def sample_hidden(
    a: torch.Tensor, labels: torch.Tensor, batch: Batch, p: DeviceParams, spec: Spec, chain: BatchDraws, step: int
) -> Hidden:
    """Draw g given X and y; under "or", then h given g and X."""
    _, g = hidden_probabilities(a, labels, batch, p, spec)
    u = chain.per_set(step, draws.HOLDER, g.shape[1])[batch.set_of]
    # The cumulative sum within each set, in float64: it is a difference of sums over the whole batch.
    total = torch.cumsum(g.double(), 0)
    before = torch.nn.functional.pad(total, (0, 0, 1, 0))[batch.ends[:-1]]
    nobody = float(2**52)
    candidates = torch.where(u < total - before[batch.set_of], batch.within[:, None].double(), nobody)
    holder = batch.over_sets(candidates, "min")
    holder = torch.where(holder == nobody, float(NOBODY), holder).long()
    h = holder[batch.set_of] == batch.within[:, None]
    if spec.constraint == "or":
        h = h | (chain.per_vector(step, draws.HIDDEN, g.shape[1]) < torch.sigmoid(a))
    return Hidden(holder, h.to(a.dtype))


def sample_visible(
    state: Hidden, p: DeviceParams, spec: Spec, chain: BatchDraws, step: int
) -> tuple[DenseRows, torch.Tensor]:
    """Draw the vectors and the labels given the hidden units."""
    mean = p.b + state.h @ p.Wt.T
    if spec.visible == "binary":
        X = (chain.per_vector(step, draws.INPUT, len(p.b)) < torch.sigmoid(mean)).to(mean.dtype)
    else:
        X = mean + chain.normal_per_vector(step, len(p.b))
    seen = (state.holder != NOBODY).to(mean.dtype)
    cumulative = torch.cumsum(torch.softmax(p.d + seen @ p.U, dim=1), dim=1)
    passed = (chain.per_set(step, draws.TARGET, 1) >= cumulative).sum(1)
    return DenseRows(X), passed.clamp(max=len(p.d) - 1)


def statistics(
    rows: Any, a: torch.Tensor, labels: torch.Tensor, batch: Batch, p: DeviceParams, spec: Spec
) -> DeviceParams:
    """Return the weighted sum over sets of E[-dE / dtheta] given X and y; the bias of Gaussian inputs cancels."""
    h, g = hidden_probabilities(a, labels, batch, p, spec)
    per_vector = batch.weights[batch.set_of][:, None]
    target = torch.nn.functional.one_hot(labels, len(p.d)).to(a.dtype) * batch.weights[:, None]
    h = h * per_vector
    return DeviceParams(
        rows.transposed_times(h),
        batch.over_sets(g, "sum").T @ target,
        rows.transposed_times(per_vector)[:, 0],
        h.sum(0),
        target.sum(0),
    )


def contrastive_divergence(
    batch: Batch, p: DeviceParams, spec: Spec, chain: BatchDraws, state: Hidden | None
) -> tuple[DeviceParams, Hidden]:
    """Return the contrastive-divergence gradient of -log p(X, y) and the chain's last hidden state."""
    a = activations(batch.rows, p)
    if state is None:
        state = sample_hidden(a, batch.labels, batch, p, spec, chain, 0)
    for step in range(1, spec.cd_steps + 1):
        X_model, y_model = sample_visible(state, p, spec, chain, step)
        a_model = activations(X_model, p)
        if step < spec.cd_steps or spec.persistent:
            state = sample_hidden(a_model, y_model, batch, p, spec, chain, step)
    gradient = statistics(X_model, a_model, y_model, batch, p, spec)
    gradient.add(-1.0, statistics(batch.rows, a, batch.labels, batch, p, spec))
    return gradient, state


class PackedModel:
    """One model under training."""

    def __init__(self, spec: Spec, model: Model, dtype: Any, device: Any) -> None:
        self.spec, self.model, self.device = spec, model, device
        self.now = DeviceParams.of(model.params, dtype, device)
        self.best: DeviceParams | None = None
        self.chains: dict[int, Hidden] = {}

    def run(self, store: Store, order: Integers, epoch: int) -> float:
        """Train on the sets in this order and return the mean loss."""
        size, on_device = self.spec.batch_size, torch.from_numpy(order).to(self.device)
        losses = [
            self._step(store.batch(on_device[k : k + size], order[k : k + size]), epoch)
            for k in range(0, len(order), size)
        ]
        weights = store.weights[on_device]
        mean = (torch.cat(losses) * weights).sum() / weights.sum()
        return float(torch.where(self.now.in_bounds(), mean, torch.inf))

    def _step(self, batch: Batch, epoch: int) -> torch.Tensor:
        """Take one step along the negative mean gradient of a batch."""
        p, n = self.now, len(batch.lengths)
        loss, gradient = discriminative(batch, p, self.spec)
        step = p.zeros()
        if self.spec.discriminative:
            step.add(self.model.learning_rate / n, gradient)
        if self.spec.generative:
            chain = BatchDraws(self.model.seed, epoch, batch, p.c.dtype)
            gradient, state = contrastive_divergence(batch, p, self.spec, chain, self._state(batch))
            step.add(self.model.generative_learning_rate / n, gradient)
            if self.spec.persistent:
                self._keep(batch, state)
        shrink = self.model.shrink(self.spec)
        p.Wt.mul_(shrink)
        p.U.mul_(shrink)
        p.add(-1.0, step)
        return loss

    def _state(self, batch: Batch) -> Hidden | None:
        """Return the states of the persistent chains of a batch; None unless all have started."""
        if not self.spec.persistent or not all(n in self.chains for n in batch.numbers.tolist()):
            return None
        states = [self.chains[n] for n in batch.numbers.tolist()]
        return Hidden(torch.stack([state.holder for state in states]), torch.cat([state.h for state in states]))

    def _keep(self, batch: Batch, state: Hidden) -> None:
        parts = torch.split(state.h, batch.lengths.tolist())
        for number, holder, h in zip(batch.numbers.tolist(), state.holder, parts, strict=True):
            self.chains[number] = Hidden(holder.clone(), h.clone())

    def score(self, store: Store, chosen: Integers) -> Floats:
        """Return the weighted mean loss and mean error of some sets."""
        total = torch.zeros(2, dtype=self.now.c.dtype, device=self.device)
        for part in chunks(store, chosen, len(self.now.c)):
            batch = store.batch(torch.from_numpy(part).to(self.device), part)
            _, F = forward(batch, self.now, self.spec)
            log_p = torch.log_softmax(-F, dim=1)
            loss = -log_p.gather(1, batch.labels[:, None])[:, 0]
            wrong = (log_p.argmax(1) != batch.labels).to(loss.dtype)
            total += (torch.stack([loss, wrong]) * batch.weights).sum(1)
        return np.asarray(total.cpu().numpy().astype(float) / store.host_weights[chosen].sum())


def chunks(store: Store, chosen: Integers, n_hidden: int) -> list[Integers]:
    """Split sets into parts of at most ``SCORED_AT_ONCE`` activations."""
    filled = np.cumsum(store.host_sizes[chosen]) * n_hidden // SCORED_AT_ONCE
    return np.split(chosen, np.flatnonzero(np.diff(filled)) + 1)
