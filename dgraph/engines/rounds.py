"""The stages of a round over all partitions of one worker, from which engines are composed, and what workers agree on.

A stage that needs other workers is a generator: it yields this worker's report (`Rounds.tell`), and is sent the reports
of all workers. All workers pass through the same stages in the same order, because each decision depends only on what
all of them know.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeVar

from dgraph.arguments import wrap_integer
from dgraph.checkpoint.keeper import CheckpointKeeper
from dgraph.codegen.recipe import Recipe
from dgraph.engines.exact_sums import ExactSum, exact_sums
from dgraph.engines.rebalance_decision import RebalanceDecision
from dgraph.engines.round_limits import Patience
from dgraph.exchange.mail import StepReport
from dgraph.programs.analysis import Analysis, PhaseAnalysis
from dgraph.programs.kernel_names import field_name
from dgraph.tables.border_distances import quiet_rounds
from dgraph.vertex_state.partition_state import COUNTERS, PartitionState

S = TypeVar("S")
T = TypeVar("T")
Superstep = Generator[StepReport, list[StepReport], None]

PROXY_SIDES = {
    "out": ("out", "in"),
    "in": ("in", "out"),
    "both": ("any", "any"),
}  # the side of proxies that send, and the side of those that receive
PATIENCE = 16  # rounds before it pays to compute how far vertices are from other partitions


class Rounds:
    """The run of a program on the partitions of one worker. An engine calls `begin`, then `send`, `merge`, `apply`,
    `agree` and `pause` in its own order until `done`, then `finish`."""

    def __init__(
        self,
        states: Sequence[PartitionState],
        recipe: Recipe,
        *,
        directed: bool,
        alone: bool,  # whether no other worker takes part
        limit: int | None,
        patience: Patience | None,  # for a program that sets no bound itself
        keeper: CheckpointKeeper | None,
        rebalance: RebalanceDecision | None,
        resume: Callable[[Rounds], None] | None,  # called after states have begun, to restore an earlier run
    ):
        self.states, self.analysis = states, recipe.analysis
        self.directed, self.alone, self.limit = directed, alone, limit
        self.several = states[0].partition.parts > 1
        self.whole, self.lazy = states[0].round_options.whole, states[0].round_options.lazy_upload
        self.round, self.done, self.patience = 0, False, patience
        self.agreed = 0  # the last round whose end all workers know
        self.seeded = not self.analysis.synchronous  # the messages of round 1 exist before anything is sent
        self.waiting = 0  # how many vertices of this worker have something to do or to send
        self.proxies = {"in": False, "out": False}  # whether any partition has proxies on this side
        self.globals = GlobalValues(states, recipe)
        self.ahead = LookAhead(states, self.analysis, limit)
        self.log = ReportRows(states)
        self.keeper, self.rebalance, self.resume = keeper, rebalance, resume
        self.overdue = self.keeps = False  # whether a checkpoint is overdue on some worker, and due now on all
        self.better: list[float] = []  # the shares of edges per partition that are now worth moving to
        self.shares: list[float] = []  # the shares to move to before the run continues; empty if edges stay

    # -- stages --------------------------------------------------------------------------------------------------------

    def begin(self) -> Superstep:
        """Exchange degrees and vertex columns if the program reads them; then run `start` and `seed`, or resume."""
        phases, reads_degree = self.analysis.phases, self.analysis.reads("degree", "target_degree")
        copies = any(phase.sends_copies for phase in phases)
        if reads_degree:
            self._each(lambda state: state.count_degrees([phase.along for phase in phases]))
        meets_in_send = self.seeded and self.resume is None  # if not, workers must learn now which proxies exist
        if self.several and (reads_degree or copies or not meets_in_send):
            yield from self.share()
            if reads_degree:
                self._each(lambda state: state.add_degrees())
            if copies:
                self._each(lambda state: state.send_copies())
                yield from self.share()
                self._each(lambda state: state.take_copies())
        self._each(lambda state: state.begin())
        if self.resume is not None:
            self.resume(self)
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
        self._each(lambda state: state.prepare_round(self.phase, self.round + 1))
        self.waiting = self._fire()
        self.count_round(idle=not self.waiting)
        self.fold()
        self.ahead.fired_in(self.round)
        self.log.close(self.round)
        self.done |= self.round == self.limit
        if self.turn_ends and self.analysis.stop is not None and not self.analysis.stop.names_of("global"):
            self.done |= self.globals.stop(self.round)

    def fold(self) -> None:
        """Fold the global values that rounds read over the vertices here; other workers learn of them later."""
        self._fold("fold", self.analysis.globals_each_round)

    def agree(self, wait: bool) -> Superstep:
        """Agree on the global values of this round and on whether it was the last: in a separate exchange if `wait`,
        else along with the next mail."""
        if self.alone:
            self.learn([self.tell()])
        elif wait and not self.done:
            yield from self.share()

    def pause(self) -> Superstep:
        """Do what is due between two rounds."""
        if self.done or not self.is_due():
            return
        if not self.alone:
            yield from self.share()
        if not self.done:
            self.act()

    def finish(self) -> Superstep:
        """Fold and exchange the global values that only results read."""
        if self.shares:
            return
        looks_back = self.analysis.before or self.analysis.globals
        if not self.alone and self.agreed < self.round and self.ahead.counts and looks_back:
            yield from self.share()  # a limit ended the run, perhaps after the round that was the last
        last = self.analysis.phases[(self.round - 1) % len(self.analysis.phases)]
        self._each(lambda state: state.prepare_round(last, self.round))
        names = [name for name in self.analysis.globals if name not in self.analysis.globals_each_round]
        self._fold("conclude", names)
        if self.globals.unshared:  # true for these, or for values of a last round that no worker waited for
            if self.alone:
                self.learn([self.tell()])
            else:
                yield from self.share()

    def count_round(self, idle: bool = False) -> None:
        """Count a completed round towards the limits of a run that may never end. A round was `idle` if it left nothing
        to send here."""
        self.round += 1
        if self.patience is not None:
            self.patience.check(self.round, idle)

    # -- parts of stages, which `LocalRounds` overrides -------------------------------------------------------------

    def _send(self) -> Superstep:
        """Masters send values to their proxies, messages cross the edges, and proxies send what they have gathered to
        their masters."""
        phase = self.phase
        senders, targets = self.sides(phase)
        self._each(lambda state: state.prepare_round(phase, self.round + 1))
        if self.ahead.quiet:
            self._each(lambda state: state.cross(phase))
            return
        self.ahead.look(phase, self.round)
        self._each(lambda state: state.emit(phase))
        tells = bool(phase.broadcast) or not self.analysis.synchronous  # what vertices send, or just that they do
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

    # -- agreement between workers -------------------------------------------------------------------------------------

    @property
    def end_needs_exchange(self) -> bool:
        """Whether only all workers together can tell that a round was the last."""
        stop = self.analysis.stop
        return self.analysis.synchronous if stop is None else bool(stop.names_of("global"))

    def share(self) -> Superstep:
        """Exchange reports with all workers. Afterwards, all mail sent before has arrived."""
        self.log.exchanges += 1
        self.learn((yield self.tell()))

    def tell(self) -> StepReport:
        """The report of this worker to all others. `learn` receives one such report from each worker."""
        return {
            "waiting": self.waiting,
            "changed": sum(int(count) for state in self.states for count in state.changed),
            "folded": self.globals.folded,
            "proxies": {side: any(state.post.has(side) for state in self.states) for side in self.proxies},
            "round": self.round,
            "ahead": self.ahead.tell(),
            "overdue": self.keeper is not None and self.keeper.overdue,
            "load": None if self.rebalance is None else self.rebalance.tell(self.log.rows),
            **{what: sum(state.total[what] for state in self.states) for what in COUNTERS},
        }

    def learn(self, reports: list[StepReport]) -> None:
        """Take in the reports of all workers, in the same order on every worker."""
        self.proxies = {side: any(one["proxies"][side] for one in reports) for side in self.proxies}
        if self.ahead.is_over(self.round, [one["ahead"] for one in reports]):
            self.globals.discard()
        else:
            self.globals.learn([one["folded"] for one in reports])
        if self.agreed < self.round and self.turn_ends:
            unchanged = self.analysis.synchronous and not sum(one["changed"] for one in reports)
            self.done |= self.globals.stop(self.round) if self.analysis.stop is not None else unchanged
            for state in self.states:
                state.changed = []
        self.agreed = self.round
        self.ahead.learn([one["ahead"] for one in reports])
        self.overdue = any(one["overdue"] for one in reports)
        if self.rebalance is not None:
            self.rebalance.loads = [one["load"] for one in reports]
        if not self.analysis.synchronous and not self.seeded and not sum(one["waiting"] for one in reports):
            self.done = True
            self.ahead.end(self)

    # -- between two rounds, when no mail is in transit ----------------------------------------------------------------

    def is_due(self) -> bool:
        """Whether to make a checkpoint or to move edges now; all workers decide the same. Before a checkpoint, wait
        until the last one is written."""
        self.keeps = self.keeper is not None and self.keeper.is_due(self.round, self.overdue)
        if self.keeper is not None and self.keeps:
            self.keeper.wait()
        self.better = []
        if self.rebalance is not None and not self.ahead.quiet:
            self.better = self.rebalance.shares(self.round, self.limit)
        return self.keeps or bool(self.better)

    def act(self) -> None:
        """Make the checkpoint, and end this run if edges are to move. All workers have called `is_due` before."""
        if self.keeper is not None and self.keeps:
            self.keeper.keep(self)
        if self.better:
            self.shares, self.done = self.better, True

    # -- helpers -------------------------------------------------------------------------------------------------------

    @property
    def phase(self) -> PhaseAnalysis:
        """The phase of the next round, or of the one now in progress."""
        return self.analysis.phases[self.round % len(self.analysis.phases)]

    @property
    def turn_ends(self) -> bool:
        """Whether the last round ran the program's last phase."""
        return self.round % len(self.analysis.phases) == 0

    def sides(self, phase: PhaseAnalysis) -> tuple[str, str]:
        """The sides of proxies (see `ProxyMail`) to which masters send, and to which messages are sent. With lazy
        upload, masters send only to proxies that will pass values on."""
        senders, targets = PROXY_SIDES[phase.along if self.directed else "out"]
        return (senders if self.lazy else "any"), targets

    @property
    def buffers_sent(self) -> int:
        """How many buffers the partitions here have sent so far."""
        return sum(state.post.buffers for state in self.states)

    def _any(self, side: str) -> bool:
        return self.proxies[side] if side != "any" else any(self.proxies.values())

    def _fold(self, kernel: str, names: Sequence[str]) -> None:
        parts = self._each(lambda state: state.fold(kernel))
        self.globals.fold(names, [values for part in parts for values in part])

    def _each(self, work: Callable[[PartitionState], T]) -> list[T]:
        return self.log.each(self.states, work)


