"""The CPU: runs generated kernels over ranges of rows, on several threads of this process if there is enough work."""

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

SMALLEST_RANGE = 1 << 13  # rows or edges: starting another thread for less costs more than it saves
RANGES_PER_THREAD = 4  # several for each thread, so that no thread waits long for another


class Cpu:
    """The kernels of one program. `once` runs those that need one thread per partition, `rows` the others."""

    name = "cpu"
    arrays = IN_PROCESS
    lanes: Sequence[Any] = ()  # of daemons

    def __init__(self, kernels: Kernels, num_threads: int = 1):
        self.kernels, self.num_threads = kernels, num_threads

    @property
    def one_thread(self) -> bool:
        """Whether kernels run on a single thread."""
        return self.num_threads == 1

    def counted(self) -> dict[str, Any]:
        """Columns of the report."""
        return {"device": self.name}

    def disconnect(self) -> None:
        """Nothing to release."""

    def once(self, name: str, count: int, values: Mapping[str, Any]) -> Any:
        """Run a kernel over all rows in one call."""
        return self.kernels[name].run_rows(0, count, values)

    def team(
        self, name: str, threads: int, values: Mapping[str, Any], beside: Sequence[Callable[..., Any]] = ()
    ) -> None:
        """Run a kernel on several threads at once, which synchronise inside it. The functions in `beside` join the team
        as further members."""
        kernel = self.kernels[name]
        arguments = kernel.names[3:]  # after rank, size and signals
        team(kernel, threads, *(values[argument] for argument in arguments), beside=beside)

    def rows(
        self, name: str, count: int, values: Mapping[str, Any], first: int = 0, block: int | None = None
    ) -> list[tuple[int, Any]]:
        """Run a kernel over ranges of rows in parallel; each has `block` rows unless that is None. Returns where each
        range begins and what the kernel returned for it."""
        kernel = self.kernels[name]
        needs_scratch = "slots" in kernel.names

        def run(bounds: tuple[int, int]) -> tuple[int, Any]:
            own = {**values, **scratch(values["indptr"], *bounds)} if needs_scratch else values
            return bounds[0], kernel.run_rows(*bounds, own)

        if block is None:
            ranges = self.ranges(kernel, first, count, values)
        else:
            ranges = [(lo, min(lo + block, count)) for lo in range(first, count, block)]
        return threads.parallel_map(run, ranges) if self.num_threads > 1 else [run(bounds) for bounds in ranges]

    def ranges(self, kernel: Kernel, lo: int, hi: int, values: Mapping[str, Any]) -> Sequence[tuple[int, int]]:
        """Ranges of rows with about equal work: edges if the kernel reads any, otherwise rows."""
        by_edges, count = "indptr" in kernel.names, hi - lo
        pieces = RANGES_PER_THREAD * self.num_threads if by_edges else self.num_threads
        work = int(values["indptr"][hi] - values["indptr"][lo]) if by_edges else count
        pieces = min(pieces, 1 + work // SMALLEST_RANGE, max(count, 1)) if self.num_threads > 1 else 1
        if pieces == 1:
            return [(lo, hi)]
        if not by_edges:
            return list(pairwise(lo + count * i // pieces for i in range(pieces + 1)))
        edges = values["indptr"][lo : hi + 1]
        cuts = lo + np.searchsorted(edges, edges[0] + np.linspace(0, work, pieces + 1)[1:-1])
        return [(a, b) for a, b in pairwise([lo, *cuts.tolist(), hi]) if a < b]


def scratch(indptr: np.ndarray, lo: int, hi: int) -> dict[str, np.ndarray]:
    """Scratch arrays for the largest neighbourhood among some rows."""
    largest = int(np.diff(indptr[lo : hi + 1]).max(initial=0))
    return {name: np.empty(times * (largest + 1), np.int64) for name, times in SCRATCH.items()}
