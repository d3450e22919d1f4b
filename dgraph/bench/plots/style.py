"""The common style of all plots: colours for colour-blind readers, thin axes, a light grid, and a descriptive title."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dgraph.errors import OptionError

# Okabe and Ito (2008), ordered so that neighbours also differ in lightness
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#5b5b5b", "#b8a800")
DASHES = ("-", "--", "-.", ":")
BUSY, IDLE = COLOURS[0], "#c9d3da"  # working and waiting
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


class Drawing:
    """A figure with axes in the common style, which lasts until the end of `with`; `save` writes PNG and SVG."""

    def __init__(self, title: str, *, across: int = 1, width: float = 8.0, height: float = 3.2):
        """`width` and `height` are the size of the whole figure in inches."""
        self.title, self.across, self.size = title, across, (width, height)

    def __enter__(self) -> Drawing:
        try:
            import matplotlib
        except ImportError as missing:
            problem = "plots need matplotlib, which is not installed"
            raise OptionError(f"{problem}: pip install 'dask-dgraph[bench]'") from missing
        self._style = matplotlib.rc_context(STYLE)
        self._style.__enter__()
        from matplotlib.figure import Figure  # not pyplot, which would choose a GUI backend

        self.figure = Figure(figsize=self.size, layout="constrained")
        self.figure.suptitle(self.title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        self.axes = list(self.figure.subplots(1, self.across, squeeze=False).flat)
        return self

    def __exit__(self, *failure: Any) -> None:
        self._style.__exit__(*failure)

    def save(self, path: str | Path | None = None) -> str:
        """Write a PNG if there is a path. Returns the SVG as text, for an HTML page."""
        if path is not None:
            self.figure.savefig(path, format="png", dpi=150)
        text = io.StringIO()
        self.figure.savefig(text, format="svg", metadata={"Date": None})
        return text.getvalue()[text.getvalue().index("<svg") :]

    def legend(self, axes: Any) -> None:
        """Put the legend next to the axes, where it covers nothing."""
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def line_of(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """A colour for each name, by position, with different dashes if colours repeat."""
    return {
        name: {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i // len(COLOURS) % len(DASHES)]}
        for i, name in enumerate(dict.fromkeys(names))
    }
