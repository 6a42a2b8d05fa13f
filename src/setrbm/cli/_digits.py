"""The first part of the demo: sets of handwritten digits, in which one digit decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from setrbm.cli._parts import DemoPart, drawn, rounded, strongest
from setrbm.cli._picture import draw_digits
from setrbm.tools.output import percent, show_table

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags
    from setrbm.explain import Explanation

N_TRAIN, N_TEST, SEED = 300, 300, 0
# The sets that are shown: the classes take turns, so that there are two of each.
IN_PICTURE = 6
# A set with a seven.
EXAMPLE = 2


def new_model() -> Any:
    """Return the model of the digits, with settings chosen on held-out training sets."""
    from setrbm import ClassSetRBMCV

    return ClassSetRBMCV(random_state=SEED)


def run(show: bool) -> DemoPart:
    """Train on sets of digits, and see whether the digit that gave a set its class decided the prediction."""
    from setrbm.cli.explain import described
    from setrbm.cli.fit import fit_with_bar
    from setrbm.datasets import make_digit_sets

    bags, y = make_digit_sets(N_TRAIN, random_state=SEED)
    tests, truth, planted = make_digit_sets(N_TEST, "test", random_state=SEED, return_evidence=True)
    if show:
        typer.echo(
            f"1. Handwritten digits: {N_TRAIN} sets of 3 to 7 digits. A set is labeled 'two' or\n"
            "   'seven' if one of its digits is, else 'neither'. The digits have no labels.\n"
        )
    model = new_model()
    fit_with_bar(model, bags, y, "Fitting", quiet=False)
    explanation = model.explain(tests)
    results = _results(explanation, model.predict(tests), truth, planted)
    results["sets"] = [
        item | {"label": str(label), "digits": digits}
        for item, label, digits in zip(
            described(model, tests[:IN_PICTURE], model.explain(tests[:IN_PICTURE]), 5), truth, _digits_of(tests),
            strict=False,
        )
    ]  # fmt: skip
    if show:
        _show(results)
    picture = drawn(draw_digits, results["sets"], tests, explanation)
    return DemoPart("digits", results, model, (bags, y), (tests, truth), picture)


def _results(explanation: Explanation, predicted: Array, truth: Array, planted: Array) -> dict[str, Any]:
    """Return the accuracy, and how often the planted vector has the largest drop and decided."""
    import numpy as np

    starts, sizes = explanation.offsets[:-1], np.diff(explanation.offsets)
    with_digit = np.add.reduceat(planted, starts) > 0
    largest = starts + explanation.strongest_vectors()
    hit = planted[largest] & explanation.decided[largest]
    return {
        "test_sets": len(truth),
        "accuracy": float((predicted == truth).mean()),
        "guessing": float(np.unique(truth, return_counts=True)[1].max() / len(truth)),
        "sets_with_the_digit": int(with_digit.sum()),
        "decided_by_the_digit": int(hit[with_digit].sum()),
        "decided_by_chance": float((1.0 / sizes[with_digit]).mean()),
    }


def _digits_of(bags: Bags) -> list[list[int]]:
    """Return which digits the vectors of the first sets are, which the model is not told."""
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    known = {image.tobytes(): int(digit) for image, digit in zip(images, digits, strict=True)}
    return [[known[vector.tobytes()] for vector in bags[k]] for k in range(IN_PICTURE)]


def _show(results: dict[str, Any]) -> None:
    n, hits = results["sets_with_the_digit"], results["decided_by_the_digit"]
    typer.echo(
        f"   Accuracy on {results['test_sets']} sets of other images: {percent(results['accuracy'])} (guessing: "
        f"{percent(results['guessing'])}).\n"
        f"   A digit decided if another class is predicted without it. Of {n} sets with a\n"
        f"   two or a seven, it was that digit in {hits}: {percent(hits / n)} (a random digit: "
        f"{percent(results['decided_by_chance'])}).\n\n"
        f"   The first {len(results['sets'])} test sets, with the digits that decided in brackets:"
    )
    headings = ("set", "digits", "is", "predicted", "p", "drop", "")
    show_table("", headings, [_row(item) for item in results["sets"]])
    typer.echo(
        "   drop: the most that log p of the class falls if one digit is left out.\n"
        "   No brackets: no single digit decided.\n"
    )


def _row(item: dict[str, Any]) -> tuple[Any, ...]:
    marked = [
        f"[{digit}]" if vector["decided"] else f" {digit} "
        for vector, digit in zip(item["vectors"], item["digits"], strict=True)
    ]
    right = item["predicted"] == item["label"]
    return (
        item["set"], "".join(marked).rstrip(), item["label"], item["predicted"], f"{item['probability']:.3f}",
        rounded(strongest(item)["drop"]), "" if right else "wrong",
    )  # fmt: skip
