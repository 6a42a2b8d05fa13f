"""Scoring of folders of documents on a cluster, by ``setrbm.dask.score_files``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from setrbm.dask import Scoring
from setrbm.dask.scoring import short_digest, stamp_of
from setrbm.estimators.pipelines import first_step
from setrbm_mail.answers import classify
from setrbm_mail.features.document_features import DocumentFeatures
from setrbm_mail.formats.folders import find_documents
from setrbm_mail.limits import Limits
from setrbm_mail.reading.documents import iter_documents
from setrbm_mail.reading.settings import Reading


@dataclass(frozen=True)
class DocumentScoring(Scoring):
    """How to score folders of documents.

    Attributes
    ----------
    reading : Reading, optional
        How documents are read.
    limits : Limits, optional
        The limits above which files and pages are refused.
    """

    reading: Reading | None = None
    limits: Limits | None = None

    def stamp(self, path: str) -> str:
        """Return a digest that changes if a folder of documents does: sizes and times of modification of its files."""
        documents, _ = find_documents(Path(path))
        files = [file for document in documents for file in document.files]
        return short_digest("\n".join(f"{file} {stamp_of(os.path.join(path, file))}" for file in files))

    def columns(self, model: Any, path: str) -> dict[str, npt.NDArray[Any]]:
        """Return the answers to the documents of a folder as columns."""
        if not isinstance(first_step(model), DocumentFeatures):
            raise ValueError(f"A folder of documents needs a model of documents. {path!r} is a folder.")
        answers = classify(model, iter_documents(path, n_jobs=1, reading=self.reading, limits=self.limits))
        if not answers:
            raise ValueError("it has no documents")
        return {
            "document": _texts(answer.document for answer in answers),
            "label": _texts(None if answer.label is None else str(answer.label) for answer in answers),
            "probability": np.array([_number(answer.probability) for answer in answers]),
            "accepted": np.array([answer.is_accepted for answer in answers]),
            "why_a_person": _texts(answer.why_a_person for answer in answers),
            # Nothing could be read of a document without pages.
            "page": np.array([answer.page or 0 for answer in answers]),
            "place": _texts(answer.place for answer in answers),
            "words": _texts("; ".join(answer.words) for answer in answers),
        }


def _number(probability: float | None) -> float:
    return np.nan if probability is None else probability


def _texts(values: Iterable[Any]) -> npt.NDArray[Any]:
    return np.array(list(values), dtype=object)
