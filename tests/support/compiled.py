"""A process that compiles every kernel of `tests/support/cases.py` to machine code for GPUs of one compute capability;
it takes numba-cuda with its compiler, and no GPU.

    python compiled.py 9.0 > one line of JSON: {program.kernel: [registers, bytes of stack, bytes of spills]}
"""

import json
import re
import sys
from types import SimpleNamespace

import cases
import numba.cuda.dispatcher
import numpy as np
from cuda.core import Linker, LinkerOptions, ObjectCode
from numba import cuda, types
from numba.cuda.np.numpy_support import from_dtype

import dgraph as dg
from dgraph.codegen.compiler import module_of
from dgraph.codegen.cuda.array_kernels import array_kernels
from dgraph.codegen.kernel_source import generate
from dgraph.factors.gpu_updates import factor_kernels


def compiled(source, name: str, capability: str) -> list[int]:
    """What the linker says of one kernel."""
    scalars = [(from_dtype(np.dtype(argument.dtype)), argument.dims) for argument in source.kernels[name]]
    signature = tuple(types.Array(scalar, dims, "C") if dims else scalar for scalar, dims in scalars)
    major, minor = map(int, capability.split("."))
    # some device functions of numba-cuda's own ask for the device that they are compiled for
    device = SimpleNamespace(compute_capability=(major, minor))
    numba.cuda.dispatcher.get_current_device = lambda: device
    text, _ = cuda.compile_ptx(getattr(module_of(source), name).py_func, signature, cc=(major, minor))
    linker = Linker(ObjectCode.from_ptx(text.encode()), options=LinkerOptions(arch=f"sm_{major}{minor}", verbose=True))
    linker.link("cubin")
    log = linker.get_info_log()
    patterns = (r"Used (\d+) registers", r"(\d+) bytes stack frame", r"(\d+) bytes spill")
    return [max(map(int, re.findall(pattern, log)), default=0) for pattern in patterns]


class OpenRoads(dg.VertexProgram):
    """What can be reached along edges with a flag: these are read in another way than numbers are."""

    reached = dg.State(bool)
    source = dg.Parameter(dg.vertex)
    open = dg.EdgeColumn(bool)
    merge = dg.OR

    def seed(id, source):
        return id == source

    def send(reached, open):
        return reached and open

    def apply(reached, message):
        return reached or message


if __name__ == "__main__":
    told = {}
    programs = (*cases.PROGRAMS.values(), OpenRoads)
    for source in (array_kernels(), factor_kernels(), *(generate(one, "cuda") for one in programs)):
        told |= {f"{source.name}.{name}": compiled(source, name, sys.argv[1]) for name in source.kernels}
    sys.stdout.write(json.dumps(told))
