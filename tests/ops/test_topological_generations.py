"""Topological generations against NetworkX, and refusals that name a cycle."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph import errors
from dgraph.ops.topological_generations import TopologicalGenerations
from dgraph.programs import reference
from dgraph.testing.verify import verify

VERTICES = 60


def acyclic(seed, edges=150):
    """Edges that lead onward in a random order of the vertices, some of them repeated; some vertices are isolated."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, VERTICES - 5, (edges, 2)), axis=1)
    order = rng.permutation(VERTICES)
    frame = pd.DataFrame(order[ends[ends[:, 0] != ends[:, 1]]], columns=["src", "dst"])
    return pd.concat([frame, frame[::9]], ignore_index=True)


def expected(frame, vertices=range(VERTICES)):
    graph = nx.DiGraph(list(frame.itertuples(index=False, name=None)))
    graph.add_nodes_from(vertices)
    return {v: number for number, some in enumerate(nx.topological_generations(graph)) for v in some}


@pytest.mark.parametrize("seed", range(3))
def test_every_engine_finds_the_generations_of_networkx(seed):
    frame = acyclic(seed)
    meant = expected(frame)
    for parts, engine in ((1, "local"), (1, "gas"), (3, "bsp"), (2, "bulk_async"), (3, "auto")):
        graph = dg.Graph.from_edges(frame, vertices=VERTICES, parts=parts)
        found = dg.topological_generations(graph, engine=engine)
        assert found.by_number("generation").tolist() == [meant[v] for v in range(VERTICES)], engine
        assert found.totals == {}
        verify("topological_generations", graph, found)


def test_the_program_means_the_generations_of_networkx():
    frame = acyclic(5)
    degrees = np.bincount(frame["dst"], minlength=VERTICES).tolist()
    edges = list(frame.itertuples(index=False, name=None))
    found = reference.run(TopologicalGenerations(), edges, VERTICES, vertex_columns={"in_degree": degrees})
    meant = expected(frame)
    assert found.results()["generation"] == [meant[v] for v in range(VERTICES)]


def test_long_paths_and_wide_graphs():
    path = dg.Graph.from_edges({"src": range(50_000), "dst": range(1, 50_001)})
    assert (dg.topological_generations(path).by_number("generation") == np.arange(50_001)).all()
    ends = np.random.default_rng(1).integers(0, 3000, (2, 20_000))
    wide = dg.Graph.from_edges({"src": ends[0], "dst": ends[1] + 3000}, parts=2)
    verify("topological_generations", wide, dg.topological_generations(wide))


def test_a_vertex_column_called_in_degree_is_not_read():
    vertices = pd.DataFrame({"id": ["a", "b", "c"], "in_degree": ["x", "y", "z"]})
    frame = {"src": ["a", "b"], "dst": ["b", "c"]}
    for parts in (1, 2):
        graph = dg.Graph.from_edges(frame, vertices=vertices, parts=parts)
        assert dg.topological_generations(graph).compute()["generation"].tolist() == [0, 1, 2]


def test_ids_may_be_strings_and_workers_find_the_same_generations(client):
    frame = acyclic(4).astype(str)
    here, there = (dg.Graph.from_edges(frame, **where) for where in ({}, {"parts": 3, "client": client}))
    frames = [dg.topological_generations(graph).compute() for graph in (here, there)]
    pd.testing.assert_frame_equal(*frames)
    assert dict(frames[0].itertuples(index=False)) == expected(frame, ())


@pytest.mark.parametrize("parts", [1, 3])
def test_a_cycle_is_an_error_that_names_its_vertices(parts):
    frame = {"src": ["s", "a", "b", "c", "c", "d"], "dst": ["a", "b", "c", "a", "d", "e"]}
    with pytest.raises(errors.InputError, match=r"'a' -> 'b' -> 'c' -> 'a', which leaves 5 vertices without"):
        dg.topological_generations(dg.Graph.from_edges(frame, parts=parts))
    loop = dg.Graph.from_edges({"src": [1, 2], "dst": [2, 2]}, parts=parts)
    with pytest.raises(errors.InputError, match=r"2 -> 2, which leaves 1 vertex without"):
        dg.topological_generations(loop)
    dropped = dg.Graph.from_edges({"src": [1, 2], "dst": [2, 2]}, parts=parts, loops="drop")
    assert dg.topological_generations(dropped).compute()["generation"].tolist() == [0, 1]


def test_only_the_first_vertices_of_a_long_cycle_are_listed():
    ring = dg.Graph.from_edges({"src": range(100), "dst": np.arange(1, 101) % 100})
    with pytest.raises(errors.InputError, match=r"0 -> 1 -> .* -> 19 -> \.\.\., which leaves 100 vertices"):
        dg.topological_generations(ring)


def test_undirected_graphs_are_refused():
    graph = dg.Graph.from_edges({"src": [0], "dst": [1]}, directed=False)
    with pytest.raises(errors.InputError, match="directed=True"):
        dg.topological_generations(graph)
    with pytest.raises(errors.AnswerError, match="undirected"):
        verify("topological_generations", graph, {"generation": np.array([0, 1])})


def test_graphs_without_edges_and_without_vertices():
    for vertices, engine in ((3, "local"), (0, "local"), (3, "gas"), (0, "gas")):
        empty = dg.Graph.from_edges(pd.DataFrame({"src": [], "dst": []}, dtype="int64"), vertices=vertices)
        assert dg.topological_generations(empty, engine=engine).by_number("generation").tolist() == [0] * vertices


def test_engines_that_cannot_run_it_are_refused():
    with pytest.raises(errors.OptionError, match="block_descent"):
        dg.topological_generations(dg.Graph.from_edges(acyclic(1)), engine="block_descent")
