"""The laws that every merge and every accumulative program must obey, so that results do not depend on the engine.

Each function raises a ProgramError with values for which its law fails. Floats are compared with a tolerance.

    merge      merge(a, b) = merge(b, a); merge(a, merge(b, c)) = merge(merge(a, b), c); merge(a, identity) = a
    silence    firing on the identity changes nothing and sends nothing
    grouping   firing on two messages in turn gives the same state, and sends the same, as firing on both at once
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dgraph.errors import ProgramError
from dgraph.programs.analysis import analyse
from dgraph.programs.monoid import Monoid, Neighbourhood
from dgraph.programs.program import Delta, Field, Global, Message, VertexProgram
from dgraph.programs.reference import TOLERANCE, Reference, merged, same


def check_merge(merge: Monoid | Neighbourhood, a: Any, b: Any, c: Any, identity: Any = None) -> None:
    """Check the merge law for three values.

    A merge of whole neighbourhoods must not depend on the order of the values.

    Parameters
    ----------
    merge : Monoid or Neighbourhood
        The merge to check.
    a, b, c : scalar
        Three values.
    identity : scalar, optional
        The identity of the merge; by default that of the type of `a`.

    Raises
    ------
    ProgramError
        If the law fails for these values.

    Examples
    --------
    >>> dg.laws.check_merge(dg.MIN, 3.0, 1.0, 2.0)
    >>> minus = dg.Monoid("MINUS", lambda a, b: a - b, lambda dtype: 0)
    >>> dg.laws.check_merge(minus, 3, 1, 2)
    Traceback (most recent call last):
        ...
    dgraph.errors.ProgramError: MINUS is not a commutative monoid: merge(3, 1) is not merge(1, 3): 2 and -2
    """
    if isinstance(merge, Neighbourhood):
        weights = ([1, 2, 1], [1, 1, 2]) if merge.fields > 1 else ()
        if merge.meaning([a, b, c], 7, *weights[:1]) != merge.meaning([c, a, b], 7, *weights[1:]):
            raise ProgramError(f"{merge} depends on the order of messages: {a}, {b}, {c}")
        return
    identity = merge.identity(type(a)) if identity is None else identity
    for what, left, right in (
        (f"merge({a}, {b}) is not merge({b}, {a})", merge.merge(a, b), merge.merge(b, a)),
        (
            f"merge({a}, merge({b}, {c})) is not merge(merge({a}, {b}), {c})",
            merge.merge(a, merge.merge(b, c)),
            merge.merge(merge.merge(a, b), c),
        ),
        (f"merge({a}, identity {identity}) is not {a}", merge.merge(a, identity), a),
    ):
        if not same(left, right):
            raise ProgramError(f"{merge} is not a commutative monoid: {what}: {left} and {right}")
    if merge.idempotent and not same(merge.merge(a, a), a):
        raise ProgramError(f"{merge} is not idempotent: merge({a}, {a}) is {merge.merge(a, a)}")


def try_merges(program: VertexProgram, fields: Iterable[Message | Global], trials: int = 20) -> None:
    """Check the merge law of some fields with random values.

    Values for which a merge fails in plain Python show nothing.

    Parameters
    ----------
    program : VertexProgram
        The program, for the error message.
    fields : iterable of Message or Global
        The fields whose merges to check.
    trials : int, default 20
        How many triples of values to try for each field.

    Raises
    ------
    ProgramError
        If a merge depends on the order of what it merges.
    """
    rng = random.Random(0)
    for field in fields:
        for _ in range(trials):
            a, b, c = (random_value(field, rng) for _ in range(3))
            try:
                check_merge(field.merge, a, b, c, field.identity)
            except ProgramError as error:
                raise ProgramError(
                    f"{program.title}: {error}: answers would depend on the number of partitions. Correct the merge, "
                    "or pass check_laws=False if such values cannot occur"
                ) from None
            except (ArithmeticError, ValueError, TypeError, LookupError):
                continue


class Vertex:
    """A seeded vertex of an accumulative program, with one out-edge, on which to test messages."""

    def __init__(self, program: VertexProgram, weight: float = 1.0, vertices: int = 8, number: int = 1):
        if program.kind != "accumulative":
            raise ProgramError(f"{type(program).__name__} is synchronous, but the laws apply to accumulative programs")
        edges = [(v, v + 1) for v in range(vertices - 1)]
        columns = {column.name: [weight] * len(edges) for column in analyse(program).edge_columns}
        self.run = Reference(program, edges, vertices, columns, {}, True, 0)
        self.program, self.number, self.phase = program, number, program.phases[0]
        self.fresh = {f.name: self.run.fill(f, f.start) for f in program.of(Delta)}
        self.fire(self.run.call(program.functions["seed"], self.phase.messages, self.run.values_at(number, 1)))

    @property
    def state(self) -> dict[str, Any]:
        """The state of the vertex without Deltas, which a vertex does not keep."""
        return {name: value for name, value in self.run.state[self.number].items() if name not in self.fresh}

    def fire(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Fire on a message, and return what is sent along the out-edge."""
        run, v = self.run, self.number
        run.inbox = [{m: [] for m in self.phase.messages} for _ in range(run.vertices)]
        silent = {m.name: run.fill(m, m.identity) for m in self.phase.messages}
        if message == silent:
            return silent
        run.deliver(v, dict(message))
        run.done = False
        run.apply()
        run.send()
        return run.merge(v + 1)

    def apply_alone(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The state that `apply` returns for a message, even for the identity."""
        context = {**self.run.values_at(self.number, 1), **message}
        return self.run.call(self.phase.functions["apply"], self.run.states, context)


def check_silence(program: VertexProgram, history: Sequence[Mapping[str, Any]]) -> None:
    """Check that, after some messages, receiving the identity changes nothing and causes nothing to be sent.

    Parameters
    ----------
    program : VertexProgram
        An accumulative program.
    history : sequence of dict
        Messages, each a dict ``{field: value}``, that the vertex processes before the check.

    Raises
    ------
    ProgramError
        If the law fails, or the program is synchronous.

    Examples
    --------
    >>> class Reached(dg.VertexProgram):
    ...     reached = dg.State(int)
    ...     merge = dg.MAX
    ...     def seed(id):
    ...         return int(id == 0)
    ...     def send(reached):
    ...         return reached
    ...     def apply(reached, message):
    ...         return max(reached, message)
    >>> dg.laws.check_silence(Reached(), [{"message": 1}])
    """
    vertex = Vertex(program)
    for message in history:
        vertex.fire(message)
    silent = {m.name: vertex.run.fill(m, m.identity) for m in vertex.phase.messages}
    before, after = vertex.state, vertex.apply_alone(silent)
    kept = {name: after[name] for name in before}
    deltas = {name: after[name] for name in vertex.fresh}
    if not same(before, kept) or not same(deltas, vertex.fresh):
        raise ProgramError(
            f"{type(program).__name__}: a message equal to the merge's identity must change nothing, "
            f"but {before} became {after}"
        )


def check_grouping(
    program: VertexProgram,
    history: Sequence[Mapping[str, Any]],
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    tolerance: float = TOLERANCE,
) -> None:
    """Check that after some messages, two in turn have the same effect as both at once.

    Parameters
    ----------
    program : VertexProgram
        An accumulative program.
    history : sequence of dict
        Messages, each a dict ``{field: value}``, that the vertex processes before the check.
    first, second : dict
        The two messages.
    tolerance : float, default 1e-9
        How much floats may differ. Programs with a threshold need a larger tolerance.

    Raises
    ------
    ProgramError
        If the law fails, or the program is synchronous.

    Examples
    --------
    >>> class Reached(dg.VertexProgram):
    ...     reached = dg.State(int)
    ...     merge = dg.MAX
    ...     def seed(id):
    ...         return int(id == 0)
    ...     def send(reached):
    ...         return reached
    ...     def apply(reached, message):
    ...         return max(reached, message)
    >>> dg.laws.check_grouping(Reached(), [], {"message": 1}, {"message": 2})
    """
    in_turn, at_once = Vertex(program), Vertex(program)
    for message in history:
        in_turn.fire(message)
        at_once.fire(message)
    fields = {m.name: m for m in in_turn.phase.messages}
    sent = merged(fields, in_turn.fire(first), in_turn.fire(second))
    sent_at_once = at_once.fire(merged(fields, first, second))
    if not same(in_turn.state, at_once.state, tolerance) or not same(sent, sent_at_once, tolerance):
        raise ProgramError(
            f"{type(program).__name__}: firing on {dict(first)} and then {dict(second)} gives {in_turn.state} and "
            f"sends {sent}, but firing on both at once gives {at_once.state} and sends {sent_at_once}: results would "
            'depend on the engine. Change `apply` or `send`, or set kind = "synchronous"'
        )


def check_program(program: VertexProgram, trials: int = 50, tolerance: float = TOLERANCE) -> None:
    """Check all laws of a program with random values.

    The merge laws apply to every program; the *silence* and *grouping* laws apply only to accumulative programs.

    Parameters
    ----------
    program : VertexProgram
        The program to check.
    trials : int, default 50
        How many random cases to try.
    tolerance : float, default 1e-9
        How much floats may differ. Programs with a threshold need a larger tolerance.

    Raises
    ------
    ProgramError
        If a law fails. The message shows the values.

    Examples
    --------
    >>> class Reached(dg.VertexProgram):
    ...     reached = dg.State(int)
    ...     merge = dg.MAX
    ...     def seed(id):
    ...         return int(id == 0)
    ...     def send(reached):
    ...         return reached
    ...     def apply(reached, message):
    ...         return max(reached, message)
    >>> dg.laws.check_program(Reached())
    """
    rng = random.Random(0)
    messages = (message for phase in program.phases for message in phase.messages)
    for field in (*messages, *program.of(Global)):
        for _ in range(trials):
            a, b, c = (random_value(field, rng) for _ in range(3))
            check_merge(field.merge, a, b, c, field.identity)
    if program.kind != "accumulative":
        return
    fields = program.phases[0].messages
    for _ in range(trials):
        history = [random_message(program, fields, rng) for _ in range(rng.randrange(3))]
        check_silence(program, history)
        first, second = random_message(program, fields, rng), random_message(program, fields, rng)
        check_grouping(program, history, first, second, tolerance)


def random_message(program: VertexProgram, fields: Sequence[Message], rng: random.Random) -> dict[str, Any]:
    """A message with small values."""

    def value(field: Message) -> Any:
        if field.shape is None:
            return random_value(field, rng)
        return tuple(random_value(field, rng) for _ in range(program.vector_length))

    return {field.name: value(field) for field in fields}


def random_value(field: Field, rng: random.Random) -> Any:
    """A small value of a field's dtype, sometimes 0."""
    if field.dtype.kind == "b":
        return rng.random() < 0.5
    if field.dtype.kind in "iu":
        return rng.randrange(0, 6)
    return float(field.dtype.type(rng.choice([0.0, 0.5, 1.0, rng.uniform(0, 8)])))
