"""Makes a notebook in examples/ from each recipe.

    python docs/notebooks.py

A notebook has the text and the code of a page, without cells that only check it, and without outputs.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
RECIPES = sorted(path for path in (DOCS / "recipes").glob("*.md") if path.stem != "index")
CELL = re.compile(r"^```\{code-cell\}\n((?::[^\n]*\n)*)(.*?)^```\n", re.DOTALL | re.MULTILINE)


def linked(text: str, folder: Path) -> str:
    """Markdown of a page in `folder`, with links as from examples/: to other notebooks, if there are any."""

    def link(match: re.Match) -> str:
        if "://" in match[1]:
            return match[0]
        path = (folder / match[1]).resolve()
        target = EXAMPLES / f"{path.stem}.ipynb" if path in RECIPES else path
        return f"]({os.path.relpath(target, EXAMPLES)}"

    return re.sub(r"\]\(([^)#\s]+)", link, text)


def notebook(page: Path) -> str:
    """The notebook of a page, as JSON."""
    text = re.sub(r"\A---\n.*?^---\n", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    cells = []

    def add(kind: str, source: str) -> None:
        if source.strip():
            more = {"execution_count": None, "outputs": []} if kind == "code" else {}
            lines = source.strip().splitlines(keepends=True)
            cells.append({"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}, "source": lines, **more})

    end = 0
    for match in CELL.finditer(text):
        add("markdown", linked(text[end : match.start()], page.parent))
        if "remove-cell" not in match[1]:
            add("code", match[2])
        end = match.end()
    add("markdown", linked(text[end:], page.parent))
    spec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for page in RECIPES:
        (EXAMPLES / f"{page.stem}.ipynb").write_text(notebook(page))
