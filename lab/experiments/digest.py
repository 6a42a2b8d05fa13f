"""Do models still learn the same bits? Prints a digest per kind of fit, to compare two versions of the code.

Run it with both versions on the same machine (the last bits depend on the processor) and compare the two outputs:

    python lab/experiments/digest.py > after.json

Fits every variant with every objective on the CPU, reference and (on torch's CPU build) GPU engines, in memory and
from shards, with and without early stopping, weights and mini-batches, on dense and sparse sets; the estimators that
choose; and the first two folds of five rows of Table 1 on Musk1.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from setrbm import Bags, ClassRBM, ClassSetRBM, ClassSetRBMCV
from setrbm.datasets import load_musk1
from setrbm.engines import get_engine
from setrbm.estimators import MaxOutClassifier, MaxOutClassifierCV
from setrbm.shards import write_shards

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from _zipf_sets import make_zipf_sets

# Triton's kernels are interpreted: they are not compiled without a GPU.
os.environ["TRITON_INTERPRET"] = "1"
LETTERS = ("W_", "U_", "b_", "c_", "d_")


def digest(model: Any, bags: Any) -> str:
    """Return a digest of the letters, the history and the probabilities of a fitted model."""
    total = hashlib.sha256()
    for letter in LETTERS:
        total.update(np.ascontiguousarray(getattr(model, letter)).tobytes())
    for name in ("loss", "held_out_loss", "held_out_error"):
        total.update(np.array(model.history_[name], dtype=float).tobytes())
    total.update(np.array([model.best_epoch_, model.n_epochs_]).tobytes())
    total.update(np.ascontiguousarray(model.predict_proba(bags)).tobytes())
    return total.hexdigest()[:16]


def problems() -> dict[str, tuple[Bags, Any]]:
    """Return small dense and sparse problems, in random order."""
    musk, y = load_musk1()
    order = np.random.default_rng(0).permutation(len(musk))
    mail, labels = make_zipf_sets(150, n_classes=3, n_features=300, words_per_vector=20.0, random_state=0)
    return {"musk": (musk[order], y[order]), "mail": (mail, labels)}


def single_fits(found: dict[str, str]) -> None:
    """Fit every variant, objective and engine in memory."""
    for name, (bags, y) in problems().items():
        for constraint, pooling, objective, engine in product(
            ("xor", "or"), ("soft", "hard"), ("discriminative", "generative", "hybrid"), ("cpu", "reference")
        ):
            few = slice(None) if engine == "cpu" else slice(None, 60)
            model = ClassSetRBM(
                12, constraint=constraint, pooling=pooling, objective=objective, engine=engine,
                max_epochs=8 if engine == "cpu" else 2, random_state=3,
            )  # fmt: skip
            found[f"{name} {constraint} {pooling} {objective} {engine}"] = digest(model.fit(bags[few], y[few]), bags)


def settings(found: dict[str, str]) -> None:
    """Fit with settings that take other paths through the code."""
    bags, y = problems()["musk"]
    weight = np.random.default_rng(1).random(len(y))
    changes: dict[str, dict[str, Any]] = {
        "batches": {"batch_size": 7, "weight_decay": 0.01},
        "to the end": {"early_stopping": False},
        "error": {"stopping": "error", "patience": 3},
        "persistent": {"objective": "hybrid", "persistent": True, "cd_steps": 2},
        "gaussian": {"objective": "hybrid", "visible": "gaussian", "scale": None, "generative_learning_rate": 1e-6,
                     "learning_rate": 1e-4, "init_scale": 1e-3},
        "balanced": {"class_weight": "balanced"},
        "wide": {"n_hidden": 150, "n_jobs": 2},
    }  # fmt: skip
    for name, change in changes.items():
        model = ClassSetRBM(**{"n_hidden": 12, "max_epochs": 8, "random_state": 3} | change)
        found[f"settings {name}"] = digest(model.fit(bags, y, sample_weight=weight), bags)
    model = ClassSetRBM(12, max_epochs=5, warm_start=True, random_state=3).fit(bags, y)
    found["warm start"] = digest(model.fit(bags, y), bags)
    model = ClassSetRBM(12, random_state=3).partial_fit(bags[:40], y[:40], classes=[0, 1])
    found["partial_fit"] = digest(model.partial_fit(bags[40:], y[40:]), bags)
    single = Bags.from_rows(bags.X[bags.offsets[:-1]])
    found["ClassRBM"] = digest(ClassRBM(12, max_epochs=8, random_state=3).fit(single, y), single)
    for unit in ("rbm", "mlp", "logit"):
        model = MaxOutClassifier(unit, n_hidden=12, max_epochs=8, random_state=3)
        found[f"max-out {unit}"] = digest(model.fit(bags, y), bags)


def streams(found: dict[str, str]) -> None:
    """Fit from shards."""
    for name, (bags, y) in problems().items():
        for objective, early in product(("discriminative", "hybrid"), (True, False)):
            with tempfile.TemporaryDirectory() as folder:
                shards = write_shards(Path(folder), bags, y, sets_per_shard=40)
                model = ClassSetRBM(12, objective=objective, early_stopping=early, max_epochs=6, random_state=3)
                found[f"shards {name} {objective} {early}"] = digest(model.fit(shards), bags)
                model.partial_fit(shards)
                found[f"shards {name} {objective} {early}, once more"] = digest(model, bags)


def choices(found: dict[str, str]) -> None:
    """Fit the estimators that choose their settings."""
    bags, y = problems()["musk"]
    offers: dict[str, Any] = {
        "default": ClassSetRBMCV(20, max_epochs=80, random_state=3),
        "stops": ClassSetRBMCV(20, max_epochs=30, early_stopping=True, n_fits=2, random_state=3),
        "paper": ClassSetRBMCV(20, max_epochs=30, refit=False, random_state=3),
        "kinds": ClassSetRBMCV([10, 20], constraint=["xor", "or"], pooling=["soft", "hard"], max_epochs=[20, 40],
                               early_stopping=False, random_state=3),
        "hybrid": ClassSetRBMCV(20, objective="hybrid", generative_learning_rate=(0.001, 0.01), max_epochs=30,
                                random_state=3),
        "max-out": MaxOutClassifierCV("mlp", n_hidden=20, max_epochs=30, random_state=3),
        "logit": MaxOutClassifierCV("logit", early_stopping=False, refit=True, max_epochs=60, random_state=3),
    }  # fmt: skip
    for name, model in offers.items():
        found[f"choosing {name}"] = digest(model.fit(bags, y), bags)


def gpu(found: dict[str, str]) -> None:
    """Fit on the GPU engine, on torch's CPU build."""
    get_engine("gpu").device = "cpu"  # type: ignore[attr-defined]
    for name, (bags, y) in problems().items():
        for constraint, objective in product(("xor", "or"), ("discriminative", "hybrid")):
            model = ClassSetRBM(12, constraint=constraint, objective=objective, engine="gpu", max_epochs=2,
                                batch_size=5, random_state=3)  # fmt: skip
            model.fit(bags[:40], y[:40])
            model.engine = "cpu"
            found[f"gpu {name} {constraint} {objective}"] = digest(model, bags)


