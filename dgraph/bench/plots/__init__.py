"""Plots, one a file. A file has a function and a word, by which a suite finds them under the file's name:

    READS = "trials"             rows are trials: the names of the case (operation, graph, setting ...) and its figures
    READS = "report"             rows are those of the runs' reports, a row a superstep and partition, and the names

    def draw(rows, path=None, **options) -> str:
        with Drawing("What is shown", across=2) as drawing:
            left, right = drawing.axes
            left.bar(...)
            return drawing.save(path)          # writes a PNG, if there is a path; the SVG as text, for the HTML report

matplotlib is imported when something is drawn, by `style.py`, which also has the colours.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from dgraph.errors import OptionError


def plot(name: str) -> tuple[Callable[..., str], str]:
    """The function `draw` of a plot, and which rows it reads: READS of its file."""
    if not name.isidentifier() or name == "style" or find_spec(f"{__name__}.{name}") is None:
        from pathlib import Path

        known = sorted(
            path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in ("__init__", "style")
        )
        raise OptionError(f"{name!r} is no plot; there are {', '.join(known)}")
    module = import_module(f"{__name__}.{name}")
    return module.draw, module.READS
