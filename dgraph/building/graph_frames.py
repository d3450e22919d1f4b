"""A graph's edges and vertices as lazy Dask frames, with the user's own ids and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dgraph.building.retention import RetainedFutures, by_key
from dgraph.cluster.retry import retry_on_loss
from dgraph.devices.probe import CUDF, INSTALL
from dgraph.errors import InputError
from dgraph.frames.any_frame import is_lazy, local, rows, to_pandas
from dgraph.partition import placement
from dgraph.partition.ids.chunk import chunk_of_vertices
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.partition import EdgePiece
from dgraph.partition.placement import Placement
from dgraph.partition.rules import FLIPPED, ROW

if TYPE_CHECKING:
    import dask.dataframe as dd

    from dgraph.cluster.workers import Workers
    from dgraph.graph import Graph


def edges(graph: Graph) -> dd.DataFrame:
    """Partition p of the frame holds the edges that the policy placed on partition p, each as the user listed it.

    The rows come from the user's own frame: each edge knows which row it was. Under `repeats` the merged values stand
    in the row of the first; an undirected edge is where the policy puts the direction in which it was listed.
    """
    workers, source = graph.workers, graph.listed.edges
    merged = [] if graph.listed.rules.repeats in ("keep", "first") else _numeric(graph)
    chunks = graph.listed.by_number(merged, origin=True)
    where = workers.share(graph.placement)
    known = workers.share(graph.numbering)
    placed = []
    for chunk in chunks:
        moved = workers.call(Placement.move, where, chunk)
        found = workers.call(placement.places, moved, where, known, False)
        split = workers.call(placement.split, moved, found, graph.num_parts, False, graph.listed.rules.skip_loops)
        placed.append(split)
    starts = np.concatenate([[0], np.cumsum(graph.listed.rows)]).astype(np.int64)
    ends, kind = (source.source, source.destination), graph.numbering.id_type.dtype
    tasks = []
    for part in range(graph.num_parts):
        mine = workers.call(_by_row, [workers.call(itemgetter(part), split) for split in placed], merged)
        tables = [
            workers.call(_rows, frame, mine, int(start), int(stop), ends, kind)
            for frame, start, stop in zip(graph.listed.edge_pieces, starts, starts[1:], strict=False)
        ]
        tasks.append(workers.call(_joined, tables))
    return _frame(workers, tasks, _of_one_sign(_meta(source.frame), ends, kind))


@retry_on_loss
def compute_frames(graph: Graph) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All edges and all vertices, in this process."""
    both = [edges(graph), vertices(graph)]
    if graph.client is None:
        return tuple(one.compute() for one in both)
    return tuple(graph.workers.bring(graph.client.compute(both)))


def _numeric(graph: Graph) -> list[str]:
    meta = _meta(graph.listed.edges.frame)
    return [name for name in graph.edge_columns if pd.api.types.is_numeric_dtype(meta[name].dtype)]


def _by_row(pieces: Sequence[EdgePiece], merged: Sequence[str]) -> dict[str, np.ndarray]:
    """Which rows of the user's frame a partition has, in their order; whether each is flipped, and merged values."""
    found = {name: np.concatenate([piece.columns[name] for piece in pieces]) for name in (ROW, FLIPPED, *merged)}
    order = np.argsort(found[ROW], kind="stable")
    return {name: column[order] for name, column in found.items()}


def _rows(
    frame: Any, mine: Mapping[str, np.ndarray], start: int, stop: int, ends: tuple[str, str], kind: str
) -> pd.DataFrame:
    """Of one piece of the user's frame (start..stop of all rows) those rows that are among `mine`; `kind` is the type
    of the graph's ids."""
    here = slice(*np.searchsorted(mine[ROW], (start, stop)))
    table = to_pandas(local(frame)).iloc[mine[ROW][here] - start].reset_index(drop=True)
    table = _of_one_sign(table, ends, kind)
    for name in mine.keys() - {ROW, FLIPPED}:
        table[name] = mine[name][here]
    flipped = mine[FLIPPED][here]
    if flipped.any():
        source, destination = ends
        table[source], table[destination] = (
            table[source].where(~flipped, table[destination]),
            table[destination].where(~flipped, table[source]),
        )
    return table


def _of_one_sign(table: pd.DataFrame, ends: Sequence[str], kind: str) -> pd.DataFrame:
    """The table with ids that are signed, or unsigned, as those of the graph are: pandas makes floats of both together,
    and of ids beyond 2**53 others."""
    signs = {"int64": "u", "uint64": "i"}  # narrower types never met the other sign
    odd = [name for name in ends if table[name].dtype.kind == signs.get(kind)]
    return table.astype(dict.fromkeys(odd, kind)) if odd else table


def vertices(graph: Graph) -> dd.DataFrame:
    """Partition p of the frame lists the vertices that partition p owns, with the attributes that the user gave."""
    workers, source = graph.workers, graph.listed.vertices
    where, known = workers.share(graph.placement), workers.share(graph.numbering)
    known_type = graph.numbering.id_type
    meta = pd.DataFrame({source.id: known_type.restore(graph.numbering.ids(0, 0))})
    if source.columns:
        listed = sum(workers.get([workers.call(rows, piece) for piece in graph.listed.vertex_pieces]))
        attributes = _meta(source.frame)[source.columns]
        if listed < graph.num_vertices:
            attributes = _nullable(attributes)
        meta = pd.concat([meta, attributes], axis=1)
    pieces = graph.listed.vertex_pieces if source.columns else []
    tasks = [workers.call(_owned, part, where, known, meta, pieces) for part in range(graph.num_parts)]
    return _frame(workers, tasks, meta)


