"""The long search (`make chaos`): workers, daemons and clients are killed at random while runs of every kind are on
their way, and mail is late, repeated and out of order. Each answer must be right, nothing may hang. It prints its seed.
"""

import argparse
import asyncio
import faulthandler
import logging
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import records
from distributed import Client
from hosts import CLUSTERS
from leftovers import await_all, await_nothing, runs_of, standing
from strikes import Strike
from two_hops import TwoHops, few_workers
from works import OF_FRAMES, WORKS, check, found, frame_of

from dgraph.errors import RunError
from dgraph.exchange.grid import FEW_WORKERS, WorkerGrid

HANG = 120  # seconds
STRIKES_BY_VICTIM = {
    "worker": "kill",
    "two": "kill two",
    "pause": "stop",
    "daemon": "kill a daemon",
    "restart": "restart a worker",
    "retire": "retire",
    "scale": "scale down",
    "adapt": "adapt",
}
WITH_NANNIES = ("restart", "retire", "scale", "adapt")  # what takes somebody who starts workers again
OVER = 10  # seconds after which an error must have come where nobody is left


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--kills", type=int, default=200, help="that come while a run is on its way; others do not count"
    )
    options.add_argument("--seconds", type=float, default=float("inf"), help="begin no other run after so long")
    options.add_argument("--cluster", choices=CLUSTERS, default="nannies")
    options.add_argument("--workers", type=int, help="2 by default, or 5 for --two-hops")
    options.add_argument("--two-hops", action="store_true", help="mail takes two hops, as among many workers")
    options.add_argument("--only", choices=WORKS, action="append", help="runs of this kind; by default of all")
    options.add_argument("--seed", type=int, default=None)
    options.add_argument("--record", help="file to which a line of JSON is added")
    options.add_argument("--rest", action="store_true", help="only as many as the record lacks")
    options.add_argument("--client", nargs=2, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.client:
        address, name = given.client
        with Client(address, set_as_default=False) as client:
            print("begins", flush=True)
            found(name, frame_of(given.seed), client)
            print("has ended", flush=True)
        return
    given.workers = given.workers or (5 if given.two_hops else 2)
    if given.two_hops and len(WorkerGrid(0, given.workers).row) == given.workers:
        options.error(f"--two-hops needs three workers or more, not {given.workers}: fewer are in one row of the grid")
    seed = given.seed if given.seed is not None else int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}, {given.cluster}{', two hops' * given.two_hops}", flush=True)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if given.rest:
        given.kills -= sum(sum(row["struck"].values()) for row in records.rows(given.record) if "failed" not in row)
    if given.kills <= 0:
        return
    search = Search(seed, given)
    try:
        with CLUSTERS[given.cluster](given.workers) as (client, hosts):
            if given.two_hops:
                client.register_plugin(TwoHops())
            while search.struck < given.kills and search.goes_on:
                search.once(client, hosts)
    except Exception as error:
        search.record(failed=f"{search.told}: {error!r}")
        raise
    search.record()


