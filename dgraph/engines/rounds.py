"""What engines are made of: the stages of a round over all partitions of one worker, and what workers agree on.

A stage that needs others is a generator: it yields what this worker has to tell, and is sent what all have told. All
workers take the same turns, because every choice is made from what all of them know.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

from dgraph.analysis import PhaseAnalysis
from dgraph.checkpoint.keeper import Keeper
from dgraph.codegen.recipe import Recipe
from dgraph.engines.look_ahead import LookAhead
from dgraph.engines.rebalance import Rebalance
from dgraph.exact import ExactSum, exact_sums
from dgraph.states.state import COUNTED, State

Told = dict[str, Any]
Superstep = Generator[Told, list[Told], None]

SIDES = {"out": ("out", "in"), "in": ("in", "out"), "both": ("any", "any")}  # proxies that send, and are sent to


class Rounds:
    """The run of a program on the partitions of one worker. `alone` says that no other worker takes part."""

    def __init__(
        self,
        states: Sequence[State],
        recipe: Recipe,
        *,
        directed: bool,
        alone: bool,
        limit: int | None,
        local_rounds: int | None,  # for engines without common rounds
    ):
        self.states, self.recipe, self.analysis = states, recipe, recipe.analysis
        self.directed, self.alone, self.limit, self.local_rounds = directed, alone, limit, local_rounds
        self.several = states[0].partition.parts > 1
        self.whole, self.settles = states[0].switches.whole, states[0].settles
        self.round, self.settled, self.done = 0, 0, False
        self.keeper: Keeper | None = None  # of checkpoints
        self.resume: Callable[[Rounds], None] | None = None
        self.rebalance: Rebalance | None = None
        self.shares: list[float] = []  # into which edges are to move before the run goes on
        self.overdue = False  # whether some worker says that it is time for one
        self.blocks: Any = None  # of block descent
        self.seeded = not self.analysis.synchronous  # the messages of round 1 are there before anybody sends
        self.globals = {name: field.identity for name, (field, _) in self.analysis.globals.items()}
        self.folded: list[tuple[str, Any]] = []
        self.unshared = False  # whether there are global values to share; a worker without vertices has folded none
        self.exactly = exact_sums(self.analysis) if states[0].switches.deterministic else []
        self.waiting, self.exchanges = 0, 0  # exchanges: since the last row of the report
        self.ahead = LookAhead(states, self.analysis, limit)
        self.proxies = {"in": False, "out": False}  # whether any partition has such
        self.rows: list[dict[str, Any]] = []
        self.found_end_in: float | None = None  # seconds from the last work here, where nobody agrees on the end
        self._opened, self._busy = time.perf_counter(), [0.0] * len(states)

    # -- stages --------------------------------------------------------------------------------------------------------

    def begin(self) -> Superstep:
        """Degrees and columns where they are read, then what `start` and `seed` say."""
        reads_degree = self.analysis.reads("degree", "target_degree")
        if reads_degree:
            self._each("count_degrees", [phase.along for phase in self.analysis.phases])
        if self.several:
            yield from self.share()
            if reads_degree:
                self._each("add_degrees")
            if any(phase.sends_copies for phase in self.analysis.phases):
                self._each("send_copies")
                yield from self.share()
                self._each("take_copies")
        self._each("begin")
        if self.resume is not None:
            self.resume(self)
            return
        self.fold()
        yield from self.settle(wait=self.unshared)

    def send(self) -> Superstep:
        """The messages of the next round, as far as the masters' mailboxes."""
        if self.done:
            return
        if self.seeded:
            self.seeded, self.waiting = False, self._sum("waiting")
            yield from self.share()
            return
        phase = self.phase
        senders, targets = self.sides(phase)
        if self.settles:
            self.waiting = sum(self._each("tell", phase, senders, targets)) + self._sum("queued")
            yield from self.share()
            return
        self._each("aim", phase, self.round + 1)
        if self.ahead.quiet:
            self._each("cross", phase)
            return
        self.ahead.look(phase, self.round)
        self._each("emit", phase)
        broadcasts = self._any(senders) or (bool(phase.target_broadcast) and self._any(targets))
        reduces = self._any(targets) and not self.whole
        if broadcasts:
            self._each("broadcast", phase, senders, targets)
            yield from self.share()
            if self.done:
                return
            self._each("take", phase, senders, targets)
        self._each("cross_to_proxies", phase)
        posted = self._sum("waiting_proxies") if reduces else 0
        if reduces:
            self._each("reduce", phase, targets)
        self._each("cross_to_owned", phase)
        self.waiting = posted + self._sum("waiting")
        if reduces or not broadcasts:
            yield from self.share()
        self.ahead.start(self.round + 1)

    def merge(self) -> None:
        """The messages from proxies into their masters' inboxes."""
        senders, targets = self.sides(self.phase)
        if self.done:
            return
        if self.settles:
            self._each("hear", self.phase, senders, targets)
        elif self._any(targets) and not self.whole and not self.ahead.quiet:
            self._each("receive", self.phase, targets)

    def apply(self) -> None:
        """Fire, and fold the global values."""
        if self.done:
            return
        self._each("aim", self.phase, self.round + 1)
        self._each("settle" if self.settles else "fire", self.phase)
        self.round += 1
        self.fold()
        self.ahead.fired_in(self.round)
        self.waiting = self._sum("news") if self.settles else sum(len(state.senders) for state in self.states)
        self.report()
        self.done = self.round == self.limit
        if self.turn_ends and self.analysis.stop is not None and not self.analysis.stop.of("global"):
            self.done |= self._stops()

    def fold(self) -> None:
        """The global values that rounds read, as they are here."""
        self._fold("fold", self.analysis.globals_each_round)

    def settle(self, wait: bool) -> Superstep:
        """Agree on the global values of this round, and on whether it was the last: now, or with the next mail."""
        if self.alone:
            self.learn([self.tell()])
        elif wait and not self.done:
            yield from self.share()

    def keep(self) -> Superstep:
        """A checkpoint, or an end so as to go on with edges moved, if due: between two rounds. All come with it."""
        due = self.keeper if self.keeper is not None and self.keeper.is_due(self.round, self.overdue) else None
        shares = self.rebalance.shares(self.round, self.limit) if self.rebalance and not self.ahead.quiet else []
        if self.done or not (due or shares):
            return
        if due:
            due.wait()
        if not self.alone:
            yield from self.share()
        if due and not self.done:
            due.keep(self)
        if shares and not self.done:
            self.shares, self.done = shares, True

    def finish(self) -> Superstep:
        """The global values that only results read."""
        if self.shares:
            return
        names = [name for name in self.analysis.globals if name not in self.analysis.globals_each_round]
        self._fold("conclude", names)
        if self.unshared:  # these, or those of a last round that nobody waited for
            if self.alone:
                self.learn([self.tell()])
            else:
                yield from self.share()

    # -- agreeing ------------------------------------------------------------------------------------------------------

    @property
    def decides_by_others(self) -> bool:
        """Whether the end of a round depends on what other workers know."""
        stop = self.analysis.stop
        return self.analysis.synchronous if stop is None else bool(stop.of("global"))

    def share(self) -> Superstep:
        """Tell all workers, and learn from them; mail sent before is there afterwards."""
        self.exchanges += 1
        self.learn((yield self.tell()))

    def tell(self) -> Told:
        """What this worker knows."""
        return {
            "waiting": self.waiting,
            "changed": sum(int(count) for state in self.states for count in state.changed),
            "folded": self.folded,
            "proxies": {side: any(state.post.has(side) for state in self.states) for side in self.proxies},
            "round": self.round,
            "ahead": self.ahead.tell(),
            "load": None if self.rebalance is None else self.rebalance.tell(self.rows),
            "overdue": self.keeper is not None and self.keeper.overdue,
            **{what: sum(state.total[what] for state in self.states) for what in COUNTED},
        }

    def learn(self, told: list[Told]) -> None:
        """Take in what all workers have told, in one order everywhere."""
        self.proxies = {side: any(one["proxies"][side] for one in told) for side in self.proxies}
        if self.unshared:
            self._learn_globals(told)
        if self.settled < self.round and self.turn_ends:
            unchanged = self.analysis.synchronous and not sum(one["changed"] for one in told)
            self.done |= self._stops() if self.analysis.stop is not None else unchanged
            for state in self.states:
                state.changed = []
        self.settled = self.round
        self.overdue = any(one["overdue"] for one in told)
        self.ahead.learn([one["ahead"] for one in told])
        if self.rebalance is not None:
            self.rebalance.loads = [one["load"] for one in told]
        if not self.analysis.synchronous and not self.seeded and not sum(one["waiting"] for one in told):
            self.done = True
            self.ahead.end(self)

    def _learn_globals(self, told: list[Told]) -> None:
        merged: dict[str, Any] = {}
        for one in told:
            for name, value in one["folded"]:
                merge = self.analysis.globals[name][0].merge.merge
                merged[name] = merge(merged[name], value) if name in merged else value
        merged = {name: float(value) if isinstance(value, ExactSum) else value for name, value in merged.items()}
        self.globals |= merged
        self.folded, self.unshared = [], False
        for state in self.states:
            state.values |= merged

    def _stops(self) -> bool:
        known = {**self.recipe.values, **self.globals, "round": self.round}
        return self.recipe.should_stop({**known, "vertices": self.states[0].values["vertices"]})

    # -- pieces of the above -------------------------------------------------------------------------------------------

    @property
    def phase(self) -> PhaseAnalysis:
        """The phase of the next round, or of the one now in progress."""
        return self.analysis.phases[self.round % len(self.analysis.phases)]

    @property
    def turn_ends(self) -> bool:
        """Whether the round just done was of the last phase."""
        return self.round % len(self.analysis.phases) == 0

    def sides(self, phase: PhaseAnalysis) -> tuple[str, str]:
        """Proxies that send, and proxies that are sent to."""
        return SIDES[phase.along if self.directed else "out"]

    def _any(self, side: str) -> bool:
        return self.proxies[side] if side != "any" else any(self.proxies.values())

    def _sum(self, what: str) -> int:
        return sum(getattr(state, what) for state in self.states)

    def _fold(self, kernel: str, names: Sequence[str]) -> None:
        self.unshared |= bool(names)
        for values in (values for found in self._each("fold", kernel) for values in found):
            self.folded += zip(names, values, strict=True)
        if self.exactly:
            sums = {name: ExactSum(value for one, value in self.folded if one == name) for name in self.exactly}
            self.folded = [(name, value) for name, value in self.folded if name not in sums]
            self.folded += [(name, sums[name]) for name in names if name in sums]

    def each(self, some: Sequence[Any], what: str, *arguments: Any) -> list[Any]:
        """Have `some`, one for each partition, do something, and measure how long it takes."""
        answers = []
        for i, (state, one) in enumerate(zip(self.states, some, strict=True)):
            begun, waited = time.perf_counter(), state.post.waited
            answers.append(getattr(one, what)(*arguments))
            self._busy[i] += time.perf_counter() - begun - (state.post.waited - waited)
        return answers

    def _each(self, what: str, *arguments: Any) -> list[Any]:
        return self.each(self.states, what, *arguments)

    def report(self, more: Sequence[dict[str, Any]] | None = None) -> None:
        """A row a partition: what it did since the last, and more columns of each."""
        now = time.perf_counter()
        for i, state in enumerate(self.states):
            row = {"superstep": self.round, "partition": state.partition.index, **state.counted()}
            row |= {"exchanges": self.exchanges, "skipped": self.several and not self.exchanges}
            row |= {"busy": self._busy[i], "idle": max(0.0, now - self._opened - self._busy[i])}
            self.rows.append(row | (more[i] if more else {}))
            self._busy[i] = 0.0
        self._opened, self.exchanges = now, 0
