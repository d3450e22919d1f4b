"""The cost of a lost worker: PageRank in rounds with checkpoints in memory, with and without a worker being killed. The
run resumes from the last checkpoint, on the remaining worker or on a replacement.
"""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import Any

import numpy as np
from distributed import Client
from harness import Claim, parser_of

import dgraph as dg
from dgraph.bench.local_cluster import local_cluster
from dgraph.bench.resources import timed
from dgraph.errors import AnswerError
from dgraph.runs import progress

ALLOWED = 5.0  # seconds in addition to one interval between checkpoints


def main() -> None:
    options = parser_of(__doc__, scale=17, trials=3)
    options.add_argument("--supersteps", type=int, default=60)
    options.add_argument("--every", type=int, default=10)
    given = options.parse_args()
    progress.EVERY = 0.0  # seconds: the kill then comes at the intended superstep
    how: dict[str, Any] = {"engine": "gas", "max_iter": given.supersteps, "tol": None}
    how["checkpoint"] = dg.Checkpoint(every=given.every)
    expected = dg.pagerank(dg.rmat(scale=given.scale), tol=None, max_iter=given.supersteps).by_number("pagerank")
    lost, allowed = [], []
    with local_cluster(2, 1) as client:
        for trial in range(given.trials + 1):
            seconds = []
            for killed in (False, True):
                client.wait_for_workers(2)
                graph = dg.rmat(scale=given.scale, client=client, parts=2)
                graph.partitioned(("out", "incoming"))
                dg.pagerank(graph, **how)
                kill = _Kill(client, given.supersteps * 3 // 4, killed)
                elapsed, result = timed(partial(dg.pagerank, graph, **how, progress=kill))
                seconds.append(elapsed)
                if not np.allclose(result.by_number("pagerank"), expected, rtol=1e-9):
                    raise AnswerError("the ranks differ")
            if trial:
                lost.append(seconds[1] - seconds[0])
                allowed.append(seconds[0] * given.every / given.supersteps + ALLOWED)
    what = f"seconds that a killed worker costs PageRank, R-MAT scale {given.scale}, a checkpoint every {given.every}"
    Claim("recovery", what, "one interval between checkpoints, and 5 s", 1.0).record(lost, allowed)


class _Kill:
    """A function for `progress` that kills a worker after a number of supersteps."""

    def __init__(self, client: Client, superstep: int, wanted: bool):
        self.client, self.superstep, self.wanted = client, superstep, wanted

    def __call__(self, done: dict[str, Any]) -> None:
        if self.wanted and done["superstep"] >= self.superstep:
            self.wanted = False
            os.kill(max(self.client.run(os.getpid).values()), signal.SIGKILL)


if __name__ == "__main__":
    main()
