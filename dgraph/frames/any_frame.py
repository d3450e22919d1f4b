"""Frames of any kind (pandas, Dask, Arrow, cuDF, dicts of arrays): their columns and slices, and conversion to
pandas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dgraph.errors import ColumnError, WeightError


@dataclass(frozen=True, eq=False)
class LazyPieces:
    """A lazy frame without Dask's dataframes: a function for the frame without rows, and one for the tasks that make
    its pieces. Its attributes are named like Dask's."""

    empty: Callable[[], pd.DataFrame]
    to_delayed: Callable[[], list[Any]]
    cudf: bool = False  # whether the pieces are cuDF frames

    @property
    def columns(self) -> list[str]:
        return list(self._meta.columns)

    @property
    def _meta(self) -> pd.DataFrame:
        return self.empty()


def is_on_gpu(values: Any) -> bool:
    return hasattr(values, "__cuda_array_interface__")


class DeviceFrame:
    """Edges in the memory of this process's GPU (experimental): columns of numbers as CuPy arrays, which cuDF can
    share. Like a cuDF frame, it is copied to main memory by `to_arrow`."""

    def __init__(self, arrays: Mapping[str, Any]):
        self.arrays = dict(arrays)

    @classmethod
    def from_cudf(cls, columns: Mapping[str, Any]) -> DeviceFrame | None:
        """cuDF columns, sharing their memory; None if a column is not numeric or has missing values."""
        if not all(getattr(one.dtype, "kind", "O") in "iufb" and not one.null_count for one in columns.values()):
            return None
        return cls({name: one.values for name, one in columns.items()})

    @property
    def columns(self) -> list[str]:
        return list(self.arrays)

    def __getitem__(self, name: str) -> Any:
        return self.arrays[name]

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values()), ()))

    def to_arrow(self) -> pa.Table:
        columns = [pa.array(array.get()) for array in self.arrays.values()]
        fields = zip(self.arrays, columns, strict=True)
        return pa.table(columns, pa.schema([pa.field(name, one.type, nullable=False) for name, one in fields]))

    def to_pandas(self) -> pd.DataFrame:
        return self.to_arrow().to_pandas()


def is_lazy(frame: Any) -> bool:
    """Whether a frame is lazy, like Dask's; all others are in the memory of this process."""
    return hasattr(frame, "to_delayed") and hasattr(type(frame), "columns")  # a Delayed has every attribute


def is_cudf(frame: Any) -> bool:
    """Whether a frame is made by cuDF or dask-cudf."""
    if isinstance(frame, LazyPieces):
        return frame.cudf
    return type(frame._meta if is_lazy(frame) else frame).__module__.split(".")[0] == "cudf"


def count_rows(frame: Any) -> int:
    """The number of rows of a frame in memory."""
    return len(next(iter(frame.values()), ())) if isinstance(frame, dict) else len(frame)


def least_bytes(frame: Any) -> int:
    """The least that a frame in memory takes: an object counts as 8 bytes, because many rows may share it."""
    if isinstance(frame, pa.Table):
        return int(frame.nbytes)
    if isinstance(frame, pd.DataFrame):
        return int(frame.memory_usage(index=False).sum())
    return sum(int(getattr(frame[name], "nbytes", 8 * count_rows(frame))) for name in column_names(frame))


