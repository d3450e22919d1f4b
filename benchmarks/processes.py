"""Two worker processes of one thread against two threads of this process: programs in rounds, until values are arrays.

    python benchmarks/processes.py [--scale 20] [--trials 5]

The graph is partitioned beforehand: one partition per worker, and a single partition for this process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from harness import Claim, parser_of, rmat_edges, take_turns

import dgraph as dg
from dgraph.bench.local_cluster import local_cluster
from dgraph.testing.verify import Edges, verify

ROUNDS = 20  # for PageRank
MORE = 0.04  # the extra seconds that two processes may take if the work itself takes less


@dataclass(frozen=True)
class Case:
    title: str
    call: Callable[[dg.Graph, Any], Any]
    ratio: float
    more: float = 0.0  # seconds


CASES = {
    "pagerank": Case(
        f"PageRank, {ROUNDS} rounds", lambda graph, _: dg.pagerank(graph, max_iter=ROUNDS, tol=0.0, engine="gas"), 1.6
    ),
    "bfs": Case("BFS", lambda graph, source: dg.bfs(graph, source, engine="gas"), 2, MORE),
    "wcc": Case("WCC", lambda graph, _: dg.wcc(graph, engine="gas"), 2, MORE),
}


def measure(name: str, graphs: dict[str, dg.Graph], edges: Edges, source: int, trials: int) -> None:
    """Time workers and threads in turn, after a run that compiles; every answer is verified."""
    case = CASES[name]
    known = {"pagerank": {"rounds": ROUNDS}, "bfs": {"source": source}}.get(name, {})
    vertex = graphs["workers"].numbering.ids()[source]

    def check(result: Any) -> None:
        verify(name, edges, result, **known)

    runs = {place: (partial(case.call, graph, vertex), check) for place, graph in graphs.items()}
    seconds = take_turns(runs, trials)
    target = max(case.ratio, 1 + case.more / median(seconds["threads"])) if case.more else case.ratio
    what = f"{case.title} on R-MAT of {len(edges.source) / 2**20:g} M edges, two worker processes of one thread"
    Claim("processes", what, "two threads of this process", target).record(seconds["workers"], seconds["threads"])


def main() -> None:
    parser = parser_of(__doc__, scale=20, trials=5)
    parser.add_argument("--only", choices=CASES, help="one of them alone")
    given = parser.parse_args()
    sources, destinations = rmat_edges(given.scale)
    frame = {"src": sources, "dst": destinations}
    with local_cluster(2, 1) as client:
        places = {"workers": client, "threads": None}
        graphs = {place: dg.Graph.from_edges(frame, client=one) for place, one in places.items()}
        for graph in graphs.values():
            graph.partitioned(("out", "incoming"))
        ids = graphs["workers"].numbering.ids()
        edges = Edges(np.searchsorted(ids, sources), np.searchsorted(ids, destinations), len(ids))
        source = int(np.bincount(edges.source, minlength=len(ids)).argmax())
        for name in [given.only] if given.only else CASES:
            measure(name, graphs, edges, source, given.trials)


if __name__ == "__main__":
    main()
