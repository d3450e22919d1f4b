"""The meaning of a program, in plain Python over a list of edges. Every engine is tested against it.

A *round* merges the messages to each vertex and applies them. Vertices *fire* in it: in an accumulative program those
with a message, in a synchronous program all. A message equal to the merge's identity counts as no message.

    start     every State is set to what `start` returns, or to its field's start; global values are folded over all
              vertices
    send      in round 1 of an accumulative program, `seed` returns the messages. Otherwise every *sender* sends along
              its edges (`along`: out of it, into it, or both). In an accumulative program, senders are vertices that
              fired in the last round and changed a field that `send` reads (any field if it reads none); in a
              synchronous program, all vertices
    merge     messages to one vertex merge; without messages, its inbox holds the identity. The inbox is emptied in the
              round
    apply     in each firing vertex, Deltas are reset to their start, then fields take the values that `apply` returns
    fold      each global value is folded again over all vertices, fired or not; `x_before` is x before this `apply`
    stop      ends the run if it returns True. A synchronous program without `stop` ends when no field changes. Both are
              checked after the last phase. An accumulative program ends when no vertex has a message

If every merge is idempotent, an engine may skip messages that would not change what has been merged before, and so may
need one round less. `law_trials.py` refuses programs for which that makes a difference.

BSP order puts the boundary of rounds before send (send, merge, apply); GAS order puts it after (merge, apply, send).
Messages belong to the round in which they are applied: `round`, random draws and the global values that `send` reads
are the same in both orders, and so is the state of a vertex after the n-th round. `start` runs in round 0.

`vertex_random` is drawn for each round and vertex. In `send`, `random` is drawn for each round and each edge along
which a vertex sends; in other functions it equals `vertex_random`.

A function that returns vectors, or reads them other than in `dot` and `total`, runs once per component; scalar fields
take the value of component 0.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dgraph.arguments import wrap_integer
from dgraph.errors import OptionError, RunError
from dgraph.programs.functions import read_function
from dgraph.programs.monoid import Monoid, Neighbourhood
from dgraph.programs.program import Delta, Field, Global, Message, Result, State, VertexColumn, VertexProgram
from dgraph.programs.random_draws import encode_ordinal, random_word, uniform, uniform_of_edge, word_of_round
from dgraph.programs.syntax import component_of_vector

EdgePairs = Iterable[tuple[int, int]]

TOLERANCE = 1e-9  # the difference up to which floats count as equal


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
    max_rounds: int = 100_000,
) -> Reference:
    """Run a program in plain Python on vertices 0 to n - 1.

    This is slow, but it defines what a program means: every engine returns the same values.

    Parameters
    ----------
    program : VertexProgram
        The program. Parameters of type `vertex` must be given as vertex numbers.
    edges : iterable of (int, int)
        The two ends of each edge.
    vertices : int
        The number of vertices.
    columns : mapping, optional
        Edge columns: ``{name: values}``, with a value for each edge.
    vertex_columns : mapping, optional
        Vertex columns: ``{name: values}``, with a value for each vertex.
    directed : bool, default True
        If False, each edge represents both directions; a self loop still counts once.
    order : {"bsp", "gas"}, default "bsp"
        Whether each round begins with `send` (``"bsp"``) or with `apply` (``"gas"``). The results are the same.
    random_seed : int, default 0
        Seed of the random number generator. Draws depend only on this seed, the round, and the vertex or edge.
    max_rounds : int, default 100,000
        A run that takes more rounds ends with an error.

    Returns
    -------
    Reference
        The run after its last round: ``results()`` returns the columns, and ``rounds`` the number of rounds.

    Raises
    ------
    OptionError
        If `order` is not a recognised value.
    RunError
        If the program has not ended after `max_rounds` rounds.

    Examples
    --------
    >>> class Hops(dg.VertexProgram):
    ...     hops = dg.State(float, start=np.inf)
    ...     source = dg.Parameter(dg.vertex)
    ...     merge = dg.MIN
    ...     def seed(id, source):
    ...         return 0.0 if id == source else float("inf")
    ...     def send(hops):
    ...         return hops + 1
    ...     def apply(hops, message):
    ...         return min(hops, message)
    >>> plain = dg.reference.run(Hops(source=0), [(0, 1), (1, 2)], 3)
    >>> plain.results(), plain.rounds
    ({'hops': [0.0, 1.0, 2.0]}, 3)
    """
    reference = Reference(program, list(edges), vertices, columns or {}, vertex_columns or {}, directed, random_seed)
    if order not in ("bsp", "gas"):
        raise OptionError(f'order={order!r} must be "bsp" or "gas"')
    if order == "gas":
        reference.send()
    while not reference.done:
        if reference.rounds >= max_rounds:
            title = type(program).__name__
            raise RunError(f"{title} has not ended after {max_rounds:,} rounds (set max_rounds=, or give it a `stop`)")
        for step in (reference.send, reference.apply)[:: 1 if order == "bsp" else -1]:
            step()
    return reference


class Reference:
    """A run of a program in plain Python: its states, inboxes and global values.

    Returned by `run`.

    Attributes
    ----------
    rounds : int
        The number of rounds so far.
    done : bool
        Whether the run has ended.
    state : list of dict
        The fields of each vertex.
    globals : dict
        The global values.
    """

    def __init__(self, program, edges, vertices, columns, vertex_columns, directed, random_seed):
        self.program, self.vertices, self.random_seed = program, vertices, random_seed
        self.synchronous = program.kind == "synchronous"
        self.columns = {name: _plain(values) for name, values in vertex_columns.items()}
        columns = {name: _plain(values) for name, values in columns.items()}
        self.vertex_columns, self.global_fields = program.of(VertexColumn), program.of(Global)
        weights = [{name: values[e] for name, values in columns.items()} for e in range(len(edges))]
        arcs = [(u, v, w) for (u, v), w in zip(edges, weights, strict=True)]
        if not directed:  # each listed edge stands for both directions, but a self loop only for one
            arcs += [(v, u, w) for u, v, w in arcs if u != v]
        numbered = list(zip(arcs, self.places(arcs), strict=True))
        out = [(u, v, w, encode_ordinal(place, False)) for (u, v, w), place in numbered]
        back = [(v, u, w, encode_ordinal(place, True)) for (u, v, w), place in numbered]
        self.along = {"out": out, "in": back, "both": out + back}
        if not directed:
            self.along = dict.fromkeys(self.along, out)
        self.degrees = {name: [0] * vertices for name in self.along}
        for name, edges_along in self.along.items():
            for u, *_ in edges_along:
                self.degrees[name][u] += 1

        self.states: list[Field] = program.of(State)
        self.rounds, self.done = 0, False
        self.globals: dict[str, Any] = {f.name: self.fill(f, f.identity) for f in program.of(Global)}
        self.state = [{f.name: self.fill(f, f.start) for f in self.states} for _ in range(vertices)]
        self.plain = [f for f in self.states if not isinstance(f, Delta)]
        if "start" in program.functions:
            for v in range(vertices):
                self.state[v].update(self.call(program.functions["start"], self.plain, self.values_at(v, 0)))
        self.before = [dict(state) for state in self.state]
        self.fold()
        self.senders = list(range(vertices))
        self.changed = False

    def places(self, arcs: list[tuple[int, int, dict]]) -> list[int]:
        """The place of each edge among the edges with the same ends, in ascending order of the columns that `send`
        reads. The order of equal edges does not matter."""
        reads = dict.fromkeys(name for phase in self.program.phases for name in parameters(phase.functions["send"]))

        def rank(i: int) -> tuple:
            u, v, columns = arcs[i]
            values = [columns[name] for name in reads if name in columns]
            return u, v, [(value != value, 0 if value != value else value) for value in values]  # NaN sorts last

        places, found = [0] * len(arcs), Counter[tuple[int, int]]()
        for i in sorted(range(len(arcs)), key=rank):
            places[i] = found[arcs[i][:2]]
            found[arcs[i][:2]] += 1
        return places

    @property
    def phase(self):
        """The phase of the next round, or of the round that is being applied."""
        return self.program.phases[self.rounds % len(self.program.phases)]

    def send(self, to: int | None = None) -> None:
        """Fill the inboxes of the next round, or only the inbox of vertex `to`."""
        phase, number = self.phase, self.rounds + 1
        self.inbox: list[dict[Message, list]] = [{m: [] for m in phase.messages} for _ in range(self.vertices)]
        if number == 1 and not self.synchronous:
            for v in range(self.vertices):
                self.deliver(v, self.call(self.program.functions["seed"], phase.messages, self.values_at(v, number)))
        else:
            sending, word = set(self.senders), self.word(number)
            reads_target = any(name.startswith("target_") for name in parameters(phase.functions["send"]))
            for u, v, columns, ordinal in self.along[phase.along]:
                if u in sending and to in (None, v):
                    context = {**self.values_at(u, number), **columns}
                    if "random" not in self.program.fields:
                        context["random"] = partial(uniform_of_edge, word, u, v, ordinal)
                    if reads_target:
                        context |= {f"target_{name}": value for name, value in self.values_at(v, number).items()}
                    self.deliver(v, self.call(phase.functions["send"], phase.messages, context))
        if not self.synchronous:
            self.done |= not any(values for inbox in self.inbox for values in inbox.values())

    def deliver(self, v: int, message: dict[str, Any]) -> None:
        """Put a message into an inbox. The identity does not count as a message, whatever its weight."""
        first = next(iter(self.inbox[v]))
        for field, values in self.inbox[v].items():
            value = field if field.merge.combines else first
            if message[value.name] != self.fill(value, value.identity):
                values.append(message[field.name])

    def merge(self, v: int) -> dict[str, Any]:
        """The merged inbox of a vertex."""
        merged = {field.name: self.fill(field, field.identity) for field in self.inbox[v]}
        for field, values in self.inbox[v].items():
            for value in values:
                if isinstance(field.merge, Monoid):
                    merged[field.name] = merge_values(field, merged[field.name], value)
        whole, (values, *weights) = self.phase.messages[0].merge, self.inbox[v].values()
        if isinstance(whole, Neighbourhood) and values:
            result = whole.meaning(values, random_word(self.word(self.rounds + 1), v), *weights)
            merged = dict(zip(merged, result if weights else [result], strict=True))
        return merged

    def apply(self) -> None:
        """Apply the messages, which is the rest of a round."""
        if self.done:
            return
        phase, fresh = self.phase, {f.name: self.fill(f, f.start) for f in self.states if isinstance(f, Delta)}
        reads = [f.name for f in self.states if f.name in parameters(phase.functions["send"])]
        triggers = reads or [f.name for f in self.states]
        self.senders, self.before = [], [dict(state) for state in self.state]
        for v in range(self.vertices):
            if not self.synchronous and not any(self.inbox[v].values()):
                continue
            context = {**self.values_at(v, self.rounds + 1), **self.merge(v)}
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
        """Fold each global value over all vertices."""
        folded = {}
        for field in self.global_fields:
            folded[field.name] = self.fill(field, field.identity)
            for v in range(self.vertices):
                before = {f"{name}_before": value for name, value in self.before[v].items()}
                value = self.call(field.function, [field], {**before, **self.values_at(v, self.rounds)}, every=True)
                for one in [value[field.name]] if field.shape is not None else value[field.name]:
                    folded[field.name] = merge_values(field, folded[field.name], one)
        self.globals = folded

    def word(self, number: int) -> int:
        """The random bits of a round."""
        return word_of_round(self.random_seed, number)

    def draw(self, number: int, v: int, component: int) -> float:
        """The random number of a vertex in a round."""
        return uniform(self.word(number), v, component)

    def results(self) -> dict[str, list]:
        """The columns of the result.

        Returns
        -------
        dict of list
            For each column, a value per vertex.

        Examples
        --------
        >>> class Hops(dg.VertexProgram):
        ...     hops = dg.State(float, start=np.inf)
        ...     source = dg.Parameter(dg.vertex)
        ...     merge = dg.MIN
        ...     def seed(id, source):
        ...         return 0.0 if id == source else float("inf")
        ...     def send(hops):
        ...         return hops + 1
        ...     def apply(hops, message):
        ...         return min(hops, message)
        >>> dg.reference.run(Hops(source=1), [(0, 1), (1, 2)], 3).results()
        {'hops': [inf, 0.0, 1.0]}
        """
        fields = self.program.of(Result)
        if not fields:
            return {f.name: [state[f.name] for state in self.state] for f in self.plain}
        befores = ({f"{name}_before": value for name, value in before.items()} for before in self.before)
        rows = [{**before, **self.values_at(v, self.rounds)} for v, before in enumerate(befores)]
        return {f.name: [self.call(f.function, [f], row, vectors=True)[f.name] for row in rows] for f in fields}

    def values_at(self, v: int, number: int) -> dict[str, Any]:
        """All values that a function may read at a vertex."""
        program = self.program
        columns = {f.name: self.columns.get(f.name, {v: self.fill(f, f.missing)})[v] for f in self.vertex_columns}
        phase = program.phases[max(number - 1, 0) % len(program.phases)]
        builtins: dict[str, Any] = {"id": v, "degree": self.degrees[phase.along][v], "round": number}
        draw = partial(self.draw, number, v)
        builtins.update(vertices=self.vertices, random=draw, vertex_random=draw)
        return {**builtins, **program.values, **columns, **self.globals, **self.state[v]}

    def fill(self, field: Field, value: Any) -> Any:
        """A value for a field, repeated for each component if the field is a vector."""
        return (value,) * self.program.vector_length if field.shape is not None else value

    def call(
        self, function: Callable, fields, context, *, every: bool = False, vectors: bool = False
    ) -> dict[str, Any]:
        """What a function returns for each of the fields. The function runs once per component if it reads vectors."""
        if not self.program.vector_length:
            answer = _call(function, context)
            values = answer if isinstance(answer, tuple) else (answer,)
            cast = [stored(field.dtype, one) for field, one in zip(fields, values, strict=True)]
            return {field.name: (one,) if every else one for field, one in zip(fields, cast, strict=True)}
        names = parameters(function)
        context = {"component": None, **context}
        summed = read_function(function, function.__name__).only_summed
        vector = any(
            (hasattr(context[n], "__len__") and n not in summed) or (context[n] is None and self.program.vector_length)
            for n in names
        )
        vector |= any(field.shape is not None for field in fields)
        answers = []
        for c in range(self.program.vector_length if vector else 1):
            answer = _call(function, context, c)
            answers.append(answer if isinstance(answer, tuple) else (answer,))
        returned = {}
        for i, field in enumerate(fields):
            cast = [stored(field.dtype, answer[i]) for answer in answers]
            if not vector and field.shape is not None:
                cast = cast * self.program.vector_length
            as_vector = every or field.shape is not None or (vectors and vector)
            returned[field.name] = tuple(cast) if as_vector else cast[0]
        return returned


def _plain(values: Any) -> Any:
    """A column with Python's numbers."""
    return values.tolist() if hasattr(values, "tolist") else values


