"""A CUDA device as a daemon: blocks go there and come back by three streams, one for each stage of the pipeline.

A block brings all that its kernel reads, vertices too, so a GPU serves a worker whose tables are elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dgraph.agents.daemon import BUFFERS, BlockCall, BufferSpec, is_push
from dgraph.devices.cuda import Cuda, RowList
from dgraph.devices.device_memory import DeviceArray

DOWN, COMPUTE, UP = range(3)  # the stages, and the numbers of their streams


class CudaDaemon:
    """The GPU of this process."""

    def __init__(self) -> None:
        self.desks: dict[str, CudaBlockRunner] = {}

    def open(self, table: str, room: BufferSpec) -> dict[str, np.ndarray]:
        self.shut(table)
        self.desks[table] = desk = CudaBlockRunner(room)
        return desk.arrays

    def download(self, table: str, call: BlockCall) -> None:
        self.desks[table].download(call)

    def compute(self, table: str, call: BlockCall) -> Any:
        return self.desks[table].run(call)

    def upload(self, table: str, call: BlockCall) -> None:
        self.desks[table].upload(call)

    def shut(self, table: str) -> None:
        self.desks.pop(table, None)

    def close(self) -> None:
        self.desks.clear()


class CudaBlockRunner:
    """Buffers of one table on a device, each the image of an array of the host that the agent writes and reads."""

    def __init__(self, room: BufferSpec, arrays: Mapping[str, np.ndarray] | None = None):
        self.room, self.cuda = room, Cuda(room.source)
        self.memory = self.cuda.memory
        asked: dict[str, Any] = {one.name: one for name in room.kernels for one in room.source.kernels[name]}
        self.arrays = dict(arrays) if arrays is not None else self._pinned()
        spaces = {name: (space.shape, asked.get(name, space).dtype) for name, space in room.spaces.items()}
        self.images = {name: self.memory.empty(shape, dtype) for name, (shape, dtype) in spaces.items()}
        self.constants = {name: self.memory.moved(np.asarray(value)) for name, value in room.constants.items()}
        self.values = [self._buffer(buffer) for buffer in range(BUFFERS)]
        self.memory.wait()  # what follows goes by streams of its own

    def compute(self, call: BlockCall) -> Any:
        """All three stages, where the agent leaves them to us: in a process of our own."""
        self.download(call)
        answer = self.run(call)
        self.upload(call)
        return answer

    def download(self, call: BlockCall) -> None:
        with self.memory.stage(DOWN):
            for name, here, there in self._parts(call):
                if name != "queue":
                    self.memory.put(there, here.astype(there.dtype, copy=False))

    def run(self, call: BlockCall) -> Any:
        cuda, values = self.cuda, {**self.values[call.buffer], "queued": 0, **call.scalars}
        with self.memory.stage(COMPUTE):
            if is_push(call.kernel):
                return int(cuda.once(call.kernel, call.hi, values))
            lists = cuda.by_degree(self.arrays["indptr"][call.lo : call.hi + 1], call.lo)
            there = [RowList(size, rows, cuda.arrays.given(f"rows {i}", rows)) for i, (size, rows) in enumerate(lists)]
            cuda.gather(call.kernel, there, values, call.lo, call.hi)
            return None

    def upload(self, call: BlockCall) -> None:
        written = {argument.name for argument in self.room.source.kernels[call.kernel] if argument.written}
        with self.memory.stage(UP):
            for name, here, there in self._parts(call):
                if name in written and here.dtype == there.dtype:
                    self.memory.get(there, here)
                elif name in written:
                    here[...] = self.memory.get(there)

    def _parts(self, call: BlockCall) -> Iterator[tuple[str, np.ndarray, DeviceArray]]:
        """What a block has of each array, here and there."""
        first, last = call.places
        heads = {"senders": call.hi, "queue": last - first}
        for name in {argument.name for argument in self.room.source.kernels[call.kernel]} & set(self.arrays):
            part: Any = slice(first, last + (name == "indptr"))
            if self.room.spaces[name].each:
                part = call.buffer, slice(0, heads.get(name, call.edges))
            yield name, self.arrays[name][part], self.images[name][part]

    def _pinned(self) -> dict[str, np.ndarray]:
        """Memory that the device reads and writes by itself, while the host does something else."""
        found = {}
        for name, space in self.room.spaces.items():
            size = int(np.prod(space.shape)) * np.dtype(space.dtype).itemsize
            found[name] = self.memory.pinned(size).view(space.dtype).reshape(space.shape)
            found[name][...] = 0
        return found

    def _buffer(self, buffer: int) -> dict[str, Any]:
        """Arguments of kernels over a buffer."""
        each = {name for name, space in self.room.spaces.items() if space.each}
        images = {name: image[buffer] if name in each else image for name, image in self.images.items()}
        return {**self.constants, **images}
