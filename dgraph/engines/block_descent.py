"""Block coordinate descent (GraphABCD, Yang et al. 2020): an iteration brings one block of vertices up to date from the
newest values of all others. A queue says which block is next: each in its turn, or the one with most to gain."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.agents.edge_tables import kept
from dgraph.codegen.bounds import falls
from dgraph.codegen.text import inbox
from dgraph.devices.cpu import Cpu
from dgraph.engines.bsp import bsp
from dgraph.engines.rounds import Rounds, Superstep
from dgraph.solvers import block_queue as queue
from dgraph.state import State

ORDERS = ("priority", "cyclic")
MODES = ("async", "barrier", "bsp")
SMALLEST = 64  # vertices of a block of "auto"
MOST = {"push": 4096, "pull": 64, "pull_push": 4096}  # blocks of "auto": who pulls tells blocks, fewer of them for less


@dataclass(frozen=True)
class Blocks:
    """What was asked for. `pace` makes workers of a team wait, each so many nanoseconds an edge: for tests of what a
    slow one costs the others."""

    operator: str  # of codegen/descent.py
    order: str = ""
    mode: str = "async"
    size: int | None = None  # vertices of a block; a power of two is taken that is not smaller
    pace: tuple[float, ...] = ()

    def options(self) -> dict[str, Any]:
        """What the report says."""
        size = self.size or "by the number of vertices"
        return {"operator": self.operator, "order": self.order, "mode": self.mode, "block size": size}


def block_descent(rounds: Rounds) -> Superstep:
    """An epoch is as much work as one look at every edge. Then a program of rounds says whether it is done; if so, that
    must hold for a sweep over all blocks, for an epoch may have been spent on a few."""
    if rounds.blocks.mode == "bsp":  # all blocks, from the values of the round before
        yield from bsp(rounds)
        return
    yield from rounds.begin()
    descent = Descent(rounds, rounds.states[0])
    sweep = rounds.analysis.synchronous
    while not rounds.done:
        descent.epoch(sweep)
        yield from rounds.settle(wait=True)
        if rounds.done and rounds.analysis.synchronous and not sweep:
            rounds.done, sweep = False, True
        else:
            sweep = descent.all_are_told
    yield from rounds.finish()


class Descent:
    """One partition's blocks: the queue, and the compiled call in which a team works it off."""

    def __init__(self, rounds: Rounds, state: State):
        self.rounds, self.state, self.blocks = rounds, state, rounds.blocks
        self.phase, self.n = rounds.phase, state.n
        (self.message,) = self.phase.messages
        self.whole = rounds.analysis.synchronous
        self.ordered = falls(self.message) is not None and not self.whole
        self.shift = self._shift()
        count = max(1, (self.n + (1 << self.shift) - 1) >> self.shift)
        merges = self.message.merge.atomic in ("min", "max", "add") and self.message.dtype.kind != "b"
        agent: Any = state.agent
        self.cpu: Cpu = agent.device  # the plan sees to it that nobody is between
        self.threads = self.cpu.num_threads if merges else 1
        found = queue.new_queue(count, self.threads)
        self.board, self.live, self.limits = found["board"], found["live"], np.zeros(8, np.int64)
        pace = np.zeros(self.threads)
        pace[: len(self.blocks.pace)] = self.blocks.pace[: self.threads]
        self.more: dict[str, Any] = {f"_{name}": array for name, array in found.items()}
        self.more |= {"_limits": self.limits, "_pace": pace, "_rank": 0, "_size": 1, "_signals": np.zeros(32, np.int64)}
        self.more |= {"_taken": np.full(state.size, self.message.identity, self.message.dtype)}
        self.more |= {"_news": np.zeros(state.size, bool), **self._tables()}
        self.edges = max(1, len(self.more["neighbours" if "neighbours" in self.more else "_in_neighbours"]))
        self.epochs, self.opened, self.begun = 0.0, time.perf_counter(), time.perf_counter()
        self.globals: dict[str, Any] = {}
        rounds.seeded = False  # what the seed says is taken in here
        self._set(queue.SHIFT, self.shift)
        self._set(queue.BLOCKS, count)
        self._set(queue.OWNED, self.n)
        self._set(queue.CYCLIC, self.blocks.order == "cyclic")
        self._set(queue.TOGETHER, self.blocks.mode == "barrier" and self.threads > 1)
        self._set(queue.BOUND, max(count, 4 * self.threads))
        if self.whole:
            state.emit(self.phase)
        else:
            self.wake(state.frontier())
        if self.blocks.operator == "pull_push":
            state.agent.rows("fill", self.n, {**state.values, **self.more})

    def wake(self, ids: np.ndarray) -> None:
        """The blocks of vertices that have messages join the queue."""
        values = {**self.state.values, **self.more, "_ids": ids}
        self.state.agent.once("wake", len(ids), values)

    def epoch(self, sweep: bool) -> None:
        """Blocks from the queue until they have looked at as many edges as there are, or until none is left."""
        state, rounds, board = self.state, self.rounds, self.board
        begun = time.perf_counter()
        for name in rounds.analysis.before:
            state.values[f"{name}_before"][:] = state.values[name]
        state.aim(self.phase, rounds.round + 1)
        for what in (queue.EDGES, queue.DONE, queue.FIRED, queue.STALENESS, queue.CURSOR, queue.TOLD):
            board[what] = 0
        self._set(queue.SWEEP, sweep)
        self._set(queue.BUDGET, queue.NEVER if sweep else self.edges)
        self.cpu.team("descend", self.threads, {**state.values, **self.more})
        rounds.round += 1
        state.changed = [int(board[queue.FIRED]) if sweep else 1]
        rounds.waiting = int(board[queue.COUNT])
        if self.whole and not rounds.waiting and rounds.analysis.stop is None:
            state.changed = []
        rounds._fold("fold", rounds.analysis.globals_each_round)
        state.total["fired"] += int(board[queue.FIRED])
        state.total["edges"] += int(board[queue.EDGES])
        self.epochs += int(board[queue.EDGES]) / self.edges
        self.report(begun)

    @property
    def all_are_told(self) -> bool:
        """Whether every vertex must be looked at again, because a global value that they read has changed."""
        reads = self.phase.apply.of("global")
        now = {name: self.rounds.globals[name] for name in reads}
        before, self.globals = self.globals, now
        return now != before

    @property
    def residual(self) -> float:
        """The L1 norm of what has changed for vertices since they were last brought up to date; where messages have an
        order, how many vertices have one that waits."""
        if not self.ordered:
            return float(self.live.sum())
        return float(
            np.count_nonzero(
                self.state.values[inbox(self.phase, self.message)][: self.n] != self.more["_taken"][: self.n]
            )
        )

    def report(self, begun: float) -> None:
        """A row an epoch."""
        now, board = time.perf_counter(), self.board
        row = {"superstep": self.rounds.round, "partition": self.state.partition.index, **self.state.counted()}
        row |= {"direction": self.blocks.operator, "busy": now - begun, "idle": max(0.0, begun - self.opened)}
        row |= {"blocks": int(board[queue.DONE]), "epochs": self.epochs, "residual": self.residual}
        row |= {"staleness": int(board[queue.STALENESS]), "seconds": now - self.begun}
        self.rounds.rows.append(row)
        self.opened = time.perf_counter()

    def _set(self, what: int, value: Any) -> None:
        self.limits[what] = value

    def _shift(self) -> int:
        """Blocks of 1 << shift vertices."""
        size = self.blocks.size or max(SMALLEST, self.n // MOST[self.blocks.operator])
        return max(0, int(min(size, max(self.n, 1)) - 1).bit_length())

    def _tables(self) -> dict[str, np.ndarray]:
        """The rows of who sends, and where blocks gather, of who is sent to."""
        edges, along = self.state.edges, self.phase.along
        if self.whole and self.blocks.operator == "pull":
            into = edges.receivers(along, at_once=True)[0]
            found = {f"_in_{name}": array for name, array in edges.arguments(into).items()}
            return found | kept(into, ("pairs", self.shift), lambda: _pairs(found, self.shift))
        out = edges.senders(along)
        out = out if len(out) < 2 else edges.receivers(along, at_once=True)  # both ways: all neighbours
        found = edges.arguments(out[0])
        if self.blocks.operator != "push":
            into = edges.receivers(along, at_once=True)[0]
            found |= {f"_in_{name}": array for name, array in edges.arguments(into).items()}
        if self.blocks.operator == "pull_push":
            found["_slot_of"] = kept(out[0], ("slots", along), lambda: _slots(found))
            found["_slots"] = np.full(len(found["neighbours"]), self.message.identity, self.message.dtype)
        return found


def _pairs(tables: dict[str, np.ndarray], shift: int) -> dict[str, np.ndarray]:
    """For each block those that read it, and how many edges go there, for each of its vertices on average."""
    rows = tables["_in_indptr"]
    count = (len(rows) - 1 + (1 << shift) - 1 >> shift) or 1
    readers = np.repeat(np.arange(len(rows) - 1) >> shift, np.diff(rows))
    both = (tables["_in_neighbours"] >> np.uint32(shift)).astype(np.int64) * count + readers
    if count * count <= 4 * len(both) + 4096:
        edges = np.bincount(both, minlength=count * count)
        found = np.flatnonzero(edges)
        edges = edges[found]
    else:
        found, edges = np.unique(both, return_counts=True)
    starts = np.searchsorted(found, np.arange(count + 1) * count)
    return {"_pairs": starts.astype(np.int64), "_readers": found % count, "_share": edges / (1 << shift)}


def _slots(tables: dict[str, np.ndarray]) -> np.ndarray:
    """For each out-edge, its place among the in-edges."""
    n = len(tables["indptr"]) - 1
    senders = np.repeat(np.arange(n), np.diff(tables["indptr"]))
    receivers = np.repeat(np.arange(n), np.diff(tables["_in_indptr"]))
    slots = np.empty(len(senders), np.int64)
    slots[np.lexsort((tables["neighbours"], senders))] = np.lexsort((receivers, tables["_in_neighbours"]))
    return slots
