"""The refits of the chosen settings: what is trained on all sets, averaged, calibrated, and kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from setrbm import draws
from setrbm._types import Integers
from setrbm._warnings import warn
from setrbm.calibration import fit_temperature
from setrbm.energy import Params, joined
from setrbm.estimators.search.search import Search, TrainingBatch
from setrbm.training import InMemory, Monitor, Outcome, Schedule, Training, folds

# The folds of the predictions that probabilities are calibrated on.
CALIBRATION_FOLDS = 5


class Refit(NamedTuple):
    """Which refit a model is.

    Attributes
    ----------
    fold : int or None
        The fold it does not learn from, for calibration; None if it learns from all sets.
    member : int
        Which part of a mixture it is; 0 without one.
    start : int
        Which of the random starts of its part it has.
    """

    fold: int | None
    member: int
    start: int


def refit(search: Search, monitor: Monitor | None) -> dict[Any, Outcome]:
    """Train the chosen settings on all sets; return what came of each refit, nothing if none is to be made."""
    if search.interrupted or not search.choices.refit:
        return {}
    try:
        batches = to_refit(search)
    except KeyboardInterrupt:
        search.interrupted = True
        return {}
    return search.train("fitting", batches, monitor)


def to_refit(search: Search) -> list[TrainingBatch]:
    """Return the models to train with the chosen settings, each for the chosen number of epochs."""
    choices, members = search.choices, search.chosen.members
    sources, n_fits = _sources(search), choices.n_fits_of(search.chosen)
    if not sources:
        return []
    seeds = [search.seed, *draws.further_seeds(search.seed, n_fits * len(members) - 1)]
    n_epochs = search.candidates[search.best].n_epochs_to_refit(choices.lengths[-1])
    kinds: dict[Any, dict[Any, Training]] = {}
    for member, settings in enumerate(members):
        trainings, sets = kinds.setdefault(search.kind(settings), {}), search.sets_for(settings)
        models = [search.model(settings, seed) for seed in seeds[member * n_fits : (member + 1) * n_fits]]
        for fold, source in sources.items():
            source = replace(source, sets=sets)
            trainings |= {Refit(fold, member, start): Training(model, source) for start, model in enumerate(models)}
    return [TrainingBatch(Schedule(n_epochs), spec, trainings) for (spec, _), trainings in kinds.items()]


def _sources(search: Search) -> dict[int | None, InMemory]:
    """Return what is learned from: all sets, and all but each of the folds to calibrate on."""
    n_refits, source = search.choices.n_fits_of(search.chosen) * len(search.chosen.members), search.sources[0]
    # Where nothing could be held out, a single candidate has learned from all sets already.
    is_done = n_refits == len(search.sources) == 1 and len(source.training) == len(search.sets.y)
    sources: dict[int | None, InMemory] = {} if is_done else {None: InMemory.of(search.sets)}
    return sources | {fold: _all_but(search, held_out) for fold, held_out in enumerate(_folds(search))}


def _all_but(search: Search, held_out: Integers) -> InMemory:
    """Return all sets but these to learn from. They are not watched: the last epoch counts, as in the refit."""
    source = InMemory.of(search.sets, held_out)
    return replace(source, held_out=held_out[:0])


def _folds(search: Search) -> list[Integers]:
    """Return the sets to calibrate on, fold by fold."""
    return folds(search.sets.y, CALIBRATION_FOLDS, search.seed) if search.choices.calibrate else []


def keep(search: Search, refitted: dict[Any, Outcome]) -> None:
    """Keep the average of the refitted models, or the chosen candidate as it is; calibrate it if asked."""
    estimator, members = search.estimator, search.chosen.members
    refitted = {key: search.undone(members[key.member], outcome) for key, outcome in refitted.items()}
    sound = _sound(search, refitted, None)
    _warn_if_diverged(search, refitted, bool(sound))
    settings = replace(estimator._settings(**estimator.best_params_), pooling=search.chosen.pooling)
    if not sound or search.interrupted:
        sound, settings = [search.candidates[search.best].outcomes[0]], settings.members[0]
    estimator.seed_ = search.seed
    params = joined([outcome.params for outcome in sound])
    estimator._set_result(settings, replace(sound[0], params=params))
    estimator.temperature_ = float(len(sound))
    if search.choices.calibrate and not search.interrupted:
        try:
            estimator.calibration_temperature_ = _calibrated(search, refitted)
        except KeyboardInterrupt:
            search.interrupted = True


def _sound(search: Search, refitted: dict[Refit, Outcome], fold: int | None) -> list[Outcome]:
    """Return the refits that did not diverge, as many for every part of a mixture, part by part."""
    parts: list[list[Outcome]] = [[] for _ in search.chosen.members]
    for key in sorted(key for key in refitted if key.fold == fold):
        if refitted[key].diverged_in is None:
            parts[key.member].append(refitted[key])
    n = min(map(len, parts))
    return [outcome for part in parts for outcome in part[:n]]


def _warn_if_diverged(search: Search, refitted: dict[Refit, Outcome], any_sound: bool) -> None:
    of_all_sets = [outcome for key, outcome in refitted.items() if key.fold is None]
    if not (n_diverged := sum(outcome.diverged_in is not None for outcome in of_all_sets)):
        return
    kept = "The others are kept." if any_sound else "The best candidate is kept without a refit."
    if any_sound and len(search.chosen.members) > 1:
        kept = "Of the others, the same number is kept for each part of the mixture."
    warn(
        f"The chosen settings diverged in {n_diverged} of {len(of_all_sets)} refits. {kept} Offer smaller learning "
        "rates."
    )


# --- calibration ---


def _calibrated(search: Search, refitted: dict[Refit, Outcome]) -> float:
    """Return the temperature that fits predictions for sets that the models did not learn from."""
    # If only one part of a mixture is kept, the folds say nothing about it.
    is_whole = search.estimator.settings_.pooling == search.chosen.pooling
    parts = _calibration_parts(search, refitted) if is_whole else []
    if not parts:
        warn("The probabilities are not calibrated: no set could be held out, or all refits diverged.")
        return 1.0
    settings = search.chosen if search.choices.refit else search.chosen.members[0]
    F = [
        search.estimator._forward(search.sets.bags[rows], joined(params), settings)[1] / len(params)
        for params, rows in parts
    ]
    rows = np.concatenate([rows for _, rows in parts])
    return fit_temperature(np.concatenate(F), search.sets.y[rows], search.sets.weight[rows])


def _calibration_parts(search: Search, refitted: dict[Refit, Outcome]) -> list[tuple[list[Params], Integers]]:
    """Return sets to calibrate on, each part with the models that did not learn from it."""
    if not search.choices.refit:
        (source,) = search.sources
        is_held_out = len(source.training) < len(search.sets.y)
        return [([search.candidates[search.best].outcomes[0].params], source.held_out)] if is_held_out else []
    every_fold = list(enumerate(_folds(search)))
    sound = [[outcome.params for outcome in _sound(search, refitted, fold)] for fold, _ in every_fold]
    return [(params, held_out) for params, (_, held_out) in zip(sound, every_fold, strict=True) if params]
