"""Frames of any kind (pandas, Dask, Arrow, cuDF, dicts of arrays): their columns, their slices, and as pandas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dgraph.errors import ColumnError, WeightError


@dataclass(frozen=True, eq=False)
class LazyPieces:
    """A lazy frame that needs no Dask frame: its columns without rows, and the tasks that make its pieces."""

    empty: Callable[[], pd.DataFrame]
    tasks: Callable[[], list[Any]]
    cudf: bool = False  # whether cuDF makes them

    @property
    def columns(self) -> list[str]:
        return list(self._meta.columns)

    @property
    def _meta(self) -> pd.DataFrame:  # as Dask calls it
        return self.empty()

    def to_delayed(self) -> list[Any]:
        return self.tasks()


def is_lazy(frame: Any) -> bool:
    """Whether a frame is Dask's; the others sit in the memory of this process."""
    return hasattr(frame, "to_delayed") and hasattr(type(frame), "columns")  # a Delayed seems to have any


def is_cudf(frame: Any) -> bool:
    """Whether a frame is cuDF's or dask-cudf's, or made by cuDF."""
    if isinstance(frame, LazyPieces):
        return frame.cudf
    return type(frame._meta if is_lazy(frame) else frame).__module__.split(".")[0] == "cudf"


def rows(frame: Any) -> int:
    """The rows of a frame in memory."""
    return len(next(iter(frame.values()), ())) if isinstance(frame, dict) else len(frame)


def cut(frame: Any, pieces: int) -> list[Any]:
    """A frame in memory in slices that share its memory."""
    size = rows(frame)
    bounds = [size * i // pieces for i in range(pieces + 1)]
    return [_slice(frame, a, z) for a, z in pairwise(bounds)]


def _slice(frame: Any, start: int, stop: int) -> Any:
    if isinstance(frame, dict):
        return {name: values[start:stop] for name, values in frame.items()}
    return frame.slice(start, stop - start) if isinstance(frame, pa.Table) else frame.iloc[start:stop]


_WHOLE = [f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)]
_NULLABLE = {pa.type_for_alias(name.lower()): pd.api.types.pandas_dtype(name) for name in _WHOLE}
_NULLABLE[pa.bool_()] = pd.BooleanDtype()


def to_pandas(frame: Any) -> pd.DataFrame:
    """A frame in memory as one of pandas."""
    if isinstance(frame, pd.DataFrame):
        return _in_own_order(frame)
    if isinstance(frame, dict):
        return _in_own_order(pd.DataFrame({name: np.asarray(values) for name, values in frame.items()}))
    if not isinstance(frame, pa.Table):
        return frame.to_pandas()
    names, frame = frame.column_names, frame.rename_columns([str(place) for place in range(frame.num_columns)])
    whole = [field.name for field in frame.schema if field.nullable and field.type in _NULLABLE]
    found = frame.drop_columns(whole).to_pandas()
    found[whole] = frame.select(whole).to_pandas(types_mapper=_NULLABLE.get)
    return found[frame.column_names].set_axis(names, axis=1)


def _in_own_order(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with numbers in this machine's order of bytes: of others, pandas chooses no rows."""
    kinds = {name: kind for name, kind in frame.dtypes.items() if isinstance(kind, np.dtype) and not kind.isnative}
    return frame.astype({name: kind.newbyteorder("=") for name, kind in kinds.items()}) if kinds else frame


def local(frame: Any) -> Any:
    """A frame in the memory of this process: pandas, Arrow and dicts as they are, cuDF frames copied to it."""
    return frame.to_arrow() if hasattr(frame, "to_arrow") else frame


def column_names(frame: Any) -> list[str]:
    """The column names of a frame of any kind."""
    return list(
        frame.column_names if isinstance(frame, pa.Table) else frame.columns if hasattr(frame, "columns") else frame
    )


def named(frame: Any, name: str) -> Any:
    """A column of a frame of any kind."""
    if name not in column_names(frame):
        raise ColumnError(f"there is no column {name!r}; the frame has {', '.join(map(repr, column_names(frame)))}")
    return frame[name]


def column_of_numbers(frame: Any, name: str, is_weight: bool = False) -> np.ndarray:
    """A column as numbers that kernels know; weights keep whole numbers whole. Text or missing weights raise an error
    with the row."""
    column = named(frame, name)
    is_whole = _is_whole(column)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(column, pa.Array):
        column = column.to_pandas() if column.null_count else column.to_numpy(zero_copy_only=False)
    array = column.to_numpy() if isinstance(column, pd.Series) else np.asarray(column)
    error = WeightError if is_weight else ColumnError
    if is_whole and not is_weight and array.dtype.kind == "f" and (np.abs(array) >= 2**53).any():
        remedy = "a float, as numbers beside a missing one are, cannot tell it from the next; fill in what is missing"
        raise error(f"column {name!r}: a whole number near {array[np.nanargmax(np.abs(array))]:.0f}: {remedy}")
    if array.dtype.kind not in "iufcb":
        array = _as_numbers(column, array, name, error)
    if array.ndim != 1:
        raise error(f"column {name!r} has {array.ndim} dimensions; give one number in a row")
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


def _is_whole(column: Any) -> bool:
    """Whether a column is of whole numbers, of which some may be missing."""
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return pa.types.is_integer(column.type)
    return isinstance(column, pd.Series) and column.dtype.kind in "iu"


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
