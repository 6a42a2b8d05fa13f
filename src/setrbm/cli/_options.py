"""The arguments and options that several commands share."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from setrbm.pooling import MIXED, MODEL_POOLINGS, POOLINGS
from setrbm.tools.options import TRAINING
from setrbm.tools.text import listed


class Constraint(StrEnum):
    """How often a hidden feature may occur in a set."""

    XOR = "xor"
    OR = "or"


class Pooling(StrEnum):
    """How the vectors of a set are pooled: each of ``POOLINGS``, and mixed."""

    vars().update({name.upper(): name for name in MODEL_POOLINGS})


class Objective(StrEnum):
    """What is learned."""

    DISCRIMINATIVE = "discriminative"
    GENERATIVE = "generative"
    HYBRID = "hybrid"


class Scale(StrEnum):
    """How features are scaled."""

    AUTO = "auto"
    CENTER = "center"
    STANDARDIZE = "standardize"
    NONE = "none"


class Engine(StrEnum):
    """Where to compute."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"
    REFERENCE = "reference"


def _positive(rates: list[float] | None) -> list[float] | None:
    for rate in rates or []:
        if not 0.0 < rate < math.inf:
            raise typer.BadParameter(f"{rate:g} is not a positive number.")
    return rates


def _not_zero(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("0 is not a number of threads; use -1 for all cores.")
    return jobs


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

_LABELS = listed(f"{pooling.label} ({name})" for name, pooling in POOLINGS.items())
# None leaves a setting to ClassSetRBMCV; show_default repeats its defaults, which a test compares.
ConstraintOption = Annotated[
    Constraint | None,
    typer.Option(
        "--constraint",
        show_default="xor",
        help="Whether a hidden feature is expected in one vector of a set (xor) or possibly in several (or).",
        rich_help_panel=TRAINING,
    ),
]
PoolingOption = Annotated[
    Pooling | None,
    typer.Option(
        "--pooling",
        show_default="mixed",
        help=f"Pool the vectors by their {_LABELS}, or average models with {' and '.join(dict.fromkeys(MIXED))} "
        "pooling (mixed).",
        rich_help_panel=TRAINING,
    ),
]
ObjectiveOption = Annotated[
    Objective | None,
    typer.Option(
        "--objective",
        metavar="NAME",
        show_default="discriminative",
        help="Learn p(y | X) (discriminative), p(X, y) (generative), or both (hybrid).",
        rich_help_panel=TRAINING,
    ),
]
HiddenOption = Annotated[
    int | None,
    typer.Option(
        "--hidden", metavar="N", min=1, show_default="100", help="Number of hidden units.", rich_help_panel=TRAINING
    ),
]
RatesOption = Annotated[
    list[float] | None,
    typer.Option(
        "--learning-rate",
        metavar="RATE",
        show_default="0.01, 0.03, 0.1",
        callback=_positive,
        help="Step size; give it several times to choose among them on held-out sets.",
        rich_help_panel=TRAINING,
    ),
]
EpochsOption = Annotated[
    int | None,
    typer.Option(
        "--epochs",
        metavar="N",
        min=1,
        show_default="400",
        help="Passes over the sets; the maximum with a thousand sets or more, where training may stop early.",
        rich_help_panel=TRAINING,
    ),
]
ScaleOption = Annotated[
    Scale | None,
    typer.Option(
        "--scale",
        show_default="auto",
        help="Scale each feature to the range of the training vectors (auto), also center or standardize for training, "
        "or take the values as they are (none).",
        rich_help_panel=TRAINING,
    ),
]
CalibrateOption = Annotated[
    bool,
    typer.Option(
        "--calibrate",
        help="Fit a temperature to predictions for sets that were not learned from; classes do not change.",
        rich_help_panel=TRAINING,
    ),
]
ClassWeightOption = Annotated[
    list[str] | None,
    typer.Option(
        "--class-weight",
        metavar="WEIGHT",
        show_default="1 for each class",
        help="'balanced', so that all classes weigh the same in total; or CLASS=NUMBER, which may be repeated.",
        rich_help_panel=TRAINING,
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        callback=_not_zero,
        show_default="all cores",
        help="Number of threads: for candidates and ensembles, and for predictions.",
        rich_help_panel=TRAINING,
    ),
]
EngineOption = Annotated[
    Engine,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="Where to compute: auto, cpu, gpu, or reference (slow, for tests).",
        rich_help_panel=TRAINING,
    ),
]
