"""Saves a graph to a folder, completely or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa

from dgraph.arguments import check_flag
from dgraph.building import assembly, graph_frames, whole_folder
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.building.saved_graph import (
    KIND,
    MANIFEST,
    WITHOUT_CHANGES,
    SavedGraph,
    SavedVersion,
    all_blocks,
    local_folder,
)
from dgraph.cluster.retry import retry_on_loss
from dgraph.errors import ColumnError, OptionError, StorageError
from dgraph.frames.any_frame import LazyPieces, is_lazy, select_columns
from dgraph.partition import store, typed_columns
from dgraph.partition.manifest import manifest_text
from dgraph.partition.partition import Partition
from dgraph.partition.rules import ROW
from dgraph.partition.typed_columns import Description, description_of, is_of_numbers


class ResultToSave(Protocol):
    """A result that is saved with the graph."""

    @property
    def name(self) -> str: ...

    def write(self, folder: Path, prefix: str) -> dict[str, Any]:
        """Write the blocks of the result, whose names begin with `prefix`. Returns its entry in the manifest, which
        includes the ``blocks``."""


@retry_on_loss
def save(
    graph: PartitionedGraph,
    path: Any,
    *,
    columns: list[str] | None = None,
    overwrite: bool = False,
    results: Sequence[ResultToSave] = (),
) -> None:
    """Save a graph to a folder that all workers can reach; see `Graph.save`.

    Everything is written to a temporary folder next to the target, which takes the target's place at the end.
    """
    folder = free_folder(path, overwrite)

    def put(beside: Path) -> None:
        with whole_folder.alone(folder):
            free_folder(folder, overwrite)  # checked again, because other files may have appeared meanwhile
            whole_folder.put(beside, folder, replaces=overwrite)

    write_whole(graph, folder, put, columns=columns, results=results)


def write_whole(
    graph: PartitionedGraph,
    folder: Path,
    put: Callable[[Path], None],
    *,
    columns: list[str] | None = None,
    results: Sequence[ResultToSave] = (),
    origin: SavedVersion | None = None,
) -> None:
    """Write all of a graph to a new folder, which `put` moves to its place. If the graph is a later version of another
    one, `origin` says which."""
    chosen = EdgeColumns.of(graph, _names(graph, columns))
    attributes = _vertex_dtypes(graph)
    described(attributes)  # refuses types that a saved graph cannot hold
    if graph.input_edges.opened is not None:
        graph.partitioned()  # opens the saved partitions, so that all their orders are saved again
    orders = list(dict.fromkeys((*(graph.built.orders if graph.built else ()), "out")))
    held = _partitions(graph, orders, chosen)
    try:
        with whole_folder.beside(folder) as beside:
            blocks, edges_of_parts, dtypes = _write_partitions(graph, beside, held, chosen)
            content = {
                **_describe(graph, list(chosen.dtypes), orders),
                "dtypes": chosen.described(dtypes),
                "attributes": described(attributes),
                "partitions": blocks,
                "edges": edges_of_parts,
                "owned": np.diff(graph.placement.bounds).tolist(),
                "shared": _write_shared(graph, beside)
                | _write_empty(beside, "edges", chosen.others)
                | _write_empty(beside, "vertices", attributes)
                | _write_vertices(graph, beside, attributes),
                "results": {one.name: one.write(beside, f"result{number}") for number, one in enumerate(results)},
                **({} if origin is None else {"origin": asdict(origin)}),
            }
            store.check_sizes(beside, all_blocks(content))
            with (beside / MANIFEST).open("w") as file:
                file.write(manifest_text(KIND, WITHOUT_CHANGES, content))
                store.flush(file)
            put(beside)
    except OSError as cause:
        raise not_written(folder, cause) from cause
    graph.input_edges.saved_as(SavedGraph(folder, content, 0).first)


def not_written(folder: Path, cause: OSError) -> StorageError:
    remedy = "check the free disk space, and that nothing else writes there"
    return StorageError(f"{folder}: could not be written ({cause}; {remedy}); nothing was changed")


def _names(graph: PartitionedGraph, columns: list[str] | None) -> list[str]:
    """The names of the edge columns to save."""
    if isinstance(columns, str) or not isinstance(columns, Iterable | None):
        raise OptionError(f"columns={columns!r} must be a list of column names, such as [{columns!r}], or None for all")
    names = graph.edge_columns if columns is None else list(dict.fromkeys(columns))
    edges, vertices = graph.input_edges.edges, graph.input_edges.vertices
    for name in (edges.source, edges.destination, vertices.id, *names, *vertices.columns):
        if not isinstance(name, str):
            raise ColumnError(f"column {name!r}: the columns of a saved graph must have text names; rename it first")
    for name in names:
        if name not in graph.edge_columns:
            present = ", ".join(graph.edge_columns) or "none"
            raise ColumnError(f"the edges have no column {name!r}; they have {present}")
    return names


def _partitions(graph: PartitionedGraph, orders: list[str], chosen: EdgeColumns) -> list[Any]:
    """The partitions to write. If there are columns that kernels do not read, they are built with edges by source,
    whose column `ROW` holds the row of each edge in the user's frame."""
    if not chosen.others:
        return graph.partitioned(orders, chosen.numbers).held
    edges = graph.input_edges
    chunks = edges.by_number(chosen.numbers, origin=True)
    how: dict[str, Any] = {"order": "out", "sort": edges.sort, "num_arcs": edges.num_arcs, **edges.rules.arc_options}
    held = graph.workers.wait(assembly.build_partitions(graph.workers, chunks, graph.numbering, graph.placement, **how))
    if "incoming" not in orders:
        return held
    earlier = graph.partitioned(["incoming"], chosen.numbers).held
    return graph.workers.wait(graph.workers.each(Partition.with_orders_of, list(zip(held, earlier, strict=True))))


