"""A program's kernels as a Python source that stands alone, and the arguments of each kernel."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as field_of

from dgraph.codegen.bounds import bound
from dgraph.codegen.cuda import cuda_head, cuda_kernels
from dgraph.codegen.descent.daemon_blocks import DaemonBlockWriter
from dgraph.codegen.descent.descent_kernel import IMPORTS, DescentKernelWriter, more_arrays
from dgraph.codegen.neighbourhood_merges import TEXTS
from dgraph.codegen.program_kernels import KernelTexts
from dgraph.codegen.text import FIXED, Argument
from dgraph.errors import ProgramError
from dgraph.options import check_choice
from dgraph.programs.analysis import Analysis, analyse
from dgraph.programs.functions import Function, read_function
from dgraph.programs.kernel_names import before, inbox, incoming, key, merging, name_in, sent
from dgraph.programs.monoid import Monoid
from dgraph.programs.program import Delta, Parameter, VertexProgram
from dgraph.programs.random_draws import KERNEL_TEXT
from dgraph.programs.reads import Reads

HEAD = '''"""Kernels of {name}, written by dgraph; {why}.

{direction}
"""
'''

CPU = """
import math

from numba import njit as kernel_compiler
from numpy import float32, float64, inf, int32, int64, uint64

from dgraph.native.machine_code import cached_njit

njit = kernel_compiler(error_model="numpy")  # 1/0 is inf, as on GPUs
kernel = cached_njit(error_model="numpy")
one = uint64(1)  # uint64 + int64 would be a float
part_size = uint64(1024)  # rows that are added up before they join the others
"""

INNER = '''
@njit
def inner(a, b):
    """The inner product of two vectors."""
    total = a[0] * b[0]
    for c in range(1, {width}):
        total += a[c] * b[c]
    return total
'''


@dataclass(frozen=True)
class KernelTarget:
    """A device that kernels are generated for: who writes them, and the head of their text."""

    kernels: type[KernelTexts]
    head: str


TARGETS = {"cpu": KernelTarget(KernelTexts, CPU), "cuda": KernelTarget(cuda_kernels.CudaTexts, cuda_head.HEAD)}


@dataclass(frozen=True)
class Source:
    """Kernels as text: a value that travels to workers without the program's class."""

    name: str
    text: str
    kernels: dict[str, tuple[Argument, ...]]
    origins: dict[int, str] = field_of(default_factory=dict)  # a line of the text -> where the user wrote it
    edge_columns: tuple[str, ...] = ()  # arrays over edges, beside neighbours

    @functools.cached_property
    def digest(self) -> str:
        """Identifies the text, and the types that it is compiled for."""
        return hashlib.sha256(f"{self.text}{self.kernels}".encode()).hexdigest()[:20]


def generate(program: VertexProgram | type[VertexProgram], target: str = "cpu", operator: str | None = None) -> Source:
    """The kernels of a program. They are the same for all values of its parameters, except that the length of vectors
    is built in. `operator` asks for those of block descent, too."""
    check_choice("target", target, TARGETS)
    program = example_of(program)
    analysis = analyse(program)
    found = TARGETS[target].kernels(analysis, arrays_of(analysis, target))
    if operator is not None:
        found.arrays |= more_arrays(analysis)
        DescentKernelWriter(found, operator).write()
        DaemonBlockWriter(found, operator).write()
    method = program.solver and program.solver.local_method
    if target == "cpu" and method is not None and method.finds_messages:
        found.settled()
    kernels = found.kernels
    texts = [kernel.text() for kernel in kernels]
    body = [*_functions(analysis), *texts]
    used = "\n".join(body)
    parts = [_head(analysis), TARGETS[target].head, *([IMPORTS] if operator else [])]
    if re.search(r"\b(uniform|random_word)\(", used):
        parts.append(KERNEL_TEXT)
    parts += [text for function, text in TEXTS.items() if f"{function}(" in used]
    if "inner(" in used:
        parts.append(INNER.format(width=analysis.width))
    text = "\n\n".join(part.strip("\n") + "\n" for part in [*parts, *body])
    columns = tuple(key(column.name) for column in analysis.edge_columns)
    arguments = {kernel.name: tuple(kernel.arguments.values()) for kernel in kernels}
    return Source(analysis.name, text, arguments, _origins(analysis, text), columns)


def _origins(analysis: Analysis, text: str) -> dict[int, str]:
    origins = {}
    for function, (name, casts) in functions_of(analysis).items():
        own = function.text(name, casts)
        first = text[: text.index(f"{own}\n")].count("\n")
        for line in range(1, own.count("\n") + 2):
            origins[first + line] = function.place(function.statement(line))
    return origins


