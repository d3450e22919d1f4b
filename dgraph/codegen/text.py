"""Pieces of kernel text: a kernel under construction, and calls of a program's functions inside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from dataclasses import field as field_of
from typing import Any

import numpy as np

from dgraph.programs.analysis import Analysis, PhaseAnalysis, Reads, component_of
from dgraph.programs.kernel_names import ORDINAL, before_name, field_name, inbox_name, merge_name
from dgraph.programs.monoid import MAX, MIN, SUM
from dgraph.programs.program import Field, Global, Message
from dgraph.programs.syntax import sum_name


@dataclass(frozen=True)
class Argument:
    """An argument of a kernel: an array of `dims` dimensions, or a scalar."""

    name: str
    dtype: str
    dims: int = 0
    written: bool = False


def by_name(*arguments: Argument) -> dict[str, Argument]:
    return {argument.name: argument for argument in arguments}


COMMON_ARGUMENTS = by_name(  # arguments of every program, scalars first
    *(Argument(name, "uint64") for name in ("lo", "hi", "queued", "round_word")),
    *(Argument(name, "int64") for name in ("round", "vertices")),
    *(Argument(name, "int64", 1) for name in ("number", "degree", "indptr")),
    *(Argument(name, "uint32", 1) for name in ("neighbours", ORDINAL, "frontier", "senders", "ids")),
    Argument("sending", "bool", 1),
    Argument("arrived", "bool", 1, True),
    Argument("queue", "uint32", 1, True),
    Argument("slack", "int32", 1, True),
    Argument("excess", "int64", 1, True),
    *(Argument(name, "int64", 1, True) for name in ("slots", "loads", "keys", "counts")),
)


@dataclass
class KernelText:
    """A kernel under construction: its lines, and the arguments that they use."""

    name: str
    doc: str
    analysis: Analysis  # the analysis of the program
    arrays: dict[str, Argument]  # all arguments that may be used
    arguments: dict[str, Argument] = field_of(default_factory=dict)
    lines: list[str] = field_of(default_factory=list)
    indent: int = 1
    at_edge: str = "{array}[{edge}]"  # how to read an element of an array over edges

    def use(self, name: str, written: bool = False) -> str:
        """Add an argument; returns its name."""
        argument = self.arrays[name]
        before = self.arguments.get(name)
        written = written or argument.written or (before is not None and before.written)
        self.arguments[name] = Argument(name, argument.dtype, argument.dims, written)
        return name

    def of_edge(self, name: str, edge: str) -> str:
        """The text that reads an element of an array over edges."""
        template = "{array}[{edge}]" if self.arrays[name].dtype == "bool" else self.at_edge  # GPUs stream numbers only
        return template.format(array=self.use(name), edge=edge)

    def add(self, *lines: str) -> None:
        """Append lines at the current indentation."""
        self.lines += ["    " * self.indent + line for line in lines]

    @contextmanager
    def block(self, line: str) -> Iterator[None]:
        """Add a line that opens a block; lines added in the body belong to it."""
        self.add(line)
        self.indent += 1
        yield
        self.indent -= 1

    def components(self, vector: bool) -> AbstractContextManager[None]:
        """A loop over the components of a vector, or no loop for scalars."""
        return self.block(f"for c in range({self.analysis.width}):") if vector else nullcontext()

    def text(self) -> str:
        """The text of the function."""
        head = f"def {self.name}({', '.join(self.arguments)}):"
        doc = f'    """{self.doc}"""'
        return "\n".join(["@kernel", head, doc, *self.lines])


@dataclass(frozen=True)
class CallSite:
    """The place where a function is called: the vertex, and for `send` also the edge and the target vertex."""

    vertex: str = "v"
    edge: str = "e"
    target: str = "v"
    rows: str = ""  # prefix of the names of edge arrays in kernels that read two tables


AT_ROW = CallSite()
AT_SENDER = CallSite(vertex="u")
NO_LOCALS: Mapping[str, str] = {}


def item(array: str, row: str, of: Field | None, c: str = "c") -> str:
    """An element of an array; component c of it if the field is a vector."""
    return f"{array}[{row}, {c}]" if of is not None and of.shape is not None else f"{array}[{row}]"


def call(
    kernel: KernelText,
    reads: Reads,
    function: str,
    place: CallSite = AT_ROW,
    phase: PhaseAnalysis | None = None,
    local: Mapping[str, str] = NO_LOCALS,
) -> str:
    """The text that calls a function of the program; `local` names the local variables that hold some fields."""
    arguments = []
    for name, kind in reads.kinds.items():
        known = kind in ("state", "message") and name in local
        text = local[name] if known else _argument(kernel, reads, name, place, phase)
        arguments.append(f"int64({text})" if name in reads.narrow else text)
    arguments += map(sum_name, range(len(reads.function.sums)))
    return f"{function}({', '.join(arguments)})"


def _argument(kernel: KernelText, reads: Reads, name: str, place: CallSite, phase: PhaseAnalysis | None) -> str:
    """The text of an argument of such a call."""
    analysis, c = kernel.analysis, "c" if reads.vector else "0"  # a vector that is only summed is not used otherwise
    fields: dict[str, Field] = {field.name: field for field in (*analysis.states, *analysis.columns)}
    match reads.kinds[name]:
        case "state" | "column":
            return item(kernel.use(field_name(name)), place.vertex, fields[name], c)
        case "before":
            state = fields[name.removesuffix("_before")]
            return item(kernel.use(before_name(state.name)), place.vertex, state, c)
        case "message" if phase is not None:
            message = next(m for m in phase.messages if m.name == name)
            return item(kernel.use(inbox_name(phase, message)), place.vertex, message, c)
        case "edge":
            return kernel.of_edge(place.rows + field_name(name), place.edge)
        case "target" | "ahead":
            target = name.removeprefix("target_")
            declared = fields.get(target)
            array = field_name(target) if declared else {"id": "number"}.get(target, target)
            return item(kernel.use(array), place.target, declared, c)
        case "global" if name not in analysis.globals:  # a vector, whose components are separate values
            return f"{components_of(kernel, name)}[{c}]"
        case "parameter" if any(field.name == name and field.shape is not None for field in analysis.parameters):
            return f"{kernel.use(field_name(name))}[{c}]"
        case "parameter" | "global":
            return kernel.use(field_name(name))
    return _built_in(kernel, reads, name, place)


def _built_in(kernel: KernelText, reads: Reads, name: str, place: CallSite) -> str:
    """The text of a value that every vertex or every run has."""
    component = "c" if reads.vector else "0"
    match name:
        case "id":
            return f"{kernel.use('number')}[{place.vertex}]"
        case "degree":
            return f"{kernel.use('degree')}[{place.vertex}]"
        case "component":
            return component
        case "random" | "vertex_random":
            word, number = kernel.use("round_word"), kernel.use("number")
            if reads.kinds[name] == "draw":
                ends = f"{number}[{place.vertex}], {number}[{place.target}]"
                return f"uniform_of_edge({word}, {ends}, {kernel.of_edge(ORDINAL, place.edge)}, {component})"
            return f"uniform({word}, {number}[{place.vertex}], {component})"
    return kernel.use(name)  # `round` or `vertices`


def components_of(kernel: KernelText, name: str) -> str:
    """The components of a vector of global values, which are separate arguments, as a tuple."""
    return f"({', '.join(kernel.use(field_name(component_of(name, c))) for c in range(kernel.analysis.width))},)"


def vector_sums(kernel: KernelText, reads: Reads, place: CallSite, phase: PhaseAnalysis | None = None) -> None:
    """Compute the sums over the components of vectors that a function uses, before the loop over its components."""
    for i, one in enumerate(reads.function.sums):
        rows = [_row(kernel, reads, name, place, phase) for name in one.vectors]

        rows = [f"int64({row})" if name in reads.narrow else row for name, row in zip(one.vectors, rows, strict=True)]
        kernel.add(f"{sum_name(i)} = {one.first([row.format(c='0') for row in rows])}")
        with kernel.block(f"for d in range(1, {kernel.analysis.width}):"):
            kernel.add(f"{sum_name(i)} += {one.of([row.format(c='d') for row in rows])}")


def _row(kernel: KernelText, reads: Reads, name: str, place: CallSite, phase: PhaseAnalysis | None) -> str:
    """The text of component {c} of a vector."""
    kind = reads.kinds[name]
    if kind == "parameter":
        return f"{kernel.use(field_name(name))}[{{c}}]"
    if kind == "global":
        return f"{components_of(kernel, name)}[{{c}}]"
    array, row = field_name(name), place.vertex
    if kind in ("target", "ahead"):
        array, row = field_name(name.removeprefix("target_")), place.target
    elif kind == "before":
        array = before_name(name.removesuffix("_before"))
    elif kind == "message" and phase is not None:
        array = inbox_name(phase, next(m for m in phase.messages if m.name == name))
    return f"{kernel.use(array)}[{row}, {{c}}]"


def merged_text(field: Message | Global, a: str, b: str) -> str:
    """Kernel text that merges two values of a field. Functions take numbers of 8 bits as integers of 64 bits."""
    if field.dtype != np.uint8 or field.merge in (MIN, MAX, SUM):
        return f"{merge_name(field.merge)}({a}, {b})"
    return f"uint8({merge_name(field.merge)}(int64({a}), int64({b})))"


def literal(value: Any) -> str:
    """A number as kernel text, in which `inf` and `math.nan` are defined."""
    return repr(value) if value == value else "math.nan"


def edges_of(row: str, indptr: str = "indptr") -> str:
    """The line that opens the loop over the edges of a row."""
    return f"for e in range(uint64({indptr}[{row}]), uint64({indptr}[{row} + one])):"


def any_message(kernel: KernelText, phase: PhaseAnalysis, array: Callable) -> str:
    """Kernel text that tests whether any field of v's message in an array (`inbox_name` or `sent_name`) differs from
    the identity."""
    tests = []
    for message in phase.messages:
        for c in range(kernel.analysis.width) if message.shape is not None else [None]:
            index = "v" if c is None else f"v, {c}"
            tests.append(f"{kernel.use(array(phase, message))}[{index}] != {literal(message.identity)}")
    return " or ".join(tests)


def identities(what: str, fields: Mapping[str, Any]) -> list[str]:
    """Lines that initialise the variables `what_...` of folded values to the identities."""
    return [f"{what}_{name} = {field.dtype.name}({literal(field.identity)})" for name, field in fields.items()]
