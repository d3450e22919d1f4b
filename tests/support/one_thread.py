"""CUDA kernels as one thread of the CPU runs them: the same bodies under another head, on graphs of any size."""

import dataclasses

from dgraph.codegen.compiler import load
from dgraph.codegen.cuda import cuda_head
from dgraph.devices.device_memory import DeviceArray, Memory
from dgraph.devices.own_device import ThreadGroups

HEAD = """
import math

import numpy as np
from numba import njit as compiler
from numpy import bool_, float32, float64, inf, int32, int64, uint8, uint64

njit = compiler(error_model="numpy")
kernel = compiler(error_model="numpy", nogil=True, cache=True)
one = uint64(1)
BLOCK = 1


@njit
def threads():
    return uint64(1), uint64(0), uint64(0)


@njit
def barrier(group_size):
    pass


@njit
def streamed(array, place):
    return array[place]


@njit
def atomic_add(array, place, value):
    old = array[place]
    array[place] = old + value
    return old


@njit
def atomic_min(array, place, value):
    old = array[place]
    array[place] = min(old, value)
    return old


@njit
def atomic_max(array, place, value):
    old = array[place]
    array[place] = max(old, value)
    return old


@njit
def atomic_set(array, place, value):
    old = array[place]
    array[place] = value
    return old


@njit
def next_place(counter):
    return atomic_add(counter, 0, 1)


@njit
def is_last(finished):
    return True
"""
MEMORY = Memory()


class OneThread:
    """A grid of one thread."""

    block, blocks, groups, memory = 1, 1, ThreadGroups(1, 1, 1, 1), MEMORY

    def __init__(self, source):
        text = source.text.replace(cuda_head.CUDA_HEAD.strip("\n"), HEAD.strip("\n"))
        text = text.replace("cuda.shared.array(", "np.empty(")
        assert "cuda" not in text.split('"""', 2)[2], "a kernel calls the device by a name that the head does not give"
        self.kernels = load(dataclasses.replace(source, text=text))

    def launch(self, name, blocks, arguments):
        self.kernels[name](*(one.raw if isinstance(one, DeviceArray) else one for one in arguments))


class OneThreadOfAGpu(OneThread):
    """Its arrays are those of the stand-in for CuPy."""

    def launch(self, name, blocks, arguments):
        self.kernels[name](*(one.raw.array if isinstance(one, DeviceArray) else one for one in arguments))
