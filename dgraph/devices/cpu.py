"""The CPU: generated kernels over ranges of rows, on threads of this process where that pays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dgraph.codegen.compiler import Kernel, Kernels
from dgraph.codegen.neighbourhood_merges import SCRATCH
from dgraph.native import threads
from dgraph.native.team import team
from dgraph.tables.vertex_arrays import IN_PROCESS

SMALL = 1 << 13  # rows and edges: handing less to a second thread costs more than it saves
RANGES = 4  # for each thread, so that none waits long for another


class Cpu:
    """The kernels of one program. Those that want one thread a partition are run by `once`, others by `rows`."""

    name = "cpu"
    arrays = IN_PROCESS

    def __init__(self, kernels: Kernels, num_threads: int = 1):
        self.kernels, self.num_threads = kernels, num_threads

    def counted(self) -> dict[str, Any]:
        """Columns of the report: none."""
        return {}

    def close(self) -> None:
        """It holds nothing."""

    def once(self, name: str, count: int, values: Mapping[str, Any]) -> Any:
        """Run a kernel over all rows in one call."""
        return self.kernels[name].on(0, count, values)

    def team(
        self, name: str, threads: int, values: Mapping[str, Any], beside: Sequence[Callable[..., Any]] = ()
    ) -> None:
        """Run a kernel on so many threads at once, which meet inside it; the functions `beside` are more members of the
        team."""
        member = TeamKernel(self.kernels[name])
        team(member, threads, *(values[name] for name in member.names), beside=beside)

    def rows(
        self, name: str, count: int, values: Mapping[str, Any], first: int = 0, block: int | None = None
    ) -> list[tuple[int, Any]]:
        """Run a kernel over ranges of rows side by side, each of `block` rows if that is given. Returns where each
        range begins and what the kernel returned for it."""
        kernel = self.kernels[name]
        needs_scratch = "slots" in kernel.names

        def run(bounds: tuple[int, int]) -> tuple[int, Any]:
            own = {**values, **scratch(values["indptr"], *bounds)} if needs_scratch else values
            return bounds[0], kernel.on(*bounds, own)

        if block is None:
            ranges = self.ranges(kernel, first, count, values)
        else:
            ranges = [(lo, min(lo + block, count)) for lo in range(first, count, block)]
        return threads.each(run, ranges) if self.num_threads > 1 else [run(bounds) for bounds in ranges]

    def ranges(self, kernel: Kernel, lo: int, hi: int, values: Mapping[str, Any]) -> Sequence[tuple[int, int]]:
        """Ranges of rows of about equal work: by edges, where the kernel reads any."""
        by_edges, count = "indptr" in kernel.names, hi - lo
        pieces = RANGES * self.num_threads if by_edges else self.num_threads
        work = int(values["indptr"][hi] - values["indptr"][lo]) if by_edges else count
        pieces = min(pieces, 1 + work // SMALL, max(count, 1)) if self.num_threads > 1 else 1
        if pieces == 1:
            return [(lo, hi)]
        if not by_edges:
            return list(pairwise(lo + count * i // pieces for i in range(pieces + 1)))
        edges = values["indptr"][lo : hi + 1]
        cuts = lo + np.searchsorted(edges, edges[0] + np.linspace(0, work, pieces + 1)[1:-1])
        return [(a, b) for a, b in pairwise([lo, *cuts.tolist(), hi]) if a < b]


class TeamKernel:
    """A generated kernel in the form that a team calls: compiled beforehand, its other arguments in their order."""

    def __init__(self, kernel: Kernel):
        self.kernel, self.names = kernel, kernel.names[3:]  # after rank, size and signals

    def compile(self, types: Any) -> None:
        self.kernel.compile()

    def __call__(self, *arguments: Any) -> Any:
        return self.kernel(*arguments)


def scratch(indptr: np.ndarray, lo: int, hi: int) -> dict[str, np.ndarray]:
    """Scratch for the largest neighbourhood among some rows."""
    largest = int(np.diff(indptr[lo : hi + 1]).max(initial=0))
    return {name: np.empty(times * (largest + 1), np.int64) for name, times in SCRATCH.items()}
