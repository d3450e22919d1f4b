"""Pieces of kernel text: a kernel under construction, and calls of a program's functions inside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from dataclasses import field as field_of
from typing import Any

from dgraph.programs.analysis import Analysis, PhaseAnalysis, component_of
from dgraph.programs.kernel_names import before, inbox, key
from dgraph.programs.program import Field
from dgraph.programs.reads import Reads
from dgraph.programs.syntax import dot_name


@dataclass(frozen=True)
class Argument:
    """What a kernel is called with: an array of `dims` dimensions, or a scalar."""

    name: str
    dtype: str
    dims: int = 0
    written: bool = False


FIXED = {  # arguments that every program has; scalars first
    "lo": Argument("lo", "uint64"),
    "hi": Argument("hi", "uint64"),
    "queued": Argument("queued", "uint64"),
    "round": Argument("round", "int64"),
    "vertices": Argument("vertices", "int64"),
    "random_seed": Argument("random_seed", "int64"),
    "number": Argument("number", "int64", 1),
    "degree": Argument("degree", "int64", 1),
    "indptr": Argument("indptr", "int64", 1),
    "neighbours": Argument("neighbours", "uint32", 1),
    "frontier": Argument("frontier", "uint32", 1),
    "senders": Argument("senders", "uint32", 1),
    "ids": Argument("ids", "uint32", 1),
    "sending": Argument("sending", "bool", 1),
    "arrived": Argument("arrived", "bool", 1, True),
    "queue": Argument("queue", "uint32", 1, True),
    "slack": Argument("slack", "int32", 1, True),
    "slots": Argument("slots", "int64", 1, True),
    "loads": Argument("loads", "int64", 1, True),
    "keys": Argument("keys", "int64", 1, True),
    "counts": Argument("counts", "int64", 1, True),
}


@dataclass
class KernelText:
    """A kernel under construction: its lines, and the arguments that they have asked for."""

    name: str
    doc: str
    analysis: Analysis  # of the program
    arrays: dict[str, Argument]  # all that may be asked for
    arguments: dict[str, Argument] = field_of(default_factory=dict)
    lines: list[str] = field_of(default_factory=list)
    indent: int = 1
    at_edge: str = "{array}[{edge}]"  # how an element of an array over edges is read

    def use(self, name: str, written: bool = False) -> str:
        """Ask for an argument."""
        argument = self.arrays[name]
        before = self.arguments.get(name)
        written = written or argument.written or (before is not None and before.written)
        self.arguments[name] = Argument(name, argument.dtype, argument.dims, written)
        return name

    def of_edge(self, name: str, edge: str) -> str:
        """Ask for an array over edges, and read what it says of one."""
        how = "{array}[{edge}]" if self.arrays[name].dtype == "bool" else self.at_edge  # GPUs stream numbers alone
        return how.format(array=self.use(name), edge=edge)

    def add(self, *lines: str) -> None:
        """Append lines at the present indentation."""
        self.lines += ["    " * self.indent + line for line in lines]

    @contextmanager
    def block(self, line: str) -> Iterator[None]:
        """A line that opens a block; what is added in the body is in the block."""
        self.add(line)
        self.indent += 1
        yield
        self.indent -= 1

    def components(self, vector: bool) -> AbstractContextManager[None]:
        """A loop over the components of vectors, or no loop."""
        return self.block(f"for c in range({self.analysis.width}):") if vector else nullcontext()

    def text(self) -> str:
        """The function."""
        head = f"def {self.name}({', '.join(self.arguments)}):"
        doc = f'    """{self.doc}"""'
        return "\n".join(["@kernel", head, doc, *self.lines])


@dataclass(frozen=True)
class CallSite:
    """Where a function runs: its vertex; and for `send` the edge, and the vertex at its end."""

    at: str = "v"
    edge: str = "e"
    target: str = "v"
    rows: str = ""  # what the names of edge arrays begin with, where a kernel reads two tables


ROW = CallSite()
ALONG = CallSite(at="u")
NOTHING: Mapping[str, str] = {}


def item(array: str, row: str, of: Field | None) -> str:
    """An element of an array: of component c, where the field is a vector."""
    return f"{array}[{row}, c]" if of is not None and of.shape is not None else f"{array}[{row}]"


def call(
    kernel: KernelText,
    reads: Reads,
    function: str,
    place: CallSite = ROW,
    phase: PhaseAnalysis | None = None,
    local: Mapping[str, str] = NOTHING,
) -> str:
    """The text that calls a program's function; `local` says which fields are in local variables."""
    arguments = [
        local[name] if kind in ("state", "message") and name in local else _argument(kernel, reads, name, place, phase)
        for name, kind in reads.kinds.items()
    ]
    arguments += map(dot_name, range(len(reads.function.dots)))
    return f"{function}({', '.join(arguments)})"


