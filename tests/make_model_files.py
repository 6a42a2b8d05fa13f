"""Write the model files of the current format to tests/data/models, with the outputs that they must give.

Run once for each format, before the release that introduces it; ``test_old_files.py`` then loads the files in every
later version. Usage: ``python tests/make_model_files.py``. A folder that exists is never overwritten.
"""

import json
from pathlib import Path

import numpy as np

from setrbm import Bags, ClassRBM, ClassSetRBM, ClassSetRBMCV, persistence
from setrbm.estimators import MaxOutClassifier, MaxOutClassifierCV

FOLDER = Path(__file__).parent / "data" / "models"
N_CHECKED = 5
NAMES = ["mass", "charge", "length"]
LABELS = np.array(["musk", "other"])
SHORT = {"max_epochs": 20, "random_state": 0}
ONE = {"learning_rate": 0.3, "early_stopping": False, "weight_decay": 0.0, **SHORT}


def sets(seed=0, n_sets=16):
    """Return sets of one to four vectors of three features."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n_sets)
    y = np.arange(n_sets) % 2
    X = rng.random((sizes.sum(), 3)) * [1.0, 10.0, 100.0] + 0.8 * np.repeat(y, sizes)[:, np.newaxis]
    return Bags(np.round(X, 2), np.concatenate([[0], np.cumsum(sizes)]), feature_names=NAMES), LABELS[y]


def estimators():
    """Return an unfitted estimator for each file."""
    weights = {"musk": 2.0, "other": 1.0}
    chosen = {"learning_rate": (0.1, 0.3), "init_scale": 0.1, **SHORT}
    return {
        "ClassSetRBM": ClassSetRBM(2, constraint="or", pooling="soft", class_weight=weights, **ONE),
        "ClassSetRBMCV": ClassSetRBMCV(2, n_fits=2, **chosen),
        "ClassRBM": ClassRBM(2, objective="hybrid", **ONE),
        "MaxOutClassifier": MaxOutClassifier("mlp", n_hidden=2, **ONE),
        "MaxOutClassifierCV": MaxOutClassifierCV("rbm", n_hidden=2, weight_decay=(0.0, 0.01), **chosen),
    }


def outputs(model, X):
    """Return everything that a model computes for some sets, as lists for JSON."""
    methods = ("predict", "predict_proba", "transform")
    return {name: getattr(model, name)(X).tolist() for name in methods if hasattr(model, name)}


def main():
    """Fit each estimator, save it and record what it computes."""
    folder = FOLDER / f"format{persistence.FORMAT}"
    folder.mkdir(parents=True)
    bags, y = sets()
    expected = {}
    for name, estimator in estimators().items():
        X, labels = (bags.X[bags.offsets[:-1]], y) if name == "ClassRBM" else (bags, y)
        model = estimator.fit(X, labels)
        model.save(folder / f"{name}.safetensors")
        expected[name] = outputs(model, X[:N_CHECKED])
    record = {"names": NAMES, "sets": [bags[k].tolist() for k in range(N_CHECKED)], "outputs": expected}
    (folder / "expected.json").write_text(json.dumps(record) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
