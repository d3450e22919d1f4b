"""How messages and reprs say how many there are of something, what somebody gave, and may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np

_PLURALS = {"vertex": "vertices"}
_SHOWN = (str, bytes, int, float, list, tuple, type(None), np.generic)  # whose repr is a line


def counted(number: float, what: str) -> str:
    """A number with its noun, which is given for one: "1 vertex", "2,000 edges", "1.5 cores"."""
    figure = f"{number:,g}" if isinstance(number, float) else f"{number:,}"
    return f"{figure} {what if number == 1 else _PLURALS.get(what, f'{what}s')}"


def given(name: str, value: Any) -> str:
    """An option as somebody gave it: `engine='fast'`. Of a frame, an array or another object only its type, in
    brackets: their reprs have many lines, or tell nothing."""
    return f"{name}={value!r}" if isinstance(value, _SHOWN) else f"{name}=<{type(value).__name__}>"


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that a misspelt one may mean; "" if none is near. Commands, whose words are longer, have a
    stricter one (`cli/command.py`)."""
    return next(iter(get_close_matches(word, list(known), 1)), "")
