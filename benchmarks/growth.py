"""How time and memory grow with the graph, from R-MAT scale 14 to 22: the factor for each doubling of the edges.

Each scale runs in its own process. A claim is the factor for one doubling, fitted over all scales (least squares of the
logarithms), relative to 2, the factor of linear growth; it must be from 0.8 to 1.2. Memory is what the graph and the
rounds add to a process that holds the caller's edges. Small graphs fit into caches and large ones do not, so the time
per edge is printed, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import Claim, in_new_process, parser_of
from peers.contest import TITLES
from peers.ours import Ours
from peers.peer import NotRun
from peers.workloads import rmat

from dgraph.bench.resources import resident, restart_peak
from dgraph.testing.verify import verify

OPERATIONS = ("pagerank", "bfs", "sssp", "wcc", "label_propagation", "core_number")


def main() -> None:
    options = parser_of(__doc__, trials=3)
    options.add_argument("--scales", type=int, nargs="+", default=list(range(14, 23, 2)))
    options.add_argument("--operations", nargs="+", choices=list(TITLES), default=list(OPERATIONS))
    given = options.parse_args()
    found: dict[int, dict[str, Any]] = {}
    for scale in given.scales:
        found[scale] = in_new_process(measure, scale, given.operations, given.trials)
        print(f"scale {scale}, {found[scale]['edges'] / 1e6:.2f} M edges", flush=True)
        for operation, (seconds, size) in found[scale]["operations"].items():
            edges = found[scale]["edges"]
            print(f"  {operation:18} {seconds / edges * 1e9:8.2f} ns an edge   {size / edges:8.1f} bytes an edge")
    name = f"R-MAT scale {given.scales[0]} to {given.scales[-1]}"
    for operation in given.operations:
        if any(operation not in one["operations"] for one in found.values()) or len(found) < 2:
            continue
        for column, kind in ((0, "time"), (1, "memory")):
            factor = doubling(
                [one["edges"] for one in found.values()],
                [one["operations"][operation][column] for one in found.values()],
            )
            what = f"{TITLES[operation]}: {kind} for twice the edges, {name}"
            Claim("growth", what, "linear", 1.2, unit="times", floor=0.8).record([factor], [2.0])


def doubling(edges: list[int], values: list[float]) -> float:
    """The factor by which values grow with each doubling of the edges."""
    return float(2 ** np.polyfit(np.log(edges), np.log(values), 1)[0])


def measure(scale: int, operations: list[str], trials: int) -> dict[str, Any]:
    """The seconds and bytes of each operation on one graph in this process; every answer is verified."""
    small, workload = rmat(8), rmat(scale)
    edges, found = workload.edges, {}
    for operation in operations:
        mine = Ours()
        try:
            mine.note(operation)
            mine.load(operation, small)
        except NotRun:
            continue
        before = restart_peak()
        mine.load(operation, workload)
        restart_peak()
        runs = [mine.trial(operation, workload) for _ in range(trials)]
        peak = resident("VmHWM") - before
        verify(operation, edges, runs[-1].answer, **workload.known(operation))
        found[operation] = min(run.seconds for run in runs), peak
    return {"edges": len(edges.source), "operations": found}


if __name__ == "__main__":
    main()
