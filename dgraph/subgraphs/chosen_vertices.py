"""Which vertices of a graph are chosen, from any of the forms in which users say it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dgraph.arguments import to_python
from dgraph.building.graph_frames import keeps_rows
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.errors import ColumnError, IdError, InputError, OptionError
from dgraph.frames.any_frame import column_names, frame_column, to_main_memory
from dgraph.partition.ids.chunk import chunk_of_vertices
from dgraph.phrases.phrases import format_count
from dgraph.runs.result import RunResult
from dgraph.runs.result_column import ResultColumn, only_column
from dgraph.runs.vertex_columns import vertex_table

FORMS = (
    "pass a list, array or Series of vertices; a frame with the column `vertex`; a boolean array in ascending order of "
    "the vertices; a boolean Series from a result; or the name of a vertex column of booleans"
)
REMEDY = "pass the chosen rows, as frame[mask], or a mask from result.compute()"


def read_mask(graph: PartitionedGraph, vertices: Any) -> np.ndarray:
    """Which vertices are chosen, by number."""
    if isinstance(vertices, RunResult):
        vertices = only_column("vertices", vertices)
    if isinstance(vertices, ResultColumn):
        if not vertices.has_vertices_of(graph):
            raise ColumnError(f"vertices= is column {vertices.name!r} of a result for other vertices; pass their ids")
        return _booleans(graph, pd.Series(vertices.by_number()), f"column {vertices.name!r}")
    if isinstance(vertices, str):
        if vertices not in graph.input_edges.vertices.columns:
            known = ", ".join(map(repr, graph.input_edges.vertices.columns)) or "no columns"
            raise ColumnError(
                f"vertices={vertices!r}: there is no such vertex column; the vertices have {known}. To choose a vertex "
                f"of this name, pass [{vertices!r}]"
            )
        return _booleans(graph, vertex_table(graph, [vertices])[vertices], f"vertex column {vertices!r}")
    vertices = to_python(vertices)
    if getattr(vertices, "ndim", 2) == 2 and (hasattr(vertices, "columns") or isinstance(vertices, dict)):
        vertices = _id_column(graph, vertices)
    lazy = vertices if hasattr(vertices, "dask") else None
    vertices = _in_memory(vertices if lazy is None else lazy.compute())
    if _is_mask(vertices):
        return _aligned(graph, vertices, lazy)
    numbers = graph.numbering.numbers_of(chunk_of_vertices({"vertices": vertices}, "vertices"))
    mask = np.zeros(graph.num_vertices, bool)
    mask[numbers] = True
    return mask


def _id_column(graph: PartitionedGraph, frame: Any) -> Any:
    """The column of a frame that lists vertices: that of results, or that of `Graph.vertices`, in which `vertex` may be
    an attribute."""
    names, source = column_names(frame), graph.input_edges.vertices
    ids = (source.id, "vertex") if "vertex" in source.columns else ("vertex", source.id)
    name = next((one for one in ids if one in names), None)
    if name is None:
        raise ColumnError(f"vertices= is a frame with the columns {names}, none of which is `vertex`; {FORMS}")
    return frame_column(frame, name)


def _in_memory(vertices: Any) -> Any:
    """A column in main memory."""
    vertices = to_main_memory(vertices)
    if hasattr(vertices, "to_pandas") and not isinstance(vertices, pa.Array | pa.ChunkedArray):
        vertices = vertices.to_pandas()
    if isinstance(vertices, pa.Array | pa.ChunkedArray) and pa.types.is_boolean(vertices.type):
        vertices = pd.array(vertices.to_pylist(), "boolean")
    if isinstance(vertices, set | frozenset | range | list | tuple):
        listed = list(vertices)
        if listed and all(isinstance(one, bool | np.bool_) for one in listed):
            if isinstance(vertices, set | frozenset):
                raise InputError(f"vertices={vertices!r} is a set of booleans, which has no order; {FORMS}")
            return np.array(listed, bool)
        vertices = np.empty(len(listed), object)
        vertices[:] = [to_python(one) for one in listed]
    columns = pd.Series | pd.Index | np.ndarray | pd.api.extensions.ExtensionArray | pa.Array | pa.ChunkedArray
    if not isinstance(vertices, columns):
        raise InputError(f"vertices={vertices!r}: expected vertices, got {type(vertices).__name__}; {FORMS}")
    if getattr(vertices, "ndim", 1) != 1:
        raise OptionError(f"vertices= has the shape {vertices.shape}; pass one flat list of vertices, or one mask")
    return vertices


def _is_mask(vertices: Any) -> bool:
    if isinstance(vertices, pa.Array | pa.ChunkedArray):
        return False
    if vertices.dtype == object and len(vertices):  # pandas has booleans with missing values as objects
        present = vertices[~pd.isna(vertices)]
        return len(present) > 0 and all(isinstance(one, bool | np.bool_) for one in present)
    return bool(pd.api.types.is_bool_dtype(vertices.dtype))


def _aligned(graph: PartitionedGraph, mask: Any, lazy: Any) -> np.ndarray:
    """A mask with a value for each vertex, by number. The index of a Series says which vertices its values are for:
    rows of `RunResult.compute` or of the partitions of `RunResult.frame`, or the vertices themselves. `lazy` is the
    lazy column that the mask was computed from, if any."""
    size = graph.num_vertices
    if len(mask) != size:
        raise ColumnError(
            f"vertices= is a mask of {format_count(len(mask), 'value')}; the graph has {format_count(size, 'vertex')}: "
            "pass one boolean for each, or the vertices themselves"
        )
    values = _booleans(graph, pd.Series(mask), "the mask")
    index = mask.index if isinstance(mask, pd.Series) else pd.RangeIndex(size)
    if index.has_duplicates:
        _check_rows(graph, index, lazy)
        _check_sorted(graph)
        return values
    rows = pd.RangeIndex(size).get_indexer(index) if index.dtype.kind in "iu" else np.full(size, -1)
    if (rows < 0).any():
        try:
            rows = graph.numbering.numbers_of(chunk_of_vertices({"index": index}, "index"))
        except IdError as error:
            raise IdError(
                f"vertices= is a mask whose index is neither rows nor vertices of the graph: {error}"
            ) from error
    elif lazy is not None:
        _check_sorted(graph)
    aligned = np.empty(size, bool)
    aligned[rows] = values
    return aligned


def _check_sorted(graph: PartitionedGraph) -> None:
    """Refuse the order of a lazy frame's rows unless it is that of the vertices."""
    if graph.num_parts > 1 and not graph.cut.by_range:
        raise ColumnError(
            f"vertices= is a mask in the order of a lazy frame, which policy={graph.policy!r} does not sort: {REMEDY}"
        )


