"""What stands in for packages that take a GPU has no name and no parameter that they do not have; where they are."""

import inspect
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter

import cudf_on_cpu
import cugraph_on_cpu
import cupy_on_cpu
import pytest
import raft_on_cpu

CUPY = cupy_on_cpu.module(0)
STAND_INS = {
    "cupy": {
        "ndarray": cupy_on_cpu.Array,
        "cuda.MemoryPointer": cupy_on_cpu.Pointer,
        "cuda.Stream": cupy_on_cpu.Stream,
        **{f"cuda.{name}": None for name in vars(CUPY.cuda)},
        **{f"cuda.runtime.{name}": None for name in vars(CUPY.cuda.runtime)},
    },
    "cudf": {name: one for name, one in vars(cudf_on_cpu.modules()["cudf"]).items() if callable(one)},
    "dask_cudf": {"from_delayed": cudf_on_cpu.from_delayed},
    "pylibcugraph": {one.__name__: one for one in cugraph_on_cpu.FUNCTIONS},
    "pylibcugraph.comms": {"init_subcomms": raft_on_cpu.init_subcomms},
    "raft_dask.common.comms": {
        "Comms": raft_on_cpu.Comms,
        "Comms.__init__": raft_on_cpu.Comms.__init__,
        "get_raft_comm_state": raft_on_cpu.get_raft_comm_state,
    },
}


@pytest.mark.parametrize("package", STAND_INS)
def test_stand_ins_are_like_the_packages(package):
    """In another process, for the stand-ins take the places of packages that nobody has imported."""
    if find_spec(package.split(".")[0]) is None:
        pytest.skip(f"{package} is not installed")
    found = subprocess.run([sys.executable, __file__, package], capture_output=True, text=True)
    assert found.returncode == 0 and not found.stdout, found.stdout + found.stderr


def differences(package):
    for name, stand_in in STAND_INS[package].items():
        try:
            real = attrgetter(name)(import_module(package))
        except AttributeError:
            yield name
            continue
        if inspect.isclass(stand_in):
            for one, member in vars(stand_in).items():
                if not one.startswith("_"):
                    yield from unknown(f"{name}.{one}", member, getattr(real, one, None))
        else:
            yield from unknown(name, stand_in, real)


def unknown(name, stand_in, real):
    """Of a function, the parameters that the real one does not have, or has in another order."""
    if real is None:
        yield name
    if not inspect.isfunction(stand_in) or (known := parameters(real)) is None:
        return
    own = [one for one in inspect.signature(stand_in).parameters.values() if not one.name.startswith("_")]
    own = [one for one in own if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) and one.name != "self"]
    yield from (f"{name}({one.name}=)" for one in own if one.name not in known)
    order = [one.name for one in own if one.kind is not one.KEYWORD_ONLY]
    if order != [one for one in known if one in order]:
        yield f"{name}: {known}"


def parameters(function):
    """By name; of a function of Cython as its docstring begins. None where nobody says."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        said = re.match(r"[\w.]+\((.*?)\)(\n| ->|$)", function.__doc__ or "", re.DOTALL)
        return said and [one.split("=")[0].split()[-1] for one in said[1].split(",") if one.strip()]


if __name__ == "__main__":
    sys.stdout.write("\n".join(differences(sys.argv[1])))
