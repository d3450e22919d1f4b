"""A partition of a synchronous program: in each round, every vertex gathers from all its in-neighbours and fires.
Every vertex is therefore a sender, none waits in a queue, and workers exchange how many vertices have changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dgraph.exchange.proxy_post import BROADCAST, TARGET
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import inbox_name, phase_name
from dgraph.vertex_state.partition_state import PartitionState


class SynchronousState(PartitionState):
    """Overrides what differs from `PartitionState`. It does not use the frontier."""

    lists_senders = False
    waiting = waiting_proxies = 0  # no vertex waits for its turn

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.pulled = True
        self.sent_before: dict[tuple, list[Any]] = {}  # tag and names of arrays -> their values when last sent

    def seed(self) -> None:
        """Run `start`, which sets the first states."""
        if "begin" in self.recipe.source.kernels:
            self.agent.rows("begin", self.n, self.values)

    def emit(self, phase: PhaseAnalysis) -> None:
        """Compute what each vertex sends, if that is the same along all its edges."""
        if phase.hoisted:
            self.agent.rows(phase_name(phase, "emit"), self.n, self.values)

    def broadcast(self, phase: PhaseAnalysis, side: str, target_side: str) -> None:
        """Send the changed values of masters to their proxies."""
        self._tell(BROADCAST, side, phase.broadcast)
        if phase.target_broadcast:
            self._tell(TARGET, target_side, phase.target_broadcast)

    def _tell(self, tag: int, side: str, names: Iterable[str]) -> None:
        arrays, changed = [self.values[name] for name in names], None
        if self.round_options.changed_only:
            key = tag, *names
            changed, self.sent_before[key] = self.arrays.changed_rows(arrays, self.sent_before.get(key), self.n)
        self.post.broadcast(tag, side, arrays, changed, exact=False)

    def take(self, phase: PhaseAnalysis, side: str, target_side: str) -> None:
        """Write what masters have sent to the proxies here."""
        for tag, ids, values in self.post.collect({BROADCAST: side, TARGET: target_side}):
            names = phase.target_broadcast if tag == TARGET else phase.broadcast
            for name, value in zip(names, values, strict=True):
                self.arrays.write(self.values[name], ids, value)

    def cross_to_proxies(self, phase: PhaseAnalysis) -> None:
        """Gather at proxies, unless vertices need all their edges in one place."""
        if phase.combines and not self.round_options.whole:
            self._pull(phase, self.n, self.size)

    def cross_to_owned(self, phase: PhaseAnalysis) -> None:
        """Gather at owned vertices."""
        self._pull(phase, 0, self.n)

    def reduce(self, phase: PhaseAnalysis, side: str) -> None:
        """Send what proxies have gathered to their masters."""
        arrays = [self.values[inbox_name(phase, message)] for message in phase.messages]
        nothing = [message.identity for message in phase.messages]
        self.post.reduce(side, arrays, nothing if self.round_options.changed_only else None)

    def fire(self, phase: PhaseAnalysis) -> None:
        """Apply the inboxes of all owned vertices to their states."""
        self.changed += [count for _, count in self.agent.rows(phase_name(phase, "fire"), self.n, self.values)]
        self.total["fired"] += self.n
