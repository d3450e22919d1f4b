"""A CUDA device: generated kernels as grids of threads. Nothing of CUDA is imported before the first kernel runs.

Rows are put into three lists by their number of edges: one thread gathers a short row, some threads a longer one, a
whole block the longest.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from dgraph.codegen.cache import module_of
from dgraph.codegen.cuda import LISTED, ROWS, partial
from dgraph.codegen.neighbourhood import SCRATCH, SLOTS
from dgraph.codegen.recipe import Recipe
from dgraph.codegen.source import Source
from dgraph.devices.probe import simulated

SHORT, LONG = 8, 2048  # edges: rows of fewer are gathered by one thread, of more by a block, the others by a warp
BLOCKS = 2048  # of a grid, at most: it strides over what is left

_there: dict[int, tuple[Any, Any]] = {}  # by the id of an array here: a reference to it, and the array on the device
_one_at_a_time = threading.Lock()  # threads of this process share a device


class Grid(Protocol):
    """Where kernels run. `groups` are the numbers of threads that may share a row: one, some, all of a block."""

    block: int
    groups: tuple[int, int, int]

    def launch(self, name: str, blocks: int, arguments: list[Any]) -> None:
        """Run a kernel on so many blocks, and wait for it."""


class Cuda:
    """Kernels of one program, by name."""

    name = "cuda"

    def __init__(self, recipe: Recipe, grid: Grid | None = None):
        self.source, self.globals = recipe.source, recipe.analysis.globals
        self.grid = grid or Device(recipe.source)
        self._lists: dict[tuple, tuple[Any, list[tuple[int, np.ndarray]]]] = {}
        self._scratch: dict[str, np.ndarray] = {}

    def once(self, name: str, count: int, values: Mapping[str, Any]) -> Any:
        """Push, or receive: how long the queue is now."""
        return self._launch(name, 0, count, values, self.grid.groups[1], int(values["queued"]))

    def rows(
        self, name: str, count: int, values: Mapping[str, Any], first: int = 0, block: int | None = None
    ) -> list[tuple[int, Any]]:
        """All rows at once; `block` is for devices whose sums do not depend on it."""
        if ROWS not in self._names(name):
            return [(first, self._launch(name, first, count, values))]
        for group, rows in self._listed(values["indptr"], first, count):
            if not len(rows):
                continue
            self._launch(name, 0, len(rows), {**values, **self._room(name, values), ROWS: rows}, group)
        return [(first, None)]

    def _launch(self, name: str, lo: int, hi: int, values: Mapping[str, Any], group: int = 1, listed: int = 0) -> Any:
        """Run a kernel over rows; what it has listed or folded."""
        names = self._names(name)
        counter = np.full(1, listed, np.int64)
        blocks = min(max(1, -(-(hi - lo) * group // self.grid.block)), BLOCKS)
        folded = [one for one in self.globals if partial(one) in names]
        own = {partial(one): np.zeros(blocks, self.globals[one][0].dtype) for one in folded}
        known = {**values, **own, "lo": lo, "hi": hi, "group_size": group, LISTED: counter}
        if hi > lo:
            self.grid.launch(name, blocks, [_typed(argument, known) for argument in self.source.kernels[name]])
        if folded:
            return tuple(self._merged(one, own[partial(one)] if hi > lo else []) for one in folded)
        return int(counter[0]) if LISTED in names else None

    def _merged(self, name: str, parts: Any) -> Any:
        field = self.globals[name][0]
        total = field.dtype.type(field.identity)
        for part in parts:
            total = field.merge.merge(total, part)
        return total

    def _names(self, name: str) -> tuple[str, ...]:
        return tuple(argument.name for argument in self.source.kernels[name])

    def _listed(self, indptr: np.ndarray, first: int, count: int) -> Iterator[tuple[int, np.ndarray]]:
        """(Threads a row, rows) for each list of rows; made once for a table of edges."""
        key = id(indptr), first, count
        if key not in self._lists:
            degrees = np.diff(indptr[first : count + 1])
            classes = np.digitize(degrees, [SHORT, LONG])
            lists = [(first + np.flatnonzero(classes == i)).astype(np.uint32) for i in range(3)]
            self._lists[key] = indptr, list(zip(self.grid.groups, lists, strict=True))
        yield from self._lists[key][1]

    def _room(self, name: str, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Room for all neighbourhoods, where the kernel wants it."""
        if SLOTS not in self._names(name):
            return {}
        edges = len(values["neighbours"])
        for one in SCRATCH:
            size = edges if one == SLOTS else 4 * edges
            if len(self._scratch.get(one, ())) < size:
                self._scratch[one] = np.empty(size, np.int64)
        return self._scratch


class Device:
    """The CUDA device of this process, or Numba's simulator of one. Edges stay on it as long as they live here; arrays
    over vertices go there for a kernel that reads them, and come back from one that writes them."""

    def __init__(self, source: Source):
        self.source, self.module = source, module_of(source)
        if simulated():  # each of its threads is one of Python's
            vars(self.module)["BLOCK"] = 4
        self.block: int = vars(self.module)["BLOCK"]
        self.groups = (1, min(32, self.block // 2), self.block)
        self.staying = {"indptr", "neighbours", "number", ROWS, *SCRATCH}
        self.staying |= {column.name for column in source.layout.edge_columns}

    def launch(self, name: str, blocks: int, arguments: list[Any]) -> None:
        with _one_at_a_time:
            there, back = [], []
            for argument, value in zip(self.source.kernels[name], arguments, strict=True):
                if argument.dims and argument.name in self.staying:
                    there.append(_stays(value))
                elif argument.dims:
                    there.append(_to_device(value))
                    back += [(there[-1], value)] if argument.written else []
                else:
                    there.append(value)
            getattr(self.module, name)[blocks, self.block](*there)
            for array, value in back:
                array.copy_to_host(value)


def _to_device(array: np.ndarray) -> Any:
    from numba import cuda

    return cuda.to_device(array)


def _stays(array: np.ndarray) -> Any:
    """The array on the device, brought there once."""
    key = id(array)
    if key not in _there:
        _there[key] = weakref.ref(array, lambda gone: _there.pop(key, None)), _to_device(array)
    return _there[key][1]


def _typed(argument: Any, values: Mapping[str, Any]) -> Any:
    value = values[argument.name]
    return value if argument.dims else np.dtype(argument.dtype).type(value)
