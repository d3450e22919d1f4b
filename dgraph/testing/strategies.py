"""Hypothesis strategies for graphs as users pass them: frames with every kind of id, and awkward shapes.

    @given(small_graphs())
    def test_components(drawn):
        frame, kwargs = drawn
        r = dg.wcc(dg.Graph.from_edges(frame, **kwargs))

A failing graph shrinks to few edges between few vertices with ids 0, 1, 2, ..., because kinds of ids, weights and
shapes are drawn from lists that start with the simplest. An edge is one element of one list, so shrinking can remove it
alone.
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


def _distinct(elements: st.SearchStrategy) -> Callable[[int], st.SearchStrategy[list]]:
    return lambda n: st.lists(elements, min_size=n, max_size=n, unique=True)


# Ids by kind, the simplest first: a function from n to a strategy for lists of n distinct ids.
_IDS: dict[str, Callable[[int], st.SearchStrategy[list]]] = {
    "dense": lambda n: st.just(list(range(n))),
    "sparse": _distinct(st.integers(0, 10**12)),
    "negative": _distinct(st.integers(-1000, 1000)),
    # both ends of int64, and 2**53, beyond which float64 cannot distinguish neighbours
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
"""Weights whose sums are exact in float64, so that results do not depend on the order of additions. They include 0."""


def vertex_ids(kind: str, n: int) -> st.SearchStrategy[list]:
    """Lists of n distinct ids of one of `KINDS`: integers in the range of int64, or strings (UUIDs as text)."""
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

    Ends are chosen from `ids`; None draws at most `max_vertices` ids of one of `kinds`. With `loops=False` there are no
    self loops, and with `repeats=False` no repeated pairs (src, dst). An empty frame still has the columns with their
    types. The index is an ascending or descending range without meaning.
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
    """Pairs (frame, kwargs) for graphs: `Graph.from_edges(frame, **kwargs)`.

    kwargs are source, destination, weight, directed and vertices. `directed=None` draws the direction. `weights` is a
    strategy for the weights, None or False for no weights, or True to draw between none, integers from 1 to 255, and
    `EXACT_WEIGHTS`. In kwargs, `vertices` is None (no isolated vertices), or a frame whose column `id` lists all
    vertices in any order, isolated ones included.
    """
    row_weights = _EIGHTHS if weights is True else None if weights is False else weights
    n = draw(st.integers(0, max_vertices))
    rows = draw(_rows(n, 0, max_edges, row_weights, loops, repeats))
    is_directed = draw(st.booleans()) if directed is None else directed
    backwards = draw(st.booleans())
    order = draw(st.none() | st.permutations(range(n)))
    column: list | None = [weight for _, weight in rows]
    if weights is True:  # all three draw in the same way, so that shrinking can change the kind
        meaning = draw(st.sampled_from(["none", "whole", "exact"]))
        whole, exact = [max(1, weight) for weight in column or []], [weight / 8 for weight in column or []]
        column = {"none": None, "whole": whole, "exact": exact}[meaning]
    elif row_weights is None:
        column = None
    ids = draw(_any_ids(kinds, n))
    return _frame(rows, ids, column, backwards), {
        "source": "src",
        "destination": "dst",
        "weight": None if column is None else "weight",
        "directed": is_directed,
        "vertices": None if order is None else pd.DataFrame({"id": _id_column([ids[u] for u in order], ids)}),
    }


# Edges are positions in the list of ids, which is drawn last. A different kind of ids thus leaves the edges unchanged,
# and a failure that does not depend on ids shrinks to dense ones.


def _any_ids(kinds: Sequence[str], n: int) -> st.SearchStrategy[list]:
    """Lists of n distinct ids of one of these kinds."""
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
    else:  # the destination is drawn from the vertices other than the source
        pair = st.tuples(source, st.integers(0, n - 2)).map(lambda p: (p[0], p[1] + (p[1] >= p[0])))
    edge = st.tuples(pair, st.none() if weights is None else weights)
    if repeats:
        return st.lists(edge, min_size=min_edges, max_size=max_edges)
    return st.lists(edge, min_size=min_edges, max_size=max_edges, unique_by=lambda row: row[0])


def _frame(rows: list, ids: Sequence[Any], weights: list | None, backwards: bool) -> pd.DataFrame:
    """A frame of rows whose ends are positions in `ids`. `backwards` reverses the index, which has no meaning."""
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
    """A column with the type of the ids, even if it is empty."""
    return pd.Series(values, dtype="str" if ids and isinstance(ids[0], str) else "int64")
