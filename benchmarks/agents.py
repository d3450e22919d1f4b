"""Daemons: the pipeline, its block size, the cache, start-up, balance, and the overhead where daemons cannot help.

    python benchmarks/agents.py [--scale 16] [--trials 3] [--plot block_size.png] [--only stand-in,cache]

Answers are compared with those of the solvers in `dgraph/solvers`, which share no code with blocks. Stand-ins for other
hardware wait a fixed time for each edge and leave the core free.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
from harness import Claim, parser_of, take_turns

import dgraph as dg
from dgraph.agents.agent import agent_of
from dgraph.agents.daemon import LOST, BlockCall, Daemon
from dgraph.agents.daemon_settings import NO_DAEMONS
from dgraph.agents.own_process_daemon import ProcessDaemon
from dgraph.bench.local_cluster import local_cluster
from dgraph.bench.resources import timed
from dgraph.codegen.recipe import recipe_of
from dgraph.devices.cpu import Cpu
from dgraph.errors import AnswerError
from dgraph.ops.pagerank import PageRank
from dgraph.partition.balance import split_for
from dgraph.pipeline.block_size import Cost
from dgraph.tables.edge_tables import EdgeTables
from dgraph.tables.vertex_tables import vertex_table
from dgraph.testing.stand_in import StandIn

EQUAL = StandIn(download=4e-7, compute=4e-7, upload=4e-7, call=1e-3)  # three stages that cost about the same
ROUNDS = 11  # supersteps
COSTS = [field.name for field in fields(Cost)]  # columns of the report


@dataclass(frozen=True)
class Bench:
    graph: dg.Graph
    scale: int
    trials: int
    plot: str | None

    def claim(self, what: str, peer: str, target: float | None, unit: str = "s", **facts: Any) -> Claim:
        return Claim("agents", f"{what}, R-MAT scale {self.scale}", peer, target, unit, facts=facts)

    def source(self) -> int:
        return int(self.graph.edges.compute()["source"].mode()[0])

    def operations(self) -> dict[str, Callable[..., Any]]:
        source = self.source()
        return {
            "SSSP": lambda **how: dg.sssp(self.graph, source, predecessors=False, **how),
            "PageRank": lambda **how: dg.pagerank(self.graph, max_iter=ROUNDS, tol=0, **how),
            "label propagation": lambda **how: dg.cdlp(self.graph, max_iter=5, **how),
        }

    def checked(self, run: Callable[..., Any], **how: Any) -> Any:
        """A run whose answer is checked against the solver's."""
        found = run(**{"engine": "gas", **how})
        mine, theirs = (one.compute().iloc[:, 1].to_numpy() for one in (found, run()))
        if not np.allclose(mine, theirs, rtol=1e-9, equal_nan=True):
            raise AnswerError(f"{how}: other values than the solver's")
        return found


def in_process(bench: Bench) -> None:
    """Compare a pull through an agent with a direct call of the kernel."""
    partition = bench.graph.partitioned(("incoming",)).held[0]
    recipe = recipe_of(PageRank())
    edges = EdgeTables(partition, True, {}, 1)
    values = {**vertex_table(recipe, edges, {}), **edges.arguments(partition.incoming)}
    values["sent_message"][:] = 1 / partition.num_owned
    n, kernel = partition.num_owned, recipe.kernels["pull"]
    connection = agent_of("bench").connect(recipe, n, NO_DAEMONS)
    expected = np.bincount(partition.incoming.rows(), minlength=n) / n

    def check(_: Any) -> None:
        if not np.allclose(values["inbox_message"], expected):
            raise AnswerError("a pull of equal messages counts edges")

    through, alone = partial(connection.rows, "pull", n, values), partial(kernel.run_rows, 0, n, values)
    claim = bench.claim("a pull through the in-process daemon", "the kernel alone", 1.03)
    claim.measure((through, check), (alone, check), 20 * bench.trials)


