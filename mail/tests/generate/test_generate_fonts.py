"""Fonts of generated pages: two styles without a common file, and a clear message if there are none."""

import numpy as np
import pytest

from setrbm_mail.generate import fonts
from setrbm_mail.generate.fonts import HANDWRITTEN, PRINTED, find_fonts

INDEX_ONLY = {
    name: f"{name}.ttf" for style in "ab" for regular, bold, _ in PRINTED[style] for name in (regular, bold)
} | {"AmaticSC-Bold": "AmaticSC-Bold.ttf", "Intuitive": "Intuitive.ttf"}


@pytest.fixture
def installed(monkeypatch):
    """Replace the installed fonts."""

    def install(found):
        monkeypatch.setattr(fonts, "_installed", lambda: found)
        find_fonts.cache_clear()

    yield install
    find_fonts.cache_clear()


def test_the_two_styles_share_no_font_file():
    assert not set(find_fonts("a").files) & set(find_fonts("b").files)


def test_the_lists_of_fonts_share_no_family():
    families = {
        style: {name.split("-")[0] for row in PRINTED[style] for name in row[:2]}
        | {name.split("-")[0].removesuffix("It") for name in HANDWRITTEN[style] if not name.startswith("BecauseWe")}
        for style in "ab"
    }
    assert not families["a"] & families["b"]


def test_handwriting_letters_have_about_one_height():
    for style in "ab":
        for face in find_fonts(style).handwritten:
            _, top, _, bottom = face.sized(100).getbbox("n", anchor="ls")
            assert 35 <= bottom - top <= 60, face.path


def test_the_width_of_a_word_is_the_width_of_its_picture():
    face = find_fonts("b").printed[0][0]
    left, _, right, _ = face.sized(10 * 200 / 72).getbbox("complaint", anchor="ls")
    assert face.width("complaint", 10) * 200 / 72 == pytest.approx(right - left, abs=4)


def test_fonts_of_the_index_suffice(installed):
    installed(INDEX_ONLY)
    assert [face.path for face in find_fonts("a").handwritten] == ["AmaticSC-Bold.ttf"]
    assert [face.path for face in find_fonts("b").handwritten] == ["Intuitive.ttf"]
    assert find_fonts("b").choose(np.random.default_rng(0)).hand.handwritten


@pytest.mark.parametrize(
    ("found", "kind"),
    [({}, "printed"), ({name: path for name, path in INDEX_ONLY.items() if name != "Intuitive"}, "handwriting")],
)
def test_a_missing_font_is_named_with_the_command_that_installs_it(installed, found, kind):
    installed(found)
    with pytest.raises(RuntimeError, match=f"need a {kind} font. Found none .* pip install font-roboto"):
        find_fonts("b")


def test_an_unknown_style_is_refused():
    with pytest.raises(ValueError, match="style must be 'a' or 'b'. Got 'c'"):
        find_fonts("c")
