"""The documentation is complete and correct: docstrings, examples, equations, links and pictures."""

import ast
import doctest
import importlib
import inspect
import re
import tomllib
from pathlib import Path

import pytest

import setrbm
import setrbm.datasets
import setrbm.estimators
import setrbm.selective
import setrbm.text

ROOT = Path(__file__).parents[1]
SOURCE = Path(setrbm.__file__).parent
MODEL = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
BUILT = {"_build", "generated"}
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if not BUILT.intersection(path.relative_to(ROOT).parts)
)
# Decisions may sketch what is not there.
GUIDES = [path for path in PAGES if path.parent.name != "decisions"]
SECTIONS = {"Parameters", "Attributes", "Returns", "Yields", "Raises", "See Also", "Notes", "References", "Examples"}


# --- what is public ---


def exported():
    """Every class and function that users import, by its name."""
    packages = (setrbm, setrbm.estimators, setrbm.text, setrbm.selective, setrbm.datasets)
    named = {name: getattr(package, name) for package in packages for name in package.__all__}
    return {name: value for name, value in sorted(named.items()) if callable(value)}


def public_members(cls):
    """The public methods and properties that a class has from this package, not from scikit-learn."""
    for name in dir(cls):
        owner = next((base for base in cls.__mro__ if name in vars(base)), object)
        member = inspect.getattr_static(cls, name)
        is_code = inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod)
        if not name.startswith("_") and is_code and owner.__module__.startswith("setrbm"):
            yield name, getattr(cls, name)


def documented():
    """Everything that needs a docstring, by its dotted name."""
    things = dict(exported())
    for name, value in exported().items():
        if inspect.isclass(value):
            things |= {f"{name}.{member}": code for member, code in public_members(value)}
    return things


def parse(docstring):
    """Return the first line of a docstring and its sections: for each title, the unindented and indented lines."""
    lines = inspect.cleandoc(docstring).splitlines()
    sections, title = {"": []}, ""
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and re.fullmatch("-{3,}", lines[i + 1]):
            title = line
            sections[title] = []
            assert len(lines[i + 1]) == len(line), f"{title!r} is not underlined in its own length"
        elif not re.fullmatch("-{3,}", line):
            sections[title].append(line)
    return lines[0], sections


def parameter_names(section):
    """Return the names a Parameters section describes: the unindented lines, up to the colon."""
    heads = [line for line in section if line.strip() and not line.startswith(" ")]
    return [name.strip(" *") for head in heads for name in head.split(" : ")[0].split(",")]


# --- docstrings ---


def test_what_is_public_is_found():
    assert {"Bags", "Bags.from_frame", "ClassSetRBM.fit", "ClassSetRBMCV.explain", "load_musk1"} <= set(documented())
    assert "ClassSetRBM.set_params" not in documented()


@pytest.mark.parametrize("name", documented())
def test_a_public_name_has_a_numpydoc_docstring(name):
    thing = documented()[name]
    first, sections = parse(thing.__doc__ or "")
    assert re.fullmatch(r"[A-Z].*[.:]", first), f"{name}: the first line must be one sentence. Got {first!r}."
    assert len(first) <= 120
    assert set(sections) <= SECTIONS | {""}, f"{name} has sections numpydoc does not know: {set(sections) - SECTIONS}."
    body = inspect.cleandoc(thing.__doc__).splitlines()
    assert len(body) == 1 or not body[1], f"{name}: a blank line must follow the first."


@pytest.mark.parametrize("name", documented())
def test_a_described_parameter_is_one_the_signature_has(name):
    thing = documented()[name]
    _, sections = parse(thing.__doc__)
    if "Parameters" in sections:
        unknown = set(parameter_names(sections["Parameters"])) - set(inspect.signature(thing).parameters)
        assert not unknown, f"{name} describes {sorted(unknown)}, which it does not take."


@pytest.mark.parametrize("name", [name for name, thing in exported().items() if inspect.isclass(thing)])
def test_every_setting_of_a_class_is_described(name):
    cls = exported()[name]
    text = cls.__doc__
    # ClassRBM, for example, says that its parameters are those of ClassSetRBM.
    if match := re.search(r"Parameters and attributes are those of (\w+)", text):
        text = exported()[match[1]].__doc__
    _, sections = parse(text)
    # What a dataclass of results takes are its attributes.
    described = parameter_names(sections.get("Parameters") or sections["Attributes"])
    assert set(inspect.signature(cls).parameters) <= set(described)


@pytest.mark.parametrize("name", exported())
def test_what_is_exported_has_an_example(name):
    thing = exported()[name]
    _, sections = parse(thing.__doc__)
    examples = doctest.DocTestParser().get_examples("\n".join(sections.get("Examples", [])))
    assert examples, f"{name} has no runnable example."
    assert any(example.want for example in examples), f"The example of {name} shows no result."


