"""Compares what `G.estimate` predicts before any work with the partitions that are then built, for three graphs.

Bytes of the largest partition ("run"), copies per vertex, and the proxies that exchange in a round must each be within
25 % of the actual number, which is counted from the arrays of the built partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from harness import Claim, parser_of

import dgraph as dg
from dgraph.errors import AnswerError

POLICIES = ("outgoing", "incoming", "cartesian", "hybrid")
WITHIN = 0.25
UNITS = {"run": "MB", "exchange": "MB", "replication": "copies"}


def main() -> None:
    options = parser_of(__doc__)
    options.add_argument("--scales", type=int, nargs="+", default=[18, 20], help="2**scale vertices, 16 edges each")
    options.add_argument("--parts", type=int, nargs="+", default=[2, 4])
    given = options.parse_args()
    for title, graph in graphs(given.scales):
        cases: dict[str, list[tuple[float, float, str]]] = {}
        for parts in given.parts:
            told = graph().estimate("build", workers=parts).frame
            for policy in POLICIES:
                for figure, actual in measured(graph(policy=policy, parts=parts)).items():
                    expected = float(told.loc[policy, figure])
                    if not actual and expected:
                        raise AnswerError(
                            f"{figure} of {title}, {parts} parts, {policy}: {expected} where there is none"
                        )
                    if actual:
                        cases.setdefault(figure, []).append((expected, actual, f"{parts} parts, {policy}"))
        for figure, found in cases.items():
            expected, actual, where = max(found, key=lambda case: abs(case[0] / case[1] - 1))
            what = f"{figure} of {title}, the worst of {len(found)} estimates ({where})"
            unit = UNITS[figure]
            scale = 1e6 if unit == "MB" else 1.0
            claim = Claim("estimate", what, "the built partitions", 1 + WITHIN, unit=unit, floor=1 - WITHIN)
            claim.record([expected / scale], [actual / scale])


def graphs(scales: list[int]) -> Iterator[tuple[str, Any]]:
    """Titles, and functions that make the graph from the options of `Graph.from_edges`."""
    for scale in scales:
        size = 1 << scale
        yield f"R-MAT scale {scale}", partial(dg.rmat, scale=scale)
        yield f"uniform, {size >> 10} K vertices", partial(dg.uniform, vertices=size, edges=16 * size)
        side = 1 << scale // 2
        yield f"grid, {side} x {side}", partial(dg.grid, rows=side, cols=side, weights=None)


def measured(graph: Any) -> dict[str, float]:
    """The actual figures; `exchange` is eight bytes for each proxy that gathers and each that needs a state."""
    partitions = graph.partitions
    found = partitions.workers.get(list(partitions.held))
    reduced = broadcast = copies = 0
    for one in found:
        ends = one.out.neighbours, np.flatnonzero(np.diff(one.out.indptr))
        outside = [np.unique(end[end >= one.num_owned]) for end in ends]
        reduced, broadcast = reduced + len(outside[0]), broadcast + len(outside[1])
        copies += one.num_local
    return {
        "run": max(one.nbytes for one in found),
        "exchange": 8 * (reduced + broadcast),
        "replication": copies / graph.num_vertices,
    }


if __name__ == "__main__":
    main()
