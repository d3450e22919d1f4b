"""All that can be checked on a machine with an NVIDIA GPU, in one go: is it found, are answers right, how fast is it.

    python benchmarks/gpu/check.py [--scales 22 24] [--write] [--quick]

It prints a line a check and goes on whatever fails; at the end the same as Markdown, with what could not be run, which
`--write` puts into RESULTS.md. `--quick` also runs in Numba's simulator (NUMBA_ENABLE_CUDASIM=1), where seconds mean
nothing.
"""

from __future__ import annotations

import argparse
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import measures
from findings import Findings

import dgraph as dg
from dgraph.devices import probe

RESULTS = Path(__file__).with_name("RESULTS.md")
PACKAGES = ("dgraph", "numba", "numba-cuda", "cupy-cuda13x", "cupy-cuda12x", "numpy", "dask", "cugraph-cu13")
OTHERS = {  # what one GPU cannot show
    "several GPUs": "a worker each: dask_cuda.LocalCUDACluster",
    "device buffers over UCXX": "two GPUs and UCX",
    "cugraph.dask": "a cluster of several GPUs of its own",
}


def found() -> str:
    if probe.simulated():
        return "Numba's simulator: seconds mean nothing"
    probe.need_cuda()
    return ", ".join(
        f"{one.name}, {one.capability[0]}.{one.capability[1]}, {one.memory >> 30} GiB" for one in probe.gpus()
    )


def versions() -> str:
    known = []
    for name in PACKAGES:
        try:
            known.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join([f"Python {platform.python_version()}", *known])


def check(findings: Findings, scales: list[int], quick: bool) -> None:
    findings.check("device", found)
    findings.check("versions", versions)
    small = dg.rmat(scale=4 if quick else 16, seed=2, weights=(1, 9), directed=True)
    for name in measures.TIMED if quick else measures.OPERATIONS:
        findings.check(f"answers of {name}", measures.answers, name, small)
    for kind in ("cuda", "cuda own process"):
        findings.check(f"answers of a daemon, {kind}", measures.answers_of_daemon, kind, small)
    findings.check("a path, round by round", measures.launches, 8 if quick else 500)
    findings.check("what crosses in a superstep", measures.crossing, 8 if quick else 100)
    dense = dg.uniform(vertices=40, edges=12_000) if quick else dg.uniform(vertices=1 << 22, edges=1 << 28)
    findings.check("a graph twice the memory budget", measures.streaming, dense, not quick)
    if quick:
        findings.left_out("speed", "--quick")
        return
    findings.check("CPU and GPU workers together", measures.mixed)
    for scale in scales:
        large = dg.rmat(scale=scale, seed=1, weights=(1, 255))
        for name in measures.TIMED:
            findings.check(f"speed of {name}, R-MAT scale {scale}", measures.speed, name, large)
            if measures.has_cugraph():
                findings.check(f"{name} beside cuGraph, R-MAT scale {scale}", measures.against_cugraph, name, large)
            else:
                findings.left_out(f"{name} beside cuGraph, R-MAT scale {scale}", "cuGraph is not installed")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scales", type=int, nargs="+", default=[22, 24], help="of the R-MAT graphs that are timed")
    options.add_argument("--write", action="store_true", help="append what was found to RESULTS.md")
    options.add_argument("--quick", action="store_true", help="tiny graphs only")
    given = options.parse_args()
    findings = Findings()
    check(findings, given.scales, given.quick)
    for what, needs in OTHERS.items():
        findings.left_out(what, f"needs {needs}")
    print(f"\n{findings.markdown}\n\n{findings.failed} checks failed")
    if given.write:
        with RESULTS.open("a") as file:
            file.write(f"\n## {datetime.now(UTC):%Y-%m-%d}\n\n{findings.markdown}\n")
    return 1 if findings.failed else 0


if __name__ == "__main__":
    sys.exit(main())