def _write_partitions(
    graph: PartitionedGraph, folder: Path, held: list[Any], chosen: EdgeColumns
) -> tuple[list[dict[str, store.Entry]], list[int], list[str]]:
    """Write all partitions. Returns the blocks and the number of listed edges of each, and the types of numbers."""
    workers, directed = graph.workers, graph.directed
    written = workers.get([workers.call(_write, folder, one, chosen.numbers, directed) for one in held])
    blocks, edges, dtypes = zip(*_without_errors(written), strict=True)
    if chosen.others:
        tables = _without_errors(workers.get(_write_others(graph, folder, held, chosen.others)))
        for part, (one, table) in enumerate(zip(blocks, tables, strict=True)):
            one[f"p{part}.others.arrow"] = table
    return list(blocks), list(edges), dtypes[0]


def _without_errors(written: Sequence[Any]) -> Sequence[Any]:
    """The results of tasks that write; raises the first error that one of them returned."""
    for one in written:
        if isinstance(one, Exception):
            raise one
    return written


def free_folder(path: Any, overwrite: bool, how: str = "overwrite=True") -> Path:
    """The folder to save to. Refuses a folder that exists, unless `overwrite` is set and it holds only a saved graph.
    `how` says in errors what would replace it."""
    folder, replaces = local_folder(path), check_flag("overwrite", overwrite)
    if folder.is_symlink():  # replace the folder that the link leads to, not the link
        folder = folder.resolve()
    if not folder.exists():
        return folder
    if not replaces:
        raise OptionError(f"{folder} already exists; pass another path, or overwrite=True")
    files = sorted(folder.iterdir()) if folder.is_dir() else [folder]
    is_saved = (folder / MANIFEST).exists()
    others = [path.name for path in files if not is_saved or path.suffix not in (".npy", ".arrow", ".json")]
    if others:
        problem = f"{folder} is not just a saved graph: {how} would also remove {others[0]!r}"
        raise OptionError(f"{problem}; pass another path")
    return folder


def _write(
    folder: Path, partition: Partition, columns: Sequence[str], directed: bool
) -> tuple[dict[str, store.Entry], int, list[str]] | OSError:
    """Write a partition. Returns its blocks, the number of listed edges and the types of the columns; or the error,
    which is raised only after all partitions are done writing."""
    out = partition.by_source
    edges = len(out.neighbours[_is_listed(partition, directed)])
    dtypes = [dtype.str for dtype in partition.column_types(columns).values()]
    try:
        return store.write_partition(folder, partition, columns), edges, dtypes
    except OSError as error:
        return error


def _describe(graph: PartitionedGraph, columns: list[str], orders: list[str]) -> dict[str, Any]:
    id_type, ranks, rules = graph.numbering.id_type, graph.numbering.ranks, graph.input_edges.later_rules
    return {
        "directed": graph.directed,
        "source": graph.input_edges.edges.source,
        "destination": graph.input_edges.edges.destination,
        "weight": graph.weight if graph.weight in columns else None,
        "possible_weights": [name for name in graph.input_edges.edges.possible_weights if name in columns],
        "id": graph.input_edges.vertices.id,
        "columns": columns,
        "orders": orders,
        "policy": graph.policy,
        "num_vertices": graph.num_vertices,
        "num_edges": graph.num_edges,
        "id_type": [id_type.kind, id_type.dtype],
        "rules": {"loops": rules.loops, "repeats": rules.repeats, "symmetrize": rules.symmetrize},
        "first": ranks.first if ranks is not None else 0,
    }


def _write_shared(graph: PartitionedGraph, folder: Path) -> dict[str, store.Entry]:
    """Write the blocks that all partitions share: ids and masters."""
    numbering, where = graph.numbering, graph.placement
    blocks = {}
    if numbering.ranks is None:
        tables = pa.table({"id": pa.chunked_array(numbering.tables)})
        blocks["ids.arrow"] = store.write_table(folder, "ids", tables)
    elif not numbering.ranks.is_dense:
        blocks["words.npy"] = store.write_array(folder, "words", numbering.ranks.words)
    if where.numbers is not None:
        blocks["order.npy"] = store.write_array(folder, "order", where.numbers)
    if where.numbers is None or len(where.high):
        blocks["hubs.npy"] = store.write_array(folder, "hubs", where.high)
    return blocks