def split_frame(frame: Any, pieces: int) -> list[Any]:
    """Slices of a frame in memory, which share its memory."""
    size = count_rows(frame)
    bounds = pairwise([size * i // pieces for i in range(pieces + 1)])
    if isinstance(frame, dict):
        return [{name: values[a:z] for name, values in frame.items()} for a, z in bounds]
    return [frame.slice(a, z - a) if isinstance(frame, pa.Table) else frame.iloc[a:z] for a, z in bounds]


def select_rows(frame: Any, mask: np.ndarray) -> Any:
    """The rows of a frame in main memory at which a mask is true."""
    if isinstance(frame, dict):
        return {name: np.asarray(values)[mask] for name, values in frame.items()}
    return frame.filter(pa.array(mask)) if isinstance(frame, pa.Table) else _in_native_order(frame)[mask]


_INTEGER_TYPES = [f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)]
_NULLABLE_TYPES = {pa.type_for_alias(name.lower()): pd.api.types.pandas_dtype(name) for name in _INTEGER_TYPES}
_NULLABLE_TYPES[pa.bool_()] = pd.BooleanDtype()


def to_pandas(frame: Any) -> pd.DataFrame:
    """A frame in memory as a pandas frame."""
    if isinstance(frame, dict):
        frame = pd.DataFrame({name: np.asarray(values) for name, values in frame.items()})
    if isinstance(frame, pd.DataFrame):
        return _in_native_order(frame)
    if not isinstance(frame, pa.Table):
        return frame.to_pandas()
    names, frame = frame.column_names, frame.rename_columns([str(place) for place in range(frame.num_columns)])
    whole = [field.name for field in frame.schema if field.nullable and field.type in _NULLABLE_TYPES]
    table = frame.drop_columns(whole).to_pandas()
    table[whole] = frame.select(whole).to_pandas(types_mapper=_NULLABLE_TYPES.get)
    return table[frame.column_names].set_axis(names, axis=1)


def _in_native_order(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with numbers in native byte order; pandas cannot select rows of others."""
    kinds = {name: kind for name, kind in frame.dtypes.items() if isinstance(kind, np.dtype) and not kind.isnative}
    return frame.astype({name: kind.newbyteorder("=") for name, kind in kinds.items()}) if kinds else frame


def to_main_memory(frame: Any) -> Any:
    """A frame in main memory: cuDF frames are copied; pandas, Arrow and dicts are returned unchanged."""
    return frame.to_arrow() if hasattr(frame, "to_arrow") else frame


def select_columns(frame: Any, names: list[str]) -> pd.DataFrame:
    """Some columns of a frame of any kind as a pandas frame; the others are not converted."""
    frame = to_main_memory(frame)
    if isinstance(frame, dict):
        return to_pandas({name: frame[name] for name in names})
    return to_pandas(frame.select(names) if isinstance(frame, pa.Table) else frame[names])


def column_names(frame: Any) -> list[str]:
    """The column names of a frame of any kind."""
    return list(
        frame.column_names if isinstance(frame, pa.Table) else frame.columns if hasattr(frame, "columns") else frame
    )


def frame_column(frame: Any, name: str) -> Any:
    """A column of a frame of any kind."""
    if name not in column_names(frame):
        raise ColumnError(f"there is no column {name!r}; the frame has {', '.join(map(repr, column_names(frame)))}")
    return frame[name]


_FILL_WEIGHTS = "fill or drop such rows, or make the graph with weight=None"
# The names that `pandas.api.types.infer_dtype` gives to object columns of numbers.
_NUMERIC_KINDS = ("integer", "floating", "mixed-integer-float", "decimal", "empty")


def is_numeric(frame: Any, name: str) -> bool:
    """Whether the type of a column holds real numbers, some of which may be missing; booleans do not count. Values are
    inspected only in a column of objects in memory."""
    column = frame_column(frame._meta if is_lazy(frame) else frame, name)
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return is_numeric_type(column.type)
    if not hasattr(column, "dtype"):
        column = np.asarray(column)
    if column.dtype == object:
        return not is_lazy(frame) and pd.api.types.infer_dtype(column, skipna=True) in _NUMERIC_KINDS
    return pd.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind not in "bc"


def is_numeric_type(kind: pa.DataType) -> bool:
    """Like `is_numeric`, for an Arrow type. The null type (all values are missing) counts as numeric."""
    types = pa.types
    return any(fits(kind) for fits in (types.is_integer, types.is_floating, types.is_decimal, types.is_null))


def numeric_column(frame: Any, name: str, is_weight: bool = False) -> np.ndarray:
    """A column as numbers of a type that kernels support; whole numbers stay whole. Text and missing weights raise an
    error that names the row."""
    column = frame_column(frame, name)
    is_whole = _is_whole(column)
    if isinstance(column, pa.Array | pa.ChunkedArray):
        column = column.to_pandas() if column.null_count else column.to_numpy(zero_copy_only=False)
    array = column.to_numpy() if isinstance(column, pd.Series) else np.asarray(column)
    error = WeightError if is_weight else ColumnError
    if is_whole and not is_weight and array.dtype.kind == "f" and (np.abs(array) >= 2**53).any():
        raise error(rounding_message(name, array[np.nanargmax(np.abs(array))]))
    if array.dtype.kind not in "iufcb":
        array = _as_numbers(column, array, name, error)
    if array.ndim != 1:
        raise error(f"column {name!r} has {array.ndim} dimensions; expected one number per row")
    if array.dtype.kind == "c":
        raise error(f"column {name!r} holds complex numbers; expected real numbers")
    if is_weight and array.dtype.kind == "f":
        missing = np.flatnonzero(np.isnan(array))
        if len(missing):
            raise error(f"column {name!r}, row {missing[0]}: the weight is missing (nan); {_FILL_WEIGHTS}")
    kind = array.dtype.newbyteorder("=")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        # kernels have neither half nor long double precision
        kind = np.dtype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    return np.ascontiguousarray(array, kind)


def rounding_message(name: str, number: float) -> str:
    rounded = f"floats, which cannot represent every whole number near {number:.0f}"
    return f"column {name!r}: missing values turn it into {rounded}; fill them in"


def _is_whole(column: Any) -> bool:
    """Whether a column holds whole numbers, perhaps with missing values."""
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return pa.types.is_integer(column.type)
    return isinstance(column, pd.Series) and column.dtype.kind in "iu"


def _as_numbers(column: Any, array: np.ndarray, name: str, error: type[ColumnError | WeightError]) -> np.ndarray:
    """The numbers in a column of objects (decimals, nullable integers); anything else is an error."""
    missing = np.flatnonzero(pd.isna(array))
    if len(missing):
        remedy = _FILL_WEIGHTS if error is WeightError else "fill or drop such rows first"
        raise error(f"column {name!r}, row {missing[0]}: the value is missing; {remedy}")
    text = next((row for row, value in enumerate(array) if isinstance(value, str | bytes)), None)
    if text is not None:
        raise error(f"column {name!r}, row {text}: {array[text]!r} is text, not a number; convert the column first")
    try:
        if array.dtype.kind in "mM":
            raise TypeError("it holds times, which .astype('int64') turns into numbers")
        return array.astype(np.float64)
    except (TypeError, ValueError) as cause:
        kind = getattr(column, "dtype", array.dtype)
        raise error(f"column {name!r} of type {kind} is not numeric: {cause}; convert it first") from cause
