"""The long search (`make strikes`): a cluster is struck at a random moment of a run, by one of many strikes. The answer
must be right, or the error clear, within 30 s from when the loss can be known. Then the same run must be right on the
cluster as it is now, and nothing may be left of either. Counts add up over runs in the record, and each run begins at
the seed where the last one ended."""

import argparse
import faulthandler
import logging
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import dask
from distributed import Client
from hosts import CLUSTERS
from leftovers import await_all, await_nothing, standing
from long_search import LongSearch, totals
from strikes import STRIKES, TTL, Strike
from struck_runs import RUNS, StruckRun
from two_hops import TwoHops

from dgraph.errors import DgraphError

BLOCK = 16  # so many seeds in turn share a cluster
KINDS = tuple(f"{place}{hops}" for hops in ("", ", two hops") for place in CLUSTERS)
SOON = 30  # seconds
LONGEST = 240  # seconds that a run may take, whether it is struck or not
DISK, MEMORY = "48m", "1 GiB"  # of all workers, and of each


class StrikeSearch(LongSearch):
    COUNTS = ("strikes", "right", "clear errors", "too late", "faults")
    TABLES = ("struck", "in", "on")

    def __init__(self, given: argparse.Namespace):
        super().__init__(given)
        self.lasted: dict[str, float] = {}  # seconds of the last sound run of a name
        self.closing, self.begun_for = ExitStack(), None

    @classmethod
    def add_options(cls, options: argparse.ArgumentParser) -> None:
        options.add_argument(
            "--strikes", type=int, default=300, help="that come during a run, with those of the record"
        )
        options.add_argument("--on", choices=KINDS, help="this cluster alone")
        options.add_argument("--with", choices=STRIKES, dest="name", help="this strike alone")
        options.add_argument("--in", choices=RUNS, dest="during", help="this run alone")
        options.add_argument("--client", nargs=5, help=argparse.SUPPRESS)

    def is_behind(self) -> bool:
        return self.total("strikes") < self.given.strikes

    def run(self) -> None:
        if self.given.client:
            be_the_client(*self.given.client)
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        with small_disk() as self.room, dask.config.set({"distributed.scheduler.worker-ttl": f"{TTL}s"}):
            try:
                super().run()
            finally:
                self.closing.close()

    # -- one strike ----------------------------------------------------------------------------------------------------

    def once(self, seed: int) -> None:
        """A strike during a run, and the same run again on what is left."""
        draw, block = random.Random(seed), seed // BLOCK
        kind = self.given.on or random.Random(block).choice(KINDS)
        place, two_hops = kind.partition(",")[0], kind.endswith("two hops")
        known = [name for name, row in STRIKES.items() if place in row.clusters and two_hops >= row.two_hops]
        name = self.given.name or draw.choice(known)
        during = self.given.during or draw.choice(STRIKES[name].during or RUNS)
        run = StruckRun(during, seed, block, 5 if two_hops else 2)
        told = f"{seed}: {name}, {during}, {kind}"
        run.prepare()
        self.begin((kind, block))
        try:
            outcome = self.struck(told, name, run, draw)
        except Exception as error:
            self.fault(seed, f": {told}\n{''.join(traceback.format_exception(error))}")
            return
        self.counts[outcome] += 1
        if outcome != "too late":
            self.counts["strikes"] += 1
            for table, key in (("struck", name), ("in", during), ("on", kind)):
                self.tables[table][key] += 1

    def begin(self, wanted: tuple[str, int]) -> None:
        """A cluster of its kind, unless it is there."""
        if wanted == self.begun_for:
            return
        self.end_cluster()
        place, two_hops = wanted[0].partition(",")[0], wanted[0].endswith("two hops")
        self.workers = 5 if two_hops else 2
        limits = {"memory_limit": MEMORY, "local_directory": str(self.room)} if place == "nannies" else {}
        self.client, self.hosts = self.closing.enter_context(CLUSTERS[place](self.workers, **limits))
        if two_hops:
            self.client.register_plugin(TwoHops())
        self.of_frames: set[str] = set()  # what is left of lazy ones
        self.begun_for = wanted

    def end_cluster(self) -> None:
        self.begun_for = None
        closing, self.closing = self.closing, ExitStack()
        with suppress(Exception):
            closing.close()

    def struck(self, told: str, name: str, run: StruckRun, draw: random.Random) -> str:
        """What came of it: one of the names of counts."""
        client, row = self.client, STRIKES[name]
        if run.name not in self.lasted:
            run.answer(client, self.room)  # its kernels are compiled
            self.timed(run)
        delay = draw.random() * self.lasted[run.name] * draw.choice((0.2, 1))
        strike = Strike(name, client, delay, draw, self.hosts, self.room)
        with ExitStack() as after:
            if name == "close the client":
                strike.own_client = after.enter_context(Client(client.scheduler.address, set_as_default=False))
            if name == "kill the client":
                strike.process = after.enter_context(client_process(client.scheduler.address, run))
            watch = Watch(strike, lambda: self.hangs(told))
            after.enter_context(watch)
            begun, error = time.perf_counter(), None
            strike.begin()
            try:
                if strike.process is not None:
                    finished = "has ended" in strike.process.stdout.read()
                else:
                    run.answer(strike.own_client, self.room)
                    finished = True
            except DgraphError as found:
                error, finished = found, False
            ended = time.perf_counter()
            came = strike.came(ended)
        late = ended - (strike.known or ended) - watch.paused
        outcome = "too late" if not came else "right" if finished else "clear errors"
        print(f"{told}, after {delay:.2f} s: {outcome} after {ended - begun:.1f} s {error or ''}", flush=True)
        if error is not None and not (came and re.search(row.errors, str(error))):
            raise error
        error = None  # otherwise its traceback keeps what the run had on the cluster
        assert late < SOON, f"it took {late:.1f} s from when the loss could be known"
        if name == "kill the scheduler" or not self.mended():
            self.begun_for, wanted = None, self.begun_for
            self.begin(wanted)
        with Watch(None, lambda: self.hangs(f"{told}, again")):
            self.timed(run)
            self.of_frames |= await_nothing(self.client, self.of_frames, run.leaves_tasks)
        left = [one.name for one in self.room.iterdir() if one.name != "dask-scratch-space"]
        assert not left, f"files are left: {left}"
        return outcome

    def timed(self, run: StruckRun) -> None:
        """A run without strikes, which must be right."""
        begun = time.perf_counter()
        run.answer(self.client, self.room)
        self.lasted[run.name] = time.perf_counter() - begun

    def mended(self) -> bool:
        """Whether all workers come again. Dask may lose a nanny that starts a worker while it gives the worker up."""
        try:
            await_all(self.client, self.workers, self.hosts)
        except AssertionError:
            return False
        return True

    # -- faults --------------------------------------------------------------------------------------------------------

    def fault(self, seed: int, text: str) -> None:
        """What follows begins with a cluster that is sound."""
        self.counts["faults"] += 1
        self.tell(seed, text)
        self.end_cluster()

    def hangs(self, told: str) -> None:
        """A run does not end: say where it stands, and end here."""
        faulthandler.dump_traceback(sys.__stderr__, all_threads=True)
        with suppress(Exception):
            print(self.client.run_on_scheduler(standing), flush=True)
        self.counts["faults"] += 1
        self.tell(self.next, f": {told} hangs")
        self.next += 1
        self.end()
        os._exit(1)

    @classmethod
    def summary(cls, rows: list[dict]) -> str:
        tables = totals(rows, cls.TABLES)[1]
        return "\n".join(
            [super().summary(rows), *(f"{name}: {dict(sorted(table.items()))}" for name, table in tables.items())]
        )