def test_every_example_is_run():
    with (ROOT / "pyproject.toml").open("rb") as file:
        options = tomllib.load(file)["tool"]["pytest"]["ini_options"]
    assert {"src", "docs", "README.md"} <= set(options["testpaths"])
    assert {"--doctest-modules", "--doctest-glob=*.md"} <= set(options["addopts"].split())


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_blocks_are_written_as_examples(path):
    blocks = re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for block in blocks:
        assert block.startswith(">>> "), f"{path.name} has Python that no test runs:\n{block}"
        # Without it, doctest takes the fence for a part of the last result.
        assert block.endswith("\n\n"), f"{path.name}: a blank line must end the example\n{block}"


# --- equations ---


def equations():
    """Return for each equation number of docs/model.md the text below it, up to the next equation."""
    parts = re.split(r"\\tag\{(\d+)\}", MODEL)
    return [int(number) for number in parts[1::2]], [part.split("$$")[1] for part in parts[2::2]]


def functions_in(text):
    """Return the dotted names in backticks that begin with a small letter: module and function."""
    return re.findall(r"`([a-z_]\w*(?:\.\w+)+)`", text)


def resolve(dotted):
    """Return what a dotted name below the package stands for, or raise AttributeError."""
    value = setrbm
    for part in dotted.split("."):
        name = f"{value.__name__}.{part}" if inspect.ismodule(value) else ""
        try:
            value = importlib.import_module(name) if name else getattr(value, part)
        except ModuleNotFoundError:
            value = getattr(value, part)
    return value


def cited(docstring):
    """Return the equations a docstring cites: "(9) and (10)" are two, "(5) to (8)" four."""
    numbers = set()
    for sentence in re.findall(r"[Ee]quations? ((?:\(\d+\)(?:, | and | to )?)+)", docstring):
        for first, last in re.findall(r"\((\d+)\)(?: to \((\d+)\))?", sentence):
            numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def docstrings():
    """Every docstring of the package, with the module and the name it belongs to."""
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                yield module, getattr(node, "name", ""), text


CITATIONS = [(module, name, cited(text)) for module, name, text in docstrings() if cited(text)]


def test_citations_are_read():
    assert cited("Equations (5) to (8) of it; equation (11)") == {5, 6, 7, 8, 11}
    assert cited("(equations (9) and (10) of") == {9, 10}
    assert {"pooling.pools", "energy", "gibbs"} <= {module for module, _, _ in CITATIONS}


def test_equations_are_numbered_once_and_in_order():
    numbers, _ = equations()
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize(("module", "name", "numbers"), CITATIONS)
def test_a_cited_equation_is_there_and_names_its_module(module, name, numbers):
    below = dict(zip(*equations(), strict=True))
    assert numbers <= set(below), f"{module}.{name} cites {sorted(numbers - set(below))}, which docs/model.md lacks."
    for number in numbers:
        homes = {function.rpartition(".")[0] for function in functions_in(below[number])}
        assert module in homes, f"{module}.{name} cites equation ({number}), which is computed in {sorted(homes)}."


def test_every_equation_says_what_computes_it():
    for number, text in zip(*equations(), strict=True):
        assert functions_in(text.split("\n\n")[1]), f"Equation ({number}) names no function."


@pytest.mark.parametrize("dotted", sorted(set(functions_in(MODEL))))
def test_a_function_named_beside_an_equation_exists(dotted):
    assert callable(resolve(dotted))


def test_a_function_that_is_not_there_is_noticed():
    with pytest.raises(AttributeError):
        resolve("energy.no_such_function")


# --- links and pictures ---


def anchors(text):
    """Return the anchors GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_within_the_project_are_valid(path):
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        page = (path.parent / file) if file else path
        assert page.exists(), f"{path.name} links to {target}, which is not there."
        assert not anchor or anchor in anchors(page.read_text(encoding="utf-8")), f"{target} has no such heading."


def test_every_picture_is_shown_and_can_be_drawn_again():
    pytest.importorskip("setrbm_lab")
    from setrbm_lab import collection_report, effects, mail_report, report

    script = (ROOT / "docs" / "make_pictures.py").read_text(encoding="utf-8")
    drawn = set(re.findall(r'save\(figure, "(\w+)"\)', script))
    # scripts/reproduce draws those of the paper's tables.
    drawn |= {Path(name).stem for name in (report.ACCURACIES, report.RANKS, *map(report.image_of, effects.EFFECTS))}
    drawn |= {Path(mail_report.CURVES).stem}
    drawn |= {Path(name).stem for name in (collection_report.DIFFERENCES, collection_report.PROPERTIES)}
    shown = set(re.findall(r"images/(\w+)\.png\)", "".join(path.read_text(encoding="utf-8") for path in PAGES)))
    assert drawn == shown == {path.stem for path in (ROOT / "docs" / "images").iterdir()}


def test_the_citation_file_has_the_version_of_the_package():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", text, flags=re.MULTILINE)[1] == setrbm.__version__
