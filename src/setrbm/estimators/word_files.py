"""Model files of PageWords: the vocabulary, the factor of each word and the settings."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from setrbm.estimators.file_parts import describe_settings
from setrbm.estimators.page_words import WORD, PageWords
from setrbm.estimators.settings import flag
from setrbm.persistence import ModelFile, check_floats, from_json

# One word, or a pair of words.
WORDS = re.compile(rf"{WORD.pattern}( {WORD.pattern})?")


def describe(estimator: PageWords) -> ModelFile:
    """Return the contents of the file of fitted PageWords."""
    check_is_fitted(estimator, "words_")
    description = {
        "settings": describe_settings(estimator), "words": estimator.words_.tolist(), "pairs": estimator.pairs_
    }  # fmt: skip
    return ModelFile("PageWords", description, {"factors": estimator.factors_})


def restore(model: ModelFile) -> PageWords:
    """Return the fitted PageWords that a file describes; everything is checked."""
    estimator = PageWords(**from_json(model.description["settings"]))
    estimator._check_settings()
    flag("pairs", model.description["pairs"])
    estimator.pairs_ = model.description["pairs"]
    estimator.words_ = _as_words(model.description["words"])
    factors = model.arrays["factors"]
    check_floats("factors", factors, estimator.words_.shape)
    if not (factors >= 0).all():
        raise ValueError(f"factors must not be negative. Got {factors.min():g}.")
    estimator.factors_ = factors
    return estimator


def _as_words(words: Any) -> npt.NDArray[Any]:
    """Return a vocabulary: words, or pairs of words, that pages can have, in alphabetical order."""
    if not isinstance(words, list) or not words:
        raise ValueError("words must be a list of at least one word.")
    for word in words:
        if not isinstance(word, str) or not WORDS.fullmatch(word) or word != word.lower():
            raise ValueError(f"words must hold lower-case words of two or more letters or digits. Got {word!r}.")
    if any(one >= other for one, other in pairwise(words)):
        raise ValueError("words must be distinct and in alphabetical order.")
    return np.array(words, dtype=object)
