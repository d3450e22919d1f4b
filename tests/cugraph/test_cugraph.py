"""Operations handed to cuGraph: the same answers as ours, from a stand-in that is as strict as the real one."""

import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import raft_on_cpu
from distributed import Client, LocalCluster

import dgraph as dg
from dgraph.cugraph.operations import OPERATIONS
from dgraph.errors import (
    ColumnError,
    DeviceError,
    OptionError,
    RunError,
    UnsettledWarning,
    UnweightedWarning,
    WeightError,
)

CASES = {
    "pagerank": [{"tol": 1e-12}, {"tol": 0, "max_iter": 7}, {"personalization": {"b": 2, "d": 1}, "weighted": True}],
    "katz": [{"alpha": 0.05, "tol": 1e-13}, {"alpha": 0.01, "weighted": True, "normalized": False, "tol": 1e-13}],
    "hits": [{"tol": 1e-13, "max_iter": 5000}],
    "bfs": [{"source": "a"}, {"source": ["a", "d"], "depth_limit": 1}, {"source": "a", "depth_limit": 0}],
    "sssp": [{"source": "a"}, {"source": "b", "predecessors": False}],
    "wcc": [{}],
    "core_number": [{}],
    "k_core": [{}, {"k": 2}],
    "triangles": [{}],
    "degrees": [{}],
}


def graph_of(directed, **options):
    """Loops, repeats in both directions, an isolated vertex, two components."""
    ends = ["ab", "ab", "ba", "bc", "ca", "cd", "dd", "be", "ed", "xy", "yx", "ce", "ea"]
    frame = pd.DataFrame({"src": [e[0] for e in ends], "dst": [e[1] for e in ends]})
    frame["weight"] = np.arange(1, len(ends) + 1) / 4
    vertices = pd.DataFrame({"id": ["alone"]})
    return dg.Graph.from_edges(frame, weight="weight", directed=directed, vertices=vertices, **options)


def test_every_operation_has_a_case():
    assert CASES.keys() == OPERATIONS.keys()


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_cugraph_answers_equal_ours(name, directed, cugraph):
    operation, graph = getattr(dg, name), graph_of(directed, parts=2)
    for options in CASES[name]:
        found, expected = operation(graph, engine="cugraph", **options), operation(graph, device="cpu", **options)
        pd.testing.assert_frame_equal(found.compute(), expected.compute(), rtol=1e-7, atol=1e-9)
        assert found.report.options["engine"] == "cugraph" and found.report["device"].tolist() == ["cuda"]
    if name == "triangles":
        assert found.totals["triangles"] == expected.totals["triangles"] > 0


def test_hits_of_a_graph_whose_edges_are_all_dropped_equals_the_cpu_answer(cugraph):
    graph = dg.Graph.from_edges({"src": [1, 2], "dst": [1, 2]}, loops="drop")
    found, expected = dg.hits(graph, engine="cugraph").compute(), dg.hits(graph, device="cpu").compute()
    pd.testing.assert_frame_equal(found, expected)


def test_rules_for_loops_and_repeats_hold_with_cugraph(cugraph):
    graph = graph_of(True, loops="drop", repeats="first")
    found = dg.degrees(graph, engine="cugraph").compute()
    pd.testing.assert_frame_equal(found, dg.degrees(graph, device="cpu").compute())


@pytest.mark.parametrize("where", [{"engine": "cugraph"}, {"device": "cpu"}], ids=str)
def test_unconverged_ranks_give_a_warning(where, cugraph):
    with pytest.warns(UnsettledWarning, match=r"max_iter=3 iterations: .*tol=1e-06") as told:
        dg.pagerank(graph_of(True), max_iter=3, **where)
    assert [one.filename for one in told] == [__file__]


def test_missing_weights_give_the_same_messages_as_other_engines(cugraph):
    graph = dg.Graph.from_edges({"src": [1, 2], "dst": [2, 3], "km": [5.0, 7.0]})
    with pytest.warns(UnweightedWarning, match="its column 'km' is numeric: .*weight='km'") as told:
        dg.sssp(graph, 1, engine="cugraph")
    assert [one.filename for one in told] == [__file__]
    with pytest.raises(ColumnError, match=r"pagerank needs weights, .* its column 'km' is numeric"):
        dg.pagerank(graph, weighted=True, engine="cugraph")


def test_a_run_on_a_cluster_uses_one_gpu_and_gives_the_cpu_answer(cugraph):
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        graph = graph_of(True, client=client)
        found, expected = dg.wcc(graph, engine="cugraph"), dg.wcc(graph, device="cpu")
        pd.testing.assert_frame_equal(found.compute(), expected.compute())
        labels = {"column": found.column("component").by_number().tolist()}
        assert labels["column"] == expected.column("component").by_number().tolist()


