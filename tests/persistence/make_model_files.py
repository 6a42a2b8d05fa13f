"""Write the model files of the current format to tests/data/models, with the outputs that they must give.

``test_old_files.py`` loads the files in every later version. After raising the format, or adding a class that can be
saved, run ``python tests/persistence/make_model_files.py``. Only missing files are written: existing ones stay as they
are.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler

from setrbm import Bags, ClassRBM, ClassSetRBM, ClassSetRBMCV, save
from setrbm.estimators import InputPooling, MaxOutClassifier, MaxOutClassifierCV, PerVector, SetSVC, SetSVCCV
from setrbm.persistence.model_file import FORMAT
from setrbm.selective import RejectOption
from setrbm.text import PageWords

FOLDER = Path(__file__).parents[1] / "data" / "models"
N_CHECKED = 5
NAMES = ["mass", "charge", "length"]
LABELS = np.array(["musk", "other"])
SHORT = {"max_epochs": 20, "random_state": 0}
# What a few sets can show.
MODEST = {"precision": 0.4, "confidence": 0.6}
ONE = {"learning_rate": 0.3, "early_stopping": False, "weight_decay": 0.0, **SHORT}
# Files of estimators that take vectors, not sets.
OF_VECTORS = {
    "ClassRBM",
    "StandardScaler",
    "MinMaxScaler",
    "SimpleImputer",
    "TfidfTransformer",
    "QuantileTransformer",
    "TruncatedSVD",
}
# Files of estimators that take documents with pages of text.
OF_TEXTS = {"PageWords", "Pipeline-text"}
# Files of estimators that take documents with pages as they were read.
OF_PAGES = {"DocumentFeatures"}
METHODS = ("predict", "predict_proba", "decision_function", "transform", "accepts")


def sets(seed=0, n_sets=16):
    """Return sets of one to four vectors of three features."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n_sets)
    y = np.arange(n_sets) % 2
    X = rng.random((sizes.sum(), 3)) * [1.0, 10.0, 100.0] + 0.8 * np.repeat(y, sizes)[:, np.newaxis]
    return Bags(np.round(X, 2), np.concatenate([[0], np.cumsum(sizes)]), feature_names=NAMES), LABELS[y]


def of_vectors(bags):
    """Return the first vector of each set."""
    return bags.X[bags.offsets[:-1]]


def documents(seed=0, n_sets=16):
    """Return documents of one to four pages; every second one has a page about money."""
    rng = np.random.default_rng(seed)
    found = []
    for k in range(n_sets):
        pages = [" ".join(rng.choice(["dear", "sir", "terms", "page", "kind"], 4)) for _ in range(rng.integers(1, 5))]
        found.append([*pages, "Amount due: 40 euros"] if k % 2 else pages)
    return found


def read_pages():
    """Return the documents as if they had been read from files: white pages, the words at the left edge."""
    from setrbm_mail import Document, Page
    from setrbm_mail.pages import LAYOUT, THUMBNAIL

    white, empty = np.full(THUMBNAIL, 255, np.uint8), np.zeros(len(LAYOUT), np.float32)
    found = []
    for k, texts in enumerate(documents()):
        words = [tuple(text.split()) for text in texts]
        pages = [
            Page(one, np.zeros((len(one), 4), np.int32), np.ones(len(one)), "OCR", 1654, 2339, 200.0, 0, white, empty)
            for one in words
        ]
        found.append(Document(f"{k}.pdf", pages, []))
    return found


def input_of(name, bags):
    """Return what the estimator of a file takes."""
    if name in OF_PAGES:
        return read_pages()
    if name in OF_TEXTS:
        return documents()
    return of_vectors(bags) if name in OF_VECTORS else bags


