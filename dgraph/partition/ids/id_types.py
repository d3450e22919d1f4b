"""The types of vertex ids, and columns of them: whole numbers as NumPy arrays, others as Arrow arrays.

A column of ids is one of three kinds: `integer` (at most 64 bits, signed or unsigned), `string`, or `uuid` (sixteen
bytes, in numeric order). The graph keeps the kind and the user's type, so that results have the user's own ids.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dgraph.arguments import to_python
from dgraph.errors import IdError

UUID_BYTES = pa.binary(16)
REMEDY = "ids are whole numbers of at most 64 bits, strings or UUIDs"
CONVERT_TO_TEXT = "convert them to strings with .astype(str)"


@dataclass(frozen=True)
class IdType:
    """The kind of a graph's ids, and their type in the user's frames."""

    kind: str  # integer, string or uuid; "none" for an empty column, which matches every kind
    dtype: str = "int64"  # the type of integers in results; "string" for an empty column of strings

    def join(self, other: IdType) -> IdType:
        """The common type of the ids of two columns."""
        if "none" in (self.kind, other.kind):
            return max(self, other, key=lambda one: (one.kind != "none", one.dtype == "string"))
        if self.kind != other.kind:
            raise IdError(f"{self.kind} ids and {other.kind} ids cannot name vertices of one graph; convert one column")
        if self == other:
            return self
        common = np.result_type(self.dtype, other.dtype)
        return IdType(self.kind, "int64" if common.kind == "f" else str(common))  # uint64 with a signed type; see `fit`

    def fit(self, ids: np.ndarray) -> np.ndarray:
        """Integers converted to the type of the graph's ids."""
        if self.dtype == "int64" and ids.dtype == np.uint64 and len(ids) and ids.max() >= 2**63:
            raise IdError(f"id {ids.max()} and ids below zero have no common 64-bit type; convert all to strings")
        if self.dtype == "uint64" and ids.dtype.kind == "i" and len(ids) and ids.min() < 0:
            raise IdError(f"id {ids.min()} is below zero, and other ids are 2**63 or above; convert all to strings")
        return ids.astype(self.dtype, copy=False)

    def restore(self, ids: np.ndarray | pa.Array) -> Any:
        """Ids in the user's type, as a column for a pandas frame."""
        if "string" in (self.kind, self.dtype):
            return pd.array(pa.chunked_array([pc.cast(ids, pa.large_string())]), dtype=STRING)
        if self.kind in ("integer", "none"):
            return np.asarray(ids).astype(self.dtype, copy=False)
        return np.array([uuid.UUID(bytes=b.as_py()) for b in ids], dtype=object)

    def scalar(self, value: Any) -> Any:
        """Convert an id from the user to the internal form."""
        value = to_python(value)
        if self.kind == "integer" and isinstance(value, int | np.integer) and not isinstance(value, bool):
            return int(value)
        if self.kind == "string" and isinstance(value, str):
            return str(value)
        if self.kind == "uuid" and isinstance(value, uuid.UUID | str):  # Dask's frames turn UUIDs into strings
            with suppress(ValueError):
                return uuid.UUID(str(value)).bytes
        has = "has no ids" if self.kind == "none" else f"has ids of kind {self.kind}"
        raise IdError(f"{value!r} is not an id of this graph, which {has} ({REMEDY})")


STRING = pd.StringDtype("pyarrow", na_value=np.nan) if pd.__version__ >= "3" else "string[pyarrow]"


def id_column(values: Any, name: str) -> tuple[IdType, np.ndarray | pa.Array]:
    """The type and values of a column of ids (NumPy, pandas or Arrow). Missing or invalid ids raise an IdError."""
    if not len(values):
        return IdType("none", "string" if _for_text(values, name) else "int64"), np.empty(0, np.int64)
    if isinstance(values, pa.ChunkedArray | pa.Array):
        return _arrow(values, name)
    if isinstance(values, pd.Series | pd.Index) and not isinstance(values.dtype, np.dtype):
        return _arrow(_of_pandas(values, name), name)
    values = np.asarray(values)
    if values.ndim != 1:
        raise IdError(f"column {name!r} has {values.ndim} dimensions; {REMEDY}, one per row")
    if values.dtype.kind in "iu":
        native = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
        return IdType("integer", str(native.dtype)), native
    if values.dtype.kind in "UO":
        return _objects(values.astype(object, copy=False), name)
    if values.dtype.kind == "f":
        missing = np.flatnonzero(np.isnan(values))
        if len(missing):
            raise IdError(f"column {name!r}, row {missing[0]}: the id is missing (nan); drop or fill such rows first")
        raise IdError(
            f"column {name!r} has type {values.dtype}, first value {values[:1].tolist()}: {REMEDY}; "
            f"use .astype('int64') if all values are whole"
        )
    raise IdError(f"column {name!r} has type {values.dtype}: {REMEDY}; {CONVERT_TO_TEXT}")


