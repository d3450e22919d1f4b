"""What Python would do with a container, which a graph refuses: its vertices are in lazy frames."""

from __future__ import annotations

from reprlib import repr as short
from typing import Any, NoReturn

from dgraph.errors import InputError

WHY = (
    "a Graph is not a container; its sizes are G.num_vertices and G.num_edges, its rows are in the lazy frames "
    "G.vertices and G.edges, and dg.ego(G, vertex) is the neighbourhood of a vertex"
)


class ContainerRefusal:
    """The part of a `Graph` whose errors say what to use in place of `len`, a loop or a subscript."""

    def __len__(self) -> NoReturn:
        raise InputError(f"len(G): {WHY}")

    def __iter__(self) -> NoReturn:
        raise InputError(f"iterating over G: {WHY}")

    def __contains__(self, item: Any) -> NoReturn:
        raise InputError(f"{short(item)} in G: {WHY}")

    def __reversed__(self) -> NoReturn:
        raise InputError(f"reversed(G): {WHY}")

    def __getitem__(self, key: Any) -> NoReturn:
        raise InputError(f"G[{short(key)}]: {WHY}")

    def __bool__(self) -> bool:  # otherwise Python would ask for the length
        return True
