"""Kernels for CUDA: the rows of `kernels.py` as threads of a grid that strides over them.

Vertices are listed through a counter, `listed`; messages of a push merge by atomics, and a kernel folds each global
value to one number a block (`partial_...`). A row's edges are shared by a group of threads of one block: one, some or
all of them, as the row is long; so are the edges of a sender. Bodies call the device by the names of the head alone:
under another head they run on one thread of a CPU, which is how answers are checked on large graphs without a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dgraph.analysis import Analysis, PhaseAnalysis
from dgraph.codegen.bounds import bound, bounded, falls
from dgraph.codegen.crossing import Crossing, merge
from dgraph.codegen.kernels import Kernels
from dgraph.codegen.neighbourhood import SCRATCH, SLOTS
from dgraph.codegen.text import NOTHING, Argument, Kernel, inbox, literal, name_in
from dgraph.program import Field, Message

LISTED, ROWS = "listed", "row_list"
ARGUMENTS = {  # that kernels for a CPU do not have, or have with another type
    "arrived": Argument("arrived", "int32", 1, True),  # there are no atomics of 8 bits
    LISTED: Argument(LISTED, "int64", 1, True),
    ROWS: Argument(ROWS, "uint32", 1),
    "group_size": Argument("group_size", "uint64"),
}

HEAD = '''
import math

from numba import cuda
from numpy import bool_, float32, float64, inf, int32, int64, uint64

njit = cuda.jit(device=True, inline="always")
kernel = cuda.jit
one = uint64(1)  # uint64 + int64 would be a float
BLOCK = 256  # threads of a block


@njit
def threads():
    """The threads of the grid, and this one's number; then those of blocks before this."""
    return uint64(cuda.gridsize(1)), uint64(cuda.grid(1)), uint64(cuda.blockIdx.x) * uint64(cuda.blockDim.x)


@njit
def barrier():
    cuda.syncthreads()


@njit
def atomic_add(array, place, value):
    return cuda.atomic.add(array, place, value)


@njit
def atomic_min(array, place, value):
    return cuda.atomic.min(array, place, value)


@njit
def atomic_max(array, place, value):
    return cuda.atomic.max(array, place, value)


@njit
def atomic_set(array, place, value):
    return cuda.atomic.exch(array, place, value)
