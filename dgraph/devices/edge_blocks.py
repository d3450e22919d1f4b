"""The edges of a table on a device: all of them while there is memory for them; else block after block, the next on its
way while kernels run over one. Blocks are consecutive rows, as long as their measured costs say
(`pipeline/block_size.py`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dgraph.agents.daemon import BUFFERS
from dgraph.devices.device_memory import DeviceArray, Memory
from dgraph.errors import DeviceError
from dgraph.pipeline.block_size import BlockTimings, size_for
from dgraph.pipeline.blocks import Block, cut
from dgraph.pipeline.stages import in_turn, side_by_side

FIRST = 1 << 22  # edges of a block before enough has been measured
SHORTEST = 1 << 18  # that the model may choose: what it learns from blocks of one length is mostly noise
FEWEST = 1 << 8  # where memory is short: less is no block
SPARE = 1 / 8  # of the memory is not for edges: results come last
DOWN, COMPUTE = 0, 1  # stages, and their streams

Arrays = dict[str, Any]
RunRows = Callable[[Arrays, int, int], None]  # kernels over the edges of some rows: their arguments, first and last row


class BlockBuffer(NamedTuple):
    """Room for one array of a block: on the device, and in pinned memory here, unless the table itself is pinned."""

    here: np.ndarray | None
    there: DeviceArray


class EdgeBlocks:
    """For the tables of one partition. `size`: edges a block, "auto", or None: one stage after the other."""

    def __init__(self, memory: Memory, size: int | str | None = "auto"):
        self.memory, self.asked = memory, size
        self.measured: defaultdict[str, BlockTimings] = defaultdict(BlockTimings)  # of each kernel
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
        """Call `run` for blocks that cover all rows whose edges are between consecutive `ends`; the first row has
        number `first`. `prepare` makes scratch for kernels over so many edges."""
        if self._stay(edges, prepare):
            run({}, first, first + len(ends) - 1)
            return
        blocks = [Block(a + first, b + first, e) for a, b, e in self._cut(kernel, edges, ends, prepare)]
        self.memory.wait()  # what follows goes by streams of its own
        passage = BlockTransfer(self, kernel, edges, ends, first, run)
        if self.asked is None or len(blocks) == 1:
            in_turn(passage, blocks)
        else:
            side_by_side([passage], blocks)

    def _stay(self, edges: Mapping[str, np.ndarray], prepare: Callable[[int], Any]) -> bool:
        """Whether all edges are on the device; they are brought there if there is room."""
        missing = [array for array in edges.values() if not self.memory.has(array)]
        if missing and not self.memory.fits(sum(array.nbytes for array in missing), SPARE):
            return False
        try:
            for array in missing:
                self.memory.stays(array)
            prepare(max(map(len, edges.values())))
        except DeviceError:  # less is left than the budget says
            for array in missing:
                self.memory.let_go(array)
            return False
        return True

    def _cut(
        self, kernel: str, edges: Mapping[str, np.ndarray], ends: np.ndarray, prepare: Callable[[int], Any]
    ) -> Sequence[Block]:
        """Blocks for which there is room; smaller ones after an out-of-memory error."""
        count = int(ends[-1] - ends[0])
        size = size_for(self.asked, count, [self.measured[kernel].fit()], FIRST, SHORTEST)
        self.size = max(FEWEST, min(size, -(-count // BUFFERS)))
        while True:
            blocks = cut(ends, self.size, taper=self.asked == "auto")
            try:
                longest = max(block.edges for block in blocks)
                self._make_room(edges, longest)
                prepare(longest)
            except DeviceError as error:
                if self.size <= FEWEST:
                    raise DeviceError(
                        f"the device has no room for {BUFFERS} blocks of {longest:,} edges beside "
                        f"{self.memory.used:,} bytes of all else: raise memory_budget=, or make more parts of the graph"
                    ) from error
                self.size = max(FEWEST, self.size // 2)
                continue
            return blocks

    def _make_room(self, edges: Mapping[str, np.ndarray], count: int) -> None:
        if self.buffers and count <= self.capacity and all(self._fits(name, array) for name, array in edges.items()):
            return
        self.buffers, self.capacity = [], 0  # first, for there may be no room for both
        size = BUFFERS * count * sum(array.itemsize for array in edges.values())
        if not self.memory.fits(size, SPARE):
            raise DeviceError(f"{size:,} bytes for blocks of {count:,} edges leave too little")
        self.buffers = [{name: self._buffer(count, array) for name, array in edges.items()} for _ in range(BUFFERS)]
        self.capacity = count

    def _fits(self, name: str, array: np.ndarray) -> bool:
        buffer = self.buffers[0].get(name)
        if buffer is None or buffer.there.dtype != array.dtype:
            return False
        return buffer.here is not None or self.memory.pin(array)

    def _buffer(self, count: int, array: np.ndarray) -> BlockBuffer:
        here = None if self.memory.pin(array) else self.memory.pinned(count * array.itemsize).view(array.dtype)
        return BlockBuffer(here, self.memory.empty(count, array.dtype))


class BlockTransfer:
    """The blocks of one request on their way: stages of `pipeline/stages.py`. Nothing of a block comes back."""

    def __init__(
        self,
        owner: EdgeBlocks,
        kernel: str,
        edges: Mapping[str, np.ndarray],
        ends: np.ndarray,
        first: int,
        run: RunRows,
    ):
        self.owner, self.kernel, self.edges, self.ends, self.first, self.run = owner, kernel, edges, ends, first, run

    def download(self, block: Block, buffer: int) -> tuple[Block, Arrays]:
        base, end = (int(self.ends[row - self.first]) for row in (block.first, block.last))
        arrays: Arrays = {"edge_base": base, "row_low": block.first, "row_high": block.last}
        with self.owner.memory.stage(DOWN):
            for name, array in self.edges.items():
                room, count = self.owner.buffers[buffer][name], end - base
                block_of, there = array[base:end], room.there[:count]
                if room.here is not None:
                    room.here[:count] = block_of
                    block_of = room.here[:count]
                self.owner.memory.put(there, block_of)
                self.owner.streamed += there.nbytes
                arrays[name] = there
        return block, arrays

    def compute(self, work: tuple[Block, Arrays]) -> None:
        block, arrays = work
        with self.owner.memory.stage(COMPUTE):
            self.run(arrays, block.first, block.last)

    def upload(self, work: tuple[Block, Arrays]) -> None:
        """Kernels write to arrays that stay."""

    def measure(self, work: tuple[Block, Arrays], seconds: list[float]) -> None:
        self.owner.measured[self.kernel].add(work[0].edges, *seconds)
