"""Data sets: loaders with checksums, and Musk1 inside the package."""

from setrbm.datasets.musk import load_musk1

__all__ = ["load_musk1"]
