"""The cost of pauses of workers, with and without rounds, on two worker processes of one thread.

    python benchmarks/bulk_async_pauses.py [--scale 20] [--trials 11]

A signal stops a process for a pause, so that it uses no CPU time. Pauses last a few rounds, like those of a garbage
collector or a noisy neighbour, and hit the workers in turn at random times of the run. Runs with and without rounds get
the same number and length of pauses, few enough that they do not overlap.
A run in which every pause delays all workers loses the sum of the pauses. A run without waiting loses only the pauses
of one worker, half the sum, provided that the other does useful work in the meantime. This holds for PageRank on a
grid, whose partitions are almost independent. On R-MAT, half of all edges cross partitions, and in a search the worker
at the frontier keeps the other waiting, so little can be hidden, as the rows show. The record contains the sum.
A second measurement slows one worker to a third of its speed throughout. Every answer is verified.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from statistics import mean

from bulk_async import FREE, SETTLED, Contest, graph_of
from distributed import Client
from harness import Claim, parser_of
from peers import workloads
from peers.workloads import Workload

from dgraph.bench.local_cluster import local_cluster

PAUSE, EVERY, LEAST = 0.03, 0.15, 3  # seconds per pause; seconds of a run per pause; minimum number of pauses
EXACT = {"tol": 1e-9, "max_iter": 300}  # for PageRank: runs long enough that pauses do not follow one another directly


def pauses(operation: str, workload: Workload, client: Client, trials: int) -> None:
    """The seconds that a run loses through pauses of its workers, without and with rounds."""
    graph = graph_of(workload, client, 2)
    pids = list(client.run(os.getpid).values())
    contest = Contest(operation, workload, 1)
    more = EXACT if operation == "pagerank" else {}
    ways = {"bulk-asynchronous": {**FREE, **more}, "rounds": {**SETTLED, **more}}
    warm = [contest.once("warm", graph, how) for how in ways.values() for _ in range(2)]
    number = max(LEAST, int(min(warm) / EVERY))
    for name, stops in (("pauses in turn", in_turn), ("one worker at a third of its speed", at_a_third)):
        lost: dict[str, list[float]] = {way: [] for way in ways}
        plain: dict[str, list[float]] = {way: [] for way in ways}
        for trial in range(trials):
            for way, how in list(ways.items())[:: -1 if trial % 2 else 1]:
                before = contest.once(way, graph, how)
                slow = contest.once(way, graph, how, stops(pids, random.Random(trial), before, number))
                usual = mean([before, contest.once(way, graph, how)])
                lost[way].append(slow - usual)
                plain[way].append(usual)
        facts = {"seconds without": plain} | ({"sum of pauses": number * PAUSE} if stops is in_turn else {})
        print(f"{operation}: {facts}")
        what = f"{operation}, {workload.title}, two worker processes: lost by {name}"
        target = 0.5 if stops is in_turn else None
        # a run that loses almost nothing may seem to gain
        Claim("bulk_async", what, "rounds", target, floor=-1.0 if target else 0.0, facts=facts).record(*lost.values())


def in_turn(pids: list[int], draw: random.Random, seconds: float, number: int) -> AbstractContextManager[None]:
    """Pauses of alternating workers at random times of a run, all of which start before the run could end."""
    free = sorted(draw.uniform(0, max(seconds - number * PAUSE, 0)) for _ in range(number))
    return stopping((pids[i % len(pids)], at + i * PAUSE, PAUSE) for i, at in enumerate(free))


def at_a_third(pids: list[int], draw: random.Random, seconds: float, number: int) -> AbstractContextManager[None]:
    """The first worker alternates between 5 ms of work and a pause of 10 ms."""
    return stopping((pids[0], 0.005 + i * 0.015, 0.010) for i in count())


@contextmanager
def stopping(stops: Iterator[tuple[int, float, float]]) -> Iterator[None]:
    """Pauses of processes: which process, after how many seconds, for how long. A stopped process uses no CPU time."""
    over, begun = threading.Event(), time.perf_counter()

    def work() -> None:
        for pid, at, seconds in stops:
            if over.wait(max(begun + at - time.perf_counter(), 0)):
                return
            os.kill(pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def main() -> None:
    parser = parser_of(__doc__, trials=11)
    parser.add_argument("--scale", type=int, default=20, help="R-MAT of 16 M edges, grid 2000 x 2000")
    parser.add_argument("--only", choices=["grid", "rmat"])
    given = parser.parse_args()
    graphs = {"grid": (workloads.grid, ("pagerank", "sssp")), "rmat": (workloads.rmat, ("pagerank",))}
    with local_cluster(2, 1) as client:
        for graph in [given.only] if given.only else graphs:
            make, operations = graphs[graph]
            workload = make(given.scale)
            for operation in operations:
                pauses(operation, workload, client, given.trials)


if __name__ == "__main__":
    main()