class Search:
    def __init__(self, seed: int, given: argparse.Namespace):
        self.seed, self.given, self.source, self.frame = seed, given, random.Random(seed), frame_of(seed)
        self.begun, self.number, self.longest = time.monotonic(), 0, 0.0
        self.counts: Counter[str] = Counter()  # strikes, by whom
        self.works: Counter[str] = Counter()  # strikes, by kind of run
        self.of_frames: set[str] = set()  # what is left of lazy ones
        self.missed = self.nobody_left = 0
        self.told = "the runs without strikes"
        self.works_asked = given.only or list(WORKS)
        self.expected = {name: found(name, self.frame) for name in self.works_asked}
        self.lasted = dict.fromkeys(WORKS, 1.0)  # seconds of the last run of a kind
        self.stack: list[str] = []  # kinds of runs that are still to come before any comes again

    @property
    def struck(self) -> int:
        return sum(self.counts.values())

    @property
    def goes_on(self) -> bool:
        return time.monotonic() - self.begun < self.given.seconds

    def once(self, client: Client, hosts) -> None:
        """One run and one strike."""
        self.stack = self.stack or self.source.sample(self.works_asked, len(self.works_asked))
        name, self.number = self.stack.pop(), self.number + 1
        delay = self.source.random() * self.lasted[name] * self.source.choice((0.2, 1))
        whom = self._whom(name)
        self.told = told = f"{self.number}: {name}, {whom} after {delay:.3f} s"
        beside = None
        alone = self.given.cluster == "hosts" or whom in ("two", "client")  # nobody may be left, or no run
        if not alone and self.source.random() < 0.2:
            beside = Beside(client, self.source.choice(self.works_asked), self.frame)
            self.told = told = f"{told}, beside {beside.name}"
        await_all(client, self.given.workers, hosts)
        assert set(client.run(few_workers, on_error="ignore").values()) == {0 if self.given.two_hops else FEW_WORKERS}
        client.run(mistreat_mail if self.source.random() < 0.3 else treat_mail, on_error="ignore")
        watch = threading.Timer(HANG, self._hangs, [client])
        watch.daemon = True
        watch.start()
        begun = time.perf_counter()
        try:
            if beside is not None:
                beside.begin()
            if whom == "client":
                came = without_client(client, name, delay, self.seed)
            else:
                strike = Strike(STRIKES_BY_VICTIM[whom], client, delay, self.source)
                came = self._run(client, name, strike, told)
            if beside is not None:
                check(beside.answer(), self.expected[beside.name])
        finally:
            watch.cancel()
        seconds = time.perf_counter() - begun
        self.of_frames |= await_nothing(client, self.of_frames, any(name in told for name in OF_FRAMES))
        self.counts[whom] += came
        self.works[name] += came
        self.missed += not came
        self.longest = max(self.longest, round(seconds, 1))
        print(f"{told}, {'right' if came else 'too late'} after {seconds:.1f} s", flush=True)

    def _hangs(self, client: Client) -> None:
        """The run has not ended in time: say where it stands, and end."""
        faulthandler.dump_traceback(all_threads=True)
        print(client.run_on_scheduler(standing), flush=True)
        self.record(failed=f"{self.told}: hangs")
        os._exit(1)

    def _whom(self, name: str) -> str:
        others = ["client", "two", "pause", *(WITH_NANNIES if self.given.cluster == "nannies" else ())]
        if self.source.random() < 0.3:
            return self.source.choice(others)
        return "daemon" if name == "daemons" and self.source.random() < 0.7 else "worker"

    def _run(self, client: Client, name: str, strike: Strike, told: str) -> bool:
        """Whether the strike came during the run, whose answer was right; or an error, where nobody was left."""
        strike.begin()
        begun = time.perf_counter()
        try:
            table = found(name, self.frame, client)
            self.lasted[name] = time.perf_counter() - begun
        except RunError as error:
            alive = client.run(os.getpid, on_error="ignore")
            took = time.perf_counter() - (strike.at or begun)
            print(f"{told}, after {took:.1f} s: {error}; alive are {alive}", flush=True)
            if "has no worker" not in str(error) or took > OVER + 5:  # of which some may have come meanwhile
                raise
            self.nobody_left += 1
            return True
        finally:
            came = strike.came(time.perf_counter())
        check(table, self.expected[name])
        return came

    def record(self, **failed: str) -> None:
        row = {"seed": self.seed, "cluster": self.given.cluster, "workers": self.given.workers}
        row |= {"two hops": True} if self.given.two_hops else {}
        row |= {"struck": dict(self.counts), "in": dict(sorted(self.works.items())), "too late": self.missed}
        row |= {"nobody left": self.nobody_left, "longest": self.longest, **failed}
        print(records.add(self.given.record, row), flush=True)


class Beside:
    """Another client's run on the same cluster, at the same time."""

    def __init__(self, client: Client, name: str, frame: Any):
        self.address, self.name, self.frame = client.scheduler.address, name, frame
        self.pool = ThreadPoolExecutor(1)

    def begin(self) -> None:
        self.found = self.pool.submit(self._run)

    def answer(self) -> Any:
        try:
            return self.found.result()
        finally:
            self.pool.shutdown(wait=False)

    def _run(self) -> Any:
        with Client(self.address, set_as_default=False) as client:
            return found(self.name, self.frame, client)


def without_client(client: Client, name: str, delay: float, seed: int) -> bool:
    """A run whose client is killed: the scheduler ends it, and the next finds all workers free."""
    command = [sys.executable, __file__, "--seed", str(seed), "--client", client.scheduler.address, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as other:
        assert other.stdout is not None
        other.stdout.readline()
        time.sleep(delay)
        other.kill()
        came = not other.stdout.read()
    begun = time.perf_counter()
    while client.run_on_scheduler(runs_of):
        if time.perf_counter() - begun > OVER:
            raise AssertionError(f"a run goes on {OVER} s after its client was killed")
        time.sleep(0.05)
    return came


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


if __name__ == "__main__":
    sys.exit(main())
