"""Values of a run as tables, by the user's own ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dgraph.partition.ids.numbering import Numbering
from dgraph.runs.worker_results import VertexValues, WorkerResult


def numbered_table(found: WorkerResult, part: int, *how: Any) -> tuple[np.ndarray, pd.DataFrame]:
    """The numbers of a partition's vertices, and their values as a table (`how`: see `table`)."""
    return found.parts[part].numbers, table(found.parts[part], *how)


def table(found: VertexValues, numbering: Numbering, vertex_columns: Sequence[str], missing: set[str]) -> pd.DataFrame:
    """Values of some vertices, by the user's own ids. `missing`: columns of vertices, some of which are none."""
    columns: dict[str, Any] = {"vertex": numbering.id_type.restore(numbering.take(found.numbers))}
    for name, values in found.columns.items():
        if name not in vertex_columns:
            columns[name] = values if values.ndim == 1 else pd.Series(list(values), dtype=object)
        elif values.ndim == 1:
            columns[name] = _ids(values, numbering, name in missing)
        else:
            columns[name] = [_ids(row, numbering, name in missing) for row in values]
    return pd.DataFrame(columns)


def of_vectors(values: np.ndarray) -> pd.ArrowDtype:
    """The dtype that a lazy frame states for a column of vectors, so that Dask can write it to Parquet. (What it holds
    are arrays.)"""
    return pd.ArrowDtype(pa.list_(pa.from_numpy_dtype(values.dtype)))


def _ids(numbers: np.ndarray, numbering: Numbering, some_missing: bool) -> Any:
    """The ids of some vertices. Where some numbers are those of no vertex, a column that can hold missing values."""
    if not some_missing:
        return numbering.id_type.restore(numbering.take(numbers))
    absent = (numbers < 0) | (numbers >= numbering.size)
    ids = pd.Series(numbering.id_type.restore(numbering.take(np.where(absent, 0, numbers))))
    if numbering.id_type.kind == "integer":
        ids = ids.astype("UInt64" if ids.dtype.kind == "u" else "Int64")
    return ids.mask(absent)
