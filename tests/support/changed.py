"""What updates of a graph mean, on a plain list of edges; updates to try; and a comparison with a graph that is made of
the list."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import dgraph as dg
from dgraph import errors

Row = tuple[Any, Any, int]  # source, destination, weight
COLUMNS = ("src", "dst", "w")


def frame_of(rows: Sequence[Row], name: str = "int") -> pd.DataFrame:
    columns: Any = zip(*rows, strict=True) if rows else ([], [], [])
    frame = pd.DataFrame(dict(zip(COLUMNS, map(list, columns), strict=True)))
    kinds = {"src": IDS[name], "dst": IDS[name], "w": "int64"}
    return frame.astype(kinds).assign(note=[f"{u}>{v}" for u, v, _ in rows] or pd.Series(dtype="str"))


IDS = {"int": "int64", "sparse": "int64", "str": "str"}


def named(number: int, name: str) -> Any:
    """An id of some kind, in another order than the numbers."""
    if name == "str":
        return f"{number * 7 % 31:02d}"
    return number if name == "int" else (number * 37 % 101) * 10**16 - 10**17


class ListedGraph:
    """A graph as a list of edges and a set of vertices."""

    def __init__(self, rows: Sequence[Row], vertices: Sequence[Any] = (), **rules: Any):
        self.rows, self.rules, self.missing = list(rows), rules, 0
        self.vertices = {*vertices, *(end for row in rows for end in row[:2])}

    def pair(self, row: Row) -> Any:
        directed = self.rules.get("directed", True) and not self.rules.get("symmetrize", False)
        return tuple(row[:2]) if directed else frozenset(row[:2])

    def removed(self, row: Row) -> bool:
        """Remove one edge, or the merged one with all that it was made of. Whether there is one."""
        if self.rules.get("loops") == "drop" and row[0] == row[1]:
            return False
        places = [place for place, one in enumerate(self.rows) if self.pair(one) == self.pair(row)]
        for place in places[-1:] if self.rules.get("repeats", "keep") == "keep" else reversed(places):
            del self.rows[place]
        return bool(places)

    def updated(self, added: Sequence[Row], removed: Sequence[Row], vertices: Sequence[Any]) -> "ListedGraph":
        made = ListedGraph(self.rows, [*self.vertices, *vertices], **self.rules)
        merges, gone = self.rules.get("repeats", "keep") != "keep", set()
        for row in removed:
            there = made.removed(row)
            made.missing += not there and not (merges and made.pair(row) in gone)
            gone |= {made.pair(row)} if there else set()
        made.rows += added
        made.vertices |= {end for row in added for end in row[:2]}
        return made

    def graph(self, name: str = "int", **options: Any) -> dg.Graph:
        ids = pd.Series(sorted(self.vertices), dtype=IDS[name])
        return dg.Graph.from_edges(frame_of(self.rows, name), weight="w", vertices={"id": ids}, **self.rules, **options)


def arcs(graph: dg.Graph, order: str) -> list[Row]:
    """The edges of all partitions with the ids of their ends, sorted."""
    found, ids = [], np.asarray(graph.numbering.restored(np.arange(graph.num_vertices)))
    for partition in graph.partitioned([order], ["w"]).held:
        table = getattr(partition, order)
        ends = ids[partition.numbers[table.rows()]], ids[partition.numbers[table.neighbours]]
        found += zip(*(one.tolist() for one in (*ends, table.columns["w"])), strict=True)
    return sorted(found)


def rows_of(edges: pd.DataFrame) -> list[Any]:
    return sorted(edges.astype({"src": object, "dst": object}).itertuples(index=False, name=None))


def check_alike(made: dg.Graph, fresh: dg.Graph, *, saved: bool = False) -> None:
    """Compare two graphs: their edges, their vertices, and the answers of some operations. A `saved` graph lists
    undirected edges from the smaller end."""
    assert (made.num_vertices, made.num_edges) == (fresh.num_vertices, fresh.num_edges)
    assert made.vertices.compute()["id"].tolist() == fresh.vertices.compute()["id"].tolist()
    listed = [rows_of(one.edges.compute()) for one in (made, fresh)]
    if saved and not made.directed:
        listed = [sorted((*sorted(row[:2]), *row[2:]) for row in rows) for rows in listed]
    assert listed[0] == listed[1]
    for order in ("out", "incoming"):
        assert arcs(made, order) == arcs(fresh, order)
    if not fresh.num_vertices:
        return
    first = fresh.vertices.compute()["id"].iloc[0]
    runs = (dg.wcc, dg.degrees, lambda graph: dg.bfs(graph, first), lambda graph: dg.sssp(graph, first), dg.core_number)
    for run in runs:
        pd.testing.assert_frame_equal(run(made).compute(), run(fresh).compute())
    pd.testing.assert_frame_equal(dg.pagerank(made).compute(), dg.pagerank(fresh).compute(), rtol=1e-9)


# -- updates to try ----------------------------------------------------------------------------------------------------

NAMES = ("int", "sparse", "str")
RULES = st.fixed_dictionaries(
    {
        "directed": st.booleans(),
        "loops": st.sampled_from(["keep", "drop"]),
        "repeats": st.sampled_from(["keep", "keep", "first", "sum", "min", "max"]),
    }
)


def edges(most: int) -> st.SearchStrategy:
    """Edges between few vertices, so that many repeat, with weights."""
    end = st.integers(0, 6)
    return st.lists(st.tuples(end, end, st.integers(1, 9)), max_size=most)


@st.composite
def updates(draw):
    """What is added, removed and listed in each update, and what is asked of the new graph before the next one."""
    number = st.integers(0, 9)
    row = st.tuples(number, number, st.integers(1, 9))
    asked = st.sampled_from(["nothing", "nothing", "out", "incoming", "both", "plain"])
    step = st.tuples(
        st.lists(row, max_size=6), st.lists(row, max_size=5), st.lists(st.integers(0, 12), max_size=2), asked
    )
    return draw(st.lists(step, min_size=1, max_size=4))


def ask(graph: dg.Graph, what: str) -> None:
    """Have partitions built, as operations do."""
    if what != "nothing":
        orders = {"both": ("out", "incoming"), "plain": ("out",)}.get(what, (what,))
        graph.partitioned(orders, () if what == "plain" else ("w",))


def rename(rows: Sequence[Row], name: str) -> list[Row]:
    return [(named(u, name), named(v, name), weight) for u, v, weight in rows]


Update = tuple[list[Row], list[Row], list[int], bool]  # what is added, removed and listed; whether it is merged then


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Row], list[Update]]:
    """Edges, and updates."""
    end, far = st.integers(0, 7), st.integers(0, 10)
    weight = st.integers(1, draw(st.sampled_from([1, 3, 9])))
    first = draw(st.lists(st.tuples(end, end, weight), max_size=16))
    step = st.tuples(
        st.lists(st.tuples(far, far, weight), max_size=4),
        st.lists(st.one_of(st.sampled_from(first or [(0, 1, 1)]), st.tuples(far, far, weight)), max_size=4),
        st.lists(far, max_size=1),
        st.sampled_from([False, False, True]),
    )
    return first, draw(st.lists(step, min_size=1, max_size=4))


def chain(
    stream: tuple[list[Row], list[Update]], name: str, source: Any, how: Mapping[str, Any] | None = None, **rules: Any
) -> Iterator[tuple[dg.Graph, dg.Graph]]:
    """The graph with this source, made with the options `how`, then after each update; each beside one that is made of
    the list of its edges."""

    rows, updates = stream
    listed = ListedGraph(rename(rows, name), [source], **rules)
    graph = listed.graph(name, **(how or {}))
    yield graph, graph
    for added, removed, alone, is_merged in updates:
        more, less = rename(added, name), rename(removed, name)
        isolated = [named(one, name) for one in alone]
        listed = listed.updated(more, less, isolated)
        kind = frame_of([], name)["src"].dtype
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.MissingEdgesWarning)
            graph = graph.updated(
                frame_of(more, name), frame_of(less, name)[["src", "dst"]], vertices=pd.Series(isolated, dtype=kind)
            )
        if is_merged:
            graph.partitioned(("out", "incoming"))
        yield graph, listed.graph(name)
