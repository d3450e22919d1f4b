"""Vertices and pairs of vertices that users pass as lists and frames, by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dgraph.arguments import to_python, vertex_list
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.errors import ColumnError, IdError, InputError, OptionError
from dgraph.frames.any_frame import to_pandas
from dgraph.partition.ids.chunk import chunk_of_vertices
from dgraph.partition.ids.numbering import Numbering
from dgraph.phrases.phrases import format_count

NO_VERTEX = -1  # the number of an id that the graph does not have
VERTEX = "vertex"  # the column of ids in results


def listed_numbers(graph: PartitionedGraph, name: str, vertices: Any) -> np.ndarray:
    """The numbers of the vertices in a list, an array, a Series, a frame, or a result; in their order."""
    column = _listed(name, vertices)
    if not len(column):
        return np.empty(0, np.uint32)
    return graph.numbering.numbers_of(chunk_of_vertices({name: column}, name)).astype(np.uint32, copy=False)


def _listed(name: str, vertices: Any) -> Any:
    """The vertices as a column."""
    if vertices is None:
        raise OptionError(f"{name}=None: give a list, an array, a Series, a frame or a result of vertices")
    if hasattr(type(vertices), "frame"):  # a result
        vertices = vertices.frame
    if hasattr(vertices, "dask"):
        vertices = vertices.compute()
    if hasattr(vertices, "columns") or hasattr(vertices, "column_names"):
        frame = to_pandas(vertices)
        named = frame.columns == VERTEX
        if named.sum() != 1 and len(named) != 1:
            raise OptionError(f"{name}= is a table with the columns {list(frame.columns)}: pass one of its columns")
        return frame.iloc[:, int(np.argmax(named))]
    if hasattr(vertices, "dtype") and np.ndim(vertices) == 1:
        if vertices.dtype == bool:
            raise OptionError(f"{name}= is a column of booleans: pass the ids of the vertices, such as ids[mask]")
        return vertices
    listed = vertex_list(name, vertices, at_least=0)
    return np.fromiter(listed, object, len(listed))


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
    return _numbers(graph.numbering, frame.iloc[:, 0]), _numbers(graph.numbering, frame.iloc[:, 1])


def _numbers(numbering: Numbering, column: pd.Series) -> np.ndarray:
    if not len(column):
        return np.empty(0, np.int64)
    name = str(column.name)
    return numbering.numbers_if_known(chunk_of_vertices({name: column}, name))


def check_known(frame: pd.DataFrame, numbers: Sequence[np.ndarray], option: str = "pairs") -> None:
    """Refuse pairs of ids that the graph does not have."""
    for name, found in zip(frame.columns, numbers, strict=True):
        if (found == NO_VERTEX).any():
            unknown = frame[name][found == NO_VERTEX]
            raise IdError(
                f"{option}=: column {name!r} names {format_count(unknown.nunique(), 'vertex')} that the graph does not "
                f"have, for example {unknown.tolist()[0]!r}; leave such pairs out"
            )
