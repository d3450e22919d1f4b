"""The bulk-asynchronous engine on two worker processes of one thread, with two and with four partitions.

    python benchmarks/bulk_async.py [--only grid|roads|rmat] [--quick] [--gapbs DIR] [--trials 3] [--scale 20]

It is compared with rounds of single steps, with rounds that reach local fixed points by the same solvers, and with two
threads of this process; on R-MAT graphs also with GAP's C++ (earlier figures of Gluon-Async are below). Every answer is
verified.
`--plot FILE` draws how each partition spent its time.
"""

from __future__ import annotations

import argparse
import lzma
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np
import pandas as pd
from distributed import Client
from harness import Claim, parser_of
from peers import workloads
from peers.gap import Gap
from peers.peer import NotRun
from peers.workloads import Workload
from scipy.io import mmread

import dgraph as dg
from dgraph.bench.local_cluster import local_cluster
from dgraph.bench.resources import timed
from dgraph.testing.verify import OPERATIONS, Edges, verify

ROADS = Path(__file__).resolve().parents[2] / "shared/data/usroads-48/road-usroads-48.mtx.xz"
TOLERANCE = 0.85**20  # for PageRank: the accuracy of 20 rounds
# Gluon-Async itself (C++ and MPI), two processes on R-MAT scale 20, and GAP's best on the same machine: seconds
ORIGINAL = {"bfs": (0.60, 0.0206), "wcc": (1.3, 0.0369), "sssp": (2.0, 0.109), "pagerank": (7.9, 0.336)}
LONG = 2.0  # seconds: runs in single steps that take longer are timed once, without warm-up
BRIEF, OFTEN = 0.5, 9  # seconds: shorter runs are timed more often, because noise matters more
END = 5.0  # milliseconds allowed for detecting the end

CALLS: dict[str, Callable[..., Any]] = {
    "bfs": lambda graph, start, **how: dg.bfs(graph, start, **how),
    "sssp": lambda graph, start, **how: dg.sssp(graph, start, predecessors=False, **how),
    "wcc": lambda graph, start, **how: dg.wcc(graph, **how),
    "pagerank": lambda graph, start, **how: dg.pagerank(graph, **ranks(how)),
}
COLUMNS = {name: OPERATIONS[name][1] for name in CALLS} | {"sssp": ("distance",)}
FREE, STEPS, SETTLED = {"engine": "bulk_async"}, {"engine": dg.Bsp(local_rounds=1)}, {"engine": "bsp"}
AS_NEAR = {"engine": "bsp", "tol": TOLERANCE}  # PageRank in rounds, to the same accuracy as without rounds
REPORTS: list[pd.DataFrame] = []  # for the plot


def ranks(how: dict[str, Any]) -> dict[str, Any]:
    return {"tol": TOLERANCE, **how} if how in (FREE, AS_NEAR) else {"tol": 0, "max_iter": 20, **how}


class Contest:
    """Runs one operation on one workload in several ways, in forward and reverse order; every answer is verified."""

    def __init__(self, operation: str, workload: Workload, trials: int):
        self.operation, self.workload, self.trials = operation, workload, trials
        self.seconds: dict[str, list[float]] = {}
        self.results: dict[str, Any] = {}
        self.ends: list[float] = []  # milliseconds to detect the end

    def run(self, **ways: tuple[dg.Graph, dict[str, Any]]) -> None:
        for trial in range(max(self.trials, OFTEN) + 1):
            for name, (graph, how) in list(ways.items())[:: -1 if trial % 2 else 1]:
                first = self.seconds.get(name, [0.0])[0]
                if (how == STEPS and first > LONG) or (trial > self.trials and (how == STEPS or first > BRIEF)):
                    continue
                seconds = self.once(name, graph, how)
                if trial or (how == STEPS and seconds > LONG):
                    self.seconds.setdefault(name, []).append(seconds)

    def once(
        self, name: str, graph: dg.Graph, how: dict[str, Any], during: AbstractContextManager[None] | None = None
    ) -> float:
        with during or nullcontext():
            seconds, result = timed(lambda: CALLS[self.operation](graph, self.workload.start, **how))
        self.check({column: result.by_number(column) for column in COLUMNS[self.operation]}, how)
        if how == FREE:
            self.ends.append(result.report.options["milliseconds to find the end"])
        self.results[name] = result
        return seconds

    def check(self, found: dict[str, np.ndarray], how: dict[str, Any]) -> None:
        known = self.workload.known(self.operation)
        if self.operation == "pagerank" and (tol := ranks(how)["tol"]):
            known = {"tol": tol}
        verify(self.operation, self.workload.edges, found, **known)

    def record(self, what: str, ours: str, theirs: str, target: float | None, **facts: Any) -> float:
        title = f"{self.operation}, {self.workload.title}, {what}"
        row = Claim("bulk_async", title, theirs, target, facts=facts).record(self.seconds[ours], self.seconds[theirs])
        return row["ratio"]


