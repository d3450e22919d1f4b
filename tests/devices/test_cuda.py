"""CUDA without a GPU: kernels in Numba's simulator, on one thread of a CPU, and compiled for a GPU that is not here."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
import dgraph.ops.wcc
from dgraph.devices import probe
from dgraph.devices.own_device import share_arrays
from dgraph.errors import DeviceError, OptionError

SUPPORT = Path(__file__).parents[1] / "support"
BUDGET = 64  # registers a thread: the 65,536 of a multiprocessor hold four blocks of 256 threads
LARGE = 128  # two blocks: for the equations of `factorize`, whose sums take longer than reading what is summed
EDGES = dg.rmat(scale=4, edge_factor=4, seed=1)


def told_by(script: str, *arguments: str) -> dict:
    done = subprocess.run([sys.executable, SUPPORT / script, *arguments], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_program_runs_in_the_simulator():
    wrong = {program: told for program, told in told_by("simulated.py").items() if told}
    assert not wrong


@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed: `make test-cuda` installs it")
@pytest.mark.parametrize("capability", ["7.5", "8.0", "9.0", "10.0"])
def test_every_kernel_compiles_within_its_budget(capability):
    for kernel, (registers, stack, spilled) in told_by("compiled.py", capability).items():
        assert registers <= (LARGE if kernel.startswith("Factors.") else BUDGET), kernel
        assert stack == spilled == 0, kernel


OPERATIONS = {
    "bfs": lambda graph, **options: dg.bfs(graph, 5, **options),
    "sssp": lambda graph, **options: dg.sssp(graph, 5, **options),
    "wcc": dg.wcc,
    "pagerank": lambda graph, **options: dg.pagerank(graph, max_iter=10, tol=0, **options),
    "cdlp": lambda graph, **options: dg.cdlp(graph, max_iter=4, **options),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_gpu_answers_on_a_large_graph_equal_the_cpu_answers(name, one_thread):
    graph = dg.rmat(scale=14, edge_factor=8, seed=5, weights=(1, 9), parts=2)
    found = OPERATIONS[name](graph, device="cuda")
    assert found.report.options["device"] == "cuda" and set(found.report["device"]) == {"cuda"}
    pd.testing.assert_frame_equal(found.compute(), OPERATIONS[name](graph, device="cpu").compute(), rtol=1e-9)


@pytest.mark.skipif(bool(probe.gpus()), reason="there is a GPU here")
def test_no_gpu_is_one_error_that_names_all_that_is_missing():
    with pytest.raises(DeviceError, match=r"a GPU that the CUDA driver.*Install dask-dgraph\[cuda12\]"):
        dg.wcc(EDGES, device="cuda")


def test_a_gpu_that_is_too_old_does_not_count(monkeypatch):
    monkeypatch.setattr(probe, "_installed", lambda module: True)
    for capability, lacks in {(6, 1): True, (7, 0): True, (7, 5): False, (12, 0): False}.items():
        device = probe.GpuDescription("a GPU", capability, 1 << 34)
        monkeypatch.setattr(probe, "gpus", lambda device=device: (device,))
        found = " and ".join(probe.missing_requirements({}))
        assert ("capability 7.5 or later (a GPU has" in found) == lacks == bool(found)


def test_incompatible_package_versions_are_listed_as_missing():
    assert probe._incompatible_releases("2.5.2", "0.30.4") == (
        "NumPy below 2.5 (it has 2.5.2), as numba-cuda 0.30.4 needs",
    )
    assert not probe._incompatible_releases("2.4.6", "0.30.4") and not probe._incompatible_releases("2.5.2", "0.31.0")


@pytest.mark.parametrize(
    "options", [{"engine": "local"}, {"engine": dg.Gas(deterministic=True)}, {"daemons": "own process"}]
)
def test_options_for_cpus_alone_are_refused_on_a_gpu(options):
    with pytest.raises(OptionError, match=r"and device=dg\.Cuda\(\) are mutually exclusive: .*Leave one out"):
        dg.wcc(EDGES, device="cuda", **options)


def test_operations_with_kernels_for_the_cpu_alone_say_so():
    with pytest.raises(OptionError, match="the kernels run only on the CPU"):
        dg.triangles(EDGES, device="cuda")


def test_explain_prints_kernels_of_both_targets():
    on_cpu, on_gpu = (dg.explain(dgraph.ops.wcc.Components, target=target) for target in ("cpu", "cuda"))
    assert "from numba import njit" in on_cpu and "atomic" not in on_cpu
    assert "atomic_min(inbox_message, v, new_message)" in on_gpu and "kernels for cuda" in on_gpu
    with pytest.raises(OptionError, match="choose one of cpu, cuda"):
        dg.explain(dgraph.ops.wcc.Components, target="tpu")


def test_cuda_is_imported_only_where_it_is_used():
    text = "import sys, dgraph as dg; dg.wcc(dg.grid(rows=3, cols=3), engine='gas').compute()"
    text += "; assert not {'numba.cuda', 'cupy', 'cudf'} & set(sys.modules), 'imported'"
    subprocess.run([sys.executable, "-c", text], check=True)


def test_threads_of_the_simulator_share_one_array():
    """All that ask from one line, at once or not; two lines have two."""
    kernelapi = pytest.importorskip("numba.cuda.simulator.kernelapi")
    share_arrays()
    shared, ready = kernelapi.FakeCUDAShared(0), threading.Barrier(8)

    def ask(_):
        ready.wait()
        one = shared.array(4, np.float64)
        other = shared.array(2, np.int64)
        return one, other

    with ThreadPoolExecutor(8) as threads:
        (one, other), *others = threads.map(ask, range(8))
    assert all(mine is one and its is other for mine, its in others)
    assert (one.shape, one.dtype, other.shape, other.dtype) == ((4,), np.float64, (2,), np.int64)


def test_the_gpu_check_script_runs_in_the_simulator():
    script = SUPPORT.parents[1] / "benchmarks" / "gpu" / "check.py"
    command, simulated = [sys.executable, "-W", "ignore", script, "--quick"], {**os.environ, probe.SIMULATOR: "1"}
    done = subprocess.run(command, env=simulated, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stdout
