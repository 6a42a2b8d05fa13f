"""Models as the commands need them: made from options, matched with the columns and labels of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setrbm._types import Array


def new_model(
    *,
    constraint: str | None,
    pooling: str | None,
    objective: str | None,
    hidden: int | None,
    rates: list[float] | None,
    epochs: int | None,
    seed: int,
    jobs: int | None,
    engine: str,
) -> Any:
    """Return a ClassSetRBMCV with the settings given; None leaves one at its default."""
    from setrbm import ClassSetRBMCV

    given: dict[str, Any] = {
        "constraint": None if constraint is None else str(constraint),
        "pooling": None if pooling is None else str(pooling),
        "objective": None if objective is None else str(objective),
        "n_hidden": hidden,
        "learning_rate": (rates[0] if len(rates) == 1 else tuple(rates)) if rates else None,
        "max_epochs": epochs,
        "n_jobs": jobs,
    }
    settings = {name: value for name, value in given.items() if value is not None}
    return ClassSetRBMCV(**settings, engine=engine, random_state=seed)


def columns_of(model: Any) -> dict[str, Any]:
    """Return which features to read from a file: by name if the model knows names, else how many."""
    return {"feature_names": getattr(model, "feature_names_in_", None), "n_features": model.n_features_in_}


def as_classes(model: Any, labels: Array) -> Array:
    """Return labels as classes of the model, matched by their text; raise ValueError for an unknown one."""
    import numpy as np

    from setrbm._text import listed

    known = {str(name): code for code, name in enumerate(model.classes_.tolist())}
    for i, name in enumerate(labels.tolist()):
        if str(name) not in known:
            at = f" for set {i + 1} of {len(labels)}" if len(labels) > 1 else ""
            raise ValueError(f"A label must be a class the model has learned: {listed(known, 8)}. Got {name!s}{at}.")
    return np.asarray(model.classes_[[known[str(name)] for name in labels.tolist()]])
