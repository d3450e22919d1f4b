"""The site: its reference has every public name, and it builds without warnings. `make site` runs the code of its
pages, and so does `test_readme.py`."""

import importlib.util
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from test_docstrings import INTERNAL, PUBLIC

import dgraph as dg

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
REFERENCE = sorted((DOCS / "reference").glob("*.md"))
MODULES = ("errors", "laws", "reference")  # which have a section, and a page for each of their names
LARGEST = 500_000  # bytes of a page
MOST_WORDS = 1_500  # of a page of the guide
INSTALLED = all(importlib.util.find_spec(one) for one in ("myst_nb", "numpydoc", "pydata_sphinx_theme", "sphinx"))


def guide() -> list[Path]:
    """The pages of the guide, of the recipes, and for those who come from another library."""
    sections = [DOCS / "guide.md", DOCS / "recipes" / "index.md", DOCS / "coming_from" / "index.md"]
    found = []
    for section in sections:
        (toctree,) = re.findall(r"^```\{toctree\}\n(.*?)^```", section.read_text(), re.DOTALL | re.MULTILINE)
        pages = [line for line in toctree.splitlines() if line and not line.startswith(":")]
        found += [section, *(section.parent / f"{page}.md" for page in pages)]
    return found


def listed() -> list[str]:
    """The names in the reference, such as "dgraph.MIN": rows of its tables, and what its pages describe by hand."""
    line = re.compile(r"^(?:\.\. ([\w:]+)::(?: (\S+))?|   ~?([\w.]+))$", re.MULTILINE)
    found = []
    for page in REFERENCE:
        module = ""
        for directive, named, row in line.findall(page.read_text()):
            if directive == "currentmodule":
                module = f"{named}."
            elif directive in ("py:data", "py:module"):
                found.append(named)
            elif row:
                found.append(row if row.startswith("dgraph.") else module + row)
    return found


def constants() -> dict[str, Path]:
    """What pages of the reference describe by hand, as `dgraph.MIN`."""
    return {name: page for page in REFERENCE for name in re.findall(r"^\.\. py:data:: (\S+)", page.read_text(), re.M)}


def test_the_reference_lists_every_public_name_once():
    assert [name for name, times in Counter(listed()).items() if times > 1] == []
    tops = {name.split(".")[1] for name in listed() if name.count(".") == 1}
    assert tops == set(dg.__all__), f"add to docs/reference/: {sorted(set(dg.__all__) - tops)}"


def test_the_reference_lists_all_that_docstrings_are_tested_for():
    ends = {name.removeprefix("dgraph.") for name in listed()} | {name.rpartition(".")[2] for name in listed()}
    members = {name for name in PUBLIC if name.rpartition(".")[0] in ends}  # on the page of their class
    assert set(PUBLIC) - set(INTERNAL) - members - ends == set()


@pytest.mark.parametrize("name", constants())
def test_a_constant_has_an_example(name):
    examples = re.findall(r"^```python\n(.*?)^```", constants()[name].read_text(), re.DOTALL | re.MULTILINE)
    assert name.replace("dgraph.", "dg.") in "".join(examples)


def words(page: Path) -> int:
    """The words of a page as a reader counts them: of code and tables too, but not of its header and its toctree."""
    text = re.sub(r"\A---\n.*?^---\n|^```\{toctree\}.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for included in re.findall(r"^```\{include\} (\S+)", text, re.MULTILINE):
        text += (page.parent / included).read_text()
    return len(text.split())


@pytest.mark.parametrize("page", guide(), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_no_page_of_the_guide_is_long(page):
    assert words(page) <= MOST_WORDS, "split it, or shorten it"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if not INSTALLED:
        pytest.skip("the packages of the extra 'site' are not installed; `make test-site` installs them")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--jobs", "auto", "--fail-on-warning", "--quiet", "--builder", "html"]
    done = subprocess.run(
        [*command, "--define", "nb_execution_mode=off", "--doctree-dir", out / "doctrees", DOCS, out / "html"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return out / "html"


def test_every_page_of_docs_is_on_the_site(site):
    pages = [path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")]
    assert [page for page in pages if not (site / page).is_file()] == []


def test_every_name_has_a_page(site):
    made = set(listed()) - constants().keys() - {f"dgraph.{name}" for name in MODULES}
    assert [name for name in made if not (site / f"reference/generated/{name}.html").is_file()] == []


@pytest.mark.skipif(not INSTALLED, reason="the packages of the extra 'site' are not installed")
def test_a_notebook_runs(tmp_path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(ROOT / "examples" / "entities.ipynb", as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    printed = [out["text"] for cell in notebook.cells for out in cell.get("outputs", ()) if out.get("name") == "stdout"]
    assert "".join(printed).startswith("precision 100%")


def test_pages_are_small_and_load_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert {page.name: page.stat().st_size for page in pages if page.stat().st_size > LARGEST} == {}
    elsewhere = re.compile(r"<(?:script|link|img)[^>]*(?:src|href)=\"https?://[^\"]*\"")
    assert [match[0] for page in pages if (match := elsewhere.search(page.read_text()))] == []
