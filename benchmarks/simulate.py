"""Recorded rounds replayed on up to 1,024 simulated workers, in rounds and without; and the model against real runs.

    .venv/bin/python benchmarks/simulate.py

A run is recorded as its report has it: seconds busy and bytes of each partition and round. More workers than partitions
stand for a graph that is so much larger and rounds that look the same; a replay on four is held against four processes
that wait and send instead of computing. Then `dgraph plan` is checked: what it says, from a quarter of the edges, of
one and of two workers against runs on them, and of four against such processes. What a run takes to start, and a round
without work, is measured there: by runs on a tiny graph, and by processes that hardly wait.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from harness import Claim, Wrong, worker_processes

import dgraph as dg
from dgraph.estimates.forecast import ENOUGH, RUNS, Cluster, calibrate, forecast
from dgraph.exchange.exchange import Exchange
from dgraph.native.threads import cores
from dgraph.supersteps.steps import Steps, run_steps

WITHIN = 0.25
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
REPLAYED = {"wcc": dg.wcc, "sssp": lambda graph, **how: dg.sssp(graph, graph.edges["source"].head(1).iloc[0], **how)}
Run = Callable[[Any], Any]
PLANNED: dict[str, Run] = {"pagerank": lambda graph: dg.pagerank(graph, tol=0, max_iter=20), "wcc": dg.wcc}


@dataclass(frozen=True)
class Recording:
    """By round and partition."""

    busy: np.ndarray
    bytes: np.ndarray

    @classmethod
    def of(cls, report: Any) -> Recording:
        how = {"index": "superstep", "columns": "partition", "fill_value": 0}
        tables = [report.pivot_table(values=name, **how) for name in ("busy", "bytes")]
        return cls(*(table.to_numpy(np.float64) for table in tables))

    def on(self, workers: int) -> Recording:
        """What each worker does: neighbouring partitions are on one; with fewer partitions than workers, each of them
        stands for several."""
        parts = self.busy.shape[1]
        if workers >= parts:
            return Recording(*(np.tile(one, -(-workers // parts))[:, :workers] for one in (self.busy, self.bytes)))
        home = np.arange(parts) * workers // parts
        return Recording(
            *(np.stack([np.bincount(home, row, workers) for row in one]) for one in (self.busy, self.bytes))
        )


def in_rounds(recorded: Recording, cluster: Cluster) -> float:
    """Every round waits for its slowest worker, and for the one that has most to send."""
    sending = recorded.bytes.max(axis=1) / cluster.bandwidth
    return float((recorded.busy.max(axis=1) + sending + cluster.latency).sum())


def without_rounds(recorded: Recording, cluster: Cluster) -> float:
    """A worker begins its next turn when it has done the last one and any other's news of that turn is there: it never
    waits for all. The end is found in two more exchanges."""
    free = np.zeros(recorded.busy.shape[1])
    news = 0.0
    for busy, sent in zip(recorded.busy, recorded.bytes, strict=True):
        begun = np.maximum(free, news) if len(free) > 1 else free
        free = begun + busy
        news = float((free + sent / cluster.bandwidth).min()) + cluster.latency
    return float(free.max()) + 2 * cluster.latency


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scale", type=int, default=18, help="2**scale vertices, 16 edges each")
    options.add_argument("--parts", type=int, default=16, help="partitions of the runs that are recorded")
    options.add_argument("--graphs", nargs="+", default=["rmat", "uniform", "grid"], help="on which plans are checked")
    options.add_argument("--no-replay", action="store_true", help="check plans only")
    options.add_argument("--trials", type=int, default=3)
    options.add_argument("--workers", type=int, nargs="+", default=list(WORKERS))
    given = options.parse_args()
    if not given.no_replay:
        for name, operation in REPLAYED.items():
            replay(name, operation, given)
        check_waiting(given)
    check_plan(graphs(given.scale, given.graphs), given)


def graphs(scale: int, names: list[str]) -> dict[str, Any]:
    """What makes them, by their titles: all with about as many edges."""
    vertices, side = 1 << scale, 1 << (scale + 2) // 2
    made = {
        "rmat": (f"R-MAT scale {scale}", partial(dg.rmat, scale=scale)),
        "uniform": (f"uniform scale {scale}", partial(dg.uniform, vertices=vertices, edges=16 * vertices)),
        "grid": (f"grid {side} x {side}", partial(dg.grid, rows=side, cols=side)),
    }
    return dict(made[name] for name in names)


def replay(name: str, operation: Any, given: argparse.Namespace) -> None:
    """A table: seconds in rounds and without, and how much longer rounds take."""
    graph = dg.rmat(scale=given.scale, parts=given.parts, weights=(1, 255))
    recordings = []
    for engine in ("gas", "bulk_async"):
        operation(graph, engine=engine)
        recordings.append(Recording.of(operation(graph, engine=engine).report))
    print(f"{name} of R-MAT scale {given.scale} in {given.parts} partitions, replayed (seconds)")
    print(f"{'workers':>8} {'in rounds':>10} {'without':>10} {'ratio':>6}")
    for workers in given.workers:
        cluster = Cluster(workers)
        found = in_rounds(recordings[0].on(workers), cluster), without_rounds(recordings[1].on(workers), cluster)
        print(f"{workers:8} {found[0]:10.4f} {found[1]:10.4f} {found[0] / found[1]:6.2f}")


def check_plan(graphs: dict[str, Any], given: argparse.Namespace) -> None:
    """What is told from a quarter of the edges, against runs on all: here, and on two workers; and against four workers
    that wait for as long as partitions here were busy. Nothing else runs beside, not even workers of the next."""
    for title, make in graphs.items():
        graph = make()
        alone = dict.fromkeys(PLANNED, Cluster(1, cores()))
        compare(title, graph, alone, lambda run, graph=graph: timed(lambda: run(graph)), given.trials)
    with worker_processes(2, silence_logs=50) as two:
        clusters = beside_work(two)
        for title, make in graphs.items():
            spread = make(client=two)
            compare(title, make(), clusters, lambda run, spread=spread: timed(lambda: run(spread)), given.trials)
    with worker_processes(4, silence_logs=50) as four:
        clusters = dict.fromkeys(PLANNED, network(four))
        for title, make in graphs.items():
            recorded = make(parts=4)
            compare(title, make(), clusters, partial(waited, four, recorded), given.trials)


def compare(
    title: str, graph: Any, clusters: dict[str, Cluster], measured: Callable[[Run], float], trials: int
) -> None:
    """A claim for each operation: what is told of it, over what a run takes. A machine that is slow for a while is slow
    for both sides, as they take turns."""
    for name, run in PLANNED.items():
        told, took, cluster = [], [], clusters[name]
        for _ in range(trials + 1):
            known = calibrate(graph, name, run, workers=cluster.workers, edges=-(-graph.num_edges // 4))
            row = forecast(graph, name, cluster, run, measured=known).frame.loc[graph.policy]
            told.append(float(row["seconds"] - row["build"]))
            took.append(measured(run))
        what = f"seconds of {name} on {cluster.workers} worker{'s' * (cluster.workers > 1)}, {title}"
        against = "the run" if cluster.workers < 4 else "processes that wait and send"
        claim_of(f"{what}, as `dgraph plan` tells them", against, told[1:], took[1:])  # the first one compiles


def claim_of(what: str, against: str, told: list[float], took: list[float]) -> None:
    Claim("simulate", what, against, 1 + WITHIN, floor=1 - WITHIN).record(told, took)


def network(client: Any) -> Cluster:
    """What a run on a cluster takes beside its work: once, for each round, and for each byte. Measured with rounds of a
    few milliseconds in which workers, as in most rounds, are done soon after one another."""
    workers, rounds, small, size = len(client.nthreads()), 40, 1 << 12, 1 << 20
    turn = 0.004 * (1 + np.arange(workers) / workers / 4)

    def beside(rounds: int, size: int) -> float:
        one = Recording(np.tile(turn, (rounds, 1)), np.full((rounds, workers), size))
        return min(replayed(client, one) for _ in range(RUNS)) - rounds * float(turn.max())

    few, many, large = beside(1, small), beside(1 + rounds, small), beside(1 + rounds, size)
    latency = max(0.0, many - few) / rounds
    bandwidth = (1 + rounds) * (size - small) / max(large - many, 1e-3)
    return Cluster(workers, latency=latency, start=max(0.0, few - latency), bandwidth=bandwidth)


def beside_work(client: Any) -> dict[str, Cluster]:
    """The same by operation, of runs that have hardly any work."""
    known, graph, rounds = network(client), dg.rmat(scale=8, client=client), 40
    few, many = (timed(partial(dg.pagerank, graph, tol=0, max_iter=count)) for count in (1, 1 + rounds))
    known = replace(known, latency=max(0.0, many - few) / rounds)
    beside = {name: timed(partial(run, graph)) - run(graph).rounds * known.latency for name, run in PLANNED.items()}
    return {name: replace(known, start=max(0.0, seconds)) for name, seconds in beside.items()}


def timed(run: Any) -> float:
    """The least of several runs, as of samples: a machine that is shared gives the same run half its speed for a
    second at a time."""
    took: list[float] = []
    while len(took) < RUNS or sum(took) < ENOUGH:
        begun = time.perf_counter()
        run()
        took.append(time.perf_counter() - begun)
    return min(took)


class Waiting:
    """A worker that waits as long as it was busy when it was recorded, and sends as many bytes."""

    def __init__(self, recorded: Recording):
        self.recorded = recorded

    def setup(self, exchange: Exchange, partitions: dict[int, Any]) -> Any:
        return exchange, next(iter(partitions))

    def step(self, state: Any, step: int, told: list[Any]) -> dict[str, Any]:
        exchange, part = state
        received = sum(len(data) for _, data in exchange.collect(step - 1, part)) if step else 0
        rounds, parts = self.recorded.busy.shape
        time.sleep(self.recorded.busy[step, part])
        share = np.zeros(int(self.recorded.bytes[step, part]) // (parts - 1), np.uint8)
        for peer in range(parts):
            if peer != part:
                exchange.send(step, part, peer, share)
        return {"received": received, "done": step + 1 == rounds}

    def finish(self, state: Any) -> None:
        return None


def replayed(client: Any, recorded: Recording) -> float:
    """Seconds of the recorded rounds on workers that wait."""
    waiting = Waiting(recorded)
    homes = list(client.nthreads())
    parts = [client.submit(int, part, workers=[home], pure=False) for part, home in enumerate(homes)]
    client.gather(parts)
    begun = time.perf_counter()
    outcome = run_steps(Steps(waiting.setup, waiting.step, waiting.finish), parts, client=client, homes=homes)
    took = time.perf_counter() - begun
    if outcome.steps < len(recorded.busy):
        raise Wrong(f"{outcome.steps} rounds of {len(recorded.busy)} were replayed")
    return took


def waited(client: Any, graph: Any, run: Run) -> float:
    """Seconds of workers that wait for as long as the partitions of a graph here are busy in the quickest of several
    runs."""
    recordings = [Recording.of(run(graph).report) for _ in range(RUNS)]
    quickest = min(recordings, key=lambda one: one.busy.max(axis=1).sum())
    return min(replayed(client, quickest) for _ in range(RUNS))


def check_waiting(given: argparse.Namespace, workers: int = 4) -> None:
    """A replay on four workers, against processes of which none has a core to itself, nor needs one."""
    graph = dg.rmat(scale=given.scale, parts=workers)
    PLANNED["pagerank"](graph)
    recorded = Recording.of(PLANNED["pagerank"](graph).report)
    with worker_processes(workers, silence_logs=50) as client:
        here = network(client)
        took = [timed(partial(replayed, client, recorded)) for _ in range(given.trials)]
    what = f"seconds of 20 rounds of PageRank on {workers} workers, R-MAT scale {given.scale}, replayed"
    told = here.start + in_rounds(recorded, here)
    claim_of(what, f"{workers} processes that wait and send", [told] * len(took), took)


if __name__ == "__main__":
    main()
