"""CUDA versions of the kernels of `program_kernels.py`, in which a grid of threads strides over the rows.

Vertices are listed through a counter, `listed`; the messages of a push merge by atomics; each block folds a global
value to one number (`partial_...`), and the last block folds these to a single one (`total_...`). A group of threads of
one block shares the edges of a row: one, some or all threads, depending on the row's length. The same holds for the
first `part_size` edges of a sender; a sender with more edges is in a separate list, once per additional part. Edge
arrays may be a block of a table: rows row_low:row_high, without the edges before `edge_base`. Bodies use the device
only through the names of the head; with another head they run on one CPU thread, so that large graphs can be tested
without a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dgraph.codegen.bounds import bound_name, is_bounded
from dgraph.codegen.edge_kernels import EdgeKernelWriter
from dgraph.codegen.neighbourhood_merges import SCRATCH
from dgraph.codegen.program_kernels import KernelWriter
from dgraph.codegen.text import Argument, KernelText, by_name, identities, literal, merged_text
from dgraph.programs.analysis import Analysis, PhaseAnalysis
from dgraph.programs.kernel_names import field_name, inbox_name, phase_name, sent_name
from dgraph.programs.program import Field, Global, Message

Folded = Global | Message

LISTED, ROWS, FINISHED, BEST = "listed", "row_list", "finished", "best"
ARGUMENTS = by_name(  # arguments that CPU kernels lack, or declare with another type
    Argument("arrived", "int32", 1, True),  # CUDA has no 8-bit atomics
    *(Argument(name, "int64", 1, True) for name in (LISTED, FINISHED)),
    *(Argument(name, "uint32", 1) for name in (ROWS, "parts")),
    *(Argument(name, "uint64") for name in ("group_size", "edge_base", "row_low", "row_high", "part_size")),
)

THREADS = "grid_size, thread, block_start = threads()"
# computed once per kernel, because a 64-bit division takes longer than processing an edge
GROUPS = "in_group, group_number, group_count = thread % group_size, thread // group_size, grid_size // group_size"


def pushes(phase: PhaseAnalysis) -> bool:
    """Whether several senders can write to one inbox concurrently; if not, receivers pull."""
    return all(atomic_of(message) is not None for message in phase.messages)


def atomic_of(message: Message) -> str | None:
    """The device instruction that merges into shared memory, if there is one: none takes numbers of 8 bits."""
    return message.merge.atomic if message.dtype != np.uint8 else None


def partial_name(name: str) -> str:
    """The name of the array that holds what each block folds a value to."""
    return f"partial_{name}"


def total_name(name: str) -> str:
    """The name of the value that all blocks together fold to."""
    return f"total_{name}"


def folded(analysis: Analysis) -> dict[str, Folded]:
    """The values that kernels fold: global values, and the best message of a round."""
    values: dict[str, Folded] = {field_name(name): of for name, (of, _) in analysis.globals.items()}
    return values | {bound_name(phase, m): m for phase in analysis.phases if is_bounded(phase) for m in phase.messages}


class CudaEdgeKernelWriter(EdgeKernelWriter):
    """Writes push, pull and receive."""

    in_edges = "for e in range(uint64(indptr[v]) - edge_base, uint64(indptr[v + one]) - edge_base):"
    checks_sums = one_writes = False

    def recount(self) -> None:
        """Write nothing: on a GPU all rows gather concurrently."""

    def push(self) -> None:
        if not pushes(self.phase):
            return
        doc = "senders[lo:hi] send along their out-edges; targets with a first message join the queue."
        arguments = "senders", "group_size", "indptr", "edge_base", "row_low", "row_high", "parts", "part_size"
        kernel = self.kernels.kernel(phase_name(self.phase, "push"), doc, *arguments)
        kernel.add(THREADS, GROUPS)
        with kernel.block("for i in range(lo + group_number, hi, group_count):"):
            kernel.add("u = senders[i]", "if u < row_low or u >= row_high: continue")
            source = self.name_source(kernel)
            kernel.add("part_start = uint64(indptr[u]) + part_size * parts[min(i, uint64(len(parts)) - one)]")
            kernel.add("part_end = min(part_start + part_size, uint64(indptr[u + one]))")
            with shared_edges(kernel, "part_start - edge_base", "part_end - edge_base"):
                kernel.add(f"v = {kernel.of_edge('neighbours', 'e')}")
                self.deliver_sent(kernel, source)
                self.enqueue(kernel)

    def sweep(self) -> None:
        """Write nothing: a sweep processes rows one after the other, which does not suit a grid of threads."""

    def rows_of_pull(self, kernel: KernelText) -> None:
        kernel.use("edge_base")
        if not self.phase.combines or self.width:  # one thread per row
            with self.kernels.rows(kernel, "i"):
                kernel.add(f"v = {kernel.use('row_list')}[i]")
                if self.phase.combines:
                    self.gather_vectors(kernel)
                else:
                    self.gather_neighbourhood(kernel)
            return
        kernel.use("row_list")
        kernel.use("group_size")
        kernel.add(THREADS, GROUPS)
        for m in self.messages:
            kernel.add(f"tile_{m.name} = cuda.shared.array(BLOCK, {dtype_name(m)})")
        kernel.add("in_block = thread - block_start", "group_ahead = in_block // group_size")
        # all threads of a block make the same number of iterations, because groups synchronise at barriers
        with kernel.block("for group_start in range(lo + group_number - group_ahead, hi, group_count):"):
            kernel.add("i = group_start + group_ahead", "v = row_list[min(i, hi - one)]")
            self.gather_in_groups(kernel)

    def gather_in_groups(self, kernel: KernelText) -> None:
        """Each thread merges some edges in registers, the group merges in shared memory, and one thread stores."""
        enough = ""
        if is_bounded(self.phase) and not self.analysis.synchronous:
            enough = self.start_from_inbox(kernel)
        else:
            self.start_totals(kernel)
        condition = f"i < hi and not ({enough})" if enough else "i < hi"
        first, last = (f"uint64(indptr[{row}]) - edge_base" for row in ("v", "v + one"))
        with kernel.block(f"if {condition}:"), shared_edges(kernel, first, last), self.sender(kernel):
            self.name_sent(kernel)
            self.merge_into_totals(kernel)
            if enough:
                kernel.add(f"if {enough}: break")
        with kernel.block("if group_size > one:"):
            merge_in_group(kernel, [(f"tile_{m.name}", f"total_{m.name}", m) for m in self.messages])
        with kernel.block("if i < hi and in_group == 0:"):
            self.store_totals(kernel)

    def arrive(self, kernel: KernelText) -> None:
        with kernel.block(f"if {kernel.use('arrived')}[v] == 0:"):
            kernel.add("arrived[v] = 1", place_on_queue(kernel))

    def scratch(self, kernel: KernelText, names: Sequence[str]) -> list[str]:
        """Scratch for a neighbourhood: its own part of arrays that cover all edges."""
        for name in super().scratch(kernel, names):
            ends = (f"{SCRATCH[name]} * (indptr[{row}] - int64(edge_base))" for row in ("v", "v + one"))
            kernel.add(f"own_{name} = {name}[{':'.join(ends)}]")
        return [f"own_{name}" for name in names]

    def look_ahead(self, kernel: KernelText) -> None:
        """Do nothing, as other threads run while one waits for memory."""

    fetch_ahead = look_ahead

    def put(self, kernel: KernelText, message: Message, place: str) -> None:
        """Merge into an inbox that others may write concurrently; check first, because most messages change nothing."""
        array, index = inbox_name(self.phase, message), "v" if message.shape is None else "(v, c)"
        name, atomic = message.name, atomic_of(message)
        if atomic is None:  # then only one thread writes
            super().put(kernel, message, place)
        elif message.dtype.kind == "b":  # all threads write the same value
            self.if_news(kernel, message, place)
            kernel.add(f"    {place} = new_{name}", "    changed = True")
        elif self.phase.idempotent:
            self.if_news(kernel, message, place)
            kernel.add(f"    old_{name} = atomic_{atomic}({array}, {index}, new_{name})")
            kernel.add(f"    changed = changed or {merged_text(message, f'old_{name}', f'new_{name}')} != old_{name}")
        else:
            with kernel.block(f"if new_{name} != {literal(message.identity)}:"):
                kernel.add(f"atomic_{atomic}({array}, {index}, new_{name})", "changed = True")

    def if_news(self, kernel: KernelText, message: Message, place: str) -> None:
        """Test whether a message would change an inbox, which is read once: others may write to it meanwhile, and the
        test must not take their message for this one's news."""
        held = f"held_{message.name}"
        kernel.add(f"{held} = {place}", f"if {merged_text(message, held, f'new_{message.name}')} != {held}:")

    def enqueue(self, kernel: KernelText) -> None:
        with kernel.block(f"if changed and atomic_set({kernel.use('arrived')}, v, 1) == 0:"):
            kernel.add(place_on_queue(kernel))

    reached = enqueue

    def close_queue(self, kernel: KernelText) -> None:
        """Return nothing: the counter holds the length."""


