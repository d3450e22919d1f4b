"""Determines what a program reads, from the parameters of its functions, and what follows from that.

If no function reads `weight`, weights are neither stored nor sent. If `send` reads nothing from the edge, a vertex
sends the same message along all its out-edges, so the message is computed once per vertex, and only that value is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dgraph.errors import ProgramError
from dgraph.phrases.phrases import format_count
from dgraph.programs.functions import Function, read_function
from dgraph.programs.kernel_names import field_name, sent_name
from dgraph.programs.program import (
    Delta,
    EdgeColumn,
    Field,
    Global,
    Message,
    Parameter,
    Phase,
    Result,
    State,
    VertexColumn,
    VertexProgram,
)
from dgraph.programs.sends import check_sends

VERTEX_KINDS = frozenset({"state", "vertex", "column", "global"})
EDGE_KINDS = frozenset({"edge", "target", "ahead", "draw"})  # columns; its target's states, and constants; `random`
_VERTEX_VALUES = ("id", "degree", "random", "vertex_random", "component")
_RUN_VALUES = ("round", "vertices")

WITHOUT_ROUNDS = ("bulk_async", "block_descent")  # engines that do not run in rounds
WEIGHT = EdgeColumn(float)
WEIGHT.name = "weight"


@dataclass(frozen=True)
class Reads:
    """A function, and where each of its parameters comes from."""

    function: Function
    kinds: dict[str, str]  # state, before, message, edge, target, ahead, draw, column, parameter, global, vertex or run
    vector: bool  # whether the function reads or returns a component of a vector, and so runs once per component
    narrow: frozenset[str] = frozenset()  # the parameters of type uint8, which functions take as integers of 64 bits
    component: int | None = None  # which component of a vector of global values it folds

    def names_of(self, *kinds: str) -> tuple[str, ...]:
        """The parameters that come from one of `kinds`."""
        return tuple(name for name, kind in self.kinds.items() if kind in kinds)

    def __contains__(self, name: str) -> bool:
        """Whether the function reads a built-in name, such as `id` or `round`, and not a field with this name."""
        return self.kinds.get(name) in ("vertex", "run", "ahead", "draw")

    @property
    def depends_on_round(self) -> bool:
        """Whether the function reads the number of the round or a random draw, which differ from round to round."""
        return any(name in self for name in ("round", "random", "vertex_random"))


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
    def skips_silent(self) -> bool:
        """Whether a pull asks first whether a neighbour sends anything, which a vector is too long to tell."""
        return self.hoisted and self.combines and any(message.shape is not None for message in self.messages)

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
        return self._columns_read_by(self.readers)

    @cached_property
    def copied_columns(self) -> tuple[VertexColumn, ...]:
        """The vertex columns that `send` reads, and of which proxies need copies."""
        return self._columns_read_by(phase.send for phase in self.phases)

    def _columns_read_by(self, functions: Iterable[Reads]) -> tuple[VertexColumn, ...]:
        read = {name.removeprefix("target_") for reads in functions for name in reads.names_of("column", "ahead")}
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

    def computed(kind: type) -> dict[Any, Reads]:
        return {f: reads(f.name, f.function, [f], None, VERTEX_KINDS | {"before"}) for f in program.of(kind)}

    folds = computed(Global)
    parts = [(f, c) for f in folds for c in ([None] if f.shape is None else range(program.vector_length))]

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
        globals={component_of(f.name, c): (f, replace(folds[f], component=c)) for f, c in parts},
        results={f.name: (f, one) for f, one in computed(Result).items()},
        reads_attributes=not program.operation,
    )
    if analysis.in_any_order:
        check_sends(program, analysis)
    return analysis


def reads_of(program: VertexProgram, function: Function, phase: Any, admitted: frozenset, vector: bool) -> Reads:
    """What a function reads. Kinds that are not `admitted` are errors. `vector` says whether it returns a vector."""
    kinds, vectors, narrow, phase = {}, set(), set(), phase if "message" in admitted else None
    for name in function.parameters:
        kind, field = _kind(program, name, phase)
        if name == "random" and kind == "vertex" and "draw" in admitted:
            kind = "draw"  # in `send`, a random number is drawn for each edge
        if kind not in admitted | {"parameter", "run"}:
            known = kind or name in ("message", *program.fields)
            problem = "cannot be read here" if known else "is neither declared nor built in"
            remedy = f"Available: {', '.join(_readable(program, phase, admitted))}."
            remedy = "Functions of a program take no self." if name == "self" else remedy
            function.refuse(f"the parameter {name!r} {problem}", None, remedy)
        kinds[name] = kind
        vectors |= {name} if field is not None and field.shape is not None else set()
        narrow |= {name} if field is not None and field.dtype == np.uint8 else set()
    for one in function.sums:
        if scalars := [name for name in one.vectors if name not in vectors]:
            remedy = "Declare it with a shape." if scalars[0] in program.fields else "Sum vectors that you declare."
            function.refuse(f"{one.written}: {scalars[0]!r} is not a vector", None, remedy)
    vector |= not vectors <= function.only_summed or (program.vector_length > 0 and kinds.get("component") == "vertex")
    return Reads(function, kinds, vector, frozenset(narrow))


def _kind(program: VertexProgram, name: str, phase: type[Phase] | None) -> tuple[str, Field | None]:
    """Where a parameter comes from, and its field. Declared fields take precedence over built-in names."""
    if phase and (messages := [message for message in phase.messages if message.name == name]):
        return "message", messages[0]
    field = program.fields.get(name)
    for kind, field_class in (("state", State), ("parameter", Parameter), ("global", Global), ("column", VertexColumn)):
        if isinstance(field, field_class):
            return kind, field
    if isinstance(field, EdgeColumn) or name == "weight":
        return "edge", field
    if name in _VERTEX_VALUES:
        return "vertex", None
    if name in _RUN_VALUES:
        return "run", None
    if name.endswith("_before"):
        state = program.fields.get(name.removesuffix("_before"))
        return ("before" if isinstance(state, State) else ""), state
    if name.startswith("target_"):
        target = name.removeprefix("target_")
        field = program.fields.get(target)
        fixed = isinstance(field, VertexColumn) or target in ("id", "degree")
        return ("target" if isinstance(field, State) else "ahead" if fixed else ""), field
    return "", None


def _readable(program: VertexProgram, phase: type[Phase] | None, admitted: frozenset) -> list[str]:
    names = [*program.fields, "weight", *_VERTEX_VALUES, *_RUN_VALUES]
    names += [message.name for message in phase.messages] if phase else []
    states = [state.name for state in program.of(State)]
    names += [f"{state}_before" for state in states] + [f"target_{name}" for name in ("id", "degree", *program.fields)]
    return [n for n in dict.fromkeys(names) if _kind(program, n, phase)[0] in admitted | {"parameter", "run"}]


def parameter_values(program: VertexProgram, find: Callable[[Any], int]) -> dict[str, Any]:
    """The values of a program's parameters by name. `find` gives the number of a vertex."""
    values = dict(program.values)
    for name, parameter in program.fields.items():
        if isinstance(parameter, Parameter) and parameter.is_vertex:
            value = values[name]
            values[name] = find(value) if parameter.shape is None else np.array([*map(find, value)], np.int64)
    return values


def component_of(name: str, c: int | None) -> str:
    """The name in kernels of one component of a global value. No field can have this name."""
    return name if c is None else f"{c}_{name}"


def engines_for(analysis: Analysis) -> tuple[str, ...]:
    """The engines that can run a program."""
    return ("bsp", "gas", *(name for name in WITHOUT_ROUNDS if not obstacle(name, analysis)))


def obstacle(engine: str, analysis: Analysis) -> str:
    """Why a program cannot run on an engine that does not run in rounds, as the end of a sentence, or "" if it can."""
    functions = [reads for phase in analysis.phases for reads in (phase.send, phase.apply)]
    results = [reads for _, reads in analysis.results.values()]
    folds = [reads for _, reads in analysis.globals.values()]
    reads_rounds = any(reads.depends_on_round for reads in (*functions, *results, *folds))
    # A synchronous program may stop by the change of a value over a round, which for block descent is one over a sweep.
    reads_rounds |= any(reads.names_of("before") for reads in (results if analysis.synchronous else results + folds))
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
