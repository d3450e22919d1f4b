"""The part of CuPy that we call, over NumPy, as strict: nothing becomes NumPy by itself, types and shapes of copies are
the same, and there is only so much memory. `test_stand_ins.py` compares it with the real one."""

import threading
from types import ModuleType, SimpleNamespace

import numpy as np


class CUDARuntimeError(RuntimeError):
    pass


class CUDADriverError(RuntimeError):
    pass


class Array:
    def __init__(self, array):
        self.array = array
        self.shape, self.dtype, self.ndim, self.nbytes = array.shape, array.dtype, array.ndim, array.nbytes

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __getitem__(self, part):
        return Array(self.array[part])

    def __setitem__(self, part, value):
        assert np.isscalar(value) or isinstance(value, Array), "what is on the host is not written here"
        self.array[part] = getattr(value, "array", value)

    @property
    def data(self):
        return Pointer(self.array)

    def view(self, dtype):
        return Array(self.array.view(dtype))

    def reshape(self, *shape):
        return Array(self.array.reshape(*shape))

    def set(self, arr, stream):
        assert type(arr) is np.ndarray and arr.flags.c_contiguous and self.array.flags.c_contiguous
        assert stream is current() and (arr.shape, arr.dtype) == (self.shape, self.dtype)
        self.array[...] = arr

    def get(self, *, stream, out):
        assert type(out) is np.ndarray and out.flags.c_contiguous and self.array.flags.c_contiguous
        assert stream is current() and (out.shape, out.dtype) == (self.shape, self.dtype)
        out[...] = self.array
        stream.synchronize()


class Pointer:
    def __init__(self, array):
        self.array = array

    def memset_async(self, value, size, stream):
        assert stream is current() and self.array.flags.c_contiguous and size == self.array.nbytes
        self.array.view(np.uint8)[...] = value


class Stream:
    """Current in a thread while it is entered."""

    def __init__(self, non_blocking=False):
        self.ptr, self.waits = id(self) if non_blocking else 0, 0

    def __enter__(self):
        self.before, here.stream = current(), self

    def __exit__(self, *_):
        here.stream = self.before

    def synchronize(self):
        self.waits += 1


here = threading.local()
default = Stream()


def current():
    return getattr(here, "stream", default)


def module(memory: int) -> ModuleType:
    """To be put into `sys.modules`: a GPU with so many bytes. `pinned` are addresses that are registered."""
    cupy, pinned = ModuleType("cupy"), set()

    def empty(shape, dtype):
        if np.prod(shape) * np.dtype(dtype).itemsize > memory:
            raise MemoryError("Out of memory allocating")
        return Array(np.empty(shape, dtype))

    def register(address, size, flags):
        if size < 64:
            raise CUDARuntimeError("cudaErrorInvalidValue")
        pinned.add(address)

    def allocate(size):
        if size > memory:
            raise CUDARuntimeError("cudaErrorMemoryAllocation")
        return bytearray(size)

    names = {"hostRegister": register, "hostUnregister": pinned.remove, "memGetInfo": lambda: (memory, memory)}
    runtime = SimpleNamespace(CUDARuntimeError=CUDARuntimeError, **names)
    cupy.empty, cupy.pinned = empty, pinned
    cupy.get_default_memory_pool = lambda: SimpleNamespace(malloc="of CuPy", free_all_blocks=lambda: None)
    cupy.cuda = SimpleNamespace(
        Stream=Stream,
        get_current_stream=current,
        alloc_pinned_memory=allocate,
        runtime=runtime,
        driver=SimpleNamespace(CUDADriverError=CUDADriverError),
        set_allocator=print,
    )
    return cupy
