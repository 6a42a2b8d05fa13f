"""One HTML page about classified documents: classes, documents left to a person, the pages that matter most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from urllib.parse import quote

from setrbm.tools.files import write_atomically
from setrbm_mail.answers import Answer

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; }
h1, h2 { line-height: 1.2; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); gap: 1.5rem; }
figure { margin: 0; border: 1px solid #ddd; border-radius: 6px; padding: .8rem; background: #fafafa; }
figure img { width: 100%; height: auto; border: 1px solid #ccc; background: white; }
figcaption { font-size: .9rem; margin-top: .5rem; overflow-wrap: anywhere; }
.person { background: #fff6e0; }
.wrong { background: #fdeaea; }
mark { background: #ffe680; }
"""


@dataclass(frozen=True)
class Report:
    """What to show.

    Attributes
    ----------
    title : str
    facts : mapping of str to str
        Numbers on top: what was done, and how long it took.
    answers : sequence of Answer
    pictures : mapping of str to Path
        Of some documents, by id, the picture of the page that matters most for the class.
    truth : mapping of str to str
        The true classes, by id, if they are known.
    curve : Path or None
        A picture of precision against coverage.
    """

    title: str
    facts: Mapping[str, str]
    answers: Sequence[Answer]
    pictures: Mapping[str, Path] = field(default_factory=dict)
    truth: Mapping[str, str] = field(default_factory=dict)
    curve: Path | None = None

    def write(self, path: Path) -> None:
        """Write the page; pictures are linked relative to it."""
        parts = [self._facts(), self._classes(), self._curve(path), self._cards(path), self._people()]
        page = (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n<title>{escape(self.title)}</title>\n'
            f'<meta name="viewport" content="width=device-width">\n<style>{STYLE}</style></head>\n'
            f"<body><h1>{escape(self.title)}</h1>\n{''.join(parts)}</body></html>\n"
        )
        write_atomically(path, page.encode("utf-8", errors="replace"), overwrite=True)

    def _facts(self) -> str:
        return _table((), [(name, value) for name, value in self.facts.items()])

    def _classes(self) -> str:
        rows = []
        for label in sorted({str(answer.label) for answer in self.answers if answer.label is not None}):
            own = [answer for answer in self.answers if str(answer.label) == label]
            accepted = [answer for answer in own if answer.is_accepted]
            right = [answer for answer in accepted if self.truth.get(answer.document) == label]
            known = f"{len(right)} of {len(accepted)}" if self.truth else "unknown"
            rows.append((label, str(len(own)), str(len(accepted)), known))
        return "<h2>Classes</h2>" + _table(("class", "documents", "accepted", "of these right"), rows)

    def _curve(self, path: Path) -> str:
        if self.curve is None:
            return ""
        return f"<h2>How sure is sure enough?</h2>{_picture(self.curve, path, 'Precision against coverage')}"

    def _people(self) -> str:
        left = [answer for answer in self.answers if not answer.is_accepted]
        guesses = ["" if answer.label is None else f"{answer.label} ({answer.probability:.0%})" for answer in left]
        rows = [(answer.document, answer.why_a_person, guess) for answer, guess in zip(left, guesses, strict=True)]
        head = f"<h2>For a person: {len(left)} of {len(self.answers)} documents</h2>"
        return head + (_table(("document", "why", "best guess"), rows) if rows else "<p>None.</p>")

    def _cards(self, path: Path) -> str:
        cards = [self._card(answer, path) for answer in self.answers if answer.document in self.pictures]
        if not cards:
            return ""
        return f'<h2>The pages that matter most</h2>\n<div class="cards">{"".join(cards)}</div>'

    def _card(self, answer: Answer, path: Path) -> str:
        true = self.truth.get(answer.document)
        kind = "person" if not answer.is_accepted else "wrong" if true not in (None, str(answer.label)) else ""
        caption = f"<b>{escape(str(answer.label))}</b>"
        if answer.probability is not None:
            caption += f", {answer.probability:.0%}"
        caption += "" if answer.is_accepted else f"; for a person: {escape(answer.why_a_person)}"
        caption += "" if true is None else f". True class: {escape(true)}"
        words = ", ".join(f"<mark>{escape(word)}</mark>" for word in answer.words)
        return (
            f'<figure class="{kind}">{_picture(self.pictures[answer.document], path, answer.place)}'
            f"<figcaption>{escape(answer.place)}<br>{caption}.<br>{words}</figcaption></figure>\n"
        )


def _picture(picture: Path, page: Path, text: str) -> str:
    source = quote(picture.relative_to(page.parent).as_posix())
    return f'<img src="{source}" alt="{escape(text)}" loading="lazy">'


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f"<table>{f'<tr>{head}</tr>' if heads else ''}\n{lines}</table>\n"
