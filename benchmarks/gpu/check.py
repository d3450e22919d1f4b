"""Runs all checks for a machine with an NVIDIA GPU: whether the GPU is found, whether answers are right, and its speed.

    PYTHONPATH=. python benchmarks/gpu/check.py [PART ...] [--scales 22 24] [--seconds 1700] [--write [FILE]] [--quick]

If a command may take at most ten minutes, and half an hour must suffice for everything including the installation of
packages, split the checks into three commands:

    check.py supersteps speed --seconds 500 --write
    check.py streaming answers --seconds 500 --write
    check.py rapids clusters --seconds 500 --write

Parts are supersteps, speed, streaming, answers, rapids and clusters, the most informative first. Each part has its own
process, so a check that fails, crashes or hangs becomes a line of the table, with its traceback, and the others
continue. Everything ends in time; checks for which no time is left are not run. `--write` adds the table to RESULTS.md
or another file, and updates it every few seconds. `--quick` uses tiny graphs, in this process. It also runs in Numba's
simulator (NUMBA_ENABLE_CUDASIM=1), where timings are meaningless.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import answers
import measures
from findings import Findings, end_with, keep

import dgraph as dg
from dgraph.bench.machine import installed
from dgraph.cugraph.operations import OPERATIONS
from dgraph.devices import probe

RESULTS = Path(__file__).with_name("RESULTS.md")
PACKAGES = (
    *("dask-dgraph", "numpy", "dask", "numba", "numba-cuda"),
    *("cuda-core", "cuda-bindings", "cupy-cuda12x", "cupy-cuda13x"),
    *("cudf-cu12", "cudf-cu13", "dask-cuda", "pylibcugraph-cu12", "pylibcugraph-cu13"),
    *("distributed-ucxx-cu12", "distributed-ucxx-cu13", "libucx-cu12", "libucx-cu13", "rmm-cu12", "rmm-cu13"),
)
UCXX = "device buffers over UCXX, two workers"
OTHERS = {  # what one GPU cannot show
    "several GPUs": "needs several: a worker each, dask_cuda.LocalCUDACluster, over TCP and over UCXX with NVLink",
    "cuGraph on several GPUs": "needs several",
}


def found() -> str:
    if probe.simulated():
        return "Numba's simulator: seconds mean nothing"
    probe.require_cuda()
    gpus = (f"{one.name}, {one.capability[0]}.{one.capability[1]}, {one.memory >> 30} GiB" for one in probe.gpus())
    import cupy

    return f"{', '.join(gpus)}, driver for CUDA {cupy.cuda.runtime.driverGetVersion()}; {os.cpu_count()} CPU cores"


def versions() -> str:
    known = (f"{name} {version}" for name, version in installed(PACKAGES).items())
    return ", ".join([f"Python {platform.python_version()}", *known])


def of_answers(findings: Findings, quick: bool) -> None:
    small = dg.rmat(scale=4 if quick else 16, seed=2, weights=(1, 9), directed=True)
    if not probe.simulated():
        for rules in ({}, {"repeats": "sum"}, {"directed": False, "loops": "drop"}, {"parts": 3, "policy": "hybrid"}):
            findings.check(f"a graph built on the GPU, {rules}", partial(measures.building, small, **rules))
        far = {name: column << 40 if name != "weight" else column for name, column in small.edges.compute().items()}
        far_apart = dg.Graph.from_edges(far, weight="weight")
        findings.check("a graph of ids far apart built on the GPU", partial(measures.building, far_apart, parts=2))
    for name in measures.CEILINGS if quick else answers.OPERATIONS:
        findings.check(f"answers of {name}", answers.of_operation, name, small)
    for kind in ("cuda",) if quick else ("cuda", "cuda own process"):
        findings.check(f"answers of a daemon, {kind}", answers.of_daemon, kind, small)
    for update in ("least_squares", "gradient"):
        findings.check(f"answers of factorize, {update}", answers.of_factors, update, 5 if quick else 15)
    if not quick:
        cut = dg.rmat(scale=14, seed=2, parts=2)
        for engine in answers.ENGINES:
            findings.check(f"answers of engine {engine}", answers.of_engine, engine, cut)


def of_supersteps(findings: Findings, quick: bool) -> None:
    findings.check("device", found)
    findings.check("versions", versions)
    findings.check("what its memory gives", measures.memory_rates, 1 << (10 if quick else 28))
    findings.check("what the host pays", measures.launches, 2 if quick else 1000)
    findings.check("a superstep without work", measures.superstep, 4 if quick else 500)
    findings.check("what crosses in a superstep", measures.crossing, 3 if quick else 100)


def of_streaming(findings: Findings, quick: bool) -> None:
    dense = dg.uniform(vertices=40, edges=12_000) if quick else dg.uniform(vertices=1 << 22, edges=1 << 28)
    findings.check("a graph twice the memory budget", measures.streaming, dense)


def of_rapids(findings: Findings, quick: bool) -> None:
    """Check what needs RAPIDS packages other than CuPy and numba-cuda."""
    small = dg.rmat(scale=12, seed=2, weights=(1, 9), directed=True)
    checks: dict[str, Any] = {"frames of cuDF": (("cudf", "dask_cudf"), answers.of_cudf, (small,))}
    checks |= {f"{name} by cuGraph": (("pylibcugraph",), answers.of_cugraph, (name, small)) for name in OPERATIONS}
    for what, (packages, check, arguments) in checks.items():
        if missing := answers.lacks(*packages):
            findings.left_out(what, missing)
        else:
            findings.check(what, check, *arguments)


def of_clusters(findings: Findings, quick: bool) -> None:
    findings.check("messages between partitions of one GPU", answers.of_direct_mail, 18)
    findings.check("CPU and GPU workers together", answers.of_mixed_cluster, 18)
    if missing := answers.lacks("dask_cuda"):
        findings.left_out("dask_cuda.LocalCUDACluster", missing)
    else:
        findings.check("dask_cuda.LocalCUDACluster", answers.of_dask_cuda, 18)
    if missing := answers.lacks("distributed_ucxx", "rmm"):
        findings.left_out(UCXX, missing)
    else:
        findings.check(UCXX, answers.of_ucxx, 20)


def of_speed(findings: Findings, scale: int) -> None:
    large = dg.rmat(scale=scale, seed=1, weights=(1, 255))
    speed = measures.Speed(large)
    for what, check in {
        "rate": speed.rate,
        "CPU beside": speed.beside_cpu,
        "cuGraph beside": speed.beside_cugraph,
    }.items():
        for name in measures.CEILINGS:
            findings.check(f"{what}, {name}, R-MAT scale {scale}", check, name)
    if not probe.simulated():
        findings.check(f"building, R-MAT scale {scale}", measures.building, large)


PARTS: dict[str, tuple[Callable[[Findings, Any], None], float]] = {  # checks, and their share of the time
    "supersteps": (of_supersteps, 2),
    "speed": (of_speed, 6),  # for each scale
    "streaming": (of_streaming, 3),
    "answers": (of_answers, 5),  # long, because each program is compiled about four times
    "rapids": (of_rapids, 3),
    "clusters": (of_clusters, 3),
}
QUICK = "supersteps", "speed", "streaming", "answers"
TINY = 3  # the scale of graphs for --quick


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    options.add_argument("--scales", type=int, nargs="+", default=[22, 24], help="of the R-MAT graphs that are timed")
    options.add_argument("--seconds", type=float, default=1700, help="until all must be over")
    options.add_argument("--write", nargs="?", const=RESULTS, type=Path, help="the file to add the table to")
    options.add_argument("--quick", action="store_true", help="tiny graphs only")
    options.add_argument("--into", type=Path, help=argparse.SUPPRESS)  # for the process of a part: its file of findings
    options.add_argument("--of", type=int, help=argparse.SUPPRESS)  # for the process of a part: its parent
    given = options.parse_args()
    if unknown := set(given.parts) - {*PARTS}:
        options.error(f"there is no part {', '.join(unknown)}; choose of {', '.join(PARTS)}")
    if probe.simulated():
        sys.setswitchinterval(1e-4)  # the simulator's Python threads meet at barriers
    findings, over = Findings(given.into), time.monotonic() + given.seconds
    if given.into is not None:
        end_with(given.of)
        _one(findings, given.parts[0], given.scales[0])
        return 0
    if missing := probe.missing_requirements():
        options.error(f"there is nothing to check: this process lacks {' and '.join(missing)}. {probe.INSTALL}")
    before = given.write.read_text() if given.write and given.write.exists() else ""
    _keep(given.write, before, findings)  # fail now if the file is not writable
    parts = given.parts or (QUICK if given.quick else PARTS)
    scales = [TINY] if given.quick else given.scales
    jobs = [(part, scale) for part in parts for scale in (scales if part == "speed" else scales[:1])]
    for number, (part, scale) in enumerate(jobs):
        if given.quick:
            _one(findings, part, scale, quick=True)
        else:
            command = [sys.executable, __file__, part, "--scales", str(scale), "--of", str(os.getpid()), "--into"]
            left = over - time.monotonic()
            share = PARTS[part][1] / sum(PARTS[one][1] for one, _ in jobs[number:])  # a single part gets all the time
            name = f"speed --scales {scale}" if part == "speed" else part
            findings.run(name, command, left * share, partial(_keep, given.write, before, findings))
        _keep(given.write, before, findings)
    for what, why in OTHERS.items():
        findings.left_out(what, why)
    print(f"\n{findings.markdown}\n\n{findings.failed} checks failed", flush=True)
    _keep(given.write, before, findings)
    return 1 if findings.failed else 0


def _one(findings: Findings, part: str, scale: int, quick: bool = False) -> None:
    PARTS[part][0](findings, scale if part == "speed" else quick)


def _keep(file: Path | None, before: str, findings: Findings) -> None:
    if file is not None:
        keep(file, f"{before}\n## {datetime.now(UTC):%Y-%m-%d}\n\n{findings.markdown}\n")


if __name__ == "__main__":
    sys.exit(main())
