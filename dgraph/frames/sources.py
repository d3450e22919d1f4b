"""The frames of edges and vertices that a graph is made from, and their columns of ids and weights."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dgraph.arguments import AUTO, is_default
from dgraph.errors import ColumnError, IdError, InputError, OptionError, UnweightedWarning
from dgraph.frames.any_frame import DeviceFrame, LazyPieces, column_names, is_cudf, is_lazy, is_numeric, is_on_gpu
from dgraph.phrases.phrases import warn

NAME_THEM = "Name the columns with source=, destination= and weight="
WEIGHT = "weight"  # the column that weight="auto" takes


@dataclass(frozen=True)
class NoWeight:
    """No weight. `instead` lists columns that may have been meant, by name or position; None means the numeric columns
    of the frame."""

    instead: Sequence[str | int] | None = ()


UNWEIGHTED_BY_CHOICE = NoWeight()


@dataclass(frozen=True, eq=False)
class EdgeSource:
    """A frame of edges and the names of its columns."""

    frame: Any
    source: str
    destination: str
    weight: str | None = None
    of_cudf: bool = False  # whether the user's frame is a cuDF frame; then results are too
    unweighted: NoWeight = UNWEIGHTED_BY_CHOICE  # if there is no weight: the columns that may have been meant

    @property
    def on_device(self) -> bool:
        """Whether its pieces may be in GPU memory."""
        return isinstance(self.frame, DeviceFrame) or (isinstance(self.frame, LazyPieces) and self.frame.cudf)

    @property
    def columns(self) -> list[str]:
        """The names of all columns except the two with ids."""
        return [name for name in column_names(self.frame) if name not in (self.source, self.destination)]

    @cached_property
    def possible_weights(self) -> list[str | int]:
        """Columns of numbers that may have been meant as the weight; none if there is a weight, or if the user chose to
        have none."""
        if self.weight is not None:
            return []
        if self.unweighted.instead is not None:
            return list(self.unweighted.instead)
        return [name for name in self.columns if is_numeric(self.frame, name)]

    @property
    def weight_remedy(self) -> str:
        """What to do if an operation needs weights and there are none."""
        columns = self.possible_weights
        if not columns:
            return "name their column with weight= when you make the graph"
        shown, several = [repr(one) for one in columns], len(columns) > 1
        which = f"its numeric columns are {', '.join(shown)}" if several else f"its column {shown[0]} is numeric"
        return f"{which}: make the graph with weight={columns[0]!r}{', say,' if several else ''} to use it"

    def warn_without_weight(self, operation: str) -> None:
        """Warn if an operation that uses weights runs without them, although columns may have been meant as weights."""
        if self.possible_weights:
            remedy = f"{self.weight_remedy}, or with weight=None to count edges on purpose"
            warn(f"{operation} counts edges, because the graph has no weights; {remedy}", UnweightedWarning)

    def no_weight(self, needed: str) -> ColumnError:
        """The error for an operation that needs weights that the graph does not have."""
        return ColumnError(f"{needed}, but the graph has none; {self.weight_remedy}")


@dataclass(frozen=True, eq=False)
class VertexSource:
    """Vertices listed in addition to the edges: a frame with a column of ids, a range of ids, or neither."""

    frame: Any = None
    id: str = "id"
    id_range: range = range(0)

    @property
    def columns(self) -> list[str]:
        """The names of the attributes."""
        return [name for name in column_names(self.frame) if name != self.id] if self.frame is not None else []


def edge_source(
    frame: Any, source: str, destination: str, weight: str | NoWeight | None, remedy: str = NAME_THEM
) -> EdgeSource:
    """A frame of edges, once its columns are checked; `remedy` is for those that are missing."""
    of_cudf, frame = is_cudf(frame), _convert_frame(frame, "edges")
    columns, unweighted = column_names(frame), UNWEIGHTED_BY_CHOICE
    if isinstance(weight, NoWeight):
        unweighted, weight = weight, None
    for option, name in {"source": source, "destination": destination, "weight": weight}.items():
        if not _is_label(name):
            raise ColumnError(f"{option}= must be the name of an edge column, got a {type(name).__name__}")
    if is_default(weight, AUTO):
        weight, unweighted = auto_weight(columns, (source, destination), partial(is_numeric, frame)), NoWeight(None)
    for name in (source, destination, *([weight] if weight is not None else [])):
        if name not in columns:
            if name in _index_names(frame):
                remedy = f"{name!r} is their index; turn it into a column with frame.reset_index()"
            present = ", ".join(map(repr, columns)) or "none"
            raise ColumnError(f"the edges have no column {name!r}; they have {present}. {remedy}")
        _refuse_repeated("the edges have", columns, name)
    if source == destination:
        raise ColumnError(f"source and destination are both column {source!r}; name two columns")
    if weight is not None and weight in (source, destination):
        raise ColumnError(f"weight={weight!r} is a column of ids; give a copy of it another name")
    lengths = {name: len(frame[name]) for name in columns} if isinstance(frame, dict | DeviceFrame) else {}
    if len(set(lengths.values())) > 1:
        raise ColumnError(f"the columns differ in length: {lengths}")
    return EdgeSource(frame, source, destination, weight, of_cudf, unweighted)


def auto_weight(columns: Sequence[str], ends: Sequence[str], numeric: Callable[[str], bool]) -> str | None:
    """The column that weight="auto" takes: one called `weight`, if it is `numeric`."""
    if WEIGHT not in columns or WEIGHT in ends:
        return None
    if columns.count(WEIGHT) > 1 or numeric(WEIGHT):
        return WEIGHT
    warn_not_numeric("column")
    return None


def warn_not_numeric(what: str) -> None:
    """Warn that weight="auto" passes over a column, or an attribute, that is called `weight`."""
    warn(
        f"the graph has no weights, because the {what} {WEIGHT!r} is not numeric: convert it to numbers, name another "
        "with weight=, or pass weight=None",
        UnweightedWarning,
    )


def _is_label(name: Any) -> bool:
    """Whether `name` can be the name of a column. A column itself cannot; nor can pandas' NA, which equals nothing."""
    try:
        hash(name)
    except TypeError:
        return False
    return name is not pd.NA


