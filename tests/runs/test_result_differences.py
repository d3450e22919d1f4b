"""`result.changes(previous)` lists the vertices that are new, gone, or have other values."""

import numpy as np
import pandas as pd
import pytest
from changed import NAMES, ListedGraph, edges, rename
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph.errors import ColumnError, IdError, OptionError

RUNS = {
    "wcc": dg.wcc,
    "bfs": lambda graph: dg.bfs(graph, graph.vertices.compute().iloc[0, 0]),
    "sssp": lambda graph: dg.sssp(graph, graph.vertices.compute().iloc[[0, -1], 0].unique().tolist(), per_source=True),
    "core_number": dg.core_number,
    "k_core": lambda graph: dg.k_core(graph, k=2),
    "pagerank": dg.pagerank,
}


def known(value):
    """A value that compares equal to itself even if it is missing."""
    if isinstance(value, np.ndarray | list):
        return tuple(value)
    return None if pd.isna(value) else value


def rows_by_vertex(result):
    """The values of each vertex."""
    frame = result.compute()
    return {row[0]: tuple(map(known, row[1:])) for row in frame.itertuples(index=False, name=None)}


def are_near(one, other, tolerance):
    """Whether both tuples have the same values, or numbers that differ little."""
    if tolerance:
        return all(abs(a - b) <= tolerance for a, b in zip(one, other, strict=True))
    return one == other


@settings(max_examples=60)
@given(edges(10), edges(10), st.sampled_from(NAMES), st.sampled_from(sorted(RUNS)), st.sampled_from([1, 3]))
def test_changes_are_those_of_both_frames(old, new, name, operation, parts):
    graphs = [ListedGraph(rename(rows, name)).graph(name, parts=parts) for rows in (old, new) if rows]
    before, after = (RUNS[operation](graph) for graph in (graphs[0], graphs[-1])) if graphs else (None, None)
    if before is None:
        return
    tolerance = 0.05 if operation == "pagerank" else 0.0
    frame = after.changes(before, tolerance=tolerance)
    was, now = rows_by_vertex(before), rows_by_vertex(after)
    columns = [f"{one}_{when}" for one in after.compute().columns[1:] for when in ("before", "after")]
    assert frame.columns.tolist() == ["vertex", "change", *columns]
    expected = []
    for vertex in sorted(was.keys() | now.keys()):
        kind = "new" if vertex not in was else "gone" if vertex not in now else "changed"
        if kind == "changed" and are_near(was[vertex], now[vertex], tolerance):
            continue
        none = (None,) * (len(columns) // 2)
        pairs = zip(was.get(vertex, none), now.get(vertex, none), strict=True)
        expected.append((vertex, kind, *(value for pair in pairs for value in pair)))
    assert [tuple(map(known, row)) for row in frame.itertuples(index=False)] == expected


def test_types_do_not_depend_on_what_changed():
    G = dg.Graph.from_edges({"src": [1, 2], "dst": [2, 3]})
    H = G.updated(added={"src": [3], "dst": [0]})
    nothing, some = (dg.core_number(one).changes(dg.core_number(G)) for one in (G, H))
    assert not len(nothing) and some["change"].tolist() == ["new"]
    assert nothing.dtypes.tolist() == some.dtypes.tolist()
    assert some.dtypes[["vertex", "core_before", "core_after"]].tolist() == ["int64", "Int64", "Int64"]
    empty = dg.wcc(dg.Graph.from_edges({"src": [], "dst": []}))
    text = dg.wcc(dg.Graph.from_edges({"src": ["a"], "dst": ["b"]}))
    assert text.changes(empty)["component_before"].dtype == text.changes(text)["component_before"].dtype


def test_signed_and_unsigned_ids_are_told_apart():
    G = dg.Graph.from_edges({"src": np.array([-5, 3]), "dst": np.array([3, 7])})
    H = dg.Graph.from_edges({"src": np.array([3, 2**64 - 5], np.uint64), "dst": np.array([7, 3], np.uint64)})
    frame = dg.wcc(H).changes(dg.wcc(G))
    assert frame["vertex"].tolist() == [-5, 3, 7, 2**64 - 5]
    assert frame["change"].tolist() == ["gone", "changed", "changed", "new"]


def test_what_cannot_be_compared_is_refused():
    G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
    names = dg.wcc(G)
    with pytest.raises(ColumnError, match="previous= has the columns distance, predecessor, and this result has compo"):
        names.changes(dg.bfs(G, 0))
    with pytest.raises(OptionError, match="previous=DataFrame must be an earlier result"):
        names.changes(names.compute())
    with pytest.raises(OptionError, match=r"tolerance=-1 must be a number >= 0"):
        names.changes(names, tolerance=-1)
    with pytest.raises(IdError, match="previous= has ids of kind string, and this result has ids of kind integer"):
        names.changes(dg.wcc(dg.Graph.from_edges({"src": ["a"], "dst": ["b"]})))
    some = names.map(lambda numbers, columns: (numbers[:1], {"component": columns["component"][:1]}), whole=False)
    for one, other in ((some, names), (names, some)):
        with pytest.raises(ColumnError, match=r"this result lists only some vertices, and changes\(\) compares all"):
            one.changes(other)


def test_results_on_a_cluster_are_compared(client):
    edges = pd.DataFrame({"src": [f"v{k}" for k in range(20)], "dst": [f"v{k % 5}" for k in range(20)]})
    G = dg.Graph.from_edges(edges[:12], client=client, parts=3)
    H = dg.Graph.from_edges(edges[2:], client=client, parts=2)
    frame = dg.wcc(H).changes(dg.wcc(G))
    was, now = rows_by_vertex(dg.wcc(G)), rows_by_vertex(dg.wcc(H))
    differ = sorted(one for one in was.keys() | now.keys() if was.get(one) != now.get(one))
    assert frame["vertex"].tolist() == differ and 0 < len(differ) < len(now)
    assert frame["component_after"].map(known).tolist() == [now.get(one, (None,))[0] for one in differ]
