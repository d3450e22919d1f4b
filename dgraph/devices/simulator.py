"""Numba's simulator of a CUDA device: what it needs beyond a device, whose threads go in step."""

from __future__ import annotations

import sys
import threading
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np


def simulate(module: ModuleType) -> None:
    """Let the kernels of a module run in the simulator: each thread is one of Python's, and none is of a warp."""
    here = vars(module)
    here |= {"BLOCK": 4, "WARP": 0, "next_place": lambda counter: here["atomic_add"](counter, 0, 1)}
    here["streamed"] = lambda array, place: array[place]
    here["__warningregistry__"] = {}  # else the first warning adds it while other threads look at these names
    share_once()


@cache
def share_once() -> None:
    """Have the threads of a block share one array. Of two that ask at once the simulator gives each its own, and what
    one of them has to tell is lost."""
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    asking = threading.Lock()

    def array(self: Any, shape: Any, dtype: Any) -> np.ndarray:
        line = sys._getframe(1)  # by which the simulator tells arrays apart, too
        with asking:
            return self._allocations.setdefault((line.f_code.co_filename, line.f_lineno), np.empty(shape, dtype))

    FakeCUDAShared.array = array  # type: ignore[method-assign]
