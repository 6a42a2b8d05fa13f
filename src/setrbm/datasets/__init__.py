"""Data sets: Musk1 (included), the standard benchmarks, readers for files of sets, and generators."""

from setrbm.datasets.benchmarks import BENCHMARKS, fetch_benchmark, load_benchmark
from setrbm.datasets.digit_sets import make_digit_sets
from setrbm.datasets.files import read_bags, read_sets, write_csv, write_parquet
from setrbm.datasets.mail_like import make_mail_like
from setrbm.datasets.musk import load_musk1
from setrbm.datasets.page_texts import read_pages

__all__ = [
    "BENCHMARKS",
    "fetch_benchmark",
    "load_benchmark",
    "load_musk1",
    "make_digit_sets",
    "make_mail_like",
    "read_bags",
    "read_pages",
    "read_sets",
    "write_csv",
    "write_parquet",
]