def _argument(kernel: KernelText, reads: Reads, name: str, place: CallSite, phase: PhaseAnalysis | None) -> str:
    """The text of an argument of such a call: what a function reads by this name."""
    analysis = kernel.analysis
    fields: dict[str, Field] = {field.name: field for field in (*analysis.states, *analysis.columns)}
    match reads.kinds[name]:
        case "state" | "column":
            return item(kernel.use(key(name)), place.at, fields[name])
        case "before":
            state = fields[name.removesuffix("_before")]
            return item(kernel.use(before(state.name)), place.at, state)
        case "message" if phase is not None:
            message = next(m for m in phase.messages if m.name == name)
            return item(kernel.use(inbox(phase, message)), place.at, message)
        case "edge":
            return kernel.of_edge(place.rows + key(name), place.edge)
        case "target" | "ahead":
            target = name.removeprefix("target_")
            declared = fields.get(target)
            array = key(target) if declared else {"id": "number"}.get(target, target)
            return item(kernel.use(array), place.target, declared)
        case "global" if name not in analysis.globals:  # a vector, whose components are values of their own
            components = [kernel.use(key(component_of(name, c))) for c in range(analysis.width)]
            return f"({', '.join(components)},)[c]"
        case "parameter" if any(field.name == name and field.shape is not None for field in analysis.parameters):
            return f"{kernel.use(key(name))}[c]"
        case "parameter" | "global":
            return kernel.use(key(name))
    return _built_in(kernel, reads, name, place)


def _built_in(kernel: KernelText, reads: Reads, name: str, place: CallSite) -> str:
    """The text of what every vertex and every run has under a name."""
    component = "c" if reads.vector else "0"
    match name:
        case "id":
            return f"{kernel.use('number')}[{place.at}]"
        case "degree":
            return f"{kernel.use('degree')}[{place.at}]"
        case "component":
            return component
        case "random":
            seeds = ", ".join(kernel.use(seed) for seed in ("random_seed", "round"))
            return f"uniform({seeds}, {kernel.use('number')}[{place.at}], {component})"
    return kernel.use(name)  # `round` or `vertices`


def inner_products(kernel: KernelText, reads: Reads, place: CallSite, phase: PhaseAnalysis | None = None) -> None:
    """Compute the dot products that a function takes, before the loop over its components."""
    for i, pair in enumerate(reads.function.dots):
        rows = []
        for name in pair:
            kind = reads.kinds[name]
            if kind == "parameter":
                reads.function.refuse(f"dot({', '.join(pair)}) of a parameter", None, "Take vectors of vertices.")
            there = kind in ("target", "ahead")
            array = key(name.removeprefix("target_") if there else name)
            if kind == "message" and phase is not None:
                array = inbox(phase, next(m for m in phase.messages if m.name == name))
            rows.append(f"{kernel.use(array)}[{place.target if there else place.at}]")
        kernel.add(f"{dot_name(i)} = inner({', '.join(rows)})")


def literal(value: Any) -> str:
    """A number as kernel text; inf stands for itself."""
    return repr(value) if value == value else "math.nan"


def edges_of(row: str, indptr: str = "indptr") -> str:
    """The line that opens the loop over the edges of a row."""
    return f"for e in range(uint64({indptr}[{row}]), uint64({indptr}[{row} + one])):"


def any_message(kernel: KernelText, phase: PhaseAnalysis, array: Callable) -> str:
    """Kernel text that asks whether some field of v's message in an array (`inbox` or `sent`) differs from the
    identity."""
    tests = []
    for message in phase.messages:
        for c in range(kernel.analysis.width) if message.shape is not None else [None]:
            index = "v" if c is None else f"v, {c}"
            tests.append(f"{kernel.use(array(phase, message))}[{index}] != {literal(message.identity)}")
    return " or ".join(tests)


def identities(what: str, fields: Mapping[str, Any]) -> list[str]:
    """Lines that set `what_...` of values that are folded to what changes nothing."""
    return [f"{what}_{name} = {field.dtype.name}({literal(field.identity)})" for name, field in fields.items()]
