"""What processes answer, checked: a file may have taken one over, so nothing is taken as it comes."""

from __future__ import annotations

import json
import re
from typing import Any

from setrbm_mail.jobs import Leaf

NONSENSE = "reading it crashed: its answer makes no sense"
# Upper bounds: characters of a name and of a reason, and pages or parts of a file.
LONGEST_NAME, LONGEST_REASON, MOST = 2_000, 400, 2**31
DIGEST = re.compile(r"[0-9a-f]{64}")


def reply_of(line: bytes) -> dict[str, Any]:
    """Return the answer in a line, as an object whose reason for a failure, if it has one, can be shown."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return {"failed": NONSENSE}
    if not isinstance(answer, dict) or not _can_be_shown(answer.get("failed", ""), LONGEST_REASON):
        return {"failed": NONSENSE}
    # Only the parent knows.
    answer.pop("died", None)
    return answer


def is_temporary(answer: dict[str, Any]) -> bool:
    """Return whether a failure may pass: the process died, or the system refused the file."""
    return "died" in answer or answer.get("temporary") is True


def leaves_of(answer: dict[str, Any], file: str) -> list[Leaf]:
    """Return the leaves in an answer about a file that was opened; raise ValueError if they make no sense."""
    return [_leaf(one, file) for one in _list_of(answer, "leaves")]


def problems_of(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """Return names and reasons in an answer; raise ValueError if they make no sense."""
    return [(_name(name), _name(reason)) for name, reason in map(_pair, _list_of(answer, "problems"))]


def parts_of(answer: dict[str, Any]) -> list[tuple[tuple[int, ...], str]]:
    """Return positions and names in an answer about the parts of a file; raise ValueError if they make no sense."""
    return [(_part(part), _name(name)) for part, name in map(_pair, _list_of(answer, "parts"))]


def _leaf(one: Any, file: str) -> Leaf:
    if not isinstance(one, dict):
        raise ValueError(NONSENSE)
    digest = one.get("digest")
    if not isinstance(digest, str) or DIGEST.fullmatch(digest) is None:
        raise ValueError(NONSENSE)
    return Leaf(file, _part(one.get("part")), _name(one.get("name")), digest, _whole(one.get("pages")))


def _list_of(answer: dict[str, Any], name: str) -> list[Any]:
    """Return a list in an answer; an answer that failed may have none."""
    found = answer.get(name, [] if "failed" in answer else None)
    if not isinstance(found, list):
        raise ValueError(NONSENSE)
    return found


def _pair(one: Any) -> tuple[Any, Any]:
    if not isinstance(one, list) or len(one) != 2:
        raise ValueError(NONSENSE)
    return one[0], one[1]


def _part(part: Any) -> tuple[int, ...]:
    if not isinstance(part, list):
        raise ValueError(NONSENSE)
    return tuple(map(_whole, part))


def _name(name: Any) -> str:
    if not _can_be_shown(name, LONGEST_NAME):
        raise ValueError(NONSENSE)
    return str(name)


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MOST:
        raise ValueError(NONSENSE)
    return value


def _can_be_shown(text: Any, longest: int) -> bool:
    return isinstance(text, str) and len(text) <= longest and text.isprintable()
