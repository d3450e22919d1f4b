"""Parts of messages and reprs: counts with nouns, arguments as the user wrote them, and warnings at the user's line."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from dgraph.phrases.printable import message

_PLURALS = {
    "vertex": "vertices",
    "community": "communities",
    "search": "searches",
    "eccentricity": "eccentricities",
}
_SHOWN = (str, bytes, int, float, list, tuple, type(None), np.generic)  # types with a one-line repr


def format_count(number: float, what: str) -> str:
    """A number with its noun, from the singular: "1 vertex", "2,000 edges", "1.5 cores"."""
    figure = f"{number:,g}" if isinstance(number, float) else f"{number:,}"
    return f"{figure} {what if number == 1 else _PLURALS.get(what, f'{what}s')}"


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, pointing at the line outside dgraph that made the call."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("dgraph", "functools"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message(text), category, stacklevel=level)


def format_option(name: str, value: Any) -> str:
    """An argument as the user wrote it: `engine='fast'`. Frames, arrays and other objects whose reprs are long or
    uninformative are shown by type: `frame=<DataFrame>`."""
    return f"{name}={value!r}" if isinstance(value, _SHOWN) else f"{name}=<{type(value).__name__}>"
