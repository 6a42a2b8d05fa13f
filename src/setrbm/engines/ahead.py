"""Making the next of several things while the present one is worked on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
_NOTHING: Any = object()


def one_ahead(items: Iterable[T]) -> Iterator[T]:
    """Yield items while a thread makes the next one; what goes wrong there is raised here.

    Examples
    --------
    >>> list(one_ahead(x * x for x in range(4)))
    [0, 1, 4, 9]
    """
    source = iter(items)
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, source, _NOTHING)
        while (item := coming.result()) is not _NOTHING:
            coming = thread.submit(next, source, _NOTHING)
            yield item