def classifiers():
    """Return an unfitted classifier for each file of one."""
    weights = {"musk": 2.0, "other": 1.0}
    chosen = {"learning_rate": (0.1, 0.3), "init_scale": 0.1, **SHORT}
    return {
        "ClassSetRBM": ClassSetRBM(2, constraint="or", pooling="soft", class_weight=weights, **ONE),
        "ClassSetRBMCV": ClassSetRBMCV(2, n_fits=2, calibrate=True, **chosen),
        "ClassRBM": ClassRBM(2, objective="hybrid", **ONE),
        "MaxOutClassifier": MaxOutClassifier("mlp", n_hidden=2, **ONE),
        "MaxOutClassifierCV": MaxOutClassifierCV("rbm", n_hidden=2, weight_decay=(0.0, 0.01), **chosen),
        "SetSVC": SetSVC("migraph2", C=3.0),
        "SetSVC-three-classes": SetSVC("max", spectrum="clip", probability=True, random_state=0),
        "SetSVCCV": SetSVCCV(C=(1.0, 10.0), gamma_factors=(0.5, 1.0), random_state=0),
        "FrozenEstimator": FrozenEstimator(SetSVC("migraph2").fit(*sets())),
        "RejectOption": RejectOption(ClassSetRBM(2, **ONE), held_out=0.4, random_state=1, **MODEST),
        "RejectOption-per-class": RejectOption(
            FrozenEstimator(SetSVC().fit(*sets(1))), sureness="margin", per_class=True, **MODEST
        ),
    }


def transformers():
    """Return an unfitted transformer, or a pipeline, for each file of one."""
    from setrbm_mail import DocumentFeatures

    scaled = make_pipeline(StandardScaler(), MinMaxScaler((-1, 1)))
    return {
        "InputPooling": InputPooling(("max", "std", "size")),
        "PerVector": PerVector(StandardScaler()),
        "StandardScaler": StandardScaler(),
        "MinMaxScaler": MinMaxScaler(clip=True),
        "SimpleImputer": SimpleImputer(missing_values=0.54, strategy="median", add_indicator=True),
        "TfidfTransformer": TfidfTransformer(sublinear_tf=True),
        "QuantileTransformer": QuantileTransformer(n_quantiles=4, output_distribution="normal"),
        "TruncatedSVD": TruncatedSVD(2, random_state=0),
        "PageWords": PageWords(max_words=6, pairs=True),
        "DocumentFeatures": DocumentFeatures(blocks=("words", "layout"), words=PageWords(max_words=6)),
        "Pipeline": make_pipeline(PerVector(scaled), "passthrough", make_pipeline(SetSVC(scale=None))),
        "Pipeline-pooled": make_pipeline(InputPooling(), StandardScaler(), ClassRBM(2, **ONE)),
        "Pipeline-text": make_pipeline(PageWords(weights="binary"), ClassSetRBM(2, scale=None, **ONE)),
    }


def outputs(model, X):
    """Return everything that a model computes for some sets, as lists for JSON."""
    computed = {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}
    return {name: plain(output).tolist() for name, output in computed.items()}


def plain(output):
    """Return an output as a dense array."""
    output = output.X if isinstance(output, Bags) else output
    return output.toarray() if hasattr(output, "toarray") else np.asarray(output)


def main():
    """Fit each estimator whose file is missing, save it and record what it computes."""
    folder = FOLDER / f"format{FORMAT}"
    folder.mkdir(parents=True, exist_ok=True)
    bags, y = sets()
    recorded = folder / "expected.json"
    record = {"names": NAMES, "sets": [bags[k].tolist() for k in range(N_CHECKED)], "outputs": {}}
    if recorded.exists():
        record = json.loads(recorded.read_text(encoding="utf-8"))
    for name, estimator in {**classifiers(), **transformers()}.items():
        path = folder / f"{name}.safetensors"
        if not path.exists():
            X = input_of(name, bags)
            model = estimator.fit(X, np.arange(len(y)) % 3 if "three" in name else y)
            save(model, path)
            record["outputs"][name] = outputs(model, X[:N_CHECKED])
    recorded.write_text(json.dumps(record) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
