"""XOR* in torch, as a good user of it writes it: with autograd, and with the gradient by hand.

Every way to write the maximum over sets was tried with autograd (padding, scatter, segments, a Python loop over split
tensors); segments were as fast as any. By hand, a second EmbeddingBag over the transposed batch adds up each word's
gradient, several times faster than adding row by row. Batches are put together beforehand, which a real loader would
have to do in each epoch: whatever can favor torch is done.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

from setrbm import Bags
from setrbm.energy import Params


@dataclass(frozen=True)
class Batch:
    """Some sets: the words of all pages in a row, where each page begins, and each set's number of pages.

    The transposed batch has, for each different word in ``vocabulary``, the pages it stands on.
    """

    words: torch.Tensor
    page_starts: torch.Tensor
    sizes: torch.Tensor
    y: torch.Tensor
    slots: torch.Tensor
    vocabulary: torch.Tensor
    pages_of_words: torch.Tensor
    word_starts: torch.Tensor


def batches_of(bags: Bags, y: npt.NDArray[np.int64], order: npt.NDArray[np.intp], size: int) -> list[Batch]:
    """Return the sets in this order, in batches of this size; values must be ones."""
    if not (bags.X.data == 1.0).all():
        raise ValueError("The words must be binary: torch is spared the weights. Got other values than 1.")
    return [_batch(bags[order[i : i + size]], y[order[i : i + size]]) for i in range(0, len(order), size)]


def _batch(bags: Bags, y: npt.NDArray[np.int64]) -> Batch:
    words, starts = bags.X.indices.astype(np.int64), bags.X.indptr.astype(np.int64)
    pages = np.repeat(np.arange(bags.n_vectors), np.diff(starts))
    by_word = np.argsort(words, kind="stable")
    vocabulary, word_starts = np.unique(words[by_word], return_index=True)
    # Row k lists the pages of set k; a page that is not there points at one row past the last.
    slots = np.full((len(bags), bags.sizes.max()), bags.n_vectors)
    slots[np.arange(slots.shape[1]) < bags.sizes[:, np.newaxis]] = np.arange(bags.n_vectors)
    arrays = (words, starts[:-1], bags.sizes.astype(np.int64), y, slots, vocabulary, pages[by_word], word_starts)
    return Batch(*(torch.from_numpy(np.ascontiguousarray(array)) for array in arrays))


class XorStar(torch.nn.Module):
    """p(y | X) with the maximum over the vectors of a set; the embeddings are the rows of W for each word."""

    def __init__(self, start: Params) -> None:
        super().__init__()
        W = torch.tensor(np.ascontiguousarray(start.W.T))
        self.W = torch.nn.EmbeddingBag.from_pretrained(W, freeze=False, mode="sum", sparse=True)
        self.U = torch.nn.Parameter(torch.tensor(np.ascontiguousarray(start.U.T)))
        self.c, self.d = (torch.nn.Parameter(torch.tensor(bias)) for bias in (start.c, start.d))
        self.b = start.b

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return the logits of a batch, of shape (n_sets, n_classes)."""
        a = self.W(batch.words, batch.page_starts)
        if len(batch.sizes) == 1:
            pool = a.max(dim=0, keepdim=True).values
        else:
            pool = torch.segment_reduce(a, "max", lengths=batch.sizes, unsafe=True)
        # c is the same for every vector of a set: it is added once, after the maximum.
        return self.d + F.softplus(pool.unsqueeze(1) + (self.c + self.U)).sum(dim=2)

    def params(self) -> Params:
        """Return the parameters in the paper's layout."""
        W, U, c, d = (p.detach().numpy().copy() for p in (self.W.weight, self.U, self.c, self.d))
        return Params(W.T, U.T, self.b, c, d)


def autograd_epoch(model: XorStar, batches: list[Batch], rate: float) -> None:
    """Make one pass with autograd and torch's own optimizer, with sparse gradients for W."""
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for batch in batches:
        optimizer.zero_grad()
        F.cross_entropy(model(batch), batch.y).backward()
        optimizer.step()


@torch.no_grad()
def by_hand_epoch(model: XorStar, batches: list[Batch], rate: float) -> None:
    """Make one pass with the gradient written out."""
    W, U, c, d = model.W.weight, model.U, model.c, model.d
    for batch in batches:
        a = F.embedding_bag(batch.words, W, batch.page_starts, mode="sum")
        pool, winner = _pool(a, batch)
        v = pool.unsqueeze(1) + (c + U)
        step = torch.softmax(d + F.softplus(v).sum(dim=2), dim=1)
        step.scatter_add_(1, batch.y.unsqueeze(1), -torch.ones(len(batch.y), 1))
        step *= -rate / len(batch.y)
        d_v = torch.sigmoid(v) * step.unsqueeze(2)
        d_pool = d_v.sum(dim=1)
        d_a = torch.zeros_like(a).scatter_(0, winner, d_pool)
        d_W = F.embedding_bag(batch.pages_of_words, d_a, batch.word_starts, mode="sum")
        W.index_add_(0, batch.vocabulary, d_W)
        U += d_v.sum(dim=0)
        c += d_pool.sum(dim=0)
        d += step.sum(dim=0)


def _pool(a: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the maximum over each set, and the page that has it; both of shape (n_sets, n_hidden)."""
    if len(batch.sizes) == 1:
        pool, winner = a.max(dim=0, keepdim=True)
        return pool, winner
    pool, slot = F.pad(a, (0, 0, 0, 1), value=-torch.inf)[batch.slots].max(dim=1)
    return pool, batch.slots.gather(1, slot)
