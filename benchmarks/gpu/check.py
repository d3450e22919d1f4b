"""All that can be checked on a machine with an NVIDIA GPU, in one go: is it found, are answers right, how fast is it.

    python benchmarks/gpu/check.py [--scale 22] [--quick]

It prints a line a check, and at the end the same as Markdown for RESULTS.md. `--quick` also runs in Numba's simulator
(NUMBA_ENABLE_CUDASIM=1), where seconds mean nothing.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

import dgraph as dg
from dgraph.devices import probe
from dgraph.testing.verify import verify

PACKAGES = ("dgraph", "numba", "numba-cuda", "cupy-cuda13x", "cupy-cuda12x", "numpy", "dask", "cugraph-cu13")
CEILINGS = {"pagerank": 113e9, "sssp": 95e9, "wcc": 115e9}  # edges a second on an H200, by its random memory access
OPERATIONS: dict[str, Callable[..., Any]] = {
    "pagerank": lambda graph, **options: dg.pagerank(graph, max_iter=20, tol=0, **options),
    "bfs": lambda graph, **options: dg.bfs(graph, source_of(graph), **options),
    "sssp": lambda graph, **options: dg.sssp(graph, source_of(graph), **options),
    "wcc": dg.wcc,
    "cdlp": lambda graph, **options: dg.cdlp(graph, max_iter=5, **options),
    "core_number": dg.core_number,
    "katz": lambda graph, **options: dg.katz(graph, alpha=1e-4, **options),
    "hits": dg.hits,
    "label_propagation": lambda graph, **options: dg.label_propagation(graph, max_iter=5, **options),
}


@dataclass
class Findings:
    """What was seen, a line each; a check that fails does not end the others."""

    lines: list[tuple[str, str, str]] = field(default_factory=list)

    def check(self, what: str, do: Callable[[], str]) -> None:
        try:
            said, how = do(), "ok"
        except Exception as error:  # whatever it is, it belongs into the table
            said, how = f"{type(error).__name__}: {str(error)[:200]}", "FAILED"
        self.lines.append((what, how, said))
        print(f"{how:6}  {what}: {said}", flush=True)

    @property
    def markdown(self) -> str:
        rows = [f"| {what} | {how} | {said.replace('|', '/')} |" for what, how, said in self.lines]
        return "\n".join(["| check | | found |", "|---|---|---|", *rows])

    @property
    def failed(self) -> int:
        return sum(how == "FAILED" for _, how, _ in self.lines)


def source_of(graph: dg.Graph) -> int:
    """A vertex from which much can be reached."""
    degrees = dg.degrees(graph, device="cpu").compute()
    return int(degrees["vertex"][degrees["out_degree"].to_numpy().argmax()])


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


def answers(name: str, graph: dg.Graph) -> str:
    """By the verifier, and the same as the CPU's."""
    operation = OPERATIONS[name]
    on_gpu = operation(graph, device="cuda")
    if name in ("pagerank", "wcc"):
        verify(name, graph, on_gpu, **({"rounds": 20} if name == "pagerank" else {}))
    there, here = on_gpu.compute(), operation(graph, device="cpu", engine="gas").compute()
    for column in there.columns:
        if there[column].dtype.kind == "f":
            np.testing.assert_allclose(there[column], here[column], rtol=1e-8)
        else:
            assert there[column].equals(here[column]), f"column {column} differs"
    return f"{len(there):,} vertices, {on_gpu.rounds} rounds"


def speed(name: str, graph: dg.Graph) -> str:
    """Edges a second in supersteps, from the report; the first run compiles."""
    OPERATIONS[name](graph, device="cuda")
    begun = time.perf_counter()
    result = OPERATIONS[name](graph, device="cuda")
    seconds, report = time.perf_counter() - begun, result.report
    rate = report["edges"].sum() / report["busy"].sum()
    begun = time.perf_counter()
    OPERATIONS[name](graph, device="cpu")
    on_cpu = time.perf_counter() - begun
    share = f", {rate / CEILINGS[name]:.1%} of an H200's ceiling" if name in CEILINGS else ""
    return f"{seconds:.3f} s, {rate / 1e9:.2f} G edges/s{share}; on the CPU {on_cpu:.3f} s ({on_cpu / seconds:.2f} x)"


def launches() -> str:
    """Of a superstep with almost no work: a path, one vertex a round."""
    length = 200
    path = dg.Graph.from_edges({"src": np.arange(length), "dst": np.arange(1, length + 1)})
    dg.sssp(path, 0, predecessors=False, device="cuda")
    result = dg.sssp(path, 0, predecessors=False, device="cuda")
    return f"{1e6 * result.report['busy'].sum() / result.rounds:.0f} microseconds a superstep (wanted: below 100)"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scale", type=int, default=22, help="of the R-MAT graph whose speed is measured")
    options.add_argument("--quick", action="store_true", help="tiny graphs only")
    given = options.parse_args()
    findings = Findings()
    findings.check("device", found)
    findings.check("versions", versions)
    small = dg.rmat(scale=4 if given.quick else 16, seed=2, weights=(1, 9), directed=True)
    for name in OPERATIONS:
        findings.check(f"answers of {name}", lambda name=name: answers(name, small))
    if not given.quick:
        findings.check("launches", launches)
        large = dg.rmat(scale=given.scale, seed=1, weights=(1, 255))
        for name in ("pagerank", "bfs", "sssp", "wcc"):
            findings.check(f"speed of {name}, R-MAT scale {given.scale}", lambda name=name: speed(name, large))
    print(f"\n{findings.markdown}\n\n{findings.failed} checks failed")
    return 1 if findings.failed else 0


if __name__ == "__main__":
    sys.exit(main())
