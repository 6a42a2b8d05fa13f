"""Settings of the documentation site, which ``scripts/docs`` builds into ``docs/_build/html``."""

from __future__ import annotations

import importlib
import inspect
import re
import types
from pathlib import Path
from typing import Any

import numpy as np
from docutils import nodes
from scipy.sparse import csr_array
from sphinx import addnodes

from setrbm import ClassSetRBM, __version__

project = "setrbm"
author = "The setrbm developers"
project_copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",  # the source is part of the site, which works without a network
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",  # MathJax from a package: the site works without a network
]
exclude_patterns = ["_build", "gallery"]
templates_path = ["_templates"]
toc_object_entries_show_parents = "hide"

# --- Markdown ---

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def guide_pages() -> list[str]:
    """Return the names of the pages of the guide, in the order of the table in ``guide.md``."""
    table = (Path(__file__).parent / "guide.md").read_text(encoding="utf-8")
    return re.findall(r"^\|.*\]\(guide/([\w-]+)\.md\) \|$", table, flags=re.MULTILINE)


def prepare_markdown(app: Any, docname: str, source: list[str]) -> None:
    """Fit Markdown that is also read, and tested, without Sphinx to the site."""
    # Doctest needs a blank line at the end of an example; the site would show it.
    source[0] = re.sub(r"^(```python\n.*?)\n\n```$", r"\1\n```", source[0], flags=re.DOTALL | re.MULTILINE)
    if docname == "guide":
        entries = "\n".join(f"guide/{name}" for name in guide_pages())
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"


# --- API ---

PUBLIC = ["setrbm_mail"] + [
    f"setrbm.{name}"
    for name in (
        "bags", "estimators", "explain", "scaling", "selective", "shards", "dask", "evaluation.scores",
        "evaluation.splits", "evaluation.statistics", "tools.commands", "tools.progress",
    )
]  # fmt: skip


def own_members(cls: type, kinds: tuple[type, ...]) -> list[str]:
    """Return the public members of these kinds that a class has from this package, not from scikit-learn."""
    owners = {name: next(base for base in cls.__mro__ if name in vars(base)) for name in dir(cls) if name[0] != "_"}
    own = [name for name, owner in owners.items() if owner.__module__.startswith("setrbm")]
    return [name for name in own if isinstance(inspect.getattr_static(cls, name), kinds)]


def public_classes() -> dict[str, type]:
    """Return every class of the public modules by its name."""
    modules = [importlib.import_module(name) for name in PUBLIC]
    members = [getattr(module, name) for module in modules for name in dir(module)]
    return {cls.__name__: cls for cls in members if inspect.isclass(cls) and cls.__module__.startswith("setrbm")}


def say_first_what_it_does(app: Any, doctree: nodes.document) -> None:
    """Move the first sentence of a class or function above its signature, which may have many lines."""
    for description in list(doctree.findall(addnodes.desc)):
        text = description[-1]
        has_a_page = description["objtype"] in ("class", "function") and isinstance(description.parent, nodes.section)
        if has_a_page and text and isinstance(text[0], nodes.paragraph):
            sentence = text.pop(0)
            description.parent.insert(description.parent.index(description), sentence)


autosummary_generate = True
# Pages whose names differ from another's in case only would overwrite it on some disks.
autosummary_filename_map = {"setrbm.selective.promise": "setrbm.selective.promise-function"}
autosummary_context = {
    "own_methods": {
        name: own_members(cls, (types.FunctionType, classmethod, staticmethod))
        for name, cls in public_classes().items()
    },
    "own_properties": {name: own_members(cls, (property,)) for name, cls in public_classes().items()},
}
# Docstrings say types and shapes; annotations would say them again in the signature.
autodoc_typehints = "none"
autodoc_preserve_defaults = True
# The template of classes lists the members.
numpydoc_show_class_members = False
add_module_names = False

# --- gallery ---

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("setrbm",),
    "reference_url": {"setrbm": None},
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "matplotlib_animations": False,
    "abort_on_example_error": True,
}


def compile_kernels(app: Any) -> None:
    """Compile before the first example runs, whose page would show the notice that this takes some seconds."""
    sets = np.eye(4)[:, np.newaxis]
    for X in (sets, [csr_array(matrix, dtype=np.float32) for matrix in sets]):
        ClassSetRBM(early_stopping=False, max_epochs=1, random_state=0).fit(X, [0, 1, 0, 1]).explain(X)


# --- look ---

html_theme = "pydata_sphinx_theme"
html_title = f"setrbm {version}"
html_static_path = ["_static"]
html_css_files = ["setrbm.css"]
html_js_files = ["pictures.js"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "setrbm"},
    "show_prev_next": True,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    # Without a table of contents the code of the gallery has more room.
    "secondary_sidebar_items": {
        **{key: ["page-toc"] for key in ("*", "guide/*", "decisions/*", "generated/api/*")},
        "generated/gallery/*": [],
    },
    "show_toc_level": 2,
}
# Pages without further pages below them have no sidebar.
html_sidebars = {
    page: []
    for page in (
        "index",
        "getting_started",
        "model",
        "reproduction",
        "table2",
        "collection",
        "scanned_mail",
        "performance",
        "changelog",
        "contributing",
    )
}


def setup(app: Any) -> None:
    """Connect what this file adds to Sphinx."""
    app.connect("source-read", prepare_markdown)
    app.connect("doctree-read", say_first_what_it_does)
    app.connect("builder-inited", compile_kernels, priority=100)  # before the gallery
