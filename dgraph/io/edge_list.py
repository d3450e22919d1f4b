"""What a reader hands to `Graph.from_edges`: an edge table, and what the file itself says about it."""

from __future__ import annotations

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
