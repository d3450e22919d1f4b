"""A figure of plots in the common style, with a descriptive title."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dgraph.display.plot_style import COLOURS, STYLE, import_matplotlib

DASHES = ("-", "--", "-.", ":")

# Matplotlib writes colours as `style` attributes. In an SVG those of ink, ticks, grids and paper follow the page, light
# or dark, in the colours of the site's pictures.
FOLLOWS_PAGE = """<style>
svg { --ink: #22303c; --faint: #5d6b76; --paper: #ffffff; --line: #b9c6cf }
@media (prefers-color-scheme: dark) { svg { --ink: #dfe6ec; --faint: #9aa7b2; --paper: #14181e; --line: #46525d } }
[style*="fill: #ffffff"] { fill: var(--paper) !important }
[style*="fill: #222222"], text:not([style*="fill: #"]) { fill: var(--ink) !important }
:is(text, tspan)[style*="fill: #555555"] { fill: var(--faint) !important }
[style*="stroke: #555555"] { stroke: var(--faint) !important }
[style*="stroke: #d9d9d9"] { stroke: var(--line) !important; stroke-opacity: .6 }
</style>
"""


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
        """Write a PNG if there is a path. Returns the SVG as text, which is light or dark as the page is."""
        if path is not None:
            self.figure.savefig(path, format="png", dpi=150)
        text = io.StringIO()
        self.figure.savefig(text, format="svg", metadata={"Date": None})
        return following_page(text.getvalue())

    def legend(self, axes: Any) -> None:
        """Put the legend next to the axes, where it covers nothing."""
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def following_page(svg: str) -> str:
    """The element `svg` of a file that Matplotlib wrote, with colours that follow the page."""
    begin = svg.index("<svg")
    inside = svg.index(">", begin) + 1
    return f"{svg[begin:inside]}\n{FOLLOWS_PAGE}{svg[inside:].lstrip()}"


def line_of(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """A colour for each name, by position, with different dashes if colours repeat."""
    return {
        name: {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i // len(COLOURS) % len(DASHES)]}
        for i, name in enumerate(dict.fromkeys(names))
    }