def _of_pandas(values: pd.Series | pd.Index, name: str) -> pa.Array | pa.ChunkedArray:
    """A column of one of pandas' extension types, as Arrow."""
    try:
        return pa.array(values, from_pandas=True)
    except pa.ArrowException as cause:
        raise IdError(f"column {name!r} has type {values.dtype}: {REMEDY}; {CONVERT_TO_TEXT}") from cause


def _for_text(values: Any, name: str) -> bool:
    """Whether an empty column has a string type, so that results can be joined with columns of strings."""
    if isinstance(values, pd.Series | pd.Index) and not isinstance(values.dtype, np.dtype):
        values = _of_pandas(values, name)
    if isinstance(values, pa.ChunkedArray | pa.Array):
        return is_text(getattr(values.type, "value_type", values.type))
    return np.asarray(values).dtype.kind == "U"


def _objects(values: np.ndarray, name: str) -> tuple[IdType, np.ndarray | pa.Array]:
    """A column of Python objects: all strings, all UUIDs, or all whole numbers (which may be decimals)."""
    missing = np.flatnonzero(pd.isna(values))
    if len(missing):
        raise IdError(f"column {name!r}, row {missing[0]}: the id is missing; drop or fill such rows first")
    kinds = {type(value) for value in values}
    if all(issubclass(kind, str) for kind in kinds):
        try:
            return IdType("string"), pa.array(values, pa.large_string())
        except UnicodeEncodeError as cause:
            raise IdError(f"column {name!r}: {cause.object!r} cannot be encoded as UTF-8") from cause
    if all(issubclass(kind, uuid.UUID) for kind in kinds):
        return IdType("uuid"), pa.array([value.bytes for value in values], UUID_BYTES)
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        low, high = min(map(int, values)), max(map(int, values))
        if low < -(2**63) or high >= 2**64 or (low < 0 and high >= 2**63):
            beyond = low if low < -(2**63) else high
            raise IdError(f"column {name!r}: id {beyond} is beyond 64 bits; use strings")
        dtype = "int64" if high < 2**63 else "uint64"
        return IdType("integer", dtype), values.astype(dtype)
    if all(issubclass(kind, Decimal) for kind in kinds):
        return _arrow(_of_pandas(pd.Series(values), name), name)
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise IdError(f"column {name!r} holds values of type {names}: {REMEDY}, all of one kind; {CONVERT_TO_TEXT}")


def _arrow(values: pa.Array | pa.ChunkedArray, name: str) -> tuple[IdType, np.ndarray | pa.Array]:
    if values.null_count:
        row = pc.index(pc.is_null(values), True).as_py()
        raise IdError(f"column {name!r}, row {row}: the id is missing (null); drop or fill such rows first")
    kind = values.type
    if pa.types.is_dictionary(kind) and (
        pa.types.is_floating(kind.value_type)
        or any(chunk.dictionary.null_count for chunk in getattr(values, "chunks", [values]))
    ):
        return _arrow(values.cast(kind.value_type), name)  # one of the categories may be a missing value
    if is_uuid(kind):
        values = values.cast(UUID_BYTES) if isinstance(values, pa.ChunkedArray) else values.storage
        return IdType("uuid"), _as_one_array(values)
    if is_integer_type(kind):
        values = _as_one_array(to_integers(values, name))
        return IdType("integer", str(values.type.to_pandas_dtype().__name__)), values.to_numpy(zero_copy_only=False)
    if pa.types.is_dictionary(kind):
        if pa.types.is_integer(kind.value_type) or kind.value_type == UUID_BYTES:
            return _arrow(values.cast(kind.value_type), name)
        kind = kind.value_type
    if is_text(kind):
        return IdType("string"), values
    if kind == UUID_BYTES:
        return IdType("uuid"), _as_one_array(values)
    if pa.types.is_floating(kind):
        return id_column(_as_one_array(values).to_numpy(zero_copy_only=False), name)
    raise IdError(f"column {name!r} has type {kind}: {REMEDY}; {CONVERT_TO_TEXT}")


def is_integer_type(kind: pa.DataType) -> bool:
    """Whether values are whole numbers: integers, or decimals of scale 0, which databases use for row numbers."""
    return pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0)


def to_integers(values: pa.Array | pa.ChunkedArray, name: str) -> pa.Array | pa.ChunkedArray:
    """Whole numbers as integers: decimals are converted to 64 bits."""
    if pa.types.is_integer(values.type):
        return values
    for kind in (pa.int64(), pa.uint64()):
        with suppress(pa.ArrowInvalid):
            return pc.cast(values, kind)
    raise IdError(f"column {name!r} of type {values.type} has ids beyond 64 bits; {CONVERT_TO_TEXT}")


def is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def is_uuid(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name == "arrow.uuid"


def _as_one_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The values as one array."""
    if isinstance(values, pa.ChunkedArray):
        return values.chunk(0) if values.num_chunks == 1 else pa.concat_arrays(values.chunks)
    return values
