"""``setrbm explain``: which vector, and which feature, decided the class of a set; for texts, which page and words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._data import Source, refuse_swapped
from setrbm.cli._errors import Refused
from setrbm.cli._models import as_classes, known_classes, load_model
from setrbm.cli._options import (
    BagOption,
    DataArgument,
    IgnoreNewOption,
    JsonOption,
    LabelOption,
    ModelArgument,
    PagesOption,
)
from setrbm.cli._output import ZERO, count, show_json, show_table, signed

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags
    from setrbm.datasets import PageTexts
    from setrbm.explain import Explanation

SETS_SHOWN = 5
FEATURES_SHOWN, WORDS_SHOWN = 5, 8


SetsOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="ID", show_default=f"the first {SETS_SHOWN}", help="A set; may be repeated."),
]
ClassOption = Annotated[
    str | None,
    typer.Option("--class", metavar="LABEL", show_default="the predicted one", help="The class to explain."),
]
TopOption = Annotated[
    int | None,
    typer.Option(
        "--top",
        metavar="N",
        min=1,
        show_default=f"{FEATURES_SHOWN} features, {WORDS_SHOWN} words",
        help="How many features, or words of a page, to show at most.",
    ),
]
VectorsOption = Annotated[
    int, typer.Option("--vectors", metavar="N", min=1, help="How many vectors or pages to show; --json has all.")
]


def explain(
    model: ModelArgument,
    data: DataArgument,
    bag: BagOption = "bag",
    label: LabelOption = "label",
    ignore: IgnoreNewOption = None,
    pages: PagesOption = "pages",
    sets: SetsOption = None,
    asked: ClassOption = None,
    top: TopOption = None,
    vectors: VectorsOption = 10,
    json: JsonOption = False,
) -> None:
    """Show which vector, and which features, decided the class of a set.

    For each vector, numbered from 1 within its set: the drop, which is how much the log-probability of the class falls
    without it, and the probability of the class for this vector alone. The vector with the largest drop decided if
    that drop is at least 0.01. If it is smaller, no vector decided alone.

    Of page texts: the same for each page, the words of the page with the largest drop that speak most for the class,
    and the text around the first of them. A page without a known word never decides. Features of a pipeline are those
    that its last step gets.
    """
    import numpy as np

    from setrbm.estimators import pipelines

    refuse_swapped(model, data, "explain {model} {data}")
    source = Source.of(data, bag, label, ignore, pages)
    fitted = load_model(model, "explain", "explain")
    bags = source.sets(fitted)
    bags = bags[_positions(bags, sets)]
    y = None if asked is None else np.repeat(_asked_class(fitted, asked), len(bags))
    explanation = pipelines.explain(fitted, bags, y)
    # The steps of a pipeline may have made one vector of all pages.
    by_page = source.holds_texts and len(explanation.drop) == bags.n_pages
    if by_page:
        explained = described_pages(fitted, bags, explanation, top or WORDS_SHOWN)
    else:
        explained = described(fitted, bags, explanation, top or FEATURES_SHOWN)
    if json:
        show_json({"model": str(model), "data": str(data), "sets": explained})
        return
    for one in explained:
        _show(one, "page" if by_page else "vector", vectors)


def _positions(bags: Bags | PageTexts, asked: list[str] | None) -> list[int]:
    """Return the positions of the requested sets; the first few by default."""
    from setrbm._text import listed

    if not asked:
        return list(range(min(SETS_SHOWN, len(bags))))
    place = {str(name): k for k, name in enumerate(bags.ids.tolist())}
    for name in asked:
        if name not in place:
            raise Refused(f"--set must name a set of the data: {listed(place)}. Got {name!r}.")
    return [place[name] for name in dict.fromkeys(asked)]


def _asked_class(fitted: Any, label: str) -> Array:
    import numpy as np

    try:
        return as_classes(fitted, np.array([label]))
    except LookupError:
        raise Refused(
            f"--class must name a class the model has learned: {known_classes(fitted)}. Got {label!r}."
        ) from None


def described(fitted: Any, bags: Bags | PageTexts, explanation: Explanation, top: int) -> list[dict[str, Any]]:
    """Return the classes, vectors and top features of each set as plain values; no deciding vector is None."""
    tops = explanation.top_features(top)
    strongest = zip(explanation.deciding_vectors().tolist(), explanation.decided.tolist(), strict=True)
    deciding = [vector if decided else None for vector, decided in strongest]
    return [
        one | {"features": [{"feature": name, "contribution": value} for name, value in features]}
        for one, features in zip(_decided(fitted, bags, explanation, "vector", deciding), tops, strict=True)
    ]


def described_pages(fitted: Any, texts: PageTexts, explanation: Explanation, top: int) -> list[dict[str, Any]]:
    """Return the classes and pages of each document, and of the page that mattered most words and a snippet."""
    from setrbm.estimators.page_reasons import page_reasons
    from setrbm.estimators.pipelines import without_known_words

    reasons = page_reasons(explanation, texts, top)
    deciding = [reason.page if reason.decided else None for reason in reasons]
    return [
        one
        | {
            "known_words": not unknown,
            "strongest_page": reason.page + 1,
            "words": [{"word": word, "contribution": value} for word, value in reason.words],
            "snippet": reason.snippet,
        }
        for one, reason, unknown in zip(
            _decided(fitted, texts, explanation, "page", deciding),
            reasons,
            without_known_words(fitted, texts),
            strict=True,
        )
    ]


def _decided(
    fitted: Any, sets: Bags | PageTexts, explanation: Explanation, vector: str, deciding: list[int | None]
) -> list[dict[str, Any]]:
    """Return the classes of each set and its vectors, which are called vectors or pages."""
    classes = fitted.classes_.tolist()
    p = fitted.predict_proba(sets)
    found = []
    for k, (name, part, chosen) in enumerate(zip(sets.ids.tolist(), explanation, deciding, strict=True)):
        code, best = classes.index(part.classes.tolist()[0]), int(p[k].argmax())
        found.append(
            {
                "set": name,
                "predicted": classes[best],
                "probability": float(p[k, best]),
                "explained": classes[code],
                "explained_probability": float(p[k, code]),
                f"deciding_{vector}": None if chosen is None else chosen + 1,
                f"{vector}s": [
                    {vector: s + 1, "drop": float(drop), "alone": float(alone)}
                    for s, (drop, alone) in enumerate(zip(part.drop, part.alone[:, code], strict=True))
                ],
            }
        )
    return found


def _show(one: dict[str, Any], vector: str, most: int) -> None:
    line = f"Set {one['set']}: class {one['predicted']} with probability {one['probability']:.3f}"
    if one["explained"] != one["predicted"]:
        line += f"; explained here: class {one['explained']}, probability {one['explained_probability']:.3f}"
    deciding = one[f"deciding_{vector}"]
    typer.echo(line + (f"; no {vector} decided alone" if deciding is None else ""))
    ranked = sorted(one[f"{vector}s"], key=lambda v: -v["drop"])
    shown = ranked[:most]
    rows = [
        (v[vector], signed(v["drop"]), f"{v['alone']:.3f}", "decided" if v[vector] == deciding else "") for v in shown
    ]
    strong = next((k for k, v in enumerate(shown) if v[vector] == deciding), None)
    show_table("", (vector, "drop", "p alone", ""), rows, strong=strong)
    if len(ranked) > most:
        typer.echo(f"and {count(len(ranked) - most, vector)} more; use --vectors or --json to see them")
    typer.echo(_features_in_words(one) if vector == "vector" else _page_in_words(one))


def _features_in_words(one: dict[str, Any]) -> str:
    return f"Top features: {_contributions(one['features'], 'feature')}\n"


def _page_in_words(one: dict[str, Any]) -> str:
    if not one["known_words"]:
        return "No known word: the class is a guess, whatever its probability.\n"
    words = _contributions(one["words"], "word")
    return f"Words of page {one['strongest_page']}: {words}\n{one['snippet'] or '(no text)'}\n"


def _contributions(found: list[dict[str, Any]], what: str) -> str:
    """Return names and contributions as text, without those that would be shown as zero."""
    shown = {one[what]: signed(one["contribution"]) for one in found}
    return ", ".join(f"{name} {value}" for name, value in shown.items() if value != ZERO) or "none contributes"
