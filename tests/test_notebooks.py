"""Notebooks in examples/ are what the pages of recipes say. `make site` runs them all, and `make test-site` one."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("notebooks", ROOT / "docs" / "notebooks.py")
notebooks = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(notebooks)
FILES = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("page", notebooks.RECIPES, ids=lambda page: page.stem)
def test_a_notebook_is_what_its_page_says(page):
    found = (ROOT / "examples" / f"{page.stem}.ipynb").read_text()
    assert found == notebooks.notebook(page), "python docs/notebooks.py writes it anew"


def test_each_recipe_has_a_notebook_and_is_in_the_gallery():
    assert [path.stem for path in FILES] == [page.stem for page in notebooks.RECIPES]
    gallery = (ROOT / "docs" / "recipes" / "index.md").read_text()
    assert [path.name for path in FILES if f"(../../examples/{path.name})" not in gallery] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_somewhere(path):
    text = "".join("".join(cell["source"]) for cell in json.loads(path.read_text())["cells"])
    found = [link for link in notebooks.re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert [link for link in found if not (path.parent / link).exists()] == []


def test_cells_that_check_are_left_out_and_links_are_made_from_examples(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "RECIPES", [tmp_path / "docs" / "other.md"])
    monkeypatch.setattr(notebooks, "EXAMPLES", tmp_path / "examples")
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(
        "---\nfile_format: mystnb\n---\n\n# Title\n\nSee [one](other.md#part) and [two](more.md).\n\n"
        "```{code-cell}\nx = 1\nx\n```\n\n```{code-cell}\n:tags: [remove-cell]\nassert x == 1\n```\n\nEnd.\n"
    )
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(notebooks.notebook(page))["cells"]]
    assert cells == [
        ("markdown", "# Title\n\nSee [one](other.ipynb#part) and [two](../docs/more.md)."),
        ("code", "x = 1\nx"),
        ("markdown", "End."),
    ]
