"""The frames that a graph is made from, edges and vertices, and which of their columns hold ids and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dgraph.errors import ColumnError, InputError, OptionError
from dgraph.frames.any_frame import LazyPieces, column_names, is_cudf, is_lazy
from dgraph.frames.device_frame import DeviceFrame, is_on_gpu


@dataclass(frozen=True, eq=False)
class EdgeSource:
    """A frame of edges and the names of its columns."""

    frame: Any
    source: str
    destination: str
    weight: str | None = None
    of_cudf: bool = False  # whether the user's frame is, so that results will be, too

    @property
    def on_device(self) -> bool:
        """Whether its pieces may lie in the memory of a GPU."""
        return isinstance(self.frame, DeviceFrame) or (isinstance(self.frame, LazyPieces) and self.frame.cudf)

    @property
    def columns(self) -> list[str]:
        """The names of the columns beside the two ids."""
        return [name for name in column_names(self.frame) if name not in (self.source, self.destination)]


@dataclass(frozen=True, eq=False)
class VertexSource:
    """Vertices that no edge need name: a frame with a column of ids, a range of ids, or neither."""

    frame: Any = None
    id: str = "id"
    listed: range = range(0)

    @property
    def columns(self) -> list[str]:
        """The names of the attributes."""
        return [name for name in column_names(self.frame) if name != self.id] if self.frame is not None else []


def edge_source(frame: Any, source: str, destination: str, weight: str | None) -> EdgeSource:
    """A frame of edges whose columns exist."""
    of_cudf, frame = is_cudf(frame), _known(frame, "edges")
    found = column_names(frame)
    for option, name in {"source": source, "destination": destination, "weight": weight}.items():
        if not _is_label(name):
            raise ColumnError(f"{option}= is a {type(name).__name__}: give the name of a column of the edges")
    for name in (source, destination, *([weight] if weight is not None else [])):
        if name not in found:
            remedy = "Name the columns with source=, destination= and weight="
            if name in _index(frame):
                remedy = "It is their index, of which frame.reset_index() makes a column"
            known = ", ".join(map(repr, found)) or "none"
            raise ColumnError(f"the edges have no column {name!r}; they have {known}. {remedy}")
        if found.count(name) > 1:
            raise ColumnError(f"the edges have {found.count(name)} columns called {name!r}; rename them")
    if source == destination:
        raise ColumnError(f"source and destination are both column {source!r}")
    if weight is not None and weight in (source, destination):
        raise ColumnError(f"weight is column {weight!r}, which lists ids; give a copy of it another name")
    lengths = {name: len(frame[name]) for name in found} if isinstance(frame, dict | DeviceFrame) else {}
    if len(set(lengths.values())) > 1:
        raise ColumnError(f"the columns differ in length: {lengths}")
    return EdgeSource(frame, source, destination, weight, of_cudf)


def _is_label(name: Any) -> bool:
    """Whether a column can be called so: not by a column itself, say, or by pandas' NA, which equals nothing."""
    try:
        hash(name)
    except TypeError:
        return False
    return name is not pd.NA


def _index(frame: Any) -> list[Any]:
    """What the index of a frame is called."""
    return list(getattr(getattr(getattr(frame, "_meta", frame), "index", None), "names", ()))


