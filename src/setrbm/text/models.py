"""Fitted models of texts: whether a model is one, and which documents it knows no word of."""

from __future__ import annotations

from typing import Any

import numpy as np

from setrbm._types import Mask
from setrbm.estimators.pipelines import first_step
from setrbm.text.page_words import PageWords


def takes_texts(model: Any) -> bool:
    """Return whether a model takes documents with pages of text."""
    return isinstance(first_step(model), PageWords)


def without_known_words(model: Any, documents: Any) -> Mask:
    """Return for each document whether none of its pages has a word that a model of texts knows."""
    bags = first_step(model).transform(documents)
    return np.asarray(np.add.reduceat(np.diff(bags.X.indptr), bags.offsets[:-1]) == 0)
