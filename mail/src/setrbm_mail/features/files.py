"""The row of DocumentFeatures in the table of classes that can be saved (``setrbm.persistence.table``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from setrbm.persistence.model_file import ModelFile
from setrbm.persistence.table import Row
from setrbm.text import PageWords
from setrbm_mail.features.document_features import DocumentFeatures


class FeaturesRow(Row):
    """How DocumentFeatures is written to files and restored: its blocks and, if it uses words, a vocabulary."""

    def parts_of(self, estimator: DocumentFeatures) -> list[tuple[str, Any]]:
        """Return the fitted PageWords, if words are used."""
        return [(name, words) for name, words in super().parts_of(estimator) if words is not None]

    def described(self, estimator: DocumentFeatures) -> ModelFile:
        """Return the contents of the file, without the vocabulary."""
        return ModelFile(self.name, {"blocks": list(estimator.blocks)}, {})

    def restored(self, model: ModelFile, parts: Sequence[Any]) -> DocumentFeatures:
        """Return the fitted transformer; everything is checked."""
        estimator = DocumentFeatures(blocks=tuple(model.description["blocks"]))
        estimator._check_blocks()
        if not all(isinstance(part, PageWords) for part in parts):
            raise ValueError("The estimator within DocumentFeatures must be PageWords.")
        self.check_number(parts, int("words" in estimator.blocks))
        estimator.words = clone(parts[0]) if parts else None
        estimator._set_words(parts[0] if parts else None)
        return estimator


ROW = FeaturesRow("setrbm_mail.features.document_features.DocumentFeatures", parts={"words": "words_"})