@pytest.fixture(scope="module")
def workers():
    with (
        LocalCluster(n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def graphs(workers):
    return {directed: graph_of(directed, client=workers) for directed in (True, False)}


@pytest.mark.parametrize(
    ("name", "directed"), [*((name, True) for name in CASES), ("pagerank", False), ("sssp", False), ("wcc", False)]
)
def test_several_gpus_together_give_the_cpu_answer(name, directed, cugraph_team, graphs):
    operation, graph = getattr(dg, name), graphs[directed]
    for options in CASES[name][-2:]:
        before = set(raft_on_cpu.teams)
        found, expected = operation(graph, engine="cugraph", **options), operation(graph, device="cpu", **options)
        pd.testing.assert_frame_equal(found.compute(), expected.compute(), rtol=1e-7, atol=1e-9)
        assert found.report.options["repartitioned"] == "to 3 GPUs"
        assert set(raft_on_cpu.teams) <= before  # it was ended


def test_one_partition_uses_one_gpu(cugraph_team, workers):
    found = dg.wcc(graph_of(True, client=workers, parts=1), engine="cugraph")
    assert found.report.options["repartitioned"] == "to 1 GPU" and len(found.compute()) == 8


@pytest.mark.parametrize("how", ["a negative weight", "an error of cuGraph"])
def test_a_failure_on_several_gpus_ends_the_run(how, cugraph_team, workers, monkeypatch):
    edges = {"src": [0, 1, 2], "dst": [1, 2, 0], "weight": [1.0, -2.0 if how == "a negative weight" else 2.0, 3.0]}
    graph = dg.Graph.from_edges(edges, weight="weight", client=workers)
    monkeypatch.setattr(sys.modules["pylibcugraph"], "sssp", lambda *_, **__: 1 / 0)
    with pytest.raises((WeightError, RunError), match=r"below zero|could not finish sssp"):
        dg.sssp(graph, 0, engine="cugraph")


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda graph, **how: dg.bfs(graph, "a", target="b", **how), OptionError, "target='b' is not available with"),
        (
            lambda graph, **how: dg.wcc(graph, device="cpu", **how),
            OptionError,
            "'cugraph' and device='cpu' are mutually",
        ),
        (
            lambda graph, **how: dg.wcc(graph, checkpoint="x", **how),
            OptionError,
            r"'cugraph' and checkpoint=.* mutually",
        ),
        (lambda graph, **how: dg.wcc(graph, daemons="cuda", **how), OptionError, r"'cugraph' and daemons=.* mutually"),
        (lambda graph, **how: dg.wcc(graph, progress=True, **how), OptionError, "progress=True is not available with"),
        (
            lambda graph, **how: dg.triangles(graph, device=dg.Cuda(memory=8), **how),
            OptionError,
            r"device=dg\.Cuda\(memory=8\) is not available with",
        ),
        (lambda graph, **how: dg.sssp(graph, ["a", "b"], **how), OptionError, "takes one"),
        (lambda graph, **how: dg.hits(graph, tol=0, **how), OptionError, r"tol=0 must be > 0"),
        (lambda graph, **how: dg.pagerank(graph, alpha=2, **how), OptionError, "alpha=2"),
        (lambda graph, **how: dg.cdlp(graph, **how), OptionError, "supports only pagerank"),
        (lambda graph, **how: dg.katz(graph, alpha=0.9, **how), RunError, "failed to converge"),
        (lambda graph, **how: dg.pagerank(graph_of_infinite_weight(), weighted=True, **how), WeightError, "finite"),
    ],
)
def test_what_cugraph_cannot_do_is_an_error(call, error, says, cugraph):
    with pytest.raises(error, match=says):
        call(graph_of(True), engine="cugraph")


def graph_of_infinite_weight():
    return dg.Graph.from_edges({"src": [0], "dst": [1], "weight": [np.inf]}, weight="weight")


@pytest.mark.skipif(find_spec("pylibcugraph") is not None, reason="nothing of it is missing")
def test_one_error_lists_every_missing_requirement(client):
    lacks = r"lacks? a GPU that .* and the package pylibcugraph .*cupy.*Install dask-dgraph\[cugraph12\]"
    with pytest.raises(DeviceError, match=f"engine='cugraph' is not available here: this process {lacks}"):
        dg.wcc(graph_of(True), engine="cugraph")
    with pytest.raises(DeviceError, match=rf"tcp://\S+, tcp://\S+ {lacks}"):
        dg.wcc(graph_of(True, client=client), engine="cugraph")
