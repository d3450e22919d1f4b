"""A graph's edges and vertices as lazy Dask frames, with the user's own ids and columns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, cycle, pairwise
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from dask._task_spec import Alias, GraphNode, Task, TaskRef
from dask.delayed import Delayed

from dgraph.cluster.current_client import current_client
from dgraph.cluster.retry import retry_on_loss
from dgraph.cluster.scheduler import gather_results, is_closed
from dgraph.cluster.tasks import external_keys, label, pick
from dgraph.devices.probe import CUDF_PACKAGES, INSTALL
from dgraph.errors import ColumnError, InputError
from dgraph.frames.any_frame import count_rows, is_lazy, to_main_memory, to_pandas
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.partition import placement
from dgraph.partition.ids.chunk import NumberedChunk, chunk_of_vertices
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.placement import Placement
from dgraph.partition.rules import FLIPPED, ROW
from dgraph.partition.typed_columns import is_of_numbers

if TYPE_CHECKING:
    import dask.dataframe as dd

    from dgraph.building.partitioned_graph import PartitionedGraph
    from dgraph.cluster.workers import Workers


Tables = tuple[list[Any], pd.DataFrame]
SUMS = {"i": "int64", "u": "uint64"}  # the types of sums, by the kind of the column
NAME = "dgraph-frame"  # names the tasks that only wrap tables as partitions of a lazy frame
# The name of the threads in which schedulers turn frames into tasks. If Dask renames them, schedulers in this process
# log a warning about tasks that differ, and use the results that they have all the same.
OF_SCHEDULERS = "Dask-Offload"


@retry_on_loss
def edges(graph: PartitionedGraph) -> dd.DataFrame:
    """Partition p of the frame holds the edges that the policy placed on partition p, in the form the user listed them.

    The rows come from the user's frame, since each edge has the number of its row. Merged repeats have the row of the
    first, with merged values. An undirected edge is on the partition where the policy places its listed direction.
    """
    return lazy_frame(graph.workers, *edge_tables(graph))


@retry_on_loss
def vertices(graph: PartitionedGraph) -> dd.DataFrame:
    """Partition p of the frame lists the vertices that partition p owns, with the user's attributes."""
    return lazy_frame(graph.workers, *vertex_tables(graph))


def edge_tables(
    graph: PartitionedGraph,
    choose: Callable[[list[Any]], list[Any]] = list,
    *,
    reads: Sequence[str] = (),
    adds: Mapping[str, str] | None = None,
) -> Tables:
    """Return tasks that make the partitions of the frame of edges, and an empty frame with its types.

    `choose` makes of the chunks of all edges, with the columns `reads`, those of the edges to list. It may add columns,
    whose types `adds` has, with a value for each edge.
    """
    workers, source = graph.workers, graph.input_edges.edges
    meta, merges = empty(source.frame), graph.input_edges.rules.repeats not in ("keep", "first")
    merged = [name for name in graph.edge_columns if merges and is_of_numbers(meta[name].dtype)]
    chunks = choose(graph.input_edges.by_number([*merged, *(set(reads) - set(merged))], origin=True))
    added = [*merged, *(adds or {})]
    where, numbering = workers.share(graph.placement), workers.share(graph.numbering)
    how = where, numbering, graph.input_edges.rules.skip_loops, (ROW, FLIPPED, *added)
    splits = [workers.call(_split, chunk, *how) for chunk in chunks]
    bounds = list(pairwise(accumulate(graph.input_edges.rows, initial=0)))
    ends, kind = (source.source, source.destination), graph.numbering.id_type.dtype
    homes = graph.input_edges.homes()
    tasks = []
    for part in range(graph.num_parts):
        mine = workers.call(_by_row, [workers.call(pick, split, part) for split in splits])
        tables = [
            workers.call(_rows, frame, mine, start, stop, ends, kind, on=on)
            for frame, (start, stop), on in zip(graph.input_edges.edge_pieces, bounds, homes, strict=True)
        ]
        tasks.append(workers.call(joined, tables))
    meta = _with_signed_ids(meta, ends, kind)
    if graph.input_edges.rules.repeats == "sum":  # whole numbers are added up in 64 bits
        meta = meta.astype({name: SUMS[meta[name].dtype.kind] for name in merged if meta[name].dtype.kind in SUMS})
    return tasks, meta.assign(**{name: pd.Series(dtype=kind) for name, kind in (adds or {}).items()})


