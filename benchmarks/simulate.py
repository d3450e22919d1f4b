"""Replays recorded rounds on up to 1,024 simulated workers, with and without rounds, and checks the model on real runs.

    .venv/bin/python benchmarks/simulate.py

The record of a run is its report: the busy seconds and bytes of each partition and round. More workers than partitions
stand for a proportionally larger graph with similar rounds. A replay on four workers is compared with four processes
that wait and send instead of computing. Then `dgraph plan` is checked: its predictions from a quarter of the edges are
compared with runs on one and two workers, and with four such processes. The start-up time of a run, and the time of a
round without work, are measured by runs on a tiny graph, and by processes that hardly wait.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from harness import Claim, parser_of

import dgraph as dg
from dgraph.bench.local_cluster import local_cluster
from dgraph.bench.resources import timed
from dgraph.cli.forecast import FEWEST_RUNS, SHORTEST_MEASUREMENT, Cluster, calibrate, forecast
from dgraph.errors import AnswerError
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.grid import hops
from dgraph.native.threads import cores
from dgraph.supersteps.run_steps import run_steps
from dgraph.supersteps.steps import Steps

WITHIN = 0.25
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
REPLAYED = {"wcc": dg.wcc, "sssp": lambda graph, **how: dg.sssp(graph, graph.edges["source"].head(1).iloc[0], **how)}
Timed = Callable[[Any], Any]
PLANNED: dict[str, Timed] = {"pagerank": lambda graph: dg.pagerank(graph, tol=0, max_iter=20), "wcc": dg.wcc}


@dataclass(frozen=True)
class Recording:
    """The record of a run, by round and partition."""

    busy: np.ndarray
    bytes: np.ndarray

    @classmethod
    def of(cls, report: Any) -> Recording:
        how = {"index": "superstep", "columns": "partition", "fill_value": 0}
        tables = [report.pivot_table(values=name, **how) for name in ("busy", "bytes")]
        return cls(*(table.to_numpy(np.float64) for table in tables))

    def on(self, workers: int) -> Recording:
        """The work of each worker: neighbouring partitions share a worker; with fewer partitions than workers, each
        partition stands for several."""
        parts = self.busy.shape[1]
        if workers >= parts:
            return Recording(*(np.tile(one, -(-workers // parts))[:, :workers] for one in (self.busy, self.bytes)))
        home = np.arange(parts) * workers // parts
        return Recording(
            *(np.stack([np.bincount(home, row, workers) for row in one]) for one in (self.busy, self.bytes))
        )


def in_rounds(recorded: Recording, cluster: Cluster) -> float:
    """The seconds in rounds, where every round waits for its slowest worker, and for the one that sends the most."""
    sending = recorded.bytes.max(axis=1) / cluster.bandwidth
    return float((recorded.busy.max(axis=1) + sending + cluster.overhead).sum())


def without_rounds(recorded: Recording, cluster: Cluster) -> float:
    """The seconds without rounds. A worker starts its next turn once it has finished the last one and has received a
    message of that turn from any other, so it never waits for all. Detecting the end takes two more exchanges."""
    free = np.zeros(recorded.busy.shape[1])
    news = 0.0
    for busy, sent in zip(recorded.busy, recorded.bytes, strict=True):
        begun = np.maximum(free, news) if len(free) > 1 else free
        free = begun + busy + cluster.costs.seconds(cluster.workers)
        news = float((free + sent / cluster.bandwidth).min()) + cluster.latency
    return float(free.max()) + 2 * cluster.latency


def main() -> None:
    options = parser_of(__doc__, scale=18, trials=3)
    options.add_argument("--parts", type=int, default=16, help="partitions of the runs that are recorded")
    options.add_argument("--graphs", nargs="+", default=["rmat", "uniform", "grid"], help="on which plans are checked")
    options.add_argument("--no-replay", action="store_true", help="check plans only")
    options.add_argument("--workers", type=int, nargs="+", default=list(WORKERS))
    given = options.parse_args()
    if not given.no_replay:
        for name, operation in REPLAYED.items():
            replay(name, operation, given)
        check_waiting(given)
    check_plan(graphs(given.scale, given.graphs), given)


def graphs(scale: int, names: list[str]) -> dict[str, Any]:
    """The graphs by title, all with about the same number of edges."""
    vertices, side = 1 << scale, 1 << (scale + 2) // 2
    made = {
        "rmat": (f"R-MAT scale {scale}", partial(dg.rmat, scale=scale)),
        "uniform": (f"uniform scale {scale}", partial(dg.uniform, vertices=vertices, edges=16 * vertices)),
        "grid": (f"grid {side} x {side}", partial(dg.grid, rows=side, cols=side)),
    }
    return dict(made[name] for name in names)


def replay(name: str, operation: Any, given: argparse.Namespace) -> None:
    """Print a table: seconds with and without rounds, and their ratio."""
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
    """Compare predictions from a quarter of the edges with runs on all edges, in this process and on two workers, and
    with four workers that wait as long as partitions here were busy. Nothing else runs at the same time."""
    for title, make in graphs.items():
        graph = make()
        alone = dict.fromkeys(PLANNED, Cluster(1, cores()))
        compare(title, graph, alone, lambda run, graph=graph: quickest_of(lambda: run(graph)), given.trials)
    with local_cluster(2, 1) as two:
        clusters = beside_work(two)
        for title, make in graphs.items():
            spread = make(client=two)
            compare(title, make(), clusters, lambda run, spread=spread: quickest_of(lambda: run(spread)), given.trials)
    with local_cluster(4, 1) as four:
        clusters = dict.fromkeys(PLANNED, network(four))
        for title, make in graphs.items():
            recorded = make(parts=4)
            compare(title, make(), clusters, partial(waited, four, recorded), given.trials)


def compare(
    title: str, graph: Any, clusters: dict[str, Cluster], measured: Callable[[Timed], float], trials: int
) -> None:
    """A claim for each operation: the prediction relative to the time of a run. Both sides take turns, so that a slow
    phase of the machine affects both."""
    for name, run in PLANNED.items():
        told, took, cluster = [], [], clusters[name]
        for _ in range(trials + 1):
            known = calibrate(graph, name, run, workers=cluster.workers, edges=-(-graph.num_edges // 4))
            row = forecast(graph, name, cluster, run, measured=known).frame.loc[graph.policy]
            told.append(float(row["seconds"] - row["build"]))
            took.append(measured(run))
        what = f"seconds of {name} on {cluster.workers} worker{'s' * (cluster.workers > 1)}, {title}"
        against = "the run" if cluster.workers < 4 else "processes that wait and send"
        claim_of(f"{what}, as `dgraph plan` tells them", against, told[1:], took[1:])  # the first run compiles


def claim_of(what: str, against: str, told: list[float], took: list[float]) -> None:
    Claim("simulate", what, against, 1 + WITHIN, floor=1 - WITHIN).record(told, took)


def network(client: Any) -> Cluster:
    """The overhead of a run on a cluster: once, per round, and per byte. It is measured with rounds of a few
    milliseconds in which, as in most rounds, workers finish shortly after one another."""
    workers, rounds, small, size = len(client.nthreads()), 40, 1 << 12, 1 << 20
    turn = 0.004 * (1 + np.arange(workers) / workers / 4)

    def beside(rounds: int, size: int) -> float:
        one = Recording(np.tile(turn, (rounds, 1)), np.full((rounds, workers), size))
        return min(replayed(client, one) for _ in range(FEWEST_RUNS)) - rounds * float(turn.max())

    few, many, large = beside(1, small), beside(1 + rounds, small), beside(1 + rounds, size)
    overhead = max(0.0, many - few) / rounds
    bandwidth = (1 + rounds) * (size - small) / max(large - many, 1e-3)
    known = Cluster(workers, start=max(0.0, few - overhead), bandwidth=bandwidth)
    return replace(known, latency=latency_of(overhead, known))


def latency_of(overhead: float, cluster: Cluster) -> float:
    """The seconds that a packet takes, if rounds have this overhead."""
    return max(0.0, overhead - cluster.costs.seconds(cluster.workers)) / hops(cluster.workers)


def beside_work(client: Any) -> dict[str, Cluster]:
    """The overhead by operation, from runs with hardly any work."""
    known, graph, rounds = network(client), dg.rmat(scale=8, client=client), 40
    few, many = (quickest_of(partial(dg.pagerank, graph, tol=0, max_iter=count)) for count in (1, 1 + rounds))
    known = replace(known, latency=latency_of(max(0.0, many - few) / rounds, known))
    beside = {
        name: quickest_of(partial(run, graph)) - run(graph).rounds * known.overhead for name, run in PLANNED.items()
    }
    return {name: replace(known, start=max(0.0, seconds)) for name, seconds in beside.items()}


def quickest_of(run: Any) -> float:
    """The minimum of several runs, because a shared machine can halve the speed of a run for a second at a time."""
    took: list[float] = []
    while len(took) < FEWEST_RUNS or sum(took) < SHORTEST_MEASUREMENT:
        took.append(timed(run)[0])
    return min(took)


class WaitList:
    """A worker that waits as long as the recorded worker was busy, and sends as many bytes."""

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
    """The seconds of the recorded rounds on workers that wait."""
    waiting = WaitList(recorded)
    homes = list(client.nthreads())
    parts = [client.submit(int, part, workers=[home], pure=False) for part, home in enumerate(homes)]
    client.gather(parts)
    steps = Steps(waiting.setup, waiting.step, waiting.finish)
    took, outcome = timed(lambda: run_steps(steps, parts, client=client, homes=homes))
    if outcome.steps < len(recorded.busy):
        raise AnswerError(f"{outcome.steps} rounds of {len(recorded.busy)} were replayed")
    return took


def waited(client: Any, graph: Any, run: Timed) -> float:
    """The seconds of workers that wait as long as the partitions of a graph were busy here in the fastest of several
    runs."""
    recordings = [Recording.of(run(graph).report) for _ in range(FEWEST_RUNS)]
    quickest = min(recordings, key=lambda one: one.busy.max(axis=1).sum())
    return min(replayed(client, quickest) for _ in range(FEWEST_RUNS))


def check_waiting(given: argparse.Namespace, workers: int = 4) -> None:
    """Compare a replay on four workers with processes that share cores, which suffices because they only wait."""
    graph = dg.rmat(scale=given.scale, parts=workers)
    PLANNED["pagerank"](graph)
    recorded = Recording.of(PLANNED["pagerank"](graph).report)
    with local_cluster(workers, 1) as client:
        here = network(client)
        took = [quickest_of(partial(replayed, client, recorded)) for _ in range(given.trials)]
    what = f"seconds of 20 rounds of PageRank on {workers} workers, R-MAT scale {given.scale}, replayed"
    told = here.start + in_rounds(recorded, here)
    claim_of(what, f"{workers} processes that wait and send", [told] * len(took), took)


if __name__ == "__main__":
    main()
