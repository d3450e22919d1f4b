"""Whether memory stays flat: the resident size of scheduler, workers and client over supersteps, and over runs.

Linux only.

Each runs in its own process. Dask's profiler is off and its logs are short, because these have a bound that they would
reach within an hour; the scheduler's records of all past work (spans) are part of the measurement.

With `--live MINUTES`, runs follow each other for so long while the live page is open, instead; then it is closed, and
the CPU time of the scheduler is compared with that of one without a dashboard. It needs Bokeh: `make live`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import psutil
from distributed import Client
from harness import Claim, parser_of

import dgraph as dg
from dgraph.bench.resources import resident
from dgraph.cluster.scheduler import live_page
from dgraph.errors import AnswerError
from dgraph.runs import progress

FLAT = 1.02  # the maximum size, relative to the earlier one
OF_DASK = 1.05  # the same for runs, which submit many task graphs, each of which the scheduler records
CLOSED = 1.1  # CPU time of a scheduler whose live page is not open, relative to one without a dashboard
BLOCK = 50  # runs in turn on a cluster, whose scheduler's CPU time is read
LOOK = 0.5  # seconds between two looks at the live page
WARM = 0.1  # fraction of the supersteps, runs or minutes after which pools and logs are full


def main() -> None:
    options = parser_of(__doc__)
    options.add_argument("--scale", type=int, default=12, help="2**scale vertices (12: 65,536 edges)")
    options.add_argument("--supersteps", type=int, default=200)
    options.add_argument("--runs", type=int, default=300)
    options.add_argument("--trials", type=int, default=3, help="of the supersteps; the runs have one")
    options.add_argument("--live", type=float, metavar="MINUTES", help="instead, runs with the live page open")
    given = options.parse_args()
    here = dg.rmat(scale=given.scale)
    if given.live:
        live(here, given.scale, given.live, given.trials)
        return
    progress.EVERY = 0.0  # seconds: sizes are read at the end of every chunk
    with cluster() as (client, processes):
        graph = dg.rmat(scale=given.scale, client=client, parts=4)

        def sizes() -> dict[str, float]:
            return sizes_of(processes)

        ranks = dg.pagerank(here, max_iter=given.supersteps, tol=None, engine="gas").compute()["pagerank"]
        seen = [supersteps(graph, given.supersteps, sizes, ranks) for _ in range(given.trials + 1)][1:]
        record(f"{given.supersteps} supersteps", f"{given.supersteps * WARM:g}", FLAT, seen)
        record(f"{given.runs} runs", f"{given.runs * WARM:g}", OF_DASK, [runs(graph, here, given.runs, sizes)])


def sizes_of(processes: dict[str, list[int]]) -> dict[str, float]:
    """The resident megabytes of each kind of process."""
    return {what: sum(resident("VmRSS", one) for one in each) / 1e6 for what, each in processes.items()}


def supersteps(graph: Any, count: int, sizes: Any, expected: Any) -> list[dict[str, float]]:
    """The sizes in a long run, after warm-up and at its end."""
    found: list[dict[str, float]] = []

    def note(done: dict[str, Any]) -> None:
        if not found or done["superstep"] <= WARM * count:
            found[:] = [sizes()]
        else:
            found[1:] = [sizes()]

    result = dg.pagerank(graph, max_iter=count, tol=None, progress=note)
    if result.rounds != count or not np.allclose(result.compute()["pagerank"], expected, rtol=1e-9):
        raise AnswerError(f"the ranks after {result.rounds} supersteps are not those of this process")
    return found


def runs(graph: Any, here: Any, count: int, sizes: Any) -> list[dict[str, float]]:
    """The sizes in a series of short runs, after warm-up and at the end."""
    expected, found = dg.wcc(here).compute(), []
    for run in range(1, count + 1):
        result = dg.wcc(graph)
        if run in (int(WARM * count), count):
            if not result.compute().equals(expected):
                raise AnswerError(f"the components of run {run} are not those of this process")
            found.append(sizes())
    return found


def record(what: str, warm: str, target: float, seen: list[list[dict[str, float]]]) -> None:
    for process in seen[0][0]:
        claim = Claim("flat_memory", f"resident size of the {process} after {what}", f"after {warm}", target, unit="MB")
        claim.record([after[process] for _, after in seen], [before[process] for before, _ in seen])


# -- the live page -----------------------------------------------------------------------------------------------------


def live(here: Any, scale: int, minutes: float, trials: int) -> None:
    """Sizes over minutes of runs while the page is open, and CPU time of schedulers by what they show."""
    expected = dg.wcc(here).compute()
    with cluster(dashboard=True) as shown, cluster() as hidden:
        graphs = [dg.rmat(scale=scale, client=client, parts=2) for client, _ in (shown, hidden)]
        schedulers = [psutil.Process(processes["scheduler"][0]) for _, processes in (shown, hidden)]

        def run(graph: Any) -> None:
            if not dg.wcc(graph).compute().equals(expected):
                raise AnswerError("the components are not those of this process")

        def seconds_of(which: int) -> float:
            before = sum(schedulers[which].cpu_times()[:2])
            for _ in range(BLOCK):
                run(graphs[which])
            return (sum(schedulers[which].cpu_times()[:2]) - before) / BLOCK

        with viewer(live_page(shown[0])):
            found, count = [], 0
            for share in (WARM, 1.0):
                until = time.monotonic() + 60 * minutes * (share - (WARM if found else 0.0))
                while time.monotonic() < until:
                    run(graphs[0])
                    count += 1
                found.append(sizes_of(shown[1])["scheduler"])
            what = f"resident size of the scheduler after {minutes:g} minutes of runs, live page open"
            claim = Claim("flat_memory", what, f"after {minutes * WARM:g}", OF_DASK, unit="MB", facts={"runs": count})
            claim.record(found[1:], found[:1])
            opened = [seconds_of(0) for _ in range(trials)]
        seconds_of(0)  # the scheduler notes that the page was closed
        seconds_of(1)
        closed = [(seconds_of(0), seconds_of(1)) for _ in range(trials)]
    for page, target, ours in (("closed", CLOSED, [one for one, _ in closed]), ("open", None, opened)):
        claim = Claim("flat_memory", f"CPU time of the scheduler for a run, live page {page}", "no dashboard", target)
        claim.record(ours, [other for _, other in closed])


@contextmanager
def viewer(page: str | None) -> Iterator[None]:
    """Somebody who looks at the live page."""
    from bokeh.client import pull_session

    over, looked = Event(), Event()

    def look() -> None:
        session = pull_session(url=page)
        while not over.wait(LOOK):
            session.force_roundtrip()  # which takes what has come
            looked.set()
        session.close()

    thread = Thread(target=look)
    thread.start()
    try:
        if not looked.wait(60):
            raise AnswerError(f"{page} does not answer")
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def cluster(*, dashboard: bool = False) -> Iterator[tuple[Client, dict[str, list[int]]]]:
    """A client of a scheduler and two workers of one thread, and the processes by kind."""
    with tempfile.TemporaryDirectory() as folder:
        place = ["--scheduler-file", str(Path(folder) / "scheduler.json")]
        shown = ["--dashboard-address", "127.0.0.1:0"] if dashboard else ["--no-dashboard"]
        quiet: dict[str, Any] = {
            "env": {
                **os.environ,
                "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
                "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "50",
            },
            "stderr": subprocess.DEVNULL,
            "cwd": folder,
        }
        command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--host", "127.0.0.1"]
        started = [subprocess.Popen([*command, *place, *shown], **quiet)]
        try:
            command = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", *place]
            started += [subprocess.Popen([*command, "--no-dashboard"], **quiet) for _ in range(2)]
            with Client(scheduler_file=place[1], set_as_default=False) as client:
                client.wait_for_workers(2)
                pids = [one.pid for one in started]
                yield client, {"scheduler": pids[:1], "workers": pids[1:], "client": [os.getpid()]}
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait()


if __name__ == "__main__":
    main()
