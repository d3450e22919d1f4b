"""A CUDA device: generated kernels as grids of threads. Nothing of CUDA is imported before the first kernel runs.

Arrays over vertices stay on the device from the first round to the last (`device_vertex_arrays.py`), edges as long as
their partition lives. Rows are put into lists by their number of edges: one thread gathers a short row, a few threads
or a warp a longer one, a block the longest. A warp sends along the first edges of a sender; the rest of a long row is
shared by blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from dgraph.codegen.cuda.array_kernels import array_kernels
from dgraph.codegen.cuda.cuda_kernels import FINISHED, LISTED, ROWS, Folded, partial_name, total_name
from dgraph.codegen.kernel_source import Source
from dgraph.codegen.neighbourhood_merges import SCRATCH
from dgraph.devices.device_memory import DeviceArray
from dgraph.devices.device_vertex_arrays import QUEUED, SLOTS, DeferredCount, DeviceIds, DeviceVertexArrays, parts_of
from dgraph.devices.edge_blocks import EdgeBlocks
from dgraph.devices.own_device import Device, ThreadGrid
from dgraph.devices.tally import DeviceCounters

LIMITS = 8, 64, 2048  # edges: rows of fewer are gathered by one thread, a quarter of a warp, a warp; others by a block
WHOLE_ROW = 1 << 40  # edges, which nobody has


class RowList(NamedTuple):
    """Rows that get the same number of threads, as a list in this process's memory and on the device."""

    threads: int
    here: np.ndarray
    there: DeviceArray


