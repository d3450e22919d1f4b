"""Graphs that change: an update of one edge in 10,000, against building the graph anew from arrays.

    .venv/bin/python benchmarks/changes.py [--scales 20 22] [--only pagerank] [--places workers]

Batches of additions, of removals, and of both (80 : 20) on R-MAT graphs without repeated edges. The first operation on
the new graph merges the changes, which has a row of its own. The new partition is compared, row by row, with one that
is built anew; of several partitions, all answers that follow are.

Then `wcc`, `bfs`, `sssp`, `triangles`, `pagerank` and, after an update of one edge in 100,000, `core_number` go on from
their answers for the graph before, against fresh runs on the new graph, which merge the changes first. All answers are
compared with that of another fresh run; ranks must be within `tol` of the fixed point. Distances start at the vertex
with the most edges, and edges have no direction.

The same follows for four partitions in this process, and for two worker processes, which hold a partition each: there,
what goes on may take 1 / SPREAD of the time relative to a fresh run that it may take in one partition.

Last, `louvain` and `leiden` start from the division of the graph before, of planted communities. They may find another
division than a fresh run, but no worse one. Counted are the edges that they read, and the vertices that change their
community although no edge of that community came or went.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from harness import Claim, parser_of, rmat_edges, same, simple, take_turns

import dgraph as dg
from dgraph.bench.local_cluster import local_cluster

UPDATE, BATCH = 0.05, 1e-4  # the most that an update may take, relative to building; edges of a batch, to those of all
READ = 0.05  # the most edges that going on may read, relative to a fresh run
MOST = {  # the most time that it may take, relative to a fresh run, after additions and after others; and edges
    "wcc": (1 / 5, 1 / 2, READ),
    "bfs": (1 / 2, 1 / 2, READ),
    "sssp": (1 / 3, 1 / 3, READ),
    "triangles": (1 / 10, 1 / 10, READ),
    "core_number": (1 / 2, 1 / 2, READ),
    "pagerank, tol 1e-06": (1 / 2.5, 1 / 2.5, 0.35),
    "pagerank, tol 1e-09": (1 / 1.6, 1 / 1.6, 0.6),
}
BATCHES = {"core_number": 1e-5}  # of other sizes
FEW = 1e-6  # of a row of its own
FEW_PER_COMMUNITY = 1e-4  # edges of a batch after which most communities of 50 vertices are as they were
DIVISIONS = 1 / 3, 0.01  # the most edges that a search from an earlier division may read, and vertices that it may move
WORSE = 1e-3  # by how much its modularity may be lower than that of a fresh search
COLUMNS = {"wcc": ["component"], "triangles": ["triangles"], "core_number": ["core"]}  # else distance and predecessor
EXACT = 1e-11  # the tolerance of the ranks that others are compared with
KINDS = {"additions": 1.0, "removals": 0.0, "additions and removals 80 : 20": 0.8}
SPREAD = 0.6  # in several partitions, going on may take a time relative to a fresh run that is longer by 1 / SPREAD
PLACES = {"one": "", "parts": ", in 4 partitions", "workers": ", on 2 workers"}
Frame = dict[str, np.ndarray]


@contextmanager
def placed(place: str) -> Iterator[dict[str, Any]]:
    """The options of graphs in a place."""
    with local_cluster(2 if place == "workers" else 0) as client:
        yield {"one": {}, "parts": {"parts": 4}, "workers": {"client": client}}[place]


def without(edges: Frame, rows: np.ndarray) -> Frame:
    kept = np.ones(len(edges["src"]), bool)
    kept[rows] = False
    return {name: ends[kept] for name, ends in edges.items()}


def hold(scale: int, kind: str, trials: int, place: str, how: dict[str, Any]) -> None:
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
        graph = dg.Graph.from_edges(frame, vertices=size, **how)
        graph.partitioned()
        return graph

    graph = built(edges)
    expected = built(changed).partitions[0].out if place == "one" else None

    def update() -> dg.Graph:
        return graph.updated(added=more, removed=less)

    def merge() -> dg.Graph:
        made = update()
        made.partitioned()
        return made

    def check(made: dg.Graph) -> None:
        same = True
        if expected is not None:
            table = made.partitions[0].out
            same = np.array_equal(table.indptr, expected.indptr) and np.array_equal(
                table.neighbours, expected.neighbours
            )
        if not same or made.num_edges != len(changed["src"]) or (made.changes and made.changes.missing):
            raise SystemExit(f"{kind}: the graph has other edges")

    runs: dict[str, Any] = {
        "update": (update, check),
        "merge": (merge, check),
        "building": (partial(built, changed), check),
    }
    seconds = take_turns(runs, trials)
    where = f"{kind}, {count:,} of {len(listed.source) / 1e6:.1f} M edges, R-MAT scale {scale}{PLACES[place]}"
    Claim("changes", f"update: {where}", "building anew", UPDATE).record(seconds["update"], seconds["building"])
    merged = Claim("changes", f"update, merged: {where}", "building anew", None)
    merged.record(seconds["merge"], seconds["building"])


def edges_read(result: dg.RunResult) -> int:
    return int(result.report["edges"].sum())


def check_same(name: str, expected: dg.RunResult, found: dg.RunResult) -> None:
    for column in COLUMNS.get(name, ["distance", "predecessor"]):
        same(found.by_number(column), expected.by_number(column), f"{name}: {column}")


def check_distance(exact: dg.RunResult, tol: float, found: dg.RunResult) -> None:
    off = np.abs(found.by_number("pagerank") - exact.by_number("pagerank")).sum()
    if off > tol:
        raise SystemExit(f"the ranks are {off:.1e} from the fixed point, and tol is {tol:.0e}")


def go_on(
    scale: int, kind: str, trials: int, place: str, how: dict[str, Any], batch: float = BATCH, only: str = ""
) -> None:
    listed, size = simple(*rmat_edges(scale), 1 << scale), 1 << scale
    rng = np.random.default_rng(2)
    total = len(listed.source)
    edges: Frame = {"src": listed.source, "dst": listed.destination, "km": rng.integers(1, 256, total)}
    count = max(1, int(batch * total))
    added = int(count * KINDS[kind])
    more: Frame = {name: rng.integers(0, size, added) for name in ("src", "dst")} | {"km": rng.integers(1, 256, added)}
    gone = rng.choice(total, count - added, replace=False)
    less: Frame = {name: edges[name][gone] for name in ("src", "dst")}
    graph = dg.Graph.from_edges(edges, vertices=size, weight="km", directed=False, **how)
    source = int(np.bincount(np.concatenate([listed.source, listed.destination])).argmax())
    operations: dict[str, Any] = {"wcc": dg.wcc, "triangles": dg.triangles, "core_number": dg.core_number}
    operations |= {one.__name__: partial(one, source=source) for one in (dg.bfs, dg.sssp)}
    operations |= {f"pagerank, tol {tol:.0e}": partial(dg.pagerank, tol=tol) for tol in (1e-6, 1e-9)}
    for name, run in operations.items():
        if only not in name:
            continue
        size_now = count if name not in BATCHES else max(1, int(BATCHES[name] * total))
        come = int(size_now * KINDS[kind])
        batch = {
            "added": {column: values[:come] for column, values in more.items()},
            "removed": {column: ends[: size_now - come] for column, ends in less.items()},
        }
        earlier, expected = run(graph), run(graph.updated(**batch))
        exact = dg.pagerank(graph.updated(**batch), tol=EXACT) if name.startswith("pagerank") else None

        def fresh(run: Any = run, batch: Any = batch) -> dg.RunResult:
            return run(graph.updated(**batch))

        def on(run: Any = run, batch: Any = batch, earlier: dg.RunResult = earlier) -> dg.RunResult:
            return run(graph.updated(**batch), previous=earlier)

        check = partial(check_same, name, expected)
        if exact is not None:
            check = partial(check_distance, exact, run.keywords["tol"])
        went = on()
        if not went.report.options["previous"].startswith("went on"):
            raise SystemExit(f"{name} after {kind}: {went.report.options['previous']}")
        seconds = take_turns({"previous": (on, check), "fresh": (fresh, check)}, trials)
        where = f"{kind}, {size_now:,} of {total / 1e6:.1f} M edges, R-MAT scale {scale}{PLACES[place]}"
        soon, sooner, most = MOST[name]
        target = (soon if kind == "additions" else sooner) / (1 if place == "one" else SPREAD)
        claim = Claim("changes", f"{name}, previous=: {where}", "a fresh run", target)
        claim.record(seconds["previous"], seconds["fresh"])
        read = Claim("changes", f"{name}, previous=, edges read: {where}", "a fresh run", most, unit="edges")
        read.record([edges_read(went)], [edges_read(expected)])


def planted(size: int, rng: np.random.Generator) -> Frame:
    """Communities of 50 vertices, whose edges stay inside in 4 of 5 cases."""
    source, other = rng.integers(0, size, 8 * size), rng.integers(0, size, 8 * size)
    inside = np.minimum(source // 50 * 50 + rng.integers(0, 50, 8 * size), size - 1)
    destination = np.where(rng.random(8 * size) < 0.8, inside, other)
    return {"src": source[source != destination], "dst": destination[source != destination]}


def divide(scale: int, kind: str, only: str = "") -> None:
    size, rng = 1 << scale, np.random.default_rng(3)
    edges = planted(size, rng)
    total = len(edges["src"])
    count = max(1, int(FEW_PER_COMMUNITY * total))
    added = int(count * KINDS[kind])
    more: Frame = {name: rng.integers(0, size, added) for name in edges}
    gone = rng.choice(total, count - added, replace=False)
    less: Frame = {name: ends[gone] for name, ends in edges.items()}
    graph = dg.Graph.from_edges(edges, vertices=size, directed=False)
    changed = graph.updated(added=more, removed=less)
    for name, run in {"louvain": dg.louvain, "leiden": dg.leiden}.items():
        if only not in name:
            continue
        earlier = run(graph, deterministic=True)
        fresh, on = run(changed, deterministic=True), run(changed, deterministic=True, previous=earlier)
        if on.totals["modularity"] < fresh.totals["modularity"] - WORSE:
            raise SystemExit(f"{name}, previous=: the modularity is {on.totals['modularity']}")
        before, now = (one.by_number("community") for one in (earlier, on))
        ends = np.concatenate([*more.values(), *less.values()])
        untouched = ~np.isin(before, before[ends])
        where = f"{kind}, {count:,} of {total / 1e6:.1f} M edges in communities of 50"
        read, moved = DIVISIONS
        claim = Claim("changes", f"{name}, previous=, edges read: {where}", "a fresh run", read, unit="edges")
        claim.record([edges_read(on)], [edges_read(fresh)])
        claim = Claim(
            "changes", f"{name}, previous=, moved: {where}", "all in untouched communities", moved, unit="vertices"
        )
        claim.record([int((before != now)[untouched].sum())], [int(untouched.sum())])


def main() -> None:
    options = parser_of(__doc__, trials=5)
    options.add_argument("--scales", type=int, nargs="+", default=[20, 22])
    options.add_argument("--only", default="", help="operations that go on with this in their name, and no updates")
    options.add_argument("--places", nargs="+", choices=PLACES, default=list(PLACES), help="where graphs are")
    given = options.parse_args()
    for place in given.places:
        with placed(place) as how:
            for scale in given.scales:
                for kind in KINDS:
                    if not given.only:
                        hold(scale, kind, given.trials, place, how)
                    go_on(scale, kind, given.trials, place, how, only=given.only)
                    if place == "one":
                        divide(scale, kind, given.only)
                if place == "one":
                    go_on(scale, "additions", given.trials, place, how, FEW, "pagerank")


if __name__ == "__main__":
    main()