class Watch(threading.Thread):
    """In a block: call a function if the run takes too long. Time in which this process was stopped does not count."""

    TICK = 0.5  # seconds

    def __init__(self, strike: Strike | None, hangs):
        super().__init__(daemon=True)
        self.strike, self.hangs, self.paused, self.over = strike, hangs, 0.0, threading.Event()

    def __enter__(self) -> "Watch":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join()

    def run(self) -> None:
        begun = last = time.perf_counter()
        while not self.over.wait(self.TICK):
            now = time.perf_counter()
            self.paused += now - last - self.TICK if now - last > 10 * self.TICK else 0
            last = now
            known = self.strike.known if self.strike is not None else None
            if now - self.paused > min(begun + LONGEST, (known or now) + 2 * SOON):
                self.hangs()


# -- what is needed around a run ---------------------------------------------------------------------------------------


@contextmanager
def client_process(address: str, run: StruckRun):
    """The run in a process of its own, which has connected to the cluster."""
    numbers = map(str, (run.seed, run.frame, run.parts))
    command = [sys.executable, __file__, "--client", address, run.name, *numbers]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None and "begins" in process.stdout.readline()
        yield process


def be_the_client(address: str, name: str, *numbers: str) -> None:
    """In that process."""
    run = StruckRun(name, *map(int, numbers))
    run.prepare()
    with Client(address, set_as_default=False) as client:
        print("begins", flush=True)
        run.answer(client, None)
        print("has ended", flush=True)
    sys.exit()


@contextmanager
def small_disk():
    """A folder, on a disk of its own if this process may mount one. Otherwise no disk fills up."""
    with tempfile.TemporaryDirectory(prefix="strikes-") as folder:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", folder], capture_output=True)
        if done.returncode:
            print("no disk is filled up, because mounting one takes root", flush=True)
            STRIKES.pop("fill the disk")
        try:
            yield Path(folder)
        finally:
            if not done.returncode:
                subprocess.run(["umount", "--lazy", folder], check=True)


if __name__ == "__main__":
    StrikeSearch.main(__doc__)
