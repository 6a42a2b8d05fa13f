"""How tests recognize phrases on pages, and the names of the layouts."""

import re

from setrbm_mail.generate.phrases import EVIDENCE, half


def pattern_of(phrase):
    """Return a regular expression that finds a phrase with its slots filled."""
    return re.compile(".{1,60}?".join(re.escape(part) for part in re.split(r"\{\w+\}", phrase)))


def evidence_in(text, style, subject, part="train"):
    """Return the phrases about a subject that occur in a text."""
    return [phrase for phrase in half(EVIDENCE[style][subject], part) if pattern_of(phrase).search(text)]
