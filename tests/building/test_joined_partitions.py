"""Operations on very many partitions run on one for each worker."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dgraph as dg
from dgraph.building import input_edges
from dgraph.cluster.workers import Workers
from dgraph.errors import OptionError
from dgraph.partition.policies import PartitionOptions, in_fewer_parts, still_suits

JOINED = "partitions joined"


class Doubled(dg.VertexProgram):
    """Reads a vertex column."""

    kind = "synchronous"
    twice = dg.State("float64")
    one = dg.Message("int64", dg.SUM)
    rank = dg.VertexColumn("float64")

    def send():
        return 1

    def apply(rank):
        return 2 * rank

    def stop(round):
        return round == 1


def by_parity(ids, parts):
    return ids % parts


def test_answers_and_reports():
    edges = dg.rmat(scale=8, edge_factor=6, seed=3, weights=(1, 9)).edges.compute()
    one, many = (
        dg.Graph.from_edges(edges, source="source", destination="destination", weight="weight", parts=parts)
        for parts in (1, 16)
    )
    source = int(edges["source"][0])
    calls = {
        "pagerank": {},
        "wcc": {},
        "triangles": {},
        "core_number": {},
        "sssp": {"source": source},
        "closeness": {},
        "betweenness": {"engine": "local"},
        "cdlp": {},
    }
    for name, options in calls.items():
        expected, found = (getattr(dg, name)(graph, **options) for graph in (one, many))
        assert found.report.options[JOINED] == "16 to 1"
        assert JOINED not in expected.report.options
        assert found.compute().equals(expected.compute()), name
    assert dg.pagerank(many, engine="bulk_async").report.options[JOINED] == "16 to 1"
    assert dg.pagerank(graph=many).report.options[JOINED] == "16 to 1"
    assert len(many.partitions) == many.num_parts == 16
    assert dg.modularity(many, dg.wcc(many)) == pytest.approx(dg.modularity(one, dg.wcc(one)))


def test_columns_of_results_stay_where_they_are():
    graph = dg.rmat(scale=6, seed=1, parts=9)
    ranks = dg.pagerank(graph)
    assert ranks.column("pagerank").is_beside(graph.in_runs)
    found = dg.run(graph, Doubled(), columns={"rank": ranks.column("pagerank")})
    np.testing.assert_array_equal(found.by_number("twice"), 2 * ranks.by_number("pagerank"))


def test_saved_graphs_are_joined(tmp_path):
    graph = dg.rmat(scale=7, seed=1, parts=12)
    graph.save(tmp_path / "graph")
    opened = dg.open_graph(tmp_path / "graph")
    assert opened.num_parts == 12
    found = dg.wcc(opened)
    assert found.report.options[JOINED] == "12 to 1"
    assert found.compute().equals(dg.wcc(graph).compute())


def test_few_partitions_and_those_beyond_memory_stay(monkeypatch):
    assert (few := dg.rmat(scale=5, seed=1, parts=7)).in_runs is few
    many = dg.rmat(scale=5, seed=1, parts=8)
    monkeypatch.setattr(input_edges, "BYTES_TO_SORT", 1 << 50)
    assert many.in_runs is many
    assert JOINED not in dg.wcc(many).report.options
    monkeypatch.undo()
    assert many.in_runs.num_parts == 1


def test_one_partition_for_each_worker():
    assert in_fewer_parts(PartitionOptions(parts=64), 2) == PartitionOptions("auto", 2)
    assert in_fewer_parts(PartitionOptions("incoming", 64, "measure"), 16) == PartitionOptions(
        "incoming", 16, "measure"
    )
    assert in_fewer_parts(PartitionOptions("cartesian", 64), 16) == PartitionOptions("auto", 16)
    assert in_fewer_parts(PartitionOptions(parts=64), 17) is None
    assert in_fewer_parts(PartitionOptions(), 2) is None
    for own in ({"policy": "metis"}, {"policy": by_parity}, {"capacities": [1.0] * 8}):
        assert in_fewer_parts(PartitionOptions(parts=8, **own), 2) is None
        assert in_fewer_parts(PartitionOptions(parts=8, **own), 1) == PartitionOptions(parts=1)


def test_workers_that_come_and_go(monkeypatch):
    assert [parts for parts in range(1, 20) if still_suits(parts, 4)] == [3, 4, 8, 12, 16]
    workers = 1
    monkeypatch.setattr(Workers, "number", property(lambda self: workers))
    graph = dg.rmat(scale=5, seed=1, parts=40)
    first = dg.wcc(graph)
    assert graph.in_runs.num_parts == 1
    before, workers = graph.in_runs, 3
    assert graph.in_runs.num_parts == 3 and before.built is None
    assert first.column("component").by_number().size == 32  # of a graph that is still known
    workers = 4
    assert graph.in_runs.num_parts == 3
    three, workers = graph.in_runs, 20
    assert three.partitions and graph.in_runs is graph and three.built is None
    assert three.in_runs is three


def test_threads_that_ask_at_the_same_time_get_the_same_graph():
    for _ in range(20):
        graph = dg.rmat(scale=3, seed=1, parts=16)
        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(lambda graph: graph.in_runs, [graph] * 8))) == 1


def test_frames_of_edges_list_them_as_the_graph_does():
    graph = dg.rmat(scale=7, edge_factor=3, seed=1, directed=False, parts=16, policy="cartesian")
    ends = graph.edges.compute()[["source", "destination"]].to_numpy()
    for frame in (dg.truss_number(graph), dg.betweenness(graph, edges=True)):
        np.testing.assert_array_equal(frame.compute()[["source", "destination"]].to_numpy(), ends)


def test_results_of_other_partitions_are_combined():
    graph = dg.rmat(scale=6, seed=1, parts=9)
    joined = dg.pagerank(graph)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("dgraph.partition.policies.VERY_MANY", 100)
        apart = dg.pagerank(graph, max_iter=1, tol=0)
    for one, other in ((joined, apart), (apart, joined)):
        both = one.map(lambda numbers, mine, theirs: (numbers, {"sum": mine["pagerank"] + theirs["pagerank"]}), other)
        expected = one.by_number("pagerank") + other.by_number("pagerank")
        np.testing.assert_array_equal(both.by_number("sum"), expected)


def test_what_names_partitions_is_left_alone():
    graph = dg.rmat(scale=6, seed=1, parts=8)
    found = dg.pagerank(graph, daemons=dg.Daemons({1: "in process"}))
    assert JOINED not in found.report.options
    with pytest.raises(OptionError, match="the program has no solver"):
        dg.eigenvector(graph, engine="local")
    assert dg.core_number(graph, engine="gas").report.options[JOINED] == "8 to 1"


def test_limits_of_a_partition_and_of_memory_hold(monkeypatch):
    graph = dg.rmat(scale=6, seed=1, parts=8)
    monkeypatch.setattr(input_edges, "MOST_LOCAL_IDS", 40)
    assert graph.in_runs is graph
    monkeypatch.undo()
    limited = dg.rmat(scale=6, seed=1, parts=8, memory="2 GiB")
    monkeypatch.setattr(input_edges, "BYTES_TO_SORT", 3 << 20)  # of 1,024 edges, less than the machine has
    assert limited.in_runs is limited


def test_on_workers(client):
    frame = dg.rmat(scale=8, edge_factor=6, seed=3, client=client).edges.compute()
    ends = {"source": "source", "destination": "destination"}
    one = dg.Graph.from_edges(frame, **ends)
    graph = dg.Graph.from_edges(frame, **ends, client=client, parts=16)
    ranks = dg.pagerank(graph)
    assert ranks.report.options[JOINED] == f"16 to {len(client.nthreads())}"
    np.testing.assert_allclose(ranks.by_number("pagerank"), dg.pagerank(one).by_number("pagerank"), atol=1e-6)
    assert ranks.column("pagerank").is_beside(graph.in_runs)
    assert dg.triangles(graph).totals == dg.triangles(one).totals
    assert len(graph.partitions) == 16