def _head(analysis: Analysis) -> str:
    kind = "synchronous: all gather in every round" if analysis.synchronous else "accumulative: who has news sends it"
    first = analysis.phases[0]
    direction = "Messages are computed once a vertex." if first.hoisted else "Messages are computed once an edge."
    return HEAD.format(name=analysis.name, why=kind, direction=direction)


def arrays_of(analysis: Analysis, target: str = "cpu") -> dict[str, Argument]:
    """Everything that the kernels of a program may ask for."""
    arrays = dict(FIXED)

    def array(name: str, dtype: str, vector: bool = False) -> None:
        arrays[name] = Argument(name, dtype, 2 if vector else 1)

    for state in analysis.states:
        for name in (key(state.name), before(state.name)):
            array(name, state.dtype.name, state.shape is not None)
    for phase in analysis.phases:
        for message in phase.messages:
            for name in (inbox(phase, message), sent(phase, message), incoming(inbox(phase, message))):
                array(name, message.dtype.name, message.shape is not None)
            arrays[bound(phase, message)] = Argument(bound(phase, message), message.dtype.name)
    for column in (*analysis.edge_columns, *analysis.vertex_columns):
        array(key(column.name), column.dtype.name, column.shape is not None)
    for parameter in analysis.parameters:
        name = key(parameter.name)
        arrays[name] = Argument(name, parameter.dtype.name, int(parameter.shape is not None))
    for name, (of, _) in analysis.globals.items():
        arrays[key(name)] = Argument(key(name), of.dtype.name)
    for name, (result, reads) in analysis.results.items():
        array(f"result_{name}", result.dtype.name, reads.vector)
    return cuda_kernels.arrays_of(analysis, arrays) if target == "cuda" else arrays


def _functions(analysis: Analysis) -> Iterator[str]:
    """The texts of the program's own functions, helpers first, and of its merges."""
    for function, (name, casts) in functions_of(analysis).items():
        yield f"@njit\n{function.text(name, casts)}"


def functions_of(analysis: Analysis) -> dict[Function, tuple[str, tuple[str, ...]]]:
    """Every function that goes into the kernels: its name there, and the dtypes of what it returns."""
    found: dict[Function, tuple[str, tuple[str, ...]]] = {}

    def add(function: Function, name: str, casts: tuple[str, ...]) -> None:
        for called, helper in function.helpers.items():
            add(helper, called, ())
        found[function] = (name, casts)

    def put(reads: Reads | None, name: str, fields) -> None:
        if reads is not None:
            add(reads.function, name, tuple(of.dtype.name for of in fields))

    merges = [message.merge for phase in analysis.phases for message in phase.messages]
    for merge in dict.fromkeys([*merges, *(of.merge for of, _ in analysis.globals.values())]):
        if isinstance(merge, Monoid):
            function = read_function(merge.merge, f"the merge {merge.name}")
            if (len(function.parameters), function.arity) != (2, 1):
                function.refuse("a merge makes one value of two", None, "Write def merge(a, b).")
            add(function, merging(merge), ())
    put(analysis.start, "start", [state for state in analysis.states if not isinstance(state, Delta)])
    put(analysis.stop, "stop", [])
    put(analysis.seed, "seed", analysis.phases[0].messages)
    for phase in analysis.phases:
        put(phase.send, name_in(phase, "send"), phase.messages)
        put(phase.apply, name_in(phase, "apply"), analysis.states)
    for of, reads in analysis.globals.values():
        put(reads, f"value_of_{of.name}", [of])
    for name, (result, reads) in analysis.results.items():
        put(reads, f"value_of_{name}", [result])
    return found


def example_of(program: type[VertexProgram] | VertexProgram) -> VertexProgram:
    """An instance to analyse: parameters that have no value yet become 0, or vectors of one 0."""
    if isinstance(program, VertexProgram):
        return program
    if not (isinstance(program, type) and issubclass(program, VertexProgram)):
        raise ProgramError(f"{program!r} is no program: derive a class from dgraph.VertexProgram")
    missing = [f for f in program.fields.values() if isinstance(f, Parameter) and f.default is None]
    lengths = [f.shape for f in program.fields.values() if isinstance(f, Parameter) and isinstance(f.shape, int)]
    width = lengths[0] if lengths else 1
    named = {f.shape for f in program.fields.values() if isinstance(f.shape, str)}
    return program(**{f.name: [0] * width if f.shape is not None else int(f.name in named) for f in missing})
