"""The progress of a run in a notebook: an output of the cell that is replaced while the run goes on.

IPython is used only where a notebook has already loaded it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from itertools import pairwise
from typing import Any

from dgraph.display.html_pieces import ACCENT, STYLE, shown, sparkline


class NotebookOutput:
    """One output of the cell that runs. Each `show` replaces what it showed before."""

    def __init__(self) -> None:
        self.handle: Any = None
        self.fired = [0]  # how many vertices had fired at each look

    def show(self, text: str, done: Mapping[str, Any]) -> None:
        """Show a text; below it, a bar if it is known which share is done, or a line of the vertices that fire. `done`
        is what `Progress` calls its listeners with."""
        share, pieces = done.get("done"), [f"<div>{shown(text)}</div>"]
        if share:
            bar = f'<div style="width:{min(share, 1.0):.0%};height:100%;background:{ACCENT}"></div>'
            frame = "height:5px;margin:.3rem 0 .1rem;border-radius:3px;overflow:hidden;background:rgba(128,128,128,.25)"
            pieces.append(f'<div style="{frame}">{bar}</div>')
        elif "building" not in done and done:
            self.fired.append(done["fired"])
        rates = [max(later - one, 0) for one, later in pairwise(self.fired)]
        pieces.append(sparkline(rates, "vertices fired", "look"))
        self._replace(text, f'<div class="dgraph-card"><style>{STYLE}</style>{"".join(pieces)}</div>')

    def clear(self) -> None:
        """Show nothing any more."""
        if self.handle is not None:
            self._replace("", "")

    def _replace(self, text: str, html: str) -> None:
        output = {"text/plain": text, "text/html": html}
        if self.handle is None:
            display = import_module("IPython.display").display
            self.handle = display(output, raw=True, display_id=True)
        else:
            self.handle.update(output, raw=True)
