"""Sets of a file as a fitted model takes them: its features, and vectors or page texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from setrbm.bags import Bags
from setrbm.datasets.columns import Columns
from setrbm.datasets.files import read_bags, read_sets
from setrbm.datasets.page_texts import holds_page_texts, read_pages
from setrbm.estimators.pipelines import first_step
from setrbm.text.models import takes_texts

OTHER_BAG = "Name another column: bag=... in Python, --bag on the command line."


def read_for(model: Any, path: Path, columns: Columns, *, labeled: bool = False) -> Any:
    """Return the sets of a file as a model takes them, with their labels if asked.

    Parameters
    ----------
    model : fitted classifier or pipeline, or None
        None takes all columns as features.
    path : Path
        CSV, Parquet, svmlight or JSON lines.
    columns : Columns
    labeled : bool
        Whether labels are read too.

    Returns
    -------
    sets : Bags or PageTexts; with labels a tuple of sets and labels
    """
    texts = holds_page_texts(path)
    _check_kind(model, path, texts)
    if texts:
        documents = read_pages(path, columns.bag, columns.label, columns.pages, with_labels=labeled)
        return (documents, documents.y) if labeled else documents
    features = _features_of(model, columns)
    read: Any = read_sets if labeled else read_bags
    sets = read(path, columns.bag, columns.label, ignore=columns.ignore, **features)
    _check_width(path, sets[0] if labeled else sets, features.get("n_features"))
    return sets


def _check_kind(model: Any, path: Path, texts: bool) -> None:
    """Refuse texts for a model of vectors, and vectors for a model of texts."""
    if model is None or takes_texts(model) == texts:
        return
    has, needs = ("page texts", "vectors") if texts else ("vectors", "page texts")
    raise ValueError(f"The data must be of the kind the model was fitted to: {needs}. Got {has} in {str(path)!r}.")


def _features_of(model: Any, columns: Columns) -> dict[str, Any]:
    """Return which features to read: by name if the model knows names, else how many."""
    if model is None:
        return {}
    first = first_step(model)
    names = getattr(first, "feature_names_in_", None)
    known = set() if names is None else set(names)
    if needed := [name for name in columns.ignore if name in known]:
        raise ValueError(f"Columns to ignore must not be features of the model. Got {needed[0]!r}.")
    if columns.bag in known:
        raise ValueError(f"The bag column must not be a feature of the model. Got {columns.bag!r}. {OTHER_BAG}")
    return {"feature_names": names, "n_features": first.n_features_in_}


def _check_width(path: Path, bags: Bags, n_features: int | None) -> None:
    """Refuse vectors of another length than the model's."""
    if n_features is not None and bags.shape[1] != n_features:
        raise ValueError(
            f"{str(path)!r} must have {n_features} feature columns, as many as the model has features. Got "
            f"{bags.shape[1]}. Use --ignore for columns that are not features."
        )
