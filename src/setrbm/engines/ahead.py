"""Prepare the next item in a thread while the current one is in use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
_END: Any = object()


def one_ahead(items: Iterable[T]) -> Iterator[T]:
    """Yield items while a thread prepares the next one; errors in the thread are raised here.

    Examples
    --------
    >>> list(one_ahead(x * x for x in range(4)))
    [0, 1, 4, 9]
    """
    source = iter(items)
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, source, _END)
        while (item := coming.result()) is not _END:
            coming = thread.submit(next, source, _END)
            yield item
