"""Arrays on a device: CuPy arrays on a GPU, and NumPy arrays in the simulator, where they are deliberately just as
inaccessible. Methods of this module make all copies between host and device, and count them."""

from __future__ import annotations

import gc
import math
import os
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import Any

import numpy as np

from dgraph.errors import DeviceError

BUDGET_SHARE = 0.9  # share of a GPU's memory that a run may use: the rest is for compiled code and other processes
STREAM_OF_THREADS = "CUPY_CUDA_PER_THREAD_DEFAULT_STREAM"
SPARE_SHARE = 0.1  # share of a budget that optional arrays leave free
SWEEP_INTERVAL = 10.0  # seconds between two garbage collections, each of which takes as long as many rounds


class DeviceArray:
    """An array that kernels can read and the host cannot: NumPy functions refuse it, and `Memory.get` copies it."""

    def __init__(self, memory: Memory, raw: Any):
        self.memory, self.raw = memory, raw
        self.launch_words: list[Any] | None = None  # set by `own_device.py`
        self.shape, self.dtype, self.ndim, self.nbytes = raw.shape, raw.dtype, raw.ndim, raw.nbytes

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: Any) -> DeviceArray:
        return DeviceArray(self.memory, self.raw[part])

    def view(self, dtype: Any) -> DeviceArray:
        return DeviceArray(self.memory, self.raw.view(dtype))

    def reshape(self, *shape: Any) -> DeviceArray:
        return DeviceArray(self.memory, self.raw.reshape(*shape))

    @cached_property
    def argument(self) -> Any:
        """The array in the form that the compiler's kernels take; cached, because making it takes longer than a
        launch."""
        return self.memory.argument(self.raw)

    @cached_property
    def words(self) -> DeviceArray:
        """The same memory as rows of unsigned integers."""
        width = self.shape[1] if self.ndim == 2 else 1
        return self.view(f"u{self.dtype.itemsize}").reshape(len(self), width)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise DeviceError(f"a {self.dtype} array of shape {self.shape} is on a device; copy it with Memory.get")

    __iter__ = None  # otherwise NumPy would read it element by element


