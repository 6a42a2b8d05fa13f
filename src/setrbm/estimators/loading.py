"""``load``: a fitted estimator back from its file."""

from __future__ import annotations

import os
from typing import Any

from setrbm import persistence
from setrbm.estimators.class_rbm import ClassRBM
from setrbm.estimators.class_set_rbm import ClassSetRBM, ClassSetRBMCV
from setrbm.estimators.files import Saveable
from setrbm.estimators.max_out import MaxOutClassifier, MaxOutClassifierCV

KINDS: dict[str, type[Saveable]] = {
    kind.__name__: kind for kind in (ClassRBM, ClassSetRBM, ClassSetRBMCV, MaxOutClassifier, MaxOutClassifierCV)
}


def load(path: str | os.PathLike[str]) -> Any:
    """Return the fitted model that ``save`` wrote.

    Only numbers and plain settings are read; nothing in the file is executed.

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
    model = persistence.read(path)
    if model.kind not in KINDS:
        raise ValueError(f"{os.fspath(path)!r} must hold one of {', '.join(KINDS)}. Got {model.kind!r}.")
    try:
        return KINDS[model.kind]._from_file(model)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)!r} is damaged: its description does not fit: {error!r}.") from None
