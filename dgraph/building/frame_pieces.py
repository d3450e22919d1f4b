"""Reads pieces of the user's frames: ids first, and columns when they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dgraph.cluster.tasks import one_by_one
from dgraph.errors import ColumnError, IdError, InputError, WeightError
from dgraph.frames.any_frame import LazyPieces, is_cudf, is_lazy, numeric_column, to_main_memory, to_pandas
from dgraph.frames.sources import EdgeSource
from dgraph.partition import rules
from dgraph.partition.adjacency import common_type
from dgraph.partition.ids import id_kernels
from dgraph.partition.ids.chunk import Chunk, NumberedChunk, chunk_of_edges, chunk_of_vertices
from dgraph.partition.ids.numbering import Numbering

CHECKED_ROWS = 32  # rows of a lazy frame's partition that are compared when it is computed again


class PieceReader:
    """Computes some pieces of a lazy frame, one at a time, in the thread that asks for one. (It is no dataclass, in
    which Dask would look for tasks.)"""

    def __init__(self, pieces: Sequence[Any], numbers: Sequence[int], edges: EdgeSource, columns: Sequence[str]):
        self.numbers, self.columns = list(numbers), tuple(columns)
        self._names, self._many = (edges.source, edges.destination, edges.weight), len(pieces) > 1
        self._compute = one_by_one([pieces[number] for number in numbers])
        self.known: dict[int, tuple[int, int]] = {}  # the rows and the fingerprint of each, once it has been read

    def __len__(self) -> int:
        return len(self.numbers)

    def read(self, place: int) -> tuple[Chunk, dict[str, np.ndarray]]:
        """The ids and columns of the piece at this place."""
        source, destination, weight = self._names
        named = self.numbers[place] if self._many else None
        frame = to_main_memory(self._compute(place))
        chunk = edge_ids(frame, source, destination, named)
        with naming_partition(named):
            return chunk, {name: numeric_column(frame, name, is_weight=name == weight) for name in self.columns}

    def read_again(self, place: int, types: Mapping[str, np.dtype]) -> tuple[Chunk, dict[str, np.ndarray]]:
        """The same, with columns of these types. A piece that has changed is refused."""
        number = self.numbers[place]
        chunk, values = self.read(place)
        check_unchanged(chunk, number, *self.known[number])
        return chunk, as_told(values, number, types)


def fingerprint(chunk: Chunk) -> int:
    """A number that almost certainly differs for other edges between integer ids, in any order."""
    return int(id_kernels.fingerprint(np.asarray(chunk.sources), np.asarray(chunk.destinations)))


def check_unchanged(chunk: Chunk, number: int, rows: int, known: int) -> None:
    """Refuse a piece that is read again if its edges are not those that were counted."""
    if len(chunk) != rows or fingerprint(chunk) != known:  # its edges might be written over others
        raise changed(number)


def changed(number: int) -> InputError:
    remedy = "persist() the frame first, or read it from files that nothing else writes"
    return InputError(f"the edges of partition {number} of the frame have changed since they were first read: {remedy}")


def as_told(values: Mapping[str, np.ndarray], number: int, types: Mapping[str, np.dtype]) -> dict[str, np.ndarray]:
    """The columns of a piece in the types that the frame told."""
    told = {}
    for name, column in values.items():
        if common_type(name, [column, np.empty(0, types[name])]) != types[name]:
            said = f"column {name!r} holds {column.dtype}, but the frame says {types[name]}"
            raise ColumnError(f"partition {number} of the frame: {said}: cast it with astype()")
        told[name] = column.astype(types[name], copy=False)
    return told


def narrow_columns(frame: Any, columns: Sequence[str]) -> list[Any] | None:
    """The pieces of a Dask frame with only some columns, if that makes its source read less; else None. Dask's own
    optimization ("tune") would also merge small pieces; here each keeps its rows."""
    if not is_lazy(frame) or isinstance(frame, LazyPieces) or is_cudf(frame) or set(frame.columns) <= set(columns):
        return None
    whole, some = frame.simplify(), frame[list(columns)].simplify()
    if whole.__dask_graph__().keys() & some.__dask_graph__().keys():  # both read the same
        return None
    return some.to_delayed(optimize_graph=False)


def enumerate_pieces(frame: Any, pieces: list[Any]) -> list[tuple[int | None, Any]]:
    """Each piece with its number, which errors mention if a lazy frame has several pieces; else with None."""
    return [(number if is_lazy(frame) and len(pieces) > 1 else None, piece) for number, piece in enumerate(pieces)]


@contextmanager
def naming_partition(number: int | None) -> Iterator[None]:
    """Add the partition of a lazy frame to errors, whose row numbers start at 0 in each partition."""
    try:
        yield
    except (ColumnError, IdError, WeightError) as error:
        if number is None:
            raise
        raise type(error)(f"partition {number} of the frame: {error}") from error


def edge_ids(piece: Any, source: str, destination: str, number: int | None) -> Chunk:
    with naming_partition(number):
        return chunk_of_edges(to_main_memory(piece), source, destination)


def vertex_ids(piece: Any, name: str, number: int | None) -> Chunk:
    with naming_partition(number):
        return chunk_of_vertices(to_main_memory(piece), name)


def add_columns(
    chunk: NumberedChunk,
    piece: Any,
    columns: Sequence[str],
    names: tuple[str, str, str | None],
    ids: Numbering | None,
    start: int | None,
    number: int | None,
) -> NumberedChunk:
    """A chunk with some columns of the piece that it was read from. With `start`, the row of the first edge, it also
    gets the row of each edge. `ids` is given if the frame is lazy, because the piece is then computed again."""
    frame, (source, destination, weight) = to_main_memory(piece), names
    with naming_partition(number):
        if ids is not None and not _is_unchanged(chunk, to_pandas(frame)[[source, destination]], ids):
            raise InputError(
                f"the rows of partition {number or 0} of the frame, or their order, have changed since its ids were "
                "read, so columns would not match edges; persist() the frame first, or read it from Parquet"
            )
        values = {name: numeric_column(frame, name, is_weight=name == weight) for name in columns}
    if start is not None:
        values[rules.ROW] = np.arange(start, start + len(chunk))
        values[rules.FLIPPED] = np.zeros(len(chunk), bool)
    return replace(chunk, columns=values)


def _is_unchanged(chunk: NumberedChunk, ends: pd.DataFrame, ids: Numbering) -> bool:
    """Whether a piece that was computed again has the same number of rows, and equal rows in a sample."""
    if len(ends) != len(chunk):
        return False
    rows = np.unique(np.linspace(0, len(chunk) - 1, CHECKED_ROWS).astype(np.int64)) if len(chunk) else slice(0)
    now = chunk_of_edges(ends.iloc[rows], *ends.columns)
    before = chunk[rows].compact()
    with suppress(IdError):  # raised for an id that the graph does not have
        for end, numbers in ((now.sources, before.sources), (now.destinations, before.destinations)):
            if [ids.find(id) for id in ids.id_type.restore(end).tolist()] != numbers.tolist():
                return False
        return True
    return False
