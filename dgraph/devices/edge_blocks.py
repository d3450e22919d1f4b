"""The edges of a table on a device: all of them if they fit in its memory; otherwise they are streamed in blocks, and
the next block is copied while kernels run over the current one. Blocks are consecutive rows; their length is chosen
from measured costs (`pipeline/block_size.py`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dgraph.devices.device_memory import DeviceArray, Memory
from dgraph.errors import DeviceError
from dgraph.pipeline.block_size import CostFit, size_for
from dgraph.pipeline.blocks import Block, cut_blocks
from dgraph.pipeline.stages import BUFFERS, run_concurrently, run_sequentially

FIRST_SIZE = 1 << 22  # edges per block until enough has been measured
FEWEST_CHOSEN = 1 << 18  # fewest edges that the model may choose: fits to blocks of one length are mostly noise
FEWEST_EDGES = 1 << 8  # fewest edges per block when memory is short
RESERVED_SHARE = 1 / 8  # share of the memory reserved for results, which are allocated last
DOWN, COMPUTE = 0, 1  # the stages, and the numbers of their streams

Arrays = dict[str, Any]
RunRows = Callable[[Arrays, int, int], None]  # runs kernels over some rows: arguments, first row, end


class BlockBuffer(NamedTuple):
    """A buffer for one array of a block: on the device, and in pinned host memory unless the table itself is pinned."""

    host: np.ndarray | None
    device: DeviceArray


class EdgeBlocks:
    """Edges of the tables of one partition. `size` is the number of edges per block, "auto", or None to run the stages
    one after another."""

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
            except DeviceError as error:
                if self.size <= FEWEST_EDGES:
                    raise DeviceError(
                        f"the device does not have enough memory for {BUFFERS} blocks of {longest:,} edges in addition "
                        f"to {self.memory.used:,} bytes in use: raise memory= of dg.Cuda, or build the graph with more "
                        "parts="
                    ) from error
                self.size = max(FEWEST_EDGES, self.size // 2)
                continue
            return blocks

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
