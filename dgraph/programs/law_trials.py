"""Tests the laws of an accumulative program on messages that it really sends, on small graphs in random order.

`laws.py` states the laws, and tests them on arbitrary messages. A user's program may rely on properties of its
messages (for example, that a vertex hears of each neighbour only once), so here the messages come from runs. Whenever a
vertex fires, it must not matter whether it fires on all its messages at once or in turn.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.errors import ProgramError
from dgraph.programs.program import Delta, Parameter, VertexColumn, VertexProgram
from dgraph.programs.reference import Reference, merged, parameters, same

if TYPE_CHECKING:
    from dgraph.programs.analysis import Analysis

EDGES = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4), (0, 4)]  # several paths lead to most vertices ...
BACK_EDGES = [(4, 1), (3, 0), (2, 2)]  # ... and these edges close cycles
# A graph with small degrees, whose edges lead from large numbers to small ones.
SPARSE_EDGES = [(7, 5), (6, 5), (5, 4), (7, 4), (4, 3), (2, 3), (3, 1), (7, 1), (1, 0)]
VERTICES = 5  # the number of vertices of the graphs that are not sparse
TESTED_CUTS = 2  # how many ways to divide the messages of one firing are tested
MOST_FIRINGS = 30  # the limit of each run, which is enough to judge an endless program
MOST_ROUNDS = 8  # the same for a run in rounds
SLACK = 0.01  # how much a threshold in `send` may hold back, as a share of the largest float

NamedValues = dict[str, Any]


def try_laws(program: VertexProgram, analysis: Analysis) -> None:
    """Raise a ProgramError if a firing of an accumulative program breaks a law."""
    if analysis.in_any_order and (broken := counter_example(program, analysis)):
        raise ProgramError(
            f"{program.title}: {broken}: answers would depend on the engine. Change `apply` or `send` (a Delta holds "
            'what a firing adds), set kind = "synchronous", or pass check_laws=False if such values cannot occur'
        )
    in_rounds = not analysis.synchronous and not analysis.in_any_order
    if in_rounds and analysis.phases[0].idempotent and (broken := _first_violation(program, analysis, _repetition)):
        raise ProgramError(
            f"{program.title}: {broken}: engines do not fire a vertex on a message that changes nothing in what it has "
            f"merged so far, because {analysis.phases[0].messages[0].merge} is idempotent. Have `apply` change nothing "
            'for such a message, set kind = "synchronous", or pass check_laws=False if such values cannot occur'
        )


def counter_example(program: VertexProgram, analysis: Analysis) -> str:
    """A description of messages for which a firing breaks a law; "" if none are found."""
    return _first_violation(program, analysis, lambda *given: LawTrial(*given).run())


def _first_violation(program: VertexProgram, analysis: Analysis, trial: Callable[..., str]) -> str:
    """The first violation that a trial finds on small graphs; "" if there is none. A run that fails in plain Python,
    which raises where kernels do not (1 / 0), is inconclusive."""
    rng = random.Random(0)
    for edges in (EDGES, EDGES + BACK_EDGES, EDGES, SPARSE_EDGES, SPARSE_EDGES, EDGES + BACK_EDGES, EDGES):
        try:
            with np.errstate(all="ignore"):
                broken = trial(program, analysis, edges, rng)
        except (ArithmeticError, ValueError, TypeError, LookupError):
            continue
        if broken:
            return broken
    return ""


def _repetition(program: VertexProgram, analysis: Analysis, edges: list, rng: random.Random) -> str:
    """Run in rounds, and describe a firing that differs from one on everything that the vertex has merged so far, or
    that changes something although nothing in it is new."""
    run = reference_for(on_small_graph(program, edges[0][0]), analysis, edges, rng)
    phase, fresh = run.phase, {one.name: run.fill(one, one.start) for one in program.of(Delta)}
    fields = {message.name: message for message in phase.messages}
    heard: list[NamedValues] = [{m.name: run.fill(m, m.identity) for m in phase.messages}] * run.vertices

    def fired(v: int, message: NamedValues) -> NamedValues:
        return run.call(phase.functions["apply"], run.states, {**run.values_at(v, run.rounds + 1), **message})

    while not run.done and run.rounds < MOST_ROUNDS:
        run.send()
        for v in [v for v, inbox in enumerate(run.inbox) if any(inbox.values())]:
            message = run.merge(v)
            known = merged(fields, heard[v], message)
            after = fired(v, message)
            expected = {**run.state[v], **fresh} if known == heard[v] else fired(v, known)
            if not all(same(after[name], expected[name]) or after[name] != after[name] for name in after):
                return (
                    f"where a vertex holds {_format_values(run.state[v])} and has merged {_format_values(heard[v])}, "
                    f"firing on {_format_values(message)} leaves {_format_values(after)} instead of "
                    f"{_format_values(expected)}"
                )
            heard[v] = known
        run.apply()
    return ""


class LawTrial:
    """One run in random order."""

    def __init__(self, program: VertexProgram, analysis: Analysis, edges: list, rng: random.Random):
        self.rng, self.phase = rng, program.phases[0]
        self.program = on_small_graph(program, edges[0][0])
        self.reference = reference_for(self.program, analysis, edges, rng)
        self.fields = {message.name: message for message in self.phase.messages}
        self.silent = {m.name: self.reference.fill(m, m.identity) for m in self.phase.messages}
        self.fresh = {one.name: self.reference.fill(one, one.start) for one in program.of(Delta)}
        self.triggers = analysis.phases[0].triggers
        self.idempotent = analysis.phases[0].idempotent
        self.adds = any(not m.merge.idempotent and m.dtype.kind == "f" for m in self.phase.messages)
        self.out: list[list[tuple[int, Mapping]]] = [[] for _ in range(self.reference.vertices)]
        for u, v, values, _ in self.reference.along[str(self.phase.along)]:
            self.out[u].append((v, values))
        self.fixed = [self.reference.values_at(v, 1) for v in range(self.reference.vertices)]
        self.largest = 0.0

    def run(self) -> str:
        """Seed, then fire vertices in random order, each on all messages that it has received. Returns the first
        violation of a law, or ""."""
        seed, fields = self.program.functions["seed"], self.phase.messages
        waiting = [[self.reference.call(seed, fields, context)] for context in self.fixed]
        state = self.reference.state
        for _ in range(MOST_FIRINGS):
            ready = [v for v in range(len(waiting)) if self._merge_messages(waiting[v]) != self.silent]
            if not ready:
                break
            v = self.rng.choice(ready)
            messages, waiting[v] = waiting[v], []
            self.rng.shuffle(messages)
            before, whole = state[v], self._merge_messages(messages)
            state[v], sent = self._fire(v, before, whole)
            if broken := self._silence_violation(v, state[v]) or self._grouping_violation(
                v, before, messages, state[v], sent
            ):
                return broken
            for (target, _), message in zip(self.out[v], sent, strict=True):
                waiting[target].append(message)
        return ""

    def _grouping_violation(
        self, v: int, before: NamedValues, messages: list[NamedValues], after: NamedValues, sent: list[NamedValues]
    ) -> str:
        """Describe how firing on messages in turn differs from firing on them at once, which results in the state
        `after` and sends `sent`; "" if it does not differ."""
        for first, second in self._split_messages(messages):
            between, sent_first = self._fire(v, before, first)
            in_turn, sent_second = self._fire(v, between, second)
            both = [merged(self.fields, a, b) for a, b in zip(sent_first, sent_second, strict=True)]
            held, left, expected = map(self._without_deltas, (before, in_turn, after))
            if not (self._same(left, expected) and all(map(self._same, both, sent))):
                return (
                    f"where a vertex holds {_format_values(held)}, firing on {_format_values(first)} and then on "
                    f"{_format_values(second)} leaves {_format_values(left)} and sends {_format_sent(both)}, but "
                    f"firing on both at once leaves {_format_values(expected)} and sends {_format_sent(sent)}"
                )
        return ""

    def _split_messages(self, messages: list[NamedValues]) -> Iterator[tuple[NamedValues, NamedValues]]:
        """Splits of the messages into two parts that are not silent, in both orders; if repetition must not matter,
        also the same messages twice."""
        for cut in self.rng.sample(range(1, len(messages)), min(TESTED_CUTS, len(messages) - 1)):
            parts = self._merge_messages(messages[:cut]), self._merge_messages(messages[cut:])
            if self.silent not in parts:
                yield parts
                yield parts[::-1]
        if self.idempotent:
            yield (whole := self._merge_messages(messages)), whole

    def _silence_violation(self, v: int, before: NamedValues) -> str:
        """Describe what firing on the identity of the merge changes; "" if it changes nothing."""
        try:
            after = self._apply(v, before, self.silent)
        except (ArithmeticError, ValueError):  # for example, a program that divides by its message
            return ""
        fresh = {name: after[name] for name in self.fresh}
        held = self._without_deltas(before)
        if same(held, self._without_deltas(after)) and same(fresh, self.fresh):
            return ""
        return (
            f"a message equal to the merge's identity must change nothing, but {_format_values(held)} became "
            f"{_format_values(after)}"
        )

    # -- one vertex ----------------------------------------------------------------------------------------------------

    def _fire(self, v: int, before: NamedValues, message: NamedValues) -> tuple[NamedValues, list[NamedValues]]:
        """The state after a firing, and what the vertex sends along each edge."""
        after = self._apply(v, before, message)
        reset = {**before, **self.fresh}
        if all(reset[name] == after[name] for name in self.triggers):
            return after, [self.silent] * len(self.out[v])
        sender, send, call = {**self.fixed[v], **after}, self.phase.functions["send"], self.reference.call
        if any(name.startswith("target_") for name in parameters(send)):
            targets = [{f"target_{name}": one for name, one in self.fixed[target].items()} for target, _ in self.out[v]]
        else:
            targets = [{}] * len(self.out[v])
        pairs = zip(self.out[v], targets, strict=True)
        sent = [call(send, self.phase.messages, {**sender, **edge, **target}) for (_, edge), target in pairs]
        for value in itertools.chain(after.values(), *(one.values() for one in sent)):
            if isinstance(value, float) and self.largest < abs(value) < math.inf:
                self.largest = abs(value)
        return after, sent

    def _apply(self, v: int, before: NamedValues, message: NamedValues) -> NamedValues:
        context = {**self.fixed[v], **before, **message}
        return self.reference.call(self.phase.functions["apply"], self.reference.states, context)

    def _merge_messages(self, messages: list[NamedValues]) -> NamedValues:
        return reduce(partial(merged, self.fields), messages, self.silent)

    def _without_deltas(self, state: NamedValues) -> NamedValues:
        """A state without Deltas, which are reset before every firing."""
        return {name: value for name, value in state.items() if name not in self.fresh}

    def _same(self, a: Any, b: Any) -> bool:
        """Whether values agree: sums of floats up to what a threshold may hold back, all others up to rounding."""
        if isinstance(a, Mapping):
            return all(self._same(a[name], b[name]) for name in a)
        if isinstance(a, tuple):
            return all(map(self._same, a, b))
        if self.adds and isinstance(a, float) and abs(a - b) <= SLACK * self.largest:
            return True
        return same(a, b) or (a != a and b != b)


def reference_for(program: VertexProgram, analysis: Analysis, edges: list, rng: random.Random) -> Reference:
    """A run of a program on a small graph, with small values in its columns."""

    def value(column: VertexColumn) -> Any:
        most = VERTICES if column.is_vertex else 2 if column.dtype.kind == "b" else 4
        values = [column.dtype.type(rng.randrange(most)).item() for _ in range(program.vector_length or 1)]
        return values[0] if column.shape is None else tuple(values)

    columns = {
        str(one.name): [one.dtype.type(rng.randrange(1, 4)).item() for _ in edges] for one in analysis.edge_columns
    }
    vertices = 1 + max(map(max, edges))
    by_vertex = {one.name: [value(one) for _ in range(vertices)] for one in program.of(VertexColumn)}
    return Reference(program, edges, vertices, columns, by_vertex, True, 0)


def on_small_graph(program: VertexProgram, vertex: int = 0) -> VertexProgram:
    """The program with its vertex parameters set to a vertex of the small graph, and vectors of them to several."""
    ours = copy(program)
    ours.values = dict(program.values)
    for one in program.of(Parameter):
        if one.is_vertex:
            value = program.values[one.name]
            ours.values[one.name] = np.arange(len(value)) % VERTICES if one.shape is not None else vertex
    return ours


def _format_values(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items()) or "nothing"


def _format_sent(sent: list[NamedValues]) -> str:
    """The messages sent, only once if they are the same along all edges."""
    texts = list(dict.fromkeys(_format_values(one) for one in sent))
    return " and ".join(texts) or "nothing"
