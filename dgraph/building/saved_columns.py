"""Saves the columns of edges and vertices that are not numbers for kernels, as a table for each partition.

Kernels never read them, so partitions do not have them: the rows of the user's frame are looked up by row number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dgraph.building import assembly, graph_frames
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.errors import ColumnError
from dgraph.frames.any_frame import LazyPieces, is_lazy, select_columns
from dgraph.partition import store
from dgraph.partition.partition import Partition
from dgraph.partition.rules import ROW
from dgraph.partition.typed_columns import (
    Description,
    common_dtype,
    description_of,
    is_of_numbers,
    is_wide_nullable,
    not_saved,
    table_of,
)


@dataclass(frozen=True)
class EdgeColumns:
    """The edge columns to save: those that kernels read, and the others with the user's dtypes."""

    dtypes: dict[str, Any]  # all of them; None for numbers as kernels have them: on a GPU, and sums of repeats
    numbers: list[str]

    @classmethod
    def of(cls, graph: PartitionedGraph, names: Sequence[str]) -> EdgeColumns:
        source = graph.input_edges.edges
        if source.on_device:
            return cls(dict.fromkeys(names), list(names))
        meta = graph_frames.empty(source.frame)
        dtypes = {name: meta[name].dtype for name in names}
        dtypes |= _categories(graph, dtypes)
        numbers = [name for name, dtype in dtypes.items() if name == source.weight or is_of_numbers(dtype)]
        wide = [name for name in numbers if name != source.weight and is_wide_nullable(dtypes[name])]
        inexact = _inexact(graph, wide)
        numbers = [name for name in numbers if name not in inexact]
        for name in dtypes.keys() - set(numbers):
            _described(name, dtypes[name])
        if graph.input_edges.rules.repeats == "sum":  # a sum may not fit into the user's dtype
            dtypes |= dict.fromkeys(numbers)
        return cls(dtypes, numbers)

    @property
    def others(self) -> dict[str, Any]:
        return {name: dtype for name, dtype in self.dtypes.items() if name not in self.numbers}

    def described(self, blocks: Sequence[str]) -> list[str | Description]:
        """The manifest's entry for each column, given the dtypes of the blocks of numbers."""
        block_of = dict(zip(self.numbers, blocks, strict=True))
        return [
            self._of_numbers(block_of[name], dtype) if name in block_of else _described(name, dtype)
            for name, dtype in self.dtypes.items()
        ]

    @staticmethod
    def _of_numbers(block: str, dtype: Any) -> str | Description:
        said = None if dtype is None or dtype == np.dtype(block) or not is_of_numbers(dtype) else description_of(dtype)
        return block if said is None else {"block": block, "as": said}


def _described(name: str, dtype: Any) -> Description:
    if (said := description_of(dtype)) is None:
        raise not_saved(name, dtype, "a saved graph has no such type")
    return said


def _categories(graph: PartitionedGraph, dtypes: dict[str, Any]) -> dict[str, Any]:
    """The dtypes of categorical columns that a lazy frame does not know before it is read."""
    frame = graph.input_edges.edges.frame
    names = [name for name, dtype in dtypes.items() if isinstance(dtype, pd.CategoricalDtype)]
    if not is_lazy(frame) or isinstance(frame, LazyPieces):
        return {}
    each = _of_each_piece(graph, _dtypes, names)
    return {name: common_dtype(name, [one[name] for one in each]) for name in names}


def _dtypes(piece: Any, names: list[str]) -> dict[str, Any]:
    return select_columns(piece, names).dtypes.to_dict()


def _inexact(graph: PartitionedGraph, names: list[str]) -> set[str]:
    """Which columns of nullable integers would change as numbers for kernels, which are floats if a value is missing.
    Where repeats are merged, there are only those numbers."""
    if graph.input_edges.rules.repeats not in ("keep", "first"):
        return set()
    each = _of_each_piece(graph, _missing_and_large, names)
    return {name for name in names if all(any(one[name][k] for one in each) for k in (0, 1))}


def _missing_and_large(piece: Any, names: list[str]) -> dict[str, tuple[bool, bool]]:
    """Whether a column has missing values, and whether it has integers that floats cannot represent."""
    found = {}
    for name, column in select_columns(piece, names).items():
        present = column.dropna()
        is_large = len(present) > 0 and max(int(present.max()), -int(present.min())) >= 2**53
        found[name] = len(present) < len(column), is_large
    return found


def _of_each_piece(graph: PartitionedGraph, function: Any, names: list[str]) -> list[Any]:
    """Apply a function to some columns of each piece of the user's frame; returns what it returns for each piece."""
    workers, edges = graph.workers, graph.input_edges
    if not names:
        return []
    return workers.get([workers.call(partial(function, names=names), piece) for piece in edges.pieces_with(names)])


