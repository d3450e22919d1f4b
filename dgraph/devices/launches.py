"""Launches kernels: the only module that knows the compiler, numba-cuda.

The compiler's own launch lays out every array again and looks up the stream, the context and the kernel: 0.1 ms for a
dozen arrays, as long as a whole superstep should take. This module does so only once, with functions of numba-cuda that
are not public. If a release lacks these functions or has changed them, the compiler itself launches kernels.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from dgraph.codegen.compiler import numba_type
from dgraph.codegen.text import Argument
from dgraph.devices.device_memory import DeviceArray
from dgraph.devices.probe import simulated
from dgraph.errors import DeviceError


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
