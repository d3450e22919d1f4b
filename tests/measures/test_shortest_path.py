"""One shortest path against NetworkX, and against the paths of whole searches."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph import errors

WEIGHTS = {
    "whole": lambda draws, size: draws.integers(1, 4, size),
    "narrow": lambda draws, size: draws.integers(1, 200, size).astype(np.uint8),
    "with 0": lambda draws, size: draws.integers(0, 3, size),
    "real": lambda draws, size: draws.random(size),
    "that round": lambda draws, size: draws.choice([0.1, 0.2, 0.3, 1e-17, np.inf], size),
}


def drawn(seed, kind, vertices, edges, directed):
    draws = np.random.default_rng(seed)
    frame = pd.DataFrame(draws.integers(0, vertices, (edges, 2)), columns=["src", "dst"])
    frame["weight"] = WEIGHTS[kind](draws, edges)
    pairs = draws.integers(0, vertices, (6, 2)).tolist()
    return dg.Graph.from_edges(frame, directed=directed, vertices=vertices), frame, pairs


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("kind", list(WEIGHTS))
def test_paths_are_those_of_whole_searches(kind, directed):
    for seed in range(12):
        graph, _, pairs = drawn(seed, kind, 4 + 2 * seed, 2 + 4 * seed, directed)
        for source, target in pairs:
            for weighted, search in ((False, dg.bfs), (True, dg.sssp)):
                expected = search(graph, source).path(target)
                assert dg.shortest_path(graph, source, target, weighted=weighted) == expected


@pytest.mark.parametrize("directed", [True, False])
def test_lengths_are_those_of_networkx(directed):
    graph, frame, pairs = drawn(7, "whole", 400, 700, directed)
    kind = nx.DiGraph if directed else nx.Graph
    lightest = frame.sort_values("weight", ascending=False)
    if not directed:
        ends = np.sort(lightest[["src", "dst"]], axis=1)
        lightest = lightest.assign(src=ends[:, 0], dst=ends[:, 1])
    peer = nx.from_pandas_edgelist(lightest, "src", "dst", "weight", kind)
    peer.add_nodes_from(range(400))
    for source, target in pairs + [[one, 5] for one in range(60)]:
        for weighted, weight in ((False, None), (True, "weight"), (None, "weight")):
            path = dg.shortest_path(graph, source, target, weighted=weighted)
            assert (len(path) > 0) == nx.has_path(peer, source, target)
            if path:
                length = nx.path_weight(peer, path, weight) if weight else len(path) - 1
                assert (path[0], path[-1], length) == (
                    source,
                    target,
                    nx.shortest_path_length(peer, source, target, weight),
                )


@pytest.mark.parametrize("parts", [1, 3])
def test_workers_and_partitions_find_the_same_path(client, parts):
    _, frame, pairs = drawn(3, "with 0", 40, 90, directed=True)
    frame[["src", "dst"]] = frame[["src", "dst"]].astype(str)
    for place in ({"parts": parts}, {"parts": parts, "client": client}):
        other = dg.Graph.from_edges(frame, vertices=pd.DataFrame({"id": [*map(str, range(40))]}), **place)
        for source, target in pairs:
            for weighted in (True, False) if target % 2 else (None,):
                by_number = dg.bfs(other, str(source)) if weighted is False else dg.sssp(other, str(source))
                expected = by_number.path(str(target))
                assert dg.shortest_path(other, str(source), str(target), weighted=weighted) == expected


@pytest.mark.parametrize("parts", [1, 2])
def test_negative_weights(parts):
    frame = pd.DataFrame({"src": [0, 0, 1, 2, 3], "dst": [1, 2, 3, 1, 3], "weight": [1, 3, 1, -4, 1]})
    graph = dg.Graph.from_edges(frame, parts=parts)
    assert dg.shortest_path(graph, 0, 3) == [0, 2, 1, 3]
    assert dg.shortest_path(graph, 0, 3, weighted=False) == [0, 1, 3]
    assert dg.shortest_path(graph, 3, 0) == []
    frame.loc[4, "weight"] = -1
    with pytest.raises(errors.WeightError, match="cycle"):
        dg.shortest_path(dg.Graph.from_edges(frame, parts=parts), 0, 3)


@pytest.mark.parametrize("parts", [1, 2])
def test_ends_of_a_path(parts):
    graph = dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]}, vertices=["z"], parts=parts)
    assert dg.shortest_path(graph, "a", "c") == ["a", "b", "c"]
    assert dg.shortest_path(graph, "c", "a") == dg.shortest_path(graph, "z", "a") == []
    assert dg.shortest_path(graph, "z", "z") == ["z"]
    for ends in (("q", "a"), ("a", "q"), ("q", "q")):
        with pytest.raises(errors.IdError, match="no vertex 'q'"):
            dg.shortest_path(graph, *ends)
    for ends in ((["a"], "c"), ("a", ["b", "c"])):
        with pytest.raises(errors.InputError):
            dg.shortest_path(graph, *ends)


def test_long_paths_and_heavy_hubs():
    size = 3000
    numbers = np.arange(size)
    path = {"src": numbers[:-1], "dst": numbers[1:], "weight": np.full(size - 1, 0.1)}
    star = {"src": np.full(size, size // 2), "dst": numbers, "weight": np.full(size, 200.0)}
    frame = pd.concat([pd.DataFrame(path), pd.DataFrame(star)])
    graph = dg.Graph.from_edges(frame)
    assert dg.shortest_path(graph, 0, size // 2 + 400) == numbers[: size // 2 + 401].tolist()
    assert dg.shortest_path(graph, 0, size - 1, weighted=False) == [*numbers[: size // 2 + 1].tolist(), size - 1]
    assert dg.shortest_path(graph, size - 1, 0) == []


def test_weights_are_asked_for():
    plain = dg.Graph.from_edges({"src": [0, 1, 0], "dst": [1, 2, 2]})
    with pytest.raises(errors.ColumnError, match="weighted=True: shortest_path needs weights"):
        dg.shortest_path(plain, 0, 2, weighted=True)
    with pytest.raises(errors.OptionError, match="weighted='km'"):
        dg.shortest_path(plain, 0, 2, weighted="km")
    with pytest.warns(errors.UnweightedWarning, match="km"):
        assert dg.shortest_path(dg.Graph.from_edges({"src": [0], "dst": [1], "km": [2.0]}), 0, 1) == [0, 1]


@pytest.mark.parametrize("word", ["dijkstra_path", "get_shortest_paths", "bidirectional_shortest_path"])
def test_names_of_other_libraries_lead_here(word):
    with pytest.raises(AttributeError, match=r"did you mean shortest_path\?"):
        getattr(dg, word)
