"""The memory of a GPU, by a stand-in for CuPy that is as strict: what crosses, what is pinned, what is let go of."""

import gc
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import cupy_on_cpu
import numpy as np
import pandas as pd
import pytest
from one_thread import OneThreadOfAGpu

import dgraph as dg
from dgraph.devices import own_device
from dgraph.devices.device_memory import GpuMemory
from dgraph.errors import DeviceError


def shortest(graph, **options):
    return dg.sssp(graph, 1, predecessors=False, **options)


def ranks(graph, **options):
    return dg.pagerank(graph, max_iter=3, tol=0, **options)


@pytest.mark.parametrize("budget", [None, 550_000])
@pytest.mark.parametrize("parts", [1, 2])
def test_runs_free_all_gpu_and_pinned_memory(budget, parts, cupy):
    graph = dg.uniform(vertices=2048, edges=131_072, seed=5, weights=(1, 9), parts=parts)
    for run in (shortest, ranks):
        found = run(graph, device=dg.Cuda(memory=budget))
        assert found.report["streamed"].any() == (budget is not None)
        pd.testing.assert_frame_equal(found.compute(), run(graph, device="cpu").compute(), rtol=1e-9)
    assert bool(cupy.pinned) == (budget is not None)
    del found, graph
    gc.collect()
    assert not cupy.pinned and OneThreadOfAGpu.memory.used == 0


def test_a_block_for_a_daemon_is_copied_unchanged(cupy):
    graph = dg.rmat(scale=8, edge_factor=8, seed=5)
    found = dg.pagerank(graph, max_iter=3, tol=0, daemons="cuda")
    pd.testing.assert_frame_equal(found.compute(), dg.pagerank(graph, max_iter=3, tol=0).compute(), rtol=1e-9)
    assert set(found.report["device"]) == {"cuda"}


def test_arrays_that_do_not_fit_are_an_error(cupy):
    memory = GpuMemory()
    memory.budget = 1 << 30
    with pytest.raises(DeviceError, match=r"no 33,554,432 bytes left: set a lower memory= of dg\.Cuda"):
        memory.empty(1 << 25, np.uint8)
    assert memory.used == 0 and len(memory.pinned(1 << 25)) == 1 << 25
    assert not memory.fits(1 << 25) and memory.fits(1 << 24)  # whatever the budget was
    assert not memory.pin(np.zeros(1)) and memory.pin(np.zeros(100))


def test_unreachable_arrays_are_collected_to_make_room(cupy):
    gc.disable()  # else it may be swept before
    try:
        memory = GpuMemory()
        memory.budget = 1 << 20
        known = [memory.empty(1 << 20, np.uint8)]
        known.append(known)  # as the frames that an error's traceback knows
        del known
        assert memory.empty(1 << 20, np.uint8).nbytes == 1 << 20
        with pytest.raises(DeviceError, match=r"exceed dg\.Cuda\(memory=1048576\)"):
            memory.empty((1 << 20) + 1, np.uint8)
    finally:
        gc.enable()


def test_a_failed_pipeline_stage_is_still_waited_for(cupy):
    memory = GpuMemory()
    with pytest.raises(ValueError), memory.stage(1):
        raise ValueError
    assert [stream.waits for stream in memory.streams] == [0, 1, 0]


def test_waiting_for_a_failed_gpu_raises_a_device_error(cupy, monkeypatch):
    memory = GpuMemory()

    def fail(stream):
        raise cupy_on_cpu.CUDARuntimeError("cudaErrorIllegalAddress")

    monkeypatch.setattr(cupy_on_cpu.Stream, "synchronize", fail)
    with pytest.raises(DeviceError, match="restart the process"), memory.stage(1):
        pass
    with pytest.raises(DeviceError, match="cannot use it any more"):
        memory.get(memory.empty(1, np.uint8))


@pytest.mark.parametrize("pooled", [True, False])
def test_gpu_arrays_are_allocated_from_a_memory_pool(pooled, cupy, monkeypatch):
    """rmm is there wherever distributed is, and without a pool asks the driver for each array."""
    plain, chosen = type("CudaMemoryResource", (), {}), []
    resource = SimpleNamespace(CudaMemoryResource=plain, get_current_device_resource=object if pooled else plain)
    monkeypatch.setitem(sys.modules, "rmm", SimpleNamespace(mr=resource))
    monkeypatch.setitem(sys.modules, "rmm.allocators", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "rmm.allocators.cupy", SimpleNamespace(rmm_cupy_allocator="of rmm"))
    monkeypatch.setattr(cupy.cuda, "set_allocator", chosen.append)
    memory, expected = GpuMemory(), "of rmm" if pooled else "of CuPy"
    assert chosen == [expected]
    memory.begin(None)  # as a run does, for cuDF may have been imported meanwhile, which has each come from rmm
    assert chosen == [expected] * 2


def test_allocating_on_a_failed_gpu_raises_a_device_error(cupy, monkeypatch):
    memory = GpuMemory()
    there = memory.empty(4, np.int64)

    def fail(*_, **__):
        raise cupy_on_cpu.CUDADriverError("CUDA_ERROR_ILLEGAL_ADDRESS")

    monkeypatch.setattr(cupy_on_cpu.Array, "set", fail)
    monkeypatch.setattr(cupy_on_cpu.Pointer, "memset_async", fail)
    monkeypatch.setattr(cupy, "empty", fail)
    for ask in (
        lambda: memory.put(there, np.arange(4)),
        lambda: memory.fill(there, 0),
        lambda: memory.empty(1, np.int8),
    ):
        with pytest.raises(DeviceError, match="cannot use it any more"):
            ask()


def test_host_arrays_are_kept_until_their_copy_is_waited_for(cupy):
    """A driver that reads memory of the host where it is comes back before it has."""
    memory, array = GpuMemory(), np.arange(1000)
    there, alive = memory.empty(1000, np.int64), weakref.ref(array)
    memory.put(there, array)
    del array
    with memory.stage(1):
        memory.put(there, np.arange(1000))
    assert alive() is not None  # that was another stream
    memory.wait()
    assert alive() is None
    table = np.arange(1000)
    with memory.stage(1):
        memory.resident_copy(table)
        assert memory.streams[1].waits == 2  # other threads, with other streams, take it to be there


def test_per_thread_default_streams_are_refused(cupy, monkeypatch):
    monkeypatch.setenv("CUPY_CUDA_PER_THREAD_DEFAULT_STREAM", "1")
    with pytest.raises(DeviceError, match="unset it"):
        GpuMemory()


def test_an_unusable_gpu_is_reported_with_a_remedy(cupy, monkeypatch):
    def fail():
        raise cupy_on_cpu.CUDARuntimeError("cudaErrorInsufficientDriver")

    monkeypatch.setattr(cupy.cuda.runtime, "memGetInfo", fail)
    own_device._own_memory.cache_clear()
    with pytest.raises(DeviceError, match=r'cudaErrorInsufficientDriver; .* use device="cpu"'):
        own_device.own_memory()


def test_threads_of_a_process_have_one_memory(cupy):
    own_device._own_memory.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        assert len({id(one.result()) for one in [pool.submit(own_device.own_memory) for _ in range(4)]}) == 1
    own_device._own_memory.cache_clear()
