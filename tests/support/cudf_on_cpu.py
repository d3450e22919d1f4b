"""The part of cuDF and dask-cudf that we call, over pandas and Arrow, as strict: nothing becomes NumPy or pandas by
itself, columns of text are no numbers, and what is no number in text is an error. `test_stand_ins.py` compares
it with the real one."""

from types import ModuleType

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet


class DeviceBuffer:
    """What cannot be read here."""

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a host NumPy array via __array__ is not allowed")

    def __iter__(self):
        raise TypeError("it is not iterable: use .to_arrow(), .to_pandas() or .values_host")


class There(np.ndarray):
    """An array of CuPy."""

    __cuda_array_interface__ = True

    def get(self):
        return np.array(self)


class Series(DeviceBuffer):
    def __init__(self, column):
        self._column = column

    @property
    def dtype(self):
        return self._column.dtype

    @property
    def values(self):
        assert self.dtype.kind in "iufb" and not self.null_count, "what is no number is not CuPy's"
        return self._column.to_numpy().view(There)

    @property
    def null_count(self):
        return int(self._column.isna().sum())

    def astype(self, dtype):
        if dtype == "int64" and not self._column.str.fullmatch(r"[+-]?\d+").all():
            raise ValueError("Could not convert strings to integer type due to presence of non-integer values.")
        if dtype == "float64" and not self._column.str.fullmatch(r"[+-]?[\d.]+([eE][+-]?\d+)?").all():
            raise ValueError("Could not convert strings to float type due to presence of non-floating values.")
        return Series(self._column.astype(dtype))

    def __eq__(self, other):
        return Series(self._column == other._column)

    __hash__ = None

    def all(self):
        return bool(self._column.all())

    def to_arrow(self):
        return pa.Array.from_pandas(self._column)


class DataFrame(DeviceBuffer):
    __module__ = "cudf.core"

    def __init__(self, frame):
        self._frame = frame

    @property
    def columns(self):
        return self._frame.columns

    def __len__(self):
        return len(self._frame)

    def __getitem__(self, name):
        return Series(self._frame[name])

    def to_arrow(self):
        return pa.Table.from_pandas(self._frame, preserve_index=False)

    def to_pandas(self):
        return self._frame.copy()


def from_pandas(obj):
    assert type(obj) is pd.DataFrame
    kinds = pa.Table.from_pandas(obj).schema.types  # by which it goes: of objects it takes text and arrays
    assert not any(isinstance(kind, pa.BaseExtensionType) for kind in kinds), kinds
    return DataFrame(obj.copy())


def read_parquet(filepath_or_buffer, *, columns, row_groups, use_pandas_metadata):
    (group,) = row_groups
    found = pyarrow.parquet.ParquetFile(filepath_or_buffer).read_row_group(group, columns=columns)
    return DataFrame(found.to_pandas())


def read_csv(filepath_or_buffer, *, header, names, usecols, dtype, quoting, sep=","):
    assert header is None and set(dtype.values()) == {"str"}
    assert len(sep) == 1
    how = {"names": names, "usecols": usecols, "dtype": dtype, "quoting": quoting, "sep": sep}
    return DataFrame(pd.read_csv(filepath_or_buffer, header=None, **how))


class Lazy:
    """A frame of dask-cudf."""

    def __init__(self, pieces, meta):
        self._pieces, self._meta = list(pieces), meta

    @property
    def columns(self):
        return self._meta.columns

    def to_delayed(self):
        return self._pieces

    def compute(self, client=None):
        found = client.gather(client.compute(self._pieces)) if client else dask.compute(*self._pieces)
        assert all(type(one) is DataFrame for one in found)
        return DataFrame(pd.concat([one._frame for one in found], ignore_index=True))


def from_delayed(dfs, meta=None, verify_meta=True):
    assert type(meta) is DataFrame
    return Lazy(dfs, meta)


def modules() -> dict[str, ModuleType]:
    """To be put into `sys.modules`."""
    found = {name: ModuleType(name) for name in ("cudf", "dask_cudf")}
    for one in (DataFrame, Series, from_pandas, read_parquet, read_csv):
        setattr(found["cudf"], one.__name__, one)
    found["dask_cudf"].from_delayed = from_delayed
    return found