def compare(workload: Workload, client: Client, given: argparse.Namespace, operations: tuple[str, ...]) -> None:
    """Run all operations on one graph, in all ways."""
    here = graph_of(workload, None, None)
    for parts in given.parts:
        there = graph_of(workload, client, parts)
        where = f"two worker processes, {parts} partitions"
        faster, long = [], workload.title.startswith(("grid", "roads"))
        for operation in operations:
            contest = Contest(operation, workload, given.trials)
            ways = {"bulk-asynchronous": (there, FREE), "single steps": (there, STEPS), "rounds": (there, SETTLED)}
            steps = long and not given.quick
            if not steps:
                del ways["single steps"]
            if operation == "pagerank":
                ways["rounds to the same tolerance"] = (there, AS_NEAR)
            contest.run(**ways, **{"two threads of this process": (here, {})})
            reports = {name: contest.results[name].report for name in ways}
            works = {name: int(report["edges"].sum()) for name, report in reports.items()}
            rounds = {name: int(contest.results[name].rounds) for name in ways}
            facts = {"edges looked at": works, "rounds": rounds, "found the end in ms": contest.ends}
            print(f"{operation} on {workload.title}: {facts}")
            for peer in [name for name in ways if name.startswith("rounds")]:
                contest.record(where, "bulk-asynchronous", peer, 1.0 if long else 1.1, **facts)
            if steps:
                faster.append(contest.record(where, "bulk-asynchronous", "single steps", None, **facts))
                what = f"{operation}, {workload.title}, {where}: rounds of exchange"
                fewer = Claim("bulk_async", what, "single steps", 1 / 5, unit="")
                fewer.record([rounds["bulk-asynchronous"]], [rounds["single steps"]])
            threads = 2.0 if workload.title.startswith("grid") else None
            contest.record(where, "bulk-asynchronous", "two threads of this process", threads, **facts)
            claim = Claim(
                "bulk_async", f"{operation}, {workload.title}, {where}: to find the end", "a limit", 1.0, "ms"
            )
            claim.record(contest.ends[1:], [END] * (len(contest.ends) - 1))
            if not long and given.gapbs:
                beside_gap(contest, where, given.gapbs)
            for name, report in reports.items():
                REPORTS.append(pd.DataFrame(report).assign(operation=operation, engine=name, parts=parts))
        if faster:
            what = f"BFS, SSSP and WCC, {workload.title}, {where}: their mean"
            Claim("bulk_async", what, "single steps", 1 / 1.5).record([geometric_mean(faster)], [1.0])


def beside_gap(contest: Contest, where: str, programs: Path) -> None:
    """Compare our ratio to GAP in this run with the original's ratio to GAP in its own run."""
    with tempfile.TemporaryDirectory() as folder:
        gap = Gap(programs, Path(folder), 2, 600)
        try:
            gap.load(contest.operation, contest.workload)
            best = min(gap.trial(contest.operation, contest.workload).seconds for _ in range(3))
        except NotRun as reason:
            print(f"GAP: not run, {reason}")
            return
    original, then = ORIGINAL[contest.operation]
    what = f"{contest.operation}, {contest.workload.title}, {where}: times GAP's C++"
    claim = Claim("bulk_async", what, "Gluon-Async", 1.0, unit="x")
    claim.record([one / best for one in contest.seconds["bulk-asynchronous"]], [original / then])


# -- graphs ------------------------------------------------------------------------------------------------------------


def graph_of(workload: Workload, client: Client | None, parts: int | None) -> dg.Graph:
    graph = workload.graph(parts=parts, client=client)
    graph.partitioned(("out", "incoming") if graph.directed else ("out",), ("weight",))
    return graph


def roads() -> Workload | None:
    """The road network of the United States, with weights like those of the other graphs."""
    if not ROADS.exists():
        print(f"NOT RUN: usroads-48 is not here; looked for {ROADS}")
        return None
    with lzma.open(ROADS) as file:
        matrix = mmread(file).tocoo()
    once = matrix.row > matrix.col
    ends = matrix.row[once].astype(np.int64), matrix.col[once].astype(np.int64)
    weight = np.random.default_rng(1).integers(1, 256, len(ends[0])).astype(float)
    edges = Edges(*ends, matrix.shape[0], directed=False, weight=weight)
    return Workload(f"roads of usroads-48, {2 * len(weight):,} arcs", edges, 0)


def main() -> None:
    parser = parser_of(__doc__, trials=3)
    parser.add_argument("--only", choices=["grid", "roads", "rmat"])
    parser.add_argument("--operations", nargs="*", choices=CALLS, help="of these alone")
    parser.add_argument("--parts", nargs="*", type=int, default=[2, 4])
    parser.add_argument("--quick", action="store_true", help="without single steps, which take minutes")
    parser.add_argument("--scale", type=int, default=20, help="20: R-MAT of 16 M edges, grid 2000 x 2000")
    parser.add_argument("--gapbs", type=Path, help="where GAP's Benchmark Suite has been built")
    parser.add_argument("--plot", type=Path, help="a PNG file")
    given = parser.parse_args()
    chosen = [given.only] if given.only else ["grid", "roads", "rmat"]
    with local_cluster(2, 1) as client:
        for name in chosen:
            workload = {"grid": workloads.grid, "roads": lambda _: roads()}.get(name, workloads.rmat)(given.scale)
            if workload is None:
                continue
            operations = ("bfs", "sssp", "wcc") + (("pagerank",) if name == "rmat" else ())
            compare(workload, client, given, tuple(given.operations or operations))
            if given.plot:
                draw(workload, given.plot)


def draw(workload: Workload, path: Path) -> None:
    """Draw the last report of each kind, the one with four partitions."""
    from dgraph.bench.plots import plot

    rows = pd.concat(REPORTS)
    rows = rows[(rows["parts"] == rows["parts"].max()) & (rows["engine"] != "single steps")]
    plot("idle_busy")[0](rows, path, title=f"Busy and idle seconds of each partition: {workload.title}")
    REPORTS.clear()


if __name__ == "__main__":
    main()
