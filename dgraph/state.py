"""A partition while a program runs: its arrays, and what one superstep does to them.

    begin      the first states and messages             broadcast, take   what masters send, to their proxies
    emit       what vertices send, once a vertex         cross             messages along the edges, by push or by pull
    fire       inboxes into states                       reduce, receive   what proxies have gathered, to their masters

Local ids are owned vertices (`0:n`), then proxies. Only owned vertices fire. It asks an agent to run kernels and a Post
to carry values; it knows neither device nor transport, and an engine decides what comes after what.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dgraph.agents.agent import Connection
from dgraph.agents.edge_tables import EdgeTables
from dgraph.agents.switches import Switches
from dgraph.agents.vertex_lists import NOBODY, below, count_edges, put
from dgraph.agents.vertex_tables import room_for_results, states_as_columns, vertex_table
from dgraph.analysis import PhaseAnalysis
from dgraph.codegen.bounds import bounded, bounds
from dgraph.codegen.recipe import Recipe
from dgraph.codegen.text import inbox, name_in, sent
from dgraph.exchange.encoding import rows_that_differ
from dgraph.exchange.post import BROADCAST, REDUCE, TARGET, Post

BLOCK = 1024  # vertices whose part of a global value is folded in one piece, where that must not change
COUNTED = ("fired", "edges", "messages", "bytes")  # of each superstep and partition


class State:
    """One array a field; kernels and messages find them by name."""

    def __init__(
        self,
        edges: EdgeTables,
        recipe: Recipe,
        agent: Connection,
        post: Post,
        switches: Switches,
        vertices: int,
        columns: Mapping[str, np.ndarray],
    ):
        self.edges, self.recipe, self.agent, self.post, self.switches = edges, recipe, agent, post, switches
        self.partition, self.analysis = edges.partition, recipe.analysis
        self.n, self.size = self.partition.num_owned, self.partition.num_local
        self.values: dict[str, Any] = {**recipe.values, "vertices": vertices, "round": 0}
        self.values["random_seed"] = switches.random_seed
        self.values |= {name: field.identity for name, (field, _) in self.analysis.globals.items()}
        self.degrees: dict[str, np.ndarray] = {}
        self.senders, self.queued, self.changed = NOBODY, 0, 0
        self.scan = self.pulled = self.settles = False
        self.sent_before: dict[tuple, list[np.ndarray]] = {}
        self.total, self.reported = (dict.fromkeys(COUNTED, 0) for _ in range(2))
        self.values |= vertex_table(recipe, edges, columns)
        self.queue, self.other_queue = (np.empty(max(self.size, 1), np.uint32) for _ in range(2))

    # -- before the first round ----------------------------------------------------------------------------------------

    def count_degrees(self, alongs: Iterable[str]) -> None:
        """Degrees by the edges here; and proxies tell their masters."""
        self.degrees = {along: self.edges.degrees(along) for along in alongs}
        if not self.switches.twice:
            found = list(self.degrees.values())
            self.post.reduce("any", found, np.logical_or.reduce([degree > 0 for degree in found]))

    def add_degrees(self) -> None:
        for _, ids, values in self.post.collect({REDUCE: "any"}):
            for degree, more in zip(self.degrees.values(), values, strict=True):
                degree[ids] += more

    def send_copies(self) -> None:
        """Masters tell their proxies what `send` reads of a vertex beside its state."""
        self.post.broadcast(BROADCAST, "any", self.copied_once(), None)

    def copied_once(self) -> list[np.ndarray]:
        """Degrees and columns."""
        return [*self.degrees.values(), *(self.values[column.name] for column in self.analysis.vertex_columns)]

    def take_copies(self) -> None:
        for _, ids, values in self.post.collect({BROADCAST: "any"}):
            for array, value in zip(self.copied_once(), values, strict=True):
                array[ids] = value

    def begin(self) -> None:
        """What `start` and `seed` say."""
        self.aim(self.analysis.phases[0], 0)
        if "begin" in self.recipe.source.kernels:
            found = self._listed("begin", self.n, self.queue)
            if not self.analysis.synchronous:
                self.queue[: len(found)] = found
                self.queued = len(found)

    # -- a round -------------------------------------------------------------------------------------------------------

    def aim(self, phase: PhaseAnalysis, number: int) -> None:
        """Let kernels read the number of the round, and the degree along the edges of its phase."""
        self.values["round"] = number
        if self.degrees:
            self.values["degree"] = self.degrees[phase.along]

    def emit(self, phase: PhaseAnalysis) -> None:
        """Synchronous: what every vertex sends, where that is the same along all its edges."""
        if self.analysis.synchronous and phase.hoisted:
            self.agent.rows(name_in(phase, "emit"), self.n, self.values)

    def broadcast(self, phase: PhaseAnalysis, side: str, target_side: str) -> None:
        """The values that travel from masters to proxies: of those who send, or all that have changed."""
        names, changed = self._broadcast_arrays(phase), None
        arrays = [self.values[name] for name in names]
        if not self.analysis.synchronous:
            put(self.values["sending"], self.senders, True)
            if self.switches.changed_only:
                changed = self.values["sending"]
            else:
                arrays.append(self.values["sending"])
            self.post.broadcast(BROADCAST, side, arrays, changed)
            put(self.values["sending"], self.senders, False)
            return
        self.post.broadcast(BROADCAST, side, arrays, self._news(BROADCAST, names), exact=False)
        if phase.target_broadcast:
            arrays = [self.values[name] for name in phase.target_broadcast]
            self.post.broadcast(TARGET, target_side, arrays, self._news(TARGET, phase.target_broadcast), exact=False)

    def take(self, phase: PhaseAnalysis, side: str, target_side: str) -> None:
        """Proxies get their masters' values; those of senders send too."""
        senders = [self.senders]
        for tag, ids, values in self.post.collect({BROADCAST: side, TARGET: target_side}):
            names = phase.target_broadcast if tag == TARGET else self._broadcast_arrays(phase)
            for name, value in zip(names, values, strict=False):
                self.values[name][ids] = value
            if not self.analysis.synchronous:
                senders.append(ids if self.switches.changed_only else ids[values[-1]])
        self.senders = np.concatenate(senders) if len(senders) > 1 else self.senders

    def cross(self, phase: PhaseAnalysis) -> None:
        """Messages along the edges here."""
        self.cross_to_proxies(phase)
        self.cross_to_owned(phase)

    def cross_to_proxies(self, phase: PhaseAnalysis) -> None:
        """Messages along the edges here, but for those that owned vertices pull: theirs need not leave."""
        if self.analysis.synchronous:
            self._pull(phase, self.n, self.n if self.switches.whole or not phase.combines else self.size)
            return
        sides = self.edges.senders(phase.along)
        work = count_edges(sides, self.senders)
        self.pulled = self._pulls(work, phase)
        self.scan |= self.pulled  # until the next firing: what is pulled is in no queue
        if self.pulled:
            put(self.values["sending"], self.senders, True)
            if bounded(phase):
                self.values |= bounds(phase, self.values, self.senders)
            self._pull(phase, self.n, self.size)
            return
        self.total["edges"] += work
        for side in sides:
            more = {"senders": self.senders, "queue": self.queue, "queued": self.queued}
            values = {**self.values, **self.edges.arguments(side), **more}
            self.queued = int(self.agent.once(name_in(phase, "push"), len(self.senders), values))

    def cross_to_owned(self, phase: PhaseAnalysis) -> None:
        """The others."""
        if self.pulled or self.analysis.synchronous:
            self._pull(phase, 0, self.n)
            put(self.values["sending"], self.senders, False)
        if phase.hoisted and not phase.idempotent and not self.analysis.synchronous:
            for message in phase.messages:
                self.values[sent(phase, message)][self.senders] = message.identity

    def reduce(self, phase: PhaseAnalysis, side: str) -> None:
        """What proxies have gathered, to their masters; then their inboxes are empty again."""
        messages, changed = {inbox(phase, message): message for message in phase.messages}, self.values["arrived"]
        arrays = [self.values[name] for name in messages]
        if self.analysis.synchronous:
            changed = [message.identity for message in phase.messages]
        self.post.reduce(side, arrays, changed if self.switches.changed_only else None)
        if not self.analysis.synchronous:
            self.values["arrived"][self.n :] = False
            if not phase.idempotent:
                for name, message in messages.items():
                    self.values[name][self.n :] = message.identity

    def receive(self, phase: PhaseAnalysis, side: str) -> None:
        """Masters merge what their proxies have gathered."""
        self.merge(phase, {REDUCE: side})

    def merge(self, phase: PhaseAnalysis, sides: Mapping[int, str]) -> None:
        """Messages from others into inboxes."""
        names = [f"incoming_{inbox(phase, message)}" for message in phase.messages]
        for _, ids, values in self.post.collect(sides):
            more = {"ids": ids, "queue": self.queue, "queued": self.queued}
            arguments = {**self.values, **dict(zip(names, values, strict=True)), **more}
            queued = self.agent.once(name_in(phase, "receive"), len(ids), arguments)
            self.queued = self.queued if queued is None else int(queued)

    def fire(self, phase: PhaseAnalysis) -> None:
        """A round's inboxes into the states."""
        if self.analysis.synchronous:
            counts = self.agent.rows(name_in(phase, "fire"), self.n, self.values)
            self.changed += sum(int(count) for _, count in counts)
            self.total["fired"] += self.n
            return
        for name in self.analysis.before:
            self.values[f"{name}_before"][:] = self.values[name]
        frontier = self.frontier()
        self.total["fired"] += len(frontier)
        self.senders = self._listed(name_in(phase, "fire"), len(frontier), self.other_queue, frontier=frontier)
        self.queued, self.scan = 0, False

    def frontier(self) -> np.ndarray:
        """The owned vertices that fire next."""
        if not self.switches.active_only:
            return np.arange(self.n, dtype=np.uint32)
        if self.scan:
            return np.flatnonzero(self.values["arrived"][: self.n]).astype(np.uint32)
        return self.queue[: self.queued] if self.n == self.size else below(self.queue[: self.queued], self.n)

    def drop_proxies(self) -> None:
        """Their mail is posted, so they may be queued anew: let the queue hold owned vertices alone."""
        owned = self.frontier() if not self.scan else NOBODY  # which a scan finds anyway
        self.queue[: len(owned)] = owned
        self.queued = len(owned)

    @property
    def waiting_proxies(self) -> int:
        """How many proxies here have a message that their masters do not know yet."""
        return int(np.count_nonzero(self.values["arrived"][self.n :]))

    @property
    def waiting(self) -> int:
        """How many vertices here have a message: owned ones, and proxies whose masters do not know yet."""
        return int(np.count_nonzero(self.values["arrived"])) if self.scan or self.n < self.size else self.queued

    def counted(self) -> dict[str, Any]:
        """What was done since this was last asked."""
        self.total |= {"messages": self.post.buffers, "bytes": self.post.bytes}
        found = {what: self.total[what] - self.reported[what] for what in COUNTED}
        self.reported = dict(self.total)
        skipped = self.partition.parts > 1 and not found["messages"]
        direction = "pull" if self.analysis.synchronous or self.pulled else "push"
        return {**found, "skipped": skipped, "direction": direction, **self.agent.counted()}

    # -- global values and results -------------------------------------------------------------------------------------

    def fold(self, kernel: str = "fold") -> list[tuple]:
        """The global values of the owned vertices, a tuple a range of rows."""
        if kernel not in self.recipe.source.kernels:
            return []
        block = BLOCK if self.switches.deterministic else None
        return [values for _, values in self.agent.rows(kernel, self.n, self.values, block=block)]

    def results(self) -> dict[str, np.ndarray]:
        """The columns of the answer, for the owned vertices."""
        if not self.analysis.results:
            return states_as_columns(self.analysis, self.values, self.n)
        self.values |= room_for_results(self.analysis, self.n)
        self.agent.rows("finish", self.n, self.values)
        return {name: self.values[f"result_{name}"] for name in self.analysis.results}

    # -- pieces of the above -------------------------------------------------------------------------------------------

    def _broadcast_arrays(self, phase: PhaseAnalysis) -> list[str]:
        return [sent(phase, m) for m in phase.messages] if phase.hoisted else list(phase.broadcast)

    def _news(self, tag: int, names: Iterable[str]) -> np.ndarray | None:
        """Owned vertices of which an array differs from what was last sent; None for all."""
        names = tuple(names)
        before = self.sent_before.get((tag, *names))
        now = [self.values[name][: self.n] for name in names]
        if not self.switches.changed_only:
            return None
        if before is None:
            self.sent_before[tag, *names] = [array.copy() for array in now]
            return None
        changed = rows_that_differ(now, before)
        for old, new in zip(before, now, strict=True):
            old[...] = new
        return changed

    def _listed(self, kernel: str, count: int, queue: np.ndarray, **more: np.ndarray) -> np.ndarray:
        """Run a kernel that lists vertices at the head of each range of the queue."""
        values: dict[str, Any] = {**self.values, "queue": queue, **more}
        found = self.agent.rows(kernel, count, values)
        lists = [queue[begin : begin + int(length or 0)] for begin, length in found]
        return lists[0] if len(lists) == 1 else np.concatenate(lists)

    def _pulls(self, work: int, phase: PhaseAnalysis) -> bool:
        sides = self.edges.receivers(phase.along, at_once=False)
        return bool(sides) and self.switches.pulls(work, sum(side.num_edges for side in sides))

    def _pull(self, phase: PhaseAnalysis, first: int, last: int) -> None:
        if first < last:
            for side in self.edges.receivers(phase.along, at_once=self.analysis.synchronous):
                self.total["edges"] += int(side.indptr[last] - side.indptr[first])
                values = {**self.values, **self.edges.arguments(side)}
                self.agent.rows(name_in(phase, "pull"), last, values, first)
