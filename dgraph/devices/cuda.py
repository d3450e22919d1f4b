"""A CUDA device: runs generated kernels as grids of threads. CUDA libraries are imported when the first kernel runs.

Arrays over vertices stay on the device from the first round to the last (`device_vertex_arrays.py`), and edges as long
as their partition exists. For gathering, rows are listed by their number of edges: one thread gathers a short row, a
few threads or a warp a longer one, and a block the longest. For sending, a warp takes the first edges of a sender, and
blocks share the rest of a long row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dgraph.codegen.cuda.array_kernels import array_kernels
from dgraph.codegen.cuda.cuda_kernels import FINISHED, LISTED, ROWS, Folded, partial_name, total_name
from dgraph.codegen.kernel_source import Source
from dgraph.codegen.neighbourhood_merges import SCRATCH
from dgraph.devices.device_memory import DeviceArray, Memory
from dgraph.devices.device_vertex_arrays import QUEUED, DeferredCount, DeviceIds, DeviceVertexArrays, parts_of
from dgraph.devices.own_device import Device
from dgraph.errors import DeviceError
from dgraph.pipeline.block_size import CostFit, size_for
from dgraph.pipeline.blocks import Block, cut_blocks
from dgraph.pipeline.stages import BUFFERS, run_concurrently, run_sequentially

ROW_LIMITS = 8, 64, 2048  # shorter rows are gathered by one thread, a quarter of a warp, a warp; longer ones by a block
WHOLE_ROW = 1 << 40  # more edges than any row has
FIRST_SIZE = 1 << 22  # edges per block until enough has been measured
FEWEST_CHOSEN = 1 << 18  # fewest edges that the model may choose: fits to blocks of one length are mostly noise
FEWEST_EDGES = 1 << 8  # fewest edges per block when memory is short
RESERVED_SHARE = 1 / 8  # share of the memory reserved for results, which are allocated last
DOWN, COMPUTE, UP = range(3)  # the stages of a pipeline, and the numbers of their streams

Arrays = dict[str, Any]
RunRows = Callable[[Arrays, int, int], None]  # runs kernels over some rows: arguments, first row, end


class RowList(NamedTuple):
    """Rows that get the same number of threads, as a list on the host and on the device."""

    threads: int
    host: np.ndarray
    device: DeviceArray


class CudaDevice:
    """The kernels of one program over one partition, by name."""

    name = "cuda"
    lanes: Sequence[Any] = ()  # of daemons
    one_thread = False

    def __init__(
        self, source: Source, folds: Mapping[str, Folded] | None = None, budget: int | None = None, block: Any = "auto"
    ):
        self.source, self.folded, self.general_source = source, folds or {}, array_kernels()
        self.grid = Device(self.source)
        self.general = Device(self.general_source)
        self.memory = self.grid.memory
        self.memory.begin(budget)
        self.blocks = EdgeBlocks(self.memory, block)
        self.edge_arrays = {"neighbours", *source.edge_columns}
        dtypes = {name: field.dtype for name, field in self.folded.items()}
        self.arrays = DeviceVertexArrays(self.memory, dtypes, self._general, self._fold)
        self.tally = self.arrays.tally
        self._own: dict[str, Any] = {total_name(name): self.tally.device[name] for name in dtypes}
        self._own |= {partial_name(name): self.memory.empty(self.grid.blocks, dtype) for name, dtype in dtypes.items()}
        self._own[FINISHED] = self.memory.to_device(np.zeros(1, np.int64))
        self._own |= {"parts": self.memory.to_device(np.zeros(1, np.uint32)), "part_size": WHOLE_ROW}
        self._lists: dict[tuple, tuple[Any, list[RowList]]] = {}
        self._counts: dict[str, DeferredCount] = {}
        self._names = {name: {one.name for one in arguments} for name, arguments in source.kernels.items()}

    def once(self, name: str, count: int, values: Mapping[str, Any]) -> Any:
        """Run a push or a receive; returns the new length of the queue."""
        queued = self._queue(values["queued"])
        values = {**values, "queued": queued.before, LISTED: QUEUED}
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
        return queued

    def rows(
        self, name: str, count: int, values: Mapping[str, Any], first: int = 0, block: int | None = None
    ) -> list[tuple[int, Any]]:
        """Run a kernel over all rows at once. `block` matters only on devices whose sums depend on it."""
        names = self._names[name]
        if ROWS in names:
            return [(first, self._pull(name, count, values, first))]
        if FINISHED in names:
            return [(first, tuple(self._fold(name, count, values, first).values()))]
        listed = self._count(LISTED) if LISTED in names else None
        self._launch(name, first, count, {**values, LISTED: LISTED})
        return [(first, listed)]

    def _pull(self, name: str, count: int, values: Mapping[str, Any], first: int) -> Any:
        queued = self._queue(values["queued"]) if LISTED in self._names[name] else None
        if queued is not None:
            values = {**values, "queued": queued.before, LISTED: QUEUED}
        lists = self._listed(values["indptr"], first, count)

        def run(edges: Mapping[str, Any], low: int, high: int) -> None:
            self.gather(name, lists, {**values, **edges}, low, high)

        edges, ends = self._edges(name, values), values["indptr"][first : count + 1]
        self.blocks.each(name, edges, ends, first, run, lambda count: self._scratch(name, count))
        return queued

    def gather(self, name: str, lists: Iterable[RowList], values: Mapping[str, Any], low: int, high: int) -> None:
        """Run a pull for the rows of some lists that are between low and high."""
        scratch = self._scratch(name, len(values["neighbours"]))
        for rows in lists:
            ends = np.array([low, high], rows.host.dtype)  # with another type, `searchsorted` would cast all rows
            lo, hi = np.searchsorted(rows.host, ends).tolist()
            self._launch(name, lo, hi, {LISTED: QUEUED, **values, **scratch, ROWS: rows.device}, rows.threads)

    def counted(self) -> dict[str, Any]:
        """Columns of the report since the last call: bytes of edges streamed, and of messages that stayed on
        devices."""
        streamed, self.blocks.streamed = self.blocks.streamed, 0
        direct, self.arrays.direct = self.arrays.direct, 0
        size = self.blocks.size if streamed else 0
        return {"device": self.name, "streamed": streamed, "block_size": size, "direct": direct}

    def disconnect(self) -> None:
        """Break the reference cycle with the arrays, so that their memory is freed with their last user."""
        del self.arrays

    # -- launching -----------------------------------------------------------------------------------------------------

    def _launch(self, name: str, lo: int, hi: int, values: Mapping[str, Any], group: int = 1) -> None:
        """Run a kernel over rows."""
        if hi > lo:
            known = {"edge_base": 0, "row_low": 0, "row_high": 1 << 32, **self._own, **values}
            known |= {"lo": lo, "hi": hi, "group_size": group}
            self._start(self.grid, self.source, name, (hi - lo) * group, known)

    def _general(self, name: str, hi: int, lo: int = 0, most: int = 0, **values: Any) -> None:
        """Run a kernel of `codegen/cuda/array_kernels.py`; over at most `most` rows if only the device knows how
        many."""
        if hi > lo or most:
            self._start(self.general, self.general_source, name, most or hi - lo, {**values, "lo": lo, "hi": hi})

    def _start(self, grid: Device, source: Source, name: str, threads: int, known: Mapping[str, Any]) -> None:
        arguments = [self._argument(argument, known[argument.name]) for argument in source.kernels[name]]
        self.tally.known = False
        grid.launch(name, min(-(-threads // grid.block), grid.blocks), arguments)

    def _argument(self, argument: Any, value: Any) -> Any:
        if not argument.dims:
            return np.dtype(argument.dtype).type(value)
        if isinstance(value, str):
            return self.tally.device[value]
        if isinstance(value, DeviceIds):
            return value.array
        if isinstance(value, DeviceArray):
            return value
        if argument.name == "ids" or argument.name.startswith("incoming_"):  # mail is read only once
            return self.arrays.copy_to_scratch(argument.name, value)
        return self.memory.resident_copy(value)  # edges

    def _queue(self, queued: Any) -> DeferredCount:
        """The length of the queue before the next kernel. The host need not know it if the last kernel extended the
        queue."""
        last = self._counts.get(QUEUED)
        if queued is last and last is not None and last.value is None:
            self._counts[QUEUED] = DeferredCount(self.tally, QUEUED, last.before)
            return self._counts[QUEUED]
        return self._count(QUEUED, int(queued))

    def _count(self, slot: str, before: int = 0) -> DeferredCount:
        """The number of vertices that the next kernel lists."""
        if slot in self._counts:
            int(self._counts[slot])  # read the old count before it is overwritten
        self.tally.clear(slot, slot)
        self._counts[slot] = DeferredCount(self.tally, slot, before)
        return self._counts[slot]

    def _fold(self, name: str, count: int, values: Mapping[str, Any], first: int = 0) -> dict[str, Any]:
        """Run a kernel that folds values; returns them by name."""
        names = [one for one in self.folded if total_name(one) in self._names[name]]
        self._launch(name, first, count, values)
        return {one: self.tally[one] if count > first else self.folded[one].identity for one in names}

    # -- edges ---------------------------------------------------------------------------------------------------------

    def _edges(self, name: str, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The arrays over edges that a kernel reads from the host."""
        names = self.edge_arrays.intersection(self._names[name])
        return {one: values[one] for one in sorted(names) if isinstance(values[one], np.ndarray)}

    def _listed(self, indptr: np.ndarray, first: int, count: int) -> list[RowList]:
        """The lists of rows of a table, computed once."""
        key = id(indptr), first, count
        if key not in self._lists:
            lists = self.by_degree(indptr[first : count + 1], first)
            self._lists[key] = indptr, [RowList(size, rows, self.memory.to_device(rows)) for size, rows in lists]
        return self._lists[key][1]

    def by_degree(self, ends: np.ndarray, first: int) -> list[tuple[int, np.ndarray]]:
        """Pairs (threads per row, rows in ascending order), by number of edges; the first row has number `first`."""
        classes = np.digitize(np.diff(ends), ROW_LIMITS)
        lists = [(first + np.flatnonzero(classes == i)).astype(np.uint32) for i in range(len(ROW_LIMITS) + 1)]
        return list(zip(self.grid.groups, lists, strict=True))

    def _scratch(self, name: str, edges: int) -> dict[str, DeviceArray]:
        """Scratch for the neighbourhoods of this many edges, if the kernel uses any."""
        names = SCRATCH.keys() & self._names[name]
        return self.arrays.scratch_arrays({one: SCRATCH[one] * edges for one in sorted(names)}, np.int64)


