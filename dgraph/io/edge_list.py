"""What a reader hands to `Graph.from_edges`: an edge table, and what the file itself says about it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class EdgeList:
    """Edges, which of their columns are the ends and the weight, and what else the file says."""

    edges: Any  # a pyarrow.Table, or a pandas or Dask DataFrame
    source: str
    destination: str
    weight: str | None = None
    directed: bool | None = None  # None: the file does not say
    vertices: Any = None  # a range of ids or a table whose first column lists ids: vertices that no edge need name


def warn_of_other_ends(names: Sequence[str], taken: tuple[str, str]) -> None:
    """The first two columns are the ends of edges, unless others are named. Tell of others that are called so."""
    lower = {name.lower(): name for name in names}
    for pair in (("src", "dst"), ("source", "destination"), ("source", "target"), ("from", "to")):
        if all(name in lower for name in pair) and {lower[name] for name in pair} != set(taken):
            start, end = (lower[name] for name in pair)
            warnings.warn(
                f"edges lead from {taken[0]!r} to {taken[1]!r}, the first two columns, though there are {start!r} and "
                f"{end!r}; name the ends with source= and destination=",
                stacklevel=2,
            )
            return


def warn_of_first_row(first: Sequence[str]) -> None:
    """Text above text may be the names of columns, or an edge like those below."""
    warnings.warn(
        f"the first row, {', '.join(map(repr, first[:2]))}, is read as an edge, for nothing tells it from those below; "
        f"give header=True if it has the names of columns, header=False if not",
        stacklevel=2,
    )
