"""The machine and the versions recorded with a run, which explain differences between two runs."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dgraph import __version__
from dgraph.native.threads import cores

PACKAGES = ("numpy", "scipy", "pandas", "pyarrow", "numba", "dask", "distributed")


def machine() -> str:
    """The processor, its cores and the memory, as the operating system reports them."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    return f"{model}, {cores()} cores, {memory() >> 30} GiB, {platform.system()}, Python {platform.python_version()}"


def memory() -> int:
    """The bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def versions() -> dict[str, str]:
    """The versions of dgraph and of the relevant packages that are installed."""
    return {"dgraph": __version__, **installed(PACKAGES)}


def installed(packages: Iterable[str]) -> dict[str, str]:
    """The versions of those packages that are installed."""
    found = {}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
