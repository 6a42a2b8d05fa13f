"""What an estimator may choose from, and how it chooses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Self

from sklearn.metrics import check_scoring, get_scorer_names

from setrbm._types import Array
from setrbm.estimators.settings import Settings, choices_of, flag, integer, is_choice, is_count
from setrbm.pooling import MIXED
from setrbm.tools.text import listed, nearest
from setrbm.training import Phase, Schedule
from setrbm.training.early_stopping import rungs_before, stops_early

# scikit-learn's scorers for two classes, and what to use instead with more.
FOR_TWO_CLASSES = {
    "roc_auc": "roc_auc_ovr",
    "f1": "f1_macro",
    "precision": "precision_macro",
    "recall": "recall_macro",
    "jaccard": "jaccard_macro",
}
# How many fits are averaged, and how many with mixed pooling.
N_FITS, N_MIXED_FITS = 5, 10


@dataclass(frozen=True)
class Choices:
    """The candidates of an estimator, and the rules for choosing among them.

    Attributes
    ----------
    candidates : tuple of Settings
        One per combination of choices.
    names : tuple of str
        The settings that are choices.
    lengths : tuple of int
        The numbers of epochs to choose from, in increasing order.
    halving, refit, calibrate : bool
    n_fits : int or "auto"
    cv : int, splitter, iterable or None
        What is held out; None for a fraction of each class, once.
    scoring : callable or None
        Called with a fitted estimator, sets and labels; None for the score that is watched in training.
    """

    candidates: tuple[Settings, ...]
    names: tuple[str, ...]
    lengths: tuple[int, ...]
    halving: bool
    refit: bool
    n_fits: Any
    calibrate: bool
    cv: Any
    scoring: Any

    @classmethod
    def of(cls, estimator: Any, choosable: tuple[str, ...]) -> Self:
        """Return the choices of an estimator; raise ValueError for the first setting that cannot be used."""
        offered = {name: choices_of(getattr(estimator, name)) for name in choosable}
        for name, values in offered.items():
            if not values:
                raise ValueError(f"{name} must offer at least one value to choose from. Got none.")
        for value in offered["max_epochs"]:
            integer("max_epochs", value)
        lengths = tuple(sorted({int(length) for length in offered["max_epochs"]}))
        offered["max_epochs"] = (lengths[-1],)
        candidates = tuple(
            estimator._settings(**dict(zip(offered, values, strict=True))) for values in product(*offered.values())
        )
        for name in ("halving", "refit", "calibrate"):
            flag(name, getattr(estimator, name))
        names = tuple(name for name in choosable if is_choice(getattr(estimator, name)))
        choices = cls(
            candidates, names, lengths, estimator.halving, estimator.refit, estimator.n_fits, estimator.calibrate,
            estimator.cv, _scorer(estimator),
        )  # fmt: skip
        choices._check_n_fits()
        if choices.cv is not None and not choices.refit:
            raise ValueError("cv must be None if nothing is refitted (refit=False): every split has its own model.")
        return choices

    def _check_n_fits(self) -> None:
        n_fits = self.n_fits
        if isinstance(n_fits, str) and n_fits == "auto":
            return
        if not is_count(n_fits):
            raise ValueError(f"n_fits must be 'auto' or an integer of 1 or more. Got {n_fits!r}.")
        if any(settings.pooling == "mixed" for settings in self.candidates) and int(n_fits) % len(MIXED):
            raise ValueError(
                f"n_fits must be 'auto', less than {len(MIXED)} or a multiple of {len(MIXED)} with pooling='mixed', "
                f"which has four fits with hard pooling for one with mean pooling. Got {n_fits}."
            )
        several = int(n_fits) > 1
        if several and not self.refit:
            raise ValueError(f"n_fits must be 1 or 'auto' if nothing is refitted (refit=False). Got {n_fits}.")
        learned = [settings.objective for settings in self.candidates if settings.generative]
        if several and learned:
            raise ValueError(
                f"n_fits must be 1 or 'auto' with objective={learned[0]!r}: the average of several fits is a posterior,"
                f" not a model of the sets themselves. Got {n_fits}."
            )

    @property
    def any_generative(self) -> Settings:
        """A candidate that learns generatively, if there is one; else the first."""
        return next((settings for settings in self.candidates if settings.generative), self.candidates[0])

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of a fit. How many trainings each has is known when it begins."""
        return ("choosing", "fitting") if self.refit else ("choosing",)

    def without_mixtures(self) -> Self:
        """Return the choices for sparse sets: mixtures were measured on dense ones, and need centered inputs."""
        return replace(self, candidates=tuple(settings.unmixed for settings in self.candidates))

    def schedule(self, n_held_out: int) -> Schedule:
        """Return how the candidates are trained and judged."""
        first, last = self.candidates[0], self.lengths[-1]
        if stops_early(first.early_stopping, n_held_out):
            return Schedule(last, first.patience, first.stopping, phase="choosing")
        rungs = rungs_before(self.lengths) if self.halving else ()
        return Schedule(last, None, first.stopping, ends=self.lengths, rungs=rungs, phase="choosing")

    def n_fits_of(self, chosen: Settings) -> int:
        """Return how many fits of the chosen settings, or of each part of a mixture, are made on all sets."""
        n_parts = len(chosen.members)
        if self.n_fits != "auto":
            return int(self.n_fits) // n_parts
        if not self.refit or chosen.generative:
            return 1
        return N_FITS if n_parts == 1 else N_MIXED_FITS // n_parts

    def length(self, n_epochs: int) -> int:
        """Return the smallest offered number of epochs that is at least ``n_epochs``."""
        return min(length for length in self.lengths if length >= n_epochs)


# --- scoring ---


def _scorer(estimator: Any) -> Any:
    """Return the scorer of an estimator, None if it has none."""
    scoring = estimator.scoring
    if scoring is None:
        return None
    if not isinstance(scoring, str) and not callable(scoring):
        raise ValueError(f"scoring must be None, the name of a scorer, or a callable. Got {scoring!r}.")
    _check_name(scoring)
    return check_scoring(estimator, scoring=scoring)


def _check_name(scoring: Any) -> None:
    """Refuse the name of a scorer that scikit-learn does not have."""
    if not isinstance(scoring, str) or scoring in (known := get_scorer_names()):
        return
    close = nearest(scoring, known, most=3)
    hint = f"; the nearest: {', '.join(close)}" if close else ""
    raise ValueError(
        f"scoring must be the name of a scorer of scikit-learn. Got {scoring!r}{hint}. "
        "sklearn.metrics.get_scorer_names() lists them."
    )


def check_scored_classes(scoring: Any, classes: Array) -> None:
    """Refuse a scorer for two classes with more, or one that looks for class 1 if there is none."""
    instead = FOR_TWO_CLASSES.get(scoring) if isinstance(scoring, str) else None
    if instead is None:
        return
    if len(classes) > 2:
        raise ValueError(f"scoring={scoring!r} needs two classes. Got {len(classes)}. Use scoring={instead!r}.")
    if scoring != "roc_auc" and 1 not in classes.tolist():
        raise ValueError(
            f"scoring={scoring!r} needs a class named 1. Got the classes {listed(classes.tolist())}. Use "
            f"scoring={instead!r}, or name a class: make_scorer({scoring}_score, pos_label=...)."
        )
