"""Arrays on a device: CuPy arrays on a GPU (`gpu_memory.py`), and NumPy arrays in the simulator, where they are
deliberately just as inaccessible. Methods of this module make all copies between host and device, and count them."""

from __future__ import annotations

import gc
import math
import threading
import time
import weakref
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import numpy as np

from dgraph.errors import DeviceError

SPARE_SHARE = 0.1  # share of a budget that optional arrays leave free
SWEEP_INTERVAL = 10.0  # seconds between two garbage collections, each of which takes as long as many rounds


class DeviceArray:
    """An array that kernels can read and the host cannot: NumPy functions refuse it, and `Memory.get` copies it."""

    def __init__(self, memory: Memory, raw: Any):
        self.memory, self.raw = memory, raw
        self.launch_words: list[Any] | None = None  # set by `launches.py`
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

    @property
    def default_budget(self) -> int | None:
        """The budget of runs for which none is set."""
        return None

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
