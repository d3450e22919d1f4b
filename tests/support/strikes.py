"""What happens to a cluster while a run is on its way.

A strike is a function in the table STRIKES. It strikes, says from when on its loss can be known, and undoes itself.
"""

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from works import WRITERS

DAEMON = "dgraph.agents.own_process_daemon"
PAUSE = 2.0  # seconds
TTL = 5  # seconds after which the scheduler gives up a worker, in place of Dask's five minutes
FULL = "filled up"  # a file that fills up a disk


class Strike:
    """A thread that strikes once, `delay` seconds after the run began; what it raises is raised by `came`."""

    def __init__(self, name: str, client, delay: float, draw: random.Random, hosts=None, room: Path | None = None):
        self.row, self.client, self.delay, self.draw = STRIKES[name], client, delay, draw
        self.hosts, self.room = hosts, room  # of a cluster without nannies in this process; a small disk
        self.own_client: Any = client  # of the run alone, if the strike is to close it
        self.process: Any = None  # of the client, if the strike is to kill it
        self.pids = client.run(os.getpid, on_error="ignore")  # before the run: later somebody may not answer
        self.victims = draw.sample(sorted(self.pids), len(self.pids))
        self.at: float | None = None  # when it struck
        self.known: float | None = None  # from when on somebody can know what was lost
        self.over = threading.Event()  # of the run
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._strike, daemon=True)

    @property
    def victim(self) -> str:
        return self.victims[0]

    @property
    def pid(self) -> int:
        return self.pids[self.victim]

    def begin(self) -> None:
        self.thread.start()

    def came(self, ended: float) -> bool:
        """Whether it struck before the run ended."""
        self.over.set()
        self.thread.join(60)
        assert not self.thread.is_alive(), f"{self.row.function.__name__} does not end"
        if self.error is not None:
            raise self.error
        return self.at is not None and self.at < ended

    def strikes(self, known_after: float | None = 0.0) -> None:
        """It strikes now; None: what is lost can be known later."""
        self.at = time.perf_counter()
        self.known = None if known_after is None else self.at + known_after

    def can_be_known(self) -> None:
        self.known = time.perf_counter()

    def a_while(self) -> None:
        time.sleep(PAUSE * self.draw.uniform(0.5, 2))

    def _strike(self) -> None:
        time.sleep(self.delay)
        try:
            self.row.function(self)
        except ProcessLookupError:  # it has left before
            pass
        except BaseException as error:
            self.error = error


@dataclass(frozen=True)
class StrikeRow:
    """A strike, the clusters on which it can be, and the errors that a run may end in: a pattern of their messages."""

    function: Callable[[Strike], None]
    clusters: tuple[str, ...]
    errors: str
    during: tuple[str, ...]  # only in these runs, if any are named
    two_hops: bool  # only where mail takes two hops


STRIKES: dict[str, StrikeRow] = {}
LOCAL, ANY = ("nannies",), ("nannies", "processes", "hosts")
NOBODY = r"has no workers|all workers of .* have left|no worker"


def strike(
    *clusters: str, errors: str = NOBODY, during: tuple[str, ...] = (), two_hops: bool = False
) -> Callable[[Callable[[Strike], None]], Callable[[Strike], None]]:
    def register(function: Callable[[Strike], None]) -> Callable[[Strike], None]:
        STRIKES[function.__name__.replace("_", " ")] = StrikeRow(function, clusters, errors, during, two_hops)
        return function

    return register


# -- workers -----------------------------------------------------------------------------------------------------------


@strike(*ANY)
def kill(it: Strike) -> None:
    os.kill(it.pid, signal.SIGKILL)
    it.strikes()


@strike(*ANY)
def kill_two(it: Strike) -> None:
    """Both at once, and with them both copies of what is kept in their memory."""
    for victim in it.victims[:2]:
        os.kill(it.pids[victim], signal.SIGKILL)
    it.strikes()


@strike(*ANY)
def stop(it: Strike) -> None:
    """It does not answer for a while, and then goes on as if nothing had been."""
    os.kill(it.pid, signal.SIGSTOP)
    it.strikes(None)
    it.a_while()
    it.can_be_known()
    os.kill(it.pid, signal.SIGCONT)


@strike(*ANY)
def freeze(it: Strike) -> None:
    """It never answers again: the scheduler gives it up after the worker-ttl, for which it looks as often."""
    os.kill(it.pid, signal.SIGSTOP)
    it.strikes(2 * TTL)
    it.over.wait(2 * TTL + 60)
    with suppress(ProcessLookupError):
        os.kill(it.pid, signal.SIGKILL)


@strike(*ANY, during=("daemons",))
def kill_a_daemon(it: Strike) -> None:
    """Nobody, if there is none yet or any more."""
    children = psutil.Process(it.pid).children()
    daemons = [child for child in children if DAEMON in " ".join(child.cmdline())]
    if daemons:
        daemons[0].kill()
        it.strikes()