def check_new_column(graph: PartitionedGraph, name: str) -> None:
    """Refuse a column that the frame of edges already has."""
    edges = graph.input_edges.edges
    if name in (edges.source, edges.destination, *graph.edge_columns):
        raise ColumnError(f"the edges already have a column {name!r}: rename it")


@retry_on_loss
def compute_frames(graph: PartitionedGraph) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All edges and all vertices, as pandas frames in this process."""
    (edges, _), (vertices, _) = edge_tables(graph), vertex_tables(graph)
    tables = graph.workers.get([*edges, *vertices])
    return joined(tables[: len(edges)]), joined(tables[len(edges) :])


def _split(
    chunk: NumberedChunk, where: Placement, ids: Numbering, skip_loops: bool, columns: Sequence[str]
) -> list[dict[str, np.ndarray]]:
    """Some columns of the edges that each partition lists."""
    chunk = where.to_positions(replace(chunk, columns={name: chunk.columns[name] for name in columns}))
    return [part.columns for part in placement.split(chunk, where, ids, (placement.place_edges, False), skip_loops)]


def _by_row(pieces: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The rows of the user's frame that a partition has, in order, with FLIPPED, and merged or added values."""
    columns = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    order = np.argsort(columns[ROW], kind="stable")
    return {name: column[order] for name, column in columns.items()}


@explain_lack_of_memory("the edges of a graph", "list them")
def _rows(
    frame: Any, mine: Mapping[str, np.ndarray], start: int, stop: int, ends: tuple[str, str], kind: str
) -> pd.DataFrame:
    """The rows of a piece of the user's frame (start..stop of all rows) that are among `mine`. `kind` is the type of
    the graph's ids."""
    here = slice(*np.searchsorted(mine[ROW], (start, stop)))
    table = to_pandas(to_main_memory(frame)).iloc[mine[ROW][here] - start].reset_index(drop=True)
    table = _with_signed_ids(table, ends, kind)
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


def _with_signed_ids(table: pd.DataFrame, ends: Sequence[str], kind: str) -> pd.DataFrame:
    """The table with ids of the graph's signedness: pandas turns a mix of signed and unsigned columns into floats,
    which are wrong beyond 2**53."""
    signs = {"int64": "u", "uint64": "i"}  # narrower types are never mixed with the other sign
    odd = [name for name in ends if table[name].dtype.kind == signs.get(kind)]
    return table.astype(dict.fromkeys(odd, kind)) if odd else table


def vertex_tables(graph: PartitionedGraph) -> Tables:
    """Like `edge_tables`, for the frame of vertices."""
    workers, source = graph.workers, graph.input_edges.vertices
    where, numbering = workers.share(graph.placement), workers.share(graph.numbering)
    meta = pd.DataFrame({source.id: graph.numbering.id_type.restore(graph.numbering.ids(0, 0))})
    pieces = graph.input_edges.vertex_pieces if source.columns else []
    if source.columns:
        listed = sum(workers.get([workers.call(count_rows, piece) for piece in pieces]))
        attributes = empty(source.frame)[source.columns]
        if listed < graph.num_vertices:
            attributes = _nullable(attributes)
        meta = pd.concat([meta, attributes], axis=1)
    tasks = [workers.call(_owned, part, where, numbering, meta, pieces) for part in range(graph.num_parts)]
    return tasks, meta


def _nullable(meta: pd.DataFrame) -> pd.DataFrame:
    """Columns that may have missing values: integers and booleans become pandas' nullable types."""
    exact = [name for name, dtype in meta.dtypes.items() if isinstance(dtype, np.dtype) and dtype.kind in "iub"]
    return meta.assign(**{name: meta[name].convert_dtypes() for name in exact})


def with_text_ids(frame: dd.DataFrame, *ids: str) -> dd.DataFrame:
    """The frame with ids of the same type as in results, so that the two can be joined."""
    return frame.map_partitions(_as_text, ids, meta=_as_text(frame._meta, ids), token=label(_as_text))


