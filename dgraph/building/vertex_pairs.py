"""Pairs of vertices that users pass as frames, by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd

from dgraph.arguments import to_python
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.errors import ColumnError, IdError, InputError
from dgraph.frames.any_frame import to_pandas
from dgraph.partition.ids.chunk import chunk_of_vertices
from dgraph.phrases.phrases import format_count

NO_VERTEX = -1  # the number of an id that the graph does not have


def frame_of_pairs(pairs: Any, names: Sequence[str] = (), option: str = "pairs") -> pd.DataFrame:
    """An option's value as a frame of two columns: the only two, or those with these names."""
    if isinstance(pairs, Mapping):
        pairs = {name: list(to_python(one)) if np.ndim(one) else one for name, one in pairs.items()}
        lengths = {len(one) if np.ndim(one) == 1 else -1 for one in pairs.values()}
        if len(lengths) != 1 or -1 in lengths:
            raise ColumnError(f"{option}=: its columns must be two lists of vertices of the same length")
        pairs = pd.DataFrame(pairs)
    elif not hasattr(pairs, "columns") and not hasattr(pairs, "column_names"):
        raise InputError(f"{option}= is a {type(pairs).__name__}: pass a frame or a dict with two columns of vertices")
    frame = to_pandas(pairs.compute() if hasattr(pairs, "dask") else pairs)
    if names and set(names) <= set(frame.columns):
        frame = frame[list(names)]
    if len(frame.columns) != 2:
        others = f", or those that the graph calls {' and '.join(map(repr, names))}" if names else ""
        raise ColumnError(f"{option}= has the columns {list(frame.columns)}: give two, of vertices{others}")
    return frame


def numbered_pairs(graph: PartitionedGraph, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of both vertices of each pair; `NO_VERTEX` for ids that the graph does not have."""
    id_type = graph.numbering.id_type
    ids = pd.Index(id_type.restore(graph.numbering.ids()))
    return _numbers(ids, id_type.kind, frame.iloc[:, 0]), _numbers(ids, id_type.kind, frame.iloc[:, 1])


def _numbers(ids: pd.Index, kind: str, column: pd.Series) -> np.ndarray:
    return ids.get_indexer(_given(kind, column)).astype(np.int64)


def _given(kind: str, column: pd.Series) -> pd.Index:
    """The ids of a column, as the graph has them."""
    name = str(column.name)
    chunk = chunk_of_vertices({name: column}, name) if len(column) else None
    given = pd.Index([] if chunk is None else chunk.id_type.restore(chunk.sources))
    if kind == "uuid" and chunk is not None and chunk.id_type.kind == "string":  # as Dask makes of them
        given = pd.Index([as_uuid(one) for one in given], dtype=object)
    return given


def check_known(frame: pd.DataFrame, numbers: Sequence[np.ndarray], option: str = "pairs") -> None:
    """Refuse pairs of ids that the graph does not have."""
    for name, found in zip(frame.columns, numbers, strict=True):
        if (found == NO_VERTEX).any():
            unknown = frame[name][found == NO_VERTEX]
            raise IdError(
                f"{option}=: column {name!r} names {format_count(unknown.nunique(), 'vertex')} that the graph does not "
                f"have, for example {unknown.tolist()[0]!r}; leave such pairs out"
            )


def as_uuid(text: str) -> Any:
    try:
        return UUID(text)
    except ValueError:
        return text
