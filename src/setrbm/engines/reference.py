"""The reference engine: pooling, energy and gibbs in NumPy and float64, one set after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from setrbm import max_out
from setrbm._types import Array, Floats, Integers, Mask
from setrbm.bags import Bags
from setrbm.draws import ChainDraws
from setrbm.energy import Params, activations, free_energy_of_pool, loss_and_gradient
from setrbm.engines.protocol import (
    LabeledSets,
    Model,
    Session,
    Spec,
    check_models,
    score_free_energies,
    weighted_means,
    within_bounds,
)
from setrbm.gibbs import HiddenState, contrastive_divergence
from setrbm.pooling.pools import set_pool


class ReferenceSession:
    """Trains one model after the other, one set at a time."""

    def __init__(self, spec: Spec, models: Sequence[Model]) -> None:
        check_models(models)
        self.spec, self.models = spec, models
        self.current = [model.params.astype(np.float64).copy() for model in models]
        self.remembered: list[Params | None] = [None] * len(models)
        self.chains: dict[tuple[int, int], HiddenState] = {}

    def run(self, placed: Sequence[LabeledSets], orders: Sequence[Integers], epoch: int) -> Floats:
        """Train each model on its sets in its order."""
        return np.array([self._run_one(m, placed[m], orders[m], epoch) for m in range(len(self.models))])

    def _run_one(self, m: int, sets: LabeledSets, order: Integers, epoch: int) -> float:
        loss = np.empty(len(order))
        size = self.spec.batch_size
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            loss[start : start + size] = self._step(m, sets, batch, epoch)
        in_bounds = within_bounds(*self.current[m].arrays())
        return weighted_means(loss, loss, sets.weight[order])[0] if in_bounds else np.inf

    def _step(self, m: int, sets: LabeledSets, batch: Integers, epoch: int) -> list[float]:
        """Take one gradient step on a batch."""
        model, params = self.models[m], self.current[m]
        step, losses = params.zeros(), []
        for t in batch:
            loss, gradient = self._discriminative(sets, t, params)
            losses.append(loss)
            if self.spec.discriminative:
                step.add(model.learning_rate / len(batch), gradient)
            if self.spec.generative:
                gradient = self._generative(m, sets, t, params, epoch)
                step.add(model.generative_learning_rate / len(batch), gradient)
        params.W *= model.shrink(self.spec)
        params.U *= model.shrink(self.spec)
        params.add(-1.0, step)
        return losses

    def _discriminative(self, sets: LabeledSets, t: int, params: Params) -> tuple[float, Params]:
        X = sets.bags[t]
        one = (X, _whole(X), sets.y[[t]], sets.weight[[t]], params)
        if self.spec.unit == "set":
            loss, gradient = loss_and_gradient(*one, self.spec.constraint, self.spec.pooling)
        else:
            loss, gradient = max_out.loss_and_gradient(*one, self.spec.unit)
        return float(loss[0]), gradient

    def _generative(self, m: int, sets: LabeledSets, t: int, params: Params, epoch: int) -> Params:
        X = sets.bags[t]
        number = sets.first + int(t)
        chain = ChainDraws(self.models[m].seed, epoch, np.array([number]), np.array([X.shape[0]]))
        gradient, state = contrastive_divergence(
            X, _whole(X), sets.y[[t]], sets.weight[[t]], params, self.spec.joint, chain, self.spec.cd_steps,
            self.chains.get((m, number)), self.spec.persistent,
        )  # fmt: skip
        if self.spec.persistent:
            self.chains[m, number] = state
        return gradient

    def score(self, placed: Sequence[LabeledSets], which: Sequence[Integers]) -> Floats:
        """Return each model's mean loss and mean error over its sets."""
        scores = np.full((len(self.models), 2), np.nan)
        for m, (sets, chosen) in enumerate(zip(placed, which, strict=True)):
            if len(chosen):
                _, F = forward(self.current[m], sets.bags[chosen], self.spec)
                scores[m] = score_free_energies(F, sets.y[chosen], sets.weight[chosen])
        return scores

    def remember(self, models: Mask) -> None:
        """Keep a copy of the current parameters of these models."""
        for m in np.flatnonzero(models):
            self.remembered[m] = self.current[m].copy()

    def params(self, remembered: bool) -> list[Params]:
        """Return the parameters of every model."""
        best = self.remembered if remembered else [None] * len(self.models)
        return [(kept or now).copy() for kept, now in zip(best, self.current, strict=True)]


def _whole(X: Array) -> Integers:
    """Return the offsets of one set."""
    return np.array([0, X.shape[0]])


def forward(params: Params, bags: Bags, spec: Spec) -> tuple[Array, Array]:
    """Return the pooled activations and the free energies of all sets."""
    if spec.unit != "set":
        _, a, logits = max_out.chosen_activations(bags.X, bags.offsets, params, spec.unit)
        return a, -logits
    pool, _ = set_pool(activations(bags.X, params), bags.offsets, spec.constraint, spec.pooling)
    return pool, free_energy_of_pool(pool, params)


class ReferenceEngine:
    """The engine that all others are tested against."""

    name = "reference"

    def place(self, sets: LabeledSets, spec: Spec) -> LabeledSets:
        """Return the sets unchanged."""
        return sets

    def begin(self, spec: Spec, models: Sequence[Model], n_jobs: int) -> Session:
        """Start training these models, one after the other."""
        return ReferenceSession(spec, models)

    def forward(self, params: Params, bags: Bags, spec: Spec, n_jobs: int) -> tuple[Array, Array]:
        """Return the pooled activations and the free energies."""
        return forward(params.astype(np.float64), bags, spec)


ENGINE = ReferenceEngine()
