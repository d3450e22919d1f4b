"""The same answers from the workers of a Dask cluster, and what a run leaves behind: nothing."""

import _thread
import threading

import pandas as pd
import pytest
from cases import PROGRAMS, check, graph_for
from distributed import Client, LocalCluster

import dgraph as dg
from dgraph.cluster.workers import threads_of_worker
from dgraph.errors import SumError
from dgraph.native.threads import cores

CASES = [
    *((name, "gas", 2, "outgoing") for name in PROGRAMS),
    *((name, "bsp", 2, "incoming") for name in ("PageRank", "ShortestPaths", "Matching", "Components")),
    ("PageRank", "bsp", 3, "cartesian"),
    ("ShortestPaths", "gas", 8, "hybrid"),
    ("Components", "bsp", 3, "metis"),
]


@pytest.mark.parametrize(("name", "engine", "parts", "policy"), CASES)
def test_runs_on_a_cluster_match_the_reference(client, name, engine, parts, policy):
    graph = graph_for(name, parts=parts, policy=policy, client=client)
    check(name, True, dg.run(graph, PROGRAMS[name], engine=engine, random_seed=11))


def test_kernels_take_the_threads_of_their_worker(client):
    assert client.submit(threads_of_worker, pure=False).result() == 1
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as other,
    ):
        assert other.submit(threads_of_worker, pure=False).result() == min(2, cores())
        for name in ("PageRank", "Components"):
            check(name, True, dg.run(graph_for(name, parts=2, client=other), PROGRAMS[name]))
        workers = graph_for("PageRank", parts=1, client=other).workers  # whose partitions are built by all of them, too
        assert [workers.threads_each(tasks) for tasks in (1, 2, 3)] == [2, 1, 1]
        check(
            "PageRank", True, dg.run(graph_for("PageRank", parts=1, client=other), PROGRAMS["PageRank"], engine="bsp")
        )


class Load(dg.VertexProgram):
    kind = "synchronous"
    load = dg.State(int)
    merge = dg.SUM

    def send(weight):
        return weight

    def apply(message):
        return message

    def stop(round):
        return round == 1


@pytest.mark.parametrize("policy", ["outgoing", "incoming"])
def test_a_sum_that_does_not_fit_is_named_by_its_vertex(client, policy):
    edges = {"src": ["b", "c", "d"], "dst": ["a", "a", "c"], "weight": [5 * 10**18, 5 * 10**18, 1]}
    graph = dg.Graph.from_edges(edges, parts=2, policy=policy, client=client)
    with pytest.raises(SumError, match="Load: the sum of the messages to vertex 'a' does not fit"):
        dg.run(graph, Load())


def test_two_runs_at_once_do_not_disturb_each_other(client):
    graphs = {name: graph_for(name, parts=3, policy="cartesian", client=client) for name in ("PageRank", "Components")}
    results = {}
    threads = [
        threading.Thread(target=lambda n=name, g=graph: results.update({n: dg.run(g, PROGRAMS[n])}))
        for name, graph in graphs.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for name, result in results.items():
        check(name, True, result)
    assert len(results) == 2


class Endless(dg.VertexProgram):
    """Never says stop."""

    kind = "synchronous"
    steps = dg.State(int)
    merge = dg.SUM

    def send(steps):
        return steps

    def apply(steps, message):
        return steps + 1

    def stop(round):
        return round < 0


@pytest.mark.filterwarnings("ignore::dgraph.errors.EndlessWarning")  # a fast machine gets so far before the interrupt
@pytest.mark.parametrize("place", ["threads", "cluster"])
def test_ctrl_c_stops_a_run(client, place):
    graph = graph_for("PageRank", parts=2, client=client if place == "cluster" else None)
    dg.run(graph, Endless(), max_rounds=3)
    timer = threading.Timer(0.7, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            dg.run(graph, Endless())
    finally:
        timer.cancel()  # so that the interrupt never reaches pytest
    check("PageRank", True, dg.run(graph, PROGRAMS["PageRank"]))


def test_the_lazy_frame_of_a_result_equals_the_computed_frame(client):
    result = dg.run(graph_for("Components", parts=2, client=client), PROGRAMS["Components"])
    frame = result.frame
    assert frame.npartitions == 2 and list(frame.columns) == ["vertex", "component"]
    here = client.compute(frame).result().sort_values("vertex", ignore_index=True)
    pd.testing.assert_frame_equal(here, result.compute())
