"""Whether memory stays flat: the resident size of scheduler, workers and client over supersteps, and over runs.

Linux only.

Each runs in its own process. Dask's profiler is off and its logs are short, because these have a bound that they would
reach within an hour; the scheduler's records of all past work (spans) are part of the measurement.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client
from harness import Claim, parser_of

import dgraph as dg
from dgraph.bench.resources import resident
from dgraph.errors import AnswerError
from dgraph.runs import progress

FLAT = 1.02  # the maximum size, relative to the earlier one
OF_DASK = 1.05  # the same for runs, which submit many task graphs, each of which the scheduler records
WARM = 0.1  # fraction of the supersteps or runs after which pools and logs are full


def main() -> None:
    options = parser_of(__doc__)
    options.add_argument("--scale", type=int, default=12, help="2**scale vertices (12: 65,536 edges)")
    options.add_argument("--supersteps", type=int, default=200)
    options.add_argument("--runs", type=int, default=300)
    options.add_argument("--trials", type=int, default=3, help="of the supersteps; the runs have one")
    given = options.parse_args()
    progress.EVERY = 0.0  # seconds: sizes are read at the end of every chunk
    here = dg.rmat(scale=given.scale)
    with cluster() as (client, processes):
        graph = dg.rmat(scale=given.scale, client=client, parts=4)

        def sizes() -> dict[str, float]:
            return {what: sum(resident("VmRSS", one) for one in each) / 1e6 for what, each in processes.items()}

        ranks = dg.pagerank(here, max_iter=given.supersteps, tol=None, engine="gas").compute()["pagerank"]
        seen = [supersteps(graph, given.supersteps, sizes, ranks) for _ in range(given.trials + 1)][1:]
        record(f"{given.supersteps} supersteps", f"{given.supersteps * WARM:g}", FLAT, seen)
        record(f"{given.runs} runs", f"{given.runs * WARM:g}", OF_DASK, [runs(graph, here, given.runs, sizes)])


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


@contextmanager
def cluster() -> Iterator[tuple[Client, dict[str, list[int]]]]:
    """A client of a scheduler and two workers of one thread, and the processes by kind."""
    with tempfile.TemporaryDirectory() as folder:
        place = ["--scheduler-file", str(Path(folder) / "scheduler.json"), "--no-dashboard"]
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
        started = [subprocess.Popen([*command, *place], **quiet)]
        try:
            command = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny"]
            started += [subprocess.Popen([*command, *place], **quiet) for _ in range(2)]
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
