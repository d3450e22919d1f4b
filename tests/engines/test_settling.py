"""Local fixed points in rounds: the answers of single steps, by engine, policy and number of partitions."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from test_agreement import by_ends, by_hash

import dgraph as dg
from dgraph.engines.local_methods import local_rounds
from dgraph.errors import OptionError
from dgraph.keywords import ENGINE_VALUES
from dgraph.partition.policies import POLICY_NAMES
from dgraph.solvers.paths import local_levels, shortest_paths

OPERATIONS = {
    "wcc": dg.wcc,
    "bfs": lambda graph, **options: dg.bfs(graph, 3, **options),
    "bfs of several": lambda graph, **options: dg.bfs(graph, [3, 5, 30], depth_limit=4, **options),
    "sssp": lambda graph, **options: dg.sssp(graph, 3, **options),
    "sssp of several": lambda graph, **options: dg.sssp(graph, [3, 17], predecessors=False, **options),
    "core numbers": dg.core_number,
}
CASES_OF_PAUSES = (("random", True, "outgoing"), ("path", False, "cartesian"), ("random", False, "incoming"))
WAYS_OF_PAUSES = (("gas", {}), ("gas", {"target": 40}), ("bulk_async", {}))
SETTLED = "to the local fixed point"


def graph_of(kind: str, **options) -> dg.Graph:
    rng = np.random.default_rng(3)
    if kind == "path":  # which crosses partitions over and over
        order = rng.permutation(60)
        frame = pd.DataFrame({"src": order[:-1], "dst": order[1:]})
    else:
        frame = pd.DataFrame(rng.integers(0, 60, (150, 2)), columns=["src", "dst"])
    frame["weight"] = rng.integers(0, 5, len(frame)) / 4
    return dg.Graph.from_edges(frame, weight="weight", vertices=pd.DataFrame({"id": range(64)}), **options)


@cache
def whole(name: str, kind: str, directed: bool) -> pd.DataFrame:
    """The answer on one partition."""
    return OPERATIONS[name](graph_of(kind, directed=directed)).compute()


# A fifth of them, in which every policy and number of partitions comes with both engines of single steps.
CASES = list(product(("random", "path"), (True, False), (2, 3, 8), (*POLICY_NAMES, by_hash, by_ends)))[::5]
STEPPED = [(*case, ("gas", "bsp")[i % 2]) for i, case in enumerate(CASES)]


@pytest.mark.parametrize(("kind", "directed", "parts", "policy", "by_steps"), STEPPED)
@pytest.mark.parametrize("name", list(OPERATIONS))
def test_the_answer_is_that_of_single_steps(name, kind, directed, parts, policy, by_steps):
    graph, call = graph_of(kind, directed=directed, parts=parts, policy=policy), OPERATIONS[name]
    expected = whole(name, kind, directed)
    for engine in ("gas", "bsp"):
        settled = call(graph, engine=engine)
        pd.testing.assert_frame_equal(settled.compute(), expected)
        assert settled.report.options["local rounds"] == SETTLED
    stepped = call(graph, engine=ENGINE_VALUES[by_steps](local_rounds=1))
    pd.testing.assert_frame_equal(stepped.compute(), expected)
    assert stepped.report.options["local rounds"] == 1
    if name != "core numbers":
        pd.testing.assert_frame_equal(call(graph, engine="bulk_async").compute(), expected)


@pytest.mark.parametrize(("large", "many"), [(0, 0), (8, 1 << 40), (1 << 40, 20), (1 << 40, 1 << 40)])
def test_levels_deferred_to_the_next_round_change_no_answer(large, many, monkeypatch):
    monkeypatch.setattr(local_levels, "LARGE_LEVEL", large)
    monkeypatch.setattr(local_levels, "ROUND_EDGES", many)
    for (kind, directed, policy), (engine, target) in product(CASES_OF_PAUSES, WAYS_OF_PAUSES):
        graph = graph_of(kind, directed=directed, parts=3, policy=policy)
        for call in (dg.bfs, dg.sssp):  # the latter along edges of length 0
            found = call(graph, [3, 17], engine=engine, **target).compute()
            pd.testing.assert_frame_equal(found, call(graph_of(kind, directed=directed), [3, 17], **target).compute())


@pytest.mark.parametrize("limit", [1, 20])
def test_searches_that_pause_for_other_partitions_change_no_distance(limit, monkeypatch):
    monkeypatch.setattr(shortest_paths, "ROUND_EDGES", limit)
    for (kind, directed, policy), (engine, target) in product(CASES_OF_PAUSES, WAYS_OF_PAUSES):
        graph, whole = (graph_of(kind, directed=directed, **how) for how in ({"parts": 3, "policy": policy}, {}))
        for options in (target, {**target, "predecessors": False}):
            found = dg.sssp(graph, [3, 17], engine=engine, **options)
            pd.testing.assert_frame_equal(found.compute(), dg.sssp(whole, [3, 17], **options).compute())
            assert found.report.options["local rounds"] == SETTLED or engine == "bulk_async"


@pytest.mark.parametrize("policy", POLICY_NAMES)
@pytest.mark.parametrize("engine", ["gas", "bulk_async"])
def test_predecessors_come_with_the_distances(engine, policy):
    """Many paths are equally short, and their last edges lie on several partitions."""
    edges = dg.rmat(scale=8, seed=3, weights=(1, 3)).edges.compute()
    names = dict(zip(("source", "destination", "weight"), edges.columns, strict=True))
    whole, cut = (dg.Graph.from_edges(edges, **names, **options) for options in ({}, {"parts": 3, "policy": policy}))
    source = edges.iloc[0, 0]
    found = dg.sssp(cut, source, engine=engine)
    assert "predecessors" not in found.report.options  # by no other run
    pd.testing.assert_frame_equal(found.compute(), dg.sssp(whole, source).compute())


def test_small_partitions_do_not_wait_longer_than_their_work_takes(monkeypatch):
    """Round a circle one partition at a time has news, and hears of no other that has told something meanwhile."""
    monkeypatch.setattr(local_rounds, "SHORTEST_WAIT", 3600.0)
    circle = pd.DataFrame({"src": range(50), "dst": np.roll(range(50), -1)})
    graph = dg.Graph.from_edges(circle, parts=3, policy="outgoing")
    found, expected = (
        dg.pagerank(graph, personalization={3: 1}, tol=1e-9, engine=engine, max_iter=1000).compute()
        for engine in ("bulk_async", "gas")
    )
    pd.testing.assert_frame_equal(found, expected, rtol=1e-6, atol=1e-8)


WEIGHTS = {  # all in words; heard of by such; too long for a word after a while; and in none
    "whole": lambda rng, size: rng.integers(0, 9, size),
    "one half": lambda rng, size: np.where(np.arange(size) == 70, 0.5, rng.integers(0, 9, size)),
    "far": lambda rng, size: rng.integers(0, 2**31, size),
    "too far": lambda rng, size: rng.integers(0, 2**33, size),
}


@pytest.mark.parametrize("kind", list(WEIGHTS))
def test_packing_distances_with_predecessors_changes_no_answer(kind, monkeypatch):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.integers(0, 60, (180, 2)), columns=["src", "dst"])
    frame["weight"] = WEIGHTS[kind](rng, len(frame)).astype(float)
    whole = dg.Graph.from_edges(frame, weight="weight")
    expected = dg.sssp(whole, [3, 17], engine=dg.Gas(local_rounds=1)).compute()
    for limit, parts, engine in product((4, 1 << 20), (2, 3), ("gas", "bulk_async")):
        monkeypatch.setattr(shortest_paths, "ROUND_EDGES", limit)
        graph = dg.Graph.from_edges(frame, weight="weight", parts=parts, policy="cartesian" if parts == 3 else "auto")
        for predecessors in (True, False):
            found = dg.sssp(graph, [3, 17], engine=engine, predecessors=predecessors).compute()
            pd.testing.assert_frame_equal(found, expected[list(found.columns)])


@pytest.mark.parametrize("share", [1, 1 / 4])
def test_a_vertex_fires_again_if_its_predecessor_changes(share):
    """Where a path is found that is as short and then one that is shorter, in a round after the vertex had its turn."""
    edges = dg.grid(rows=400, cols=400, seed=2).edges.compute()
    names = dict(zip(("source", "destination", "weight"), edges.columns, strict=True))
    edges[names["weight"]] = edges[names["weight"]] * share
    whole, cut = (dg.Graph.from_edges(edges, **names, directed=False, parts=parts) for parts in (1, 2))
    source = edges.iloc[0, 0]
    pd.testing.assert_frame_equal(dg.sssp(cut, source).compute(), dg.sssp(whole, source).compute())


@pytest.mark.parametrize("name", ["wcc", "bfs", "sssp", "core numbers"])
def test_local_fixed_points_on_a_cluster_change_no_answer(name, client):
    graph = graph_of("random", parts=4, policy="cartesian", client=client)
    expected = OPERATIONS[name](graph_of("random")).compute()
    pd.testing.assert_frame_equal(OPERATIONS[name](graph).compute(), expected)


def test_long_paths_take_few_rounds():
    """As many as they cross from one partition to another."""
    frame = pd.DataFrame({"src": range(300), "dst": range(1, 301)})
    graph = dg.Graph.from_edges(frame, parts=3)
    assert dg.bfs(graph, 0, engine=dg.Gas(local_rounds=1)).rounds > 300
    assert dg.bfs(graph, 0).rounds < 8
    hops = dg.sssp(graph, 0, predecessors=False)
    assert hops.rounds < 8 and hops.compute()["distance"].tolist() == list(range(301))


def test_cores_of_a_grid_take_few_rounds():
    """Which fall along long ways."""
    graph = dg.grid(rows=60, cols=60, parts=4)
    assert dg.core_number(graph).rounds < 10 < dg.core_number(graph, engine=dg.Gas(local_rounds=1)).rounds


def test_programs_that_count_rounds_take_single_steps():
    graph = graph_of("random", parts=2)
    all_vertices = dg.Optimizations(active_only=False)
    for options in ({"max_rounds": 2}, {"deterministic": True}, {"optimizations": all_vertices}, {"direction": "push"}):
        assert dg.wcc(graph, engine=dg.Gas(**options)).report.options["local rounds"] == 1
    for engine in (dg.Gas, dg.Bsp):
        with pytest.raises(OptionError, match=r"local_rounds=3 is not available in dg\..*; dg.BulkAsync has it"):
            engine(local_rounds=3)
