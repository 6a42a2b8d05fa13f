"""Data sets: loaders with checksums, Musk1 inside the package, and generators of sets."""

from setrbm.datasets.mail_like import make_mail_like
from setrbm.datasets.musk import load_musk1

__all__ = ["load_musk1", "make_mail_like"]
