"""Strongly connected components: the solver, the program on every policy, and SciPy agree."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph.ops.scc import StrongComponents
from dgraph.partition.policies import POLICY_NAMES
from dgraph.programs import reference
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import verify

pytestmark = pytest.mark.usefixtures("several_threads")


@pytest.mark.parametrize("parts", [1, 2, 3, 8])
@settings(max_examples=12)
@given(drawn=small_graphs(weights=None, max_vertices=12), policy=st.sampled_from(POLICY_NAMES))
def test_engines_agree(parts, drawn, policy):
    frame, options = drawn
    graph = dg.Graph.from_edges(frame, parts=parts, policy=policy, **options)
    for engine in ("bsp", "gas", "local" if parts == 1 else "auto"):
        verify("scc", graph, dg.scc(graph, engine=engine))


@settings(max_examples=25)
@given(drawn=small_graphs(weights=None, max_vertices=9))
def test_the_program_finds_the_strong_components(drawn):
    frame, options = drawn
    graph = dg.Graph.from_edges(frame, **{**options, "directed": True})
    number = {vertex: i for i, vertex in enumerate(graph.vertices.compute()["id"].sort_values())}
    edges = list(zip(*(frame[end].map(number) for end in ("src", "dst")), strict=True))
    verify("scc", graph, {"component": reference.run(StrongComponents(), edges, len(number)).results()["component"]})


def rings(count, length, seed):
    """Rings of vertices anywhere, each with an edge to the next ring."""
    order = np.random.default_rng(seed).permutation(count * length).reshape(count, length)
    within = order.ravel(), np.roll(order, -1, axis=1).ravel()
    onward = order[:-1, 0], order[1:, length // 2]
    return pd.DataFrame({"src": np.append(within[0], onward[0]), "dst": np.append(within[1], onward[1])})


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(("count", "length"), [(1, 300), (300, 1), (20, 15), (2, 150)])
def test_each_ring_in_a_chain_is_one_component(count, length, parts):
    """One ring, a path, and what is between: all who reach each other, and no others."""
    graph = dg.Graph.from_edges(rings(count, length, seed=3), parts=parts, vertices=count * length)
    for engine in ("gas", "auto"):
        found = dg.scc(graph, engine=engine)
        verify("scc", graph, found)
        assert found.compute()["component"].nunique() == count


def test_deep_and_large_graphs_are_verified():
    """A path of a million vertices has no room on a stack of calls; in the others most vertices are in one component,
    or in none of more than one."""
    path = {"src": np.arange(999_999, 0, -1), "dst": np.arange(999_998, -1, -1)}
    back = {end: np.append(path[end], at) for end, at in (("src", 0), ("dst", 500_000))}
    upward = dg.rmat(scale=16).edges.compute()
    upward = upward[upward["source"] < upward["destination"]].set_axis(["src", "dst"], axis=1)
    for graph in (
        *map(dg.Graph.from_edges, (path, back, upward)),
        dg.rmat(scale=17),
        dg.uniform(vertices=1 << 16, edges=1 << 17),
    ):
        verify("scc", graph, dg.scc(graph))


def test_without_directions_it_is_wcc():
    graph = dg.grid(rows=30, cols=30, seed=2, parts=2)
    assert not graph.directed
    found = dg.scc(graph, engine="bulk_async")
    assert found.compute().equals(dg.wcc(graph).compute())


def test_graphs_may_have_no_vertices_or_one():
    for vertices in (0, 1):
        empty = pd.DataFrame({"src": np.empty(0, int), "dst": np.empty(0, int)})
        graph = dg.Graph.from_edges(empty, vertices=vertices)
        assert dg.scc(graph).compute()["component"].tolist() == [0] * vertices
