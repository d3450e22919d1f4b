"""What workers of the long search load first: the stand-in for cuGraph, as if each had a GPU."""

import sys

import cugraph_on_cpu
import dask.dataframe  # noqa: F401  (which would take the stand-in for the real CuPy)

from dgraph.devices import probe


def dask_setup(worker) -> None:
    sys.modules.update(cugraph_on_cpu.modules())
    probe.gpus = lambda: (probe.GpuDescription("stand-in", (9, 0), 1 << 30),)
    probe._installed = lambda module: module in sys.modules
