"""Arguments of launches are what numba-cuda makes of them by itself; the driver, which is not here, is one that has no
GPU."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dgraph.codegen.compiler import module_of, numba_type
from dgraph.codegen.cuda.array_kernels import array_kernels
from dgraph.devices.device_memory import DeviceArray, Memory
from dgraph.devices.own_device import CompilerLaunch, FixedLaunch, Launcher
from dgraph.errors import DeviceError

pytestmark = pytest.mark.skipif(
    find_spec("numba_cuda") is None, reason="numba-cuda is not installed: `make test-cuda` installs it"
)


class DeviceBuffer(Memory):
    """Arrays as numba-cuda sees those of CuPy."""

    def argument(self, raw):
        from numba.cuda.cudadrv.devicearray import DeviceNDArray

        data = SimpleNamespace(device_ctypes_pointer=ctypes.c_void_p(raw.ctypes.data), size=raw.nbytes)
        return DeviceNDArray(shape=raw.shape, strides=raw.strides, dtype=raw.dtype, gpu_data=data)


@pytest.fixture
def launched(monkeypatch):
    """What the driver is asked for."""
    import numba.cuda.dispatcher as numba_cuda
    from numba.cuda.codegen import CUDACodeLibrary
    from numba.cuda.cudadrv import devices

    found = []

    def launch(stream, config, kernel, *words):
        found.append((kernel, config.grid, config.block, [getattr(word, "value", word) for word in words]))

    monkeypatch.setattr(numba_cuda, "launch", launch)
    device = SimpleNamespace(compute_capability=(9, 0))
    monkeypatch.setattr(numba_cuda, "get_current_device", lambda: device)
    monkeypatch.setattr(devices, "get_context", lambda: SimpleNamespace(device=device))
    module = SimpleNamespace(initialized=True)
    loaded = lambda library: SimpleNamespace(kernel=library._entry_name, module=module)  # noqa: E731
    monkeypatch.setattr(CUDACodeLibrary, "get_cufunc", loaded)
    return found


@pytest.mark.parametrize("name", ["count_edges", "mark_unlike_64", "put_8"])
def test_a_launch_passes_the_arguments_that_numba_would(name, launched):
    source, memory = array_kernels(), DeviceBuffer()
    arguments = source.kernels[name]
    given = [
        memory.empty((3, 2)[: one.dims], one.dtype) if one.dims else np.dtype(one.dtype).type(5) for one in arguments
    ]
    dispatcher = getattr(module_of(source), name)
    ours = Launcher(dispatcher, arguments)
    for _ in range(2):
        ours.launch(128, 256, 0, given)
    kernel = dispatcher.compile(tuple(numba_type(one) for one in arguments))
    here = [one.argument if isinstance(one, DeviceArray) else one for one in given]
    kernel.launch(here, (128, 1, 1), (256, 1, 1), ours.launcher.to_stream(0))
    assert isinstance(ours.launcher, FixedLaunch)
    assert launched[0] == launched[1] == launched[2] and len(launched[0][-1]) > len(arguments)


def test_an_array_of_another_type_is_refused(launched):
    source, memory = array_kernels(), DeviceBuffer()
    ours = Launcher(module_of(source).count_flags, source.kernels["count_flags"])
    with pytest.raises(DeviceError, match=r"expected .*int32.*got an array of int64"):
        ours.launch(128, 256, 0, [0, 3, memory.empty(3, np.int64), memory.empty(1, np.int64)])
    assert not launched


def changed(*_):
    raise RuntimeError("another release")


@pytest.mark.parametrize("what", ["_Kernel", "LaunchConfig", "missing"])
def test_unknown_releases_of_numba_cuda_use_their_own_launcher(what, launched, monkeypatch):
    import numba.cuda.dispatcher as numba_cuda

    if what == "missing":
        monkeypatch.delattr(numba_cuda, "launch")
    elif what == "_Kernel":
        monkeypatch.setattr(numba_cuda._Kernel, "_prepare_args", changed)
    else:
        monkeypatch.setattr(numba_cuda, what, changed)
    own = []
    monkeypatch.setattr(CompilerLaunch, "launch", lambda *given: own.append(given[1:]))
    source, memory = array_kernels(), DeviceBuffer()
    ours = Launcher(module_of(source).count_flags, source.kernels["count_flags"])
    given = [0, 3, memory.empty(3, np.int32), memory.empty(1, np.int64)]
    for _ in range(2):
        ours.launch(128, 256, 0, given)
    assert own == 2 * [(128, 256, 0, given)] and not launched


def test_a_launch_that_fails_later_is_not_retried(launched, monkeypatch):
    source, memory = array_kernels(), DeviceBuffer()
    ours = Launcher(module_of(source).count_flags, source.kernels["count_flags"])
    given = [0, 3, memory.empty(3, np.int32), memory.empty(1, np.int64)]
    ours.launch(128, 256, 0, given)
    ours.launcher.begin = changed
    with pytest.raises(RuntimeError, match="another release"):
        ours.launch(128, 256, 0, given)
    assert isinstance(ours.launcher, FixedLaunch) and len(launched) == 1


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler of C")
def test_programs_run_through_all_of_numba_cuda_to_the_driver(tmp_path):
    here = Path(__file__).parents[1] / "support"
    build = ["cc", "-w", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", here / "driver_on_cpu.c", "-ldl"]
    subprocess.run([*build, "-o", tmp_path / "libcuda.so.1"], check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, here / "driven.py"], env=environment, capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told.pop("ways") == ["FixedLaunch"]
    assert not {what: wrong for what, wrong in told.items() if wrong}
