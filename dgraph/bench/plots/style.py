"""One look for all plots: colours that the colour-blind can tell apart, thin axes, a light grid, and a title that says
what is to be seen."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dgraph.errors import OptionError

# Okabe and Ito (2008), in an order in which neighbours differ in lightness too; a name keeps its colour in a plot
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#5b5b5b", "#b8a800")
DASHES = ("-", "--", "-.", ":")
BUSY, IDLE = COLOURS[0], "#c9d3da"  # what worked, and what waited
INK, FAINT = "#222222", "#d9d9d9"

STYLE: dict[str, Any] = {
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
    "svg.fonttype": "none",  # letters stay letters: small, and a browser can search for them
    "svg.hashsalt": "dgraph",  # the same picture is the same text
}


class Drawing:
    """A figure with its axes, in the common style until the end of `with`; `save` makes it a PNG and an SVG."""

    def __init__(self, title: str, *, across: int = 1, down: int = 1, width: float = 8.0, height: float = 3.2):
        """width, height: of the whole, in inches."""
        self.title, self.across, self.down, self.size = title, across, down, (width, height)

    def __enter__(self) -> Drawing:
        self._style = _matplotlib().rc_context(STYLE)
        self._style.__enter__()
        from matplotlib.figure import Figure  # no pyplot: it would choose a window system

        self.figure = Figure(figsize=self.size, layout="constrained")
        self.figure.suptitle(self.title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        self.axes = list(self.figure.subplots(self.down, self.across, squeeze=False).flat)
        return self

    def __exit__(self, *failure: Any) -> None:
        self._style.__exit__(*failure)

    def save(self, path: str | Path | None = None) -> str:
        """Write a PNG, if there is a path. Returns the SVG as text, to stand in a page of HTML."""
        if path is not None:
            self.figure.savefig(path, format="png", dpi=150)
        text = io.StringIO()
        self.figure.savefig(text, format="svg", metadata={"Date": None})
        return text.getvalue()[text.getvalue().index("<svg") :]

    def legend(self, axes: Any) -> None:
        """Put the legend of some axes beside them, where it covers nothing."""
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def colour_of(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name, by its place among them."""
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(dict.fromkeys(names))}


def line_of(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """A colour for each name, and dashes of their own where colours come again."""
    dashes = {name: DASHES[i // len(COLOURS) % len(DASHES)] for i, name in enumerate(dict.fromkeys(names))}
    return {name: {"color": colour, "linestyle": dashes[name]} for name, colour in colour_of(names).items()}


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as missing:
        raise OptionError("plots need matplotlib, which is not installed: pip install 'dgraph[bench]'") from missing
    return matplotlib
