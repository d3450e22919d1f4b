"""A daemon: a device at work. It starts once and serves all later runs. The agent writes blocks of edges into arrays
that the daemon makes room for, has it compute, and reads the results from the same arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from dgraph.codegen.compiler import load
from dgraph.codegen.kernel_source import Source
from dgraph.devices.cpu import Cpu

BUFFERS = 3  # a block in each: one being downloaded, one computed, one uploaded
LOST: Any = object()  # in place of a kernel's answer: the device had to be started anew


class ArraySpec(NamedTuple):
    """One array of the room that a daemon makes: with `each`, one for each buffer, along its first dimension; else one
    for all."""

    dtype: str
    shape: tuple[int, ...]
    each: bool = False


class BufferSpec(NamedTuple):
    """What a daemon must hold to compute the blocks of one table with the kernels of one program."""

    source: Source
    kernels: tuple[str, ...]
    spaces: Mapping[str, ArraySpec]
    constants: Mapping[str, Any]  # small: the program's parameters
    device: str = "cpu"


class BlockCall(NamedTuple):
    """A kernel to run over the block in a buffer. For `push`, lo:hi are senders, else rows. `places`: between which
    places of the arrays all vertices of the block lie, if there is no cache."""

    kernel: str
    lo: int
    hi: int
    buffer: int
    edges: int
    scalars: Mapping[str, Any]
    places: tuple[int, int]


class Daemon(Protocol):
    """All that a device must do. `table` is a name of the agent's choice for one partition and program."""

    def open(self, table: str, room: BufferSpec) -> dict[str, np.ndarray]:
        """Make room for a table, in place of the room it had; returns the arrays that the agent writes and reads."""

    def download(self, table: str, call: BlockCall) -> None:
        """Bring to the device what the agent has written to a buffer."""

    def compute(self, table: str, call: BlockCall) -> Any:
        """Run the kernel; returns its answer, or LOST: then the agent writes the block once more."""

    def upload(self, table: str, call: BlockCall) -> None:
        """Bring back to where the agent reads what the kernel has written."""

    def shut(self, table: str) -> None:
        """Let go of a table's room."""

    def close(self) -> None:
        """End, and leave nothing behind."""


class CpuDaemon:
    """The CPU of this process, on blocks."""

    def __init__(self, threads: int = 1):
        self.threads = threads
        self.desks: dict[str, BlockRunner] = {}

    def open(self, table: str, room: BufferSpec) -> dict[str, np.ndarray]:
        arrays = {name: np.zeros(space.shape, space.dtype) for name, space in room.spaces.items()}
        self.desks[table] = BlockRunner(room, arrays, self.threads)
        return arrays

    def download(self, table: str, call: BlockCall) -> None:
        """The block lies where kernels read it."""

    def compute(self, table: str, call: BlockCall) -> Any:
        return self.desks[table].compute(call)

    def upload(self, table: str, call: BlockCall) -> None:
        """The agent reads where kernels wrote."""

    def shut(self, table: str) -> None:
        self.desks.pop(table, None)

    def close(self) -> None:
        self.desks.clear()


class BlockRunner:
    """The kernels of one program over the buffers of one table, wherever these lie."""

    def __init__(self, room: BufferSpec, arrays: Mapping[str, np.ndarray], threads: int):
        self.cpu = Cpu(load(room.source), threads)
        for name in room.kernels:  # now, so that no block is measured while compilers work
            self.cpu.kernels[name].compile()
        shared = {**room.constants, **{name: arrays[name] for name, space in room.spaces.items() if not space.each}}
        each = [name for name, space in room.spaces.items() if space.each]
        self.values = [{**shared, **{name: arrays[name][buffer] for name in each}} for buffer in range(BUFFERS)]

    def compute(self, call: BlockCall) -> Any:
        values = {**self.values[call.buffer], **call.scalars}
        if is_push(call.kernel):
            return self.cpu.once(call.kernel, call.hi, values)
        return self.cpu.rows(call.kernel, call.hi, values, call.lo)[0][1]


def is_push(kernel: str) -> bool:
    return kernel.partition("_")[0] == "push"


def is_pull(kernel: str) -> bool:
    return kernel.partition("_")[0] == "pull"


def over_edges(kernels: Iterable[str]) -> tuple[str, ...]:
    """The kernels in which messages cross edges: these run in blocks, on daemons."""
    return tuple(name for name in kernels if is_push(name) or is_pull(name))
