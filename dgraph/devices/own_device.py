"""The CUDA device of this process, or Numba's simulator of one: its memory, and grids of threads on it."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any, NamedTuple

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

MOST_BLOCKS = 2048  # most blocks of a grid
FEWEST_BLOCKS = 128  # fewest blocks of a grid: fewer would leave the GPU idle, and Numba warns of each such grid

launchers: dict[str, dict[str, Launcher]] = {}  # by source and kernel, for all runs of this process
_device_lock = threading.Lock()  # threads of this process share a device


class ThreadGroups(NamedTuple):
    """The numbers of threads that may share a row, for the shortest rows first."""

    one: int
    few: int
    warp: int
    block: int


class Device:
    """Runs the kernels of a source on the CUDA device of this process, or in Numba's simulator. A block has `block`
    threads, and a grid at most `blocks` blocks: it strides over further rows."""

    def __init__(self, source: Source):
        self.source, self.module = source, module_of(source)
        self.kernels = launchers.setdefault(source.digest, {})
        self.memory = own_memory()
        if simulated():
            simulate(self.module)
        self.block: int = vars(self.module)["BLOCK"]
        self.fewest, self.blocks = (1, 2) if simulated() else (FEWEST_BLOCKS, MOST_BLOCKS)
        self.groups = ThreadGroups(1, min(8, self.block // 4), min(32, self.block // 2), self.block)

    def launch(self, name: str, blocks: int, arguments: list[Any]) -> None:
        """Run a kernel on this many blocks, after those that were launched before."""
        with _device_lock:
            try:
                if name not in self.kernels:
                    self.kernels[name] = Launcher(getattr(self.module, name), self.source.kernels[name])
                self.kernels[name].launch(max(blocks, self.fewest), self.block, self.memory.stream(), arguments)
            except NumbaError as error:
                raise translate_compiler_error(self.source, name, error) from error
            except Exception as error:  # the driver and the compiler's libraries define their own error classes
                raise DeviceError(f"kernel {name} failed: {type(error).__name__}: {error}") from error


def own_memory() -> Memory:
    """The memory of the device of this process; all threads share the object."""
    with _device_lock:
        return _own_memory()


@cache
def _own_memory() -> Memory:
    if simulated():
        return SimulatedMemory()
    try:
        return GpuMemory()
    except DeviceError:
        raise
    except Exception as error:  # CuPy, and a driver that is too old for it, raise errors of their own classes
        raise DeviceError(
            f'the GPU cannot be used: {type(error).__name__}: {error}; fix its installation or use device="cpu"'
        ) from error