def _check_rows(graph: PartitionedGraph, index: pd.Index, lazy: Any) -> None:
    """Refuse an index with repeated labels unless it is that of a lazy frame whose rows are all in their places: 0, 1,
    ... in each partition."""
    labels, rows = index.to_numpy(), np.arange(len(index))
    is_first = labels == 0
    counts = rows - np.maximum.accumulate(np.where(is_first, rows, 0))
    if np.array_equal(labels, counts) and is_first.sum() <= graph.num_parts and (lazy is None or keeps_rows(lazy)):
        return
    repeated = index[index.duplicated()][:1].tolist()[0]
    raise IdError(
        f"vertices= is a mask whose index has {repeated!r} more than once, and does not number the rows of each "
        f"partition of result.frame in their order: {REMEDY}"
    )


def _booleans(graph: PartitionedGraph, values: pd.Series, what: str) -> np.ndarray:
    """Booleans without missing values."""
    missing = values.isna().to_numpy()
    if missing.any():
        first = graph.numbering.take(np.flatnonzero(missing)[:1])
        vertex = np.asarray(graph.numbering.id_type.restore(first)).tolist()[0]
        raise ColumnError(
            f"vertices=: {what} has {format_count(int(missing.sum()), 'missing value')}, the first for vertex "
            f"{vertex!r}; fill it with fillna(False)"
        )
    if not _is_mask(values) and len(values):
        raise ColumnError(f"vertices=: {what} holds values of type {values.dtype}, not booleans; compare them first")
    return values.to_numpy(bool)
