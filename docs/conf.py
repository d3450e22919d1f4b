"""Builds the site with Sphinx: `make site`. Pages are Markdown; the reference is made from docstrings."""

import inspect
import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from numpydoc.xref import DEFAULT_LINKS
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

import dgraph as dg

DOCS = Path(__file__).parent
ROOT = DOCS.parent

project = "dgraph"
author = "the authors of dgraph"
copyright = "the authors of dgraph; licence: Apache-2.0"
version = release = dg.__version__

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
exclude_patterns = ["_templates"]
templates_path = ["_templates"]
nitpicky = True
smartquotes = False  # docstrings quote values of options
# Bases of classes: their sites are elsewhere, and a build without a network cannot ask them for addresses.
nitpick_ignore = [("py:class", name) for name in ("Exception", "ValueError", "UserWarning")]

# -- pages in Markdown -------------------------------------------------------------------------------------------------

myst_heading_anchors = 4  # links may name the headings of a page
nb_execution_mode = "force"  # `make site` runs the code of pages; nb_execution_mode=off in a quick build
nb_execution_raise_on_error = True
nb_execution_timeout = 300  # seconds for one cell: the first call of an operation compiles its kernels
nb_execution_in_temp = True  # a page may write files
nb_merge_streams = True
nb_output_stderr = "remove"  # progress, which depends on the speed of the machine

# Files outside docs/, and the pages that show them
SHOWN = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/MEASURED.md": "measured.md",
    "benchmarks/README.md": "measuring.md",
    "benchmarks/gpu/RESULTS.md": "gpu_results.md",
}

# -- the reference -----------------------------------------------------------------------------------------------------

add_module_names = False
autodoc_typehints = "none"  # docstrings name the types
autodoc_member_order = "bysource"
autosummary_generate = True
numpydoc_show_class_members = False  # the template of classes lists them
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # link only the names below
RESULTS = (
    "dgraph.runs.result.RunResult",
    "dgraph.runs.run_report.RunReport",
    "dgraph.communities.detection.CommunityResult",
    "dgraph.factors.factor_result.FactorResult",
    "dgraph.trees.spanning_forest.SpanningForest",
    "dgraph.walks.neighbor_sample.NeighborSample",
)
ERRORS = tuple(name for name, one in vars(dg.errors).items() if isinstance(one, type) and issubclass(one, Exception))
TARGETS = {
    **{name: f"dgraph.{name}" for name in dg.__all__[1:]},
    **{name: f"dgraph.errors.{name}" for name in ERRORS},
    **{path.rpartition(".")[2]: path for path in RESULTS},
}
# Types of Python and NumPy stay plain, because their sites cannot be asked for addresses in a build without a network.
numpydoc_xref_aliases = {name: name for name in DEFAULT_LINKS} | TARGETS
default_role = "name"

# -- how it looks ------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "dgraph"
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_context = {"default_mode": "auto"}  # light or dark as the reader's system is
html_css_files = ["site.css"]
html_sidebars = {"index": [], "start": []}  # pages without a section
html_show_sourcelink = False
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "collapse_navigation": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


class Name(SphinxRole):
    """Text in single backticks in a docstring: a link if it is a public name, or a method of one; else code."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        path = self.text.removeprefix("dgraph.").removeprefix("dg.")
        head, *rest = path.split(".")
        whole = ".".join([TARGETS.get(head, f"dgraph.{head}"), *rest])
        if head not in TARGETS and not self.text.startswith("dgraph."):
            return [nodes.literal(self.rawtext, self.text)], []
        return self.inliner.interpreted(self.text, f"{self.text} <{whole}>", "py:obj", self.lineno)  # type: ignore


def hide_signature(app: Sphinx, what: str, name: str, value: Any, *others: Any) -> tuple[str, str] | None:
    """Show no arguments of classes that only dgraph instantiates: their docstrings describe none."""
    called = what != "class" or "\nParameters\n" in inspect.cleandoc(value.__doc__ or "")
    return None if called else ("", "")


def link_pages(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Make "docs/semantics.md" in a docstring a link to that page."""
    lines[:] = [re.sub(r"`*docs/(\w+)\.md`*", r":doc:`/\1`", line) for line in lines]


def site_links(text: str, folder: Path, page: str) -> str:
    """The Markdown of a file in `folder`, with links as from a page: to other pages, or to files to download."""
    start = (DOCS / page).parent

    def site_link(link: re.Match) -> str:
        if "://" in link[1] or not link[1]:
            return link[0]
        path = (folder / link[1]).resolve().relative_to(ROOT).as_posix()
        if path in SHOWN:
            return f"]({os.path.relpath(DOCS / SHOWN[path], start)}"
        download = path.endswith((".md", ".ipynb")) and not path.startswith("docs/")  # else MyST looks for a page
        scheme = "path:" if download else ""
        return f"]({scheme}{os.path.relpath(ROOT / path, start)}"

    return re.sub(r"\]\(([^)#\s]*)", site_link, text)


def link_from_page(app: Sphinx, page: str, source: list[str]) -> None:
    if (DOCS / f"{page}.md").exists():  # and not a page of the reference, made from a docstring
        source[0] = site_links(source[0], (DOCS / page).parent, page)


def link_from_file(app: Sphinx, file: Path, page: str, content: list[str]) -> None:
    content[0] = site_links(content[0], (DOCS / file).parent, page)


def setup(app: Sphinx) -> None:
    app.add_role("name", Name())
    app.connect("autodoc-process-signature", hide_signature)
    app.connect("autodoc-process-docstring", link_pages)
    app.connect("source-read", link_from_page)
    app.connect("include-read", link_from_file)
