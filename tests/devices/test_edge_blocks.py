"""Graphs larger than a GPU: edges that find no room pass through it in blocks, on a device that is none."""

import draws
import numpy as np
import pandas as pd
import pytest
from one_thread import OneThread

import dgraph as dg
from dgraph.devices.cuda import EdgeBlocks
from dgraph.devices.device_memory import Memory
from dgraph.errors import DeviceError, OptionError

OPERATIONS = {
    "bfs": lambda graph, **options: dg.bfs(graph, 1, **options),
    "sssp": lambda graph, **options: dg.sssp(graph, 1, predecessors=False, **options),
    "pagerank": lambda graph, **options: dg.pagerank(graph, max_iter=3, tol=0, **options),
    "cdlp": lambda graph, **options: dg.cdlp(graph, max_iter=3, **options),
    "draws": lambda graph, **options: dg.run(graph, draws.Noise(), **options),
}


@pytest.fixture(autouse=True)
def memory_of_its_own(one_thread, monkeypatch):
    monkeypatch.setattr(OneThread, "memory", Memory())


@pytest.mark.parametrize("block", ["auto", 5000, None])
@pytest.mark.parametrize("name", OPERATIONS)
def test_graphs_larger_than_gpu_memory_give_the_cpu_answer(name, block):
    graph = dg.uniform(vertices=2048, edges=131_072, seed=5, weights=(1, 9))
    room = 4_000_000 if name == "cdlp" else 400_000  # its tables of neighbourhoods are 18 times as large
    how = {"device": dg.Cuda(memory=room, block=block)}
    found = OPERATIONS[name](graph, **how)
    assert found.report["streamed"].sum() >= 4 * graph.num_edges > 400_000
    pd.testing.assert_frame_equal(found.compute(), OPERATIONS[name](graph, device="cpu").compute(), rtol=1e-9)


def test_partitions_that_fit_stay_on_the_gpu():
    graph = dg.rmat(scale=8, edge_factor=8, seed=5)
    found = dg.pagerank(graph, max_iter=3, tol=0, device=dg.Cuda(memory=1 << 20))
    assert not found.report["streamed"].any() and found.report.options["memory budget"]
    edges = sum(array.nbytes for array in (graph.partitions.held[0].incoming.neighbours,))
    del found
    assert edges <= OneThread.memory.used < 4 * edges  # with where rows begin; arrays over vertices are gone


@pytest.mark.parametrize("pins", [False, True])
def test_out_of_memory_is_answered_by_smaller_blocks_and_then_by_an_error(pins, monkeypatch):
    monkeypatch.setattr(Memory, "pin", lambda memory, array: pins)
    ends, seen = np.arange(0, 80_001, 8), []
    edges = {"neighbours": np.arange(80_000, dtype=np.uint32)}

    def run(arrays, low, high):
        there = arrays["neighbours"].memory.get(arrays["neighbours"])
        assert there[0] == arrays["edge_base"] == ends[low] and len(there) == ends[high] - ends[low]
        seen.extend(there)

    blocks = EdgeBlocks(Memory(budget=40_000))
    blocks.each("pull", edges, ends, 0, run)
    assert seen == list(range(80_000)) and blocks.size <= 40_000 // (3 * 4)
    with pytest.raises(DeviceError, match=r"does not have enough memory for 3 blocks of .* raise memory= of dg\.Cuda"):
        EdgeBlocks(Memory(budget=1000)).each("pull", edges, ends, 0, run)


@pytest.mark.parametrize("wrong", [0, 1.5, "much"])
def test_a_budget_is_a_number_of_bytes(wrong):
    with pytest.raises(OptionError, match=r"memory=.* must be a number of bytes >= 1"):
        dg.Cuda(memory=wrong)


@pytest.mark.parametrize("asked", ["auto", None])
def test_measuring_blocks_of_one_length_does_not_make_tiny_blocks(asked):
    blocks, edges = EdgeBlocks(Memory(), asked), {"neighbours": np.zeros(1 << 22, np.uint32)}
    blocks._keep_on_device = lambda *_: False
    for _ in range(10):  # the model takes a call to cost nothing
        blocks.measured["pull"].add(1 << 20, 1e-3, 1e-3, 0.0)
    blocks.each("pull", edges, np.arange(0, (1 << 22) + 1, 8), 0, lambda arrays, low, high: None)
    assert blocks.size >= 1 << 18