def _index_names(frame: Any) -> list[Any]:
    """The names of a frame's index."""
    return list(getattr(getattr(getattr(frame, "_meta", frame), "index", None), "names", ()))


def vertex_source(vertices: Any) -> VertexSource:
    """The user's `vertices`: None, a number, a range, a column of ids or a frame."""
    if vertices is None:
        return VertexSource()
    if isinstance(vertices, int | np.integer) and not isinstance(vertices, bool):
        vertices = range(int(vertices))
        if vertices.stop < 0:
            raise OptionError(f"vertices={vertices.stop} must be >= 0: the number of ids, which start at 0")
    if isinstance(vertices, range):
        if vertices.step != 1:
            raise OptionError(f"vertices={vertices!r} must have step 1; pass a frame with a column of ids instead")
        return VertexSource(id_range=id_range(vertices.start, vertices.stop))
    if isinstance(vertices, pd.Series | pd.Index | np.ndarray | list | tuple | pa.Array | pa.ChunkedArray):
        vertices = {"id": vertices if not isinstance(vertices, list | tuple) else np.asarray(vertices, dtype=object)}
    frame = _convert_frame(vertices, "vertices")
    columns = column_names(frame)
    if not columns:
        raise ColumnError("the vertex frame has no columns; its column `id` (or the first) must list ids")
    for name in columns:
        _refuse_repeated("the vertex frame has", columns, name)
    if "id" not in columns and "id" in _index_names(frame):
        raise ColumnError("the ids of the vertex frame are its index; turn it into a column with frame.reset_index()")
    return VertexSource(frame, "id" if "id" in columns else columns[0])


