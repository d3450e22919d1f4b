"""The long search (`make chaos`): workers of one cluster are killed at random while runs of every engine are on their
way. Each answer must be right; nothing may hang. It prints its seed."""

import argparse
import logging
import os
import random
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress

import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

import dgraph as dg

HANG = 120  # seconds
ENGINES = ("gas", "bsp", "bulk_async", "mail as edges", "local", "checkpoints")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--seed", type=int, default=None)
    given = options.parse_args()
    seed = given.seed if given.seed is not None else int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}", flush=True)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    source, frame = random.Random(seed), graph_of(seed)
    expected = {engine: run(engine, dg.Graph.from_edges(frame)) for engine in ("gas", "bulk_async")}
    where = {"n_workers": given.workers, "threads_per_worker": 1, "dashboard_address": ":0", "host": "127.0.0.1"}
    with LocalCluster(processes=True, **where) as cluster, Client(cluster, set_as_default=False) as client:
        for number in range(given.kills):
            engine, delay = source.choice(ENGINES), source.random() * source.choice((0.1, 0.5, 2.0))
            seconds = one(client, frame, engine, delay, source, expected)
            print(f"{number + 1}: {engine}, killed after {delay:.3f} s, right after {seconds:.1f} s", flush=True)


def one(client, frame, engine, delay, source, expected) -> float:
    """A run during which a worker is killed."""
    client.wait_for_workers(1, timeout=60)
    graph = dg.Graph.from_edges(frame, client=client, parts=1 if engine == "local" else 2)
    watch = threading.Timer(HANG, lambda: (print(f"{engine} hangs", flush=True), os._exit(1)))
    watch.start()
    killer = threading.Timer(delay, kill, (client, source.random()))
    killer.start()
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = run(engine, graph, folder)
    seconds = time.perf_counter() - begun
    killer.join()
    watch.cancel()
    right = expected["gas" if "pagerank" in found else "bulk_async"]
    for column in right.columns[1:]:
        np.testing.assert_allclose(found[column].astype(float), right[column].astype(float), rtol=1e-9)
    return seconds


def run(engine: str, graph: dg.Graph, folder: str | None = None) -> pd.DataFrame:
    if engine in ("bulk_async", "local"):
        return dg.wcc(graph, engine=engine).compute()
    how = {"mail as edges": {"exchange": "graph"}, "bsp": {"engine": "bsp"}}.get(engine, {"engine": "gas"})
    if engine == "checkpoints":
        how["checkpoint"] = dg.Checkpoint(folder, every=10)
    return dg.pagerank(graph, max_iter=100, tol=None, **how).compute()


def kill(client, draw: float) -> None:
    with suppress(Exception):  # a worker may be leaving already
        pids = sorted(client.run(os.getpid).values())
        os.kill(pids[int(draw * len(pids))], signal.SIGKILL)


def graph_of(seed: int) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).integers(0, 2000, (20_000, 2)), columns=["src", "dst"])


if __name__ == "__main__":
    sys.exit(main())