class Cuda:
    """Kernels of one program over one partition, by name."""

    name = "cuda"

    def __init__(
        self, source: Source, folds: Mapping[str, Folded] | None = None, budget: int | None = None, block: Any = "auto"
    ):
        self.source, self.folded, self.general_source = source, folds or {}, array_kernels()
        self.grid: ThreadGrid = Device(self.source)
        self.general: ThreadGrid = Device(self.general_source)
        self.memory = self.grid.memory
        self.memory.begin(budget)
        self.blocks = EdgeBlocks(self.memory, block)
        self.of_edges = {"neighbours", *source.edge_columns}
        dtypes = {name: field.dtype for name, field in self.folded.items()}
        self.tally = DeviceCounters(self.memory, {**SLOTS, **dtypes})
        self.arrays = DeviceVertexArrays(self.memory, self.tally, self._general, self._fold)
        self._own: dict[str, Any] = {total_name(name): self.tally.there[name] for name in dtypes}
        self._own |= {partial_name(name): self.memory.empty(self.grid.blocks, dtype) for name, dtype in dtypes.items()}
        self._own[FINISHED] = self.memory.moved(np.zeros(1, np.int64))
        self._own |= {"parts": self.memory.moved(np.zeros(1, np.uint32)), "part_size": WHOLE_ROW}
        self._lists: dict[tuple, tuple[Any, list[RowList]]] = {}
        self._counts: dict[str, DeferredCount] = {}
        self._asked: dict[str, frozenset[str]] = {}  # arguments of each kernel

    def once(self, name: str, count: int, values: Mapping[str, Any]) -> Any:
        """Run a push or a receive; returns how long the queue is now."""
        found = self._queue(values["queued"])
        values = {**values, "queued": found.before, LISTED: QUEUED}
        rest, groups = parts_of(values), self.grid.groups

        def run(edges: Mapping[str, Any], low: int, high: int) -> None:
            own = {**values, **edges}
            if rest is None:
                self._launch(name, 0, count, own, groups.warp)
                return
            parts = rest.arguments
            self._launch(name, 0, count, {**own, "part_size": parts["part_size"]}, groups.warp)
            self._launch(name, 0, int(rest.length), {**own, **parts}, groups.block)

        edges = self._edges(name, values)
        if count and edges:
            self.blocks.each(name, edges, values["indptr"], 0, run)
        elif count:
            run({}, 0, 0)
        return found

    def rows(
        self, name: str, count: int, values: Mapping[str, Any], first: int = 0, block: int | None = None
    ) -> list[tuple[int, Any]]:
        """Run a kernel over all rows at once. `block` is for devices whose sums depend on it."""
        names = self._names(name)
        if ROWS in names:
            return [(first, self._pull(name, count, values, first))]
        if FINISHED in names:
            return [(first, tuple(self._fold(name, count, values, first).values()))]
        found = self._count(LISTED) if LISTED in names else None
        self._launch(name, first, count, {**values, LISTED: LISTED})
        return [(first, found)]

    def _pull(self, name: str, count: int, values: Mapping[str, Any], first: int) -> Any:
        found = self._queue(values["queued"]) if LISTED in self._names(name) else None
        if found is not None:
            values = {**values, "queued": found.before, LISTED: QUEUED}
        lists = self._listed(values["indptr"], first, count)

        def run(edges: Mapping[str, Any], low: int, high: int) -> None:
            self.gather(name, lists, {**values, **edges}, low, high)

        edges, ends = self._edges(name, values), values["indptr"][first : count + 1]
        self.blocks.each(name, edges, ends, first, run, lambda count: self._room(name, count))
        return found

    def gather(self, name: str, lists: Iterable[RowList], values: Mapping[str, Any], low: int, high: int) -> None:
        """Pull for the rows from low to high of some lists."""
        own = self._room(name, len(values["neighbours"]))
        for one in lists:
            ends = np.array([low, high], one.here.dtype)  # of another type, all rows would be cast
            lo, hi = np.searchsorted(one.here, ends).tolist()
            self._launch(name, lo, hi, {LISTED: QUEUED, **values, **own, ROWS: one.there}, one.threads)

    def counted(self) -> dict[str, Any]:
        """Columns of the report since this was last called: bytes of edges that passed through, and of messages that
        stayed on devices."""
        streamed, self.blocks.streamed = self.blocks.streamed, 0
        direct, self.arrays.direct = self.arrays.direct, 0
        return {"streamed": streamed, "block_size": self.blocks.size if streamed else 0, "direct": direct}

    def close(self) -> None:
        """Forget the arrays, which refer to this object: so their memory is free as soon as nobody else has them."""
        del self.arrays

    # -- launching -----------------------------------------------------------------------------------------------------

    def _launch(self, name: str, lo: int, hi: int, values: Mapping[str, Any], group: int = 1) -> None:
        """Run a kernel over rows."""
        if hi > lo:
            known = {"edge_base": 0, "row_low": 0, "row_high": 1 << 32, **self._own, **values}
            known |= {"lo": lo, "hi": hi, "group_size": group}
            self._start(self.grid, self.source, name, (hi - lo) * group, known)

    def _general(self, name: str, hi: int, lo: int = 0, most: int = 0, **values: Any) -> None:
        """Run a kernel that no program changes; over at most `most` rows, if only the device knows how many."""
        if hi > lo or most:
            self._start(self.general, self.general_source, name, most or hi - lo, {**values, "lo": lo, "hi": hi})

    def _start(self, grid: ThreadGrid, source: Source, name: str, threads: int, known: Mapping[str, Any]) -> None:
        arguments = [self._argument(argument, known[argument.name]) for argument in source.kernels[name]]
        self.tally.known = False
        grid.launch(name, min(-(-threads // grid.block), grid.blocks), arguments)

    def _argument(self, argument: Any, value: Any) -> Any:
        if not argument.dims:
            return np.dtype(argument.dtype).type(value)
        if isinstance(value, str):
            return self.tally.there[value]
        if isinstance(value, DeviceIds):
            return value.array
        if isinstance(value, DeviceArray):
            return value
        return self.arrays.given(argument.name, value) if _passes(argument.name) else self.memory.stays(value)

    def _queue(self, queued: Any) -> DeferredCount:
        """The length of the queue before the next kernel. It need not be known here if the last kernel made it
        longer."""
        last = self._counts.get(QUEUED)
        if queued is last and last is not None and last.value is None:
            self._counts[QUEUED] = DeferredCount(self.tally, QUEUED, last.before)
            return self._counts[QUEUED]
        return self._count(QUEUED, int(queued))

    def _count(self, slot: str, before: int = 0) -> DeferredCount:
        """A count of what the next kernel lists."""
        if slot in self._counts:
            int(self._counts[slot])  # while it can be read
        self.tally.clear(slot, slot)
        self._counts[slot] = DeferredCount(self.tally, slot, before)
        return self._counts[slot]

    def _fold(self, name: str, count: int, values: Mapping[str, Any], first: int = 0) -> dict[str, Any]:
        """Run a kernel that folds values; returns these, by name."""
        names = [one for one in self.folded if total_name(one) in self._names(name)]
        self._launch(name, first, count, values)
        return {one: self.tally[one] if count > first else self.folded[one].identity for one in names}

    def _names(self, name: str) -> frozenset[str]:
        if name not in self._asked:
            self._asked[name] = frozenset(argument.name for argument in self.source.kernels[name])
        return self._asked[name]

    # -- edges ---------------------------------------------------------------------------------------------------------

    def _edges(self, name: str, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The arrays over edges that a kernel reads and that are not kept on the device."""
        names = self.of_edges.intersection(self._names(name))
        return {one: values[one] for one in sorted(names) if isinstance(values[one], np.ndarray)}

    def _listed(self, indptr: np.ndarray, first: int, count: int) -> list[RowList]:
        """The lists of rows of a table, made once."""
        key = id(indptr), first, count
        if key not in self._lists:
            lists = self.by_degree(indptr[first : count + 1], first)
            self._lists[key] = indptr, [RowList(size, here, self.memory.moved(here)) for size, here in lists]
        return self._lists[key][1]

    def by_degree(self, ends: np.ndarray, first: int) -> list[tuple[int, np.ndarray]]:
        """(Threads a row, rows in ascending order) by the rows' numbers of edges; the first row has the number
        `first`."""
        classes = np.digitize(np.diff(ends), LIMITS)
        lists = [(first + np.flatnonzero(classes == i)).astype(np.uint32) for i in range(len(LIMITS) + 1)]
        return list(zip(self.grid.groups, lists, strict=True))

    def _room(self, name: str, edges: int) -> dict[str, DeviceArray]:
        """Scratch for the neighbourhoods of so many edges, if the kernel wants any."""
        wanted = SCRATCH.keys() & self._names(name)
        return self.arrays.rooms({one: SCRATCH[one] * edges for one in sorted(wanted)}, np.int64)


def _passes(argument: str) -> bool:
    """Whether an array of the host is read only once, because it came from another partition; all others are of
    edges."""
    return argument == "ids" or argument.startswith("incoming_")