'''

THREADS = "grid_size, thread, block_start = threads()"
# every thread of a block comes to the end of this loop equally often: groups meet at barriers
GROUPS = "for group_start in range(lo + block_start // group_size, hi, grid_size // group_size):"
EDGES = "for e in range(uint64(indptr[{row}]) + thread % group_size, uint64(indptr[{row} + one]), group_size):"


def pushes(phase: PhaseAnalysis) -> bool:
    """Whether senders can write to inboxes where others may write at the same time; if not, receivers pull."""
    return all(message.merge.atomic is not None or message.dtype.kind == "b" for message in phase.messages)


def partial(name: str) -> str:
    """What each block has folded of a global value."""
    return f"partial_{name}"


class CudaCrossing(Crossing):
    """Push, pull and receive."""

    def push(self, phase: PhaseAnalysis) -> None:
        if not pushes(phase):
            return
        doc = "senders[lo:hi] send along their out-edges; whoever has a first message joins the queue."
        kernel = self.kernels.kernel(name_in(phase, "push"), doc, "senders", "group_size", "indptr", "neighbours")
        source = {} if self.width or phase.hoisted else {name: f"from_{name}" for name in phase.send.of("state")}
        kernel.add(THREADS)
        with kernel.block("for i in range(lo + thread // group_size, hi, grid_size // group_size):"):
            kernel.add("u = senders[i]")
            kernel.add(*(f"{local} = {kernel.use(name)}[u]" for name, local in source.items()))
            with kernel.block(EDGES.format(row="u")):
                kernel.add("v = neighbours[e]")
                self.deliver(kernel, phase, "edge", source)
                self.enqueue(kernel)

    def rows_of_pull(self, kernel: Kernel, phase: PhaseAnalysis) -> None:
        if not phase.combines or self.width:  # a thread a row
            with self.kernels.rows(kernel, "i"):
                kernel.add(f"v = {kernel.use('row_list')}[i]")
                if phase.combines:
                    self.gather_vectors(kernel, phase)
                else:
                    self.gather_neighbourhood(kernel, phase)
            return
        kernel.use("row_list")
        kernel.use("group_size")
        kernel.add(THREADS)
        for m in phase.messages:
            kernel.add(f"tile_{m.name} = cuda.shared.array(BLOCK, {dtype_name(m)})")
        with kernel.block(GROUPS):
            kernel.add("i = group_start + (thread - block_start) // group_size", "v = row_list[min(i, hi - one)]")
            self.gather_in_groups(kernel, phase)

    def gather_in_groups(self, kernel: Kernel, phase: PhaseAnalysis) -> None:
        """Each thread merges some of the edges in registers, the group merges in its block's memory, one stores."""
        limited = bounded(phase) and not self.analysis.synchronous
        enough = []
        for m in phase.messages:
            array = kernel.use(inbox(phase, m), True)
            start = f"{array}[v]" if limited else f"{m.dtype.name}({literal(m.identity)})"
            kernel.add(f"total_{m.name} = {start}")
            if limited:
                kernel.use(bound(phase, m))
                enough.append(f"total_{m.name} {'<=' if falls(m) else '>='} {bound(phase, m)}")
        wanted = f"i < hi and not ({' and '.join(enough)})" if limited else "i < hi"
        with kernel.block(f"if {wanted}:"), kernel.block(EDGES.format(row="v")), self.sender(kernel, phase):
            self.new_message(kernel, phase, "edge", NOTHING)
            kernel.add(*(f"total_{m.name} = {merge(m)}(total_{m.name}, new_{m.name})" for m in phase.messages))
            if limited:
                kernel.add(f"if {' and '.join(enough)}: break")
        with kernel.block("if group_size > one:"):
            in_group(kernel, [(f"tile_{m.name}", f"total_{m.name}", merge(m)) for m in phase.messages])
        with kernel.block("if i < hi and thread % group_size == 0:"):
            self.store(kernel, phase)

    def store(self, kernel: Kernel, phase: PhaseAnalysis) -> None:
        """Totals to the inbox of v, if they are news."""
        arrays = {m.name: inbox(phase, m) for m in phase.messages}
        if self.analysis.synchronous:
            kernel.add(*(f"{array}[v] = total_{name}" for name, array in arrays.items()))
            return
        for m in phase.messages:
            kernel.add(f"merged_{m.name} = {merge(m)}({arrays[m.name]}[v], total_{m.name})")
        with kernel.block(f"if {' or '.join(f'merged_{name} != {array}[v]' for name, array in arrays.items())}:"):
            kernel.add(*(f"{array}[v] = merged_{name}" for name, array in arrays.items()))
            kernel.add(f"{kernel.use('arrived')}[v] = 1")

    def scratch(self, kernel: Kernel) -> tuple[str, ...]:
        """Room for a neighbourhood: where its edges are, in arrays as long as all edges, or four times that."""
        for name in super().scratch(kernel):
            times = "" if name == SLOTS else "4 * "
            kernel.add(f"own_{name} = {name}[{times}indptr[v]:{times}indptr[v + one]]")
        return tuple(f"own_{name}" for name in SCRATCH)

    def put(self, kernel: Kernel, phase: PhaseAnalysis, message: Message, place: str) -> None:
        """Into an inbox that others may write at the same time: look first, for most messages are no news."""
        array, index = inbox(phase, message), "v" if message.shape is None else "(v, c)"
        name, atomic = message.name, message.merge.atomic
        if message.dtype.kind == "b":  # all who write, write the same
            with kernel.block(f"if {merge(message)}({place}, new_{name}) != {place}:"):
                kernel.add(f"{place} = new_{name}", "changed = True")
        elif phase.idempotent:
            with kernel.block(f"if {merge(message)}({place}, new_{name}) != {place}:"):
                kernel.add(f"old_{name} = atomic_{atomic}({array}, {index}, new_{name})")
                kernel.add(f"changed = changed or {merge(message)}(old_{name}, new_{name}) != old_{name}")
        else:
            with kernel.block(f"if new_{name} != {literal(message.identity)}:"):
                kernel.add(f"atomic_{atomic}({array}, {index}, new_{name})", "changed = True")

    def enqueue(self, kernel: Kernel) -> None:
        arrived, queue, listed = (kernel.use(name) for name in ("arrived", "queue", "listed"))
        with kernel.block(f"if changed and atomic_set({arrived}, v, 1) == 0:"):
            kernel.add(f"{queue}[atomic_add({listed}, 0, 1)] = v")

    def close_queue(self, kernel: Kernel) -> None:
        """The counter tells how long it is."""


class CudaKernels(Kernels):
    """All kernels of a program."""

    crossing = CudaCrossing

    def rows(self, kernel: Kernel, row: str = "v") -> Any:
        kernel.add(THREADS)
        return kernel.block(f"for {row} in range(lo + thread, hi, grid_size):")

    def open_list(self, kernel: Kernel) -> None:
        pass

    def enlist(self, kernel: Kernel) -> None:
        kernel.add(f"{kernel.use('queue')}[atomic_add({kernel.use('listed')}, 0, 1)] = v")

    def close_list(self, kernel: Kernel) -> None:
        pass

    def close_count(self, kernel: Kernel) -> None:
        kernel.add(f"atomic_add({kernel.use('listed')}, 0, int64(count))")

    def close_folds(self, kernel: Kernel, names: Sequence[str]) -> None:
        fields = {name: self.analysis.globals[name][0] for name in names}
        kernel.add("group_size = uint64(BLOCK)")
        kernel.add(*(f"tile_{name} = cuda.shared.array(BLOCK, {dtype_name(field)})" for name, field in fields.items()))
        in_group(kernel, [(f"tile_{n}", f"fold_{n}", f"merge_{f.merge.name.lower()}") for n, f in fields.items()])
        with kernel.block("if thread == block_start:"):
            kernel.add(*(f"{kernel.use(partial(n), True)}[block_start // group_size] = fold_{n}" for n in names))


def in_group(kernel: Kernel, values: Sequence[tuple[str, str, str]]) -> None:
    """Merge the values that a group of threads has, as (shared memory, variable, merge): its first thread has all."""
    kernel.add("in_block = thread - block_start")
    kernel.add(*(f"{tile}[in_block] = {value}" for tile, value, _ in values), "reach = group_size // uint64(2)")
    with kernel.block("while reach > 0:"):
        kernel.add("barrier()")
        with kernel.block("if in_block % group_size < reach:"):
            for tile, _, merged in values:
                kernel.add(f"{tile}[in_block] = {merged}({tile}[in_block], {tile}[in_block + reach])")
        kernel.add("reach = reach // uint64(2)")
    kernel.add(*(f"{value} = {tile}[in_block]" for tile, value, _ in values), "barrier()")


def arrays_of(analysis: Analysis, arrays: Mapping[str, Argument]) -> dict[str, Argument]:
    """Everything that the kernels may ask for, from what those for a CPU may."""
    partials = {n: Argument(partial(n), field.dtype.name, 1, True) for n, (field, _) in analysis.globals.items()}
    return {**arrays, **ARGUMENTS, **{partial(name): argument for name, argument in partials.items()}}


def dtype_name(field: Field) -> str:
    """As the head imports it."""
    return "bool_" if field.dtype.kind == "b" else field.dtype.name
