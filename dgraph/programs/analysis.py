"""What a program reads, from the parameters of its functions; and what follows from that.

No `weight` in any signature: weights are neither stored nor sent. A `send` that reads nothing of the edge sends the
same along all out-edges of a vertex: the message is computed once a vertex, and that word is what travels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from dgraph.errors import ProgramError
from dgraph.programs.functions import read_function
from dgraph.programs.kernel_names import key, sent
from dgraph.programs.program import (
    Delta,
    EdgeColumn,
    Global,
    Message,
    Parameter,
    Phase,
    Result,
    State,
    VertexColumn,
    VertexProgram,
)
from dgraph.programs.reads import AT_A_VERTEX, OF_AN_EDGE, Reads, reads_of

WEIGHT = EdgeColumn(float)
WEIGHT.name = "weight"


@dataclass(frozen=True)
class PhaseAnalysis:
    """What one phase needs of the graph and of other partitions."""

    name: str
    along: str
    messages: tuple[Message, ...]
    send: Reads
    apply: Reads
    edge_columns: tuple[EdgeColumn, ...]
    triggers: tuple[str, ...]  # the fields whose change makes a vertex send
    sends_later: bool = False  # accumulative, and `send` reads what only the next round knows: its number, a global

    @property
    def hoisted(self) -> bool:
        """The message is the same along all out-edges of a vertex: it is computed once, when the vertex fires."""
        return not self.send.of("edge", "target", "ahead") and not self.sends_later

    @property
    def broadcast(self) -> tuple[str, ...]:
        """The arrays that travel from a master to its proxies with out-edges, when the vertex sends."""
        return tuple(sent(self, m) for m in self.messages if self.hoisted) or tuple(map(key, self.send.of("state")))

    @property
    def target_broadcast(self) -> tuple[str, ...]:
        """The arrays that travel from a master to its proxies with in-edges before every round."""
        return tuple(key(name.removeprefix("target_")) for name in self.send.of("target"))

    @property
    def sends_copies(self) -> bool:
        """Whether proxies need degrees or columns: what `send` reads of an edge's ends."""
        reads = self.send
        copied = set(reads.of("ahead")) - {"target_id"}
        return bool(copied) or (not self.hoisted and ("degree" in reads or bool(reads.of("column"))))

    @property
    def combines(self) -> bool:
        """Messages merge where they arise; else all in-edges of a vertex must be in one place: an incoming cut."""
        return all(message.merge.combines for message in self.messages)

    @property
    def idempotent(self) -> bool:
        """Every merge is: an inbox keeps the best message it ever had, and only better ones count."""
        return all(message.merge.idempotent for message in self.messages)


