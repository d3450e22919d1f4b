"""Opening a saved graph: the time of `dg.open_graph`, which reads the manifest and maps nothing yet.

The limit is fixed at 50 ms. For comparison, the time until the partition is mapped and checked is also shown.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from harness import Claim, parser_of, rmat_edges, rows_of, same, sorted_pairs

import dgraph as dg

LIMIT = 50.0  # milliseconds


def main() -> None:
    given = parser_of(__doc__, scale=20, trials=7).parse_args()
    sources, destinations = rmat_edges(given.scale)
    expected = sorted_pairs(sources, destinations)
    opening, using = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph"
        dg.Graph.from_edges({"src": sources, "dst": destinations}).save(path)
        for _ in range(given.trials):
            start = time.perf_counter()
            graph = dg.open_graph(path)
            opened = time.perf_counter()
            partitions = graph.partitions
            (one,) = partitions.workers.get(list(partitions.held))
            using.append(1e3 * (time.perf_counter() - start))
            opening.append(1e3 * (opened - start))
            ends = one.ids[rows_of(one.out.indptr)], one.ids[one.out.neighbours]
            same(sorted_pairs(*ends), expected, "the opened graph's edges")
            if graph.num_edges != len(sources):
                raise SystemExit(f"the opened graph says {graph.num_edges} edges; {len(sources)} were saved")
    size = f"saved graph of {len(sources) / 2**20:g} M edges"
    limits = [LIMIT] * given.trials
    Claim("open_graph", f"open a {size}", "a limit of 50 ms", 1.0, unit="ms").record(opening, limits)
    Claim("open_graph", f"open, map and check a {size}", "a limit of 50 ms", None, unit="ms").record(using, limits)


if __name__ == "__main__":
    main()
