"""The common style of all plots, and the axes that they are drawn on. Matplotlib is imported when it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dgraph.errors import OptionError

# Okabe and Ito (2008), ordered so that neighbours also differ in lightness: colours for colour-blind readers
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#5b5b5b", "#b8a800")
BUSY, WAIT, IDLE = COLOURS[0], COLOURS[1], "#c9d3da"  # working; waiting with work to do; nothing to do
INK, FAINT = "#222222", "#d9d9d9"

STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.labelcolor": INK,
    "axes.edgecolor": "#888888",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "svg.fonttype": "none",  # keep text as text, which is smaller, and searchable in a browser
    "svg.hashsalt": "dgraph",  # makes the output reproducible
}


def import_matplotlib(extra: str) -> Any:
    """Matplotlib; if it is missing, the error names the extra that brings it."""
    try:
        import matplotlib
    except ImportError as missing:
        problem = "plots need matplotlib, which is not installed"
        raise OptionError(f"{problem}: pip install 'dask-dgraph[{extra}]'") from missing
    return matplotlib


def new_figure(width: float, height: float) -> Any:
    """A figure of so many inches, which is not shown by itself."""
    import_matplotlib("plots")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


@contextmanager
def axes_for(ax: Any, width: float = 6.0, height: float = 3.4) -> Iterator[Any]:
    """The axes to draw on: the user's, or those of a new figure of so many inches, which notebooks then show."""
    matplotlib = import_matplotlib("plots")
    if ax is not None and not isinstance(ax, matplotlib.axes.Axes):
        raise OptionError(f"ax={ax!r} must be Axes of Matplotlib, such as those that plt.subplots() returns")
    figure = None
    if ax is None:
        from matplotlib import pyplot

        # Outside the style: the first figure starts the backend, and what it sets must stay when the style ends.
        figure = pyplot.figure(figsize=(width, height), layout="constrained")
    with matplotlib.rc_context(STYLE):
        yield ax if figure is None else figure.subplots()
