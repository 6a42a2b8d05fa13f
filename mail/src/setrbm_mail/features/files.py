"""Model files of the transformers of documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from setrbm.estimators import PageWords
from setrbm.persistence import ModelFile, from_json, to_json
from setrbm_mail.features.document_features import DocumentFeatures


class Features:
    """How DocumentFeatures is written to files and restored; an entry of the list in ``estimators/saving.py``."""

    cls = DocumentFeatures

    def parts_of(self, estimator: DocumentFeatures) -> list[tuple[str, Any]]:
        """Return the fitted PageWords, if words are used."""
        check_is_fitted(estimator, "feature_names_")
        return [] if estimator.words_ is None else [("words of DocumentFeatures", estimator.words_)]

    def describe(self, estimator: DocumentFeatures) -> ModelFile:
        """Return the contents of the file, without the vocabulary."""
        return ModelFile("DocumentFeatures", {"blocks": to_json(list(estimator.blocks))}, {})

    def restore(self, model: ModelFile, parts: Sequence[Any]) -> DocumentFeatures:
        """Return the fitted transformer; everything is checked."""
        estimator = DocumentFeatures(blocks=tuple(from_json(model.description["blocks"])))
        estimator._check_blocks()
        expected = "words" in estimator.blocks
        if len(parts) != expected or not all(isinstance(part, PageWords) for part in parts):
            raise ValueError("DocumentFeatures must have a fitted PageWords if, and only if, it uses words.")
        if parts:
            estimator.words = parts[0].__class__(**parts[0].get_params())
        estimator._keep(parts[0] if parts else None)
        return estimator


KIND = Features()
