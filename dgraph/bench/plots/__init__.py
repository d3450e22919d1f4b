"""Plots of results, one per file. The code that measures is one folder up.

A suite finds a plot by the name of its file, which defines a function and a constant:

    READS = "trials"             rows are trials: the labels of the case (operation, graph, setting ...) and its figures
    READS = "report"             rows are those of the runs' reports, one per superstep and partition, with the labels

    def draw(rows, path=None, **options) -> str:
        with Drawing("What is shown", across=2) as drawing:
            left, right = drawing.axes
            left.bar(...)
            return drawing.save(path)          # writes a PNG if there is a path; returns SVG for the HTML report

`style.py` imports matplotlib when something is drawn, and defines the colours.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from dgraph.errors import OptionError


def plot(name: str) -> tuple[Callable[..., str], str]:
    """The function `draw` of a plot, and the rows that it reads (`READS` in its file)."""
    known = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py") if path.stem != "style")
    if name not in known:
        raise OptionError(f"{name!r} is not a plot; choose from {', '.join(known)}")
    module = import_module(f"{__name__}.{name}")
    return module.draw, module.READS