def _refuse_repeated(frame_has: str, columns: list[str], name: str) -> None:
    if columns.count(name) > 1:
        raise ColumnError(f"{frame_has} {columns.count(name)} columns called {name!r}; rename them")


_REMEDIES = {  # by the package that defines the type
    "builtins": "pass a pandas, Dask, Arrow, Polars or cuDF frame (read files with dgraph.read_edges)",
    "pathlib": "read files with dgraph.read_edges, or pass a frame",
    "pyarrow": "call .to_table() on a dataset or scanner, or .read() on a file, or pass a frame",
    "polars": "collect() a lazy frame, or pass a frame",
    "pyspark": "write it to Parquet and read that with dgraph.read_edges, or pass a frame",
    "pandas": "one column is not enough; pass a frame",
    "numpy": 'name its columns: {"src": array[:, 0], "dst": array[:, 1]}, or pass a frame: pandas.DataFrame(records)',
    "dask": "call .to_dataframe() on a bag, or dask.dataframe.from_delayed on delayed frames, or pass a frame",
    "scipy": "use dgraph.from_scipy, or pass a frame",
    "networkx": "use dgraph.from_networkx, or pass a frame",
    "igraph": "use dgraph.from_igraph, or pass a frame",
}


def _convert_frame(frame: Any, what: str) -> Any:
    """A pandas, Dask or Arrow frame, or a dict of arrays. Other frames are converted to Arrow, except that cuDF frames
    of numbers stay on the GPU (experimental)."""
    if isinstance(frame, pa.RecordBatch):
        frame = pa.table(frame)
    if isinstance(frame, dict):
        for name, values in frame.items():
            if not hasattr(values, "__len__") or isinstance(values, str) or not getattr(values, "ndim", 1):
                raise ColumnError(f"{what}: column {name!r} must be an array, got {values!r}")
        if frame and all(map(is_on_gpu, frame.values())):
            return DeviceFrame(frame)
        frame = {name: values.get() if is_on_gpu(values) else values for name, values in frame.items()}
    if isinstance(frame, pa.Table):
        return _with_nullability(frame)
    if isinstance(frame, pd.DataFrame | dict) or is_lazy(frame):
        return frame
    try:
        if hasattr(type(frame), "to_arrow"):  # cuDF and Polars
            on_gpu = DeviceFrame.from_cudf({name: frame[name] for name in frame.columns}) if is_cudf(frame) else None
            return _with_nullability(frame.to_arrow()) if on_gpu is None else on_gpu
        if hasattr(frame, "__arrow_c_stream__") and not hasattr(frame, "dtype"):  # a column has a dtype
            return _with_nullability(pa.table(frame))
    except pa.ArrowException as error:
        raise InputError(
            f"{what}: a column has a type that Arrow does not support: {error}; convert it first"
        ) from error
    remedy = _REMEDIES.get(type(frame).__module__.split(".")[0], "pass a pandas, Dask, Arrow, Polars or cuDF frame")
    raise InputError(f"{what} of type {type(frame).__name__} cannot be read; {remedy}, or a dict of arrays")


def _with_nullability(table: pa.Table) -> pa.Table:
    """The table with a schema that says which columns have missing values, so that all its slices convert to the same
    pandas types."""
    fields = [
        field.with_nullable(bool(column.null_count)) for field, column in zip(table.schema, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def id_range(start: int, stop: int, step: int = 1) -> range:
    """A range of ids; raises an IdError if one of them is not a signed 64-bit integer, or if there are too many."""
    ids = range(start, stop, step)
    if (ids and not (-(2**63) <= ids[0] <= ids[-1] < 2**63)) or (stop - start) // step > sys.maxsize:
        raise IdError(
            f"the ids {start} to {stop - 1} exceed signed 64-bit integers; number vertices from 0, or use strings"
        )
    return ids
