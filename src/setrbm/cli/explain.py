"""``setrbm explain``: which vectors and features matter for the class of a set; for texts, which pages and words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._data import DataFile, refuse_swapped
from setrbm.cli._models import as_classes, known_classes, load_model
from setrbm.cli._options import BagOption, DataArgument, IgnoreNewOption, LabelOption, ModelArgument, PagesOption
from setrbm.tools.commands import Refused
from setrbm.tools.options import JsonOption
from setrbm.tools.output import ZERO, show_json, show_table, signed
from setrbm.tools.text import count

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags
    from setrbm.explain import Explanation
    from setrbm.text import PageTexts

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
    """Show which vectors, and which features, matter for the class of a set.

    For each vector, numbered from 1 within its set: the drop, which is how much the log-probability of the class falls
    without it, and the probability of the class for this vector alone. A vector decided if without it another class is
    predicted. The only vector of a set has no drop: nothing is left without it.

    Of page texts: the same for each page, the words of the page with the largest drop that speak most for the class,
    and the text around the first of them. Pages without a known word are passed over. Features of a pipeline are those
    that its last step gets.
    """
    import numpy as np

    from setrbm.estimators import pipelines

    refuse_swapped(model, data, "explain {model} {data}")
    file = DataFile.of(data, bag, label, ignore, pages)
    fitted = load_model(model, "explain", "explain")
    bags = file.sets(fitted)
    bags = bags[_positions(bags, sets)]
    y = None if asked is None else np.repeat(_asked_class(fitted, asked), len(bags))
    explanation = pipelines.explain(fitted, bags, y)
    # The steps of a pipeline may have made one vector of all pages.
    by_page = file.holds_texts and len(explanation.drop) == bags.n_pages
    if by_page:
        explained = described_pages(fitted, bags, explanation, top or WORDS_SHOWN)
    else:
        explained = described(fitted, bags, explanation, top or FEATURES_SHOWN)
    if json:
        show_json({"model": str(model), "data": str(data), "sets": explained})
        return
    for item in explained:
        _show(item, "page" if by_page else "vector", vectors)


def _positions(bags: Bags | PageTexts, asked: list[str] | None) -> list[int]:
    """Return the positions of the requested sets; the first few by default."""
    from setrbm.tools.text import listed

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
    """Return the classes, vectors and top features of each set as plain values."""
    tops = explanation.top_features(top)
    return [
        item
        | {
            "strongest_vector": strongest + 1,
            "features": [{"feature": name, "contribution": value} for name, value in features],
        }
        for item, strongest, features in zip(
            _of_vectors(fitted, bags, explanation, "vector"),
            explanation.strongest_vectors().tolist(),
            tops,
            strict=True,
        )
    ]


def described_pages(fitted: Any, texts: PageTexts, explanation: Explanation, top: int) -> list[dict[str, Any]]:
    """Return the classes and pages of each document, and of the page that mattered most words and a snippet."""
    from setrbm.text.models import without_known_words
    from setrbm.text.page_reasons import page_reasons

    return [
        item
        | {
            "known_words": not unknown,
            "strongest_page": reason.page + 1,
            "words": [{"word": word, "contribution": value} for word, value in reason.words],
            "snippet": reason.snippet,
        }
        for item, reason, unknown in zip(
            _of_vectors(fitted, texts, explanation, "page"),
            page_reasons(explanation, texts, top),
            without_known_words(fitted, texts),
            strict=True,
        )
    ]


def _of_vectors(fitted: Any, sets: Bags | PageTexts, explanation: Explanation, vector: str) -> list[dict[str, Any]]:
    """Return the classes of each set and its vectors, which are called vectors or pages."""
    classes = fitted.classes_.tolist()
    p = fitted.predict_proba(sets)
    descriptions = []
    for k, (name, part) in enumerate(zip(sets.ids.tolist(), explanation, strict=True)):
        code, best = classes.index(part.classes.tolist()[0]), int(p[k].argmax())
        descriptions.append(
            {
                "set": name,
                "predicted": classes[best],
                "probability": float(p[k, best]),
                "explained": classes[code],
                "explained_probability": float(p[k, code]),
                f"{vector}s": [
                    {vector: s + 1, "drop": drop, "alone": alone, "decided": decided}
                    for s, (drop, alone, decided) in enumerate(
                        zip(part.drop.tolist(), part.alone[:, code].tolist(), part.decided.tolist(), strict=True)
                    )
                ],
            }
        )
    return descriptions


def _show(item: dict[str, Any], vector: str, most: int) -> None:
    typer.echo(_head(item, vector))
    ranked = sorted(item[f"{vector}s"], key=lambda v: -v["drop"])
    # Those that decided are always shown.
    shown = ranked[:most] + [v for v in ranked[most:] if v["decided"]]
    rows = [(v[vector], signed(v["drop"]), f"{v['alone']:.3f}", "decided" if v["decided"] else "") for v in shown]
    show_table("", (vector, "drop", "p alone", ""), rows, strong=[k for k, v in enumerate(shown) if v["decided"]])
    if len(ranked) > len(shown):
        typer.echo(f"and {count(len(ranked) - len(shown), vector)} more; use --vectors or --json to see them")
    typer.echo(_features_in_words(item) if vector == "vector" else _page_in_words(item))


def _head(item: dict[str, Any], vector: str) -> str:
    """Return the classes of a set, and which of its vectors decided."""
    from setrbm.explain import verdict

    drops, decided = ([v[name] for v in item[f"{vector}s"]] for name in ("drop", "decided"))
    head = f"Set {item['set']}: class {item['predicted']} with probability {item['probability']:.3f}"
    facts = [head, verdict(decided, vector, first=1)]
    if item["explained"] != item["predicted"]:
        facts.append(f"explained here: class {item['explained']}, probability {item['explained_probability']:.3f}")
    if len(drops) > 1 and not any(decided):
        facts.append(f"the largest drop is {signed(max(drops))}")
    return "; ".join(facts)


def _features_in_words(item: dict[str, Any]) -> str:
    return f"Top features: {_contributions(item['features'], 'feature')}\n"


def _page_in_words(item: dict[str, Any]) -> str:
    if not item["known_words"]:
        return "No known word: the class is a guess, whatever its probability.\n"
    words = _contributions(item["words"], "word")
    return f"Words of page {item['strongest_page']}: {words}\n{item['snippet'] or '(no text)'}\n"


def _contributions(contributions: list[dict[str, Any]], what: str) -> str:
    """Return names and contributions as text, without those that would be shown as zero."""
    shown = {item[what]: signed(item["contribution"]) for item in contributions}
    return ", ".join(f"{name} {value}" for name, value in shown.items() if value != ZERO) or "none contributes"
