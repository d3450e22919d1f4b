"""The long search (`make chaos`): workers, daemons and clients are killed at random while runs of every kind are on
their way, and mail is late, repeated and out of order. Each answer must be right, nothing may hang. It prints its seed.
"""

import argparse
import asyncio
import json
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
from distributed import Client
from hosts import CLUSTERS

import dgraph as dg
from dgraph.errors import RunError
from dgraph.exchange.registry import NAME

HANG = 120  # seconds
ROUNDS = {"max_iter": 100, "tol": None}
WORKS = {
    "gas": lambda graph, _: dg.pagerank(graph, engine="gas", **ROUNDS),
    "bsp": lambda graph, _: dg.pagerank(graph, engine="bsp", **ROUNDS),
    "mail as edges": lambda graph, _: dg.pagerank(graph, engine="gas", **ROUNDS, **on(graph, exchange="graph")),
    "checkpoints": lambda graph, at: dg.pagerank(graph, engine="gas", **ROUNDS, **on(graph, checkpoint=at)),
    "checkpoints in memory": lambda graph, _: dg.pagerank(
        graph, engine="gas", **ROUNDS, checkpoint=dg.Checkpoint(every=10)
    ),
    "bulk_async, checkpoints": lambda graph, at: dg.wcc(
        graph, engine="bulk_async", checkpoint=dg.Checkpoint(at, every=1)
    ),
    "bulk_async, checkpoints in memory": lambda graph, _: dg.pagerank(
        graph, engine="bulk_async", tol=1e-10, checkpoint=dg.Checkpoint(every=3)
    ),
    "daemons": lambda graph, _: dg.pagerank(graph, engine="gas", **ROUNDS, **on(graph, daemons="own process")),
    "bulk_async": lambda graph, _: dg.wcc(graph, engine="bulk_async"),
    "bulk_async, distances": lambda graph, _: dg.bfs(graph, 7, engine="bulk_async"),
    "deterministic": lambda graph, _: dg.hits(graph, max_iter=20, tol=None, deterministic=True),
    "labels": lambda graph, _: dg.cdlp(graph, max_iter=5),
    "local": lambda graph, _: dg.wcc(graph, engine="local"),
    "block_descent": lambda graph, _: dg.sssp(graph, 7, engine="block_descent"),
    "triangles": lambda graph, _: dg.triangles(graph),
    "lcc": lambda graph, _: dg.lcc(graph),
    "degrees": lambda graph, _: dg.degrees(graph),
    "core_number": lambda graph, _: dg.core_number(graph),
}
IN_ONE_PLACE = ("local", "block_descent")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seconds", type=float, default=float("inf"), help="begin no other run after so long")
    options.add_argument("--cluster", choices=CLUSTERS, default="nannies")
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--seed", type=int, default=None)
    options.add_argument("--record", help="file to which a line of JSON is added")
    options.add_argument("--client", nargs=2, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.client:
        address, name = given.client
        with Client(address, set_as_default=False) as client:
            found(name, dg.Graph.from_edges(graph_of(given.seed), client=client, parts=2))
        return
    seed = given.seed if given.seed is not None else int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}, {given.cluster}", flush=True)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    source, frame, begun, counts, longest = random.Random(seed), graph_of(seed), time.monotonic(), Counter(), 0.0
    expected = {name: found(name, dg.Graph.from_edges(frame)) for name in WORKS}
    with CLUSTERS[given.cluster](given.workers) as (client, hosts):
        for number in range(given.kills):
            if time.monotonic() - begun > given.seconds:
                break
            name, delay = source.choice(list(WORKS)), source.random() * source.choice((0.1, 0.5, 2.0))
            await_all(client, given.workers, hosts)
            client.run(mistreat_mail if source.random() < 0.3 else treat_mail, on_error="ignore")
            whom = "client" if source.random() < 0.1 else "daemon" if name == "daemons" else "worker"
            told = f"{number + 1}: {name}, a {whom} killed after {delay:.3f} s"
            watch = threading.Timer(HANG, lambda told=told: (print(f"{told}: HANGS", flush=True), os._exit(1)))
            watch.daemon = True
            watch.start()
            if whom == "client":
                seconds = without_client(client, name, delay, seed)
            else:
                begin = time.perf_counter()
                try:
                    seconds = without(client, frame, name, delay, source.random(), whom, expected[name])
                except RunError as error:  # right only where nobody is left, and soon
                    seconds = time.perf_counter() - begin
                    alive = client.run(os.getpid, on_error="ignore")
                    print(f"{told}, after {seconds:.1f} s: {error}; alive are {alive}", flush=True)
                    if "no worker is left" not in str(error) or (alive and whom == "daemon"):
                        raise
                    counts["nobody left"] += 1
                    watch.cancel()
                    continue
            watch.cancel()
            counts[whom] += 1
            longest = max(longest, seconds)
            print(f"{told}, right after {seconds:.1f} s", flush=True)
    row = {"seed": seed, "cluster": given.cluster, "killed": counts, "hangs": 0, "longest": round(longest, 1)}
    print(json.dumps(row), flush=True)
    if given.record:
        with Path(given.record).open("a") as file:
            file.write(json.dumps(row) + "\n")


