"""The documentation site lists every public name, and its gallery can be run; scripts/docs builds it."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import setrbm
import setrbm.datasets
import setrbm.estimators
import setrbm.selective
import setrbm.text
from setrbm.evaluation import scores, statistics

ROOT = Path(__file__).parents[1]
needs_mail = pytest.mark.skipif(find_spec("setrbm_mail") is None, reason="needs the package setrbm-mail")
EXAMPLES = sorted((ROOT / "docs" / "gallery").glob("*.py"))


# --- API reference ---


def listed():
    """Every dotted name in the tables of docs/api.rst."""
    module, inside, names = "", False, []
    for line in (ROOT / "docs" / "api.rst").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = match[1]
        elif match := re.match(r"\.\. py:data:: (\S+)", line):
            names.append(f"{module}.{match[1]}")
        elif line.startswith(".. autosummary::"):
            inside = True
        elif line and not line.startswith(" "):
            inside = False
        elif inside and re.fullmatch(r"   [\w.]+", line):
            names.append(f"{module}.{line.strip()}")
    return names


def value_of(dotted):
    """Return what a dotted name of docs/api.rst stands for."""
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


def functions_and_classes(module):
    """The public functions and classes that a module defines."""
    for name, value in vars(module).items():
        is_code = inspect.isfunction(value) or inspect.isclass(value)
        if is_code and not name.startswith("_") and value.__module__ == module.__name__:
            yield name


@needs_mail
@pytest.mark.parametrize(
    "package",
    [setrbm, setrbm.datasets, setrbm.estimators, setrbm.selective, setrbm.text],
    ids=lambda package: package.__name__,
)
def test_every_exported_name_is_in_the_api_reference(package):
    shown = [value_of(name) for name in listed()]
    missing = [
        name
        for name in package.__all__
        if name != "__version__" and not any(getattr(package, name) is value for value in shown)
    ]
    assert not missing, f"docs/api.rst does not list {missing} of {package.__name__}."


@pytest.mark.parametrize("module", [scores, statistics], ids=lambda module: module.__name__)
def test_every_function_of_evaluation_for_users_is_in_the_api_reference(module):
    shown = {name.rpartition(".")[2] for name in listed() if name.startswith(module.__name__)}
    assert set(functions_and_classes(module)) == shown


def test_the_api_reference_lists_a_name_once():
    assert len(listed()) == len(set(listed())) > 40


@needs_mail
@pytest.mark.parametrize("dotted", listed())
def test_a_name_in_the_api_reference_exists_and_has_a_docstring(dotted):
    value = value_of(dotted)
    assert value.__doc__ or not callable(value)
    assert not any(part.startswith("_") for part in dotted.split("."))


# --- guide ---


def test_the_guide_lists_all_its_pages_and_begins_with_the_choice_of_a_model():
    """The sidebar of the site has the order of this table."""
    table = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    pages = re.findall(r"^\|.*\]\(guide/([\w-]+)\.md\) \|$", table, flags=re.MULTILINE)
    assert pages[0] == "which-model"
    assert sorted(pages) == sorted(path.stem for path in (ROOT / "docs" / "guide").glob("*.md"))


# --- settings of the site ---


@pytest.fixture
def conf(monkeypatch):
    pytest.importorskip("sphinx", reason="the site is built in an environment of its own")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module("conf")


def test_the_sidebar_of_the_guide_has_all_pages_and_begins_with_the_choice_of_a_model(conf):
    assert conf.guide_pages()[0] == "which-model"
    assert set(conf.guide_pages()) == {path.stem for path in (ROOT / "docs" / "guide").glob("*.md")}


@pytest.mark.parametrize(("kind", "moves"), [("class", True), ("function", True), ("data", False)])
def test_a_page_says_first_what_its_class_or_function_does(kind, moves, conf):
    text = conf.addnodes.desc_content("", conf.nodes.paragraph("", "What."), conf.nodes.paragraph("", "More."))
    description = conf.addnodes.desc("", conf.addnodes.desc_signature("", "X(a=1)"), text, objtype=kind)
    section = conf.nodes.section("", conf.nodes.title("", "X"), description)
    conf.say_first_what_it_does(None, section)
    assert section.astext().index("What.") < section.astext().index("X(a=1)") or not moves
    assert (section[1] is description) is not moves
    assert "More." in description.astext()


# --- gallery ---


def test_the_gallery_has_its_examples():
    assert len(EXAMPLES) >= 11
    assert all(path.name.startswith("plot_") for path in EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_compiles_and_opens_with_a_title_and_a_question(path):
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    title, line, *text = (ast.get_docstring(tree) or "\n").splitlines()
    assert re.fullmatch("=+", line), f"{path.name}: the docstring must begin with a title underlined by =."
    assert len(line) == len(title), f"{path.name}: the underline must be as long as the title."
    question = "\n".join(text).strip().split("?")[0]
    assert "\n\n" not in question, f"{path.name}: the first paragraph must ask the reader's question."


@needs_mail
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_an_example_imports_exists(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("setrbm"):
            module = importlib.import_module(node.module)
            assert all(hasattr(module, name.name) for name in node.names)


# --- links ---


def check_links(folder):
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / "_check_links", folder], capture_output=True, text=True, check=False
    )


def test_a_broken_link_of_the_site_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#here">b</a> <a href="https://example.org/x">out</a>')
    (tmp_path / "b.html").write_text('<p id="here"><a href="a.html">a</a>')
    assert check_links(tmp_path).returncode == 0
    (tmp_path / "b.html").write_text('<p id="there"><img src="missing.png">')
    result = check_links(tmp_path)
    assert result.returncode == 1
    assert result.stdout.splitlines() == ["a.html: b.html#here", "b.html: missing.png"]
