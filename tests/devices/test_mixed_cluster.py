"""One run on CPU workers and GPU workers together; Numba simulates the GPU where there is none."""

import pandas as pd
import pytest

import dgraph as dg
from dgraph.cli.signatures import needed
from dgraph.cluster.calibration import speeds
from dgraph.cluster.shares import shares_of
from dgraph.errors import DeviceError
from dgraph.testing import mixed_cluster

ARGUMENTS = {  # a simulated GPU is slow, so that few rounds must do
    "cdlp": {"max_iter": 2},
    "hits": {"max_iter": 2, "tol": 0},
    "k_core": {"k": 2},
    "katz": {"alpha": 0.01, "tol": 1e-2},
    "label_propagation": {"max_iter": 2},
    "pagerank": {"max_iter": 2, "tol": 0},
    "scc": {"engine": "gas"},  # which never ends on one worker
}
BY_CPUS_ALONE = {  # some of which are no vertex programs
    *("betweenness", "closeness", "eccentricity", "fast_rp", "harmonic"),
    *("lcc", "leiden", "louvain", "triangles"),
}


@pytest.fixture(scope="module")
def mixed():
    with mixed_cluster() as client:
        yield client


@pytest.fixture(scope="module")
def graphs(mixed):
    """Halves of a graph; and one whose edges lead from one side to the other."""
    options = {"client": mixed, "capacities": [1, 1]}
    usual = dg.rmat(scale=4, edge_factor=2, seed=3, weights=(1, 9), **options)
    two_sides = dg.Graph.from_edges({"src": [0, 0, 1, 2, 3], "dst": [4, 5, 5, 6, 7]}, **options)
    return dict.fromkeys(("matching", "topological_generations"), two_sides), usual


@pytest.mark.parametrize("name", [name for name in dg.OPERATIONS if name not in BY_CPUS_ALONE])
def test_answers_are_those_of_a_cluster_of_cpus(name, graphs):
    special, usual = graphs
    graph = special.get(name, usual)
    operation = getattr(dg, name)
    given = {**dict.fromkeys(needed(operation), 1), **ARGUMENTS.get(name, {})}
    found, expected = operation(graph, **given), operation(graph, **given, device="cpu")
    assert found.report.groupby("partition")["device"].unique().explode().sort_values().tolist() == ["cpu", "cuda"]
    assert found.report.options["device"] == "cpu and cuda" and set(expected.report["device"]) == {"cpu"}
    pd.testing.assert_frame_equal(found.compute(), expected.compute(), rtol=1e-9)


def test_mixed_clusters_run_bulk_async_and_fall_back_to_cpus(graphs):
    _, graph = graphs
    found = dg.wcc(graph, engine="bulk_async")
    assert set(found.report["device"]) == {"cpu", "cuda"}
    for options in ({"engine": dg.Gas(deterministic=True)}, {"daemons": "own process"}):
        alone = dg.wcc(graph, **options)
        assert set(alone.report["device"]) == {"cpu"}
        pd.testing.assert_frame_equal(found.compute(), alone.compute())


def test_factors_are_those_of_a_cluster_of_cpus(mixed):
    graph = dg.ratings(users=200, items=100, ratings=6000, rank=2, seed=1, client=mixed, capacities=[1, 1])
    found, expected = (dg.factorize(graph, rank=2, epochs=2, device=device) for device in ("cuda", "cpu"))
    assert graph.num_parts == 2 and set(found.report["device"]) == {"cpu and cuda"}
    of_all = found.report[["edges in process", "edges cuda"]].sum(axis=1)
    assert of_all.tolist() == found.report["edges"].tolist() == expected.report["edges"].tolist()
    for column in ("rmse", "held_out"):
        assert found.report[column].tolist() == pytest.approx(expected.report[column].tolist(), rel=0.005)


def test_edges_are_split_by_measured_capacity(mixed):
    """A simulator is slower by far, so that it gets next to nothing."""
    graph = dg.rmat(scale=10, edge_factor=8, seed=1, client=mixed)
    (slow,), rates = graph.workers.capabilities.with_cuda, speeds(graph.workers)
    assert rates[slow] == min(rates.values()) < max(rates.values()) / 10
    assert shares_of(graph.workers, None, 2) == [rates[address] for address in graph.workers.addresses]
    sizes = dict(zip(graph.workers.addresses, graph.partitions.report.frame["edges"], strict=True))
    assert sizes[slow] < 0.2 * sum(sizes.values())
    assert dg.degrees(graph).compute()["out_degree"].sum() == graph.num_edges


def test_a_device_that_some_lack_is_one_error(graphs):
    _, graph = graphs
    with pytest.raises(
        DeviceError, match=r'device="cuda" is not available here: tcp://\S+ lacks a GPU .*device="auto"'
    ):
        dg.wcc(graph, device="cuda")
