"""Paths along the predecessors of a search."""

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dgraph as dg
from dgraph import errors

LONG = 2000


def drawn(seed, edges=60, vertices=30, directed=True):
    """Edges with whole weights, some of them 0, and the graph of NetworkX with the lightest of repeated ones."""
    draws = np.random.default_rng(seed)
    frame = pd.DataFrame(draws.integers(0, vertices, (edges, 2)), columns=["src", "dst"])
    frame["weight"] = draws.integers(0, 4, edges)
    peer = nx.DiGraph() if directed else nx.Graph()
    peer.add_nodes_from(range(vertices))
    rows = frame.sort_values("weight", ascending=False).itertuples(index=False)
    for source, destination, weight in rows:
        old = peer.get_edge_data(source, destination, {"weight": weight})
        peer.add_edge(source, destination, weight=min(weight, old["weight"]))
    return frame, peer


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_paths_are_as_long_as_their_distances(seed, directed, parts):
    frame, peer = drawn(seed, directed=directed)
    graph = dg.Graph.from_edges(frame, directed=directed, vertices=30, parts=parts)
    for sources in ([0], [4, 9]):
        for result, weight in ((dg.bfs(graph, sources), None), (dg.sssp(graph, sources), "weight")):
            distances = nx.multi_source_dijkstra_path_length(peer, set(sources), weight=weight or (lambda *_: 1))
            before = result.compute().set_index("vertex")["predecessor"].to_dict()
            for target in range(30):
                path = result.path(target)
                assert (len(path) > 0) == (target in distances)
                if path:
                    assert (path[0] in sources, path[-1]) == (True, target)
                    assert nx.path_weight(peer, path, weight) == distances[target] if weight else True
                    assert len(path) == distances[target] + 1 if weight is None else True
                    assert path[:-1] == [before[one] for one in path[1:]]


def test_paths_to_several_targets_are_a_frame():
    graph = dg.Graph.from_edges({"src": ["a", "b", "x"], "dst": ["b", "c", "a"]}, vertices=["z"])
    result = dg.bfs(graph, "a")
    expected = pd.DataFrame({"target": ["c", "c", "c", "a"], "step": [0, 1, 2, 0], "vertex": ["a", "b", "c", "a"]})
    for targets in (["c", "x", "a", "c"], np.array(["c", "z", "a"]), pd.Series(["c", "a"]), pa.array(["c", "a"])):
        found = result.path(targets)
        pd.testing.assert_frame_equal(found, expected, check_dtype=False)
        kind = result.compute()["vertex"].dtype
        assert found.dtypes.tolist() == [kind, np.int64, kind]
    assert result.path([]).empty and list(result.path(["x"]).columns) == ["target", "step", "vertex"]
    for one in ("c", np.array("c"), np.str_("c"), pa.scalar("c")):
        assert result.path(one) == ["a", "b", "c"]


def test_long_paths_and_many_targets():
    numbers = np.arange(LONG)
    result = dg.bfs(dg.Graph.from_edges({"src": numbers[:-1], "dst": numbers[1:]}), 0)
    assert result.path(LONG - 1) == numbers.tolist()
    frame = result.path(numbers)
    assert len(frame) == LONG * (LONG + 1) // 2
    assert (frame["vertex"] == frame["step"]).all() and (frame.groupby("target")["vertex"].max() == numbers).all()


@pytest.mark.parametrize("parts", [1, 2])
def test_paths_with_negative_weights_and_limits(parts):
    frame = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 3, 1], "weight": [1, 3, 1, -4]})
    graph = dg.Graph.from_edges(frame, parts=parts)
    assert dg.sssp(graph, 0).path(3) == [0, 2, 1, 3]
    assert dg.sssp(graph, [0, 1]).path(1) == [0, 2, 1]  # a source that another one reaches by less than 0
    assert dg.bfs(graph, 0, depth_limit=1).path(3) == []
    assert dg.bfs(graph, 0, target=1).path([1, 3])["vertex"].tolist() == [0, 1]


def test_workers_and_saved_results_have_the_same_paths(client, tmp_path):
    frame, _ = drawn(5)
    frame[["src", "dst"]] = frame[["src", "dst"]].astype(str)
    here = dg.sssp(dg.Graph.from_edges(frame), "3").path([str(one) for one in range(9)])
    graph = dg.Graph.from_edges(frame, parts=3, client=client)
    result = dg.sssp(graph, "3")
    pd.testing.assert_frame_equal(result.path([str(one) for one in range(9)]), here)
    graph.save(tmp_path / "saved", results={"paths": result})
    opened = dg.open_graph(tmp_path / "saved", client=client).results["paths"]
    pd.testing.assert_frame_equal(opened.path([str(one) for one in range(9)]), here)


def test_results_without_predecessors_say_how_to_get_them():
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2], "weight": [1, 1]})
    results = dg.pagerank(graph), dg.sssp(graph, 0, predecessors=False), dg.sssp(graph, [0, 1], per_source=True)
    for result in results:
        with pytest.raises(errors.ColumnError, match="run bfs, or sssp without predecessors=False"):
            result.path(2)
    some = dg.bfs(graph, 0).map(lambda numbers, columns: (numbers, columns), whole=False)
    with pytest.raises(errors.ColumnError, match="lists only some vertices"):
        some.path(2)


def test_unknown_targets_are_refused():
    result = dg.bfs(dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}), 0)
    for target in (7, [1, 7]):
        with pytest.raises(errors.IdError, match="no vertex 7"):
            result.path(target)


def test_changed_predecessors_are_followed_anew_and_cycles_refused():
    result = dg.bfs(dg.Graph.from_edges({"src": [0, 1, 0], "dst": [1, 2, 2]}), 0)
    assert result.path(2) == [0, 2]
    detour = result.map(lambda numbers, columns: (numbers, {**columns, "predecessor": numbers.astype(int) - 1}))
    assert detour.path(2) == [0, 1, 2]
    around = result.map(lambda numbers, columns: (numbers, {**columns, "predecessor": (numbers.astype(int) + 1) % 3}))
    with pytest.raises(errors.RunError, match="predecessors of 2 form a cycle"):
        around.path(2)