@explain_lack_of_memory("the vertices of a graph", "list them")
def _owned(part: int, where: Placement, ids: Numbering, meta: pd.DataFrame, pieces: Sequence[Any]) -> pd.DataFrame:
    name, *columns = meta.columns
    table = pd.DataFrame({name: ids.id_type.restore(where.ids(ids, part))})
    if not columns:
        return table
    low, high = int(where.bounds[part]), int(where.bounds[part + 1])
    positions, attributes, numbers = [], [], []
    for piece in pieces:
        frame = to_main_memory(piece)
        number = ids.number_of(chunk_of_vertices(frame, name))
        numbers.append(number)
        position = number if where.positions is None else where.positions[number]
        mine = np.flatnonzero((position >= low) & (position < high))
        positions.append(position[mine].astype(np.int64) - low)
        attributes.append(to_pandas(frame)[columns].iloc[mine])
    row = np.concatenate(positions)
    repeated = np.flatnonzero(np.bincount(np.concatenate(numbers), minlength=1) > 1)
    if len(repeated):
        (id,) = np.asarray(ids.restored(repeated[:1])).tolist()
        raise InputError(f"the vertex frame lists {id!r} more than once, so its attributes are ambiguous; list it once")
    aligned = pd.concat(attributes).astype(meta.dtypes[columns]).set_axis(row, axis=0).reindex(range(len(table)))
    return pd.concat([table, aligned], axis=1).astype(meta.dtypes)


def joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all tables, numbered from 0."""
    full = [table for table in tables if len(table)]
    return pd.concat(full, ignore_index=True) if len(full) > 1 else (full or list(tables))[0].reset_index(drop=True)


def empty(frame: Any) -> pd.DataFrame:
    """The frame without rows."""
    if is_lazy(frame):
        return to_pandas(to_main_memory(frame._meta))
    if isinstance(frame, dict):  # without a copy of its numbers; other types depend on the values
        kinds = {name: getattr(getattr(values, "dtype", None), "kind", "O") for name, values in frame.items()}
        size = 0 if all(kind in "iufb" for kind in kinds.values()) else None
        frame = {name: values[:size] for name, values in frame.items()}
    return to_pandas(frame.slice(0, 0) if hasattr(frame, "slice") else frame).iloc[:0]


def lazy_frame(workers: Workers, tasks: Sequence[Any], meta: pd.DataFrame) -> dd.DataFrame:
    """Tasks as a lazy frame. Dask would turn columns of Python objects, such as UUIDs, into strings when it makes the
    frame, so these are declared as floats first and corrected in a second step."""
    import dask.dataframe as dd

    objects = [name for name, dtype in meta.dtypes.items() if dtype.kind == "O" and isinstance(dtype, np.dtype)]
    tasks = tasks if workers.client is None else refer_by_key(workers.client, tasks)
    declared = meta.astype(dict.fromkeys(objects, "float64"))
    frame = dd.from_delayed(list(tasks), meta=declared, verify_meta=False, prefix=NAME)
    return frame.map_partitions(_unchanged, meta=meta, enforce_metadata=False, token=NAME) if objects else frame


def keeps_rows(lazy: Any) -> bool:
    """Whether Dask computes each partition of a column from the same partition of a frame, so that rows are not sorted
    or shuffled."""
    from dask.dataframe.dask_expr._expr import Blockwise

    return all(isinstance(one, Blockwise) or not one.dependencies() for one in lazy.expr.walk())


def result_frame(
    workers: Workers, tables: Sequence[Any], meta: pd.DataFrame, ids: Sequence[str], *, as_cudf: bool
) -> Any:
    """Tasks that make tables, as a lazy Dask frame; or as a dask-cudf frame (experimental), on workers with cuDF and a
    GPU."""
    if not as_cudf:
        return lazy_frame(workers, [workers.call(_as_text, one, ids) for one in tables], _as_text(meta, ids))
    fitting = workers.capabilities.that_have("a result as a cuDF frame", CUDF_PACKAGES, f"{INSTALL}; or use compute()")
    import dask_cudf

    tasks = [workers.call(_to_cudf, one, ids, on=on) for one, on in zip(tables, cycle(fitting))]
    return dask_cudf.from_delayed(tasks, meta=_to_cudf(meta, ids), verify_meta=False)


def _to_cudf(table: pd.DataFrame, ids: Sequence[str]) -> Any:
    """The table as a cuDF frame, with UUIDs as text, because cuDF has no type for them."""
    import cudf

    uuids = [name for name in ids if table[name].dtype.kind == "O" and isinstance(table[name].dtype, np.dtype)]
    return cudf.from_pandas(table.astype(dict.fromkeys(uuids, "string")))


def _as_text(table: pd.DataFrame, ids: Sequence[str]) -> pd.DataFrame:
    """The table with string and UUID ids as Arrow-backed strings, like those of Dask's own frames, so that frames can
    be joined: merging on two string types gives a column of Python objects."""
    import dask

    if dask.config.get("dataframe.convert-string", None) is False:
        return table
    texts = [name for name in ids if isinstance(table[name].dtype, pd.StringDtype) or table[name].dtype.kind == "O"]
    return table.astype(dict.fromkeys(texts, pd.StringDtype("pyarrow")))


def _unchanged(table: pd.DataFrame) -> pd.DataFrame:
    return table


# -- what a lazy frame reads on a cluster ------------------------------------------------------------------------------
# A frame keeps the results that it reads on the cluster as long as it lives, and knows which client they belong to.
#
# Tasks refer to the results by key alone, because the scheduler of that client has them. Dask would put futures into
# the tasks. If the scheduler runs in the client's process, as a LocalCluster's does, it turns them into futures of
# that client, and its logs keep a thousand messages to workers, so the results would never be freed.
#
# Without a cluster, the frame's tasks fetch the results through the frame's client. When the tasks are sent to another
# cluster, a `MissingResult` is put there under the same key, so that the error says where the results are; the
# scheduler of that cluster alone would only report lost dependencies.


def refer_by_key(client: Any, tasks: Sequence[Delayed]) -> list[Delayed]:
    """The tasks, changed to refer to data on the client's cluster by key alone."""
    held: dict[Any, HeldResult] = {}
    by_name: list[Delayed] = []
    for task in tasks:
        graph: Mapping[Any, Any] = dict(task.dask)
        read = external_keys(graph)
        held |= {key: HeldResult(key, client) for key in read - held.keys()}
        checked: Any = {key: Task(key, _checked, TaskRef(key)) for key in read}
        own = {key: node.substitute(checked) if isinstance(node, GraphNode) else node for key, node in graph.items()}
        by_name.append(FrameTask(task.key, own, [held[key] for key in read]))
    return by_name


