"""How pages are read: resolution, OCR and language."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from setrbm_mail.limits import Limits
from setrbm_mail.reading.languages import language_digest

# Raised when pages are read differently, so that cached ones are read again.
VERSION = 3


@dataclass(frozen=True)
class Reading:
    """How pages are read.

    Attributes
    ----------
    dpi : float
        Resolution of the page pictures.
    ocr : {"auto", "never"}
        Whether pages without a text layer are read by OCR.
    language : str
    language_folder : str or None
    """

    dpi: float = 200.0
    ocr: str = "auto"
    language: str = "eng"
    language_folder: str | None = None

    def __post_init__(self) -> None:
        if not 50.0 <= self.dpi <= 600.0:
            raise ValueError(f"dpi must lie between 50 and 600. Got {self.dpi!r}.")
        if self.ocr not in ("auto", "never"):
            raise ValueError(f"ocr must be 'auto' or 'never'. Got {self.ocr!r}.")

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self)

    @property
    def key(self) -> str:
        """The settings that change the result of reading."""
        own = "" if self.language_folder is None else f"-{self.language_folder}"
        return f"{VERSION}-{self.dpi:g}-{self.ocr}-{self.language}{own}"

    def cache_key(self, limits: Limits) -> str:
        """Return the key that cached pages share: the settings, how pages are drawn, the content of the language data.

        The data is read anew by every call.
        """
        data = "none" if self.ocr == "never" else language_digest(self.language, self.language_folder)
        return f"{self.key}-{limits.pixels}-{data}"
