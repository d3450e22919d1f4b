"""The neighbourhood function by HyperBall: seconds on a large graph, and the error over 20 seeds on a small one.

.venv/bin/python benchmarks/hyperball.py [--scale 22] [--trials 1]
"""

from __future__ import annotations

import numpy as np
from betweenness import ours_of
from harness import Claim, parser_of, rmat_edges, simple, take_turns
from scipy.sparse.csgraph import shortest_path

import dgraph as dg
from dgraph.testing.verify.betweenness import arcs_of_paths

SECONDS, LOG2M, SEEDS = 60, 8, 20
SMALL = 11  # scale of the graph whose distances are known
MOST = 1.1  # the most that the error may be, relative to 1.04 / √registers


def main() -> None:
    given = parser_of(__doc__, scale=22, trials=1).parse_args()
    errors_of()
    graph = ours_of(simple(*rmat_edges(given.scale), 1 << given.scale))
    found = {"ours": (lambda: dg.neighborhood_function(graph, log2m=LOG2M), lambda one: None)}
    seconds = take_turns(found, given.trials)["ours"]
    what = f"neighborhood_function, R-MAT scale {given.scale}, {1 << LOG2M} registers"
    Claim("hyperball", what, "60 s", 1.0).record(seconds, [SECONDS] * given.trials)


def errors_of() -> None:
    """The error of the number of pairs, of all distances and seeds."""
    edges = simple(*rmat_edges(SMALL), 1 << SMALL)
    distance = shortest_path(arcs_of_paths(edges, False)[3], unweighted=True)
    exact = np.cumsum(np.bincount(distance[np.isfinite(distance)].astype(int)))
    graph, off = ours_of(edges), []
    for seed in range(SEEDS):
        pairs = dg.neighborhood_function(graph, log2m=LOG2M, random_seed=seed).pairs["pairs"].to_numpy()
        pairs = np.pad(
            pairs, (0, max(0, len(exact) - len(pairs))), mode="edge"
        )  # the last few pairs may change nothing
        off.append(pairs[: len(exact)] / exact - 1)
    error = float(np.sqrt(np.mean(np.square(off))))
    stated = float(1.04 / np.sqrt(1 << LOG2M))
    what = f"neighborhood_function, R-MAT scale {SMALL}: root mean square error over {SEEDS} seeds"
    Claim("hyperball", what, "1.04 / √registers", MOST, unit="").record([error], [stated])


if __name__ == "__main__":
    main()
