"""Edge lists as Arrow tables for writers, and the checks that keep writers from losing data."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dgraph.errors import ColumnError, IdError, WeightError
from dgraph.io.edge_list import EdgeList
from dgraph.partition.ids import id_types

WITHOUT_VERTICES = 'write .npz or Graphalytics, or leave out such vertices with isolated="drop"'


def to_table(frame: Any) -> pa.Table:
    """Convert any frame that an EdgeList may hold to an Arrow table, with strings as plain UTF-8."""
    if hasattr(frame, "dask"):
        frame = frame.compute()
    table = frame.to_arrow() if hasattr(frame, "to_arrow") else frame
    if not isinstance(table, pa.Table):
        try:
            table = pa.Table.from_pandas(pd.DataFrame(table), preserve_index=False)
        except (pa.ArrowException, OverflowError, UnicodeError) as error:
            problem = f"a column mixes types or has no Arrow type: {error}"
            raise ColumnError(f"{problem} (convert its values to one type)") from error
    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        kind = column.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            kind = pa.string()
        if kind != column.type:
            table = table.set_column(place, name, pc.cast(column, kind))
    return table.replace_schema_metadata(None)


def edge_table(edge_list: EdgeList) -> tuple[pa.Table, tuple[str, str, str | None]]:
    """The edges as a table, and the names of its id and weight columns; checks types and missing ids."""
    table = to_table(edge_list.edges)
    names = (edge_list.source, edge_list.destination, edge_list.weight)
    for name in names:
        if name is not None and name not in table.column_names:
            raise ColumnError(f"the edges have no column {name!r} (their columns are {', '.join(table.column_names)})")
    for name in names[:2]:
        if id_types.is_integer_type(table[name].type):
            place = table.column_names.index(name)
            table = table.set_column(place, name, id_types.to_integers(table[name], name))
        check_ids(table[name], name)
    if names[2] is not None:
        kind = table[names[2]].type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise WeightError(f"the weights in column {names[2]!r} are of type {kind} (use numbers)")
    return table, names


def check_ids(column: pa.ChunkedArray, name: str) -> None:
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or (pa.types.is_null(kind) and not len(column))):
        raise IdError(f"ids in column {name!r} are of type {kind} (use 64-bit integers or strings)")
    if column.null_count:
        raise IdError(f"{column.null_count} ids in column {name!r} are missing (fill them in, or drop these rows)")


def vertex_ids(vertices: Any, path: Any, format: str, remedy: str) -> pa.ChunkedArray:
    """The ids that `EdgeList.vertices` lists, as a range or in the only column of a table, for a format that cannot
    hold vertex attributes."""
    if isinstance(vertices, range):
        return pa.chunked_array([pa.array(np.arange(vertices.start, vertices.stop, vertices.step, dtype=np.int64))])
    table = to_table(vertices)
    if not table.num_columns:
        raise ColumnError("the vertices have no columns (give a table whose first column lists ids)")
    if table.num_columns > 1:
        raise ColumnError(f"{path}: {format} cannot hold the vertex column {table.column_names[1]!r} ({remedy})")
    check_ids(table.column(0), table.column_names[0])
    return table.column(0)


def refuse_isolated_vertices(
    edge_list: EdgeList, table: pa.Table, path: Any, format: str, remedy: str = WITHOUT_VERTICES
) -> None:
    """Refuse isolated vertices and vertex attributes in a format that lists only edges."""
    if edge_list.vertices is None:
        return
    format = f"{format} lists only edges and"
    ids = vertex_ids(edge_list.vertices, path, format, remedy)
    named = pa.chunked_array(
        [chunk for name in (edge_list.source, edge_list.destination) for chunk in _as(table[name], ids.type).chunks],
        type=ids.type,
    )
    alone = pc.invert(pc.is_in(ids, value_set=pc.unique(named)))
    if pc.any(alone).as_py():
        example = ids[pc.index(alone, True).as_py()].as_py()
        raise IdError(f"{path}: {format} cannot hold vertex {example!r}, which has no edge ({remedy})")


def _as(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    try:
        return pc.cast(column, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise IdError(f"ids are {column.type} in the edges, but {kind} in the vertices (use one type)") from error


def refuse_other_columns(table: pa.Table, names: tuple[str, str, str | None], path: str | os.PathLike) -> None:
    """Refuse edge columns other than source, destination and weight, and missing weights."""
    others = [name for name in table.column_names if name not in names]
    if others:
        remedy = "write .csv, .parquet or .npz, or drop it"
        raise ColumnError(f"{path}: this format cannot hold the edge column {others[0]!r} ({remedy})")
    if names[2] is not None and table[names[2]].null_count:
        missing = table[names[2]].null_count
        raise WeightError(f"{path}: {missing} weights are missing (fill them in, or drop these rows)")


def one_based_edges(
    edge_list: EdgeList, path: str | os.PathLike, format: str
) -> tuple[np.ndarray, np.ndarray, Any, int]:
    """(source, destination, weights or None, n), for formats whose vertices are 1..n; an IdError for other ids."""
    table, names = edge_table(edge_list)
    refuse_other_columns(table, names, path)
    remedy = "number them with renumber=True, or write .csv, .parquet or .npz"
    columns = [table[name] for name in names[:2]]
    if edge_list.vertices is not None:
        columns.append(vertex_ids(edge_list.vertices, path, format, "write Graphalytics, or drop it"))
    ends = []
    for column in columns:
        if pa.types.is_string(column.type) and len(column):
            raise IdError(f"{path}: {format} numbers its vertices and cannot hold id {column[0].as_py()!r} ({remedy})")
        values = column.to_numpy() if len(column) else np.empty(0, np.int64)
        if len(values) and (values.min() < 1 or values.max() > np.iinfo(np.int64).max):
            bad = values.min() if values.min() < 1 else values.max()
            raise IdError(f"{path}: {format} numbers its vertices from 1 and cannot hold id {bad} ({remedy})")
        ends.append(values.astype(np.int64))
    highest = max((int(end.max()) for end in ends if len(end)), default=0)
    present = _distinct(ends, highest)
    if present != highest:
        problem = f"{format} needs every id from 1 to n, but the graph has {present} vertices with ids up to {highest}"
        raise IdError(f"{path}: {problem} ({remedy})")
    weights = table[names[2]].to_numpy() if names[2] is not None else None
    return ends[0], ends[1], weights, highest


def _distinct(ids: list[np.ndarray], highest: int) -> int:
    """The number of distinct ids in 1..highest, which is also small in memory if `highest` is far above the count."""
    if highest > sum(map(len, ids)):
        return len(np.unique(np.concatenate(ids)))
    seen = np.zeros(highest + 1, bool)
    for end in ids:
        seen[end] = True
    return int(seen.sum())


def concatenate(tables: list[pa.Table], ids: list[str]) -> pa.Table:
    """Concatenate tables with the same columns. Ids become strings if any table has strings."""
    if len(tables) == 1:
        return tables[0]
    for name in tables[0].column_names:
        kinds = {table[name].type for table in tables}
        if len(kinds) == 1:
            continue
        of_ids = [table[end].type for end in ids for table in tables] if name in ids else list(kinds)
        for place, table in enumerate(tables):
            tables[place] = _widened(table, name, of_ids, name in ids)
    return pa.concat_tables(tables)


def _widened(table: pa.Table, name: str, kinds: list[pa.DataType], is_id: bool) -> pa.Table:
    if any(pa.types.is_string(kind) for kind in kinds):
        kind = pa.string()
    else:
        kind = pa.uint64() if is_id else pa.float64()
    try:
        column = pc.cast(table[name], kind)
    except pa.ArrowInvalid as error:
        problem = f"ids in column {name!r} are negative in one file and beyond 2**63 in another"
        raise IdError(f"{problem} ({error})") from error
    return table.set_column(table.schema.get_field_index(name), name, column)
