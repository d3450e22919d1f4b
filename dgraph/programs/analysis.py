"""Determines what a program reads, from the parameters of its functions, and what follows from that.

If no function reads `weight`, weights are neither stored nor sent. If `send` reads nothing from the edge, a vertex
sends the same message along all its out-edges, so the message is computed once per vertex, and only that value is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from dgraph.errors import ProgramError
from dgraph.phrases.phrases import format_count
from dgraph.programs.functions import read_function
from dgraph.programs.kernel_names import field_name, sent_name
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
from dgraph.programs.reads import EDGE_KINDS, VERTEX_KINDS, Reads, reads_of
from dgraph.programs.sends import check_sends

WITHOUT_ROUNDS = ("bulk_async", "block_descent")  # engines that do not run in rounds
WEIGHT = EdgeColumn(float)
WEIGHT.name = "weight"


@dataclass(frozen=True)
class PhaseAnalysis:
    """What one phase needs from the graph and from other partitions."""

    name: str
    along: str
    messages: tuple[Message, ...]
    send: Reads
    apply: Reads
    edge_columns: tuple[EdgeColumn, ...]
    triggers: tuple[str, ...]  # the fields whose change makes a vertex send
    sends_later: bool = False  # whether an accumulative `send` reads its round, a random number or a global value

    @property
    def hoisted(self) -> bool:
        """Whether a message is the same along all out-edges of a vertex, and computed once, when the vertex fires."""
        return not self.send.names_of("edge", "target", "ahead", "draw") and not self.sends_later

    @property
    def draws(self) -> bool:
        """Whether `send` draws a random number for each edge."""
        return bool(self.send.names_of("draw"))

    @property
    def broadcast(self) -> tuple[str, ...]:
        """The arrays that a master sends to its proxies with out-edges when the vertex sends."""
        return tuple(sent_name(self, m) for m in self.messages if self.hoisted) or tuple(
            map(field_name, self.send.names_of("state"))
        )

    @property
    def target_broadcast(self) -> tuple[str, ...]:
        """The arrays that a master sends to its proxies with in-edges before every round."""
        return tuple(field_name(name.removeprefix("target_")) for name in self.send.names_of("target"))

    @property
    def sends_copies(self) -> bool:
        """Whether proxies need degrees or columns, because `send` reads them at the ends of an edge."""
        reads = self.send
        copied = set(reads.names_of("ahead")) - {"target_id"}
        return bool(copied) or (not self.hoisted and ("degree" in reads or bool(reads.names_of("column"))))

    @property
    def combines(self) -> bool:
        """Whether messages merge in the sender's partition. If not, a vertex needs all in-edges in one partition."""
        return all(message.merge.combines for message in self.messages)

    @property
    def idempotent(self) -> bool:
        """Whether all merges are idempotent. If so, an inbox keeps the best message, and only better ones count."""
        return all(message.merge.idempotent for message in self.messages)