class LookAhead:
    """Skips exchanges where messages stay within partitions. During an exchange, workers agree on how many such rounds
    follow, and then take these without waiting for each other (GX-Plug's synchronisation skipping, Zou et al. 2022).

    `quiet` is the number of rounds left until the next exchange. If the run ends in one of them, or because what was
    sent in the last one reached no vertex, that is noticed later, and `last` says in which round it ended.
    """

    def __init__(self, states: Sequence[PartitionState], analysis: Analysis, limit: int | None):
        one, self.states, self.limit = states[0], states, limit
        # exchanges can be skipped only if what vertices do depends on their own messages alone
        self.on = one.lists_senders and one.round_options.looks_ahead and one.partition.parts > 1
        self.on &= analysis.stop is None and not analysis.globals_each_round and len(analysis.phases) == 1
        self.counts = one.lists_senders  # whether every vertex with something to do fires
        self.seen = 0  # how many rounds, starting with this one, affect no other worker as far as is known here
        self.agreed = self.quiet = 0  # how many affect no other worker as all know, and how many of these are left
        self.last = 0  # the last round in which a vertex has fired, as far as this worker knows
        self.fired = 0  # how many vertices had fired by then

    def look(self, phase: PhaseAnalysis, round: int) -> None:
        """Count the quiet rounds that this worker sees ahead, before the exchange that follows `round`. The count is at
        most the number of past rounds, so that a run that ends meanwhile wastes little."""
        if self.on and round >= PATIENCE:
            most = round if self.limit is None else min(round, self.limit - round - 1)
            self.seen = min(most, *(self._quiet_rounds(state, phase) for state in self.states))

    def _quiet_rounds(self, state: PartitionState, phase: PhaseAnalysis) -> int:
        senders = state.frontier.senders
        return quiet_rounds(state.edges, phase.along, state.arrays.to_host(senders, len(senders)))

    def tell(self) -> tuple[int, int]:
        return self.seen, self.last

    def learn(self, reports: Sequence[tuple[int, int]]) -> None:
        self.agreed, self.last = min(seen for seen, _ in reports), max(last for _, last in reports)

    def is_over(self, round: int, reports: Sequence[tuple[int, int]]) -> bool:
        """Whether the run ended before this round, in which no vertex fired."""
        return self.counts and 0 < max(last for _, last in reports) < round

    def start(self) -> None:
        """Begin the quiet rounds on which all workers have agreed."""
        self.quiet = self.agreed

    def fired_in(self, round: int) -> None:
        """Count a completed round."""
        self.quiet = max(0, self.quiet - 1)
        if self.quiet:
            self.states[0].post.exchange.check()  # the run may be stopped during thousands of quiet rounds
        fired = sum(state.total["fired"] for state in self.states)
        if fired > self.fired:
            self.fired, self.last = fired, round

    def end(self, rounds: Rounds) -> None:
        """When the run is over, drop the rows of the last rounds if no vertex fired in them, and go back to the states
        before the round that was the last."""
        if self.counts and 0 < self.last < rounds.round:
            for state in self.states:
                state.look_back(self.last)
            rounds.round = rounds.agreed = self.last
            rounds.log.rows = [row for row in rounds.log.rows if row["superstep"] <= self.last]


