"""Components: the local solver, the engines and SciPy agree; and what one partition of several can tell by itself."""

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

import dgraph as dg
from dgraph.engines.local_methods.contraction import ContractState
from dgraph.partition.policies import POLICY_NAMES
from dgraph.solvers.subgraphs import components
from dgraph.solvers.subgraphs.components import local_components
from dgraph.tables.edge_tables import EdgeTables
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import verify
from dgraph.vertex_state.partition_state import PartitionState

pytestmark = pytest.mark.usefixtures("several_threads")


class Stopped(Exception):
    """As if the machine went away."""


def smallest(rows, others, n):
    """The smallest of each one's component, by SciPy."""
    arcs = csr_matrix((np.ones(len(rows), np.int8), (rows, others)), (n, n))
    count, label = connected_components(arcs, connection="weak")
    first = np.full(count, n)
    np.minimum.at(first, label, np.arange(n))
    return first[label]


def expected(partition):
    table = partition.out if partition.out is not None else partition.incoming
    return smallest(table.rows(), table.neighbours, partition.num_local)


@pytest.mark.parametrize("threads", [1, 3])
@settings(max_examples=20)
@given(drawn=small_graphs(weights=None, max_vertices=12), grain=st.integers(1, 3), long=st.sampled_from([0, 8]))
def test_components_within_each_partition_are_found(threads, drawn, grain, long):
    frame, options = drawn
    for parts, policy in ((1, "outgoing"), (2, "outgoing"), (3, "cartesian"), (2, "hybrid")):
        graph = dg.Graph.from_edges(frame, parts=parts, policy=policy, **options)
        for orders in (("out",), ("incoming",), ("out", "incoming")):
            for partition in graph.partitioned(orders).held:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(components, "GRAIN", grain)
                    patch.setattr(components, "LONG_ROWS", long)
                    found, _ = local_components(EdgeTables(partition, graph.directed, {}, threads))
                assert found.tolist() == expected(partition).tolist()


def test_most_edges_are_skipped_even_if_internal_edges_come_first():
    """The first edges of vertices join none of them, so edges from the ends of rows come next; the rest is not looked
    at."""
    rng = np.random.default_rng(1)
    u, a = np.repeat(np.arange(20_000), 8), np.arange(20_000)
    v, b = u // 50 * 50 + rng.integers(0, 50, len(u)), rng.integers(0, 20_000, (2, len(a)))
    rows, others = np.concatenate([u, a, a]), np.concatenate([v, *b])
    graph = dg.Graph.from_edges({"src": rows, "dst": others}, directed=False, parts=1)
    (partition,) = graph.partitioned(("out",)).held
    found, looked = local_components(EdgeTables(partition, False, {}, 1))
    assert found.tolist() == smallest(rows, others, 20_000).tolist()
    assert looked < partition.num_edges / 4


@pytest.mark.parametrize("parts", [1, 2, 3, 8])
@settings(max_examples=25)
@given(drawn=small_graphs(weights=None, max_vertices=12), policy=st.sampled_from(POLICY_NAMES))
def test_engines_agree(parts, drawn, policy):
    frame, options = drawn
    graph = dg.Graph.from_edges(frame, parts=parts, policy=policy, **options)
    ids = graph.vertices.compute()["id"].sort_values().tolist()
    number = {vertex: i for i, vertex in enumerate(ids)}
    rows, others = ([number[one] for one in frame[end]] for end in ("src", "dst"))
    component = [ids[one] for one in smallest(rows, others, len(ids))]
    for engine in ("bsp", "gas", "local" if parts == 1 else "bulk_async"):
        assert dg.wcc(graph, engine=engine).compute()["component"].tolist() == component, engine


@pytest.mark.parametrize("parts", [2, 3, 8])
@pytest.mark.parametrize("engine", ["bsp", "gas", "bulk_async"])
def test_components_need_no_more_exchanges_than_partitions_require(engine, parts):
    """Each edge of the path is likely to lead to another partition."""
    order = np.random.default_rng(parts).permutation(3000)
    cut = order[1234]
    frame = pd.DataFrame({"src": order[:-1], "dst": order[1:]})[order[1:] != cut]
    before = np.isin(np.arange(3000), order[:1234])
    found = dg.wcc(dg.Graph.from_edges(frame, parts=parts), engine=engine)
    expected = np.where(before, order[:1234].min(), order[1234:].min())
    assert found.compute()["component"].tolist() == expected.tolist()
    if engine != "bulk_async":
        assert found.report.groupby("superstep")["exchanges"].max().sum() == (1 if parts == 2 else 3)


STEPS = {"engine": dg.Gas(local_rounds=1)}


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("ways", [({}, STEPS), (STEPS, {})])
def test_checkpoints_resume_between_single_steps_and_local_fixed_points(tmp_path, monkeypatch, ways, parts):
    """Who goes on from it by single steps, or from single steps, finds the same."""
    order = np.random.default_rng(1).permutation(40)
    graph = dg.Graph.from_edges(pd.DataFrame({"src": order[:-1], "dst": order[1:]}), parts=parts)
    option = dg.Checkpoint(tmp_path, every=1)

    def stop(*given):
        until = time.monotonic() + 10
        while len(list(tmp_path.glob("*/*/*.piece"))) < parts and time.monotonic() < until:
            time.sleep(0.001)
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(ContractState, "hear", lambda state, *given: stop() if state.awaited else None)
        patch.setattr(PartitionState, "receive", lambda state, *given: stop() if state.values["round"] else None)
        with pytest.raises(Stopped):
            dg.wcc(graph, checkpoint=option, **ways[0])
    found = dg.wcc(graph, checkpoint=option, **ways[1])
    assert found.report["superstep"].min() == 2, "it went on"
    assert found.compute()["component"].eq(0).all()


@pytest.mark.parametrize("edge_factor", [1, 16])
@pytest.mark.parametrize("directed", [True, False])
def test_components_of_a_large_graph_are_right_on_any_number_of_threads(directed, edge_factor):
    """Races hide in small ones; and with few edges there are many components."""
    graph = dg.rmat(scale=18 if directed else 17, edge_factor=edge_factor, directed=directed)
    (partition,) = graph.partitioned(("out", "incoming") if directed else ("out",)).held
    component = expected(partition)
    for threads in (2, 3, 2, 1):
        found, edges = local_components(EdgeTables(partition, directed, {}, threads))
        assert np.array_equal(found, component)
        assert edges < partition.out.num_edges or edge_factor == 1
    assert np.array_equal(dg.wcc(graph).compute()["component"], component)


def test_most_edges_are_passed_over_where_vertices_have_edges_in_one_order_only():
    """As in a bipartite graph: one sampled edge of each vertex would leave many components, and all edges to link."""
    rng = np.random.default_rng(5)
    users, items = rng.integers(0, 2000, 40_000), 2000 + (400 * rng.random(40_000) ** 3).astype(int)
    for source, destination in ((users, items), (items, users)):
        graph = dg.Graph.from_edges(pd.DataFrame({"src": source, "dst": destination}))
        found = dg.wcc(graph)
        assert found.report["edges"].sum() < 20_000
        verify("wcc", graph, found)
