"""The base class of errors that are shown as one sentence."""

from __future__ import annotations


class SetrbmError(RuntimeError):
    """Something outside of the program is missing or has failed; the message says what, and what to do."""
