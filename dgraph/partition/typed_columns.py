"""Columns of any pandas type as Arrow tables that restore them exactly: text, categories, times, booleans, numbers.

A *description* is the JSON form of a column's dtype. Table columns are named by position; a column of Python objects
whose missing values are not all None has a second table column, which holds the kind of each missing value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dgraph.errors import ColumnError
from dgraph.partition.manifest import require

Description = dict[str, Any]

MISSING = [None, float("nan"), pd.NA, pd.NaT]  # missing values in columns of Python objects, by code
ARROW_KINDS = "iufbMm"  # kinds of NumPy types that Arrow has
IS_TEXT = ("is_string", "is_large_string")  # Arrow's tests of types
IS_OBJECT = ("is_null", "is_boolean", "is_integer", "is_floating", "is_decimal", "is_date", "is_time", "is_binary")


def description_of(dtype: Any) -> Description | None:
    """The description of a dtype; None if a saved graph cannot hold such columns."""
    if isinstance(dtype, np.dtype):
        description: Description = {"numpy": dtype.str} if dtype.kind in ARROW_KINDS + "O" else {}
    elif isinstance(dtype, pd.StringDtype):
        description = {"text": dtype.storage, "missing": "NA" if dtype.na_value is pd.NA else "nan"}
    elif isinstance(dtype, pd.CategoricalDtype):
        of_categories = description_of(dtype.categories.dtype)
        description = {"categories": of_categories, "ordered": bool(dtype.ordered)} if of_categories else {}
    elif isinstance(dtype, pd.DatetimeTZDtype):
        description = {"unit": dtype.unit, "zone": str(dtype.tz)}
    elif isinstance(dtype, pd.ArrowDtype):
        description = {"arrow": str(dtype.pyarrow_dtype)}
    else:
        description = {"nullable": str(dtype)}
    needs_table = isinstance(dtype, pd.ArrowDtype | pd.CategoricalDtype)
    known = needs_table or (is_description(description) and _dtype(description) == dtype)
    return description if description and known else None


def is_description(value: Any) -> bool:
    """Whether a value of a manifest is a description."""
    try:
        if isinstance(value, dict) and "categories" in value:
            return isinstance(value["ordered"], bool) and is_description(value["categories"])
        return isinstance(value.get("arrow"), str) or _dtype(value) is not None
    except (AttributeError, KeyError, TypeError, ValueError, LookupError, OSError):
        return False


def _dtype(description: Description) -> Any:
    """The dtype of a description that needs no table: neither categories nor an Arrow type."""
    if "numpy" in description:
        dtype = np.dtype(str(description["numpy"]))
        require(dtype.kind in ARROW_KINDS + "O" and dtype.names is None, "a type that is not saved")
        return dtype
    if "text" in description:
        return pd.StringDtype(description["text"], na_value={"NA": pd.NA, "nan": np.nan}[description["missing"]])
    if "zone" in description:
        return pd.DatetimeTZDtype(description["unit"], description["zone"])
    dtype = pd.api.types.pandas_dtype(str(description["nullable"]))
    masked = hasattr(dtype, "__from_arrow__") and (pd.api.types.is_numeric_dtype(dtype) or dtype == pd.BooleanDtype())
    require(masked and str(dtype) == description["nullable"], "a type that is not saved")
    return dtype


# -- to Arrow ----------------------------------------------------------------------------------------------------------


def table_of(frame: pd.DataFrame) -> pa.Table:
    """The columns of a frame as a table. Raises a ColumnError for the first that cannot be restored exactly."""
    columns: dict[str, Any] = {}
    for place, name in enumerate(frame.columns):
        values = frame[name]
        try:
            columns |= _arrays(values, str(place))
        except (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError) as cause:
            raise not_saved(name, values.dtype, cause) from cause
    return pa.table(columns)


def not_saved(name: Any, dtype: Any, cause: Any) -> ColumnError:
    problem = f"column {name!r} of type {dtype} cannot be saved: {cause}"
    remedy = f"convert it, for example with frame[{name!r}].astype('string')"
    return ColumnError(f"{problem}; {remedy}, or leave it out (columns= names those to save)")


def _arrays(values: pd.Series, name: str) -> dict[str, Any]:
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = pa.array(values.cat.codes.to_numpy(np.int32), mask=values.isna().to_numpy())
        categories = _arrays(dtype.categories.to_series(), name)
        if len(categories) > 1:
            raise ValueError("a category is missing")
        dictionary = categories[name]
        dictionary = dictionary.combine_chunks() if isinstance(dictionary, pa.ChunkedArray) else dictionary
        return {name: pa.DictionaryArray.from_arrays(codes, dictionary, ordered=dtype.ordered)}
    if isinstance(dtype, pd.StringDtype):
        return {name: pa.array(values, pa.large_string(), from_pandas=True)}
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return _of_objects(values.to_numpy(), name)
    if isinstance(dtype, np.dtype):
        return {name: pa.array(values.to_numpy(), from_pandas=dtype.kind in "mM")}
    return {name: pa.array(values)}


def _of_objects(values: np.ndarray, name: str) -> dict[str, Any]:
    absent = np.flatnonzero(pd.isna(values))
    array = pa.array(values, from_pandas=True)
    is_text, is_object = (any(getattr(pa.types, test)(array.type) for test in tests) for tests in (IS_TEXT, IS_OBJECT))
    if not (is_text or is_object):
        raise TypeError(f"it holds Python objects such as {values[np.flatnonzero(~pd.isna(values))[0]]!r:.60}")
    if not is_text:
        for before, after in zip(values, array.to_pylist(), strict=True):
            if after is not None and (type(before) is not type(after) or before != after):
                raise TypeError(f"it mixes {before!r:.60} with values of other types")
    if all(values[row] is None for row in absent):
        return {name: array}
    codes = np.zeros(len(values), np.uint8)
    codes[absent] = [_code(value) for value in values[absent]]
    return {name: array, f"{name}.missing": pa.array(codes)}


def _code(missing: Any) -> int:
    for code, value in enumerate(MISSING):
        if missing is value or (isinstance(missing, float) and isinstance(value, float)):
            return code
    raise TypeError(f"it holds {missing!r}")


# -- from Arrow --------------------------------------------------------------------------------------------------------


def frame_of(table: pa.Table, descriptions: Mapping[str, Description]) -> pd.DataFrame:
    """Restore the frame that `table_of` converted."""
    restored = {
        name: _restored(table, str(place), description)
        for place, (name, description) in enumerate(descriptions.items())
    }
    require(all(len(values) == table.num_rows for values in restored.values()), "columns that differ in length")
    return pd.DataFrame(restored, index=pd.RangeIndex(table.num_rows))


def _restored(table: pa.Table, name: str, description: Description) -> Any:
    column = table[name]
    if "categories" in description:
        whole = column.combine_chunks()
        categories = _restored(pa.table({name: whole.dictionary}), name, description["categories"])
        index = pd.Index(categories, dtype=getattr(categories, "dtype", None))
        dtype = pd.CategoricalDtype(index, description["ordered"])
        return pd.Categorical.from_codes(whole.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=dtype)
    if "arrow" in description:
        require(str(column.type) == description["arrow"], "a column of another type")
        return pd.ArrowDtype(column.type).__from_arrow__(column)
    dtype = _dtype(description)
    if not isinstance(dtype, np.dtype):
        return dtype.__from_arrow__(column)
    if dtype.kind != "O":
        return column.to_numpy().astype(dtype, copy=False)
    values = np.empty(len(column), object)
    values[:] = column.to_pylist()
    if f"{name}.missing" in table.column_names:
        codes = table[f"{name}.missing"].to_numpy()
        for code, value in enumerate(MISSING[1:], 1):
            values[codes == code] = value
    return pd.Series(values, dtype=object)


def cast_to_description(values: np.ndarray, description: Description) -> Any:
    """Convert numbers of a kernel's type to the type of the user's column."""
    arrow = description.get("arrow")
    dtype: Any = _dtype(description) if arrow is None else pd.ArrowDtype(pa.type_for_alias(arrow))
    if isinstance(dtype, np.dtype):
        return values.astype(dtype)
    return dtype.__from_arrow__(pa.array(values, from_pandas=True))


def is_of_numbers(dtype: Any) -> bool:
    """Whether kernels can read columns of this type."""
    return getattr(dtype, "kind", "O") in "iufc" or (isinstance(dtype, np.dtype) and dtype.kind == "b")


def is_wide_nullable(dtype: Any) -> bool:
    """Whether columns of this type hold 64-bit integers and may have missing values."""
    is_whole = getattr(dtype, "kind", "O") in "iu"
    return is_whole and not isinstance(dtype, np.dtype) and getattr(dtype, "itemsize", 0) == 8


def common_dtype(name: str, dtypes: Sequence[Any]) -> Any:
    """The common dtype of a column whose pieces each have a dtype; categories are joined, unless they are ordered."""
    first = dtypes[0]
    if all(one == first for one in dtypes):
        return first
    if all(isinstance(one, pd.CategoricalDtype) for one in dtypes) and not any(one.ordered for one in dtypes):
        pieces = [pd.Categorical([], dtype=one) for one in dtypes]
        return pd.api.types.union_categoricals(pieces).dtype
    raise not_saved(name, first, f"pieces of the frame have it as {next(one for one in dtypes if one != first)}")