def middleware(bench: Bench) -> None:
    """Measure the time of a run outside its kernels, on one partition without exchanges."""
    run, took = bench.operations()["PageRank"], 0.0
    bench.checked(run)

    def counted(kernels: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            nonlocal took
            begun = time.perf_counter()
            try:
                return kernels(*arguments, **more)
            finally:
                took += time.perf_counter() - begun

        return call

    beside, whole = [], []
    with patch.object(Cpu, "rows", counted(Cpu.rows)), patch.object(Cpu, "once", counted(Cpu.once)):
        for _ in range(bench.trials):
            took = 0.0
            whole.append(timed(partial(run, engine="gas"))[0])
            beside.append(whole[-1] - took)
    what = f"PageRank of {ROUNDS} supersteps, all but its kernels"
    bench.claim(what, "the whole run", 0.1).record(beside, whole)


def pipeline(bench: Bench) -> None:
    """Compare the speed-up by the pipeline of a daemon in its own process with 90 % of what the model predicts."""
    for name, run in bench.operations().items():
        ours, theirs, costs = [], [], {}
        for trial in range(bench.trials + 1):
            streamed = bench.checked(run, daemons="own process").report
            whole = bench.checked(run, daemons=dg.Daemons("own process", block=None)).report
            if not trial:
                continue
            rows = streamed[(streamed["blocks"] > 0) & streamed["k1"].notna()]
            in_turn = predicted = 0.0
            for _, row in rows.iterrows():
                cost = Cost(*row[COSTS].astype(float))
                in_turn += cost.sequential_time(int(row["edges"]), 1)
                predicted += min(
                    cost.time(int(row["edges"]), int(row["blocks"])), cost.sequential_time(int(row["edges"]), 1)
                )
            costs = {key: float(rows.iloc[-1][key]) for key in COSTS}
            ours.append(float(streamed["pipeline"].sum()))
            theirs.append(float(whole["pipeline"].sum()) / (in_turn / predicted))
        what = f"{name} through the pipeline, own-process daemon"
        bench.claim(what, "no pipeline over the gain that the model predicts", 1 / 0.9, **costs).record(ours, theirs)


def stand_in(bench: Bench) -> None:
    """Measure the speed-up of three equal stages, and compare the chosen block size with all others."""
    sweep: dict[Any, list[float]] = {bench.graph.num_edges // blocks: [] for blocks in (4, 8, 16, 24, 32, 48, 64)}
    sweep |= {"auto": [], None: []}
    run = partial(dg.pagerank, bench.graph, max_iter=6, tol=0)
    row = None
    for _ in range(bench.trials):
        for size, seconds in sweep.items():
            found = bench.checked(run, daemons=dg.Daemons([EQUAL], block=size)).report
            seconds.append(float(found["pipeline"].iloc[3:].median()))  # the first three measure the costs
            row = found.iloc[-1] if size == "auto" else row
    ours, none = sweep.pop("auto"), sweep.pop(None)
    best = min(sweep.values(), key=median)
    cost, blocks = Cost(*row[COSTS].astype(float)), int(row["blocks"])
    bench.claim("a round on a stand-in of three equal stages", "no pipeline", 1 / 1.3).record(ours, none)
    bench.claim("a round with the chosen block", "the best of a sweep of blocks", 1.05, blocks=blocks).record(
        ours, best
    )
    if bench.plot:
        from dgraph.bench.plots.block_size import draw

        edges = bench.graph.num_edges
        rows = [{"blocks": -(-edges // size), "seconds": min(seconds)} for size, seconds in sweep.items()]
        draw([*rows, {"blocks": blocks, "seconds": min(ours)}], bench.plot, cost=cost, edges=edges)


def cache(bench: Bench) -> None:
    """Measure bytes of vertices between agent and daemon, with and without a cache and lazy upload."""
    run, block = bench.operations()["SSSP"], 1 << 15
    how = {"daemons": dg.Daemons("own process", block=block)}
    ours = [float(bench.checked(run, **how).report["moved"].sum()) for _ in range(bench.trials)]
    plain = {
        "daemons": dg.Daemons("own process", block=block, cache=0),
        "engine": dg.Gas(optimizations=dg.Optimizations(lazy_upload=False)),
    }
    theirs = [float(bench.checked(run, **plain).report["moved"].sum()) for _ in range(bench.trials)]
    bench.claim("vertices moved by SSSP, cache and lazy upload", "neither", 0.5, "bytes").record(ours, theirs)


def lazy_upload(bench: Bench) -> None:
    """Measure bytes between four partitions if owners update only the copies that will send, and if they update all."""
    graph = dg.rmat(scale=bench.scale, edge_factor=16, seed=1, weights=(1, 255), parts=4)
    run = partial(dg.sssp, graph, bench.source(), predecessors=False)
    expected = bench.operations()["SSSP"]().compute()
    sent: dict[bool, list[float]] = {True: [], False: []}
    for lazy, counts in sent.items():
        found = run(engine=dg.Gas(local_rounds=1, optimizations=dg.Optimizations(lazy_upload=lazy)))
        if not found.compute().equals(expected):
            raise AnswerError(f"{lazy=}: other values than the solver's")
        counts.append(float(found.report["bytes"].sum()))
    bench.claim("bytes between four partitions, SSSP, lazy upload", "every copy told", 0.5, "bytes").record(
        *sent.values()
    )


def skip(bench: Bench) -> None:
    """Count exchanges of two worker processes on a grid, and the cost of looking for quiet rounds if there are none."""
    vertices, on = 1 << (bench.scale + 1), {}
    off = {"engine": dg.Gas(local_rounds=1, optimizations=dg.Optimizations(skip_exchange=False))}
    with local_cluster(2, 1) as client:
        grid = dg.grid(rows=200, cols=200, parts=2, client=client)
        found, other = (dg.bfs(grid, 0, **how) for how in (on, off))
        if not found.compute().equals(other.compute()):
            raise AnswerError("skipping: other distances")
        counts = [float(one.report["exchanges"].sum()) for one in (found, other)]
        what = "exchanges of BFS on a grid of 200 x 200, two workers, with skipping and local rounds"
        Claim("agents", what, "neither", 0.4, "").record(*([count] for count in counts))
        uniform = dg.uniform(vertices=vertices, edges=16 * vertices, parts=2, client=client)
        expected = dg.bfs(uniform, 0).compute()

        def check(found: Any) -> None:
            if not found.compute().equals(expected):
                raise AnswerError("other distances with or without skipping")

        ways = {skips: dg.Optimizations(skip_exchange=skips) for skips in (True, False)}
        engines = {skips: dg.Gas(local_rounds=1, optimizations=way) for skips, way in ways.items()}
        runs = {skips: (partial(dg.bfs, uniform, 0, engine=engine), check) for skips, engine in engines.items()}
        seconds = take_turns(runs, 4 * bench.trials, warmups=0)
    what = f"BFS on a uniform graph of {vertices:,} vertices, two workers, with skipping"
    Claim("agents", what, "without", 1.02).record(*seconds.values())


class Restarted(ProcessDaemon):
    """A daemon whose process exits before every block."""

    def compute(self, table: str, call: BlockCall) -> Any:
        if not self.fresh:
            self._end(politely=True)
        answer = super().compute(table, call)
        self.fresh = answer is LOST
        return answer

    fresh = False


@dataclass(frozen=True)
class Restarting:
    device: str = "cpu"

    def start(self, threads: int) -> Daemon:
        return Restarted(threads)


def start_up(bench: Bench) -> None:
    """Time eleven supersteps with a daemon that starts once, and with one that restarts in each."""
    run, times = bench.operations()["PageRank"], ([], [])
    for trial in range(2):
        for kind, seconds in zip(("own process", [Restarting()]), times, strict=True):
            found = bench.checked(run, daemons=dg.Daemons(kind, block=None))
            if trial:
                seconds.append(float(found.report["busy"].sum()))
    what = f"PageRank of {ROUNDS} supersteps, a daemon that starts once"
    bench.claim(what, "one that starts for each superstep", None).record(*times)


def balance(bench: Bench) -> None:
    """Compare edges split by capacity, on two workers of which one is three times as fast, with equal halves and the
    optimum."""
    kinds = {0: [StandIn(compute=3e-6)], 1: [StandIn(compute=1e-6)]}
    times: dict[str, list[float]] = {"balanced": [], "even": []}
    frame = bench.graph.edges.compute()
    for name, capacities in (("even", [1, 1]), ("balanced", [1, 3])):
        ends = {"source": "source", "destination": "destination", "vertices": bench.graph.vertices.compute()}
        graph = dg.Graph.from_edges(frame, **ends, parts=2, capacities=capacities)
        for trial in range(bench.trials + 1):
            found = dg.pagerank(graph, max_iter=5, tol=0, daemons=dg.Daemons(kinds, block=1 << 16))
            expected = dg.pagerank(bench.graph, max_iter=5, tol=0).compute()["pagerank"]
            if not np.allclose(found.compute()["pagerank"], expected):
                raise AnswerError("ranks are others than the solver's")
            if trial:
                seconds = found.report.groupby("superstep")["pipeline"].max().iloc[1:]
                times[name].append(float(seconds.mean()))
    optimum = split_for(len(frame), [1, 3])[0] * 3e-6
    what = "a round of two workers of speeds 1 : 3, edges by capacity"
    bench.claim(what, "even halves", 1 / 1.4).record(times["balanced"], times["even"])
    bench.claim(what, "the model's optimum", 1.05).record(times["balanced"], [optimum] * bench.trials)


PARTS = {
    f.__name__.replace("_", "-"): f
    for f in (in_process, middleware, pipeline, stand_in, cache, lazy_upload, skip, start_up, balance)
}


def main() -> None:
    parser = parser_of(__doc__, scale=16, trials=3)
    parser.add_argument("--plot", help="a PNG of time over the number of blocks")
    parser.add_argument("--only", default=",".join(PARTS))
    options = parser.parse_args()
    graph = dg.rmat(scale=options.scale, edge_factor=16, seed=1, weights=(1, 255))
    bench = Bench(graph, options.scale, options.trials, options.plot)
    for name in options.only.split(","):
        PARTS[name](bench)


if __name__ == "__main__":
    main()
