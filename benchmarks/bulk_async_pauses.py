"""What pauses of workers cost without rounds and with them, on two worker processes of one thread.

    python benchmarks/bulk_async_pauses.py [--scale 20] [--trials 11]

A process that pauses is stopped by a signal: it waits, and burns nothing. Pauses are as long as a few rounds, as those
of a garbage collector or a noisy neighbour are, and strike the workers in turn, at random times of what the run takes
without any; both orders of a run have as many of them, as long, and so few that rounds do not hide one behind the next.
Who has to wait for every pause of any worker loses their sum. Who never waits loses what one worker stands still, which
is half of it, if what the other does meanwhile is of use: PageRank on a grid, whose partitions have almost all they
need. On R-MAT half of all edges cross, and in a search the one with the wave keeps the other waiting: there little can
be hidden, and the rows say so. The sum is in the record.
Beside it, one worker runs at a third of its speed all the time. Every answer is verified.
"""

from __future__ import annotations

import argparse
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
from harness import Claim, worker_processes
from peers import workloads
from peers.workloads import Workload

PAUSE, EVERY, LEAST = 0.03, 0.15, 3  # seconds of a pause; of a run, to each of them; and how many there are at least
EXACT = {"tol": 1e-9, "max_iter": 300}  # of PageRank: runs long enough that pauses do not follow one another


def pauses(operation: str, workload: Workload, client: Client, trials: int) -> None:
    """The seconds that a run loses by pauses of its workers, without rounds and with them."""
    graph = graph_of(workload, client, 2)
    pids = [place["pid"] for place in client.run(lambda: {"pid": os.getpid()}).values()]
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
        # who loses next to nothing may seem to win
        Claim("bulk_async", what, "rounds", target, floor=-1.0 if target else 0.0, facts=facts).record(*lost.values())


def in_turn(pids: list[int], draw: random.Random, seconds: float, number: int) -> AbstractContextManager[None]:
    """So many pauses, now of this worker and then of the other, at random times of a run of so many seconds: all of
    them begin before it could end."""
    free = sorted(draw.uniform(0, max(seconds - number * PAUSE, 0)) for _ in range(number))
    return stopping((pids[i % len(pids)], at + i * PAUSE, PAUSE) for i, at in enumerate(free))


def at_a_third(pids: list[int], draw: random.Random, seconds: float, number: int) -> AbstractContextManager[None]:
    """The first runs for 5 ms, and then stands still for 10."""
    return stopping((pids[0], 0.005 + i * 0.015, 0.010) for i in count())


@contextmanager
def stopping(stops: Iterator[tuple[int, float, float]]) -> Iterator[None]:
    """Processes that stand still: who, how many seconds from now, for how long. One that is stopped burns nothing."""
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=20, help="R-MAT of 16 M edges, grid 2000 x 2000")
    parser.add_argument("--trials", type=int, default=11)
    parser.add_argument("--only", choices=["grid", "rmat"])
    given = parser.parse_args()
    graphs = {"grid": (workloads.grid, ("pagerank", "sssp")), "rmat": (workloads.rmat, ("pagerank",))}
    with worker_processes() as client:
        for graph in [given.only] if given.only else graphs:
            make, operations = graphs[graph]
            workload = make(given.scale)
            for operation in operations:
                pauses(operation, workload, client, given.trials)


if __name__ == "__main__":
    main()