# -- columns -----------------------------------------------------------------------------------------------------------
# Columns of edges and vertices that are not numbers for kernels are saved as a table for each partition. Kernels never
# read them, so partitions do not have them: the rows of the user's frame are looked up by row number.


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
        wide = [name for name in numbers if name != source.weight and typed_columns.is_wide_nullable(dtypes[name])]
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
            _of_numbers(block_of[name], dtype) if name in block_of else _described(name, dtype)
            for name, dtype in self.dtypes.items()
        ]


def _of_numbers(block: str, dtype: Any) -> str | Description:
    said = None if dtype is None or dtype == np.dtype(block) or not is_of_numbers(dtype) else description_of(dtype)
    return block if said is None else {"block": block, "as": said}


def _described(name: str, dtype: Any) -> Description:
    if (said := description_of(dtype)) is None:
        raise typed_columns.not_saved(name, dtype, "a saved graph has no such type")
    return said


def _categories(graph: PartitionedGraph, dtypes: dict[str, Any]) -> dict[str, Any]:
    """The dtypes of categorical columns that a lazy frame does not know before it is read."""
    frame = graph.input_edges.edges.frame
    names = [name for name, dtype in dtypes.items() if isinstance(dtype, pd.CategoricalDtype)]
    if not is_lazy(frame) or isinstance(frame, LazyPieces):
        return {}
    each = _of_each_piece(graph, _dtypes, names)
    return {name: typed_columns.common_dtype(name, [one[name] for one in each]) for name in names}


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


def _write_others(graph: PartitionedGraph, folder: Path, held: Sequence[Any], others: dict[str, Any]) -> list[Any]:
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


def _is_listed(partition: Partition, directed: bool) -> np.ndarray | slice:
    """A mask of the edges of a partition that stand for a listed edge; an undirected edge is stored twice."""
    out, numbers = partition.by_source, partition.numbers
    return slice(None) if directed else numbers[out.rows()] <= numbers[out.neighbours]


def _rows_of(partition: Partition, directed: bool) -> np.ndarray:
    return partition.by_source.columns[ROW][_is_listed(partition, directed)]


def _taken(
    piece: Any, rows: np.ndarray, start: int, stop: int, dtypes: dict[str, Any]
) -> tuple[np.ndarray, pd.DataFrame]:
    """Which of the rows are in a piece of the user's frame (start..stop of all rows), and their values."""
    here = np.flatnonzero((rows >= start) & (rows < stop))
    table = select_columns(piece, list(dtypes)).iloc[rows[here] - start]
    return here, table.astype({name: dtype for name, dtype in dtypes.items() if table[name].dtype != dtype})


def _write_taken(folder: Path, name: str, taken: list[tuple[np.ndarray, pd.DataFrame]]) -> store.Entry | Exception:
    places = np.concatenate([here for here, _ in taken])
    full = [table for _, table in taken if len(table)] or [taken[0][1]]
    table = full[0] if len(full) == 1 else pd.concat(full)
    return _write_table(folder, name, table.iloc[np.argsort(places)].reset_index(drop=True))


def _write_table(folder: Path, name: str, table: pd.DataFrame) -> store.Entry | Exception:
    """Write a table. Returns its block; or an error, which is raised only after all tables are done."""
    try:
        return store.write_table(folder, name, typed_columns.table_of(table))
    except (OSError, ColumnError) as error:
        return error


# -- vertices ----------------------------------------------------------------------------------------------------------


def _vertex_dtypes(graph: PartitionedGraph) -> dict[str, Any]:
    """The dtypes of the attributes, which may have missing values for vertices that only edges name."""
    if not graph.input_edges.vertices.columns:
        return {}
    return graph_frames.vertex_tables(graph)[1].drop(columns=[graph.input_edges.vertices.id]).dtypes.to_dict()


def _write_vertices(graph: PartitionedGraph, folder: Path, dtypes: dict[str, Any]) -> dict[str, store.Entry]:
    """Write the attributes of each partition's vertices."""
    pieces = graph_frames.vertex_tables(graph)[0] if dtypes else []
    tasks = [
        graph.workers.call(_write_attributes, folder, f"vertices{part}", piece, tuple(dtypes))
        for part, piece in enumerate(pieces)
    ]
    tables = _without_errors(graph.workers.get(tasks))
    return {f"vertices{part}.arrow": table for part, table in enumerate(tables)}


def _write_attributes(folder: Path, name: str, piece: pd.DataFrame, columns: Sequence[str]) -> store.Entry | Exception:
    return _write_table(folder, name, piece[list(columns)])


def described(dtypes: dict[str, Any]) -> dict[str, Description]:
    return {name: _described(name, dtype) for name, dtype in dtypes.items()}


def _write_empty(folder: Path, name: str, dtypes: dict[str, Any]) -> dict[str, store.Entry]:
    """Write a table without rows, which has the columns' types and categories; no block if there are no columns."""
    if not dtypes:
        return {}
    empty = pd.DataFrame({column: pd.Series([], dtype=dtype) for column, dtype in dtypes.items()})
    return {f"{name}.arrow": store.write_table(folder, name, typed_columns.table_of(empty))}