@strike("nannies", "processes")
def restart_a_worker(it: Strike) -> None:
    """By its nanny; nobody, if it has left before."""
    with suppress(KeyError):  # the scheduler tells nothing of a worker that it does not know
        it.strikes()
        it.client.restart_workers([it.victim], raise_for_error=False)


@strike("nannies", "processes")
def restart(it: Strike) -> None:
    """All workers, by the client of the run, whose futures are all cancelled."""
    it.strikes(None)
    it.client.restart(timeout=60, wait_for_workers=False)
    it.can_be_known()


@strike("processes")
def kill_a_nanny(it: Strike) -> None:
    """Its worker ends with it, and nobody starts another one."""
    psutil.Process(it.pid).parent().kill()
    it.strikes()


@strike(*ANY)
def retire(it: Strike) -> None:
    it.strikes(None)
    it.client.retire_workers([it.victim])
    it.can_be_known()


@strike(*LOCAL)
def scale_down(it: Strike) -> None:
    """One worker less, and at once one more."""
    it.client.cluster.scale(len(it.pids) - 1)
    it.strikes()
    time.sleep(0.1)
    it.client.cluster.scale(len(it.pids))


@strike(*LOCAL)
def scale_up(it: Strike) -> None:
    it.client.cluster.scale(len(it.pids) + 1)
    it.strikes()
    it.over.wait(30)
    it.client.cluster.scale(len(it.pids))


@strike(*LOCAL)
def adapt(it: Strike) -> None:
    """As many workers as the scheduler thinks there is work for, looked at all the time."""
    it.strikes()
    it.client.cluster.adapt(minimum=1, maximum=len(it.pids) + 1, interval="50 ms", wait_count=1)
    it.over.wait(60)
    it.client.cluster.adapt().stop()
    it.client.cluster.scale(len(it.pids))


@strike(*ANY, two_hops=True)
def kill_a_relay(it: Strike) -> None:
    """A worker dies when it has its row's mail, and has passed nothing on yet."""
    it.strikes()  # at its next step: a run may end before
    it.client.run(die_when_passing_on, workers=[it.victim], on_error="ignore")


def die_when_passing_on() -> None:
    from dgraph.exchange.dask import DaskExchange

    DaskExchange.send_on = lambda end, peer, message: os._exit(1)


# -- clients and schedulers --------------------------------------------------------------------------------------------

CLOSED = r"was closed|is not connected|is closed"


@strike(*ANY, errors=CLOSED)
def close_the_client(it: Strike) -> None:
    it.strikes()
    it.own_client.close()


@strike(*ANY)
def kill_the_client(it: Strike) -> None:
    """The process that called."""
    it.process.kill()
    it.strikes()


@strike("processes", errors=r"scheduler of .* (was lost|cannot be reached)|is not connected|was closed")
def kill_the_scheduler(it: Strike) -> None:
    it.hosts.scheduler.kill()
    it.strikes()


# -- what machines run out of ------------------------------------------------------------------------------------------


@strike("nannies", during=WRITERS, errors=r"written|[Nn]o space|room")
def fill_the_disk(it: Strike) -> None:
    assert it.room is not None
    with (it.room / FULL).open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 16) if it.at is None else bytes(1 << 12))
    it.strikes()
    it.a_while()
    (it.room / FULL).unlink()


@strike("nannies", errors=NOBODY + r"|paused|memory")
def run_out_of_memory(it: Strike) -> None:
    """Its nanny ends it."""
    it.strikes(1)
    it.client.run(hold_memory, 0.97, workers=[it.victim], on_error="ignore")


@strike("nannies", errors=r"paused|memory")
def be_short_of_memory(it: Strike) -> None:
    """Dask pauses it for a while."""
    it.strikes()
    it.client.run(hold_memory, 0.85, workers=[it.victim], on_error="ignore")
    it.a_while()
    it.client.run(release_memory, workers=[it.victim], on_error="ignore")


held = []


def hold_memory(share: float, dask_worker) -> None:
    """On a worker: take as much memory as brings it to this share of its limit."""
    missing = int(share * dask_worker.memory_manager.memory_limit) - psutil.Process().memory_info().rss
    held.append(bytearray(b"1") * max(0, missing))


def release_memory() -> None:
    held.clear()


# -- the network, where each worker has a host of its own --------------------------------------------------------------


@strike("hosts")
def unplug(it: Strike) -> None:
    """No packet reaches a worker, or leaves it, for a while."""
    it.hosts.unplug(it.victim)
    it.strikes(None)
    it.a_while()
    it.can_be_known()
    it.hosts.unplug(it.victim, again=True)


@strike("hosts")
def unplug_for_good(it: Strike) -> None:
    it.hosts.unplug(it.victim)
    it.strikes(2 * TTL)
    it.over.wait(2 * TTL + 60)
    it.hosts.unplug(it.victim, again=True)
    os.kill(it.pid, signal.SIGKILL)


@strike("hosts")
def divide(it: Strike) -> None:
    """No worker reaches another, but all of them the scheduler, for a while."""
    it.hosts.divide()
    it.strikes(None)
    it.a_while()
    it.can_be_known()
    it.hosts.divide(again=True)
