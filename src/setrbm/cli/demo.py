"""``setrbm demo``: cross-validate, fit, predict and explain on the Musk1 data inside the package."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setrbm.cli._folds import cross_validate
from setrbm.cli._options import JsonOption
from setrbm.cli._output import percent, show_json, show_table

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags

# What the paper reports for XOR* on Musk1.
PAPER = 0.8391
FOLDS, SEED = 10, 0
N_TEST, IN_PICTURE = 12, 6
# Below this drop no single conformation decided: the others would have given the same answer.
NO_MATTER = 0.01
KINDS = ("no musk", "musk")


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder to write the files to; created if missing.")
    ] = Path("demo-output"),
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", min=1, help="Cross-validations, each with other folds.")
    ] = 1,
    json: JsonOption = False,
) -> None:
    """Show what setrbm does, on 92 molecules that are musks or not, in about a minute.

    Each molecule is a set of conformations, of which one may smell. The demo cross-validates, fits a model, classifies
    held-out molecules, shows which conformation decided each, and writes the model, the data and a figure.
    """
    begin = time.perf_counter()
    output.mkdir(parents=True, exist_ok=True)
    document: dict[str, Any] = {"cross_validation": _cross_validation(repeats, show=not json)}
    document |= _fit_and_explain(output, show=not json)
    picture = _write_picture(output / "musk1.png", document)
    document["files"] += [] if picture is None else [str(picture)]
    document["seconds"] = time.perf_counter() - begin
    if json:
        show_json(document)
    else:
        _show_end(document)


def _new_model() -> Any:
    """Return the paper's XOR* variant, with settings chosen on held-out training sets."""
    from setrbm import ClassSetRBMCV

    return ClassSetRBMCV(constraint="xor", pooling="hard", random_state=SEED)


def _cross_validation(repeats: int, show: bool) -> dict[str, Any]:
    """Cross-validate on Musk1 and compare the accuracy with the paper's."""
    import numpy as np

    from setrbm.datasets import load_musk1

    bags, y = load_musk1()
    if show:
        typer.echo(
            f"Musk1: {len(bags)} molecules, {bags.n_vectors} conformations, {bags.shape[1]} features; "
            f"{int(y.sum())} are musks.\n"
        )
    found = cross_validate(_new_model(), bags, y, FOLDS, repeats, SEED, "Cross-validating")
    mean, spread = float(np.mean(found.accuracies)), float(np.std(found.accuracies, ddof=1))
    if show:
        runs = "cross-validation" if repeats == 1 else f"cross-validation, {repeats} times"
        typer.echo(
            f"1. Accuracy of ClassSetRBM XOR*, {FOLDS}-fold {runs}:\n"
            f"   {percent(mean)} (standard deviation over folds {percent(spread)}); the paper reports "
            f"{100 * PAPER:.2f} %.\n"
            "   A fold has 9 or 10 molecules, so one molecule changes its accuracy by 10 points.\n"
        )
    return {"accuracy": mean, "standard_deviation": spread, "accuracy_by_fold": found.accuracies, "paper": PAPER}


def _fit_and_explain(folder: Path, show: bool) -> dict[str, Any]:
    """Fit a model, classify and explain the held-out molecules, and write the model and the data."""
    from sklearn.model_selection import train_test_split

    from setrbm.cli.fit import fit_with_bar
    from setrbm.datasets import load_musk1
    from setrbm.datasets.files import read_sets, write_csv

    # Read back, so that the features have the names they have in the file.
    write_csv(folder / "musk1.csv", *load_musk1())
    bags, y = read_sets(folder / "musk1.csv")
    train, test = train_test_split(range(len(bags)), test_size=N_TEST, stratify=y, random_state=SEED)
    test = sorted(test)
    model = _new_model()
    fit_with_bar(model, bags[train], y[train], "Fitting", quiet=False)
    model.save(folder / "musk1.safetensors")
    write_csv(folder / "musk1-test.csv", bags[test], y[test])
    molecules = _explained(model, bags[test], y[test])
    if show:
        _show_molecules(molecules, len(train), model.best_params_)
    names = ("musk1.safetensors", "musk1.csv", "musk1-test.csv")
    return {"molecules": molecules, "chosen": model.best_params_, "files": [str(folder / name) for name in names]}


