"""What pauses of workers cost without rounds and with them, on two worker processes of one thread.

    python benchmarks/bulk_async_pauses.py [--scale 20] [--trials 5]

A process that pauses is stopped by a signal: it waits, and burns nothing. The same pauses strike the workers in turn in
both orders of a run, at random times; and beside it, one worker runs at a third of its speed all the time. Every answer
is verified.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bulk_async import FREE, SETTLED, STEPS, Contest, graph_of
from distributed import Client
from harness import Claim, worker_processes
from peers import workloads
from peers.workloads import Workload

PAUSES, PAUSE = 8, 0.06  # how many there are in a run, and seconds of each


def pauses(workload: Workload, client: Client, trials: int) -> None:
    """The seconds that a run loses by pauses of its workers, without rounds and with them."""
    graph = graph_of(workload, client, 2)
    pids = [place["pid"] for place in client.run(lambda: {"pid": os.getpid()}).values()]
    for operation in ("pagerank", "sssp"):
        contest = Contest(operation, workload, 1)
        ways = {"bulk-asynchronous": FREE, "rounds": STEPS if operation == "sssp" else SETTLED}
        for how in ways.values():
            contest.once("warm", graph, how)
        for name, stops in (("pauses in turn", in_turn), ("one worker at a third of its speed", at_a_third)):
            lost: dict[str, list[float]] = {way: [] for way in ways}
            for trial in range(trials):
                for way, how in ways.items():
                    plain = min(contest.once(way, graph, how) for _ in range(2))
                    with stops(pids, random.Random(trial)):
                        lost[way].append(contest.once(way, graph, how) - plain)
            target = 0.5 if stops is in_turn else None
            what = f"{operation}, {workload.title}, two worker processes: lost by {name}"
            Claim("bulk_async", what, "rounds", target).record(*lost.values())


@contextmanager
def in_turn(pids: list[int], draw: random.Random) -> Iterator[None]:
    """So many pauses, now of this worker and then of the other, at random times."""
    after = [draw.expovariate(1 / (PAUSE / 3)) for _ in range(PAUSES)]
    with stopping((pids[i % len(pids)], wait, PAUSE) for i, wait in enumerate(after)):
        yield


@contextmanager
def at_a_third(pids: list[int], draw: random.Random) -> Iterator[None]:
    """The first runs for 5 ms, and then stands still for 10."""

    def always() -> Iterator[tuple[int, float, float]]:
        while True:
            yield pids[0], 0.005, 0.010

    with stopping(always()):
        yield


@contextmanager
def stopping(stops: Iterator[tuple[int, float, float]]) -> Iterator[None]:
    """Processes that stand still: who, after how long, for how long. One that is stopped burns nothing."""
    over = threading.Event()

    def work() -> None:
        for pid, after, seconds in stops:
            if over.wait(after):
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
    parser.add_argument("--scale", type=int, default=20, help="2**scale vertices, 16 edges each (20: 16 M edges)")
    parser.add_argument("--trials", type=int, default=5)
    given = parser.parse_args()
    with worker_processes() as client:
        pauses(workloads.rmat(given.scale), client, given.trials)


if __name__ == "__main__":
    main()
