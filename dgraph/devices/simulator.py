"""Numba's simulator of a CUDA device: adjustments for threads that do not run in lockstep."""

from __future__ import annotations

import sys
import threading
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np


def simulate(module: ModuleType) -> None:
    """Prepare the kernels of a module for the simulator: each thread is a Python thread, and there are no warps."""
    here = vars(module)
    here |= {"BLOCK": 4, "WARP": 0, "next_place": lambda counter: here["atomic_add"](counter, 0, 1)}
    here["streamed"] = lambda array, place: array[place]
    here["__warningregistry__"] = {}  # otherwise the first warning adds it while other threads iterate over these names
    share_arrays()


@cache
def share_arrays() -> None:
    """Make the threads of a block share one array. If two threads ask at the same time, the simulator gives each of
    them a separate array, and the values in one of these are lost."""
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    lock = threading.Lock()

    def array(self: Any, shape: Any, dtype: Any) -> np.ndarray:
        line = sys._getframe(1)  # like this function, the simulator identifies arrays by their line
        with lock:
            return self._allocations.setdefault((line.f_code.co_filename, line.f_lineno), np.empty(shape, dtype))

    FakeCUDAShared.array = array  # type: ignore[method-assign]