@dataclass(frozen=True)
class Analysis:
    """Everything that the rest of the library knows about a program."""

    name: str
    title: str  # the name of the program in errors
    synchronous: bool
    width: int  # the length of its vectors, or 0
    states: tuple[State, ...]  # including Deltas, in the order of `apply`
    parameters: tuple[Parameter, ...]
    columns: tuple[VertexColumn, ...]
    phases: tuple[PhaseAnalysis, ...]
    start: Reads | None
    seed: Reads | None
    stop: Reads | None
    globals: dict[str, tuple[Global, Reads]]  # with a separate entry for each component of a vector
    results: dict[str, tuple[Result, Reads]]
    reads_attributes: bool = True  # whether vertex attributes of the graph provide the columns

    @cached_property
    def states_without_deltas(self) -> tuple[State, ...]:
        """The States other than Deltas."""
        return tuple(state for state in self.states if not isinstance(state, Delta))

    @cached_property
    def readers(self) -> list[Reads]:
        """All functions of the program."""
        crossing = [reads for phase in self.phases for reads in (phase.send, phase.apply)]
        folds = [reads for _, reads in (*self.globals.values(), *self.results.values())]
        return [reads for reads in (self.start, self.seed, self.stop) if reads is not None] + crossing + folds

    def reads(self, *names: str) -> bool:
        """Whether any function reads one of these names."""
        return any(name in reads for reads in self.readers for name in names)

    @cached_property
    def edge_columns(self) -> tuple[EdgeColumn, ...]:
        """The edge columns to store and send. All others are dropped."""
        return tuple({column.name: column for phase in self.phases for column in phase.edge_columns}.values())

    @cached_property
    def draws(self) -> bool:
        """Whether any `send` draws a random number for each edge."""
        return any(phase.draws for phase in self.phases)

    @cached_property
    def vertex_columns(self) -> tuple[VertexColumn, ...]:
        """The vertex columns to pass to the kernels."""
        read = {name.removeprefix("target_") for reads in self.readers for name in reads.names_of("column", "ahead")}
        return tuple(column for column in self.columns if column.name in read)

    @cached_property
    def copied_columns(self) -> tuple[VertexColumn, ...]:
        """The vertex columns that `send` reads, and of which proxies need copies."""
        read = {
            name.removeprefix("target_") for phase in self.phases for name in phase.send.names_of("column", "ahead")
        }
        return tuple(column for column in self.columns if column.name in read)

    @cached_property
    def attributes(self) -> tuple[VertexColumn, ...]:
        """The vertex columns that may be attributes of the graph's vertices. Columns of operations never are, because
        users do not know their names."""
        return self.vertex_columns if self.reads_attributes else ()

    @cached_property
    def before(self) -> tuple[str, ...]:
        """The fields whose values from before each round are kept."""
        return tuple(
            dict.fromkeys(n.removesuffix("_before") for reads in self.readers for n in reads.names_of("before"))
        )

    @cached_property
    def globals_each_round(self) -> tuple[str, ...]:
        """The global values that are read in rounds. The others are folded once, at the end, for the results."""
        rounds = [self.stop, *(reads for phase in self.phases for reads in (phase.send, phase.apply))]
        read = {name for reads in rounds if reads is not None for name in reads.names_of("global")}
        return tuple(name for name, (field, _) in self.globals.items() if field.name in read)

    @cached_property
    def vertex_results(self) -> tuple[str, ...]:
        """The columns of the result that hold vertices."""
        if self.results:
            return tuple(name for name, (field, _) in self.results.items() if field.is_vertex)
        return tuple(state.name for state in self.states_without_deltas if state.is_vertex)

    def totals(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Global values by their names in the program. The components of a vector, separate in kernels, form a list."""
        totals: dict[str, Any] = {}
        for name, (field, reads) in self.globals.items():
            if reads.component is None:
                totals[field.name] = values[name]
            else:
                totals.setdefault(field.name, []).append(values[name])
        return totals

    @cached_property
    def in_any_order(self) -> bool:
        """Whether messages may arrive in any order and grouping, which means that the program is accumulative and some
        engine that does not run in rounds can run it."""
        return not self.synchronous and not all(obstacle(name, self) for name in WITHOUT_ROUNDS)

    @cached_property
    def send_reads_global(self) -> bool:
        """Whether `send` reads a global value. If so, a round can send only once all partitions have folded the values
        of the last round."""
        return any(phase.send.names_of("global") for phase in self.phases)


_known: WeakKeyDictionary[type[VertexProgram], dict[int, Analysis]] = WeakKeyDictionary()


def analyse(program: VertexProgram) -> Analysis:
    """Read all functions of a program, once per vector length unless a constant in the user's code changes."""
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
            problem = f"expected {format_count(len(returns), 'returned value')}, got {function.arity}"
            function.refuse(problem, None, f"It must return {', '.join(returns)}.")
        vector = any(not isinstance(field, str) and field.shape is not None for field in fields)
        return reads_of(program, function, phase, frozenset(more), vector)

    def optional(what: str, fields, more=("vertex", "column")) -> Reads | None:
        python = program.functions.get(what)
        return reads(what, python, fields, None, more) if python else None

    phases = []
    for phase in program.phases:
        send = reads("send", phase.functions["send"], phase.messages, phase, VERTEX_KINDS | EDGE_KINDS)
        apply = reads("apply", phase.functions["apply"], states, phase, VERTEX_KINDS | {"message"})
        for delta in set(apply.names_of("state")) - {field.name for field in plain}:
            apply.function.refuse(f"{delta!r} is a Delta, which always has its start value here", None, "Read a State.")
        if program.kind == "accumulative" and send.names_of("target"):
            remedy = "Test it in `apply`."
            send.function.refuse("only a synchronous program may read a State of its target", None, remedy)
        columns = tuple(program.fields.get(column, WEIGHT) for column in send.names_of("edge"))
        triggers = send.names_of("state") or tuple(field.name for field in states)
        later = program.kind == "accumulative" and (bool(send.names_of("global")) or send.depends_on_round)
        phases.append(PhaseAnalysis(phase.name, phase.along, phase.messages, send, apply, columns, triggers, later))  # type: ignore[arg-type]

    def folds(kind: type) -> dict[str, tuple[Any, Reads]]:
        fields = {f: reads(f.name, f.function, [f], None, VERTEX_KINDS | {"before"}) for f in program.of(kind)}
        parts = [(f, c) for f in fields for c in ([None] if f.shape is None else range(program.vector_length))]
        return {component_of(f.name, c): (f, replace(fields[f], component=c)) for f, c in parts}

    analysis = Analysis(
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
        reads_attributes=not program.operation,
    )
    if analysis.in_any_order:
        check_sends(program, analysis)
    return analysis


def component_of(name: str, c: int | None) -> str:
    """The name in kernels of one component of a global value. No field can have this name."""
    return name if c is None else f"{c}_{name}"


def engines_for(analysis: Analysis) -> tuple[str, ...]:
    """The engines that can run a program."""
    return ("bsp", "gas", *(name for name in WITHOUT_ROUNDS if not obstacle(name, analysis)))


def obstacle(engine: str, analysis: Analysis) -> str:
    """Why a program cannot run on an engine that does not run in rounds, as the end of a sentence, or "" if it can."""
    functions = [reads for phase in analysis.phases for reads in (phase.send, phase.apply)]
    reads_rounds = any(reads.depends_on_round for reads in functions)
    if not analysis.synchronous:
        reads_rounds |= bool(analysis.stop or analysis.globals_each_round)
    elif engine == "bulk_async":
        return "is synchronous"
    if reads_rounds or analysis.send_reads_global:
        return "reads values that exist only in rounds that all vertices execute together"
    if engine == "bulk_async":
        return ""
    phase = analysis.phases[0]
    if analysis.width:
        return "holds vectors"
    if len(analysis.phases) > 1 or len(phase.messages) > 1:
        return "has several phases" if len(analysis.phases) > 1 else "sends messages of several fields"
    if not phase.combines:
        return "merges whole neighbourhoods"
    rounds_only = analysis.synchronous and analysis.stop is not None and not analysis.stop.names_of("global")
    return "runs a fixed number of rounds" if rounds_only else ""