def _nullable(meta: pd.DataFrame) -> pd.DataFrame:
    """Columns of which some rows have no value: whole numbers and truth values keep their kind."""
    exact = [name for name, dtype in meta.dtypes.items() if isinstance(dtype, np.dtype) and dtype.kind in "iub"]
    return meta.assign(**{name: meta[name].convert_dtypes() for name in exact})


def joinable(frame: dd.DataFrame, *ids: str) -> dd.DataFrame:
    """The frame with ids of the type that results have, so that the two can be joined."""
    return frame.map_partitions(_as_text, ids, meta=_as_text(frame._meta, ids))


def _owned(part: int, where: Placement, known: Numbering, meta: pd.DataFrame, pieces: Sequence[Any]) -> pd.DataFrame:
    name, *columns = meta.columns
    table = pd.DataFrame({name: known.id_type.restore(where.ids(known, part))})
    if not columns:
        return table
    low, high = int(where.bounds[part]), int(where.bounds[part + 1])
    positions, attributes, numbers = [], [], []
    for piece in pieces:
        frame = local(piece)
        number = known.number_of(chunk_of_vertices(frame, name))
        numbers.append(number)
        position = number if where.positions is None else where.positions[number]
        mine = np.flatnonzero((position >= low) & (position < high))
        positions.append(position[mine].astype(np.int64) - low)
        attributes.append(to_pandas(frame)[columns].iloc[mine])
    row = np.concatenate(positions)
    twice = np.flatnonzero(np.bincount(np.concatenate(numbers), minlength=1) > 1)
    if len(twice):
        (id,) = np.asarray(known.id_type.restore(known.take(twice[:1]))).tolist()
        raise InputError(f"the vertex frame lists {id!r} more than once; its attributes are unclear")
    aligned = pd.concat(attributes).astype(meta.dtypes[columns]).set_axis(row, axis=0).reindex(range(len(table)))
    return pd.concat([table, aligned], axis=1).astype(meta.dtypes)


def _joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    full = [table for table in tables if len(table)]
    return pd.concat(full, ignore_index=True) if len(full) > 1 else (full or list(tables))[0].reset_index(drop=True)


def _meta(frame: Any) -> pd.DataFrame:
    if is_lazy(frame):
        return to_pandas(local(frame._meta))
    return to_pandas(frame.slice(0, 0) if hasattr(frame, "slice") else frame).iloc[:0]


def _frame(workers: Workers, tasks: Sequence[Any], meta: pd.DataFrame) -> dd.DataFrame:
    """Tasks as a lazy frame. Dask would turn columns of Python objects (UUIDs, say) into strings if it saw them while
    it makes the frame, so it sees them a step later."""
    import dask.dataframe as dd

    objects = [name for name, dtype in meta.dtypes.items() if dtype.kind == "O" and isinstance(dtype, np.dtype)]
    tasks, retained = (tasks, None) if workers.client is None else by_key(workers.client, tasks)
    frame = dd.from_delayed(list(tasks), meta=meta.astype(dict.fromkeys(objects, "float64")), verify_meta=False)
    if not objects and retained is None:
        return frame
    return frame.map_partitions(_frame_partition, retained, meta=meta, enforce_metadata=False)


def result_frame(
    workers: Workers, tables: Sequence[Any], meta: pd.DataFrame, ids: Sequence[str], *, as_cudf: bool
) -> Any:
    """Tables that are tasks as a lazy frame of Dask; or of dask-cudf, on the workers with cuDF and a GPU."""
    if not as_cudf:
        return _frame(workers, [workers.call(_as_text, one, ids) for one in tables], _as_text(meta, ids))
    fitting = workers.abilities.workers_with("a result as a frame of cuDF", CUDF, f"{INSTALL}; or take compute()")
    import dask_cudf

    tasks = [workers.call(_to_cudf, one, ids, on=on) for one, on in zip(tables, cycle(fitting))]
    return dask_cudf.from_delayed(tasks, meta=_to_cudf(meta, ids), verify_meta=False)


def _to_cudf(table: pd.DataFrame, ids: Sequence[str]) -> Any:
    """A table for cuDF, with UUIDs as text, because cuDF has no such type."""
    import cudf

    uuids = [name for name in ids if table[name].dtype.kind == "O" and isinstance(table[name].dtype, np.dtype)]
    return cudf.from_pandas(table.astype(dict.fromkeys(uuids, "string")))


def _as_text(table: pd.DataFrame, ids: Sequence[str]) -> pd.DataFrame:
    """Ids that are strings or UUIDs as Dask's own readers and frames have them, so that frames can be joined: as text,
    of a type that is not pandas' own. A column that is merged from both types would be one of Python objects."""
    import dask

    if dask.config.get("dataframe.convert-string", None) is False:
        return table
    texts = [name for name in ids if isinstance(table[name].dtype, pd.StringDtype) or table[name].dtype.kind == "O"]
    return table.astype(dict.fromkeys(texts, pd.StringDtype("pyarrow")))


def _frame_partition(table: pd.DataFrame, retained: RetainedFutures | None) -> pd.DataFrame:
    """The table. As an argument of the frame's tasks, `retained` stays as long as the frame."""
    return table