class ReportRows:
    """The rows of the report: what the partitions of one worker did, and how long it took. `each` measures work on the
    partitions, and `close` turns the measurements into rows."""

    def __init__(self, states: Sequence[PartitionState]):
        self.states = states
        self.rows: list[dict[str, Any]] = []
        self.exchanges = 0  # exchanges since the last row
        self.found_end_in: float | None = None  # seconds from the last work here to the end of an asynchronous run
        self._opened, self._busy = time.perf_counter(), [0.0] * len(states)

    def each(self, items: Sequence[S], work: Callable[[S], T]) -> list[T]:
        """Call `work` with each item, one per partition, and return the results. Time in which a partition waits for
        mail does not count as busy."""
        answers = []
        for i, (state, item) in enumerate(zip(self.states, items, strict=True)):
            begun, waited = time.perf_counter(), state.post.waited
            answers.append(work(item))
            self._busy[i] += time.perf_counter() - begun - (state.post.waited - waited)
        return answers

    def close(self, round: int, more: Sequence[dict[str, Any]] | None = None) -> None:
        """Add a row for each partition, with what it did since the last row, and its columns from `more`."""
        now = time.perf_counter()
        for i, state in enumerate(self.states):
            row = {"superstep": round, "partition": state.partition.index, **state.counted()}
            row |= {"exchanges": self.exchanges, "skipped": state.partition.parts > 1 and not self.exchanges}
            row |= {"busy": self._busy[i], "idle": max(0.0, now - self._opened - self._busy[i])}
            self.rows.append(row | (more[i] if more else {}))
            self._busy[i] = 0.0
        self._opened, self.exchanges = now, 0


