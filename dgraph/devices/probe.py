"""Which devices this process can use, found out without importing anything of CUDA: the driver itself is asked."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import numpy as np

from dgraph.errors import DeviceError

CPU, CUDA = "cpu", "cuda"  # devices, as users name them
SIMULATOR = "NUMBA_ENABLE_CUDASIM"  # set to 1, Numba runs kernels on threads of Python
KERNELS = {"numba_cuda": "numba-cuda", "cupy": "cupy"}  # packages that kernels take: module -> its name for users
CUDF = {"cudf": "cudf", "dask_cudf": "dask-cudf"}  # those that frames on GPUs take
NO_GPU = "a GPU that the CUDA driver (libcuda.so.1) shows to it"
INSTALL = "Install dgraph[cuda12] or dgraph[cuda13], as your driver is, on every worker that has a GPU"
OR_OTHERS = f'{INSTALL}; or choose device="cpu", or device="auto", which takes the GPUs that are there'  # of runs
CAPABILITY = 75, 76  # numbers of the driver's attributes: major and minor
OLDEST = 7, 5  # whose threads of a warp need not go in step, and which RAPIDS and CUDA 13 know


@dataclass(frozen=True)
class Gpu:
    """One CUDA device."""

    name: str
    capability: tuple[int, int]
    memory: int  # bytes


@cache
def gpus() -> tuple[Gpu, ...]:
    """The CUDA devices that the driver shows to this process. Ask on the worker; a process forked after this cannot use
    them."""
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


def missing_requirements(packages: Mapping[str, str] = KERNELS) -> tuple[str, ...]:
    """What this process lacks of a GPU and some packages (module -> its name for users); nothing of it is imported.
    The driver is asked last: that takes longest, and a fork after it cannot use the GPU."""
    if simulated() and packages == KERNELS:
        return ()
    missing = tuple(f"the package {name}" for module, name in packages.items() if not _installed(module))
    if "numba_cuda" in packages and "the package numba-cuda" not in missing:
        with suppress(PackageNotFoundError):  # a package without its papers: it may do
            missing += _misfits(np.__version__, version("numba-cuda"))
    return (*_no_gpu(), *missing)


def _no_gpu() -> tuple[str, ...]:
    """What is wrong with the first GPU that this process is shown: the one that it takes."""
    if not gpus():
        return (NO_GPU,)
    (major, minor), name = gpus()[0].capability, gpus()[0].name
    if (major, minor) >= OLDEST:
        return ()
    return (f"a GPU of compute capability {OLDEST[0]}.{OLDEST[1]} or later ({name} has {major}.{minor})",)


def _misfits(numpy: str, numba_cuda: str) -> tuple[str, ...]:
    """Releases that are there and do not go together: the first kernel would end in an AttributeError."""
    new, old = (tuple(map(int, one.split(".")[:2])) for one in (numpy, numba_cuda))
    if new <= (2, 4) or old > (0, 30):
        return ()
    return (f"NumPy below 2.5 (it has {numpy}), as numba-cuda {numba_cuda} needs",)


def device_here() -> str:
    """The device that runs kernels in this process when the user has named none."""
    return CPU if missing_requirements() else CUDA


def need(what: str, lacks: Mapping[str, Sequence[str]], remedy: str) -> None:
    """Raise one error with all that workers (or this process) lack for `what`; nothing, if they lack nothing."""
    by_lack: dict[str, list[str]] = {}
    for where, missing in lacks.items():
        if missing:
            by_lack.setdefault(" and ".join(missing), []).append(where)
    if by_lack:
        told = "; ".join(f"{', '.join(places)} lacks {lack}" for lack, places in by_lack.items())
        raise DeviceError(f"{what} cannot be had: {told}. {remedy}")


def require_cuda() -> None:
    """Raise one error with all that this process lacks for device="cuda"; nothing, if it lacks nothing."""
    need('device="cuda"', {"this process": missing_requirements()}, OR_OTHERS)


@cache
def _installed(module: str) -> bool:
    return find_spec(module) is not None