def _explained(model: Any, bags: Bags, y: Array) -> list[dict[str, Any]]:
    from setrbm.cli.explain import described

    molecules = described(model, bags, model.explain(bags), top=5)
    return [molecule | {"label": int(label)} for molecule, label in zip(molecules, y, strict=True)]


def _show_molecules(molecules: list[dict[str, Any]], n_train: int, chosen: dict[str, Any]) -> None:
    settings = ", ".join(f"{name} {value}" for name, value in chosen.items())
    typer.echo(f"2. A model trained on {n_train} molecules ({settings}).\n")
    right = sum(m["predicted"] == m["label"] for m in molecules)
    typer.echo(f"3. The {len(molecules)} held-out molecules: {right} right. Which conformation decided?")
    headings = ("molecule", "is", "predicted", "p", "decided by", "drop", "p alone", "")
    show_table("", headings, [_row(m) for m in molecules])
    typer.echo(
        "   drop: how much log p of the predicted class falls without that conformation; near 0 if the others\n"
        "   would have given the same answer. p alone: p of that class for that conformation alone.\n"
    )


def _row(molecule: dict[str, Any]) -> tuple[Any, ...]:
    vectors = molecule["vectors"]
    deciding = vectors[molecule["deciding_vector"] - 1]
    return (
        molecule["set"],
        KINDS[molecule["label"]],
        KINDS[molecule["predicted"]],
        f"{molecule['probability']:.3f}",
        f"{deciding['vector']} of {len(vectors)}" if deciding["drop"] > NO_MATTER else f"none of {len(vectors)} alone",
        f"{deciding['drop']:+.3f}",
        f"{deciding['alone']:.3f}",
        "" if molecule["predicted"] == molecule["label"] else "wrong",
    )


def _write_picture(path: Path, document: dict[str, Any]) -> Path | None:
    """Write the figure, or say what it needs."""
    from setrbm._files import write_atomically

    try:
        from setrbm.cli._picture import draw

        payload = draw(_for_picture(document["molecules"]), document["cross_validation"]["accuracy_by_fold"], PAPER)
    except ImportError:
        typer.echo("No figure: it needs matplotlib. Run: pip install 'setrbm[plot]'", err=True)
        return None
    write_atomically(path, payload)
    return path


def _for_picture(molecules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the molecules with the largest drops, half of each predicted class if there are enough."""
    by_drop = sorted(molecules, key=lambda m: -max(vector["drop"] for vector in m["vectors"]))
    musks = [m for m in by_drop if m["predicted"] == 1]
    others = [m for m in by_drop if m["predicted"] == 0]
    n_musks = min(len(musks), max(IN_PICTURE // 2, IN_PICTURE - len(others)))
    chosen = musks[:n_musks] + others[: IN_PICTURE - n_musks]
    return [m | {"title": _title(m)} for m in chosen]


def _title(molecule: dict[str, Any]) -> str:
    right = "right" if molecule["predicted"] == molecule["label"] else "wrong"
    kind = KINDS[molecule["predicted"]]
    return f"molecule {molecule['set']}: {kind}, p = {molecule['probability']:.2f} ({right})"


def _show_end(document: dict[str, Any]) -> None:
    import os
    import shlex

    # scripts/demo runs in an environment that is not on the user's PATH.
    command = os.environ.get("SETRBM_COMMAND", "setrbm")
    model, data, test = (shlex.quote(name) for name in document["files"][:3])
    example = document["molecules"][0]["set"]
    typer.echo("4. Written:")
    for name in document["files"]:
        typer.echo(f"   {name}")
    typer.echo(
        f"\n5. Try next:\n"
        f"   {command} explain {model} {test} --set {example}\n"
        f"   {command} evaluate {test} --model {model}\n"
        f"   {command} predict {model} {test} --proba\n"
        f"   {command} fit {data} my-model.safetensors --constraint or --pooling soft\n"
        f"\nDone in {document['seconds']:.0f} s."
    )
