"""Arrays on a device: CuPy's on a GPU (`gpu_memory.py`); NumPy's in the simulator, as hard to reach on purpose.
Whatever crosses between host and device does so by a method here, and is counted."""

from __future__ import annotations

import gc
import math
import threading
import time
import weakref
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from typing import Any

import numpy as np

from dgraph.errors import DeviceError

SPARE = 0.1  # of a budget is not for arrays that need not be there
SWEEP = 10.0  # seconds between two sweeps, each of which takes as long as many rounds


class DeviceArray:
    """An array that kernels read and the host does not: NumPy functions refuse it, and `Memory.get` brings it."""

    def __init__(self, memory: Memory, raw: Any):
        self.memory, self.raw = memory, raw
        self.words_of_launch: list[Any] | None = None  # what `launches.py` makes of it
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
        """The form that the compiler's kernels take; made once, because that takes longer than a launch."""
        return self.memory.argument(self.raw)

    @cached_property
    def words(self) -> DeviceArray:
        """The same memory as rows of unsigned integers."""
        width = self.shape[1] if self.ndim == 2 else 1
        return self.view(f"u{self.dtype.itemsize}").reshape(len(self), width)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise DeviceError(f"an array of {self.shape} {self.dtype} is on a device: bring it with Memory.get")

    __iter__ = None  # nor element by element


class Memory:
    """The memory of one device; this class keeps it in NumPy's arrays. With a budget (bytes), more than that is
    refused."""

    xp: Any = np  # the module of its arrays

    def __init__(self, budget: int | None = None):
        self.budget = budget
        self.used = self.copied = self.copies = 0  # bytes and, between host and device, bytes and how often
        self._stay: dict[int, tuple[Any, DeviceArray]] = {}  # by the id of an array here: a reference to it
        self._counting = threading.RLock()  # arrays are let go of by any thread, at any time
        self._swept = -math.inf

    def empty(self, shape: Any, dtype: Any) -> DeviceArray:
        size = math.prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
        if not self.fits(size):
            self._sweep()
        if not self.fits(size):
            raise DeviceError(f"{size:,} bytes beside {self.used:,} are more than memory_budget={self.budget:,}")
        try:
            return self.counted(self._empty(shape, dtype))
        except MemoryError as error:
            self._sweep()  # for who tries again with less
            self.budget = self.used + size - 1  # as much was not there: in the next round nobody brings edges in vain
            raise DeviceError(f"the device has no {size:,} bytes left: set memory_budget= below what it has") from error

    def counted(self, raw: Any) -> DeviceArray:
        """Count an array that lies on the device, whoever made it, as in use for as long as somebody has it."""
        found = DeviceArray(self, raw)
        self._use(found.nbytes)
        weakref.finalize(found, self._use, -found.nbytes).atexit = False
        return found

    def _sweep(self) -> None:
        """Collect garbage: errors that a compiler met and swallowed may still refer to arrays of runs that are over."""
        if time.monotonic() > self._swept + SWEEP:
            gc.collect()
            self._swept = time.monotonic()

    def _use(self, size: int) -> None:
        with self._counting:
            self.used += size

    def fits(self, size: int, spare: float = 0.0) -> bool:
        """Whether so many bytes can be had, with a share `spare` of the budget left over."""
        return self.budget is None or self.used + size <= self.budget * (1 - spare)

    def moved(self, array: np.ndarray) -> DeviceArray:
        """A copy on the device."""
        there = self.empty(array.shape, array.dtype)
        self.put(there, array)
        return there

    def stays(self, array: np.ndarray) -> DeviceArray:
        """The one copy on the device of an array here, kept for as long as the array lives."""
        if id(array) not in self._stay:
            there = self.moved(array)
            self.wait()  # other threads read it, too, and may do so by other streams
            self._stay[id(array)] = weakref.ref(array, partial(self._forget, id(array))), there
        return self._stay[id(array)][1]

    def adopt(self, array: np.ndarray, raw: Any) -> None:
        """Make what lies on the device already the one copy of an array here, if the budget allows it."""
        if self.fits(raw.nbytes, SPARE):
            self._stay[id(array)] = weakref.ref(array, partial(self._forget, id(array))), self.counted(raw)

    def has(self, array: np.ndarray) -> bool:
        return id(array) in self._stay

    def let_go(self, array: np.ndarray) -> None:
        self._forget(id(array))

    def _forget(self, key: int, *_: Any) -> None:
        self._stay.pop(key, None)

    def put(self, there: DeviceArray, array: np.ndarray) -> None:
        """Copy from the host."""
        if len(array):
            self._put(there.raw, np.ascontiguousarray(array))
            self._count(array.nbytes)

    def get(self, there: DeviceArray, out: np.ndarray | None = None) -> np.ndarray:
        """Copy to the host."""
        out = np.empty(there.shape, there.dtype) if out is None else out
        if len(out):
            self._get(there.raw, out)
            self._count(out.nbytes)
        return out

    def fill(self, there: DeviceArray, value: Any) -> None:
        there.raw[...] = value

    def copy(self, to: DeviceArray, array: DeviceArray) -> None:
        """Copy on the device."""
        to.raw[...] = array.raw

    def _count(self, size: int) -> None:
        self.copied += size
        self.copies += 1

    @property
    def whole(self) -> int | None:
        """The budget if none is given."""
        return None

    def begin(self, budget: int | None) -> None:
        """A run does, which may have a budget of its own."""
        self.budget = budget or self.whole

    def give_back(self) -> None:
        """What is kept for arrays to come: others want it."""

    # -- what another memory does otherwise ----------------------------------------------------------------------------

    def _empty(self, shape: Any, dtype: Any) -> Any:
        return np.empty(shape, dtype)

    def _put(self, raw: Any, array: np.ndarray) -> None:
        raw[...] = array

    def _get(self, raw: Any, out: np.ndarray) -> None:
        out[...] = raw

    def argument(self, raw: Any) -> Any:
        return raw

    def pinned(self, size: int) -> np.ndarray:
        """Bytes of the host's memory that the device reads and writes by itself."""
        return np.empty(size, np.uint8)

    def pin(self, array: np.ndarray) -> bool:
        """Whether, from now on, the device copies an array of the host by itself, from where it is."""
        return False

    def stage(self, number: int) -> AbstractContextManager[Any]:
        """In the body, work goes by one of three streams; it is done when the body ends."""
        return nullcontext()

    def stream(self) -> Any:
        """The compiler's name for the stream of this thread."""
        return 0

    def wait(self) -> None:
        """Wait until all that this thread has asked for is done."""


class SimulatedMemory(Memory):
    """The memory of Numba's simulator."""

    def argument(self, raw: Any) -> Any:
        from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

        return FakeCUDAArray(raw)  # else it would copy the array for each kernel