def await_all(client, workers: int, hosts) -> None:
    """Until all workers answer: one that has just been killed may still be listed."""
    until = time.monotonic() + 60
    while len(client.run(os.getpid, on_error="ignore")) < workers:
        if time.monotonic() > until:
            raise AssertionError("the workers that were killed do not come again")
        if hosts is not None:
            hosts.mend()
        time.sleep(0.2)


def without(client, frame, name, delay, draw, whom, expected) -> float:
    """A run during which a worker, or the daemon of one, is killed."""
    graph = dg.Graph.from_edges(frame, client=client, parts=1 if name in IN_ONE_PLACE else 2)
    killer = threading.Timer(delay, kill, (client, draw, whom))
    killer.start()
    begun = time.perf_counter()
    table = found(name, graph)
    seconds = time.perf_counter() - begun
    killer.join()
    for column in expected.columns[1:]:
        np.testing.assert_allclose(table[column].astype(float), expected[column].astype(float), rtol=1e-9, atol=1e-9)
    return seconds


def without_client(client, name, delay, seed) -> float:
    """A run whose client is killed: the scheduler ends it, and the next finds all workers free."""
    command = [sys.executable, __file__, "--seed", str(seed), "--client", client.scheduler.address, name]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as other:
        time.sleep(3 + delay)
        other.kill()
    begun = time.perf_counter()
    while client.run_on_scheduler(runs_of):
        if time.perf_counter() - begun > 10:
            raise AssertionError("a run goes on 10 s after its client was killed")
        time.sleep(0.05)
    return time.perf_counter() - begun


def runs_of(dask_scheduler) -> int:
    plugin = dask_scheduler.plugins.get(NAME)
    return len(plugin.runs) if plugin is not None else 0


def found(name: str, graph: dg.Graph) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        return WORKS[name](graph, folder).compute()


def on(graph: dg.Graph, **options) -> dict:
    """Options that make sense on a cluster alone."""
    return options if graph.client is not None else {}


def kill(client, draw: float, whom: str) -> None:
    with suppress(Exception):  # it may be leaving already
        pids = sorted(client.run(daemons_of if whom == "daemon" else lambda: [os.getpid()]).values())
        pids = [pid for some in pids for pid in some]
        os.kill(pids[int(draw * len(pids))], signal.SIGKILL)


def daemons_of() -> list[int]:
    return [child.pid for child in psutil.Process().children()]


def mistreat_mail() -> None:
    """On a worker: mail takes its time, each its own, and comes twice now and then."""
    from dgraph.exchange.dask import DaskExchange

    treat_mail()
    DaskExchange.sound = DaskExchange._deliver

    async def deliver(end, peer, message):
        await asyncio.sleep(random.random() * random.choice((0, 0.001, 0.02)))
        if random.random() < 0.1:
            await DaskExchange.sound(end, peer, message)
        return await DaskExchange.sound(end, peer, message)

    DaskExchange._deliver = deliver


def treat_mail() -> None:
    from dgraph.exchange.dask import DaskExchange

    if hasattr(DaskExchange, "sound"):
        DaskExchange._deliver = DaskExchange.sound
        del DaskExchange.sound


def graph_of(seed: int) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).integers(0, 2000, (20_000, 2)), columns=["src", "dst"])


if __name__ == "__main__":
    sys.exit(main())
