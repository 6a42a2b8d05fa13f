"""The figures of the paper's two tables."""

from __future__ import annotations

SOURCE = "Louradour and Larochelle, Classification of Sets using Restricted Boltzmann Machines, 2011, Table 1"
# Five times repeated ten-fold cross-validation.
REPEATS, FOLDS = 5, 10
DATASETS = ("musk1", "musk2", "elephant", "fox", "tiger")

# Accuracies in percent, in the order of the data sets. Each is the accuracy over the test sets of all folds pooled.
_FIGURES = {
    "ClassSetRBM XOR": (83.04, 80.39, 82.30, 58.50, 82.40),
    "ClassSetRBM XOR Hybrid": (84.57, 84.12, 82.80, 55.70, 82.10),
    "ClassSetRBM XOR*": (83.91, 84.12, 87.80, 60.30, 82.60),
    "ClassSetRBM XOR* Hybrid": (83.70, 81.18, 86.40, 58.00, 83.20),
    "ClassSetRBM OR": (82.61, 83.73, 82.70, 58.60, 80.90),
    "ClassSetRBM OR Hybrid": (84.35, 84.71, 82.60, 55.50, 82.70),
    "ClassSetRBM OR*": (85.65, 80.39, 87.10, 59.70, 82.60),
    "ClassSetRBM OR* Hybrid": (85.87, 81.76, 85.50, 56.60, 82.60),
    "ClassRBM-poolIn": (81.52, 81.37, 82.70, 59.80, 76.80),
    "ClassRBM-maxOut": (83.91, 80.98, 81.60, 57.60, 75.50),
    "MLP-maxOut": (85.65, 78.82, 82.00, 55.40, 74.40),
    "Logit-maxOut": (81.09, 80.00, 81.90, 58.80, 75.90),
    "SVM-miGraph": (86.74, 82.35, 83.80, 61.50, 81.20),
    "SVM-miGraph2": (85.43, 82.35, 83.80, 61.30, 80.80),
    "SVM-max": (83.48, 84.51, 84.60, 59.70, 81.70),
}
PAPER_SYSTEMS = tuple(_FIGURES)
TABLE_1: dict[tuple[str, str], float] = {
    (system, dataset): figure
    for system, figures in _FIGURES.items()
    for dataset, figure in zip(DATASETS, figures, strict=True)
}

MAIL_SOURCE = SOURCE.replace("Table 1", "Table 2")
# Two collections of a company's mail, which are not public; five-fold cross-validation.
MAIL_DATASETS = ("DsUs", "DsDe")
_MAIL_FIGURES = {
    "ClassSetRBM XOR": (87.71, 83.75),
    "ClassSetRBM XOR*": (88.55, 84.18),
    "ClassSetRBM OR": (88.13, 83.86),
    "ClassSetRBM OR*": (85.69, 78.43),
    "ClassRBM-poolIn": (87.97, 82.54),
    "SVM-miGraph": (86.22, 83.74),
    "SVM-miGraph2": (86.82, 84.16),
    "SVM-max": (56.45, 64.14),
}
MAIL_SYSTEMS = tuple(_MAIL_FIGURES)
TABLE_2: dict[tuple[str, str], float] = {
    (system, dataset): figure
    for system, figures in _MAIL_FIGURES.items()
    for dataset, figure in zip(MAIL_DATASETS, figures, strict=True)
}
