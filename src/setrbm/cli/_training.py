"""The options that change what is learned, and the model and the labels that they describe."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from setrbm.cli._checks import check_labels, check_range
from setrbm.cli._data import DataFile
from setrbm.pooling import MIXED, MODEL_POOLINGS, POOLINGS
from setrbm.tools.commands import Refused
from setrbm.tools.options import TRAINING, SeedOption
from setrbm.tools.text import listed

if TYPE_CHECKING:
    from setrbm._types import Array

    PoolingName = str
else:
    PoolingName = Literal[MODEL_POOLINGS]


def _positive(rates: list[float] | None) -> list[float] | None:
    for rate in rates or []:
        if not 0.0 < rate < math.inf:
            raise typer.BadParameter(f"{rate:g} is not a positive number.")
    return rates


def _not_zero(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("0 is not a number of threads; use -1 for all cores.")
    return jobs


_LABELS = listed(f"{pooling.label} ({name})" for name, pooling in POOLINGS.items())
_option = partial(typer.Option, rich_help_panel=TRAINING)


@dataclass(frozen=True)
class TrainingOptions:
    """The options of every command that trains.

    None leaves a setting to ClassSetRBMCV; ``show_default`` repeats its defaults, which a test compares.
    """

    constraint: Annotated[
        Literal["xor", "or"] | None,
        _option(
            "--constraint",
            show_default="xor",
            help="Whether a hidden feature is expected in one vector of a set (xor) or possibly in several (or).",
        ),
    ] = None
    pooling: Annotated[
        PoolingName | None,
        _option(
            "--pooling",
            show_default="mixed",
            help=f"Pool the vectors by their {_LABELS}, or average models with {' and '.join(dict.fromkeys(MIXED))} "
            "pooling (mixed).",
        ),
    ] = None
    objective: Annotated[
        Literal["discriminative", "generative", "hybrid"] | None,
        _option(
            "--objective",
            metavar="NAME",
            show_default="discriminative",
            help="Learn p(y | X) (discriminative), p(X, y) (generative), or both (hybrid).",
        ),
    ] = None
    hidden: Annotated[
        int | None,
        _option("--hidden", metavar="N", min=1, show_default="100", help="Number of hidden units."),
    ] = None
    learning_rate: Annotated[
        list[float] | None,
        _option(
            "--learning-rate",
            metavar="RATE",
            show_default="0.01, 0.03, 0.1",
            callback=_positive,
            help="Step size; give it several times to choose among them on held-out sets.",
        ),
    ] = None
    epochs: Annotated[
        int | None,
        _option(
            "--epochs",
            metavar="N",
            min=1,
            show_default="400",
            help="Passes over the sets; the maximum with a thousand sets or more, where training may stop early.",
        ),
    ] = None
    scale: Annotated[
        Literal["auto", "center", "standardize", "none"] | None,
        _option(
            "--scale",
            show_default="auto",
            help="Scale each feature to the range of the training vectors (auto), also center or standardize for "
            "training, or take the values as they are (none).",
        ),
    ] = None
    class_weight: Annotated[
        list[str] | None,
        _option(
            "--class-weight",
            metavar="WEIGHT",
            show_default="1 for each class",
            help="'balanced', so that all classes weigh the same in total; or CLASS=NUMBER, which may be repeated.",
        ),
    ] = None
    calibrate: Annotated[
        bool,
        _option(
            "--calibrate",
            help="Fit a temperature to predictions for sets that were not learned from; classes do not change.",
        ),
    ] = False
    seed: SeedOption = 0
    jobs: Annotated[
        int | None,
        _option(
            "--jobs",
            metavar="N",
            callback=_not_zero,
            show_default="all cores",
            help="Number of threads: for candidates and ensembles, and for predictions.",
        ),
    ] = None
    engine: Annotated[
        Literal["auto", "cpu", "gpu", "reference"],
        _option(
            "--engine",
            metavar="NAME",
            help="Where to compute: auto, cpu, gpu, or reference (slow, for tests).",
        ),
    ] = "auto"

    def read(self, data: DataFile) -> tuple[Any, Array, Any]:
        """Return the labeled sets of a file, checked, and the unfitted model that the options describe."""
        sets, y = data.labeled()
        check_labels(data, sets, y)
        # The word vectors of texts are within the range.
        if self.objective not in (None, "discriminative") and not data.holds_texts:
            check_range(data, sets, str(self.objective), scaled=self.scale != "none")
        return sets, y, self._model(data.holds_texts, class_weights(self.class_weight, y))

    def _model(self, texts: bool, class_weight: Any) -> Any:
        """Return a ClassSetRBMCV with the settings given, after PageWords for texts."""
        from sklearn.pipeline import make_pipeline

        from setrbm import ClassSetRBMCV
        from setrbm.text import PageWords

        rates = self.learning_rate
        given: dict[str, Any] = {
            "constraint": self.constraint,
            "pooling": self.pooling,
            "objective": self.objective,
            "n_hidden": self.hidden,
            "learning_rate": (rates[0] if len(rates) == 1 else tuple(rates)) if rates else None,
            "max_epochs": self.epochs,
            "class_weight": class_weight,
            "n_jobs": self.jobs,
        }
        settings = {name: value for name, value in given.items() if value is not None}
        if self.scale is not None:
            settings["scale"] = None if self.scale == "none" else self.scale
        settings |= {"calibrate": self.calibrate, "engine": self.engine, "random_state": self.seed}
        if not texts:
            return ClassSetRBMCV(**settings)
        # Inputs of a generative model are probabilities.
        words = PageWords() if self.objective in (None, "discriminative") else PageWords(weights="binary")
        return make_pipeline(words, ClassSetRBMCV.for_text(**settings))


def class_weights(given: list[str] | None, y: Array) -> Any:
    """Return the weights of classes as the estimator takes them, from "balanced" or from CLASS=WEIGHT."""
    if not given:
        return None
    if given == ["balanced"]:
        return "balanced"
    classes = {str(name): name for name in y.tolist()}
    weights: dict[Any, float] = {}
    for text in given:
        name, weight = _class_and_weight(text, classes)
        if name in weights:
            raise Refused(f"--class-weight must be given once for each class. Got class {name!s} twice.")
        weights[name] = weight
    return weights


def _class_and_weight(text: str, classes: dict[str, Any]) -> tuple[Any, float]:
    name, mark, number = text.rpartition("=")
    try:
        weight = float(number) if mark else math.nan
    except ValueError:
        weight = math.nan
    if not 0.0 < weight < math.inf:
        raise Refused(f"--class-weight must be 'balanced' alone, or CLASS=WEIGHT with a positive number. Got {text!r}.")
    if name.strip() not in classes:
        raise Refused(f"--class-weight must name a class of the data: {listed(sorted(classes), 8)}. Got {name!r}.")
    return classes[name.strip()], weight


@contextmanager
def errors_of_training(model: Any) -> Iterator[None]:
    """Say what to do on the command line where training diverges, or no word is frequent enough."""
    from setrbm.estimators.pipelines import last_step
    from setrbm.estimators.settings import DivergenceError
    from setrbm.text.page_words import RareWordsError

    try:
        yield
    except RareWordsError:
        raise ValueError(
            "At least one word must occur in two or more of the documents to learn from. Got none. Use more documents."
        ) from None
    except DivergenceError:
        model = last_step(model)
        rates = model.learning_rate if isinstance(model.learning_rate, tuple) else (model.learning_rate,)
        tried = ", ".join(f"{rate:g}" for rate in rates)
        cure = ", or --scale auto" if model.scale is None else ""
        raise ValueError(f"Training diverged with --learning-rate {tried}. Use a smaller one{cure}.") from None
