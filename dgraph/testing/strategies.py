"""Hypothesis strategies for graphs as users hand them in: frames of every kind of id, with all that is awkward.

    @given(small_graphs())
    def test_components(drawn):
        frame, kwargs = drawn
        r = dg.wcc(dg.Graph.from_edges(frame, **kwargs))

A failing graph shrinks to few edges among few vertices with ids 0, 1, 2 ...: the kinds of ids, weights and shapes are
drawn from lists that begin with the plainest, and an edge is one element of one list, so it can go by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

try:
    from hypothesis import strategies as st
except ImportError as missing:
    raise ImportError("dgraph.testing.strategies needs hypothesis; install it with pip install hypothesis") from missing

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def _dense(n: int) -> st.SearchStrategy[list]:
    return st.just(list(range(n)))


def _distinct(elements: st.SearchStrategy) -> Callable[[int], st.SearchStrategy[list]]:
    return lambda n: st.lists(elements, min_size=n, max_size=n, unique=True)


# Ids by kind, the plainest first: a function from how many to a strategy for lists of so many distinct ids.
_IDS: dict[str, Callable[[int], st.SearchStrategy[list]]] = {
    "dense": _dense,  # 0 .. n - 1
    "sparse": _distinct(st.integers(0, 10**12)),
    "negative": _distinct(st.integers(-1000, 1000)),
    # both ends of int64, and 2**53, past which float64 cannot tell neighbours apart
    "extreme": _distinct(
        st.sampled_from([0, -1, 1 << 53, (1 << 53) + 1, _MOST, _MOST - 1, _LEAST, _LEAST + 1])
        | st.integers(_LEAST, _MOST)
    ),
    "string": _distinct(st.text("ab01 é😀", max_size=6)),  # also "", "0", "01"
    "uuid": _distinct(st.uuids().map(str)),
}
KINDS: tuple[str, ...] = tuple(_IDS)

_EIGHTHS = st.integers(0, 255)
EXACT_WEIGHTS: st.SearchStrategy[float] = _EIGHTHS.map(lambda eighths: eighths / 8)
"""Weights whose sums are exact in float64, so that no answer depends on the order of additions; 0 is among them."""


def vertex_ids(kind: str, n: int) -> st.SearchStrategy[list]:
    """Lists of n distinct ids of one of `KINDS`: Python integers of int64's range, or strings (UUIDs as text)."""
    return _IDS[kind](n)


@st.composite
def edge_frames(
    draw: st.DrawFn,
    *,
    ids: Sequence[Any] | None = None,
    kinds: Sequence[str] = KINDS,
    max_vertices: int = 8,
    min_edges: int = 0,
    max_edges: int = 24,
    weights: st.SearchStrategy | None = None,
    loops: bool = True,
    repeats: bool = True,
) -> pd.DataFrame:
    """Pandas frames of edges: columns `src`, `dst`, and `weight` if there is a strategy for weights.

    `ids` are the vertices to choose ends from; None draws at most `max_vertices` of one of `kinds`. With `loops=False`
    no edge ends where it starts; with `repeats=False` no pair (src, dst) comes twice. A frame may be empty, and then
    still has the columns and their types. The index is a range, forwards or backwards: it means nothing.
    """
    fewest = 0 if min_edges == 0 else 1 if loops else 2
    n = draw(st.integers(fewest, max_vertices)) if ids is None else len(ids)
    rows = draw(_rows(n, min_edges, max_edges, weights, loops, repeats))
    backwards = draw(st.booleans())
    if ids is None:
        ids = draw(_any_ids(kinds, n))
    return _frame(rows, ids, None if weights is None else [weight for _, weight in rows], backwards)


@st.composite
def small_graphs(
    draw: st.DrawFn,
    *,
    kinds: Sequence[str] = KINDS,
    max_vertices: int = 8,
    max_edges: int = 24,
    directed: bool | None = None,
    weights: st.SearchStrategy | bool | None = True,
    loops: bool = True,
    repeats: bool = True,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """(frame, kwargs): a graph is `Graph.from_edges(frame, **kwargs)`.

    kwargs are source, destination, weight, directed and vertices. `directed=None` draws it. `weights` is a strategy
    for every graph's weights, None or False for none, and True for graphs with none, whole ones from 1 to 255, or
    `EXACT_WEIGHTS`. `vertices` is None (there are no isolated vertices), or a frame whose column `id` lists all
    vertices, in any order: those of edges, and isolated ones.
    """
    of_a_row = _EIGHTHS if weights is True else None if weights is False else weights
    n = draw(st.integers(0, max_vertices))
    rows = draw(_rows(n, 0, max_edges, of_a_row, loops, repeats))
    is_directed = draw(st.booleans()) if directed is None else directed
    backwards = draw(st.booleans())
    order = draw(st.none() | st.permutations(range(n)))
    column: list | None = [weight for _, weight in rows]
    if weights is True:  # one shape of draws for all three, so that shrinking can go from one to the other
        meaning = draw(st.sampled_from(["none", "whole", "exact"]))
        whole, exact = [max(1, weight) for weight in column or []], [weight / 8 for weight in column or []]
        column = {"none": None, "whole": whole, "exact": exact}[meaning]
    elif of_a_row is None:
        column = None
    ids = draw(_any_ids(kinds, n))
    return _frame(rows, ids, column, backwards), {
        "source": "src",
        "destination": "dst",
        "weight": None if column is None else "weight",
        "directed": is_directed,
        "vertices": None if order is None else pd.DataFrame({"id": _id_column([ids[u] for u in order], ids)}),
    }


# Ids are drawn last, and edges as positions among them: so another kind of ids does not disturb the edges, and a
# failure that has nothing to do with ids shrinks to dense ones.


def _any_ids(kinds: Sequence[str], n: int) -> st.SearchStrategy[list]:
    """Lists of n distinct ids, all of one of these kinds."""
    return st.sampled_from(kinds).flatmap(lambda kind: vertex_ids(kind, n))


def _rows(
    n: int, min_edges: int, max_edges: int, weights: st.SearchStrategy | None, loops: bool, repeats: bool
) -> st.SearchStrategy[list[tuple[tuple[int, int], Any]]]:
    """Lists of ((source, destination), weight)."""
    if n < (1 if loops else 2):
        return st.just([])
    source = st.integers(0, n - 1)
    if loops:
        pair = st.tuples(source, source)
    else:  # the destination counts the vertices that are not the source
        pair = st.tuples(source, st.integers(0, n - 2)).map(lambda p: (p[0], p[1] + (p[1] >= p[0])))
    edge = st.tuples(pair, st.none() if weights is None else weights)
    if repeats:
        return st.lists(edge, min_size=min_edges, max_size=max_edges)
    return st.lists(edge, min_size=min_edges, max_size=max_edges, unique_by=lambda row: row[0])


def _frame(rows: list, ids: Sequence[Any], weights: list | None, backwards: bool) -> pd.DataFrame:
    """A frame of the rows, whose ends are positions in `ids`; `backwards` turns its index, which means nothing,
    around."""
    columns = {
        "src": _id_column([ids[u] for (u, _), _ in rows], ids),
        "dst": _id_column([ids[v] for (_, v), _ in rows], ids),
    }
    if weights is not None:
        columns["weight"] = pd.Series(weights, dtype=None if weights else "float64")
    frame = pd.DataFrame(columns)
    if backwards:
        frame.index = frame.index[::-1]
    return frame


def _id_column(values: list, ids: Sequence[Any]) -> pd.Series:
    """A column with the type of all the ids, even when it has none of them."""
    return pd.Series(values, dtype="str" if ids and isinstance(ids[0], str) else "int64")
