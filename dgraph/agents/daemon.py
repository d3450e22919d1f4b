"""A daemon: a device at work. It starts once and serves all later runs.

The agent writes blocks of edges into arrays that the daemon has allocated, calls `compute`, and reads the results from
the same arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from dgraph.codegen.compiler import load
from dgraph.codegen.kernel_source import Source
from dgraph.devices.cpu import Cpu
from dgraph.pipeline.stages import BUFFERS

LOST: Any = object()  # returned in place of a kernel's answer if the device had to be restarted


class ArraySpec(NamedTuple):
    """An array of a workspace. With `per_buffer`, its first dimension is the buffer; otherwise all buffers share it."""

    dtype: str
    shape: tuple[int, ...]
    per_buffer: bool = False

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize


class WorkspaceSpec(NamedTuple):
    """What a daemon must hold to compute the blocks of one table with the kernels of one program."""

    source: Source
    kernels: tuple[str, ...]
    arrays: Mapping[str, ArraySpec]
    constants: Mapping[str, Any]  # small: the program's parameters
    device: str = "cpu"


class BlockCall(NamedTuple):
    """A kernel to run over the block in a buffer. For `push`, lo:hi are senders, otherwise rows. Without a cache, all
    vertices of the block lie between the two `places` of the arrays."""

    kernel: str
    lo: int
    hi: int
    buffer: int
    edges: int
    scalars: Mapping[str, Any]
    places: tuple[int, int]


class Daemon(Protocol):
    """The interface of a daemon. `table` is a name that the agent gives to one partition and program."""

    def open(self, table: str, spec: WorkspaceSpec) -> Mapping[str, np.ndarray]:
        """Replace the workspace of a table; returns the arrays that the agent writes and reads."""

    def download(self, table: str, call: BlockCall) -> None:
        """Copy to the device what the agent has written to a buffer."""

    def compute(self, table: str, call: BlockCall) -> Any:
        """Run the kernel. Returns its answer, or LOST, after which the agent writes the block again."""

    def upload(self, table: str, call: BlockCall) -> None:
        """Copy what the kernel has written to the arrays that the agent reads."""

    def close_table(self, table: str) -> None:
        """Release the workspace of a table."""

    def close(self) -> None:
        """End the daemon, and leave nothing behind."""


class Workspace:
    """The arrays of one table and the kernels of one program, on some device. Where the device uses the arrays of the
    agent itself, `download` and `upload` have nothing to do."""

    arrays: Mapping[str, np.ndarray]

    def download(self, call: BlockCall) -> None: ...

    def run(self, call: BlockCall) -> Any: ...

    def upload(self, call: BlockCall) -> None: ...


class LocalDaemon(ABC):
    """A daemon on a device of this process."""

    def __init__(self) -> None:
        self.workspaces: dict[str, Workspace] = {}

    @abstractmethod
    def workspace(self, spec: WorkspaceSpec) -> Workspace: ...

    def open(self, table: str, spec: WorkspaceSpec) -> Mapping[str, np.ndarray]:
        self.close_table(table)  # first, because there may be no memory for both
        self.workspaces[table] = self.workspace(spec)
        return self.workspaces[table].arrays

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


class CpuDaemon(LocalDaemon):
    """Runs blocks on the CPU of this process."""

    def __init__(self, threads: int = 1):
        super().__init__()
        self.threads = threads

    def workspace(self, spec: WorkspaceSpec) -> CpuWorkspace:
        arrays = {name: np.zeros(array.shape, array.dtype) for name, array in spec.arrays.items()}
        return CpuWorkspace(spec, arrays, self.threads)


class CpuWorkspace(Workspace):
    """Kernels on the CPU, over arrays of this process or in shared memory."""

    def __init__(self, spec: WorkspaceSpec, arrays: Mapping[str, np.ndarray], threads: int):
        self.arrays, self.cpu = arrays, Cpu(load(spec.source), threads)
        for name in spec.kernels:  # compile them now, so that no measured time includes compilation
            self.cpu.kernels[name].compile()
        self.values = [
            {**spec.constants, **{n: arrays[n][buffer] if s.per_buffer else arrays[n] for n, s in spec.arrays.items()}}
            for buffer in range(BUFFERS)
        ]

    def run(self, call: BlockCall) -> Any:
        values = {**self.values[call.buffer], **call.scalars}
        if is_push(call.kernel):
            return self.cpu.once(call.kernel, call.hi, values)
        return self.cpu.rows(call.kernel, call.hi, values, call.lo)[0][1]


def is_push(kernel: str) -> bool:
    return kernel.partition("_")[0] == "push"


def is_pull(kernel: str) -> bool:
    return kernel.partition("_")[0] == "pull"
