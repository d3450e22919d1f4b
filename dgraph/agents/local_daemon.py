"""A daemon on a device of this process: the CPU, or a GPU (experimental).

Blocks travel to a GPU and back on three streams, one per pipeline stage. A block brings everything that its kernel
reads, including vertices, so a GPU can serve a worker whose tables are in main memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dgraph.agents.daemon import BlockCall, WorkspaceSpec, is_push
from dgraph.codegen.compiler import load
from dgraph.devices.cpu import Cpu
from dgraph.devices.cuda import COMPUTE, DOWN, UP, CudaDevice, RowList
from dgraph.devices.device_memory import DeviceArray
from dgraph.devices.probe import CPU
from dgraph.pipeline.stages import BUFFERS


class LocalDaemon:
    """Runs blocks in this process, over arrays that the agent has made elsewhere, or over new ones."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self.workspaces: dict[str, Workspace] = {}

    def open(
        self, table: str, spec: WorkspaceSpec, arrays: Mapping[str, np.ndarray] | None = None
    ) -> Mapping[str, np.ndarray]:
        self.close_table(table)  # first, because there may be no memory for both
        on_cpu = spec.device == CPU
        workspace = CpuWorkspace(spec, arrays, self.threads) if on_cpu else CudaWorkspace(spec, arrays)
        self.workspaces[table] = workspace
        return workspace.arrays

    def download(self, table: str, call: BlockCall) -> None:
        self.workspaces[table].download(call)

    def compute(self, table: str, call: BlockCall) -> Any:
        return self.workspaces[table].run(call)

    def upload(self, table: str, call: BlockCall) -> None:
        self.workspaces[table].upload(call)

    def close_table(self, table: str) -> None:
        self.workspaces.pop(table, None)

    def close(self) -> None:
        self.workspaces.clear()


class Workspace:
    """The arrays of one table and the kernels of one program, on some device. Where the device uses the arrays of the
    agent itself, `download` and `upload` have nothing to do."""

    arrays: Mapping[str, np.ndarray]

    def download(self, call: BlockCall) -> None: ...

    def run(self, call: BlockCall) -> Any: ...

    def upload(self, call: BlockCall) -> None: ...


def values_by_buffer(spec: WorkspaceSpec, constants: Mapping[str, Any], arrays: Mapping[str, Any]) -> list[dict]:
    """For each buffer, the values of kernels that run over its block."""
    return [
        {**constants, **{n: arrays[n][buffer] if s.per_buffer else arrays[n] for n, s in spec.arrays.items()}}
        for buffer in range(BUFFERS)
    ]


class CpuWorkspace(Workspace):
    """Kernels on the CPU, over arrays of this process or in shared memory."""

    def __init__(self, spec: WorkspaceSpec, arrays: Mapping[str, np.ndarray] | None, threads: int):
        if arrays is None:
            arrays = {name: np.zeros(array.shape, array.dtype) for name, array in spec.arrays.items()}
        self.arrays, self.cpu = arrays, Cpu(load(spec.source), threads)
        for name in spec.kernels:  # compile them now, so that no measured time includes compilation
            self.cpu.kernels[name].compile()
        self.values = values_by_buffer(spec, spec.constants, arrays)

    def run(self, call: BlockCall) -> Any:
        values = {**self.values[call.buffer], **call.scalars}
        if is_push(call.kernel):
            return self.cpu.once(call.kernel, call.hi, values)
        return self.cpu.rows(call.kernel, call.hi, values, call.lo)[0][1]


class CudaWorkspace(Workspace):
    """Arrays of one table on a device, each a copy of a host array that the agent writes and reads."""

    def __init__(self, spec: WorkspaceSpec, arrays: Mapping[str, np.ndarray] | None):
        self.spec, self.cuda = spec, CudaDevice(spec.source)
        self.memory = self.cuda.memory
        arguments = {one.name: one for name in spec.kernels for one in spec.source.kernels[name]}
        self.arrays = self._pinned() if arrays is None else arrays
        self.images = {
            name: self.memory.empty(array.shape, arguments[name].dtype if name in arguments else array.dtype)
            for name, array in spec.arrays.items()
        }
        constants = {name: self.memory.to_device(np.asarray(value)) for name, value in spec.constants.items()}
        self.values = values_by_buffer(spec, constants, self.images)
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
