"""The meaning of a program, in plain Python over a list of edges: the oracle of every engine.

A *round* merges the messages to each vertex and applies them. Vertices *fire* in it: in an accumulative program those
that have a message, in a synchronous program all. A message equal to the merge's identity is no message.

    start     every State is what `start` returns, or its field's own start; global values are folded over all vertices
    send      round 1 of an accumulative program: the messages are `seed`'s. Else every *sender* sends along each of its
              edges (`along`: out of it, into it, or both). Accumulative: a vertex that fired in the round before and in
              which a field changed that `send` reads (any field if it reads none). Synchronous: every vertex.
    merge     messages to one vertex merge; without any, the inbox is the identity. It is emptied in the round.
    apply     each firing vertex takes its Deltas back to their start, then the fields that `apply` returns
    fold      each global value anew, over all vertices, fired or not; `x_before` is x before this round's apply
    stop      ends the run, if it returns true. A synchronous program without `stop` ends when no field changes. Both
              are asked when the last phase of a turn is done. An accumulative program ends when nobody has a message.

An engine may leave out a message that is no news: one that, merged into all that came before, changes nothing, where
every merge is idempotent. So it may need one round less.

BSP order puts the round's boundary before send (send, merge, apply); GAS order puts it after (merge, apply, send).
Messages belong to the round in which they are applied: `round`, `random` and global values that `send` reads are the
same in both orders, so a vertex holds the same after its n-th round in both. `start` runs in round 0.

A function that reads or returns vectors runs once a component; what it returns for a scalar
field is that of component 0.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dgraph.errors import OptionError
from dgraph.programs.monoid import Monoid, Neighbourhood
from dgraph.programs.program import Delta, Field, Global, Message, Result, State, VertexColumn, VertexProgram
from dgraph.programs.random_draws import random_word, uniform

EdgePairs = Iterable[tuple[int, int]]


def run(
    program: VertexProgram,
    edges: EdgePairs,
    vertices: int,
    columns: Mapping[str, Sequence] | None = None,
    vertex_columns: Mapping[str, Sequence] | None = None,
    *,
    directed: bool = True,
    order: str = "bsp",
    random_seed: int = 0,
) -> Reference:
    """Run a program over vertices 0 to n-1; `columns` holds a value for each edge."""
    reference = Reference(program, list(edges), vertices, columns or {}, vertex_columns or {}, directed, random_seed)
    if order == "bsp":
        while not reference.done:
            reference.send()
            reference.apply()
    elif order == "gas":
        reference.send()
        while not reference.done:
            reference.apply()
            reference.send()
    else:
        raise OptionError(f'order={order!r}: it is "bsp" or "gas"')
    return reference


class Reference:
    """A run: the states, the inboxes, the global values."""

    def __init__(self, program, edges, vertices, columns, vertex_columns, directed, random_seed):
        self.program, self.vertices, self.random_seed = program, vertices, random_seed
        self.synchronous = program.kind == "synchronous"
        self.columns = vertex_columns
        weights = [{name: values[e] for name, values in columns.items()} for e in range(len(edges))]
        self.along = {"out": [(u, v, w) for (u, v), w in zip(edges, weights, strict=True)]}
        self.along["in"] = [(v, u, w) for u, v, w in self.along["out"]]
        if directed:
            self.along["both"] = self.along["out"] + self.along["in"]
        else:  # each listed edge stands for both directions; a self loop is one
            mirrored = [(v, u, w) for u, v, w in self.along["out"] if u != v]
            self.along = dict.fromkeys(("out", "in", "both"), self.along["out"] + mirrored)
        self.degrees = {name: [0] * vertices for name in self.along}
        for name, edges_along in self.along.items():
            for u, _, _ in edges_along:
                self.degrees[name][u] += 1

        self.states: list[Field] = program.of(State)
        self.rounds, self.done = 0, False
        self.globals: dict[str, Any] = {f.name: self.fill(f, f.identity) for f in program.of(Global)}
        self.state = [{f.name: self.fill(f, f.start) for f in self.states} for _ in range(vertices)]
        self.plain = [f for f in self.states if not isinstance(f, Delta)]
        if "start" in program.functions:
            for v in range(vertices):
                self.state[v].update(self.call(program.functions["start"], self.plain, self.at(v, 0)))
        self.before = [dict(state) for state in self.state]
        self.fold()
        self.senders = list(range(vertices))
        self.changed = False

    @property
    def phase(self):
        """The phase of the next round, or of the round now applied."""
        return self.program.phases[self.rounds % len(self.program.phases)]

    def send(self) -> None:
        """Fill the inboxes of the next round."""
        phase, number = self.phase, self.rounds + 1
        self.inbox: list[dict[Message, list]] = [{m: [] for m in phase.messages} for _ in range(self.vertices)]
        if number == 1 and not self.synchronous:
            for v in range(self.vertices):
                self.deliver(v, self.call(self.program.functions["seed"], phase.messages, self.at(v, number)))
        else:
            sending = set(self.senders)
            reads_target = any(name.startswith("target_") for name in parameters(phase.functions["send"]))
            for u, v, columns in self.along[phase.along]:
                if u in sending:
                    context = {**self.at(u, number), **columns}
                    if reads_target:
                        context |= {f"target_{name}": value for name, value in self.at(v, number).items()}
                    self.deliver(v, self.call(phase.functions["send"], phase.messages, context))
        if not self.synchronous:
            self.done |= not any(values for inbox in self.inbox for values in inbox.values())

    def deliver(self, v: int, message: dict[str, Any]) -> None:
        """Put a message into an inbox; the identity is no message, whatever it would weigh."""
        first = next(iter(self.inbox[v]))
        for field, values in self.inbox[v].items():
            said = field if field.merge.combines else first
            if message[said.name] != self.fill(said, said.identity):
                values.append(message[field.name])

    def merge(self, v: int) -> dict[str, Any]:
        """The merged inbox of a vertex."""
        merged = {field.name: self.fill(field, field.identity) for field in self.inbox[v]}
        for field, values in self.inbox[v].items():
            for value in values:
                if isinstance(field.merge, Monoid):
                    merged[field.name] = _merge(field.merge, merged[field.name], value)
        whole, (values, *weights) = self.phase.messages[0].merge, self.inbox[v].values()
        if isinstance(whole, Neighbourhood) and values:
            found = whole.meaning(values, random_word(self.random_seed, self.rounds + 1, v), *weights)
            merged = dict(zip(merged, found if weights else [found], strict=True))
        return merged

    def apply(self) -> None:
        """Fire: the rest of a round."""
        if self.done:
            return
        phase, fresh = self.phase, {f.name: self.fill(f, f.start) for f in self.states if isinstance(f, Delta)}
        reads = [f.name for f in self.states if f.name in parameters(phase.functions["send"])]
        triggers = reads or [f.name for f in self.states]
        self.senders, self.before = [], [dict(state) for state in self.state]
        for v in range(self.vertices):
            if not self.synchronous and not any(self.inbox[v].values()):
                continue
            context = {**self.at(v, self.rounds + 1), **self.merge(v)}
            after = self.call(phase.functions["apply"], self.states, context)
            if any({**self.state[v], **fresh}[name] != after[name] for name in triggers):
                self.senders.append(v)
            self.changed |= any(_differs(self.state[v][name], after[name]) for name in after)
            self.state[v] = after
        if self.synchronous:
            self.senders = list(range(self.vertices))
        self.rounds += 1
        self.fold()
        if self.rounds % len(self.program.phases) == 0:
            if "stop" in self.program.functions:
                known = {"round": self.rounds, "vertices": self.vertices}
                context = {**known, **self.program.values, **self.globals}
                stop = self.program.functions["stop"]
                vector = any(hasattr(context[name], "__len__") for name in parameters(stop))
                self.done = all(_call(stop, context, c) for c in range(self.program.vector_length if vector else 1))
            elif self.synchronous:
                self.done = not self.changed
            self.changed = False

    def fold(self) -> None:
        """Compute each global value."""
        folded = {}
        for field in self.program.of(Global):
            folded[field.name] = self.fill(field, field.identity)
            for v in range(self.vertices):
                before = {f"{name}_before": value for name, value in self.before[v].items()}
                value = self.call(field.function, [field], {**before, **self.at(v, self.rounds)}, every=True)
                for one in [value[field.name]] if field.shape is not None else value[field.name]:
                    folded[field.name] = _merge(field.merge, folded[field.name], one)
        self.globals = folded

    def results(self) -> dict[str, list]:
        """The columns of the answer."""
        fields = self.program.of(Result)
        if not fields:
            return {f.name: [state[f.name] for state in self.state] for f in self.plain}
        befores = ({f"{name}_before": value for name, value in before.items()} for before in self.before)
        rows = [{**before, **self.at(v, self.rounds)} for v, before in enumerate(befores)]
        return {f.name: [self.call(f.function, [f], row, vectors=True)[f.name] for row in rows] for f in fields}

    def at(self, v: int, number: int) -> dict[str, Any]:
        """All that a function may read at a vertex."""
        program = self.program
        given = self.columns
        columns = {f.name: given.get(f.name, {v: self.fill(f, f.missing)})[v] for f in program.of(VertexColumn)}
        builtins: dict[str, Any] = {"id": v, "degree": self.degrees[self.phase_along(number)][v], "round": number}
        builtins.update(vertices=self.vertices, random=lambda c: uniform(self.random_seed, number, v, c))
        return {**builtins, **program.values, **columns, **self.globals, **self.state[v]}

    def phase_along(self, number: int) -> str:
        """Along which edges the messages of a round travel."""
        return self.program.phases[max(number - 1, 0) % len(self.program.phases)].along

    def fill(self, field: Field, value: Any) -> Any:
        """A value for a field: as often as the program's vectors are long, if it is a vector."""
        return (value,) * self.program.vector_length if field.shape is not None else value

    def call(
        self, function: Callable, fields, context, *, every: bool = False, vectors: bool = False
    ) -> dict[str, Any]:
        """What a function returns, for each of the fields; once a component where it reads vectors."""
        names = parameters(function)
        context = {"component": None, **context}
        vector = any(
            hasattr(context[n], "__len__") or (context[n] is None and self.program.vector_length) for n in names
        )
        vector |= not every and any(field.shape is not None for field in fields)
        answers = []
        for c in range(self.program.vector_length if vector else 1):
            answer = _call(function, context, c)
            answers.append(answer if isinstance(answer, tuple) else (answer,))
        returned = {}
        for i, field in enumerate(fields):
            cast = [field.dtype.type(answer[i]).item() for answer in answers]
            if not vector and field.shape is not None:
                cast = cast * self.program.vector_length
            as_vector = every or field.shape is not None or (vectors and vector)
            returned[field.name] = tuple(cast) if as_vector else cast[0]
        return returned


@functools.lru_cache(maxsize=1024)
def parameters(function: Callable) -> tuple[str, ...]:
    """What a function reads."""
    return tuple(inspect.signature(function).parameters)


class Component(float):
    """One component of a vector, and the whole of it for `dot`."""

    def __new__(cls, whole: Sequence, c: int) -> Component:
        component = super().__new__(cls, whole[c])
        component.whole = whole  # type: ignore[attr-defined]
        return component


def _call(function: Callable, context: Mapping[str, Any], c: int = 0) -> Any:
    arguments = []
    for name in parameters(function):
        value = context[name]
        if callable(value):  # `random`, undeclared
            value = value(c)
        if value is None:  # `component`, undeclared
            value = c
        arguments.append(Component(value, c) if hasattr(value, "__len__") else value)
    return function(*arguments)


def _differs(a: Any, b: Any) -> bool:
    """Whether a field has changed: what is no number stays so."""
    if isinstance(a, tuple):
        return any(_differs(x, y) for x, y in zip(a, b, strict=True))
    return a != b and (a == a or b == b)


def _merge(monoid: Monoid, a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(monoid.merge(x, y) for x, y in zip(a, b, strict=True))
    return monoid.merge(a, b)
