"""Edges in the memory of this process's GPU (experimental): columns of numbers as CuPy arrays, which cuDF can share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa


def is_on_gpu(values: Any) -> bool:
    return hasattr(values, "__cuda_array_interface__")


class DeviceFrame:
    """Columns on a GPU. Like a cuDF frame, it is copied to main memory by `to_arrow`."""

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
