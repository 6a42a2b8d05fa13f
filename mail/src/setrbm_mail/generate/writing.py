"""The words of a page: phrases about its subject, filler, and the names and numbers that fill their slots."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from setrbm_mail.generate import filler, vocabulary
from setrbm_mail.generate.phrases import CLASSES, EVIDENCE, MENTIONS, PASSING, TITLES, Part, half

# The share of filler sentences that mention some subject in passing.
PASSING_SHARE = 0.02
SLOT = re.compile(r"\{(\w+)\}")
LEAST_EVIDENCE = 2


@dataclass
class Writer:
    """Writes the texts of one page.

    Attributes
    ----------
    style : {"a", "b"}
    rng : Generator
    subject : int or None
        What the page is about; None for filler.
    part : {"train", "test"}
        Which half of the phrases to use.
    evidence_share : float
        The share of sentences about the subject, on pages that have one.
    n_subjects : int
        How many subjects may be mentioned in passing.
    """

    style: str
    rng: np.random.Generator
    subject: int | None = None
    part: Part = "train"
    evidence_share: float = 0.3
    n_subjects: int = len(CLASSES)
    _sender: str = field(default="", init=False)

    def pick(self, choices: Sequence[str]) -> str:
        """Return one of the choices."""
        return choices[int(self.rng.integers(len(choices)))]

    def filled(self, phrase: str) -> str:
        """Return a phrase with every slot filled."""
        return SLOT.sub(lambda match: SLOTS[match[1]](self), phrase)

    def of(self, words: dict[str, tuple[str, ...]]) -> str:
        """Return a word, or a filled phrase, from a table with one list per style."""
        return self.filled(self.pick(words[self.style]))

    # --- sentences ---

    def filler(self, kind: str) -> str:
        """Return a sentence without evidence; rarely, one that mentions a subject in passing."""
        if self.rng.random() < PASSING_SHARE:
            mention = MENTIONS[self.style][self.rng.integers(self.n_subjects)]
            return self.pick(PASSING[self.style]).replace("{mention}", mention)
        patterns = filler.KINDS[kind][self.style]
        pattern = patterns[self.rng.integers(len(patterns))]
        return self.filled(" ".join(self.pick(choices) for choices in pattern))

    def evidence(self, n: int) -> list[str]:
        """Return n different sentences about the subject; none on pages without one."""
        if self.subject is None:
            return []
        phrases = half(EVIDENCE[self.style][self.subject], self.part)
        chosen = self.rng.permutation(len(phrases))[:n]
        return [self.filled(phrases[k]) for k in chosen]

    def sentences(self, n: int, kind: str = "letter") -> list[str]:
        """Return n sentences; those about the subject are next to each other."""
        n_evidence = max(LEAST_EVIDENCE, round(n * self.evidence_share))
        evidence = self.evidence(n_evidence)
        rest = [self.filler(kind) for _ in range(n - len(evidence))]
        start = int(self.rng.integers(len(rest) + 1))
        return rest[:start] + evidence + rest[start:]

    def paragraphs(self, n: int, kind: str = "letter") -> list[str]:
        """Return n sentences as paragraphs of one to four."""
        sentences = self.sentences(n, kind)
        paragraphs = []
        while sentences:
            length = int(self.rng.integers(1, 5))
            paragraphs.append(" ".join(sentences[:length]))
            sentences = sentences[length:]
        return paragraphs

    def title(self) -> str:
        """Return a subject line; on two of three pages it says nothing about the subject."""
        if self.subject is None or self.rng.random() < 0.67:
            return self.of(filler.NEUTRAL_TITLES)
        return self.filled(self.pick(half(TITLES[self.style][self.subject], self.part)))

    # --- names, numbers and dates ---

    def name(self) -> str:
        """Return a first and a last name."""
        return f"{self.of(vocabulary.FIRST_NAMES)} {self.of(vocabulary.LAST_NAMES)}"

    @property
    def sender(self) -> str:
        """The name of the person who sends this page."""
        self._sender = self._sender or self.name()
        return self._sender

    def company(self) -> str:
        """Return the name of a company."""
        return " ".join(
            self.of(part) for part in (vocabulary.COMPANY_FIRST, vocabulary.COMPANY_LAST, vocabulary.COMPANY_KIND)
        )

    def street(self) -> str:
        """Return a house number and a street."""
        return f"{self.integer(1, 190)} {self.of(vocabulary.STREETS)}"

    def town(self) -> str:
        """Return a city with its postal code."""
        return f"{self.of(vocabulary.CITIES)} {self.integer(10_000, 99_999)}"

    def integer(self, low: int, high: int) -> int:
        """Return a number from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def cents(self, low: float = 12.0, high: float = 2_500.0) -> int:
        """Return an amount in cents; small amounts are more frequent."""
        return round(100 * float(np.exp(self.rng.uniform(np.log(low), np.log(high)))))

    def digits(self, n: int) -> str:
        """Return n digits, the first not zero."""
        return str(self.integer(10 ** (n - 1), 10**n - 1))

    def number(self) -> str:
        """Return the number of a policy or of a customer."""
        return f"{self.pick('ABCDHKLMPRST')}{self.digits(2)}-{self.digits(6)}"

    def iban(self) -> str:
        """Return an account number, in groups of four."""
        return " ".join([f"DE{self.digits(2)}", *(self.digits(4) for _ in range(4)), self.digits(2)])

    def birthday(self) -> str:
        """Return the date of birth of an adult."""
        return self.date(1940, 2003)

    def date(self, first: int = 2019, last: int = 2025) -> str:
        """Return a date, written out or in numbers."""
        day, month, year = self.integer(1, 28), self.integer(1, 12), self.integer(first, last)
        name = vocabulary.MONTHS[month - 1]
        forms = (f"{name} {day}, {year}", f"{day} {name} {year}", f"{month:02d}/{day:02d}/{year}")
        return self.pick(forms if self.style == "b" else (f"{day}.{month}.{year}", f"{year}-{month:02d}-{day:02d}"))

    def phone(self) -> str:
        """Return a telephone number."""
        return f"({self.digits(3)}) {self.digits(3)}-{self.digits(4)}"