def place_on_queue(kernel: KernelText) -> str:
    queue, queued, listed = (kernel.use(name) for name in ("queue", "queued", "listed"))
    return f"{queue}[{queued} + uint64(next_place({listed}))] = v"


@contextmanager
def shared_edges(kernel: KernelText, first: str, last: str) -> Iterator[None]:
    """A loop over a thread's share of its group's edges; a `range` would divide by its step."""
    kernel.add(f"e, edge_end = {first} + in_group, {last}")
    with kernel.block("while e < edge_end:"):
        yield
        kernel.add("e += group_size")


class CudaKernelWriter(KernelWriter):
    """Writes all kernels of a program for CUDA."""

    edge_writer = CudaEdgeKernelWriter

    def __init__(self, analysis: Analysis, arrays: dict):
        super().__init__(analysis, arrays)
        for phase in analysis.phases:
            if is_bounded(phase) and not analysis.synchronous:
                self.best(phase)

    def best(self, phase: PhaseAnalysis) -> None:
        """Compute the bound of a round (see `bounds.py`)."""
        kernel = self.kernel(phase_name(phase, BEST), "The best message of senders[lo:hi].", "senders")
        fields = {bound_name(phase, message): message for message in phase.messages}
        kernel.add(*identities("fold", fields))
        with self.rows(kernel, "i"):
            kernel.add("u = senders[i]")
            for name, m in fields.items():
                sent = f"{kernel.use(sent_name(phase, m))}[u]"
                kernel.add(f"fold_{name} = {merged_text(m, f'fold_{name}', sent)}")
        self.merge_blocks(kernel, fields)

    def kernel(self, name: str, doc: str, *first: str) -> KernelText:
        kernel = super().kernel(name, doc, *first)
        kernel.at_edge = "streamed({array}, {edge})"
        return kernel

    def rows(self, kernel: KernelText, row: str = "v") -> Any:
        kernel.add(THREADS)
        return kernel.block(f"for {row} in range(lo + thread, hi, grid_size):")

    def open_list(self, kernel: KernelText) -> None:
        pass

    def enlist(self, kernel: KernelText) -> None:
        kernel.add(f"{kernel.use('queue')}[next_place({kernel.use('listed')})] = v")

    def close_list(self, kernel: KernelText) -> None:
        pass

    def close_count(self, kernel: KernelText) -> None:
        kernel.add(f"atomic_add({kernel.use('listed')}, 0, int64(count))")

    @contextmanager
    def rows_to_fold(self, kernel: KernelText, fields: Mapping[str, Any]) -> Iterator[None]:
        kernel.add(*identities("fold", fields))
        with self.rows(kernel):
            yield
        self.merge_blocks(kernel, fields)

    def merge_blocks(self, kernel: KernelText, fields: Mapping[str, Any]) -> None:
        """The threads of each block merge their values, and the last block merges those of all blocks."""
        values = [(f"tile_{n}", f"fold_{n}", f) for n, f in fields.items()]
        kernel.add("group_size = uint64(BLOCK)", "in_block = thread - block_start", "in_group = in_block")
        kernel.add(*(f"tile_{name} = cuda.shared.array(BLOCK, {dtype_name(of)})" for name, of in fields.items()))
        merge_in_group(kernel, values)
        with kernel.block("if thread == block_start:"):
            kernel.add(*(f"{kernel.use(partial_name(n), True)}[block_start // group_size] = fold_{n}" for n in fields))
        with kernel.block(f"if is_last({kernel.use(FINISHED)}):"):
            kernel.add(*identities("fold", fields))
            with kernel.block("for block in range(in_block, grid_size // group_size, group_size):"):
                for n, f in fields.items():
                    kernel.add(f"fold_{n} = {merged_text(f, f'fold_{n}', f'{partial_name(n)}[block]')}")
            merge_in_group(kernel, values)
            with kernel.block("if in_block == 0:"):
                kernel.add(*(f"{kernel.use(total_name(n), True)}[0] = fold_{n}" for n in fields))


