"""What a lost worker costs: PageRank in rounds with checkpoints in memory, of which a worker is killed on the way,
beside the same undisturbed. It goes on from the last checkpoint, on the worker that is left or on its replacement.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from typing import Any

import numpy as np
from distributed import Client, LocalCluster
from harness import Claim, Wrong

import dgraph as dg
from dgraph.runs import progress

ALLOWED = 5.0  # seconds beyond one interval between checkpoints


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scale", type=int, default=17, help="2**scale vertices")
    options.add_argument("--supersteps", type=int, default=60)
    options.add_argument("--every", type=int, default=10)
    options.add_argument("--trials", type=int, default=3)
    given = options.parse_args()
    progress.EVERY = 0.0  # seconds: so that the kill comes when it should
    how: dict[str, Any] = {"engine": "gas", "max_iter": given.supersteps, "tol": None}
    how["checkpoint"] = dg.Checkpoint(every=given.every)
    expected = dg.pagerank(dg.rmat(scale=given.scale), tol=None, max_iter=given.supersteps).by_number("pagerank")
    lost, allowed = [], []
    place: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0", "host": "127.0.0.1"}
    with (
        LocalCluster(n_workers=2, processes=True, **place) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        for trial in range(given.trials + 1):
            seconds = []
            for killed in (False, True):
                client.wait_for_workers(2)
                graph = dg.rmat(scale=given.scale, client=client, parts=2)
                graph.partitioned(("out", "incoming"))
                dg.pagerank(graph, **how)
                begun = time.perf_counter()
                result = dg.pagerank(graph, **how, progress=_Kill(client, given.supersteps * 3 // 4, killed))
                seconds.append(time.perf_counter() - begun)
                if not np.allclose(result.by_number("pagerank"), expected, rtol=1e-9):
                    raise Wrong("the ranks differ")
            if trial:
                lost.append(seconds[1] - seconds[0])
                allowed.append(seconds[0] * given.every / given.supersteps + ALLOWED)
    what = f"seconds that a killed worker costs PageRank, R-MAT scale {given.scale}, a checkpoint every {given.every}"
    Claim("recovery", what, "one interval between checkpoints, and 5 s", 1.0).record(lost, allowed)


class _Kill:
    """A function for `progress`: a worker goes when so many supersteps are done."""

    def __init__(self, client: Client, superstep: int, wanted: bool):
        self.client, self.superstep, self.wanted = client, superstep, wanted

    def __call__(self, done: dict[str, Any]) -> None:
        if self.wanted and done["superstep"] >= self.superstep:
            self.wanted = False
            os.kill(max(self.client.run(os.getpid).values()), signal.SIGKILL)


if __name__ == "__main__":
    main()
