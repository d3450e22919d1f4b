"""Many workers, and many partitions of one worker: what it costs to be sixteen, and a hundred.

    .venv/bin/python benchmarks/many.py workers [--workers 2 4 8 16 32] [--trials 3] [--calls]
    .venv/bin/python benchmarks/many.py supersteps [--workers 2 4 8 16 32] [--trials 3]
    .venv/bin/python benchmarks/many.py threads [--workers 8 64] [--trials 3]
    .venv/bin/python benchmarks/many.py scheduler [--workers 8 16] [--trials 3]
    .venv/bin/python benchmarks/many.py partitions [--parts 8 32 64 128] [--here | --there] [--operations wcc ...]
        [--apart]

Worker processes of one thread, however many, share the cores of this machine. So besides the time, the CPU time of all
processes counts: of the workers, and of this process, which is scheduler and client. Their graph has 50,000 vertices
and 600,000 edges. With `--calls` all mail goes by Dask's calls, as it does under TLS. Supersteps are empty, or send
small mail from all to all, and CPU time is that of the workers. Workers that are threads of this process run every
engine, and the changes of tasks' states that the scheduler sees are counted. A scheduler in a process of its own tells
its share of the CPU time. With partitions, R-MAT in so many in this process and on two workers is compared with the
better of one and two; once an operation takes longer than `LONGEST`, it is left out for more. Operations join them,
unless they are kept `--apart`. All answers are verified.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import log2
from statistics import median
from typing import Any

import numpy as np
from distributed import Client, LocalCluster
from distributed.deploy.subprocess import SubprocessCluster
from harness import Claim, parser_of, rmat_edges
from superstep import steps

import dgraph as dg
from dgraph.bench.local_cluster import local_cluster
from dgraph.cluster.scheduler import install
from dgraph.exchange.run_registry import PLUGIN_NAME
from dgraph.partition import policies
from dgraph.supersteps.run_steps import run_steps
from dgraph.testing.verify import Edges, verify

VERTICES, EDGES, ROUNDS = 50_000, 600_000, 20
NUMBERS = {"workers": [2, 4, 8, 16, 32], "supersteps": [2, 4, 8, 16, 32], "threads": [8, 64], "scheduler": [8, 16]}
LONGEST = 120.0  # seconds after which the larger numbers of partitions are left out
MOST = {8: 2.0, 32: 2.5, 64: 3.0, 128: 4.0}  # relative to the better of one and two partitions
TWICE = ("triangles", "core_number")  # which may take twice that
MOST_SECONDS = {("gas", 16): 1.0, ("gas", 32): 2.5, ("build", 16): 2.5, ("build", 32): 6.0}
EMPTY, DOUBLED = 1.0, 0.4  # milliseconds of a worker for an empty superstep, and more for each doubling of workers
A_PEER = {16: 0.25, 32: 0.15}  # milliseconds of a worker for mail of each of its peers and to it
STEPS, SMALL = 200, 100  # supersteps that are timed, and the bytes from each worker to each other
ASYNCHRONOUS = 1.3  # the most that bulk_async may take, relative to gas
OF_SCHEDULER, REPEATED = 0.1, 5  # the scheduler's largest share of the CPU time, measured over so many runs
LINEAR = 1.25  # how much more the scheduler may do for each of many workers than for each of few


@dataclass(frozen=True)
class Case:
    operation: str
    options: dict[str, Any]
    checks: dict[str, Any]  # options of the verifier

    def run(self, graph: dg.Graph) -> Any:
        result = getattr(dg, self.operation)(graph, **self.options)
        result.report  # noqa: B018  (waits for the values)
        return result


def ranks(**options: Any) -> Case:
    return Case("pagerank", options, {"max_iter": ROUNDS, "tol": 0.0} if "max_iter" in options else {"rtol": 1e-3})


ON_WORKERS = {
    "gas": ranks(engine="gas", max_iter=ROUNDS, tol=0.0),
    "bsp": ranks(engine="bsp", max_iter=ROUNDS, tol=0.0),
    "bulk_async": ranks(engine="bulk_async", tol=1e-6),
    "wcc": Case("wcc", {}, {}),
}
ON_THREADS = {**ON_WORKERS, "block_descent": ranks(engine="block_descent", tol=1e-6)}
IN_PARTS = {
    "pagerank": ranks(max_iter=ROUNDS, tol=0.0),
    "sssp": Case("sssp", {}, {}),  # from the vertex with the most edges
    "wcc": Case("wcc", {}, {}),
    "triangles": Case("triangles", {}, {}),
    "core_number": Case("core_number", {}, {}),
    "bulk_async": ranks(engine="bulk_async", tol=1e-6),
}


def main() -> None:
    options = parser_of(__doc__, scale=18, trials=3)
    options.add_argument("what", choices=("workers", "supersteps", "threads", "scheduler", "partitions"))
    options.add_argument("--workers", type=int, nargs="+", help="how many, one number after the other")
    options.add_argument("--calls", action="store_true", help="send mail by Dask's calls only")
    options.add_argument("--parts", type=int, nargs="+", default=list(MOST))
    options.add_argument("--operations", nargs="+", choices=IN_PARTS, default=list(IN_PARTS))
    options.add_argument("--apart", action="store_true", help="leave partitions as they are")
    where = options.add_mutually_exclusive_group()
    where.add_argument("--here", action="store_true", help="only in this process")
    where.add_argument("--there", action="store_true", help="only on two workers")
    given = options.parse_args()
    if given.what != "partitions":
        counts = given.workers or NUMBERS[given.what]
        if given.what == "workers":
            many_workers(counts, given.trials, given.calls)
        else:
            {"supersteps": many_supersteps, "threads": many_threads, "scheduler": busy_scheduler}[given.what](
                counts, given.trials
            )
        return
    if given.apart:
        policies.VERY_MANY = 1 << 16
    if not given.there:
        many_partitions(given, None, "in this process")
    if not given.here:
        with local_cluster(2, 1) as client:
            many_partitions(given, client, "on two workers")


# -- workers -----------------------------------------------------------------------------------------------------------


def many_workers(counts: list[int], trials: int, calls: bool) -> None:
    frame = small_frame()
    for workers in counts:
        with local_cluster(workers, 1) as client:
            if calls:
                install(client)
                client.run(without_lanes)
            seconds: dict[str, list[float]] = {name: [] for name in ("build", *ON_WORKERS)}
            cpu = {name: list[float]() for name in seconds}
            for trial in range(-1, trials):  # the first compiles
                make = partial(built, frame, client)
                graph = timed_with_cpu("build", make, client, seconds, cpu, trial)
                for name, case in ON_WORKERS.items():
                    result = timed_with_cpu(name, partial(case.run, graph), client, seconds, cpu, trial)
                    verify(case.operation, graph, result, **case.checks)
        title = f"{VERTICES:,} vertices, {EDGES:,} edges, {workers} workers{' by calls' * calls}"
        for name, found in seconds.items():
            most = None if calls else MOST_SECONDS.get((name, workers))
            facts = {"cpu": [round(one, 3) for one in cpu[name]]}
            if name == "bulk_async":
                most = None if calls else ASYNCHRONOUS
                Claim("many", f"{name}, {title}", "gas", most, facts=facts).record(found, seconds["gas"])
            else:
                what = f"{TITLES.get(name, name)}, {title}"
                Claim("many", what, "a second", most, facts=facts).record(found, [1.0] * trials)
            print(f"  CPU seconds of all processes: {median(cpu[name]):.2f}", flush=True)


def small_frame() -> dict[str, np.ndarray]:
    source, destination = rmat_edges(16)
    chosen = np.random.default_rng(1).choice(len(source), EDGES, replace=False)
    return {"src": source[chosen] % VERTICES, "dst": destination[chosen] % VERTICES}


def without_lanes(dask_worker: Any) -> None:
    dask_worker.plugins[PLUGIN_NAME].lanes = None


TITLES = {"gas": f"gas, {ROUNDS} rounds of PageRank", "bsp": f"bsp, {ROUNDS} rounds of PageRank"}


def built(frame: dict[str, np.ndarray], client: Any) -> dg.Graph:
    graph = dg.Graph.from_edges(frame, vertices=VERTICES, client=client)
    graph.partitioned(("out", "incoming"))
    return graph


def timed_with_cpu(
    name: str,
    run: Callable[[], Any],
    client: Any,
    seconds: dict[str, list[float]],
    cpu: dict[str, list[float]],
    trial: int,
) -> Any:
    """What a call returns; its seconds, and those of all processes' CPU time, are added to the lists unless it is a
    trial before the first."""
    before, begun = cpu_seconds(client), time.perf_counter()
    result = run()
    elapsed, used = time.perf_counter() - begun, cpu_seconds(client) - before
    if trial >= 0:
        seconds[name].append(elapsed)
        cpu[name].append(used)
    return result


def cpu_seconds(client: Any) -> float:
    return time.process_time() + sum(client.run(time.process_time).values())


def many_supersteps(counts: list[int], trials: int) -> None:
    for workers in counts:
        with local_cluster(workers, 1) as client:
            milliseconds: dict[int, list[float]] = {0: [], SMALL: []}
            for trial in range(-2, trials):  # the first open connections
                for size, found in milliseconds.items():
                    before = sum(client.run(time.process_time).values())
                    run_steps(steps(size, STEPS), [None] * workers, client=client)
                    used = sum(client.run(time.process_time).values()) - before
                    if trial >= 0:
                        found.append(used * 1e3 / STEPS / workers)
        empty, small = milliseconds.values()
        most = EMPTY + DOUBLED * log2(workers)
        Claim("many", f"CPU of a worker for an empty superstep, {workers} workers", "a limit", 1.0, unit="ms").record(
            empty, [most] * trials
        )
        more = [(with_mail - without) / (workers - 1) for with_mail, without in zip(small, empty, strict=True)]
        limit = A_PEER.get(workers)
        what = f"CPU of a worker for {SMALL} bytes to and from each peer, {workers} workers"
        Claim("many", what, "a limit", None if limit is None else 1.0, unit="ms a peer").record(
            more, [limit or max(A_PEER.values())] * trials
        )


def many_threads(counts: list[int], trials: int) -> None:
    frame, seen = small_frame(), {name: list[float]() for name in ON_THREADS}
    for workers in sorted(counts):
        place = {"n_workers": workers, "threads_per_worker": 1, "processes": False, "memory_limit": 0}
        with LocalCluster(**place, dashboard_address=":0") as cluster, Client(cluster, set_as_default=False) as client:
            graph = built(frame, client)
            for name, case in ON_THREADS.items():
                seconds, changes = list[float](), list[float]()
                for trial in range(-1, trials):
                    before, begun = client.run_on_scheduler(changes_of_tasks), time.perf_counter()
                    result = case.run(graph)
                    elapsed = time.perf_counter() - begun
                    if trial >= 0:
                        seconds.append(elapsed)
                        changes.append((client.run_on_scheduler(changes_of_tasks) - before) / workers)
                    verify(case.operation, graph, result, **case.checks)
                title = f"{TITLES.get(name, name)}, {EDGES:,} edges, {workers} threads as workers"
                Claim("many", title, "a second", None).record(seconds, [1.0] * trials)
                fewest = seen[name] = seen[name] or changes
                what = f"state changes of tasks for a worker, {name}, {workers} threads as workers"
                Claim("many", what, f"{min(counts)} workers", LINEAR, unit="").record(changes, fewest)


def changes_of_tasks(dask_scheduler: Any) -> int:
    return int(dask_scheduler.transition_counter)


def busy_scheduler(counts: list[int], trials: int) -> None:
    frame = small_frame()
    for workers in counts:
        place = {"n_workers": workers, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": ":0"}
        with SubprocessCluster(**place, silence_logs=50) as cluster, Client(cluster, set_as_default=False) as client:
            client.wait_for_workers(workers)
            graph = built(frame, client)
            for name, case in ON_WORKERS.items():
                of_scheduler, of_all = list[float](), list[float]()
                for trial in range(-1, trials):
                    before = client.run_on_scheduler(time.process_time), cpu_seconds(client)
                    for _ in range(REPEATED):
                        result = case.run(graph)
                    used = client.run_on_scheduler(time.process_time) - before[0]
                    if trial >= 0:
                        of_scheduler.append(used)
                        of_all.append(used + cpu_seconds(client) - before[1])
                    verify(case.operation, graph, result, **case.checks)
                what = f"CPU of the scheduler, {REPEATED} runs of {name}, {workers} workers"
                Claim("many", what, "all processes", OF_SCHEDULER).record(of_scheduler, of_all)


# -- partitions --------------------------------------------------------------------------------------------------------


def many_partitions(given: argparse.Namespace, client: Any, where: str) -> None:
    source, destination = rmat_edges(given.scale)
    frame, edges = {"src": source, "dst": destination}, Edges(source, destination, 1 << given.scale, directed=True)
    few = {parts: in_parts(frame, given, client, parts) for parts in (1, 2)}
    from_busiest = {"source": int(np.bincount(source).argmax())}
    cases = {**IN_PARTS, "sssp": Case("sssp", from_busiest, from_busiest)}
    late: set[str] = set()
    best: dict[str, list[float]] = {}
    for name in given.operations:
        times = [trials_of(cases[name], graph, edges, given.trials) for graph in few.values()]
        best[name] = min((one for one in times if one), key=median)
    del few
    for parts in given.parts:
        graph = in_parts(frame, given, client, parts)
        for name in given.operations:
            what = f"{name}, R-MAT scale {given.scale}, {parts} partitions{' apart' * given.apart} {where}"
            most = MOST.get(parts, max(MOST.values())) * (1 + (name in TWICE))
            claim = Claim("many", what, "the better of one and two", most)
            if name in late:
                claim.failed(f"not run: fewer partitions took more than {LONGEST:g} s", median(best[name]))
                continue
            begun = time.perf_counter()
            found = trials_of(cases[name], graph, edges, given.trials)
            if time.perf_counter() - begun > LONGEST:
                late.add(name)
            claim.record(found, best[name])


def in_parts(frame: dict[str, np.ndarray], given: argparse.Namespace, client: Any, parts: int) -> dg.Graph:
    return dg.Graph.from_edges(frame, vertices=1 << given.scale, client=client, parts=parts)


def trials_of(case: Case, graph: dg.Graph, edges: Edges, trials: int) -> list[float]:
    """The seconds of the trials after the first, or of that one if it takes long."""
    seconds = []
    for trial in range(-1, trials):
        begun = time.perf_counter()
        result = case.run(graph)
        elapsed = time.perf_counter() - begun
        if trial <= 0:
            verify(case.operation, edges, result, **case.checks)
        if trial >= 0 or elapsed > LONGEST / trials:
            seconds.append(elapsed)
        if elapsed > LONGEST / trials:
            break
    return seconds


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
