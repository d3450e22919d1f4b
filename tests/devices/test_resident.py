"""Arrays of vertices stay on the device: what crosses to the host and back is counted, on a device that is none."""

import numpy as np
import pytest
from one_thread import MEMORY, OneThread

import dgraph as dg
from dgraph.devices.device_memory import Memory
from dgraph.devices.device_vertex_arrays import DeviceCounters
from dgraph.errors import DeviceError, OptionError

pytestmark = pytest.mark.usefixtures("one_thread")
GRAPH = dg.rmat(scale=10, edge_factor=8, seed=5, weights=(1, 9))
PATH = dg.Graph.from_edges({"src": np.arange(60), "dst": np.arange(1, 61)})
RUNS = {
    "sssp": lambda rounds, **how: dg.sssp(PATH, 0, predecessors=False, **on_gpu(max_rounds=rounds, **how)),
    "bfs": lambda rounds, **how: dg.bfs(PATH, 0, **on_gpu(max_rounds=rounds, **how)),
    "wcc": lambda rounds, **how: dg.wcc(PATH, **on_gpu(max_rounds=rounds, **how)),
    "pagerank": lambda rounds, **how: dg.pagerank(GRAPH, max_iter=rounds, tol=0, **on_gpu(**how)),
    "cdlp": lambda rounds, **how: dg.cdlp(GRAPH, max_iter=rounds, **on_gpu(**how)),
}


def on_gpu(**how):
    return {"device": "cuda", "engine": dg.Gas(**how)}


def crossed(run, rounds: int) -> np.ndarray:
    """Bytes, and how often."""
    before = np.array([MEMORY.copied, MEMORY.copies])
    assert run(rounds).rounds == rounds
    return np.array([MEMORY.copied, MEMORY.copies]) - before


@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("name", RUNS)
def test_a_superstep_copies_a_few_numbers(name, direction):
    def run(rounds):
        return RUNS[name](rounds, direction=direction)

    run(2)  # edges are brought, and stay
    bytes, copies = crossed(run, 14) - crossed(run, 4)
    assert 0 < copies <= 10 * (2 if direction == "push" else 3)  # the last is the best message of the round
    assert bytes <= 64 * copies


@pytest.mark.parametrize("directed", [True, False])
def test_edges_of_a_hub_are_shared_by_several_warps(directed, monkeypatch):
    launches, launch = [], OneThread.launch

    def counted(self, name, blocks, arguments):
        if name == "push":
            launches.append(int(arguments[1]))
        launch(self, name, blocks, arguments)

    monkeypatch.setattr(OneThread, "launch", counted)
    ends = np.arange(1, 10_001)
    star = dg.Graph.from_edges({"src": np.zeros(len(ends), int), "dst": ends}, directed=directed)
    found = dg.wcc(star, device="cuda", engine=dg.Gas(direction="push"))
    sides = 2 if directed else 1  # tables: a component's messages go both ways
    assert launches[: 1 + sides] == [10_001, 4, 10_001][: 1 + sides]  # 10,000 edges: what is for a warp, four times
    assert (found.compute()["component"] == 0).all()


def test_little_but_the_exchanged_values_leaves_the_gpu():
    graph = dg.rmat(scale=10, edge_factor=8, seed=5, parts=2)

    def run(rounds):
        results.append(dg.pagerank(graph, max_iter=rounds, tol=0, device="cuda"))
        return results[-1]

    results: list = []
    run(2)
    bytes, copies = crossed(run, 14) - crossed(run, 4)
    sent = results[1].report["bytes"].sum() - results[2].report["bytes"].sum()
    assert sent < bytes < 4 * sent + 64 * copies  # to the host, back with the numbers of vertices, and masks


def test_numpy_cannot_read_what_is_on_a_device():
    there = Memory().to_device(np.arange(3))
    for read in (np.asarray, np.sum, list, lambda array: array + np.ones(3)):
        with pytest.raises((DeviceError, TypeError)):
            read(there)


def test_freed_memory_returns_to_the_budget():
    memory = Memory(budget=1000)
    there = memory.to_device(np.zeros(100))
    with pytest.raises(DeviceError, match=r"dg\.Cuda\(memory=1000\)"):
        memory.empty(30, np.float64)
    del there
    assert memory.empty(100, np.float64).nbytes == 800


def test_counters_are_read_once_after_each_kernel():
    memory = Memory()
    tally = DeviceCounters(memory, {"queued": "int64", "share": "float32", "done": "bool"})
    tally.device["share"].raw[0], tally.device["done"].raw[0] = 0.5, True
    assert tally["done"] is False  # no kernel was launched
    tally.clear("done", "done")
    assert tally["done"] is False and tally.known
    tally.device["done"].raw[0], tally.known = True, False
    assert (tally["share"], tally["done"], tally["queued"], memory.copied) == (0.5, True, 0, 24)


def larger_by_size(a, b):
    return a if abs(a) > abs(b) or (abs(a) == abs(b) and a > b) else b


def other(a, b):
    return a != b


LARGEST = dg.Monoid("LARGEST", larger_by_size, lambda dtype: 0, idempotent=True)
XOR = dg.Monoid("XOR", other, lambda dtype: False)


class Largest(dg.VertexProgram):
    size = dg.State(int)
    merge = LARGEST

    def seed(id):
        return (id * 7 % 13 - 6) * (id % 3)

    def send(size):
        return size

    def apply(size, message):
        return larger_by_size(size, message)


class Odd(dg.VertexProgram):
    """Whether an odd number of paths end here."""

    odd = dg.State(bool)
    new = dg.Delta(bool)
    merge = XOR

    def seed(id):
        return id % 3 != 1

    def send(new):
        return new

    def apply(odd, message):
        return odd != message, message


@pytest.mark.parametrize("program", [Largest(), Odd()], ids=["Largest", "Odd"])
@pytest.mark.parametrize("parts", [1, 3])
def test_merges_without_an_atomic_instruction_pull_and_give_the_cpu_answer(program, parts):
    """Nobody pushes them, for others might write at the same time; partitions merge what they are sent all the same."""
    rng = np.random.default_rng(3)
    edges = np.sort(rng.integers(0, 40, (90, 2)), axis=1)
    edges = edges[edges[:, 0] < edges[:, 1]]
    G = dg.Graph.from_edges({"src": edges[:, 0], "dst": edges[:, 1]}, parts=parts, policy="hybrid")
    found, expected = (dg.run(G, program, device=device).compute() for device in ("cuda", "cpu"))
    assert found.equals(expected)
    with pytest.raises(OptionError, match='direction="push" is not available with'):
        dg.run(G, program, device="cuda", engine=dg.Gas(direction="push"))
