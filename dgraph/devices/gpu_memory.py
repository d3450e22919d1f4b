"""The memory of a GPU, by CuPy."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dgraph.devices.device_memory import DeviceArray, Memory
from dgraph.errors import DeviceError

WHOLE = 0.9  # of a GPU's memory is ours: the rest is for the compiler's code and whoever else is there
STREAM_OF_THREADS = "CUPY_CUDA_PER_THREAD_DEFAULT_STREAM"


class GpuErrorContext:
    """Whoever waits for the GPU, or asks it for more, is told how kernels before have failed."""

    def __init__(self, *failures: type[Exception]):
        self.failures = failures

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, self.failures):
            reason = f"the GPU failed, and this process cannot use it any more: start it anew ({error})"
            raise DeviceError(reason) from error


class GpuMemory(Memory):
    """The memory of the current GPU. All work goes by one stream, the default, except in stages: it is done in the
    order in which it was asked for, and only `get` waits. CuPy keeps freed memory, so no array of a run costs a call of
    the driver twice."""

    def __init__(self) -> None:
        import cupy

        if os.environ.get(STREAM_OF_THREADS, "0") not in ("", "0"):
            raise DeviceError(
                f"threads share arrays, which {STREAM_OF_THREADS} would have them use in no order: unset it"
            )
        self.xp = cupy
        self.told = GpuErrorContext(cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError)
        super().__init__()
        self._pins: dict[int, bool] = {}  # by the id of an array of the host
        self._names: dict[int, Any] = {}  # of streams, the compiler's, by address
        self._under_way: dict[int, list[np.ndarray]] = {}  # by stream: what the GPU may still be reading here
        self.streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
        self.begin(None)

    def begin(self, budget: int | None) -> None:
        """Where cuDF was imported meanwhile, CuPy asks rmm for every array: rmm's pool, if any, is most of the GPU;
        without one, each would be one of the driver."""
        super().begin(budget)
        if "rmm" in sys.modules:
            from rmm import mr
            from rmm.allocators.cupy import rmm_cupy_allocator

            pooled = not isinstance(mr.get_current_device_resource(), mr.CudaMemoryResource)
            self.xp.cuda.set_allocator(rmm_cupy_allocator if pooled else self.xp.get_default_memory_pool().malloc)

    def give_back(self) -> None:
        self.xp.get_default_memory_pool().free_all_blocks()

    def _empty(self, shape: Any, dtype: Any) -> Any:
        with self.told:
            return self.xp.empty(shape, dtype)

    def _put(self, raw: Any, array: np.ndarray) -> None:
        stream = self.xp.cuda.get_current_stream()
        with self.told:
            raw.set(array, stream=stream)  # without one, the host would wait for it
        self._under_way.setdefault(stream.ptr, []).append(array)

    def _get(self, raw: Any, out: np.ndarray) -> None:
        with self._waiting() as stream:
            raw.get(out=out, stream=stream)

    def fill(self, there: DeviceArray, value: Any) -> None:
        with self.told:
            if value == 0:  # the counters of every superstep, mostly: ten times quicker than a kernel
                there.raw.data.memset_async(0, there.nbytes, self.xp.cuda.get_current_stream())
            else:
                super().fill(there, value)

    def argument(self, raw: Any) -> Any:
        from numba import cuda

        return cuda.as_cuda_array(raw, sync=False)

    def pinned(self, size: int) -> np.ndarray:
        try:
            return np.frombuffer(self.xp.cuda.alloc_pinned_memory(max(size, 1)), np.uint8, size)
        except self.told.failures:  # the system pins no more: copies are slower, and right
            return super().pinned(size)

    @property
    def whole(self) -> int:
        return int(WHOLE * self.xp.cuda.runtime.memGetInfo()[1])

    def pin(self, array: np.ndarray) -> bool:
        key, address = id(array), array.ctypes.data
        if key not in self._pins:
            try:
                self.xp.cuda.runtime.hostRegister(address, array.nbytes, 0)
            except self.told.failures:  # mapped from a file, say: it takes the longer way
                self._pins[key] = False
            else:
                self._pins[key] = True
            weakref.finalize(array, self._unpin, key, address).atexit = False
        return self._pins[key]

    def _unpin(self, key: int, address: int) -> None:
        if self._pins.pop(key):
            self.xp.cuda.runtime.hostUnregister(address)

    @contextmanager
    def stage(self, number: int) -> Iterator[None]:
        with self.streams[number]:
            try:
                yield
            finally:  # nothing is let go of that kernels still use
                self.wait()

    def stream(self) -> Any:
        from numba import cuda

        pointer = self.xp.cuda.get_current_stream().ptr
        if pointer not in self._names:
            self._names[pointer] = cuda.external_stream(pointer) if pointer else 0
        return self._names[pointer]

    def wait(self) -> None:
        with self._waiting() as stream:
            stream.synchronize()

    @contextmanager
    def _waiting(self) -> Iterator[Any]:
        """For all that was asked of the stream of this thread, and for copies from the host with it."""
        stream = self.xp.cuda.get_current_stream()
        copied = self._under_way.pop(stream.ptr, None)
        with self.told:
            yield stream
        del copied