def money(cents: int) -> str:
    """Return an amount as it is written in texts.

    Examples
    --------
    >>> money(123456)
    '$1,234.56'
    """
    return f"${cents / 100:,.2f}"


def amount_in_words(dollars: int) -> str:
    """Return a whole number below a million in words, as on checks.

    Examples
    --------
    >>> amount_in_words(1234)
    'one thousand two hundred thirty-four'
    """
    if dollars < 20:
        return vocabulary.NUMBER_WORDS[dollars]
    if dollars < 100:
        tens, ones = divmod(dollars, 10)
        return vocabulary.TENS[tens] + (f"-{vocabulary.NUMBER_WORDS[ones]}" if ones else "")
    unit, name = (1000, "thousand") if dollars >= 1000 else (100, "hundred")
    head, rest = divmod(dollars, unit)
    return f"{amount_in_words(head)} {name}" + (f" {amount_in_words(rest)}" if rest else "")


SLOTS: dict[str, Callable[[Writer], str]] = {
    "name": Writer.name,
    "first": lambda writer: writer.of(vocabulary.FIRST_NAMES),
    "last": lambda writer: writer.of(vocabulary.LAST_NAMES),
    "street": Writer.street,
    "city": lambda writer: writer.of(vocabulary.CITIES),
    "company": Writer.company,
    "insurer": lambda writer: writer.of(vocabulary.INSURERS),
    "product": lambda writer: writer.of(vocabulary.PRODUCTS),
    "bank": lambda writer: writer.of(vocabulary.BANKS),
    "item": lambda writer: writer.of(vocabulary.ITEMS),
    "vehicle": lambda writer: writer.of(vocabulary.VEHICLES),
    "job": lambda writer: writer.of(vocabulary.OCCUPATIONS).lower(),
    "date": Writer.date,
    "birthday": Writer.birthday,
    "month": lambda writer: writer.pick(vocabulary.MONTHS),
    "weekday": lambda writer: writer.pick(vocabulary.WEEKDAYS),
    "year": lambda writer: str(writer.integer(2008, 2025)),
    "days": lambda writer: str(writer.integer(7, 60)),
    "small": lambda writer: str(writer.integer(2, 12)),
    "percent": lambda writer: f"{5 * writer.integer(2, 12)}%",
    "amount": lambda writer: money(writer.cents()),
    "number": Writer.number,
    "iban": Writer.iban,
    "phone": Writer.phone,
}
