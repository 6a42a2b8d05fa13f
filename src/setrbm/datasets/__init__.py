"""Data sets: Musk1 inside the package, files of sets, and generators of sets."""

from setrbm.datasets.files import read_bags, read_sets, write_csv
from setrbm.datasets.mail_like import make_mail_like
from setrbm.datasets.musk import load_musk1

__all__ = ["load_musk1", "make_mail_like", "read_bags", "read_sets", "write_csv"]
