"""Sets of vectors. Every input format ends in ``Bags``, and every check of sets is here."""

from setrbm.bags.columns import Labels, is_missing
from setrbm.bags.frames import FrameBackend, as_frame
from setrbm.bags.groups import MixedLabelsError
from setrbm.bags.indexing import as_positions, offsets_of, rows_of
from setrbm.bags.matrices import as_array, first_text, refuse_dates
from setrbm.bags.sets import Bags

__all__ = [
    "Bags",
    "FrameBackend",
    "Labels",
    "MixedLabelsError",
    "as_array",
    "as_frame",
    "as_positions",
    "first_text",
    "is_missing",
    "offsets_of",
    "refuse_dates",
    "rows_of",
]
