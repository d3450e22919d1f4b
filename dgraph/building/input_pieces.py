"""What tasks read of the pieces of the user's frames: ids first, and columns once somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dgraph.errors import ColumnError, IdError, InputError, WeightError
from dgraph.frames.any_frame import LazyPieces, column_of_numbers, is_cudf, is_lazy, local, to_pandas
from dgraph.partition import rules
from dgraph.partition.ids.chunk import Chunk, NumberedChunk, chunk_of_edges, chunk_of_vertices
from dgraph.partition.ids.numbering import Numbering

CHECKED = 32  # rows of a lazy frame's partition that must be where they were when it is computed again


def narrow_columns(frame: Any, columns: Sequence[str]) -> list[Any] | None:
    """The pieces of a Dask frame with only some columns, if whatever reads it has less to read then; else None. Dask
    would also put pieces together that become small ("tune" an expression): here each has the rows that it had."""
    if not is_lazy(frame) or isinstance(frame, LazyPieces) or is_cudf(frame) or set(frame.columns) <= set(columns):
        return None
    whole, some = frame.simplify(), frame[list(columns)].simplify()
    if whole.__dask_graph__().keys() & some.__dask_graph__().keys():  # they read the same
        return None
    return some.to_delayed(optimize_graph=False)


def enumerate_pieces(frame: Any, pieces: list[Any]) -> list[tuple[int | None, Any]]:
    """Each piece with its number in a lazy frame of several, which errors name."""
    return [(number if is_lazy(frame) and len(pieces) > 1 else None, piece) for number, piece in enumerate(pieces)]


@contextmanager
def _telling_partition(number: int | None) -> Iterator[None]:
    """An error of a lazy frame counts rows within one of its partitions, and says which."""
    try:
        yield
    except (ColumnError, IdError, WeightError) as error:
        if number is None:
            raise
        raise type(error)(f"partition {number} of the frame: {error}") from error


def edge_ids(piece: Any, source: str, destination: str, number: int | None) -> Chunk:
    with _telling_partition(number):
        return chunk_of_edges(local(piece), source, destination)


def vertex_ids(piece: Any, name: str, number: int | None) -> Chunk:
    with _telling_partition(number):
        return chunk_of_vertices(local(piece), name)


def add_columns(
    chunk: NumberedChunk,
    piece: Any,
    columns: Sequence[str],
    names: tuple[str, str, str | None],
    known: Numbering | None,
    start: int | None,
    number: int | None,
) -> NumberedChunk:
    """A chunk with some columns of the piece that it was read from; with `start`, the row of its first edge, also with
    the row of each edge. `known`: the frame is lazy, and has made the piece again."""
    frame, (source, destination, weight) = local(piece), names
    with _telling_partition(number):
        if known is not None and not _as_it_was(chunk, to_pandas(frame)[[source, destination]], known):
            raise InputError(
                f"partition {number or 0} of the frame has other rows, or in another order, than when its ids were "
                "read: columns would go to the wrong edges. persist() the frame first, or write it to Parquet and read "
                "that"
            )
        found = {name: column_of_numbers(frame, name, is_weight=name == weight) for name in columns}
    if start is not None:
        found[rules.ROW] = np.arange(start, start + len(chunk))
        found[rules.FLIPPED] = np.zeros(len(chunk), bool)
    return replace(chunk, columns=found)


def _as_it_was(chunk: NumberedChunk, ends: pd.DataFrame, known: Numbering) -> bool:
    """Whether a piece that was made again has as many rows, and some of them are where they were."""
    if len(ends) != len(chunk):
        return False
    rows = np.unique(np.linspace(0, len(chunk) - 1, CHECKED).astype(np.int64)) if len(chunk) else slice(0)
    now = chunk_of_edges(ends.iloc[rows], *ends.columns)
    before = chunk[rows].compact()
    with suppress(IdError):  # an id that the graph does not have
        for ids, numbers in ((now.sources, before.sources), (now.destinations, before.destinations)):
            if [known.find(id) for id in known.id_type.restore(ids).tolist()] != numbers.tolist():
                return False
        return True
    return False