@dataclass(frozen=True)
class Analysis:
    """All that the rest of the library knows of a program."""

    name: str
    title: str  # in errors
    synchronous: bool
    width: int  # the length of its vectors, 0 without
    states: tuple[State, ...]  # and deltas, in the order of `apply`
    parameters: tuple[Parameter, ...]
    columns: tuple[VertexColumn, ...]
    phases: tuple[PhaseAnalysis, ...]
    start: Reads | None
    seed: Reads | None
    stop: Reads | None
    globals: dict[str, tuple[Global, Reads]]  # a vector's components one by one
    results: dict[str, tuple[Result, Reads]]

    @property
    def plain(self) -> tuple[State, ...]:
        """The States that are no Deltas."""
        return tuple(state for state in self.states if not isinstance(state, Delta))

    @property
    def readers(self) -> list[Reads]:
        """All functions of the program."""
        crossing = [reads for phase in self.phases for reads in (phase.send, phase.apply)]
        folds = [reads for _, reads in (*self.globals.values(), *self.results.values())]
        return [reads for reads in (self.start, self.seed, self.stop) if reads is not None] + crossing + folds

    def reads(self, *names: str) -> bool:
        """Whether any function reads one of these."""
        return any(name in reads for reads in self.readers for name in names)

    @property
    def edge_columns(self) -> tuple[EdgeColumn, ...]:
        """The edge columns to store and send; all others are dropped."""
        return tuple({column.name: column for phase in self.phases for column in phase.edge_columns}.values())

    @property
    def vertex_columns(self) -> tuple[VertexColumn, ...]:
        """The vertex columns to hand to the kernels."""
        read = {name.removeprefix("target_") for reads in self.readers for name in reads.of("column", "ahead")}
        return tuple(column for column in self.columns if column.name in read)

    @property
    def before(self) -> tuple[str, ...]:
        """The fields of which a copy is kept before each round."""
        return tuple(dict.fromkeys(n.removesuffix("_before") for reads in self.readers for n in reads.of("before")))

    @property
    def globals_each_round(self) -> tuple[str, ...]:
        """The global values that some round reads; the others are folded once, at the end, for the results."""
        rounds = [self.stop, *(reads for phase in self.phases for reads in (phase.send, phase.apply))]
        read = {name for reads in rounds if reads is not None for name in reads.of("global")}
        return tuple(name for name, (field, _) in self.globals.items() if field.name in read)

    def totals(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Global values as the program names them: those of a vector, which kernels see one by one, as a list."""
        found: dict[str, Any] = {}
        for name, (field, reads) in self.globals.items():
            before = found.get(field.name, [])
            found[field.name] = values[name] if reads.component is None else [*before, values[name]]
        return found

    @property
    def send_reads_global(self) -> bool:
        """Whether `send` reads a global value: then a round cannot send before all partitions have folded the one
        before."""
        return any(phase.send.of("global") for phase in self.phases)


_known: WeakKeyDictionary[type[VertexProgram], dict[int, Analysis]] = WeakKeyDictionary()


def analyse(program: VertexProgram) -> Analysis:
    """Read every function of a program: once for each length of its vectors, unless a constant of a user's changes."""
    if "values" not in vars(program):
        raise ProgramError(f"{type(program).__name__}: leave out __init__, and declare a Parameter for each value")
    known, length = _known.setdefault(type(program), {}), program.vector_length
    if length in known and not program.operation and any(reads.function.stale for reads in known[length].readers):
        read_function.cache_clear()
        del known[length]
    return known.get(length) or known.setdefault(length, _analysed(program))


def _analysed(program: VertexProgram) -> Analysis:
    name = type(program).__name__
    states = tuple(program.of(State))
    plain = [f for f in states if not isinstance(f, Delta)]
    first = program.phases[0]

    def reads(what: str, python: Callable, fields, phase: type[Phase] | None = None, more=()) -> Reads:
        returns = [field if isinstance(field, str) else field.name for field in fields]
        function = read_function(python, f"{what} of {name}" + (f".{phase.__name__}" if phase and phase.name else ""))
        if function.arity != len(returns):
            wanted = ", ".join(returns)
            function.refuse(f"returns {function.arity} of {len(returns)} values", None, f"It must return {wanted}.")
        vector = any(not isinstance(field, str) and field.shape is not None for field in fields)
        return reads_of(program, function, phase, frozenset(more), vector)

    def optional(what: str, fields, more=("vertex", "column")) -> Reads | None:
        python = program.functions.get(what)
        return reads(what, python, fields, None, more) if python else None

    phases = []
    for phase in program.phases:
        send = reads("send", phase.functions["send"], phase.messages, phase, AT_A_VERTEX | OF_AN_EDGE)
        apply = reads("apply", phase.functions["apply"], states, phase, AT_A_VERTEX | {"message"})
        for delta in set(apply.of("state")) - {field.name for field in plain}:
            apply.function.refuse(f"{delta!r} is a Delta, at its start in every firing", None, "Read a State.")
        if program.kind == "accumulative" and send.of("target"):
            remedy = "Leave the test to `apply`."
            send.function.refuse("only a synchronous program may read a State of its target", None, remedy)
        columns = tuple(program.fields.get(column, WEIGHT) for column in send.of("edge"))
        triggers = send.of("state") or tuple(field.name for field in states)
        later = program.kind == "accumulative" and bool(send.of("global") or "round" in send or "random" in send)
        phases.append(PhaseAnalysis(phase.name, phase.along, phase.messages, send, apply, columns, triggers, later))  # type: ignore[arg-type]

    def folds(kind: type) -> dict[str, tuple[Any, Reads]]:
        found = {f: reads(f.name, f.function, [f], None, AT_A_VERTEX | {"before"}) for f in program.of(kind)}
        parts = [(f, c) for f in found for c in ([None] if f.shape is None else range(program.vector_length))]
        return {component_of(f.name, c): (f, replace(found[f], component=c)) for f, c in parts}

    return Analysis(
        name=name,
        title=program.title,
        synchronous=program.kind == "synchronous",
        width=program.vector_length,
        states=states,
        parameters=tuple(program.of(Parameter)),
        columns=tuple(program.of(VertexColumn)),
        phases=tuple(phases),
        start=optional("start", plain),
        seed=optional("seed", first.messages, ("vertex", "column", "state")),
        stop=optional("stop", ["whether to stop"], ("global",)),
        globals=folds(Global),
        results=folds(Result),
    )


def component_of(name: str, c: int | None) -> str:
    """The name of one component of a global value, which no field can have: to kernels it is a value of its own."""
    return name if c is None else f"{c}_{name}"
