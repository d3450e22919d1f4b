"""Which devices this process can use, found out without importing anything of CUDA: the driver itself is asked."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

from dgraph.errors import DeviceError

SIMULATOR = "NUMBA_ENABLE_CUDASIM"  # set to 1, Numba runs kernels on threads of Python
CAPABILITY = 75, 76  # numbers of the driver's attributes: major and minor


@dataclass(frozen=True)
class Gpu:
    """One CUDA device."""

    name: str
    capability: tuple[int, int]
    memory: int  # bytes


@cache
def gpus() -> tuple[Gpu, ...]:
    """The CUDA devices that the driver shows to this process. Ask on the worker: a fork after this cannot use them."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return ()
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return ()
    return tuple(_gpu(driver, number) for number in range(count.value))


def _gpu(driver: ctypes.CDLL, number: int) -> Gpu:
    device, value, memory, name = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t(), ctypes.create_string_buffer(128)
    driver.cuDeviceGet(ctypes.byref(device), number)
    driver.cuDeviceGetName(name, len(name), device)
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    capability = []
    for attribute in CAPABILITY:
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        capability.append(value.value)
    return Gpu(name.value.decode(errors="replace"), (capability[0], capability[1]), memory.value)


def simulated() -> bool:
    """Whether Numba simulates a CUDA device in this process."""
    return os.environ.get(SIMULATOR, "0") not in ("", "0")


def need_cuda() -> None:
    """Raise what is missing for device="cuda", all of it at once."""
    if simulated():
        return
    missing = [] if gpus() else ["a GPU that the CUDA driver (libcuda.so.1) shows to this process"]
    packages = {"numba_cuda": "numba-cuda", "cupy": "cupy"}
    missing += [f"the package {name}" for module, name in packages.items() if find_spec(module) is None]
    if missing:
        raise DeviceError(
            f'device="cuda" lacks {" and ".join(missing)}. Install dgraph[cuda12] or '
            'dgraph[cuda13], as your driver is, on every worker that has a GPU; or choose device="cpu"'
        )
