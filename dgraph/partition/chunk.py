"""Some edges on their way into a graph: first with the user's ids, then with numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa

from dgraph.errors import ColumnError, WeightError
from dgraph.partition import ids
from dgraph.partition.ids import IdType
from dgraph.partition.ranks import IDENTITY, Ranks

Ids: TypeAlias = np.ndarray | pa.Array  # integers in NumPy, strings and UUIDs in Arrow


@dataclass(frozen=True, eq=False)
class Chunk:
    """Edges as a frame had them. A chunk of vertices has `sources` only."""

    id_type: IdType
    sources: Ids
    destinations: Ids
    columns: dict[str, np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.destinations)

    def __sizeof__(self) -> int:  # what Dask counts, to spill in time
        return self.sources.nbytes + self.destinations.nbytes + sum(c.nbytes for c in self.columns.values())


@dataclass(frozen=True, eq=False)
class Numbered:
    """The same edges by number. `ranks` turns what stands in the arrays into numbers: the identity, or for integer ids
    without copying them, their distance from the first or their rank."""

    sources: np.ndarray
    destinations: np.ndarray
    columns: dict[str, np.ndarray]
    ranks: Ranks
    ours: bool = False  # nobody else reads these numbers, nor will: who takes them may let go of what it has read

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, rows: slice | np.ndarray) -> Numbered:
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Numbered(self.sources[rows], self.destinations[rows], columns, self.ranks)

    def taken(self, rows: int) -> Iterator[Numbered]:
        """All edges, so many at once, the last first; at least one slice. If they are ours, numbers are let go once the
        next slice is asked for: of the last nothing may be kept then. Ids may be the user's, and stay."""
        owned = self.ours and not self.ranks.size and self.sources.base is None and self.destinations.base is None
        for start in reversed(range(0, max(1, len(self)), rows)):
            yield self[start : start + rows]
            for end in (self.sources, self.destinations) if owned else ():
                end.resize(start, refcheck=False)

    @property
    def dtype(self) -> np.dtype:
        """The smallest type that holds every number, or what they are kept in."""
        if self.ranks.size:
            return np.dtype(np.uint32 if self.ranks.size < 2**32 else np.int64)
        return self.sources.dtype

    def compact(self) -> Numbered:
        """The same with the numbers themselves in the arrays."""
        if not self.ranks.size:
            return self
        sources, destinations = (self.ranks.number(end, self.dtype) for end in (self.sources, self.destinations))
        return Numbered(sources, destinations, self.columns, IDENTITY)

    @property
    def nbytes(self) -> int:
        return self.sources.nbytes + self.destinations.nbytes + sum(c.nbytes for c in self.columns.values())

    def __sizeof__(self) -> int:  # what Dask counts, to spill in time
        return self.nbytes


def take(frame: Any, source: str, destination: str, columns: Sequence[str] = (), weight: str | None = None) -> Chunk:
    """The ids and the asked-for columns of a pandas frame, an Arrow table, or anything with named columns."""
    left, sources = ids.column(named(frame, source), source)
    right, destinations = ids.column(named(frame, destination), destination)
    id_type = left.join(right)
    return Chunk(id_type, sources, destinations, {name: values(frame, name, name == weight) for name in columns})


def take_vertices(frame: Any, name: str) -> Chunk:
    """The ids of a frame that lists vertices."""
    id_type, found = ids.column(named(frame, name), name)
    return Chunk(id_type, found, found[:0])


def local(frame: Any) -> Any:
    """A frame in the memory of this process: pandas, Arrow and dicts as they are, cuDF frames copied to it."""
    return frame.to_arrow() if hasattr(frame, "to_arrow") else frame


def names(frame: Any) -> list[str]:
    """The column names of a frame of any kind."""
    return list(
        frame.column_names if isinstance(frame, pa.Table) else frame.columns if hasattr(frame, "columns") else frame
    )


def named(frame: Any, name: str) -> Any:
    """A column of a frame of any kind."""
    if name not in names(frame):
        raise ColumnError(f"there is no column {name!r}; the frame has {', '.join(map(repr, names(frame)))}")
    return frame[name]


def values(frame: Any, name: str, is_weight: bool = False) -> np.ndarray:
    """A column as numbers that kernels know; weights keep whole numbers whole. Text or missing weights raise an error
    with the row."""
    column = named(frame, name)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(column, pa.Array):
        column = column.to_pandas() if column.null_count else column.to_numpy(zero_copy_only=False)
    array = column.to_numpy() if isinstance(column, pd.Series) else np.asarray(column)
    error = WeightError if is_weight else ColumnError
    if array.dtype.kind not in "iufcb":
        array = _as_numbers(column, array, name, error)
    if array.dtype.kind == "c":
        raise error(f"column {name!r} holds complex numbers; edges carry real numbers")
    if is_weight and array.dtype.kind == "f":
        missing = np.flatnonzero(np.isnan(array))
        if len(missing):
            raise error(f"column {name!r}, row {missing[0]}: the weight is missing (nan); fill or drop such rows first")
    kind = array.dtype.newbyteorder("=")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):  # halves and long doubles, which kernels lack
        kind = np.dtype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    return np.ascontiguousarray(array, kind)


def _as_numbers(column: Any, array: np.ndarray, name: str, error: type[ColumnError | WeightError]) -> np.ndarray:
    """Numbers that stand in a column of objects (decimals, nullable integers); anything else is an error."""
    missing = np.flatnonzero(pd.isna(array))
    if len(missing):
        raise error(f"column {name!r}, row {missing[0]}: the value is missing; fill or drop such rows first")
    text = next((row for row, value in enumerate(array) if isinstance(value, str | bytes)), None)
    if text is not None:
        raise error(f"column {name!r}, row {text}: {array[text]!r} is text, not a number; convert the column first")
    try:
        if array.dtype.kind in "mM":
            raise TypeError("times are numbers by .astype('int64')")
        return array.astype(np.float64)
    except (TypeError, ValueError) as cause:
        kind = getattr(column, "dtype", array.dtype)
        raise error(f"column {name!r} of type {kind} is not numeric: {cause}; convert it first") from cause
