"""The CUDA device of this process, or Numba's simulator of one: its memory, grids of threads on it, and how kernels are
launched. No other module knows the compiler, numba-cuda.

The compiler's own launch lays out every array again and looks up the stream, the context and the kernel: 0.1 ms for a
dozen arrays, as long as a whole superstep should take. This module does so only once, with functions of numba-cuda that
are not public. If a release lacks these functions or has changed them, the compiler itself launches kernels.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numba.core.errors import NumbaError

from dgraph.codegen.compiler import module_of, numba_type, translate_compiler_error
from dgraph.codegen.kernel_source import Source
from dgraph.codegen.text import Argument
from dgraph.devices.device_memory import DeviceArray, GpuMemory, Memory, SimulatedMemory
from dgraph.devices.probe import simulated
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
        problem = f"the GPU cannot be used: {type(error).__name__}: {error}"
        raise DeviceError(f'{problem}; fix its installation or use device="cpu"') from error


class Launcher:
    """Launches a kernel with arguments laid out in advance if this release of the compiler allows it. The first launch
    finds out."""

    def __init__(self, dispatcher: Any, arguments: Sequence[Argument]):
        self.dispatcher, self.has_launched = dispatcher, False
        self.launcher: CompilerLaunch | FixedLaunch = self._by_compiler() if simulated() else self._laid_out(arguments)

    def launch(self, blocks: int, threads: int, stream: Any, arguments: Sequence[Any]) -> None:
        try:
            self.launcher.launch(blocks, threads, stream, arguments)
        except DeviceError:
            raise  # our own error
        except Exception:  # nothing has been launched; with a defective GPU, the other launch fails, too
            if self.has_launched:
                raise
            self.launcher = self._by_compiler()
            self.launcher.launch(blocks, threads, stream, arguments)
        self.has_launched = True

    def _by_compiler(self) -> CompilerLaunch:
        self.has_launched = True
        return CompilerLaunch(self.dispatcher)

    def _laid_out(self, arguments: Sequence[Argument]) -> CompilerLaunch | FixedLaunch:
        try:
            return FixedLaunch(self.dispatcher, arguments)
        except NumbaError:  # an error in the program
            raise
        except Exception:
            return self._by_compiler()


class CompilerLaunch:
    """Launches a kernel through the compiler's public interface."""

    def __init__(self, dispatcher: Any):
        self.dispatcher = dispatcher

    def launch(self, blocks: int, threads: int, stream: Any, arguments: Sequence[Any]) -> None:
        raw = [one.argument if isinstance(one, DeviceArray) else one for one in arguments]
        self.dispatcher[blocks, threads, stream](*raw)


class FixedLaunch:
    """Launches a kernel through the compiler's internal functions. The kernel is compiled for the declared types of its
    arguments; other types are an error and never cause a second compilation."""

    def __init__(self, dispatcher: Any, arguments: Sequence[Argument]):
        numba_cuda, driver = (import_module(f"numba.cuda.{one}") for one in ("dispatcher", "cudadrv.driver"))
        self.begin = numba_cuda.launch
        self.config = cache(lambda blocks, threads: numba_cuda.LaunchConfig(grid=blocks, block=threads))
        self.to_stream = cache(driver._to_core_stream)
        self.loaded = threading.local()  # the kernel, loaded per thread, which also makes the context current
        lay_out, no_extensions = numba_cuda._Kernel._prepare_args, SimpleNamespace(extensions=())

        def flat(kind: Any, value: Any) -> list[Any]:
            words: list[Any] = []
            lay_out(no_extensions, kind, value, 0, [], words)
            return words

        self.flat, self.number = flat, lru_cache(1 << 10)(flat)
        self.arguments = [(np.dtype(one.dtype), numba_type(one)) for one in arguments]
        self.library = dispatcher.compile(tuple(kind for _, kind in self.arguments))._codelibrary

    def launch(self, blocks: int, threads: int, stream: Any, arguments: Sequence[Any]) -> None:
        words: list[Any] = []
        for (dtype, kind), one in zip(self.arguments, arguments, strict=True):
            if not isinstance(one, DeviceArray):
                words += self.number(kind, one) if dtype.kind in "iu" else self.flat(kind, one)  # 0.0 equals -0.0
                continue
            if one.dtype != dtype or one.ndim != kind.ndim:
                raise DeviceError(f"expected {kind}, got an array of {one.dtype} with {one.ndim} dimensions")
            if one.launch_words is None:
                one.launch_words = self.flat(kind, one.argument)
            words += one.launch_words
        if not hasattr(self.loaded, "kernel"):
            self.loaded.kernel = self.library.get_cufunc().kernel
        self.begin(self.to_stream(stream), self.config(blocks, threads), self.loaded.kernel, *words)


def simulate(module: ModuleType) -> None:
    """Prepare the kernels of a module for the simulator: each thread is a Python thread, and there are no warps."""
    here = vars(module)
    here |= {"BLOCK": 4, "WARP": 0, "next_place": lambda counter: here["atomic_add"](counter, 0, 1)}
    here["streamed"] = lambda array, place: array[place]
    here["__warningregistry__"] = {}  # otherwise the first warning adds it while other threads iterate over these names
    share_arrays()


@cache
def share_arrays() -> None:
    """Make the threads of a block share one array. If two threads ask at the same time, the simulator gives each of
    them a separate array, and the values in one of these are lost."""
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    lock = threading.Lock()

    def array(self: Any, shape: Any, dtype: Any) -> np.ndarray:
        line = sys._getframe(1)  # like this function, the simulator identifies arrays by their line
        with lock:
            return self._allocations.setdefault((line.f_code.co_filename, line.f_lineno), np.empty(shape, dtype))

    FakeCUDAShared.array = array  # type: ignore[method-assign]
