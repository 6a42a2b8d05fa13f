"""The splits of a fit that chooses: what candidates learn from, and what they are judged on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from setrbm._warnings import warn
from setrbm.bags import as_positions
from setrbm.engines.protocol import LabeledSets
from setrbm.training import InMemory, hold_out


def splits_of(sets: LabeledSets, cv: Any, fraction: float, seed: int) -> list[InMemory]:
    """Return what is held out: a fraction of each class once or, with ``cv``, what scikit-learn's splitter says."""
    if cv is not None:
        return _splits_by(cv, sets)
    held_out = hold_out(sets.y, fraction, seed, at_least_one=True)
    source = InMemory.of(sets, held_out)
    if len(held_out):
        return [source]
    warn("No set can be held out: every class has only one. Settings are chosen by the training loss.")
    return [InMemory(sets, source.training, source.training)]


def _splits_by(cv: Any, sets: LabeledSets) -> list[InMemory]:
    sources = [
        InMemory(sets, np.sort(as_positions(training, len(sets.y))), np.sort(as_positions(held_out, len(sets.y))))
        for training, held_out in check_cv(cv, sets.y, classifier=True).split(np.zeros(len(sets.y)), sets.y)
    ]
    for k, source in enumerate(sources):
        if not len(source.held_out) or len(np.unique(sets.y[source.training])) < 2:
            raise ValueError(
                f"Every split of cv must hold out at least one set and leave sets of at least two classes. Split {k} "
                "does not. Use fewer splits."
            )
    if not sources:
        raise ValueError("cv must give at least one split. Got none.")
    return sources
