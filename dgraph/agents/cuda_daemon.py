"""A CUDA device as a daemon (experimental): blocks travel to it and back on three streams, one per pipeline stage.

A block brings everything that its kernel reads, including vertices, so a GPU can serve a worker whose tables are in
main memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dgraph.agents.daemon import BlockCall, LocalDaemon, Workspace, WorkspaceSpec, is_push
from dgraph.devices.cuda import COMPUTE, DOWN, UP, CudaDevice, RowList
from dgraph.devices.device_memory import DeviceArray
from dgraph.pipeline.stages import BUFFERS


class CudaDaemon(LocalDaemon):
    """The GPU of this process."""

    def workspace(self, spec: WorkspaceSpec) -> CudaWorkspace:
        return CudaWorkspace(spec)


class CudaWorkspace(Workspace):
    """Arrays of one table on a device, each a copy of a host array that the agent writes and reads."""

    def __init__(self, spec: WorkspaceSpec, arrays: Mapping[str, np.ndarray] | None = None):
        self.spec, self.cuda = spec, CudaDevice(spec.source)
        self.memory = self.cuda.memory
        arguments = {one.name: one for name in spec.kernels for one in spec.source.kernels[name]}
        self.arrays = self._pinned() if arrays is None else arrays
        self.images = {
            name: self.memory.empty(array.shape, arguments[name].dtype if name in arguments else array.dtype)
            for name, array in spec.arrays.items()
        }
        constants = {name: self.memory.to_device(np.asarray(value)) for name, value in spec.constants.items()}
        self.values: list[dict[str, Any]] = [
            {
                **constants,
                **{n: image[buffer] if spec.arrays[n].per_buffer else image for n, image in self.images.items()},
            }
            for buffer in range(BUFFERS)
        ]
        self.memory.wait()  # because stages use separate streams

    def download(self, call: BlockCall) -> None:
        with self.memory.stage(DOWN):
            for name, host, image in self._parts(call):
                if name != "queue":
                    self.memory.put(image, host.astype(image.dtype, copy=False))

    def run(self, call: BlockCall) -> Any:
        cuda, values = self.cuda, {**self.values[call.buffer], "queued": 0, **call.scalars}
        with self.memory.stage(COMPUTE):
            if is_push(call.kernel):
                return int(cuda.once(call.kernel, call.hi, values))
            lists = cuda.by_degree(self.arrays["indptr"][call.lo : call.hi + 1], call.lo)
            rows = [
                RowList(size, ids, cuda.arrays.copy_to_scratch(f"rows {i}", ids)) for i, (size, ids) in enumerate(lists)
            ]
            cuda.gather(call.kernel, rows, values, call.lo, call.hi)
            return None

    def upload(self, call: BlockCall) -> None:
        written = {argument.name for argument in self.spec.source.kernels[call.kernel] if argument.written}
        with self.memory.stage(UP):
            for name, host, image in self._parts(call):
                if name in written and host.dtype == image.dtype:
                    self.memory.get(image, host)
                elif name in written:
                    host[...] = self.memory.get(image)

    def _parts(self, call: BlockCall) -> Iterator[tuple[str, np.ndarray, DeviceArray]]:
        """The part of each array that a block uses, on the host and on the device."""
        first, last = call.places
        lengths = {"senders": call.hi, "queue": last - first}
        for name in {argument.name for argument in self.spec.source.kernels[call.kernel]} & set(self.arrays):
            part: Any = slice(first, last + (name == "indptr"))
            if self.spec.arrays[name].per_buffer:
                part = call.buffer, slice(0, lengths.get(name, call.edges))
            yield name, self.arrays[name][part], self.images[name][part]

    def _pinned(self) -> dict[str, np.ndarray]:
        """Memory that the device reads and writes directly, while the host does something else."""
        result = {}
        for name, array in self.spec.arrays.items():
            result[name] = self.memory.pinned(array.nbytes).view(array.dtype).reshape(array.shape)
            result[name][...] = 0
        return result
