"""Launches of kernels: the one place that knows the compiler, numba-cuda.

Its own way lays out every array anew for every launch, and looks up the stream, the context and the kernel: a tenth of
a millisecond for a dozen arrays, as long as a whole superstep should take. Here that is done once, by its functions.
These are no promise of its makers: with a release that has none of them, or others under their names, kernels go its
own way.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache, lru_cache, partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
from numba import types
from numba.core.errors import NumbaError
from numba.np.numpy_support import from_dtype

from dgraph.codegen.text import Argument
from dgraph.devices.device_memory import DeviceArray
from dgraph.devices.probe import simulated
from dgraph.errors import DeviceError


class DefaultLaunch:
    """A kernel, launched as the compiler does it."""

    def __init__(self, dispatcher: Any):
        self.dispatcher = dispatcher

    def launch(self, blocks: int, threads: int, stream: Any, arguments: Sequence[Any]) -> None:
        there = [one.argument if isinstance(one, DeviceArray) else one for one in arguments]
        self.dispatcher[blocks, threads, stream](*there)


class PreparedLaunch:
    """A kernel compiled for the types of its arguments, launched by the compiler's inner functions; other types are an
    error, and never a second compilation."""

    def __init__(self, dispatcher: Any, arguments: Sequence[Argument]):
        numba_cuda, driver = (import_module(f"numba.cuda.{one}") for one in ("dispatcher", "cudadrv.driver"))
        self.begin, self.config = numba_cuda.launch, cache(partial(_config, numba_cuda.LaunchConfig))
        self.to_stream = cache(driver._to_core_stream)
        self.there = threading.local()  # the kernel in each thread, whose context it makes current
        lay_out, no_extensions = numba_cuda._Kernel._prepare_args, SimpleNamespace(extensions=())

        def flat(kind: Any, value: Any) -> list[Any]:
            found: list[Any] = []
            lay_out(no_extensions, kind, value, 0, [], found)
            return found

        self.flat, self.number = flat, lru_cache(1 << 10)(flat)
        self.arguments = [(np.dtype(one.dtype), self.type_of(one)) for one in arguments]
        self.library = dispatcher.compile(tuple(kind for _, kind in self.arguments))._codelibrary

    @staticmethod
    def type_of(argument: Argument) -> Any:
        scalar = from_dtype(np.dtype(argument.dtype))
        return types.Array(scalar, argument.dims, "C") if argument.dims else scalar

    def launch(self, blocks: int, threads: int, stream: Any, arguments: Sequence[Any]) -> None:
        words: list[Any] = []
        for (dtype, kind), one in zip(self.arguments, arguments, strict=True):
            if not isinstance(one, DeviceArray):
                words += self.number(kind, one) if dtype.kind in "iu" else self.flat(kind, one)  # 0.0 equals -0.0
                continue
            if one.dtype != dtype or one.ndim != kind.ndim:
                raise DeviceError(f"an array of {one.ndim} dimensions of {one.dtype} is not one of {kind}")
            if one.words_of_launch is None:
                one.words_of_launch = self.flat(kind, one.argument)
            words += one.words_of_launch
        if not hasattr(self.there, "kernel"):
            self.there.kernel = self.library.get_cufunc().kernel
        self.begin(self.to_stream(stream), self.config(blocks, threads), self.there.kernel, *words)


def _config(launch_config: Any, blocks: int, threads: int) -> Any:
    return launch_config(grid=blocks, block=threads)


class Launcher:
    """A kernel that can be launched: laid out beforehand, if this release of the compiler has what that takes. Its
    first launch shows whether it has."""

    def __init__(self, dispatcher: Any, arguments: Sequence[Argument]):
        self.dispatcher, self.proven = dispatcher, False
        self.way: DefaultLaunch | PreparedLaunch = self._own_way() if simulated() else self._laid_out(arguments)

    def launch(self, blocks: int, threads: int, stream: Any, arguments: Sequence[Any]) -> None:
        try:
            self.way.launch(blocks, threads, stream, arguments)
        except DeviceError:
            raise  # ours
        except Exception:  # nothing has been launched; what is wrong with the GPU is wrong the other way, too
            if self.proven:
                raise
            self.way = self._own_way()
            self.way.launch(blocks, threads, stream, arguments)
        self.proven = True

    def _own_way(self) -> DefaultLaunch:
        self.proven = True
        return DefaultLaunch(self.dispatcher)

    def _laid_out(self, arguments: Sequence[Argument]) -> DefaultLaunch | PreparedLaunch:
        try:
            return PreparedLaunch(self.dispatcher, arguments)
        except NumbaError:  # of the program
            raise
        except Exception:
            return self._own_way()
