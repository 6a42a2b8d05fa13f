"""The text of mails: web pages with tags left out, alternatives, and parts that are blank."""

import pytest

from hostile_files import HEAD, LIMITS
from setrbm_mail.formats.parts import parts_of
from setrbm_mail.formats.table import MAIL


def text_of(data):
    """Return the words of a mail, without those of its subject."""
    texts = [part.content.decode() for part in parts_of(data, LIMITS).readable if part.format is MAIL]
    return " ".join(" ".join(texts).split()).removeprefix("My account").strip()


def part(kind, content):
    return b"Content-Type: %s\r\n\r\n%s\r\n" % (kind, content)


def parts(kind, *inside, mark):
    """Return a part of parts."""
    head = b'Content-Type: multipart/%s; boundary="%s"\r\n\r\n' % (kind, mark)
    return head + b"".join(b"--%s\r\n%s\r\n" % (mark, one) for one in inside) + b"--%s--\r\n" % mark


PLAIN, PAGE = part(b"text/plain", b"plain words"), part(b"text/html", b"<p>page words</p>")
BLANK, BLANK_PAGE = part(b"text/plain", b" \r\n\r\n"), part(b"text/html", b"<p>&nbsp;</p>")

WEB_PAGES = {
    "all tags": b"<html><head><title>no</title></head><body><p>Close my account</p></body></html>",
    "no end of the head": b"<html><head><title>no</title><body><p>Close my account</body></html>",
    "no end of the head, no body": b"<head><meta charset=utf-8><title>no</title><p>Close my account",
    "no end of the title": b"<head><title></head><body>Close my account</body>",
    "no end of the style": b"<head><title>no</title><style></head><body>Close my account</body>",
    "no end of the script": b"<script></head><body>Close my account",
    "two titles": b"<title>no<title>no</title><body>Close my account",
    "two pages": b"<body>Close <p>my<title>no</title></p></body><head><title>no</title><body>account",
    "large letters": b"<HEAD><TITLE>no</TITLE><STYLE>p {}</STYLE><BODY>Close my account",
    "no tags": b"Close my account",
}


@pytest.mark.parametrize("name", WEB_PAGES)
def test_the_text_of_a_web_page_is_found_though_tags_were_left_out(name):
    assert text_of(HEAD + part(b"text/html", WEB_PAGES[name])) == "Close my account"


def test_very_many_unclosed_tags_are_read_in_no_time():
    assert text_of(HEAD + part(b"text/html", b"<title><style>" * 100_000 + b"Close my account")).endswith("account")


MAILS = {
    "alternatives": (parts(b"alternative", PLAIN, PAGE, mark=b"a"), "plain words"),
    "a blank plain part": (parts(b"alternative", BLANK, PAGE, mark=b"a"), "page words"),
    "a blank web page": (parts(b"alternative", PLAIN, BLANK_PAGE, mark=b"a"), "plain words"),
    "only a web page": (PAGE, "page words"),
    "no alternatives": (parts(b"mixed", PLAIN, PAGE, mark=b"m"), "plain words page words"),
    "a blank plain part in front": (parts(b"mixed", BLANK, PAGE, mark=b"m"), "page words"),
    "alternatives, then a web page": (
        parts(b"mixed", parts(b"alternative", PLAIN, PAGE, mark=b"a"), PAGE, mark=b"m"), "plain words page words",
    ),
    "alternatives twice": (
        parts(
            b"mixed", parts(b"alternative", BLANK, PAGE, mark=b"a"), parts(b"alternative", PLAIN, PAGE, mark=b"b"),
            mark=b"m",
        ), "page words plain words",
    ),
    "a web page with its pictures as an alternative": (
        parts(b"alternative", PLAIN, parts(b"related", PAGE, mark=b"r"), mark=b"a"), "plain words",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MAILS)
def test_of_alternatives_the_plain_text_is_read_and_other_parts_are_all_read(name):
    content, words = MAILS[name]
    assert text_of(HEAD + content) == words


def test_attachments_among_alternatives_are_kept():
    attached = part(b"application/pdf", b"%PDF-1.4")
    data = HEAD + parts(b"alternative", PLAIN, parts(b"mixed", PAGE, attached, mark=b"m"), mark=b"a")
    assert [part.format.name for part in parts_of(data, LIMITS).readable] == ["mail", "PDF"]