class GlobalValues:
    """The global values of a program on one worker: folded over its vertices here, then merged with those of other
    workers. All workers know `values`, which kernels read; `folded` is yet to be shared."""

    def __init__(self, states: Sequence[PartitionState], recipe: Recipe):
        self.states, self.recipe = states, recipe
        self.fields = {name: field for name, (field, _) in recipe.analysis.globals.items()}
        self.values = {name: field.identity for name, field in self.fields.items()}
        self.folded: list[tuple[str, Any]] = []  # what this worker folded since the last exchange
        self.unshared = False  # whether workers have folded values to share; a worker without vertices has none
        self.exact_names = exact_sums(recipe.analysis) if states[0].round_options.deterministic else []

    def fold(self, names: Sequence[str], parts: Sequence[tuple]) -> None:
        """Record what the vertices here fold to. Each of `parts` has a value for each of `names`."""
        self.unshared |= bool(names)
        found = [pair for values in parts for pair in zip(names, values, strict=True)]
        exactly = [name for name in names if name in self.exact_names]
        sums = {name: ExactSum(value for one, value in found if one == name) for name in exactly}
        self.folded += [pair for pair in found if pair[0] not in sums] + list(sums.items())

    def learn(self, told: Sequence[list[tuple[str, Any]]]) -> None:
        """Merge what all workers have folded, in the same order on every worker."""
        if not self.unshared:
            return
        merged: dict[str, Any] = {}
        for name, value in (pair for folded in told for pair in folded):
            merged[name] = self.fields[name].merge.merge(merged[name], value) if name in merged else value
        self.put({name: float(value) if isinstance(value, ExactSum) else value for name, value in merged.items()})

    def discard(self) -> None:
        """Forget what was folded after the end of the run."""
        self.folded, self.unshared = [], False

    def put(self, values: Mapping[str, Any]) -> None:
        """Set values that all workers know, so that none is left to share. Integers wrap around in their type."""
        values = {name: wrap_integer(value, self.fields[name].dtype) for name, value in values.items()}
        self.values |= values
        self.folded, self.unshared = [], False
        for state in self.states:
            state.values |= {field_name(name): value for name, value in values.items()}

    def stop(self, round: int) -> bool:
        """Whether the program's `stop` ends the run after this round."""
        known = {"round": round, "vertices": self.states[0].values["vertices"]}
        return self.recipe.should_stop({**known, **self.recipe.values, **self.values})
