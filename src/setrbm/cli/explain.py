"""``setrbm explain``: which vector, and which feature, decided the class of a set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._data import Source
from setrbm.cli._errors import Refused
from setrbm.cli._models import as_classes, known_classes, load_model
from setrbm.cli._options import BagOption, DataArgument, IgnoreNewOption, JsonOption, LabelOption, ModelArgument
from setrbm.cli._output import ZERO, count, show_json, show_table, signed

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags
    from setrbm.explain import Explanation

SETS_SHOWN = 5


def explain(
    model: ModelArgument,
    data: DataArgument,
    bag: BagOption = "bag",
    label: LabelOption = "label",
    ignore: IgnoreNewOption = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="ID", show_default=f"the first {SETS_SHOWN}", help="A set; may be repeated."),
    ] = None,
    asked: Annotated[
        str | None,
        typer.Option("--class", metavar="LABEL", show_default="the predicted one", help="The class to explain."),
    ] = None,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="How many features to show.")] = 5,
    vectors: Annotated[
        int, typer.Option("--vectors", metavar="N", min=1, help="How many vectors to show; --json has all.")
    ] = 10,
    json: JsonOption = False,
) -> None:
    """Show which vector, and which features, decided the class of a set.

    For each vector, numbered from 1 within its set: the drop, which is how much the log-probability of the class falls
    without it, and the probability of the class for this vector alone. The vector with the largest drop decided if
    that drop is at least 0.01. If it is smaller, no vector decided alone.
    """
    import numpy as np

    source = Source.of(data, bag, label, ignore)
    fitted = load_model(model, "explain", "explain")
    bags = source.sets(fitted)
    bags = bags[_positions(bags, sets)]
    y = None if asked is None else np.repeat(_asked_class(fitted, asked), len(bags))
    explained = described(fitted, bags, fitted.explain(bags, y), top)
    if json:
        show_json({"model": str(model), "data": str(data), "sets": explained})
        return
    for one in explained:
        _show(one, vectors)


def _positions(bags: Bags, asked: list[str] | None) -> list[int]:
    """Return the positions of the requested sets; the first few by default."""
    from setrbm._text import listed

    if not asked:
        return list(range(min(SETS_SHOWN, len(bags))))
    place = {str(name): k for k, name in enumerate(bags.ids.tolist())}
    for name in asked:
        if name not in place:
            raise Refused(f"--set must name a set of the data: {listed(place)}. Got {name!r}.")
    return [place[name] for name in asked]


def _asked_class(fitted: Any, label: str) -> Array:
    import numpy as np

    try:
        return as_classes(fitted, np.array([label]))
    except LookupError:
        raise Refused(
            f"--class must name a class the model has learned: {known_classes(fitted)}. Got {label}."
        ) from None


def described(fitted: Any, bags: Bags, explanation: Explanation, top: int) -> list[dict[str, Any]]:
    """Return the classes, vectors and top features of each set as plain values; no deciding vector is None."""
    classes = fitted.classes_.tolist()
    p = fitted.predict_proba(bags)
    deciding, decided = explanation.deciding_vectors().tolist(), explanation.decided.tolist()
    features = explanation.top_features(top)
    sets = []
    for k, part in enumerate(explanation):
        code, best = classes.index(part.classes.tolist()[0]), int(p[k].argmax())
        sets.append(
            {
                "set": part.ids.tolist()[0],
                "predicted": classes[best],
                "probability": float(p[k, best]),
                "explained": classes[code],
                "explained_probability": float(p[k, code]),
                "deciding_vector": deciding[k] + 1 if decided[k] else None,
                "vectors": [
                    {"vector": s + 1, "drop": float(drop), "alone": float(alone)}
                    for s, (drop, alone) in enumerate(zip(part.drop, part.alone[:, code], strict=True))
                ],
                "features": [{"feature": name, "contribution": value} for name, value in features[k]],
            }
        )
    return sets


def _show(one: dict[str, Any], most: int) -> None:
    line = f"Set {one['set']}: class {one['predicted']} with probability {one['probability']:.3f}"
    if one["explained"] != one["predicted"]:
        line += f"; explained here: class {one['explained']}, probability {one['explained_probability']:.3f}"
    deciding = one["deciding_vector"]
    typer.echo(line + ("; no vector decided alone" if deciding is None else ""))
    ranked = sorted(one["vectors"], key=lambda v: -v["drop"])
    rows = [
        (v["vector"], signed(v["drop"]), f"{v['alone']:.3f}", "decided" if v["vector"] == deciding else "")
        for v in ranked[:most]
    ]
    show_table("", ("vector", "drop", "p alone", ""), rows, strong=None if deciding is None else 0)
    if len(ranked) > most:
        typer.echo(f"and {count(len(ranked) - most, 'vector')} more; use --vectors or --json to see them")
    shown = {f["feature"]: signed(f["contribution"]) for f in one["features"]}
    features = ", ".join(f"{name} {value}" for name, value in shown.items() if value != ZERO)
    typer.echo(f"Top features: {features or 'none contributes'}\n")
