"""One partition of block coordinate descent: its queue of blocks, the compiled call in which a team works that off, and
its mail. Of what others must know, the proxies with most to tell come first."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.agents.edge_tables import kept
from dgraph.analysis import PhaseAnalysis
from dgraph.codegen.bounds import falls
from dgraph.codegen.text import inbox, sent
from dgraph.devices.cpu import Cpu
from dgraph.errors import OptionError
from dgraph.exchange.post import BROADCAST, REDUCE
from dgraph.solvers import block_queue as queue
from dgraph.states.blocks import Blocks
from dgraph.states.relaxation import Relaxation, RelaxationFactor
from dgraph.states.state import State

SMALLEST = 64  # vertices of a block of "auto"
MOST = {"push": 4096, "pull": 64, "pull_push": 4096}  # blocks of "auto": who pulls tells blocks, fewer of them for less


class Descent:
    """The blocks of the vertices that a partition owns. Its proxies are told of by mail, and have no blocks."""

    def __init__(self, state: State, phase: PhaseAnalysis, blocks: Blocks, side: str):
        self.state, self.phase, self.blocks, self.n = state, phase, blocks, state.n
        (self.message,) = phase.messages
        self.whole = state.analysis.synchronous
        self.adds = self.whole and blocks.operator == "push"
        self.ordered = falls(self.message) is not None and not self.whole
        self.shift = self._shift()
        count = max(1, (self.n + (1 << self.shift) - 1) >> self.shift)
        merges = self.message.merge.atomic in ("min", "max", "add") and self.message.dtype.kind != "b"
        agent: Any = state.agent
        self.cpu: Cpu = agent.device  # the plan sees to it that nobody is between
        self.threads = self.cpu.num_threads if merges else 1
        found = queue.new_queue(count, self.threads)
        self.board, self.live, self.limits = found["board"], found["live"], np.zeros(queue.FIRST + 1, np.int64)
        pace = np.zeros(self.threads)
        pace[: len(blocks.pace)] = blocks.pace[: self.threads]
        self.fresh, self.copied = np.zeros(state.size, bool), self._copied(side)
        self.more: dict[str, Any] = {f"_{name}": array for name, array in found.items()}
        self.more |= {"_limits": self.limits, "_pace": pace, "_rank": 0, "_size": 1, "_signals": np.zeros(32, np.int64)}
        self.more |= {"_taken": np.full(state.size, self.message.identity, self.message.dtype)}
        self.more |= {"_news": np.zeros(state.size, bool), "_fresh": self.fresh, "_copied": self.copied}
        self.held = np.zeros(self.n if self.adds else 0, bool)  # whose change is too small to be told yet
        self.more |= {"_held": self.held, "_least": 0.0}
        self.more |= self._tables()
        self.edges = max(1, len(self.more["neighbours" if "neighbours" in self.more else "_in_neighbours"]))
        factors = [field.name for field in state.analysis.parameters if isinstance(field, RelaxationFactor)]
        self.relaxations = {name: Relaxation() for name in factors if state.partition.parts == 1}
        self.begun, self.globals = time.perf_counter(), dict[str, Any]()
        limits = {queue.SHIFT: self.shift, queue.BLOCKS: count, queue.OWNED: self.n}
        limits |= {queue.CYCLIC: blocks.order == "cyclic", queue.BOUND: max(count, 4 * self.threads)}
        limits |= {queue.TOGETHER: blocks.mode == "barrier" and self.threads > 1}
        for what, value in limits.items():
            self.limits[what] = value
        if self.adds:
            self._inbox[:] = 0
            if self._sent is not None:
                self._sent[:] = 0
            self.more |= {f"_told_{name}": np.zeros_like(state.values[name]) for name in phase.send.of("state")}
            self._descend(sweep=True, first=True)
        elif self.whole:
            state.emit(phase)
            self.fresh[: self.n] = True
        else:
            self._wake_arrived()
        if blocks.operator == "pull_push":
            state.agent.rows("fill", self.n, {**state.values, **self.more})

    # -- work ----------------------------------------------------------------------------------------------------------

    def epoch(self, number: int, sweep: bool = False) -> None:
        """Blocks from the queue until they have looked at as many edges as there are here, or until none is left. A
        sweep takes them all, one after the other."""
        state = self.state
        told = ~self.held if self.adds else True  # "before" is what others know
        for name in state.analysis.before:
            np.copyto(state.values[f"{name}_before"], state.values[name], where=told)
        state.aim(self.phase, number)
        self._descend(sweep)
        if self.adds and not self.residual < np.inf:  # sums that an infinite value has been added to never lose it
            raise OptionError(
                f'operator="push" passes on differences, and what vertices of {state.analysis.title} send is infinite '
                'or no number; choose operator="pull", which gathers again'
            )
        for name, relaxation in self.relaxations.items():
            relaxation.learn(self.residual)
            state.values[name] = relaxation.factor
        self.more["_least"] = self.blocks.share * self.residual / self.edges

    def _descend(self, sweep: bool, first: bool = False) -> None:
        """In the first sweep of who adds, all tell what they are at the start."""
        board, limits = self.board, self.limits
        for what in (queue.EDGES, queue.DONE, queue.FIRED, queue.STALENESS, queue.CURSOR, queue.TOLD):
            board[what] = 0
        limits[queue.SWEEP], limits[queue.FIRST] = sweep, first
        limits[queue.BUDGET] = queue.NEVER if sweep else self.edges
        self.cpu.team("descend", self.threads, {**self.state.values, **self.more})
        self.state.total["fired"] += int(board[queue.FIRED])
        self.state.total["edges"] += int(board[queue.EDGES])

    def must_sweep(self, known: Mapping[str, Any]) -> bool:
        """Whether every vertex must be looked at again: because a global value that they read has changed, or because
        nobody says which blocks have news, as there is no need to look at edges for that."""
        now = {name: known[name] for name in self.phase.apply.of("global")}
        before, self.globals = self.globals, now
        return self.adds or now != before

    @property
    def blocks_waiting(self) -> int:
        return int(self.board[queue.COUNT])

    @property
    def waiting(self) -> int:
        """For how many blocks, or other partitions' vertices, there is something to do or to tell."""
        news = np.count_nonzero(self.live) if self.adds else self.blocks_waiting
        return int(news) + self.state.waiting_proxies + int(np.count_nonzero(self.fresh & self.copied))

    @property
    def residual(self) -> float:
        """The L1 norm of what has changed for vertices since they were last brought up to date; where messages have an
        order, how many vertices have one that waits."""
        if not self.ordered:
            return float(self.live.sum())
        return float(np.count_nonzero(self._inbox[: self.n] != self.more["_taken"][: self.n]))

    def columns(self) -> dict[str, Any]:
        """Of the report's row of an epoch."""
        return {
            "direction": self.blocks.operator,
            "blocks": int(self.board[queue.DONE]),
            "epochs": self.state.total["edges"] / self.edges,
            "residual": self.residual,
            "staleness": int(self.board[queue.STALENESS]),
            "seconds": time.perf_counter() - self.begun,
        }

    # -- mail ----------------------------------------------------------------------------------------------------------

    def tell(self, side: str, target_side: str) -> int:
        """Proxies what their masters have sent, and masters what their proxies have gathered. While there is work here,
        only those with most to tell: the others may have more to say later. Returns how many buffers it took."""
        state, before = self.state, self.state.post.buffers
        told = self._first(np.flatnonzero(self.fresh & self.copied), self._sent)
        if len(told):
            state.post.broadcast(BROADCAST, side, self._travels(), self._mask(told))
            self.fresh[told] = False
            if self._sent is not None and not self.phase.idempotent and not self.whole:
                self._sent[told] = self.message.identity
            elif self._sent is None and not self.whole:
                self._wake(told[self._inbox[told] != self.message.identity])  # which have waited to be told of
        proxies = self._first(self.n + np.flatnonzero(state.values["arrived"][self.n :]), self._inbox)
        if len(proxies):
            state.post.reduce(target_side, [self._inbox], self._mask(proxies))
            state.values["arrived"][proxies] = False
            if not self.phase.idempotent:
                self._inbox[proxies] = self.message.identity
        return state.post.buffers - before

    def hear(self, side: str, target_side: str) -> None:
        """What others have told: into inboxes here, and the blocks that it is news for join the queue."""
        state = self.state
        for mail in state.post.collect({BROADCAST: side, REDUCE: target_side}):
            tag, ids, values = mail
            if tag == REDUCE:
                state.merge(self.phase, [mail])
                continue
            change = np.abs(values[0].astype(float) - self._travels()[0][ids].astype(float))
            for array, value in zip(self._travels(), values, strict=True):
                array[ids] = value
            self.more["_news"][ids] = True
            news = {"_ids": ids, "_gain": np.where(change < np.inf, change, 1e300)}
            state.total["edges"] += int(state.agent.once("relay", len(ids), {**state.values, **self.more, **news}))
            if self._sent is not None and not self.phase.idempotent and not self.whole:
                self._sent[ids] = self.message.identity
        if not self.whole:
            self._wake_arrived()

    def _first(self, ids: np.ndarray, values: np.ndarray | None) -> np.ndarray:
        """Those with a message that is no worse than the mean of theirs; all, once no block waits."""
        if values is None or self.whole or not len(ids) or not self.blocks_waiting:
            return ids
        messages = values[ids].astype(float)
        if self.ordered:
            gain = -messages if falls(self.message) else messages
        else:
            gain = np.abs(messages)
        return ids[gain >= gain.mean()]

    def _copied(self, side: str) -> np.ndarray:
        """Flags of the vertices that have proxies, in other partitions, which send."""
        found = np.zeros(self.state.size, bool)
        for peer in range(self.state.partition.parts):
            if peer != self.state.partition.index:
                found[self.state.post.masters(side, peer)] = True
        return found

    def _travels(self) -> list[np.ndarray]:
        """What masters tell their proxies."""
        return [self.state.values[name] for name in self.phase.broadcast]

    def _mask(self, ids: np.ndarray) -> np.ndarray:
        found = np.zeros(self.state.size, bool)
        found[ids] = True
        return found

    def _wake_arrived(self) -> None:
        """The blocks of vertices to which messages came join the queue."""
        ids = self.state.frontier()
        self.state.values["arrived"][ids] = False
        self._wake(ids)
        self.state.queued = 0

    def _wake(self, ids: np.ndarray) -> None:
        values = {**self.state.values, **self.more, "_ids": ids.astype(np.uint32)}
        self.state.agent.once("wake", len(ids), values)

    @property
    def _inbox(self) -> np.ndarray:
        return self.state.values[inbox(self.phase, self.message)]

    @property
    def _sent(self) -> np.ndarray | None:
        """What vertices have sent since their proxies were told, where that is the same along all edges."""
        return self.state.values[sent(self.phase, self.message)] if self.phase.hoisted else None

    # -- tables --------------------------------------------------------------------------------------------------------

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
            return found | kept(into, ("pairs", self.shift), lambda: _pairs(found, self.n, self.shift))
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


def _pairs(tables: dict[str, np.ndarray], owned: int, shift: int) -> dict[str, np.ndarray]:
    """For each block, of proxies too, those that read it, and how many edges go there, for each of its vertices on
    average."""
    rows = tables["_in_indptr"]
    count = (len(rows) - 1 + (1 << shift) - 1 >> shift) or 1
    readers = np.repeat(np.arange(owned) >> shift, np.diff(rows[: owned + 1]))
    neighbours = tables["_in_neighbours"][: len(readers)]
    both = (neighbours >> np.uint32(shift)).astype(np.int64) * count + readers
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
