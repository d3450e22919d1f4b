"""What partitions on GPUs tell each other stays on GPUs, if it is much, and whoever carries it can carry it so."""

import pandas as pd
import pytest
import ucxx_on_cpu
from distributed import Client, LocalCluster
from distributed.comm.registry import backends
from one_thread import OneThreadOfAGpu

import dgraph as dg
from dgraph.cluster.workers import Capabilities
from dgraph.devices import device_vertex_arrays
from dgraph.devices.device_memory import GpuMemory

RUNS = {
    "pagerank": lambda graph, **options: dg.pagerank(graph, max_iter=4, tol=0, **options),
    "pagerank by residuals": lambda graph, **options: dg.pagerank(graph, tol=1e-9, **options),
    "sssp": lambda graph, **options: dg.sssp(graph, 1, predecessors=False, **options),
    "bfs": lambda graph, **options: dg.bfs(graph, 1, **options),
    "wcc": dg.wcc,
    "core_number": dg.core_number,
    "cdlp": lambda graph, **options: dg.cdlp(graph, max_iter=3, **options),
}


@pytest.fixture(autouse=True)
def any_size(cupy, monkeypatch):
    monkeypatch.setattr(device_vertex_arrays, "LARGE_MAIL", 1)


@pytest.fixture(scope="module")
def by_ucxx():
    """A cluster in this process, with what the comms of all of it have carried from GPU to GPU."""
    backends["ucxx"] = backend = ucxx_on_cpu.Backend()
    options = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(protocol="ucxx", **options) as cluster, Client(cluster, set_as_default=False) as client:
        yield client, backend.comm.carried
    del backends["ucxx"]


def graph_on(client=None):
    where = {"parts": 2} if client is None else {"client": client, "capacities": [1, 1]}
    return dg.rmat(scale=8, edge_factor=8, seed=5, weights=(1, 9), policy="hybrid", **where)


def copied(run, graph, **options):
    """The result, and the bytes that went between host and device."""
    run(graph, **options)  # edges are brought, and stay
    before = OneThreadOfAGpu.memory.copied
    return run(graph, **options), OneThreadOfAGpu.memory.copied - before


def same(found, expected):
    pd.testing.assert_frame_equal(found.compute(), expected.compute(), rtol=1e-6)


@pytest.mark.parametrize("name", RUNS)
def test_gpu_messages_within_one_process_are_not_copied(name, monkeypatch):
    graph, run = graph_on(), RUNS[name]
    found, few = copied(run, graph, device="cuda")
    direct = found.report["direct"].sum()
    same(found, run(graph, device="cpu"))
    monkeypatch.setattr(device_vertex_arrays, "LARGE_MAIL", 1 << 60)
    usual, many = copied(run, graph, device="cuda")
    assert many - few >= 2 * direct - 8 * usual.report["messages"].sum() > 0 and not usual.report["direct"].any()


@pytest.mark.parametrize("engine", ["gas", "bulk_async"])
@pytest.mark.parametrize("name", ["pagerank", "sssp", "wcc"])
def test_gpu_messages_travel_directly_over_ucxx(name, engine, by_ucxx):
    client, carried = by_ucxx
    if (name, engine) == ("pagerank", "bulk_async"):
        name = "pagerank by residuals"
    graph, run, before = graph_on(client), RUNS[name], len(carried)
    found = run(graph, device="cuda", engine=engine)
    assert 0 < found.report["direct"].sum() <= sum(carried[before:])  # the last row is older than the last mail
    assert (found.report["direct"] <= found.report["bytes"]).all()
    same(found, run(graph, device="cpu", engine=engine))


def test_messages_to_a_cpu_worker_go_through_main_memory(by_ucxx, monkeypatch):
    client, _ = by_ucxx
    graph = graph_on(client)
    there = graph.workers.addresses[1]
    monkeypatch.setattr(Capabilities, "with_cuda", [there])
    found = RUNS["pagerank"](graph, device="cuda")
    told = found.report.groupby("partition")["direct"].sum()
    assert told[0] > 0 == told[1]  # of the one that sends to it, and of itself
    same(found, RUNS["pagerank"](graph, device="cpu"))


def test_messages_go_through_main_memory_where_the_host_chooses_receivers():
    graph = graph_on()
    found = RUNS["pagerank"](graph, device="cuda", engine=dg.Gas(optimizations=dg.Optimizations(changed_only=False)))
    assert not found.report["direct"].any()
    same(found, RUNS["pagerank"](graph, device="cpu"))


def test_small_messages_and_those_without_gpu_memory_go_through_main_memory(monkeypatch):
    memory = GpuMemory()
    arrays = device_vertex_arrays.DeviceVertexArrays(memory, {}, None, None)
    memory.budget = memory.used + 1000
    assert arrays.mail_buffer(600).nbytes == arrays.direct == 600
    monkeypatch.setattr(device_vertex_arrays, "LARGE_MAIL", 600)
    room = arrays.mail_buffer(600)
    assert room is not None and arrays.mail_buffer(599) is None
    assert arrays.mail_buffer(601) is None and arrays.direct == 1200
