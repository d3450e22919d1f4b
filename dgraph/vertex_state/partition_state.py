"""A partition while a program runs: its arrays, and what one superstep does to them.

    begin      the first states and messages             broadcast, take   what masters send, to their proxies
    fire       inboxes into states                       cross             messages along the edges, by push or by pull
                                                         reduce, receive   what proxies have gathered, to their masters

Local ids are owned vertices (`0:n`), then proxies (`n:size`). Only owned vertices fire, and here only those with a
message; in `synchronous_state.py` all do. A PartitionState has an agent run kernels, a `ProxyMail` carry values, and
`VertexArrays` do all else, for only these know where arrays are. It knows neither device nor transport; an engine
decides in which order its methods are called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dgraph.agents.agent import Connection
from dgraph.codegen.bounds import bounded
from dgraph.codegen.recipe import Recipe
from dgraph.exchange.proxy_post import BROADCAST, REDUCE, ProxyMail, ReceivedValues
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import before, inbox, incoming, key, name_in, sent
from dgraph.tables.edge_tables import EdgeTables
from dgraph.tables.vertex_arrays import IN_PROCESS, VertexArrays
from dgraph.tables.vertex_lists import NOBODY
from dgraph.tables.vertex_tables import room_for_results, states_as_columns, vertex_table
from dgraph.vertex_state.frontier import Frontier
from dgraph.vertex_state.switches import RoundOptions

BLOCK = 1024  # vertices whose part of a global value is folded in one piece, where that must not change
COUNTED = ("fired", "edges", "messages", "bytes")  # of each superstep and partition


class PartitionState:
    """One array a field, in `values`: kernels and messages find them by name."""

    lists_senders = True  # whether the frontier says who sends next

    def __init__(
        self,
        edges: EdgeTables,
        recipe: Recipe,
        agent: Connection,
        post: ProxyMail,
        switches: RoundOptions,
        vertices: int,
        columns: Mapping[str, np.ndarray],
    ):
        self.edges, self.recipe, self.agent, self.post, self.switches = edges, recipe, agent, post, switches
        self.partition, self.analysis = edges.partition, recipe.analysis
        self.arrays: VertexArrays = IN_PROCESS  # until all is here that others know
        self.n, self.size = self.partition.num_owned, self.partition.num_local
        known: dict[str, Any] = {"vertices": vertices, "round": 0, "random_seed": switches.random_seed}
        known |= {key(name): value for name, value in recipe.values.items()}
        known |= {key(name): of.identity for name, (of, _) in self.analysis.globals.items()}
        self.values = {**known, **vertex_table(recipe, edges, columns)}
        self.degrees: dict[str, Any] = {}  # along which edges -> of each vertex
        self.frontier = Frontier(self.size)
        self.pulled = False  # whether messages last crossed by a pull
        self.changed: list[Any] = []  # how many vertices have changed, in each range of rows, since workers last agreed
        self.total, self.reported = (dict.fromkeys(COUNTED, 0) for _ in range(2))

    # -- before the first round ----------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Move arrays to where kernels run, then `seed`."""
        self.arrays = self.post.arrays = self.agent.arrays
        for arrays in (self.values, self.degrees):
            arrays |= {name: self.arrays.moved(array) for name, array in arrays.items() if np.ndim(array)}
        self.frontier.move(self.arrays)
        self.aim(self.analysis.phases[0], 0)
        self.seed()

    def seed(self) -> None:
        """Run `start` and `seed`: the first states, and the first messages."""
        if "begin" in self.recipe.source.kernels:
            self.frontier.hold(self.arrays, self._listed("begin", self.n, self.frontier.queue))

    # -- a round -------------------------------------------------------------------------------------------------------

    def aim(self, phase: PhaseAnalysis, number: int) -> None:
        """Tell kernels the number of the coming round, and the degree along the edges of its phase."""
        self.values["round"] = number
        if self.degrees:
            self.values["degree"] = self.degrees[phase.along]

    def halt(self) -> None:
        """Called before a checkpoint is made of the arrays: write what they lack."""

    def resume(self, phase: PhaseAnalysis) -> None:
        """Called when a checkpoint has been put into the arrays: get ready to go on."""

    def emit(self, phase: PhaseAnalysis) -> None:
        """Nothing: what is the same along all edges of a vertex was computed when it fired."""

    def broadcast(self, phase: PhaseAnalysis, side: str, target_side: str) -> None:
        """Send values of the vertices that send to their proxies."""
        arrays, sending = [self.values[name] for name in phase.broadcast], self.values["sending"]
        self._mark(True)
        if self.switches.changed_only:
            self.post.broadcast(BROADCAST, side, arrays, sending)
        else:
            self.post.broadcast(BROADCAST, side, [*arrays, sending], None)
        self._mark(False)

    def take(self, phase: PhaseAnalysis, side: str, target_side: str) -> None:
        """Write what masters have sent to proxies, who send on where their masters send."""
        senders = [self.frontier.senders]
        for _, ids, values in self.post.collect({BROADCAST: side}):
            for name, value in zip(phase.broadcast, values, strict=False):
                self.arrays.write(self.values[name], ids, value)
            senders.append(ids if self.switches.changed_only else ids[values[-1]])
        if len(senders) > 1:
            self.frontier.send(self.arrays.joined(senders, self.frontier.spare))

    def cross(self, phase: PhaseAnalysis) -> None:
        """Send messages along all edges here."""
        self.cross_to_proxies(phase)
        self.cross_to_owned(phase)

    def cross_to_proxies(self, phase: PhaseAnalysis) -> None:
        """Send messages along the edges here, except those that owned vertices pull: these stay here."""
        frontier = self.frontier
        work = int(self._work(phase) if frontier.edges is None else frontier.edges)
        self.pulled = self._pulls(work, phase)
        if self.pulled:
            self._mark(True)
            if bounded(phase):
                self.values |= self.arrays.bounds(phase, self.values, frontier.senders)
            self._pull(phase, self.n, self.size)
            return
        self.total["edges"] += work
        for side in self.edges.senders(phase.along):
            values = {**self.values, **self.edges.arguments(side), **frontier.arguments, "senders": frontier.senders}
            frontier.queued = self.agent.once(name_in(phase, "push"), len(frontier.senders), values)

    def cross_to_owned(self, phase: PhaseAnalysis) -> None:
        """Send the messages that `cross_to_proxies` has left out."""
        if self.pulled:
            self._pull(phase, 0, self.n)
            self._mark(False)
        if phase.hoisted and not phase.idempotent:
            self.forget_sent(phase)

    def reduce(self, phase: PhaseAnalysis, side: str) -> None:
        """Send what proxies have gathered to their masters, and empty the proxies' inboxes."""
        arrays, arrived = [self.values[inbox(phase, message)] for message in phase.messages], self.values["arrived"]
        self.post.reduce(side, arrays, arrived if self.switches.changed_only else None)
        self.arrays.fill(arrived, self.n, False)
        if not phase.idempotent:
            for array, message in zip(arrays, phase.messages, strict=True):
                self.arrays.fill(array, self.n, message.identity)

    def receive(self, phase: PhaseAnalysis, side: str) -> None:
        """Merge what other partitions' proxies have gathered into the inboxes of their masters here."""
        self.merge(phase, self.post.collect({REDUCE: side}))

    def merge(self, phase: PhaseAnalysis, mail: Iterable[ReceivedValues]) -> None:
        """Merge messages from other partitions into inboxes."""
        names = [incoming(inbox(phase, message)) for message in phase.messages]
        for _, ids, values in mail:
            arguments = {**self.values, **self.frontier.arguments, **dict(zip(names, values, strict=True)), "ids": ids}
            queued = self.agent.once(name_in(phase, "receive"), len(ids), arguments)
            if queued is not None:
                self.frontier.queued = queued

    def fire(self, phase: PhaseAnalysis) -> None:
        """Apply the inboxes of all owned vertices with a message to their states."""
        for name in self.analysis.before:
            self.arrays.copy(self.values[before(name)], self.values[key(name)])
        self.fire_these(phase, self.ready())
        self.frontier.edges = self._work(self.analysis.phases[self.values["round"] % len(self.analysis.phases)])
        self.frontier.clear()

    def fire_these(self, phase: PhaseAnalysis, vertices: Any) -> None:
        """Apply the inboxes of some owned vertices; those with something to send become the senders."""
        self.total["fired"] += len(vertices)
        self.frontier.send(self._listed(name_in(phase, "fire"), len(vertices), self.frontier.spare, frontier=vertices))

    def forget_sent(self, phase: PhaseAnalysis) -> None:
        """What the senders send is known wherever it must be: set it back to no message."""
        for message in phase.messages:
            self.arrays.put(self.values[sent(phase, message)], self.frontier.senders, message.identity)

    def ready(self) -> Any:
        """The owned vertices that fire next."""
        if not self.switches.active_only:
            return self.arrays.everybody(self.n)
        if self.frontier.scan:
            return self.arrays.flagged(self.values["arrived"], 0, self.n)
        queue = self.arrays.first(self.frontier.queue, self.frontier.queued)
        return queue if self.n == self.size else self.arrays.below(queue, self.n)

    def drop_proxies(self) -> None:
        """What proxies have gathered is posted: leave only owned vertices in the queue."""
        self.frontier.hold(self.arrays, NOBODY if self.frontier.scan else self.ready())

    @property
    def waiting_proxies(self) -> int:
        """How many proxies here have a message that their masters do not know yet."""
        return self.arrays.count(self.values["arrived"], self.n)

    @property
    def waiting(self) -> int:
        """How many vertices here have a message: owned ones, and proxies whose masters do not know yet."""
        listed = self.n == self.size and not self.frontier.scan
        return int(self.frontier.queued) if listed else self.arrays.count(self.values["arrived"], 0)

    def counted(self) -> dict[str, Any]:
        """Columns of the report: what was done since this was last called."""
        self.total |= {"messages": self.post.buffers, "bytes": self.post.bytes}
        if self.lists_senders:
            self.total["senders"] = self.frontier.sent
        found, self.reported = {w: n - self.reported.get(w, 0) for w, n in self.total.items()}, dict(self.total)
        return {**found, "direction": "pull" if self.pulled else "push", **self.agent.counted()}

    # -- global values and results -------------------------------------------------------------------------------------

    def fold(self, kernel: str = "fold") -> list[tuple]:
        """The global values of the owned vertices: a tuple of values for each range of rows."""
        if kernel not in self.recipe.source.kernels:
            return []
        block = BLOCK if self.switches.deterministic else None
        return [values for _, values in self.agent.rows(kernel, self.n, self.values, block=block)]

    def results(self, kernel: str = "finish") -> dict[str, np.ndarray]:
        """The columns of the answer, for the owned vertices."""
        if not self.analysis.results:
            found = states_as_columns(self.analysis, self.values, self.n)
        else:
            room = room_for_results(self.analysis, self.n)
            self.values |= {name: self.arrays.moved(array) for name, array in room.items()}
            self.agent.rows(kernel, self.n, self.values)
            found = {name: self.values[f"result_{name}"] for name in self.analysis.results}
        return {name: self.arrays.brought(array, self.n) for name, array in found.items()}

    # -- pieces of the above -------------------------------------------------------------------------------------------

    def _listed(self, kernel: str, count: int, queue: Any, **more: Any) -> Any:
        """Run a kernel that lists vertices in `queue`; returns the list."""
        return self.arrays.listed(queue, self.agent.rows(kernel, count, {**self.values, "queue": queue, **more}))

    def _mark(self, value: bool) -> None:
        self.arrays.put(self.values["sending"], self.frontier.senders, value)

    def _work(self, phase: PhaseAnalysis) -> Any:
        return self.arrays.edges(self.edges.senders(phase.along), self.frontier.senders)

    def _pulls(self, work: int, phase: PhaseAnalysis) -> bool:
        sides = self.edges.receivers(phase.along, at_once=False)
        able = name_in(phase, "push") in self.recipe.source.kernels
        return bool(sides) and (not able or self.switches.pulls(work, sum(side.num_edges for side in sides)))

    def _pull(self, phase: PhaseAnalysis, first: int, last: int) -> None:
        if first < last:
            for side in self.edges.receivers(phase.along, at_once=self.analysis.synchronous):
                self.total["edges"] += int(side.indptr[last] - side.indptr[first])
                values = {**self.values, **self.edges.arguments(side), **self.frontier.arguments}
                found = self.agent.rows(name_in(phase, "pull"), last, values, first)
                lengths = [length for _, length in found if length is not None]
                if lengths:
                    self.frontier.queued = lengths[-1]
                else:
                    self.frontier.scan = True  # until the next firing
