"""The frames of an update, as frames of the graph that it changes: with its columns and their types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dgraph.building.graph_frames import empty
from dgraph.building.input_edges import InputEdges
from dgraph.errors import ColumnError, IdError, WeightError
from dgraph.frames.any_frame import LazyPieces, column_names, is_lazy, numeric_column, select_columns
from dgraph.frames.sources import EdgeSource, VertexSource, edge_source, vertex_source
from dgraph.partition.ids.chunk import Chunk, chunk_of_edges, chunk_of_vertices
from dgraph.partition.ids.id_types import IdType

RENAME = "Rename the columns as in the edges of the graph"
NAMED = (ColumnError, IdError, WeightError)


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Name the argument in errors of a frame."""
    try:
        yield
    except NAMED as error:
        raise type(error)(f"{argument}=: {error}") from error


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Edges that the user lists in an update, in memory, and their ids."""

    frame: pd.DataFrame
    chunk: Chunk
    ends: tuple[str, str]


def read_edges(edges: InputEdges, given: Any, *, all_columns: bool) -> EdgeTable:
    """The edges of a frame: with all columns of the graph's edges, or only with their ends."""
    source = edges.edges
    ends, meta = (source.source, source.destination), empty(source.frame)
    if given is None:
        frame = meta if all_columns else meta[list(ends)]
        return EdgeTable(frame, Chunk(IdType("none"), np.empty(0, np.int64), np.empty(0, np.int64)), ends)
    listed = edge_source(given, *ends, source.weight if all_columns else None, RENAME)
    names = list(meta.columns) if all_columns else list(ends)
    if all_columns:
        _check_columns(listed, source)
    frame = select_columns(_in_memory(edges, listed.frame), names).reset_index(drop=True)
    chunk = chunk_of_edges(frame, *ends)
    if all_columns and source.weight is not None:
        numeric_column(frame, source.weight, is_weight=True)
    if edges.num_vertices and all_columns:  # else it has no types yet
        edges.numbering.id_type.join(chunk.id_type)
        frame = with_types_of(meta, frame, source)
    return EdgeTable(frame, chunk, ends)


def _in_memory(edges: InputEdges, frame: Any) -> Any:
    """A frame of a batch, computed by the workers of the graph if it is lazy."""
    if not is_lazy(frame):
        return frame
    client = edges.workers.client
    return frame.compute() if client is None else client.compute(frame).result()


def with_types_of(meta: pd.DataFrame, frame: pd.DataFrame, source: EdgeSource) -> pd.DataFrame:
    """Edges in the types that columns have in the graph, if no value changes."""
    kinds = {name: kind for name, kind in meta.dtypes.items() if frame[name].dtype != kind}
    ends = source.source, source.destination
    return frame.assign(**{name: _cast(frame[name], kind, name in ends) for name, kind in kinds.items()})


def _check_columns(listed: EdgeSource, source: EdgeSource) -> None:
    for name in source.columns:
        if name not in listed.columns:
            raise ColumnError(f"there is no column {name!r}, which the edges of the graph have")
    for name in listed.columns:
        if name not in source.columns:
            has = ", ".join(map(repr, source.columns)) or "no columns"
            raise ColumnError(f"column {name!r} is unknown: the edges of the graph have {has}; drop it")


def _cast(column: pd.Series, kind: Any, of_ids: bool = False) -> pd.Series:
    """A column in the type that it has in the graph, if no value changes."""
    error = IdError if of_ids else ColumnError
    try:
        cast = column.astype(kind)
        same = np.asarray(((cast == column) | (cast.isna() & column.isna())).fillna(False), bool)
    except (TypeError, ValueError, OverflowError) as cause:
        raise error(_another_type(column, kind)) from cause
    if not same.all():
        value = column.iloc[np.flatnonzero(~same)[:1]].tolist()[0]
        raise error(f"{_another_type(column, kind)} ({value!r} is not of that type)")
    return cast


def _another_type(column: pd.Series, kind: Any) -> str:
    remedy = "convert it, or make the graph anew from a frame of all edges"
    return f"column {column.name!r} of type {column.dtype} has the type {kind} in the graph: {remedy}"


# -- vertices ----------------------------------------------------------------------------------------------------------


def read_vertices(edges: InputEdges, given: Any) -> VertexSource:
    """The vertices that the user lists in an update, in memory, with the column of ids that the graph has."""
    listed, old = vertex_source(given), edges.vertices
    if listed.frame is None:
        return replace(listed, id=old.id)
    whole = _in_memory(edges, listed.frame)
    frame = select_columns(whole, column_names(whole)).reset_index(drop=True)
    if old.columns and listed.columns and set(old.columns) != set(listed.columns):
        has = ", ".join(map(repr, old.columns))
        raise ColumnError(f"the vertices of the graph have the columns {has}, these have {listed.columns}")
    if listed.id != old.id and old.id in listed.columns:
        raise ColumnError(f"column {old.id!r} has the ids in the graph, but not here: rename one of them")
    return VertexSource(frame.rename(columns={listed.id: old.id}), old.id)


def vertex_ids(listed: VertexSource, kind: IdType) -> Chunk | None:
    """The ids of listed vertices, which must be of the kind of the graph's; None if there are none."""
    if len(listed.id_range):
        kind.join(IdType("integer"))
        ids = np.arange(listed.id_range.start, listed.id_range.stop)
        return Chunk(IdType("integer"), ids, ids[:0])
    if listed.frame is None:
        return None
    chunk = chunk_of_vertices(listed.frame, listed.id)
    kind.join(chunk.id_type)
    return chunk if len(chunk.sources) else None


def joined_vertices(edges: InputEdges, listed: VertexSource) -> VertexSource:
    """The vertices of the graph and of an update, with their attributes. The numbering has those without any."""
    old = edges.vertices
    if not listed.columns:
        return old
    if not old.columns:
        return replace(listed, id_range=old.id_range)
    meta, call, names = empty(old.frame), edges.workers.call, tuple(old.columns)
    keep = _with_values if edges.lists_all_vertices else _same
    more = listed.frame[[old.id, *old.columns]]
    for name in old.columns:
        if more[name].dtype != meta[name].dtype:
            more = more.assign(**{name: _cast(more[name], meta[name].dtype)})
    return replace(
        old,
        frame=LazyPieces(
            lambda: meta, lambda: [*(call(keep, one, names) for one in edges.vertex_pieces), call(_same, more, names)]
        ),
    )


def _same(frame: Any, columns: tuple[str, ...]) -> Any:
    return frame


def _with_values(frame: pd.DataFrame, columns: tuple[str, ...]) -> pd.DataFrame:
    """The vertices with attributes: a saved graph lists all vertices, and updates may list those without."""
    return frame.dropna(how="all", subset=list(columns))