def stored(dtype: Any, value: Any) -> Any:
    """A value as stored in a field of a dtype. Integers wrap around, as they do in kernels."""
    if dtype.kind == "u":
        value = int(value)
    if dtype.kind not in "iu" or not isinstance(value, int | np.integer):
        return dtype.type(value).item()
    return wrap_integer(value, dtype)


@functools.lru_cache(maxsize=1024)
def parameters(function: Callable) -> tuple[str, ...]:
    """The names of a function's parameters."""
    return tuple(inspect.signature(function).parameters)


def _call(function: Callable, context: Mapping[str, Any], c: int = 0) -> Any:
    arguments = []
    for name in parameters(function):
        value: Any = context.get(name) if name == "component" else context[name]
        if value is None:  # `component` is built in, unless a field is called so
            value = c
        if callable(value):  # `random` and `vertex_random` are built in
            value = value(c)
        arguments.append(component_of_vector(_plain(value), c) if hasattr(value, "__len__") else value)
    return function(*arguments)


def _differs(a: Any, b: Any) -> bool:
    """Whether a field has changed. NaN equals NaN."""
    if isinstance(a, tuple):
        return any(_differs(x, y) for x, y in zip(a, b, strict=True))
    return a != b and (a == a or b == b)


def merge_values(field: Message | Global, a: Any, b: Any) -> Any:
    """Merge two scalars or, component by component, two vectors. Integers wrap around, as they do in kernels."""
    if isinstance(a, tuple):
        return tuple(merge_values(field, x, y) for x, y in zip(a, b, strict=True))
    value = field.merge.merge(a, b)  # type: ignore[union-attr]
    return stored(field.dtype, value) if field.dtype.kind in "iu" else value


def merged(fields: Mapping[str, Message], a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    """Two messages merged into one."""
    return {name: merge_values(field, a[name], b[name]) for name, field in fields.items()}


def same(a: Any, b: Any, tolerance: float = TOLERANCE) -> bool:
    """Whether two values are equal, floats within a tolerance."""
    if isinstance(a, Mapping):
        return all(same(a[name], b[name], tolerance) for name in a)
    if isinstance(a, tuple):
        return all(same(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) or isinstance(b, float):
        return a == b or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
    return a == b
