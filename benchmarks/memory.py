"""Memory while PageRank runs, including the graph, against 9 bytes per edge and 64 per vertex, in its own process.

The baseline is a process that holds the caller's edge arrays and has run PageRank on a few edges, so that memory which
any run needs does not count. The peak is that of the rounds; `build_memory.py` measures the build. Linux only.
"""

from __future__ import annotations

import numpy as np
from harness import Claim, in_new_process, parser_of
from peers.workloads import GRAPHS

import dgraph as dg
from dgraph.bench.resources import resident, restart_peak
from dgraph.testing.verify import verify

EDGE, VERTEX = 9, 64  # bytes per edge and per vertex


def main() -> None:
    options = parser_of(__doc__, scale=20, trials=3)
    options.add_argument("--graphs", nargs="+", choices=list(GRAPHS), default=list(GRAPHS))
    given = options.parse_args()
    for graph in given.graphs:
        found = [in_new_process(measure, graph, given.scale) for _ in range(given.trials)]
        limit = (EDGE * found[0]["edges"] + VERTEX * found[0]["vertices"]) / 1e6
        what = f"memory while PageRank runs, graph included: {found[0]['title']}"
        claim = Claim("memory", what, f"{EDGE} bytes an edge, {VERTEX} a vertex", 1.0, unit="MB")
        claim.record([one["bytes"] / 1e6 for one in found], [limit] * given.trials)


def measure(name: str, scale: int) -> dict:
    """The peak bytes of a verified run in this process."""
    few = np.arange(100)
    dg.pagerank(dg.Graph.from_edges({"src": few, "dst": few[::-1]}), max_iter=20, tol=0)
    workload = GRAPHS[name](scale)
    edges = workload.edges
    count = len(edges.arcs[0])
    edges.__dict__.pop("arcs", None)
    before = restart_peak()
    frame = {"src": edges.source, "dst": edges.destination}
    graph = dg.Graph.from_edges(frame, directed=edges.directed, vertices=edges.vertices)
    dg.pagerank(graph, max_iter=1, tol=0)
    restart_peak()
    result = dg.pagerank(graph, max_iter=20, tol=0)
    peak = resident("VmHWM") - before
    verify("pagerank", edges, result, rounds=20)
    return {"bytes": peak, "edges": count, "vertices": edges.vertices, "title": workload.title}


if __name__ == "__main__":
    main()
