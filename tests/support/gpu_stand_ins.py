"""GPUs and packages that are not here: fixtures that put a stand-in in their place."""

import sys

import cudf_on_cpu
import cugraph_on_cpu
import cupy_on_cpu
import pytest
import raft_on_cpu
from one_thread import OneThread, OneThreadOfAGpu

from dgraph.devices import cuda, own_device, probe
from dgraph.devices.device_memory import GpuMemory, Memory
from dgraph.factors import gpu_updates


@pytest.fixture
def one_thread(monkeypatch):
    """Bodies of CUDA kernels run on a thread of this CPU."""
    for module in (cuda, gpu_updates):
        monkeypatch.setattr(module, "Device", OneThread)
    monkeypatch.setattr(probe, "missing_requirements", lambda *packages: ())


@pytest.fixture
def cupy(monkeypatch):
    """As if CuPy were there, and a GPU of 16 MiB whose kernels run on a thread of this CPU."""
    monkeypatch.setitem(sys.modules, "cupy", cupy_on_cpu.module(1 << 24))
    monkeypatch.delitem(sys.modules, "rmm", raising=False)
    monkeypatch.setattr(cuda, "Device", OneThreadOfAGpu)
    monkeypatch.setattr(OneThreadOfAGpu, "memory", GpuMemory())
    monkeypatch.setattr(probe, "missing_requirements", lambda *packages: ())
    return sys.modules["cupy"]


@pytest.fixture
def cudf(monkeypatch):
    """As if cuDF and a GPU were there; kernels run on the CPU, and arrays are NumPy's."""
    memory = Memory()
    monkeypatch.setattr(own_device, "own_memory", lambda: memory)
    put(cudf_on_cpu.modules(), monkeypatch)


@pytest.fixture
def cugraph(monkeypatch):
    """As if cuGraph and a GPU were there."""
    put(cugraph_on_cpu.modules(), monkeypatch)


@pytest.fixture
def cugraph_team(monkeypatch):
    """As if every worker of a cluster in this process had a GPU, cuGraph, and raft to work with others."""
    put(raft_on_cpu.modules(), monkeypatch)


def put(modules, monkeypatch):
    """Modules, and a GPU, as if they were there."""
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(probe, "gpus", lambda: (probe.GpuDescription("stand-in", (9, 0), 1 << 30),))
    monkeypatch.setattr(probe, "_installed", lambda module: module in sys.modules)
