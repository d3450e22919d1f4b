"""The k-truss, against SuiteSparse:GraphBLAS (LAGraph's method) and NetworkX, on R-MAT graphs; and all truss numbers.

    .venv/bin/python benchmarks/trusses.py

Every trial's edges are compared with those of the first.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from harness import Claim, parser_of, rmat_edges, simple, take_turns

import dgraph as dg
from dgraph.bench.resources import timed
from dgraph.testing.verify import Edges

K = 5
GRAPHBLAS, NETWORKX = 0.9, 1 / 20  # the most that ours may take, relative to theirs
THREADS = 2
Find = Callable[[], np.ndarray]  # the edges of the truss, as low * vertices + high, in ascending order


def graphblas(edges: Edges, k: int) -> Find:
    """Count the triangles of each edge in the square of the matrix, leave out those of few, and do so again until none
    is left out (LAGraph_KTruss)."""
    gb = importlib.import_module("graphblas")
    gb.ss.config["nthreads"] = THREADS
    n = edges.vertices
    ends = np.concatenate([edges.source, edges.destination]), np.concatenate([edges.destination, edges.source])
    rows = gb.Matrix.from_coo(*ends, np.ones(len(ends[0]), np.uint32), nrows=n, ncols=n)

    def find() -> Any:
        left, before = rows.dup(), -1
        while left.nvals != before:
            before = left.nvals
            support = gb.Matrix(np.uint32, n, n)
            support(left.S) << left.mxm(left.T, gb.semiring.plus_pair)
            left = support.select(">=", k - 2).new()
        return left

    return lambda: _of_matrix(find(), n)


def _of_matrix(found: Any, vertices: int) -> np.ndarray:
    rows, columns, _ = found.to_coo(values=False)
    low = rows < columns
    return keys(rows[low], columns[low], vertices)


def networkx(edges: Edges, k: int) -> Find:
    graph = nx.Graph(zip(edges.source.tolist(), edges.destination.tolist(), strict=True))
    return lambda: keys(*np.array(nx.k_truss(graph, k).edges, np.int64).reshape(-1, 2).T, edges.vertices)


def keys(one: np.ndarray, other: np.ndarray, vertices: int) -> np.ndarray:
    low, high = np.minimum(one, other).astype(np.int64), np.maximum(one, other).astype(np.int64)
    return np.sort(low * vertices + high)


PEERS = {"GraphBLAS": (graphblas, GRAPHBLAS), "NetworkX": (networkx, NETWORKX)}


def hold(scale: int, trials: int, slow: int) -> None:
    """Trials in turn, on one graph. NetworkX runs on graphs up to the scale `slow`."""
    edges = simple(*rmat_edges(scale), 1 << scale)
    frame = pd.DataFrame({"src": edges.source, "dst": edges.destination})
    graph = dg.Graph.from_edges(frame, directed=False)
    graph.partitioned(("out",))

    def ours() -> np.ndarray:
        found = dg.k_truss(graph, K).compute()
        return keys(found["src"].to_numpy(), found["dst"].to_numpy(), edges.vertices)

    where = f"R-MAT scale {scale}, {len(edges.source) / 1e6:.1f} M edges"
    claims, finds = {}, {"dgraph": ours}
    for peer, (make, target) in PEERS.items():
        claims[peer] = Claim("trusses", f"{K}-truss, {where}", peer, target)
        try:
            if peer == "NetworkX" and scale > slow:
                raise ImportError("takes longer than it is given")
            finds[peer] = make(edges, K)
        except ImportError as missing:
            claims.pop(peer).absent(str(missing))
    expected = ours()

    def check(name: str, found: np.ndarray) -> None:
        if not np.array_equal(found, expected):
            raise SystemExit(f"{name} finds other edges than dgraph")

    seconds = take_turns({name: (find, partial(check, name)) for name, find in finds.items()}, trials, warmups=0)
    for peer, claim in claims.items():
        claim.record(seconds["dgraph"], seconds[peer])
    whole = [timed(partial(dg.truss_number, graph))[0] for _ in range(trials)]
    Claim("trusses", f"all truss numbers, {where}", f"{K}-truss", None).record(whole, seconds["dgraph"])


def main() -> None:
    options = parser_of(__doc__, trials=3)
    options.add_argument("--scales", type=int, nargs="+", default=[16, 18])
    options.add_argument("--slow", type=int, default=16, help="the largest scale for NetworkX")
    given = options.parse_args()
    for scale in given.scales:
        hold(scale, given.trials, given.slow)


if __name__ == "__main__":
    main()
