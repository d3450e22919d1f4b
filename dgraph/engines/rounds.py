"""What engines are made of: the stages of a round over all partitions of one worker, and what workers agree on.

A stage that needs other workers is a generator: it yields what this worker has to tell (`Rounds.tell`), and is sent
what all workers have told. All workers pass the same stages in the same order, because each choice depends only on what
all of them know.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

from dgraph.codegen.recipe import Recipe
from dgraph.engines.global_values import GlobalValues
from dgraph.engines.look_ahead import LookAhead
from dgraph.engines.pauses import Pauses
from dgraph.engines.report_rows import ReportRows
from dgraph.exchange.mail import TokenValues
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.vertex_state.copies import add_degrees, count_degrees, send_copies, take_copies
from dgraph.vertex_state.partition_state import COUNTED, PartitionState

T = TypeVar("T")
Superstep = Generator[TokenValues, list[TokenValues], None]

SIDES = {"out": ("out", "in"), "in": ("in", "out"), "both": ("any", "any")}  # proxies that send, and are sent to


class Rounds:
    """The run of a program on the partitions of one worker. An engine calls `begin`, then `send`, `merge`, `apply`,
    `agree` and `pause` in its own order until `done`, then `finish`."""

    def __init__(
        self,
        states: Sequence[PartitionState],
        recipe: Recipe,
        *,
        directed: bool,
        alone: bool,  # no other worker takes part
        limit: int | None,
        pauses: Pauses,
    ):
        self.states, self.analysis = states, recipe.analysis
        self.directed, self.alone, self.limit = directed, alone, limit
        self.several = states[0].partition.parts > 1
        self.whole, self.lazy = states[0].switches.whole, states[0].switches.lazy_upload
        self.round, self.done = 0, False
        self.agreed = 0  # the last round of which all workers know the end
        self.seeded = not self.analysis.synchronous  # the messages of round 1 are there before anybody sends
        self.waiting = 0  # how many vertices here have something to do, or to tell
        self.proxies = {"in": False, "out": False}  # whether any partition has such
        self.globals = GlobalValues(states, recipe)
        self.ahead = LookAhead(states, self.analysis, limit)
        self.pauses, self.log = pauses, ReportRows(states)

    # -- stages --------------------------------------------------------------------------------------------------------

    def begin(self) -> Superstep:
        """Exchange degrees and vertex columns where the program reads them; then `start` and `seed`, or go on from
        before."""
        phases, reads_degree = self.analysis.phases, self.analysis.reads("degree", "target_degree")
        copies = any(phase.sends_copies for phase in phases)
        if reads_degree:
            self._each(lambda state: count_degrees(state, [phase.along for phase in phases]))
        meets_in_send = self.seeded and self.pauses.resume is None  # else nobody knows yet which proxies there are
        if self.several and (reads_degree or copies or not meets_in_send):
            yield from self.share()
            if reads_degree:
                self._each(add_degrees)
            if copies:
                self._each(send_copies)
                yield from self.share()
                self._each(take_copies)
        self._each(lambda state: state.begin())
        if self.pauses.resume is not None:
            self.pauses.resume(self)
            return
        self.fold()
        yield from self.agree(wait=self.globals.unshared)

    def send(self) -> Superstep:
        """Send the messages of the next round, as far as the mailboxes of the masters' workers."""
        if self.done:
            return
        if self.seeded:
            self.seeded, self.waiting = False, sum(state.waiting for state in self.states)
            yield from self.share()
            return
        yield from self._send()

    def merge(self) -> None:
        """Merge what other partitions have sent into the inboxes of masters."""
        if not self.done:
            self._receive()

    def apply(self) -> None:
        """Fire, and fold the global values."""
        if self.done:
            return
        self._each(lambda state: state.aim(self.phase, self.round + 1))
        self.waiting = self._fire()
        self.round += 1
        self.fold()
        self.ahead.fired_in(self.round)
        self.log.close(self.round)
        self.done |= self.round == self.limit
        if self.turn_ends and self.analysis.stop is not None and not self.analysis.stop.of("global"):
            self.done |= self.globals.stop(self.round)

    def fold(self) -> None:
        """Fold the global values that rounds read over the vertices here; other workers hear of them later."""
        self._fold("fold", self.analysis.globals_each_round)

    def agree(self, wait: bool) -> Superstep:
        """Agree on the global values of this round and on whether it was the last: with an exchange of its own if
        `wait`, else along with the next mail."""
        if self.alone:
            self.learn([self.tell()])
        elif wait and not self.done:
            yield from self.share()

    def pause(self) -> Superstep:
        """Do what is due between two rounds: a checkpoint, or the end of this run so that edges can move."""
        if self.done or not self.pauses.due(self):
            return
        if not self.alone:
            yield from self.share()
        if not self.done:
            self.pauses.act(self)

    def finish(self) -> Superstep:
        """Fold and exchange the global values that only results read."""
        if self.pauses.shares:
            return
        last = self.analysis.phases[(self.round - 1) % len(self.analysis.phases)]
        self._each(lambda state: state.aim(last, self.round))
        names = [name for name in self.analysis.globals if name not in self.analysis.globals_each_round]
        self._fold("conclude", names)
        if self.globals.unshared:  # these, or those of a last round that nobody waited for
            if self.alone:
                self.learn([self.tell()])
            else:
                yield from self.share()

    # -- what stages do, and `LocalRounds` does otherwise -----------------------------------------------------------

    def _send(self) -> Superstep:
        """Masters tell their proxies, messages cross the edges, and proxies pass on to masters what they have
        gathered."""
        phase = self.phase
        senders, targets = self.sides(phase)
        self._each(lambda state: state.aim(phase, self.round + 1))
        if self.ahead.quiet:
            self._each(lambda state: state.cross(phase))
            return
        self.ahead.look(phase, self.round)
        self._each(lambda state: state.emit(phase))
        tells = bool(phase.broadcast) or not self.analysis.synchronous  # of senders, or only who they are
        broadcasts = (tells and self._any(senders)) or (bool(phase.target_broadcast) and self._any(targets))
        reduces = self._any(targets) and not self.whole
        if broadcasts:
            self._each(lambda state: state.broadcast(phase, senders, targets))
            yield from self.share()
            if self.done:
                return
            self._each(lambda state: state.take(phase, senders, targets))
        self._each(lambda state: state.cross_to_proxies(phase))
        posted = sum(state.waiting_proxies for state in self.states) if reduces else 0
        if reduces:
            self._each(lambda state: state.reduce(phase, targets))
        self._each(lambda state: state.cross_to_owned(phase))
        self.waiting = posted + sum(state.waiting for state in self.states)
        if reduces or not broadcasts:
            yield from self.share()
        self.ahead.start()

    def _receive(self) -> None:
        targets = self.sides(self.phase)[1]
        if self._any(targets) and not self.whole and not self.ahead.quiet:
            self._each(lambda state: state.receive(self.phase, targets))

    def _fire(self) -> int:
        """Fire; returns how many vertices have something to send."""
        self._each(lambda state: state.fire(self.phase))
        return sum(state.frontier.count() for state in self.states)

    # -- agreeing ------------------------------------------------------------------------------------------------------

    @property
    def decides_by_others(self) -> bool:
        """Whether it takes the other workers' word to know that a round was the last."""
        stop = self.analysis.stop
        return self.analysis.synchronous if stop is None else bool(stop.of("global"))

    def share(self) -> Superstep:
        """Tell all workers and learn from them. Mail that was sent before has arrived afterwards."""
        self.log.exchanges += 1
        self.learn((yield self.tell()))

    def tell(self) -> TokenValues:
        """What this worker tells all others; `learn` is given one such dict from each."""
        return {
            "waiting": self.waiting,
            "changed": sum(int(count) for state in self.states for count in state.changed),
            "folded": self.globals.folded,
            "proxies": {side: any(state.post.has(side) for state in self.states) for side in self.proxies},
            "round": self.round,
            "ahead": self.ahead.tell(),
            **self.pauses.tell(self.log.rows),
            **{what: sum(state.total[what] for state in self.states) for what in COUNTED},
        }

    def learn(self, told: list[TokenValues]) -> None:
        """Take in what all workers have told, in the same order on every worker."""
        self.proxies = {side: any(one["proxies"][side] for one in told) for side in self.proxies}
        self.globals.learn([one["folded"] for one in told])
        if self.agreed < self.round and self.turn_ends:
            unchanged = self.analysis.synchronous and not sum(one["changed"] for one in told)
            self.done |= self.globals.stop(self.round) if self.analysis.stop is not None else unchanged
            for state in self.states:
                state.changed = []
        self.agreed = self.round
        self.ahead.learn([one["ahead"] for one in told])
        self.pauses.learn(told)
        if not self.analysis.synchronous and not self.seeded and not sum(one["waiting"] for one in told):
            self.done = True
            self.ahead.end(self)

    # -- pieces of the above -------------------------------------------------------------------------------------------

    @property
    def phase(self) -> PhaseAnalysis:
        """The phase of the next round, or of the one now in progress."""
        return self.analysis.phases[self.round % len(self.analysis.phases)]

    @property
    def turn_ends(self) -> bool:
        """Whether the round just done was of the program's last phase."""
        return self.round % len(self.analysis.phases) == 0

    def sides(self, phase: PhaseAnalysis) -> tuple[str, str]:
        """The sides of proxies (see `ProxyMail`) that hear what masters send, and that are sent to. With lazy upload
        only those proxies hear that will send on."""
        senders, targets = SIDES[phase.along if self.directed else "out"]
        return (senders if self.lazy else "any"), targets

    @property
    def posted(self) -> int:
        """How many buffers the partitions here have sent so far."""
        return sum(state.post.buffers for state in self.states)

    def _any(self, side: str) -> bool:
        return self.proxies[side] if side != "any" else any(self.proxies.values())

    def _fold(self, kernel: str, names: Sequence[str]) -> None:
        self.globals.fold(names, [values for found in self._each(lambda state: state.fold(kernel)) for values in found])

    def _each(self, work: Callable[[PartitionState], T]) -> list[T]:
        return self.log.each(self.states, work)
