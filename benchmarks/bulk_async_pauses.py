"""What pauses of workers cost without rounds and with them, on two worker processes of one thread.

    python benchmarks/bulk_async_pauses.py [--scale 20] [--trials 5]

A process that pauses is stopped by a signal: it waits, and burns nothing. Pauses are as long as a few rounds, as those
of a garbage collector or a noisy neighbour are, and strike the workers in turn, at random times of what the run takes
without any; both orders of a run have as many of them, as long. Who has to wait for every pause of any worker loses
their sum. Who never waits loses what one worker stands still, which is half of it: the target, to which a pause comes
nearer only by what it hides of time that a worker would have waited anyway. The sum is in the record.
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

PAUSES, PAUSE = 12, 0.02  # how many there are in a run, and seconds of each
EXACT = {"tol": 1e-9, "max_iter": 300}  # of PageRank: runs long enough that pauses do not follow one another


def pauses(operation: str, workload: Workload, client: Client, trials: int) -> None:
    """The seconds that a run loses by pauses of its workers, without rounds and with them."""
    graph = graph_of(workload, client, 2)
    pids = [place["pid"] for place in client.run(lambda: {"pid": os.getpid()}).values()]
    contest = Contest(operation, workload, 1)
    more = EXACT if operation == "pagerank" else {}
    ways = {"bulk-asynchronous": {**FREE, **more}, "rounds": {**SETTLED, **more}}
    for how in ways.values():
        contest.once("warm", graph, how)
    for name, stops in (("pauses in turn", in_turn), ("one worker at a third of its speed", at_a_third)):
        lost: dict[str, list[float]] = {way: [] for way in ways}
        plain: dict[str, list[float]] = {way: [] for way in ways}
        for trial in range(trials):
            for way, how in ways.items():
                before = contest.once(way, graph, how)
                slow = contest.once(way, graph, how, stops(pids, random.Random(trial), before))
                usual = mean([before, contest.once(way, graph, how)])
                lost[way].append(slow - usual)
                plain[way].append(usual)
        facts = {"seconds without": plain} | ({"sum of pauses": PAUSES * PAUSE} if stops is in_turn else {})
        print(f"{operation}: {facts}")
        what = f"{operation}, {workload.title}, two worker processes: lost by {name}"
        target = 0.5 if stops is in_turn else None
        Claim("bulk_async", what, "rounds", target, facts=facts).record(*lost.values())


def in_turn(pids: list[int], draw: random.Random, seconds: float) -> AbstractContextManager[None]:
    """So many pauses, now of this worker and then of the other, at random times of a run of so many seconds: all of
    them begin before it could end."""
    free = sorted(draw.uniform(0, max(seconds - PAUSES * PAUSE, 0)) for _ in range(PAUSES))
    return stopping((pids[i % len(pids)], at + i * PAUSE, PAUSE) for i, at in enumerate(free))


def at_a_third(pids: list[int], draw: random.Random, seconds: float) -> AbstractContextManager[None]:
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
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--only", choices=["pagerank", "sssp"])
    given = parser.parse_args()
    with worker_processes() as client:
        for operation, workload in (("pagerank", workloads.rmat), ("sssp", workloads.grid)):
            if given.only in (None, operation):
                pauses(operation, workload(given.scale), client, given.trials)


if __name__ == "__main__":
    main()
