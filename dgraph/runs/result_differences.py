"""What changed between two results: the vertices that are new, gone, or have other values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dgraph.arguments import is_number, shown
from dgraph.errors import ColumnError, IdError, OptionError
from dgraph.partition.ids.chunk import Chunk
from dgraph.partition.ids.numbering import Numbering
from dgraph.runs.worker_results import VertexValues, table

if TYPE_CHECKING:
    from dgraph.runs.result import RunResult

ABSENT = -1  # the number of a vertex that a graph does not have
NO_VERTEX = -2  # in a column of vertices: a row without one
NULLABLE = {"i": "Int64", "u": "UInt64", "b": "boolean"}


def differences(before: RunResult, after: RunResult, tolerance: float) -> pd.DataFrame:
    """The rows of two results that differ; see `RunResult.changes`."""
    if not is_number(tolerance) or not tolerance >= 0:
        raise OptionError(f"{shown('tolerance', tolerance)} must be a number >= 0")
    names = list(after._empty.columns)
    if set(before._empty.columns) != set(names):
        raise ColumnError(
            f"previous= has the columns {', '.join(before._empty.columns)}, and this result has {', '.join(names)}; "
            f"compare results of one operation"
        )
    of_old, of_new = ({name: one._values_of_all(name) for name in names} for one in (before, after))
    new_of_old = _numbers_in(after._numbering, before._numbering)
    kept = np.flatnonzero(new_of_old >= 0)
    old_of_new = np.full(after._numbering.size, ABSENT)
    old_of_new[new_of_old[kept]] = kept
    both = np.flatnonzero(old_of_new >= 0)
    differ = np.zeros(len(both), bool)
    for name in names:
        old, new = of_old[name][old_of_new[both]], of_new[name][both]
        if name in after._vertex_columns:
            found = _renumbered(old, new_of_old) != _renumbered(new, np.arange(after._numbering.size))
        else:
            found = _differ(old, new, tolerance)
        differ |= found.any(axis=tuple(range(1, found.ndim)))  # a vector differs if one of its values does
    chosen = old_of_new < 0
    chosen[both[differ]] = True
    new_rows, gone = np.flatnonzero(chosen), np.flatnonzero(new_of_old < 0)
    numbers = np.concatenate([old_of_new[new_rows], gone]), np.concatenate([new_rows, np.full(len(gone), ABSENT)])
    sides = _rows(before, of_old, numbers[0]), _rows(after, of_new, numbers[1])
    frame = pd.DataFrame({"vertex": _ids(after._numbering, new_rows, before._numbering, gone)})
    frame["change"] = np.select([numbers[0] < 0, numbers[1] < 0], ["new", "gone"], "changed")
    for name in names:
        old, new = (side[name] for side in sides)
        frame[f"{name}_before"] = old if before._numbering.size else pd.Series(index=new.index, dtype=new.dtype)
        frame[f"{name}_after"] = new if after._numbering.size else pd.Series(index=old.index, dtype=old.dtype)
    return frame.sort_values("vertex", ignore_index=True) if len(gone) else frame


def _numbers_in(numbering: Numbering, other: Numbering) -> np.ndarray:
    """The number of each vertex of another graph; `ABSENT` if the graph does not have it."""
    kinds = other.id_type.kind, numbering.id_type.kind
    if other.size and numbering.size and kinds[0] != kinds[1]:
        raise IdError(f"previous= has ids of kind {kinds[0]}, and this result has ids of kind {kinds[1]}")
    if other is numbering:
        return np.arange(numbering.size)
    ids = other.ids()
    return numbering.numbers_if_known(Chunk(other.id_type, ids, ids[:0]))


def _renumbered(vertices: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Vertices by other numbers, and `NO_VERTEX` where there is none."""
    valid = (vertices >= 0) & (vertices < len(numbers))
    out = np.full(vertices.shape, NO_VERTEX)
    out[valid] = numbers[vertices[valid]]
    return out


def _differ(old: np.ndarray, new: np.ndarray, tolerance: float) -> np.ndarray:
    """Whether values differ, by more than the tolerance if they are numbers. Missing values are equal."""
    unequal = old != new
    if old.dtype.kind == "f":
        unequal &= ~(np.isnan(old) & np.isnan(new))
    if tolerance and old.dtype.kind != "b":
        unequal &= ~np.isclose(old, new, rtol=0, atol=tolerance)
    return unequal


def _rows(result: RunResult, columns: dict[str, np.ndarray], numbers: np.ndarray) -> pd.DataFrame:
    """The values of some vertices, with missing values for those that are absent."""
    there = np.flatnonzero(numbers >= 0)
    chosen = VertexValues(numbers[there], {name: values[numbers[there]] for name, values in columns.items()})
    frame = table(chosen, result._numbering, result._vertex_columns, set(result._vertex_columns))
    kinds = {name: kind.kind for name, kind in frame.dtypes.items() if isinstance(kind, np.dtype)}
    frame = frame.astype({name: NULLABLE[kind] for name, kind in kinds.items() if kind in NULLABLE})
    return frame.set_axis(there).reindex(np.arange(len(numbers)))


def _ids(new: Numbering, rows: np.ndarray, old: Numbering, gone: np.ndarray) -> pd.Series:
    """The ids of vertices of the later graph, and of those that only the earlier one had."""
    later, earlier = pd.Series(new.restored(rows)), pd.Series(old.restored(gone))
    if not len(gone):
        return later
    if later.dtype != earlier.dtype:  # signed and unsigned integers
        later, earlier = later.astype(object), earlier.astype(object)
    return pd.concat([later, earlier], ignore_index=True) if len(rows) else earlier
