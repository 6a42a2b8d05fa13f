"""What the parts of the demo share: their results, and the files they write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setrbm._types import Array
    from setrbm.bags import Bags


@dataclass(frozen=True)
class DemoPart:
    """One part of the demo.

    Attributes
    ----------
    name : str
        The beginning of the names of its files.
    results : dict
        The results, for JSON.
    model : ClassSetRBMCV
    data, tests : tuple of Bags and labels
        Written as CSV; the model did not learn from the tests.
    picture : bytes, optional
        A PNG; None without matplotlib.
    """

    name: str
    results: dict[str, Any]
    model: Any
    data: tuple[Bags, Array]
    tests: tuple[Bags, Array]
    picture: bytes | None

    def write(self, folder: Path) -> list[str]:
        """Write the model, the data and the picture; return the paths."""
        from setrbm.datasets.files import write_csv
        from setrbm.tools.files import write_atomically

        paths = [folder / f"{self.name}{end}" for end in (".safetensors", ".csv", "-test.csv", ".png")]
        self.model.save(paths[0])
        write_csv(paths[1], *self.data)
        write_csv(paths[2], *self.tests)
        if self.picture is None:
            return [str(path) for path in paths[:3]]
        write_atomically(paths[3], self.picture)
        return [str(path) for path in paths]


def drawn(draw: Callable[..., bytes], *arguments: Any) -> bytes | None:
    """Return a picture; None if matplotlib is not installed."""
    try:
        return draw(*arguments)
    except ImportError:
        return None


def strongest(item: dict[str, Any]) -> dict[str, Any]:
    """Return the vector of an explained set with the largest drop."""
    vector: dict[str, Any] = item["vectors"][item["strongest_vector"] - 1]
    return vector


def rounded(drop: float) -> str:
    """Return a drop with two decimals; "0" instead of +0.00 or -0.00, which would look like evidence."""
    return f"{drop:+.2f}" if abs(drop) >= 0.005 else "0"
