"""A process whose CUDA driver is `driver_on_cpu.c`: what numba-cuda hands to it for each kernel is run by one thread of
the CPU, over the arrays whose addresses it was given. All above the driver is the real one, but for CuPy.

LD_LIBRARY_PATH=... python driven.py > one line of JSON: {run: what was wrong, empty if nothing}, and how was launched
"""

import ctypes
import gc
import json
import os
import re
import sys
import traceback
from functools import cache

import cupy_on_cpu
import numpy as np
import pandas as pd
from one_thread import OneThread

import dgraph as dg
from dgraph.codegen.kernel_source import Source
from dgraph.devices import device_vertex_arrays, own_device, probe

FEWEST, BLOCK = 128, 256  # blocks of a grid, and threads of a block
HEAD = 5  # words of an array before its shape: two of nobody, elements, bytes of one, where it is


class Array(cupy_on_cpu.Array):
    """An array that numba-cuda can take."""

    @property
    def __cuda_array_interface__(self):
        where = self.array.ctypes.data if self.array.size else 0
        told = {"shape": self.shape, "typestr": self.dtype.str, "strides": None, "data": (where, False), "version": 3}
        return {**told, "stream": cupy_on_cpu.current().ptr or 1}


@cache
def kernel_called(name: str):
    """The arguments of a kernel, and what runs it, by the name that numba-cuda gave it: _ZN, module, function."""
    found, rest = [], name.removeprefix("_ZN")
    for _ in range(2):
        size = re.match(r"\d+", rest)[0]
        found.append(rest[len(size) : len(size) + int(size)])
        rest = rest[len(size) + int(size) :]
    digest, own = found[0].rpartition("_")[2], found[1]
    source = next(one for one in gc.get_objects() if isinstance(one, Source) and one.digest == digest)
    return source.kernels[own], OneThread(source).kernels[own]


def run(name, parameters, blocks, threads, stream):
    """A launch. Its first fault ends the process, for no exception passes the driver."""
    try:
        assert blocks >= FEWEST and threads == BLOCK and (stream or 0) == cupy_on_cpu.current().ptr
        arguments, kernel = kernel_called(name.decode())
        given, word = [], iter(parameters[i] for i in range(1 << 16))
        for one in arguments:
            dtype = np.dtype(one.dtype)
            if one.dims:
                words = [ctypes.c_int64.from_address(next(word)).value for _ in range(HEAD + 2 * one.dims)]
                given.append(array_at(words, dtype, one.dims))
            else:
                value = np.frombuffer((ctypes.c_char * dtype.itemsize).from_address(next(word)), dtype)[0]
                given.append(dtype.type(1) if one.name == "group_size" else value)  # here a group is one thread
        kernel(*given)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def array_at(words, dtype, dims):
    meminfo, parent, size, each, where, *rest = words
    shape, strides = tuple(rest[:dims]), tuple(rest[dims:])
    assert (meminfo, parent, size, each) == (0, 0, np.prod(shape), dtype.itemsize)
    if not size:
        return np.empty(shape, dtype)
    found = np.frombuffer((ctypes.c_char * (size * each)).from_address(where), dtype).reshape(shape)
    assert found.strides == strides
    return found


def wrong_with(operation, graph, **options) -> str:
    both = {"device": "cuda", **options}, {"device": "cpu"}
    found, expected = (operation(graph, **how).compute() for how in both)
    try:
        pd.testing.assert_frame_equal(found, expected, rtol=1e-9)
    except AssertionError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    cupy_on_cpu.Array = Array
    sys.modules["cupy"] = cupy_on_cpu.module(1 << 30)
    probe.missing_requirements = lambda *packages: ()
    device_vertex_arrays.LARGE_MAIL = 1  # byte: kernels read messages of partitions where others packed them
    listener = ctypes.CFUNCTYPE(
        None, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p
    )(run)
    ctypes.CDLL("libcuda.so.1").on_launch(listener)
    assert [one.capability for one in probe.gpus()] == [(9, 0)]
    graph = dg.rmat(scale=9, edge_factor=8, seed=5, weights=(1, 9), parts=2)
    dense = dg.uniform(vertices=2048, edges=131_072, seed=5)
    told = {
        "ranks": wrong_with(lambda graph, **how: dg.pagerank(graph, max_iter=3, tol=0, **how), graph),
        "push": wrong_with(
            lambda graph, **how: dg.sssp(graph, 1, predecessors=False, **how), graph, engine=dg.Gas(direction="push")
        ),
        "labels": wrong_with(lambda graph, **how: dg.cdlp(graph, max_iter=2, **how), graph),
        "streaming": wrong_with(
            lambda graph, **how: dg.pagerank(graph, max_iter=3, tol=0, **how),
            dense,
            device=dg.Cuda(memory=600_000),
        ),
        "ways": sorted(
            {type(one.launcher).__name__ for kernels in own_device.launchers.values() for one in kernels.values()}
        ),
    }
    sys.stdout.write(json.dumps(told))
