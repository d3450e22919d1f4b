"""A daemon: a device at work. It starts once and serves all later runs.

The agent writes blocks of edges into arrays that the daemon has allocated, calls `compute`, and reads the results from
the same arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from dgraph.codegen.kernel_source import Source

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


def is_push(kernel: str) -> bool:
    return kernel.partition("_")[0] == "push"


def is_pull(kernel: str) -> bool:
    return kernel.partition("_")[0] == "pull"