def table(found: dict[str, str]) -> None:
    """Make ten folds of Table 1: two each of five rows, on Musk1."""
    try:
        from setrbm.evaluation.splits import repeated_folds, system_seed
        from setrbm_lab.systems import find_system
    except ImportError:  # the names before the redesign
        from setrbm.evaluation.protocol import repeated_folds, system_seed
        from setrbm.evaluation.systems import find_system
    bags, y = load_musk1()
    bags = Bags(bags.X.astype(np.float32), bags.offsets)
    splits = repeated_folds(y, 10, 5, 2011)[:2]
    for name, split in product(("XOR*", "OR", "ClassRBM-poolIn", "MLP-maxOut", "ClassSetRBMCV"), splits):
        model = find_system(name).make(system_seed(2011, split), False, "cpu", 1)
        model.fit(bags[split.train], y[split.train])
        p = np.ascontiguousarray(model.predict_proba(bags[split.test]))
        found[f"table {name} {split.fold}"] = hashlib.sha256(p.tobytes()).hexdigest()[:16]


def main() -> None:
    """Print the digests as JSON."""
    warnings.simplefilter("ignore")
    found: dict[str, str] = {}
    for part in (single_fits, settings, streams, choices, gpu, table):
        print(f"{part.__name__} ...", file=sys.stderr, flush=True)
        part(found)
    json.dump(found, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
