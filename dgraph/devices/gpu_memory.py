"""The memory of a GPU, managed by CuPy."""

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

BUDGET_SHARE = 0.9  # share of a GPU's memory that a run may use: the rest is for compiled code and other processes
STREAM_OF_THREADS = "CUPY_CUDA_PER_THREAD_DEFAULT_STREAM"


class GpuMemory(Memory):
    """The memory of the current GPU. Except in stages, all work uses the default stream: it runs in the order in which
    it was submitted, and only `get` waits. CuPy keeps freed memory, so a run allocates each array from the driver only
    once."""

    def __init__(self) -> None:
        import cupy

        if os.environ.get(STREAM_OF_THREADS, "0") not in ("", "0"):
            raise DeviceError(
                f"{STREAM_OF_THREADS} is set, but threads share arrays and must use them in order: unset it"
            )
        self.xp = cupy
        self.failures = cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError
        super().__init__()
        self._pins: dict[int, bool] = {}  # by the id of a host array
        self._external: dict[int, Any] = {}  # the compiler's stream objects, by address
        self._in_flight: dict[int, list[np.ndarray]] = {}  # by stream: arrays that the GPU may still be reading
        self.streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
        self.begin(None)

    def begin(self, budget: int | None) -> None:
        """If cuDF has been imported by now, use RMM's pool, because it takes most of the GPU. Without such a pool, keep
        CuPy's own, because RMM would allocate each array from the driver."""
        super().begin(budget)
        if "rmm" in sys.modules:
            from rmm import mr
            from rmm.allocators.cupy import rmm_cupy_allocator

            pooled = not isinstance(mr.get_current_device_resource(), mr.CudaMemoryResource)
            self.xp.cuda.set_allocator(rmm_cupy_allocator if pooled else self.xp.get_default_memory_pool().malloc)

    def give_back(self) -> None:
        self.xp.get_default_memory_pool().free_all_blocks()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Raise a DeviceError when a call reports that the GPU has failed, perhaps in an earlier kernel."""
        try:
            yield
        except self.failures as error:
            raise DeviceError(
                f"the GPU has failed and this process cannot use it any more; restart the process ({error})"
            ) from error

    def _empty(self, shape: Any, dtype: Any) -> Any:
        with self._reporting():
            return self.xp.empty(shape, dtype)

    def _put(self, raw: Any, array: np.ndarray) -> None:
        stream = self.xp.cuda.get_current_stream()
        with self._reporting():
            raw.set(array, stream=stream)  # without a stream, the host would wait
        self._in_flight.setdefault(stream.ptr, []).append(array)

    def _get(self, raw: Any, out: np.ndarray) -> None:
        with self._waiting() as stream:
            raw.get(out=out, stream=stream)

    def fill(self, device: DeviceArray, value: Any) -> None:
        with self._reporting():
            if value == 0:  # mostly the counters of each superstep: ten times faster than a kernel
                device.raw.data.memset_async(0, device.nbytes, self.xp.cuda.get_current_stream())
            else:
                super().fill(device, value)

    def argument(self, raw: Any) -> Any:
        from numba import cuda

        return cuda.as_cuda_array(raw, sync=False)

    def pinned(self, size: int) -> np.ndarray:
        try:
            return np.frombuffer(self.xp.cuda.alloc_pinned_memory(max(size, 1)), np.uint8, size)
        except self.failures:  # the system cannot pin more: copies are slower
            return super().pinned(size)

    @property
    def default_budget(self) -> int:
        return int(BUDGET_SHARE * self.xp.cuda.runtime.memGetInfo()[1])

    def pin(self, array: np.ndarray) -> bool:
        key, address = id(array), array.ctypes.data
        if key not in self._pins:
            try:
                self.xp.cuda.runtime.hostRegister(address, array.nbytes, 0)
            except self.failures:  # such as memory mapped from a file: copies need a buffer
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
            finally:  # so that nothing is freed while kernels use it
                self.wait()

    def stream(self) -> Any:
        from numba import cuda

        pointer = self.xp.cuda.get_current_stream().ptr
        if pointer not in self._external:
            self._external[pointer] = cuda.external_stream(pointer) if pointer else 0
        return self._external[pointer]

    def wait(self) -> None:
        with self._waiting() as stream:
            stream.synchronize()

    @contextmanager
    def _waiting(self) -> Iterator[Any]:
        """Wait for the stream of this thread in the body, then release the arrays that it has copied from the host."""
        stream = self.xp.cuda.get_current_stream()
        copied = self._in_flight.pop(stream.ptr, None)
        with self._reporting():
            yield stream
        del copied