# -- edges -------------------------------------------------------------------------------------------------------------


def with_rows(graph: PartitionedGraph, numbers: Sequence[str]) -> list[Any]:
    """Build partitions with edges by source, whose column `ROW` holds the row of each edge in the user's frame."""
    edges = graph.input_edges
    chunks, how = edges.by_number(numbers, origin=True), edges.rules.arc_options
    held = assembly.build_partitions(
        graph.workers, chunks, graph.numbering, graph.placement, order="out", sort=edges.sort, **how
    )
    return graph.workers.wait(held)


def write_others(graph: PartitionedGraph, folder: Path, held: Sequence[Any], others: dict[str, Any]) -> list[Any]:
    """Tasks that write the table of each partition, and return its block or an error. `held` are the partitions."""
    workers, edges = graph.workers, graph.input_edges
    starts = [0, *accumulate(edges.rows)]
    tasks = []
    for part, one in enumerate(held):
        rows = workers.call(_rows_of, one, graph.directed)
        taken = [
            workers.call(_taken, piece, rows, start, stop, others)
            for piece, (start, stop) in zip(edges.pieces_with(list(others)), pairwise(starts), strict=True)
        ]
        tasks.append(workers.call(_write_taken, folder, f"p{part}.others", taken))
    return tasks


def is_listed(partition: Partition, directed: bool) -> np.ndarray | slice:
    """A mask of the edges of a partition that stand for a listed edge; an undirected edge is stored twice."""
    out, numbers = partition.out, partition.numbers
    assert out is not None
    return slice(None) if directed else numbers[out.rows()] <= numbers[out.neighbours]


def _rows_of(partition: Partition, directed: bool) -> np.ndarray:
    assert partition.out is not None
    return partition.out.columns[ROW][is_listed(partition, directed)]


def _taken(
    piece: Any, rows: np.ndarray, start: int, stop: int, dtypes: dict[str, Any]
) -> tuple[np.ndarray, pd.DataFrame]:
    """Which of the rows are in a piece of the user's frame (start..stop of all rows), and their values."""
    here = np.flatnonzero((rows >= start) & (rows < stop))
    return here, _of_types(select_columns(piece, list(dtypes)).iloc[rows[here] - start], dtypes)


def _of_types(table: pd.DataFrame, dtypes: dict[str, Any]) -> pd.DataFrame:
    return table.astype({name: dtype for name, dtype in dtypes.items() if table[name].dtype != dtype})


def _write_taken(folder: Path, name: str, taken: list[tuple[np.ndarray, pd.DataFrame]]) -> store.Entry | Exception:
    places = np.concatenate([here for here, _ in taken])
    full = [table for _, table in taken if len(table)] or [taken[0][1]]
    table = full[0] if len(full) == 1 else pd.concat(full)
    return write_table(folder, name, table.iloc[np.argsort(places)].reset_index(drop=True))


def write_table(folder: Path, name: str, table: pd.DataFrame) -> store.Entry | Exception:
    """Write a table. Returns its block; or an error, which is raised only after all tables are done."""
    try:
        return store.write_table(folder, name, table_of(table))
    except (OSError, ColumnError) as error:
        return error


# -- vertices ----------------------------------------------------------------------------------------------------------


def vertex_dtypes(graph: PartitionedGraph) -> dict[str, Any]:
    """The dtypes of the attributes, which may have missing values for vertices that only edges name."""
    if not graph.input_edges.vertices.columns:
        return {}
    meta = graph_frames.vertex_tables(graph)[1].drop(columns=[graph.input_edges.vertices.id])
    return {name: meta[name].dtype for name in meta.columns}


def write_vertices(graph: PartitionedGraph, folder: Path, dtypes: dict[str, Any]) -> list[Any]:
    """Tasks that write the attributes of each partition's vertices, and return a block or an error."""
    pieces = graph_frames.vertex_tables(graph)[0] if dtypes else []
    return [
        graph.workers.call(_write_attributes, folder, f"vertices{part}", piece, tuple(dtypes))
        for part, piece in enumerate(pieces)
    ]


def _write_attributes(folder: Path, name: str, piece: pd.DataFrame, columns: Sequence[str]) -> store.Entry | Exception:
    return write_table(folder, name, piece[list(columns)])


def described(dtypes: dict[str, Any]) -> dict[str, Description]:
    return {name: _described(name, dtype) for name, dtype in dtypes.items()}


def write_empty(folder: Path, name: str, dtypes: dict[str, Any]) -> dict[str, store.Entry]:
    """Write a table without rows, which has the columns' types and categories; no block if there are no columns."""
    if not dtypes:
        return {}
    empty = pd.DataFrame({column: pd.Series([], dtype=dtype) for column, dtype in dtypes.items()})
    return {f"{name}.arrow": store.write_table(folder, name, table_of(empty))}
