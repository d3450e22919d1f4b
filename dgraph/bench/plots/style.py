"""A figure of plots in the common style, with a descriptive title."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dgraph.display.plot_style import COLOURS, STYLE, import_matplotlib

DASHES = ("-", "--", "-.", ":")


class Drawing:
    """A figure with axes in the common style, which lasts until the end of `with`; `save` writes PNG and SVG."""

    def __init__(self, title: str, *, across: int = 1, width: float = 8.0, height: float = 3.2):
        """`width` and `height` are the size of the whole figure in inches."""
        self.title, self.across, self.size = title, across, (width, height)

    def __enter__(self) -> Drawing:
        matplotlib = import_matplotlib("bench")
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
