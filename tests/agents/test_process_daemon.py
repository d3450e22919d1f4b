"""A daemon's process may die or hang at any moment of a run: the answer stays, and in the end nothing is left of it."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import dgraph as dg
from dgraph.agents.agent import agent_of
from dgraph.agents.daemon_settings import OwnProcess
from dgraph.agents.own_process_daemon import ProcessDaemon
from dgraph.errors import RunError


class Struck(ProcessDaemon):
    """Its process gets a signal when some of its blocks are about to be computed, or a moment later."""

    kind: "Strikes"
    calls = 0

    def compute(self, table, call):
        if self.calls in self.kind.when:
            if self.kind.after:
                threading.Timer(self.kind.after, os.kill, (self.pid, self.kind.signal)).start()
            else:
                os.kill(self.pid, self.kind.signal)
        self.calls += 1
        return super().compute(table, call)


@dataclass(frozen=True)
class Strikes:
    signal: int
    when: tuple[int, ...]
    after: float = 0.0
    device = "cpu"

    def start(self, threads):
        daemon = Struck(threads, patience=0.4)
        daemon.kind = self
        return daemon


@pytest.fixture(scope="module")
def graph():
    return dg.rmat(scale=12, edge_factor=8, seed=4, weights=(1, 50))


@pytest.fixture(scope="module")
def source(graph):
    return int(graph.edges.compute()["source"].mode()[0])


@pytest.fixture(autouse=True)
def nothing_left():
    agent_of("thread 0").close()
    before = children()
    yield
    agent_of("thread 0").close()
    assert children() <= before


def children() -> set[str]:
    """The processes that this one has started, the dead ones among them that nobody has asked about."""
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


LOSSES = {
    "killed": Strikes(signal.SIGKILL, (0, 4)),
    "killed in a block": Strikes(signal.SIGKILL, (2,), 0.0005),
    "stopped": Strikes(signal.SIGSTOP, (5,)),
}


@pytest.mark.parametrize("kind", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("what", ["min", "sum"])
def test_a_lost_daemon_changes_no_answer(graph, source, kind, what):
    def answer(**how):
        if what == "min":
            return dg.sssp(graph, source, predecessors=False, engine="gas", **how)
        return dg.core_number(graph, engine="gas", **how)

    struck = answer(daemons=dg.Daemons([kind], block=1500))
    expected, found = answer().compute(), struck.compute()
    assert np.array_equal(expected.iloc[:, 1], found.iloc[:, 1])
    assert kind.after or struck.report["restarts"].sum() == len(kind.when)


def test_a_lost_daemon_changes_no_sum_of_block_descent(graph):
    """What a daemon has merged is added to inboxes once, however often it was computed."""
    kind, engine = LOSSES["killed"], dg.BlockDescent(operator="push", mode="barrier", block_size=64)
    struck = dg.katz(graph, alpha=1e-4, tol=1e-9, engine=engine, daemons=["in process", kind])
    np.testing.assert_allclose(struck.by_number("katz"), dg.katz(graph, alpha=1e-4).by_number("katz"), rtol=1e-5)
    assert struck.report["restarts"].sum() == len(kind.when)


def test_a_block_that_kills_every_daemon_ends_the_run(graph):
    with pytest.raises(RunError, match="died or hung"):
        dg.pagerank(graph, engine="gas", daemons=[Strikes(signal.SIGKILL, tuple(range(100)))])


def test_a_daemon_process_starts_once_for_all_runs(graph):
    runs = [dg.pagerank(graph, engine="gas", daemons="own process", max_iter=5, tol=0) for _ in range(3)]
    daemon = agent_of("thread 0").start_daemon((OwnProcess(), 0, len(os.sched_getaffinity(0))))
    assert daemon.starts == 1 and daemon.tables == {}
    assert all(np.array_equal(runs[0].compute(), run.compute()) for run in runs)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="Linux tells which files a process has open")
def test_a_daemon_process_frees_the_memory_of_ended_runs(graph):
    """A descriptor that stays open keeps all of a run's blocks in memory."""
    opened = []
    for _ in range(3):
        dg.pagerank(graph, engine="gas", daemons="own process", max_iter=2, tol=0)
        (daemon,) = agent_of("thread 0").daemons.values()
        opened.append(len(list(Path(f"/proc/{daemon.pid}/fd").iterdir())))
    assert opened[0] == opened[-1]


def test_errors_in_a_daemon_process_are_raised_here_and_it_survives(graph):
    dg.pagerank(graph, engine="gas", daemons="own process", max_iter=2, tol=0)
    (daemon,) = agent_of("thread 0").daemons.values()
    with pytest.raises(KeyError, match="no table"):
        daemon.compute("no table", None)
    dg.pagerank(graph, engine="gas", daemons="own process", max_iter=2, tol=0)
    assert daemon.starts == 1


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "sys.exit(0)"])
def test_no_process_is_left_when_the_worker_ends(end):
    code = f"""
import os, sys
import dgraph as dg
from dgraph.agents.agent import agent_of
from dgraph.agents.daemon_settings import OwnProcess
graph = dg.rmat(scale=8, edge_factor=8, seed=4)
dg.pagerank(graph, engine="gas", daemons="own process", max_iter=3, tol=0)
(daemon,) = [one for one in agent_of("thread 0").daemons.values()]
print(daemon.pid, flush=True)
{end}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    daemon, until = Path("/proc", done.stdout.strip()), time.monotonic() + 10
    assert daemon.name.isdigit()
    while daemon.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert not daemon.exists()  # its memory had no name, and is gone with it
    assert "leaked" not in done.stderr
