"""A partition while a program runs: its arrays, and what one superstep does to them.

    begin      set the first states and messages         broadcast, take   copy masters' values to their proxies
    fire       apply inboxes to states                   cross             send along the edges, by push or by pull
                                                         reduce, receive   merge what proxies gathered into masters

Local ids number owned vertices first (`0:n`), then proxies (`n:size`). Only owned vertices fire, and here only those
with a message; in `synchronous_state.py` all do. A PartitionState has an agent run kernels, a `ProxyMail` carry values,
and `VertexArrays` do everything else with arrays, because only these know where arrays are. A PartitionState depends
on neither device nor transport. An engine decides in which order to call its methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dgraph.agents.agent import Connection
from dgraph.codegen.bounds import is_bounded
from dgraph.codegen.message_sums import EXCESS
from dgraph.codegen.recipe import Recipe
from dgraph.errors import SumError
from dgraph.exchange.proxy_post import BROADCAST, REDUCE, ProxyMail, ReceivedValues
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import before_name, field_name, inbox_name, incoming_name, phase_name, sent_name
from dgraph.programs.random_draws import word_of_round
from dgraph.tables.edge_tables import EdgeTables
from dgraph.tables.vertex_arrays import IN_PROCESS, VertexArrays
from dgraph.tables.vertex_lists import NO_VERTICES
from dgraph.tables.vertex_tables import empty_results, states_as_columns, vertex_table
from dgraph.vertex_state.switches import RoundOptions

FOLD_BLOCK = 1024  # vertices folded together into a global value, if the order of additions must not change
COUNTERS = ("fired", "edges", "messages", "bytes")  # for each superstep and partition


class Frontier:
    """The vertices of a partition that take part in a round: those with a message and, once these have fired, those
    with something to send. Two arrays as long as the partition hold the two lists; each round fills one from the other.

    The vertices `queue[:queued]` have a message. If `scan` is true, so do all others whose flag `arrived` is set,
    because kernels that pull set flags without listing vertices. `senders` have something to send."""

    def __init__(self, size: int):
        self.queue, self.spare = (np.empty(max(size, 1), np.uint32) for _ in range(2))
        self.queued: Any = 0  # on a device, a count that may not be known yet
        self.scan = False
        self.senders: Any = NO_VERTICES
        self.edges: Any = None  # the number of edges along which they send, once it is known
        self.sent = 0  # the number of senders in all rounds together

    def move(self, arrays: VertexArrays) -> None:
        """Move the arrays to where kernels run."""
        self.queue, self.spare = arrays.to_device(self.queue), arrays.to_device(self.spare)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of a kernel that adds to the queue."""
        return {"queue": self.queue, "queued": self.queued}

    def hold(self, arrays: VertexArrays, ids: Any) -> None:
        """Set the queue to these vertices."""
        arrays.store(self.queue, ids)
        self.queued = len(ids)

    def clear(self) -> None:
        """Empty the queue, so that no vertex has a message."""
        self.queued, self.scan = 0, False

    def send(self, senders: Any) -> None:
        """Set the senders to these vertices."""
        self.senders, self.edges = senders, None

    def count(self) -> int:
        """The number of senders. Engines call this once after all partitions have fired, because a device answers only
        when it has finished firing."""
        self.sent += len(self.senders)
        return len(self.senders)