def vertex_source(vertices: Any) -> VertexSource:
    """What a user gave as `vertices`: nothing, a number, a range, a column of ids or a frame."""
    if vertices is None:
        return VertexSource()
    if isinstance(vertices, int | np.integer) and not isinstance(vertices, bool):
        vertices = range(int(vertices))
        if vertices.stop < 0:
            raise OptionError(f"vertices={vertices.stop} is less than none; give how many ids there are from 0 on")
    if isinstance(vertices, range):
        if vertices.step != 1:
            raise OptionError(f"vertices={vertices!r} must count up by one; give a frame with a column of ids instead")
        if max(-vertices.start, vertices.stop) > 2**63:
            raise OptionError(
                f"vertices={vertices!r} reaches beyond 64 bits; give a frame with a column of ids instead"
            )
        return VertexSource(listed=vertices)
    if isinstance(vertices, pd.Series | pd.Index | np.ndarray | list | tuple | pa.Array | pa.ChunkedArray):
        vertices = {"id": vertices if not isinstance(vertices, list | tuple) else np.asarray(vertices, dtype=object)}
    frame = _known(vertices, "vertices")
    found = column_names(frame)
    if not found:
        raise ColumnError("the vertex frame has no columns; its column `id` (or the first) must list ids")
    if twice := next((name for name in found if found.count(name) > 1), None):
        raise ColumnError(f"the vertex frame has {found.count(twice)} columns called {twice!r}; rename them")
    if "id" not in found and "id" in _index(frame):
        raise ColumnError("the ids of the vertex frame are its index, of which frame.reset_index() makes a column")
    return VertexSource(frame, "id" if "id" in found else found[0])


_REMEDIES = {  # by the package that what was given comes from
    "builtins": "give a pandas, Dask, Arrow, Polars or cuDF frame (files are for dgraph.read_edges)",
    "pathlib": "take dgraph.read_edges for files; give a frame",
    "pyarrow": "take .to_table() of a dataset or scanner, .read() of a file; give a frame",
    "polars": "collect() a lazy frame; give a frame",
    "pyspark": "write it to Parquet, for dgraph.read_edges; give a frame",
    "pandas": "one column is not enough; give a frame",
    "numpy": 'name its columns: {"src": array[:, 0], "dst": array[:, 1]}; give a frame, as pandas.DataFrame(records)',
    "dask": "take .to_dataframe() of a bag, dask.dataframe.from_delayed of delayed frames; give a frame",
    "scipy": "take dgraph.from_scipy; give a frame",
    "networkx": "take dgraph.from_networkx; give a frame",
    "igraph": "take dgraph.from_igraph; give a frame",
}


def _known(frame: Any, what: str) -> Any:
    """A pandas, Dask or Arrow frame or a dict of arrays; other frames are asked for their Arrow form."""
    if isinstance(frame, pa.RecordBatch):
        frame = pa.table(frame)
    if isinstance(frame, dict):
        for name, values in frame.items():
            if not hasattr(values, "__len__") or isinstance(values, str) or not getattr(values, "ndim", 1):
                raise ColumnError(f"{what}: {name!r} is {values!r}, not a column; give arrays")
        if frame and all(map(is_on_gpu, frame.values())):
            return DeviceFrame(frame)
        frame = {name: values.get() if is_on_gpu(values) else values for name, values in frame.items()}
    if isinstance(frame, pa.Table):
        return _exact(frame)
    if isinstance(frame, pd.DataFrame | dict) or is_lazy(frame):
        return frame
    try:
        if hasattr(type(frame), "to_arrow"):  # cuDF and Polars
            there = DeviceFrame.of_cudf({name: frame[name] for name in frame.columns}) if is_cudf(frame) else None
            return _exact(frame.to_arrow()) if there is None else there
        is_column = hasattr(frame, "dtype")  # of pandas or Polars
        if hasattr(frame, "__arrow_c_stream__") and not is_column:
            return _exact(pa.table(frame))
    except pa.ArrowException as error:
        raise InputError(f"{what}: a column has a type that Arrow does not know: {error}; convert it first") from error
    remedy = _REMEDIES.get(type(frame).__module__.split(".")[0], "give a pandas, Dask, Arrow, Polars or cuDF frame")
    raise InputError(f"{what} of type {type(frame).__name__} cannot be read; {remedy}, or a dict of arrays")


def _exact(table: pa.Table) -> pa.Table:
    """The table with a schema that says which columns lack values, so that all its slices become the same in pandas."""
    fields = [
        field.with_nullable(bool(column.null_count)) for field, column in zip(table.schema, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))
