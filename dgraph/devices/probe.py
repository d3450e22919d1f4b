"""Finds out which devices this process can use by querying the CUDA driver itself, without importing CUDA libraries."""

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
SIMULATOR = "NUMBA_ENABLE_CUDASIM"  # if it is 1, Numba runs kernels on Python threads
KERNEL_PACKAGES = {"numba_cuda": "numba-cuda", "cupy": "cupy"}  # what kernels need: module -> name of the package
CUDF_PACKAGES = {"cudf": "cudf", "dask_cudf": "dask-cudf"}  # packages that frames on GPUs need
NO_GPU = "a GPU that the CUDA driver (libcuda.so.1) reports"
INSTALL = "Install dask-dgraph[cuda12] or dask-dgraph[cuda13], matching your driver, on every worker that has a GPU"
OR_NO_DAEMON = f'{INSTALL}; or leave "cuda" out of daemons='
INSTALL_OR_CHOOSE = f'{INSTALL}; or use device="cpu", or device="auto", which takes a GPU only where there is one'
CAPABILITY_ATTRIBUTES = 75, 76  # the driver's attributes for the major and minor version
OLDEST_CAPABILITY = 7, 5  # the threads of a warp need not run in lockstep, and RAPIDS and CUDA 13 support it


@dataclass(frozen=True)
class GpuDescription:
    """One CUDA device."""

    name: str
    capability: tuple[int, int]
    memory: int  # bytes


@cache
def gpus() -> tuple[GpuDescription, ...]:
    """The CUDA devices that the driver reports to this process. Call it on the worker: a process that is forked
    afterwards cannot use them."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return ()
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return ()
    return tuple(_gpu(driver, number) for number in range(count.value))


def _gpu(driver: ctypes.CDLL, number: int) -> GpuDescription:
    device, value, memory, name = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t(), ctypes.create_string_buffer(128)
    driver.cuDeviceGet(ctypes.byref(device), number)
    driver.cuDeviceGetName(name, len(name), device)
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    capability = []
    for attribute in CAPABILITY_ATTRIBUTES:
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        capability.append(value.value)
    return GpuDescription(name.value.decode(errors="replace"), (capability[0], capability[1]), memory.value)


def simulated() -> bool:
    """Whether Numba simulates a CUDA device in this process."""
    return os.environ.get(SIMULATOR, "0") not in ("", "0")


def missing_requirements(packages: Mapping[str, str] = KERNEL_PACKAGES) -> tuple[str, ...]:
    """What this process lacks among a GPU and some packages (module -> name of the package), which it does not import.
    The driver is queried last, because that takes longest and a process forked after it cannot use the GPU."""
    if simulated() and packages == KERNEL_PACKAGES:
        return ()
    missing = tuple(f"the package {name}" for module, name in packages.items() if not _installed(module))
    if "numba_cuda" in packages and "the package numba-cuda" not in missing:
        with suppress(PackageNotFoundError):  # a package without metadata: it may work
            missing += _incompatible_releases(np.__version__, version("numba-cuda"))
    return (*_no_gpu(), *missing)


def _no_gpu() -> tuple[str, ...]:
    """What is wrong with the first GPU of this process, which is the one that runs use."""
    if not gpus():
        return (NO_GPU,)
    (major, minor), name = gpus()[0].capability, gpus()[0].name
    if (major, minor) >= OLDEST_CAPABILITY:
        return ()
    oldest = ".".join(map(str, OLDEST_CAPABILITY))
    return (f"a GPU of compute capability {oldest} or later ({name} has {major}.{minor})",)


def _incompatible_releases(numpy: str, numba_cuda: str) -> tuple[str, ...]:
    """Installed releases that are incompatible: the first kernel would raise an AttributeError."""
    numpy_release, cuda_release = (tuple(map(int, one.split(".")[:2])) for one in (numpy, numba_cuda))
    if numpy_release <= (2, 4) or cuda_release > (0, 30):
        return ()
    return (f"NumPy below 2.5 (it has {numpy}), as numba-cuda {numba_cuda} needs",)


def default_device() -> str:
    """The device that runs kernels in this process for device="auto"."""
    return CPU if missing_requirements() else CUDA


def require(what: str, lacks: Mapping[str, Sequence[str]], remedy: str) -> None:
    """Raise one error that lists everything that workers (or this process) lack for `what`, if they lack anything."""
    by_lack: dict[str, list[str]] = {}
    for where, missing in lacks.items():
        if missing:
            by_lack.setdefault(" and ".join(missing), []).append(where)
    if by_lack:
        verbs = {lack: "lack" if len(places) > 1 else "lacks" for lack, places in by_lack.items()}
        reasons = "; ".join(f"{', '.join(places)} {verbs[lack]} {lack}" for lack, places in by_lack.items())
        raise DeviceError(f"{what} is not available here: {reasons}. {remedy}")


def require_cuda(what: str = 'device="cuda"', remedy: str = INSTALL_OR_CHOOSE) -> None:
    """Raise one error that lists everything that this process lacks for a GPU, if it lacks anything."""
    require(what, {"this process": missing_requirements()}, remedy)


@cache
def _installed(module: str) -> bool:
    return find_spec(module) is not None