class PartitionState:
    """The state of one partition. `values` holds one array per field, which kernels and messages find by name."""

    lists_senders = True  # whether the frontier lists the vertices that send next

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
        self.edges, self.recipe, self.agent, self.post, self.round_options = edges, recipe, agent, post, switches
        self.partition, self.analysis = edges.partition, recipe.analysis
        self.arrays: VertexArrays = IN_PROCESS  # until `begin` moves arrays to the device
        self.n, self.size = self.partition.num_owned, self.partition.num_local
        self.draws = any(one.name == "round_word" for kernel in recipe.source.kernels.values() for one in kernel)
        scalars: dict[str, Any] = {"vertices": vertices, "round": 0}
        scalars |= {field_name(name): value for name, value in recipe.values.items()}
        scalars |= {field_name(name): field.identity for name, (field, _) in self.analysis.globals.items()}
        self.values = {**scalars, **vertex_table(recipe, edges, columns)}
        self.degrees: dict[str, Any] = {}  # direction of edges -> each vertex's degree
        self.frontier = Frontier(self.size)
        self.pulled = False  # whether messages last crossed edges by a pull
        self.fired_in, self.copies = 0, dict[str, Any]()  # the last round in which vertices fired, and states before it
        self.changed: list[Any] = []  # how many vertices changed since workers last agreed, by range of rows
        self.total, self.reported = (dict.fromkeys(COUNTERS, 0) for _ in range(2))

    # -- before the first round ----------------------------------------------------------------------------------------

    def count_degrees(self, alongs: Iterable[str]) -> None:
        """Count degrees over the edges here, and send the proxies' counts to their masters."""
        self.degrees = {along: self.edges.degrees(along) for along in alongs}
        if not self.round_options.twice:
            counts = list(self.degrees.values())
            self.post.reduce("any", counts, np.logical_or.reduce([count > 0 for count in counts]))

    def add_degrees(self) -> None:
        """Add the counts that other partitions sent to those of masters here."""
        for _, ids, values in self.post.collect({REDUCE: "any"}):
            for degree, more in zip(self.degrees.values(), values, strict=True):
                degree[ids] += more

    def send_copies(self) -> None:
        """Send degrees and columns from masters to proxies."""
        self.post.broadcast(BROADCAST, "any", self._copied_once(), None)

    def take_copies(self) -> None:
        """Write the degrees and columns that masters sent to the proxies here."""
        for _, ids, values in self.post.collect({BROADCAST: "any"}):
            for array, value in zip(self._copied_once(), values, strict=True):
                array[ids] = value

    def _copied_once(self) -> list[np.ndarray]:
        return [
            *self.degrees.values(),
            *(self.values[field_name(column.name)] for column in self.analysis.copied_columns),
        ]

    def begin(self) -> None:
        """Move arrays to where kernels run, then run `start` and `seed`."""
        self.arrays = self.post.arrays = self.agent.arrays
        for arrays in (self.values, self.degrees):
            arrays |= {name: self.arrays.to_device(array) for name, array in arrays.items() if np.ndim(array)}
        self.frontier.move(self.arrays)
        self.prepare_round(self.analysis.phases[0], 0)
        if "begin" in self.recipe.source.kernels:
            self.agent.rows("begin", self.n, self.values)
        self.seed()

    def seed(self) -> None:
        """Run `seed`, which sends the messages of round 1. Global values are then folded as after round 0."""
        self.prepare_round(self.analysis.phases[0], 1)
        self.frontier.hold(self.arrays, self._listed("first", self.n, self.frontier.queue))
        self.prepare_round(self.analysis.phases[0], 0)

    # -- a round -------------------------------------------------------------------------------------------------------

    def prepare_round(self, phase: PhaseAnalysis, number: int) -> None:
        """Set the number of the next round, and the degrees along the edges of its phase, for kernels."""
        self.check_sums()
        self.values["round"] = number
        if self.draws:
            self.values["round_word"] = word_of_round(self.round_options.random_seed, number)
        if self.degrees:
            self.values["degree"] = self.degrees[phase.along]

    def halt(self) -> None:
        """Bring the arrays up to date before a checkpoint."""
        self.check_sums()

    def resume(self, phase: PhaseAnalysis) -> None:
        """Prepare to continue after the arrays have been restored from a checkpoint."""

    def emit(self, phase: PhaseAnalysis) -> None:
        """Do nothing, because a vertex that sends the same along all its edges computed that value when it fired."""

    def broadcast(self, phase: PhaseAnalysis, side: str, target_side: str) -> None:
        """Send the values of senders to their proxies."""
        arrays, sending = [self.values[name] for name in phase.broadcast], self.values["sending"]
        self._mark(True)
        if self.round_options.changed_only:
            self.post.broadcast(BROADCAST, side, arrays, sending)
        else:
            self.post.broadcast(BROADCAST, side, [*arrays, sending], None)
        self._mark(False)

    def take(self, phase: PhaseAnalysis, side: str, target_side: str) -> None:
        """Write what masters have sent to the proxies here. Proxies of senders become senders."""
        senders = [self.frontier.senders]
        for _, ids, values in self.post.collect({BROADCAST: side}, joined=True):
            for name, value in zip(phase.broadcast, values, strict=False):
                self.arrays.write(self.values[name], ids, value)
            senders.append(ids if self.round_options.changed_only else ids[values[-1]])
        if len(senders) > 1:
            self.frontier.send(self.arrays.join_lists(senders, self.frontier.spare))

    def cross(self, phase: PhaseAnalysis) -> None:
        """Send messages along all edges here."""
        self.cross_to_proxies(phase)
        self.cross_to_owned(phase)

    def cross_to_proxies(self, phase: PhaseAnalysis) -> None:
        """Send messages along the edges here, except those that owned vertices pull, which no other worker needs."""
        frontier = self.frontier
        work = int(self._work(phase) if frontier.edges is None else frontier.edges)
        self.pulled = self._pulls(work, phase)
        if self.pulled:
            self._mark(True)
            if is_bounded(phase):
                self.values |= self.arrays.bounds(phase, self.values, frontier.senders)
            self._pull(phase, self.n, self.size)
            return
        self.total["edges"] += work
        for side in self.edges.senders(phase.along):
            values = {**self.values, **self.edges.arguments(side), **frontier.arguments, "senders": frontier.senders}
            frontier.queued = self.agent.once(phase_name(phase, "push"), len(frontier.senders), values)

    def cross_to_owned(self, phase: PhaseAnalysis) -> None:
        """Send the messages that `cross_to_proxies` left out."""
        if self.pulled:
            self._pull(phase, 0, self.n)
            self._mark(False)
        if phase.hoisted and not phase.idempotent:
            self.forget_sent(phase)

    def reduce(self, phase: PhaseAnalysis, side: str) -> None:
        """Send what proxies have gathered to their masters, and empty the proxies' inboxes."""
        arrays, arrived = (
            [self.values[inbox_name(phase, message)] for message in phase.messages],
            self.values["arrived"],
        )
        self.post.reduce(side, arrays, arrived if self.round_options.changed_only else None)
        self.arrays.fill(arrived, self.n, False)
        if not phase.idempotent:
            for array, message in zip(arrays, phase.messages, strict=True):
                self.arrays.fill(array, self.n, message.identity)

    def receive(self, phase: PhaseAnalysis, side: str) -> None:
        """Merge what proxies in other partitions have gathered into the inboxes of their masters here."""
        self.merge(phase, self.post.collect({REDUCE: side}, joined=self.arrays is IN_PROCESS))

    def merge(self, phase: PhaseAnalysis, mail: Iterable[ReceivedValues]) -> None:
        """Merge messages from other partitions into inboxes."""
        names = [incoming_name(inbox_name(phase, message)) for message in phase.messages]
        for _, ids, values in mail:
            arguments = {**self.values, **self.frontier.arguments, **dict(zip(names, values, strict=True)), "ids": ids}
            queued = self.agent.once(phase_name(phase, "receive"), len(ids), arguments)
            if queued is not None:
                self.frontier.queued = queued

    def fire(self, phase: PhaseAnalysis) -> None:
        """Apply the inboxes of all owned vertices with a message to their states."""
        vertices = self.ready()
        self.copies = self.copies or {name: self.values[before_name(name)] for name in self.analysis.before}
        if len(vertices):
            self.fired_in = self.values["round"]
            for name, copy in self.copies.items():
                self.arrays.copy(copy, self.values[field_name(name)])
        self.look_back(self.values["round"])
        self.fire_vertices(phase, vertices)
        self.frontier.edges = self._work(self.analysis.phases[self.values["round"] % len(self.analysis.phases)])
        self.frontier.clear()

    def look_back(self, number: int) -> None:
        """Set what states were before this round. If nothing here fired in it, they are what they were: their copies
        stay as they are, in case that it turns out that the run had ended before."""
        for name, copy in self.copies.items():
            self.values[before_name(name)] = copy if self.fired_in == number else self.values[field_name(name)]

    def fire_vertices(self, phase: PhaseAnalysis, vertices: Any) -> None:
        """Apply the inboxes of these owned vertices; those with something to send become the senders."""
        self.total["fired"] += len(vertices)
        self.frontier.send(
            self._listed(phase_name(phase, "fire"), len(vertices), self.frontier.spare, frontier=vertices)
        )

    def forget_sent(self, phase: PhaseAnalysis) -> None:
        """Reset what the senders send to the identity, once it has been delivered."""
        for message in phase.messages:
            self.arrays.put(self.values[sent_name(phase, message)], self.frontier.senders, message.identity)

    def ready(self) -> Any:
        """The owned vertices that fire next."""
        if not self.round_options.active_only:
            return self.arrays.all_vertices(self.n)
        if self.frontier.scan:
            return self.arrays.list_flagged(self.values["arrived"], 0, self.n)
        queue = self.arrays.first(self.frontier.queue, self.frontier.queued)
        return queue if self.n == self.size else self.arrays.below(queue, self.n)

    def drop_proxies(self) -> None:
        """Leave only owned vertices in the queue, once what proxies have gathered is posted."""
        self.frontier.hold(self.arrays, NO_VERTICES if self.frontier.scan else self.ready())

    @property
    def waiting_proxies(self) -> int:
        """How many proxies here have a message that is not yet sent to their masters."""
        return self.arrays.count(self.values["arrived"], self.n)

    @property
    def waiting(self) -> int:
        """How many vertices here have a message: owned ones, and proxies that have not yet sent it to their masters."""
        listed = self.n == self.size and not self.frontier.scan
        return int(self.frontier.queued) if listed else self.arrays.count(self.values["arrived"], 0)

    def counted(self) -> dict[str, Any]:
        """Columns of the report: what was done since the last call."""
        self.total |= {"messages": self.post.buffers, "bytes": self.post.bytes}
        if self.lists_senders:
            self.total["senders"] = self.frontier.sent
        counts = {name: count - self.reported.get(name, 0) for name, count in self.total.items()}
        self.reported = dict(self.total)
        return {**counts, "direction": "pull" if self.pulled else "push", **self.agent.counted()}

    # -- global values and results -------------------------------------------------------------------------------------

    def fold(self, kernel: str = "fold") -> list[tuple]:
        """The global values folded over the owned vertices: a tuple of values for each range of rows."""
        if kernel not in self.recipe.source.kernels:
            return []
        block = FOLD_BLOCK if self.round_options.deterministic else None
        return [values for _, values in self.agent.rows(kernel, self.n, self.values, block=block)]

    def results(self, kernel: str = "finish") -> dict[str, np.ndarray]:
        """The columns of the answer for the owned vertices."""
        self.check_sums()
        if not self.analysis.results:
            columns = states_as_columns(self.analysis, self.values, self.n)
        else:
            room = empty_results(self.analysis, self.n)
            self.values |= {name: self.arrays.to_device(array) for name, array in room.items()}
            self.agent.rows(kernel, self.n, self.values)
            columns = {name: self.values[f"result_{name}"] for name in self.analysis.results}
        return {name: self.arrays.to_host(array, self.n) for name, array in columns.items()}

    def check_sums(self) -> None:
        """Raise if the sum of messages to a vertex has overflowed its type."""
        excess = self.values.get(EXCESS)
        if excess is not None and excess[0]:
            raise SumError(self.analysis.title, int(self.partition.numbers[excess[0] - 1]))

    # -- helpers -------------------------------------------------------------------------------------------------------

    def _listed(self, kernel: str, count: int, queue: Any, **more: Any) -> Any:
        """Run a kernel that lists vertices in `queue`, and return the list."""
        return self.arrays.join_ranges(queue, self.agent.rows(kernel, count, {**self.values, "queue": queue, **more}))

    def _mark(self, value: bool) -> None:
        self.arrays.put(self.values["sending"], self.frontier.senders, value)

    def _work(self, phase: PhaseAnalysis) -> Any:
        return self.arrays.edges(self.edges.senders(phase.along), self.frontier.senders)

    def _pulls(self, work: int, phase: PhaseAnalysis) -> bool:
        sides = self.edges.receivers(phase.along, joined=False)
        able = phase_name(phase, "push") in self.recipe.source.kernels
        return bool(sides) and (not able or self.round_options.pulls(work, sum(side.num_edges for side in sides)))

    def _pull(self, phase: PhaseAnalysis, first: int, last: int) -> None:
        if first < last:
            for side in self.edges.receivers(phase.along, joined=self.analysis.synchronous):
                self.total["edges"] += int(side.indptr[last] - side.indptr[first])
                values = {**self.values, **self.edges.arguments(side), **self.frontier.arguments}
                ranges = self.agent.rows(phase_name(phase, "pull"), last, values, first)
                lengths = [length for _, length in ranges if length is not None]
                if lengths:
                    self.frontier.queued = lengths[-1]
                else:
                    self.frontier.scan = True  # until the next firing