class HeldResult:
    """A result on the cluster of one client. Calling it fetches the result to this process."""

    def __init__(self, key: Any, client: Any):
        from distributed import Future

        self.key, self.client, self.address = key, client, client.scheduler.address
        self.future: Any = Future(key, client)
        self._absent: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # other clients -> what they have instead

    def __call__(self) -> Any:
        return gather_results(self.client, [self.future])[0]

    @property
    def remedy(self) -> str:
        reads = f"this lazy frame reads data on the cluster at {self.address}"
        if is_closed(self.client):
            return f"{reads}, whose client is closed; make the graph and the frame again with another client"
        calls = "frame.compute(scheduler=client) or client.compute(frame)"
        return f"{reads}; compute it there: {calls}, where client is the graph's"

    def mark_absent(self) -> None:
        """Put a `MissingResult` under the same key on the cluster of the current client, if that is another one. Does
        not wait: Dask pickles tasks while it holds a lock of that client."""
        client = current_client()
        elsewhere = client is not None and client is not self.client and client.scheduler.address != self.address
        if elsewhere and client not in self._absent:
            self._absent[client] = client.submit(MissingResult, self.remedy, key=self.key, pure=False)


class FrameTask(Delayed):
    """A task that reads held results. Pickled for a scheduler, it is an ordinary Dask task without them."""

    __slots__ = ("_held",)

    def __init__(self, key: Any, graph: dict[Any, Any], held: Sequence[HeldResult]):
        super().__init__(key, graph)
        self._held = held

    @property
    def dask(self) -> dict[Any, Any]:
        """The task's graph. A scheduler in this process reads this property too, since Dask does not copy a frame
        there; it must not see tasks under the keys of results that it has."""
        for one in self._held:
            if is_closed(one.client):
                raise InputError(one.remedy)
        if threading.current_thread().name.startswith(OF_SCHEDULERS):
            return super().dask
        return super().dask | {one.key: FetchingTask(one.key, one) for one in self._held}

    def __reduce__(self) -> Any:
        for one in self._held:
            one.mark_absent()
        return Delayed, (self.key, super().dask)


class FetchingTask(Task):
    """Fetches a held result. When pickled, it becomes an alias for the key of the result."""

    __slots__ = ()
    func: HeldResult

    def __reduce__(self) -> Any:
        self.func.mark_absent()
        return Alias, (self.key, self.func.key)


class MissingResult:
    """Stands in for a result on a cluster that does not have it."""

    def __init__(self, remedy: str):
        self.remedy = remedy


def _checked(value: Any) -> Any:
    if isinstance(value, MissingResult):
        raise InputError(value.remedy)
    return value