class BlockBuffer(NamedTuple):
    """A buffer for one array of a block: on the device, and in pinned host memory unless the table itself is pinned."""

    host: np.ndarray | None
    device: DeviceArray


class EdgeBlocks:
    """The edges of the tables of one partition on a device: all of them if they fit in its memory; otherwise they are
    streamed in blocks, and the next block is copied while kernels run over the current one. Blocks are consecutive
    rows; their length is chosen from measured costs (`pipeline/block_size.py`). `size` is the number of edges per
    block, "auto", or None to run the stages one after another."""

    def __init__(self, memory: Memory, size: int | str | None = "auto"):
        self.memory, self.block = memory, size
        self.measured: defaultdict[str, CostFit] = defaultdict(CostFit)  # by kernel
        self.buffers: list[dict[str, BlockBuffer]] = []
        self.capacity = self.size = self.streamed = 0  # edges, edges, bytes

    def each(
        self,
        kernel: str,
        edges: Mapping[str, np.ndarray],
        ends: np.ndarray,
        first: int,
        run: RunRows,
        prepare: Callable[[int], Any] = lambda count: None,
    ) -> None:
        """Call `run` for blocks that cover all rows; the edges of a row are between consecutive `ends`, and the first
        row has number `first`. `prepare` allocates scratch for kernels over a number of edges."""
        if self._keep_on_device(edges, prepare):
            run({}, first, first + len(ends) - 1)
            return
        blocks = [Block(a + first, b + first, e) for a, b, e in self._cut(kernel, edges, ends, prepare)]
        self.memory.wait()  # because stages use separate streams
        passage = BlockTransfer(self, kernel, edges, ends, first, run)
        if self.block is None or len(blocks) == 1:
            run_sequentially(passage, blocks)
        else:
            run_concurrently([passage], blocks)

    def _keep_on_device(self, edges: Mapping[str, np.ndarray], prepare: Callable[[int], Any]) -> bool:
        """Copy all edges to the device if they fit; returns whether they are there."""
        missing = [array for array in edges.values() if not self.memory.has(array)]
        if missing and not self.memory.fits(sum(array.nbytes for array in missing), RESERVED_SHARE):
            return False
        try:
            for array in missing:
                self.memory.resident_copy(array)
            prepare(max(map(len, edges.values())))
        except DeviceError:  # less memory is left than the budget says
            for array in missing:
                self.memory.let_go(array)
            return False
        return True

    def _cut(
        self, kernel: str, edges: Mapping[str, np.ndarray], ends: np.ndarray, prepare: Callable[[int], Any]
    ) -> Sequence[Block]:
        """Blocks that fit in memory, found by halving their size after out-of-memory errors."""
        count = int(ends[-1] - ends[0])
        size = size_for(self.block, count, [self.measured[kernel].fit()], FIRST_SIZE, FEWEST_CHOSEN)
        self.size = max(FEWEST_EDGES, min(size, -(-count // BUFFERS)))
        while True:
            blocks = cut_blocks(ends, self.size, taper=self.block == "auto")
            try:
                longest = max(block.edges for block in blocks)
                self._make_room(edges, longest)
                prepare(longest)
                return blocks
            except DeviceError as error:
                if self.size <= FEWEST_EDGES:
                    need = f"{BUFFERS} blocks of {longest:,} edges in addition to {self.memory.used:,} bytes in use"
                    remedy = "raise memory= of dg.Cuda, or build the graph with more parts="
                    raise DeviceError(f"the device does not have enough memory for {need}: {remedy}") from error
                self.size = max(FEWEST_EDGES, self.size // 2)

    def _make_room(self, edges: Mapping[str, np.ndarray], count: int) -> None:
        if self.buffers and count <= self.capacity and all(self._fits(name, array) for name, array in edges.items()):
            return
        self.buffers, self.capacity = [], 0  # first, because there may be no memory for both
        size = BUFFERS * count * sum(array.itemsize for array in edges.values())
        if not self.memory.fits(2 * size, RESERVED_SHARE):  # other partitions may need blocks on the same device
            raise DeviceError(f"{size:,} bytes for blocks of {count:,} edges leave too little memory for results")
        self.buffers = [{name: self._buffer(count, array) for name, array in edges.items()} for _ in range(BUFFERS)]
        self.capacity = count

    def _fits(self, name: str, array: np.ndarray) -> bool:
        buffer = self.buffers[0].get(name)
        if buffer is None or buffer.device.dtype != array.dtype:
            return False
        return buffer.host is not None or self.memory.pin(array)

    def _buffer(self, count: int, array: np.ndarray) -> BlockBuffer:
        host = None if self.memory.pin(array) else self.memory.pinned(count * array.itemsize).view(array.dtype)
        return BlockBuffer(host, self.memory.empty(count, array.dtype))


@dataclass
class BlockTransfer:
    """The stages (see `pipeline/stages.py`) that the blocks of one request pass through. Nothing is copied back."""

    owner: EdgeBlocks
    kernel: str
    edges: Mapping[str, np.ndarray]
    ends: np.ndarray
    first: int
    run: RunRows

    def download(self, block: Block, buffer: int) -> tuple[Block, Arrays]:
        base, end = (int(self.ends[row - self.first]) for row in (block.first, block.last))
        arrays: Arrays = {"edge_base": base, "row_low": block.first, "row_high": block.last}
        with self.owner.memory.stage(DOWN):
            for name, array in self.edges.items():
                (host, device), part, count = self.owner.buffers[buffer][name], array[base:end], end - base
                if host is not None:
                    host[:count] = part
                    part = host[:count]
                arrays[name] = device[:count]
                self.owner.memory.put(arrays[name], part)
                self.owner.streamed += part.nbytes
        return block, arrays

    def compute(self, work: tuple[Block, Arrays]) -> None:
        block, arrays = work
        with self.owner.memory.stage(COMPUTE):
            self.run(arrays, block.first, block.last)

    def upload(self, work: tuple[Block, Arrays]) -> None:
        """Nothing to do: kernels write to arrays that stay on the device."""

    def measure(self, work: tuple[Block, Arrays], seconds: list[float]) -> None:
        self.owner.measured[self.kernel].add(work[0].edges, *seconds)
