"""Drivers let daemons take blocks of block descent from the same queue as the CPU's threads (GraphABCD's hybrid
execution). A driver is an additional thread of the team. It has its daemon process the edges of a block; firing
vertices and notifying other blocks are compiled calls here, because moving a vertex costs more than firing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.agents.daemon_settings import title_of
from dgraph.agents.lane import Lane
from dgraph.agents.triplets import PullRequest, PushRequest
from dgraph.codegen.bounds import best_possible, bound_name, is_bounded
from dgraph.codegen.descent.descent_kernel import DAEMON_KERNELS
from dgraph.codegen.descent.turn import STORED_ARRAYS
from dgraph.devices.cpu import Cpu
from dgraph.native import block_queue as queue
from dgraph.pipeline.blocks import Block
from dgraph.pipeline.stages import run_sequentially
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import inbox_name, incoming_name, phase_name, sent_name


class DaemonDriver:
    """The thread of one daemon. It obeys the rules of the team: no other thread writes to the vertices of its block,
    and the values that it reads are as new as those that other threads read."""

    def __init__(self, lane: Lane, cpu: Cpu, phase: PhaseAnalysis, operator: str, arguments: Mapping[str, Any]):
        self.lane, self.cpu, self.phase = lane, cpu, phase
        (self.message,) = phase.messages
        self.shift, self.owned = (int(arguments["_limits"][what]) for what in (queue.SHIFT, queue.OWNED))
        self.work = self.gather if operator == "pull" else self.spread
        self.kernel = phase_name(phase, operator)
        size = len(arguments["_news"])
        self.own: dict[str, Any] = {"arrived": np.zeros(size, bool)}
        if operator == "pull":
            rows = {name.removeprefix("_in_"): array for name, array in arguments.items() if name.startswith("_in_")}
            self.own |= {**rows, "sending": np.ones(size, bool) if phase.hoisted else arguments["_news"]}
            if is_bounded(phase):  # the best message that is still to come is unknown
                self.own[bound_name(phase, self.message)] = best_possible(self.message)
        else:
            self.own["senders"] = np.zeros(1 << self.shift, np.uint32)
            self.leaving = {"_leavers": self.own["senders"]}
            if phase.hoisted:  # only what rows send now, not everything that their proxies have yet to receive
                self.leaving["_leaving"] = self.own[sent_name(phase, self.message)] = np.zeros(size, self.message.dtype)
        self.rows: np.ndarray = {**arguments, **self.own}["indptr"]
        starts = np.append(np.arange(0, self.owned, 1 << self.shift), self.owned)
        lane.make_room([Block(0, 1 << self.shift, int(np.diff(self.rows[starts]).max(initial=1)))])
        for name in DAEMON_KERNELS[operator]:
            cpu.kernels[name].compile()
        self.failure: BaseException | None = None
        self.blocks = self.edges = 0

    def __call__(self, rank: int, size: int, signals: np.ndarray) -> None:
        """Take blocks until the team is done. After a failure, no thread of the team takes another."""
        self.values["_size"] = size
        stored, limits = [self.values[name] for name in STORED_ARRAYS], self.values["_limits"]
        while (b := queue.next_block(rank, size, signals, *stored, limits)) != queue.NONE:
            if b == queue.LATER:
                continue
            try:
                self.values["_live"][b] = 0.0
                fired, edges = self.work(b << self.shift, min(self.owned, (b + 1) << self.shift))
                self.blocks, self.edges = self.blocks + 1, self.edges + edges
            except BaseException as error:  # including Ctrl-C, because other threads would wait for this one
                self.failure, fired, edges = error, 0, int(queue.ALL)
            queue.finish(b, rank, fired, edges, self.values["_pace"], 0.0, *stored)

    def gather(self, first: int, last: int) -> tuple[int, int]:
        """Pull: the daemon gathers over the in-edges of rows first:last, which then fire. Returns the number of rows
        that fired, and the number of edges."""
        block = Block(first, last, int(self.rows[last] - self.rows[first]))
        if block.edges:
            run_sequentially(
                PullRequest(self.lane, self.kernel, {**self.values, **self.own}, block.edges, lazy=True), [block]
            )
            self.own["arrived"][first:last] = False
        elif self.lane.recipe.analysis.synchronous:
            self.values[inbox_name(self.phase, self.message)][first:last] = self.message.identity
        fired, told = self.cpu.kernels["gathered"].run_rows(first, last, self.values)
        return fired, block.edges + told

    def spread(self, first: int, last: int) -> tuple[int, int]:
        """Push: rows first:last fire, and the daemon sends along their out-edges. Returns the number of rows that
        fired, and the number of edges."""
        fired, count = self.cpu.kernels["leaving"].run_rows(first, last, {**self.values, **self.leaving})
        senders = self.own["senders"][:count]
        edges = int((self.rows[senders + 1] - self.rows[senders]).sum())
        if edges:
            request = PushRequest(self.lane, self.kernel, {**self.values, **self.own}, self, lazy=False)
            run_sequentially(request, [Block(0, count, edges)])
        return fired, edges

    def receive(self, ids: np.ndarray, messages: dict[str, np.ndarray]) -> int:
        """Merge what the daemon has merged per target into the targets' inboxes; returns the number of bytes."""
        values = {incoming_name(name): array for name, array in messages.items()}
        self.cpu.kernels["arriving"].run_rows(0, len(ids), {**self.values, **values, "ids": ids})
        return ids.nbytes + sum(array.nbytes for array in messages.values())

    def begin(self, values: Mapping[str, Any]) -> None:
        """Take over the arrays and scalars of a new epoch."""
        self.values, self.blocks, self.edges = dict(values), 0, 0

    @property
    def title(self) -> str:
        return title_of(self.lane.kind)