def merge_in_group(kernel: KernelText, values: Sequence[tuple[str, str, Folded]]) -> None:
    """Merge the values of a group of threads, given as (shared memory, variable, field), into its first thread."""
    kernel.add(*(f"{tile}[in_block] = {value}" for tile, value, _ in values), "reach = group_size // uint64(2)")
    with kernel.block("while reach > 0:"):
        kernel.add("barrier(group_size)")
        with kernel.block("if in_group < reach:"):
            for tile, _, of in values:
                merged = merged_text(of, f"{tile}[in_block]", f"{tile}[in_block + reach]")
                kernel.add(f"{tile}[in_block] = {merged}")
        kernel.add("reach = reach // uint64(2)")
    kernel.add(*(f"{value} = {tile}[in_block]" for tile, value, _ in values), "barrier(group_size)")


def arrays_of(analysis: Analysis, arrays: Mapping[str, Argument]) -> dict[str, Argument]:
    """All arguments that the kernels may use, derived from those of CPU kernels."""
    names = {what(name): of for name, of in folded(analysis).items() for what in (partial_name, total_name)}
    return {**arrays, **ARGUMENTS, **by_name(*(Argument(name, of.dtype.name, 1, True) for name, of in names.items()))}


def dtype_name(of: Field) -> str:
    """The name under which the head imports a dtype."""
    return "bool_" if of.dtype.kind == "b" else of.dtype.name
