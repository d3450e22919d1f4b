"""What updates of a graph mean, on a plain list of edges; and a comparison with a graph that is made of the list."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

import dgraph as dg

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


def check_alike(made: dg.Graph, fresh: dg.Graph) -> None:
    """Compare two graphs: their edges, their vertices, and the answers of some operations."""
    assert (made.num_vertices, made.num_edges) == (fresh.num_vertices, fresh.num_edges)
    assert made.vertices.compute()["id"].tolist() == fresh.vertices.compute()["id"].tolist()
    assert rows_of(made.edges.compute()) == rows_of(fresh.edges.compute())
    for order in ("out", "incoming"):
        assert arcs(made, order) == arcs(fresh, order)
    if not fresh.num_vertices:
        return
    first = fresh.vertices.compute()["id"].iloc[0]
    runs = (dg.wcc, dg.degrees, lambda graph: dg.bfs(graph, first), lambda graph: dg.sssp(graph, first), dg.core_number)
    for run in runs:
        pd.testing.assert_frame_equal(run(made).compute(), run(fresh).compute())
    pd.testing.assert_frame_equal(dg.pagerank(made).compute(), dg.pagerank(fresh).compute(), rtol=1e-9)
