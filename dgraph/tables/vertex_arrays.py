"""Operations on arrays over vertices other than the program's kernels: flags, lists, and copies for other partitions.
This module handles arrays in this process's memory; `devices/device_vertex_arrays.py` does the same on a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dgraph.codegen.bounds import compute_bounds
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.tables.vertex_lists import count_edges, ids_below, set_flags

Where = np.ndarray | slice  # local ids


def length_of(where: Where) -> int:
    return where.stop - where.start if isinstance(where, slice) else len(where)


def listed(where: Where) -> np.ndarray:
    """The local ids, as a list."""
    return np.arange(where.start, where.stop, dtype=np.uint32) if isinstance(where, slice) else where


class VertexArrays:
    """Operations on NumPy arrays. A `queue` is an array whose first elements are a list; `ids` are lists of local
    ids."""

    def to_device(self, array: Any) -> Any:
        """A copy of the array where kernels run; here, the array itself."""
        return array

    def to_host(self, array: Any, count: int) -> np.ndarray:
        """The first `count` values of an array, in this process's memory."""
        return array[:count]

    def wait(self) -> None:
        """Wait until kernels are done."""

    # -- lists of vertices ---------------------------------------------------------------------------------------------

    def first(self, queue: Any, count: Any) -> Any:
        """The list at the head of a queue."""
        return queue[:count]

    def join_ranges(self, queue: Any, ranges: Sequence[tuple[int, Any]]) -> Any:
        """Join what a kernel has written to a queue: (start in the queue, length) for each range of its rows."""
        lists = [queue[begin : begin + int(length or 0)] for begin, length in ranges]
        return lists[0] if len(lists) == 1 else np.concatenate(lists)

    def join_lists(self, lists: Sequence[Any], queue: Any) -> Any:
        """Several lists as one. All but the first come from other partitions; `queue` may hold the result."""
        return np.concatenate(lists) if len(lists) > 1 else lists[0]

    def all_vertices(self, n: int) -> Any:
        """The list of the vertices 0 to n - 1."""
        return np.arange(n, dtype=np.uint32)

    def below(self, ids: Any, limit: int) -> Any:
        return ids_below(ids, limit)

    def store(self, queue: Any, ids: Any) -> None:
        """Write a list to the start of a queue."""
        queue[: len(ids)] = ids

    def edges(self, sides: Sequence[Any], ids: Any) -> Any:
        """The number of edges of some vertices in all of these tables; on a device it may not be known yet."""
        return count_edges(sides, ids)

    # -- flags and fields ----------------------------------------------------------------------------------------------

    def list_flagged(self, flags: Any, first: int, last: int) -> Any:
        """The list of vertices between first and last whose flag is set."""
        return np.flatnonzero(flags[first:last]).astype(np.uint32)

    def count(self, flags: Any, first: int) -> int:
        return int(np.count_nonzero(flags[first:]))

    def put(self, array: Any, ids: Any, value: Any) -> None:
        """Set the value of some vertices."""
        if array.dtype == bool:
            set_flags(array, ids, value)
        else:
            array[ids] = value

    def fill(self, array: Any, first: int, value: Any) -> None:
        """Set the value of all vertices starting at `first`."""
        array[first:] = value

    def copy(self, to: Any, array: Any) -> None:
        to[:] = array

    def write(self, array: Any, ids: np.ndarray, values: Any) -> None:
        """Write values received from other partitions."""
        array[ids] = values

    def bounds(self, phase: PhaseAnalysis, values: Mapping[str, Any], senders: Any) -> dict[str, Any]:
        """The best messages of a round (see `codegen/bounds.py`)."""
        return compute_bounds(phase, values, senders)

    # -- copies for other partitions -----------------------------------------------------------------------------------

    def changed_rows(self, arrays: Sequence[Any], before: list[Any] | None, n: int) -> tuple[Any, list[Any]]:
        """A mask of the first n rows that differ from `before`, and a copy of the rows for the next call. If `before`
        is None, the mask is None: all rows count as changed."""
        now = [array[:n] for array in arrays]
        if before is None:
            return None, [array.copy() for array in now]
        changed = rows_that_differ(now, before, n)
        for old, new in zip(before, now, strict=True):
            old[...] = new
        return changed, before

    def select_flags(self, mask: Any, where: Where) -> np.ndarray:
        """The flags of some vertices, in this process's memory."""
        return mask[where]

    def differing_rows(self, arrays: Sequence[Any], where: Where, values: Sequence[Any]) -> np.ndarray:
        """A mask of the rows that differ from the given values, in this process's memory."""
        return rows_that_differ([array[where] for array in arrays], values, length_of(where))

    def mail_buffer(self, size: int) -> Any:
        """A buffer for mail where kernels run; None to send it from main memory."""
        return None

    def take(self, array: Any, where: Where | None, picked: np.ndarray | None, out: Any) -> None:
        """Copy the values of the vertices `where` (None means all) to `out`, or only those at the places `picked` of
        `where`."""
        if isinstance(where, slice):
            array, where = array[where], None
        if picked is not None:
            where = picked if where is None else where[picked]
        if where is None:
            out[...] = array
        else:
            np.take(array, where, axis=0, out=out, mode="clip")  # "clip" writes to `out`; "raise" would copy


IN_PROCESS = VertexArrays()


def rows_that_differ(arrays: Sequence[np.ndarray], others: Sequence[Any], count: int) -> np.ndarray:
    """A mask of the `count` rows in which some array differs from its counterpart in `others`, an array or a value. An
    array has a scalar or a vector per row; there may be no arrays."""
    mask = np.zeros(count, bool)
    for array, other in zip(arrays, others, strict=True):
        differs = array != other
        mask |= differs if differs.ndim == 1 else differs.any(axis=1)
    return mask
