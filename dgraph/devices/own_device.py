"""The CUDA device of this process, or Numba's simulator of one: its memory, and grids of threads on it."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any, NamedTuple, Protocol

from numba.core.errors import NumbaError

from dgraph.codegen.compiler import translate_compiler_error
from dgraph.codegen.kernel_source import Source
from dgraph.codegen.source_cache import module_of
from dgraph.devices.device_memory import Memory, SimulatedMemory
from dgraph.devices.gpu_memory import GpuMemory
from dgraph.devices.launches import Launcher
from dgraph.devices.probe import simulated
from dgraph.devices.simulator import simulate
from dgraph.errors import DeviceError

BLOCKS = 2048  # of a grid, at most
FEWEST = 128  # of a grid: fewer leave a GPU idle anyway, and Numba warns of each such grid

launchers: dict[str, dict[str, Launcher]] = {}  # by source and name, for all runs of this process
_one_at_a_time = threading.Lock()  # threads of this process share a device


class ThreadGroups(NamedTuple):
    """How many threads may share a row, the shortest rows first."""

    one: int
    few: int
    warp: int
    block: int


class ThreadGrid(Protocol):
    """Where kernels run."""

    block: int
    blocks: int  # at most: a grid strides over what is left
    groups: ThreadGroups
    memory: Memory

    def __init__(self, source: Source): ...

    def launch(self, name: str, blocks: int, arguments: list[Any]) -> None:
        """Run a kernel on so many blocks, after those that were launched before."""


class Device:
    """The CUDA device of this process, or Numba's simulator of one."""

    def __init__(self, source: Source):
        self.source, self.module = source, module_of(source)
        self.kernels = launchers.setdefault(source.digest, {})
        self.memory = own_memory()
        if simulated():
            simulate(self.module)
        self.block: int = vars(self.module)["BLOCK"]
        self.fewest, self.blocks = (1, 2) if simulated() else (FEWEST, BLOCKS)
        self.groups = ThreadGroups(1, min(8, self.block // 4), min(32, self.block // 2), self.block)

    def launch(self, name: str, blocks: int, arguments: list[Any]) -> None:
        with _one_at_a_time:
            try:
                if name not in self.kernels:
                    self.kernels[name] = Launcher(getattr(self.module, name), self.source.kernels[name])
                self.kernels[name].launch(max(blocks, self.fewest), self.block, self.memory.stream(), arguments)
            except NumbaError as error:
                raise translate_compiler_error(self.source, name, error) from error
            except Exception as error:  # of the driver, or of the compiler's libraries: each has classes of its own
                raise DeviceError(f"kernel {name} could not be run: {type(error).__name__}: {error}") from error


def own_memory() -> Memory:
    """The memory of the device that this process sees; one object for all of its threads."""
    with _one_at_a_time:
        return _own_memory()


@cache
def _own_memory() -> Memory:
    if simulated():
        return SimulatedMemory()
    try:
        return GpuMemory()
    except DeviceError:
        raise
    except Exception as error:  # of CuPy, or of a driver that is too old for it: each has classes of its own
        raise DeviceError(f'the GPU cannot be used: {type(error).__name__}: {error}. Choose device="cpu"') from error