class Memory:
    """The memory of one device; in this class, of NumPy arrays. Allocations beyond the budget (in bytes) are
    refused."""

    xp: Any = np  # the array module
    default_budget: int | None = None  # of runs for which none is set

    def __init__(self, budget: int | None = None):
        self.budget = budget
        self.used = 0  # bytes
        self.copied = self.copies = 0  # bytes copied between host and device, and the number of copies
        self._residents: dict[int, tuple[Any, DeviceArray]] = {}  # by the id of a host array: a reference, the copy
        self._counting = threading.RLock()  # any thread may release arrays at any time
        self._swept = -math.inf

    def empty(self, shape: Any, dtype: Any) -> DeviceArray:
        size = math.prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
        if not self.fits(size):
            self._sweep()
        if not self.fits(size):
            raise DeviceError(f"{size:,} bytes in addition to {self.used:,} exceed dg.Cuda(memory={self.budget})")
        try:
            return self.counted(self._empty(shape, dtype))
        except MemoryError as error:
            self._sweep()  # the caller may try again with less
            self.budget = self.used + size - 1  # so that the next round does not try to copy as many edges again
            raise DeviceError(f"the device has no {size:,} bytes left: set a lower memory= of dg.Cuda") from error

    def counted(self, raw: Any) -> DeviceArray:
        """Count an array on the device, made by any library, as in use for as long as it is referenced."""
        array = DeviceArray(self, raw)
        self._use(array.nbytes)
        weakref.finalize(array, self._use, -array.nbytes).atexit = False
        return array

    def _sweep(self) -> None:
        """Collect garbage: exceptions that a compiler has caught may still refer to arrays of runs that have ended."""
        if time.monotonic() > self._swept + SWEEP_INTERVAL:
            gc.collect()
            self._swept = time.monotonic()

    def _use(self, size: int) -> None:
        with self._counting:
            self.used += size

    def fits(self, size: int, spare: float = 0.0) -> bool:
        """Whether `size` bytes can be allocated while leaving a share `spare` of the budget free."""
        return self.budget is None or self.used + size <= self.budget * (1 - spare)

    def to_device(self, array: np.ndarray) -> DeviceArray:
        """A copy on the device."""
        device = self.empty(array.shape, array.dtype)
        self.put(device, array)
        return device

    def resident_copy(self, array: np.ndarray) -> DeviceArray:
        """The device copy of a host array, kept for as long as that array exists."""
        if id(array) not in self._residents:
            device = self.to_device(array)
            self.wait()  # other threads may read it on other streams
            self._keep(array, device)
        return self._residents[id(array)][1]

    def adopt(self, array: np.ndarray, raw: Any) -> None:
        """Register an existing array on the device as the copy of a host array, if the budget allows it."""
        if self.fits(raw.nbytes, SPARE_SHARE):
            self._keep(array, self.counted(raw))

    def has(self, array: np.ndarray) -> bool:
        return id(array) in self._residents

    def let_go(self, array: np.ndarray) -> None:
        self._residents.pop(id(array), None)

    def _keep(self, array: np.ndarray, copy: DeviceArray) -> None:
        key = id(array)
        self._residents[key] = weakref.ref(array, lambda _: self._residents.pop(key, None)), copy

    def put(self, device: DeviceArray, array: np.ndarray) -> None:
        """Copy from the host."""
        if len(array):
            self._put(device.raw, np.ascontiguousarray(array))
            self._count(array.nbytes)

    def get(self, device: DeviceArray, out: np.ndarray | None = None) -> np.ndarray:
        """Copy to the host."""
        out = np.empty(device.shape, device.dtype) if out is None else out
        if len(out):
            self._get(device.raw, out)
            self._count(out.nbytes)
        return out

    def fill(self, device: DeviceArray, value: Any) -> None:
        device.raw[...] = value

    def copy(self, to: DeviceArray, array: DeviceArray) -> None:
        """Copy on the device."""
        to.raw[...] = array.raw

    def _count(self, size: int) -> None:
        self.copied += size
        self.copies += 1

    def begin(self, budget: int | None) -> None:
        """Begin a run, which may set a budget."""
        self.budget = budget or self.default_budget

    def give_back(self) -> None:
        """Return freed memory that is kept for future arrays, because another library needs it."""

    # -- what subclasses override --------------------------------------------------------------------------------------

    def _empty(self, shape: Any, dtype: Any) -> Any:
        return np.empty(shape, dtype)

    def _put(self, raw: Any, array: np.ndarray) -> None:
        raw[...] = array

    def _get(self, raw: Any, out: np.ndarray) -> None:
        out[...] = raw

    def argument(self, raw: Any) -> Any:
        return raw

    def pinned(self, size: int) -> np.ndarray:
        """Bytes of host memory that the device can read and write directly."""
        return np.empty(size, np.uint8)

    def pin(self, array: np.ndarray) -> bool:
        """Pin a host array so that the device can copy it in place; returns whether that succeeded."""
        return False

    def stage(self, number: int) -> AbstractContextManager[Any]:
        """Use one of three streams in the body; its work is complete when the body ends."""
        return nullcontext()

    def stream(self) -> Any:
        """The compiler's object for the stream of this thread."""
        return 0

    def wait(self) -> None:
        """Wait for all work that this thread has submitted."""


class SimulatedMemory(Memory):
    """The memory of Numba's simulator."""

    def argument(self, raw: Any) -> Any:
        from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

        return FakeCUDAArray(raw)  # otherwise the simulator would copy the array for each kernel


class GpuMemory(Memory):
    """The memory of the current GPU. Except in stages, all work uses the default stream: it runs in the order in which
    it was submitted, and only `get` waits. CuPy keeps freed memory, so a run allocates each array from the driver only
    once."""

    def __init__(self) -> None:
        import cupy

        if os.environ.get(STREAM_OF_THREADS, "0") not in ("", "0"):
            problem = f"{STREAM_OF_THREADS} is set, but threads share arrays and must use them in order"
            raise DeviceError(f"{problem}: unset it")
        self.xp = cupy
        self.failures = cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError
        super().__init__()
        self._pins: dict[int, bool] = {}  # by the id of a host array
        self._external: dict[int, Any] = {}  # the compiler's stream objects, by address
        self._in_flight: dict[int, list[np.ndarray]] = {}  # by stream: arrays that the GPU may still be reading
        self.streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
        self.default_budget = int(BUDGET_SHARE * cupy.cuda.runtime.memGetInfo()[1])
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
            problem = "the GPU has failed and this process cannot use it any more"
            raise DeviceError(f"{problem}; restart the process ({error})") from error

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
