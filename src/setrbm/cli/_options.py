"""The arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="File of sets, one vector per row: .csv, .csv.gz or .parquet with a bag and a label column, or .svm with "
        "qid as the bag. Or JSON lines of page texts, one document per line: .jsonl or .jsonl.gz.",
    ),
]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file, written by 'setrbm fit' or by save in Python.")
]
BagOption = Annotated[str, typer.Option("--bag", metavar="COLUMN", help="Column, or field, that names the set.")]
LabelOption = Annotated[
    str, typer.Option("--label", metavar="COLUMN", help="Column, or field, with the label of the set.")
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="COLUMN", help="Column that is neither bag, label nor feature; may be repeated."),
]
# A fitted model knows the names of its features.
IgnoreNewOption = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="COLUMN",
        help="Column that is not a feature; only needed if the model knows no feature names. May be repeated.",
    ),
]
PagesOption = Annotated[
    str, typer.Option("--pages", metavar="FIELD", help="Field of a JSON-lines file with the list of page texts.")
]
ForceOption = Annotated[bool, typer.Option("--force", "-f", help="Overwrite an existing file.")]
