"""Saving: ``save`` and ``load`` of fitted estimators, in files without pickle.

==========  ==================================================================================
table       the closed table of classes that can be saved, one row per class
fields      what a file holds of an estimator, field by field: arrays, classes, features
own_fields  fields of one class: promises, support sets, vocabularies
model_file  the file: arrays as safetensors, the rest as JSON, a checksum
==========  ==================================================================================
"""

from __future__ import annotations

import os
from typing import Any

from setrbm.persistence import model_file
from setrbm.persistence.model_file import ModelFile
from setrbm.persistence.table import names, row_of

# Pipelines in pipelines: deeper ones could exceed Python's recursion limit in predict.
DEEPEST = 10


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file without pickle.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this package, one of scikit-learn's StandardScaler, MinMaxScaler, SimpleImputer,
        TfidfTransformer, QuantileTransformer and TruncatedSVD, or a Pipeline or FrozenEstimator of these. Anything
        else is refused.
    path : str or path-like
        An existing file is replaced.

    See Also
    --------
    load : Read the file.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from setrbm import load, save
    >>> from setrbm.datasets import load_musk1
    >>> from setrbm.estimators import PerVector, SetSVC
    >>> bags, y = load_musk1()
    >>> model = make_pipeline(PerVector(StandardScaler()), SetSVC(scale=None)).fit(bags, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "musk.safetensors")
    ...     save(model, path)
    ...     again = load(path)
    >>> bool((again.decision_function(bags) == model.decision_function(bags)).all())
    True
    """
    model = _described(estimator)
    # A file that could not be loaded is not written.
    _restored(model)
    model_file.write(path, model)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the fitted estimator that ``save`` wrote.

    Only numbers and plain settings are read; nothing in the file is executed.

    See Also
    --------
    save : Write the file.

    Examples
    --------
    >>> import os, tempfile
    >>> from setrbm import ClassSetRBM, load
    >>> from setrbm.datasets import load_musk1
    >>> bags, y = load_musk1()
    >>> model = ClassSetRBM(max_epochs=3, random_state=0).fit(bags, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "musk.safetensors")
    ...     model.save(path)
    ...     again = load(path)
    >>> bool((again.predict_proba(bags) == model.predict_proba(bags)).all())
    True
    """
    model = model_file.read(path)
    if model.kind not in names():
        raise ValueError(f"{os.fspath(path)!r} must hold one of {', '.join(names())}. Got {model.kind!r}.")
    try:
        return _restored(model)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)!r} is damaged: its description does not fit: {error!r}.") from None


def _described(estimator: Any, within: tuple[str, ...] = ()) -> ModelFile:
    """Return the contents of an estimator's file; ``within`` says of which others it is a part."""
    name = type(estimator).__name__
    if name not in names() or row_of(name).cls is not type(estimator):
        article = "an" if name[0] in "AEIOU" else "a"
        cure = (
            "Save its best_estimator_" if hasattr(estimator, "best_estimator_") else "For others, use joblib or skops"
        )
        raise TypeError(
            f"{', '.join(within) or 'The estimator'} is {article} {name}, which cannot be saved without pickle. These "
            f"can be saved: {', '.join(names())}. {cure}."
        )
    _check_depth(len(within))
    row = row_of(name)
    parts = [_described(part, (*within, what)) for what, part in row.parts_of(estimator)]
    model = row.described(estimator)
    return model.with_parts(parts) if parts else model


def _restored(model: ModelFile, depth: int = 0) -> Any:
    """Return the fitted estimator of a file, checked."""
    _check_depth(depth)
    parts = [_restored(part, depth + 1) for part in model.parts()]
    return row_of(model.kind).restored(model, parts)


def _check_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise ValueError(f"Estimators must be nested at most {DEEPEST} deep to be saved.")
