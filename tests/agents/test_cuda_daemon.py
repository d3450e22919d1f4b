"""A GPU as a daemon of a CPU worker: in its process, where one thread of a CPU stands in for it, and in its own."""

import draws
import pandas as pd
import pytest

import dgraph as dg
from dgraph.agents.agent import close_agent
from dgraph.devices import probe
from dgraph.errors import DeviceError

GRAPH = dg.rmat(scale=9, edge_factor=8, seed=5, weights=(1, 9), parts=2)
SOURCE = int(dg.degrees(GRAPH).compute().set_index("vertex")["out_degree"].idxmax())
OPERATIONS = {
    "bfs": lambda **options: dg.bfs(GRAPH, SOURCE, **options),
    "sssp": lambda **options: dg.sssp(GRAPH, SOURCE, **options),
    "pagerank": lambda **options: dg.pagerank(GRAPH, max_iter=4, tol=0, **options),
    "cdlp": lambda **options: dg.cdlp(GRAPH, max_iter=3, **options),
    "draws": lambda **options: dg.run(GRAPH, draws.Cascade(), **options),
}


@pytest.fixture(autouse=True)
def no_daemon_stays():
    yield
    for worker in ("thread 0", "thread 1"):
        close_agent(worker)


@pytest.mark.parametrize("daemons", ["cuda", ["cuda", "in process"]])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_gpu_daemon_in_the_worker_process_gives_the_cpu_answer(name, daemons, one_thread):
    found = OPERATIONS[name](daemons=dg.Daemons(daemons, block=1000))
    assert set(found.report["device"]) == {"cuda" if daemons == "cuda" else "cpu and cuda"}
    assert found.report["blocks"].sum() > 2
    pd.testing.assert_frame_equal(found.compute(), OPERATIONS[name](device="cpu").compute(), rtol=1e-9)


@pytest.mark.parametrize("name", ["sssp", "pagerank"])
def test_a_gpu_daemon_takes_blocks_of_vertices_beside_the_cpu(name, one_thread):
    engine = dg.BlockDescent(mode="barrier", block_size=16)
    runs = {**OPERATIONS, "pagerank": lambda **options: dg.pagerank(GRAPH, tol=1e-12, **options)}
    found = runs[name](device="cuda", engine=engine)
    assert found.report.options["device"] == "cpu and cuda"
    assert found.report[["blocks in process", "blocks cuda"]].sum().min() > 0
    expected = runs[name](device="cpu").compute()
    pd.testing.assert_frame_equal(found.compute(), expected, rtol=1e-6)


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_a_gpu_daemon_in_its_own_process_gives_the_cpu_answer(direction, monkeypatch):
    monkeypatch.setenv(probe.SIMULATOR, "1")  # read where Numba is imported: only there
    small = dg.rmat(scale=5, edge_factor=4, seed=5)
    daemons = dg.Daemons("cuda own process", block=64)
    found = dg.wcc(small, daemons=daemons, engine=dg.Gas(direction=direction))
    assert set(found.report["device"]) == {"cuda"} and found.report["blocks"].sum() > 1
    expected = dg.wcc(small, device="cpu").compute()
    pd.testing.assert_frame_equal(found.compute(), expected)
    found = dg.wcc(small, daemons="cuda own process", engine=dg.BlockDescent(operator=direction, block_size=4))
    assert found.report["blocks cuda own process"].sum() == found.report["blocks"].sum() > 1
    pd.testing.assert_frame_equal(found.compute(), expected)


@pytest.mark.skipif(bool(probe.gpus()), reason="there is a GPU here")
@pytest.mark.parametrize("daemons", ["cuda", "cuda own process"])
def test_a_gpu_daemon_without_a_gpu_is_an_error(daemons):
    with pytest.raises(DeviceError, match="a GPU that the CUDA driver"):
        dg.wcc(GRAPH, daemons=daemons)
