"""``setrbm demo``: learn, predict and explain on handwritten digits and on the Musk1 data inside the package."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from setrbm.cli import _digits, _molecules
from setrbm.cli._parts import DemoPart
from setrbm.tools.options import JsonOption
from setrbm.tools.output import check_output_folder, show_json


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder to write the files to; created if missing.")
    ] = Path("demo-output"),
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", min=1, help="Cross-validations of Musk1, each with other folds.")
    ] = 1,
    json: JsonOption = False,
) -> None:
    """Show what setrbm does, in about a minute.

    First sets of handwritten digits, which are labeled as sets only: does a set have a two, a seven, or neither, and
    which digit decided? Then Musk1, 92 molecules that are musks or not, each a set of conformations: cross-validation,
    the predictions for held-out molecules, and how much each conformation matters. At the end, models, data and
    pictures are written to the folder; files of an earlier demo there are replaced.
    """
    begin = time.perf_counter()
    check_output_folder(output)
    parts = [_digits.run(show=not json), _molecules.run(repeats, show=not json)]
    output.mkdir(parents=True, exist_ok=True)
    document: dict[str, Any] = {part.name: part.results | {"files": part.write(output)} for part in parts}
    document["seconds"] = time.perf_counter() - begin
    if any(part.picture is None for part in parts):
        typer.echo("No pictures: they need matplotlib. Run: pip install 'setrbm[plot]'", err=True)
    if json:
        show_json(document)
    else:
        _show_end(output, parts, document)


def _show_end(output: Path, parts: list[DemoPart], document: dict[str, Any]) -> None:
    # scripts/demo runs in an environment that is not on the user's PATH.
    command = os.environ.get("SETRBM_COMMAND", "setrbm")
    files = [document[part.name]["files"] for part in parts]
    typer.echo(f"Written to {output}:")
    for names in files:
        typer.echo(f"   {', '.join(Path(name).name for name in names)}")
    (digits, _, digit_tests), (musk, molecules, tests) = ([shlex.quote(name) for name in names[:3]] for names in files)
    typer.echo(
        f"\nTry next:\n"
        f"   {command} explain {digits} {digit_tests} --set {_digits.EXAMPLE}\n"
        f"   {command} evaluate {tests} --model {musk}\n"
        f"   {command} predict {musk} {tests} --proba\n"
        f"   {command} fit {molecules} my-model.safetensors --constraint or --pooling soft\n"
        f"\nDone in {document['seconds']:.0f} s."
    )
