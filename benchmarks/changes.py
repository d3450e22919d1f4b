"""Graphs that change: an update of one edge in 10,000, against building the graph anew from arrays.

    .venv/bin/python benchmarks/changes.py [--scales 20 22]

Batches of additions, of removals, and of both (80 : 20) on R-MAT graphs without repeated edges. The first operation on
the new graph merges the changes, which has a row of its own. The new partition is compared, row by row, with one that
is built anew.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from harness import Claim, parser_of, rmat_edges, simple, take_turns

import dgraph as dg

UPDATE, BATCH = 0.05, 1e-4  # the most that an update may take, relative to building; edges of a batch, to those of all
KINDS = {"additions": 1.0, "removals": 0.0, "additions and removals 80 : 20": 0.8}
Frame = dict[str, np.ndarray]


def without(edges: Frame, rows: np.ndarray) -> Frame:
    kept = np.ones(len(edges["src"]), bool)
    kept[rows] = False
    return {name: ends[kept] for name, ends in edges.items()}


def hold(scale: int, kind: str, trials: int) -> None:
    listed, size = simple(*rmat_edges(scale), 1 << scale), 1 << scale
    rng = np.random.default_rng(1)
    edges: Frame = {"src": listed.source, "dst": listed.destination}
    count = max(1, int(BATCH * len(listed.source)))
    added = int(count * KINDS[kind])
    more: Frame = {name: rng.integers(0, size, added) for name in edges}
    gone = rng.choice(len(listed.source), count - added, replace=False)
    less: Frame = {name: ends[gone] for name, ends in edges.items()}
    changed = {name: np.concatenate([ends, more[name]]) for name, ends in without(edges, gone).items()}

    def built(frame: Frame) -> dg.Graph:
        graph = dg.Graph.from_edges(frame, vertices=size)
        graph.partitioned()
        return graph

    graph, expected = built(edges), built(changed).partitions[0].out

    def update() -> dg.Graph:
        return graph.updated(added=more, removed=less)

    def merge() -> dg.Graph:
        made = update()
        made.partitioned()
        return made

    def check(made: dg.Graph) -> None:
        table = made.partitions[0].out
        same = np.array_equal(table.indptr, expected.indptr) and np.array_equal(table.neighbours, expected.neighbours)
        if not same or made.num_edges != len(changed["src"]) or (made.changes and made.changes.missing):
            raise SystemExit(f"{kind}: the graph has other edges")

    runs: dict[str, Any] = {
        "update": (update, check),
        "merge": (merge, check),
        "building": (partial(built, changed), check),
    }
    seconds = take_turns(runs, trials)
    where = f"{kind}, {count:,} of {len(listed.source) / 1e6:.1f} M edges, R-MAT scale {scale}"
    Claim("changes", f"update: {where}", "building anew", UPDATE).record(seconds["update"], seconds["building"])
    merged = Claim("changes", f"update, merged: {where}", "building anew", None)
    merged.record(seconds["merge"], seconds["building"])


def main() -> None:
    options = parser_of(__doc__, trials=5)
    options.add_argument("--scales", type=int, nargs="+", default=[20, 22])
    given = options.parse_args()
    for scale in given.scales:
        for kind in KINDS:
            hold(scale, kind, given.trials)


if __name__ == "__main__":
    main()
