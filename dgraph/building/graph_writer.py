"""Saves a graph to a folder, completely or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from dgraph.arguments import check_flag
from dgraph.building import saved_columns, whole_folder
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.building.saved_columns import EdgeColumns, is_listed, vertex_dtypes, with_rows, write_others, write_vertices
from dgraph.building.saved_graph import KIND, MANIFEST, VERSION, all_blocks, local_folder
from dgraph.cluster.retry import retry_on_loss
from dgraph.errors import ColumnError, OptionError, StorageError
from dgraph.partition import store
from dgraph.partition.manifest import manifest_text
from dgraph.partition.partition import Partition


class ResultToSave(Protocol):
    """A result that is saved with the graph."""

    name: str

    def write(self, folder: Path, number: int) -> dict[str, Any]:
        """Write the blocks of the result. Returns its entry in the manifest, which includes the ``blocks``."""


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
    chosen = EdgeColumns.of(graph, _names(graph, columns))
    attributes = vertex_dtypes(graph)
    saved_columns.described(attributes)  # refuses types that a saved graph cannot hold
    if graph.input_edges.saved is not None:
        graph.partitioned()  # opens the saved partitions, so that all their orders are saved again
    orders = dict.fromkeys((*(graph.built.orders if graph.built else ()), "out"))
    held = _partitions(graph, list(orders), chosen)
    try:
        with whole_folder.beside(folder) as beside:
            _write_all(graph, beside, chosen, attributes, list(orders), held, results)
            free_folder(folder, overwrite)  # checked again, because other files may have appeared meanwhile
            whole_folder.put(beside, folder, replaces=overwrite)
    except OSError as cause:
        remedy = "check the free disk space, and that nothing else writes there"
        raise StorageError(f"{folder}: could not be written ({cause}; {remedy}); nothing was changed") from cause


def _write_all(
    graph: PartitionedGraph,
    beside: Path,
    chosen: EdgeColumns,
    attributes: dict[str, Any],
    orders: list[str],
    held: list[Any],
    results: Sequence[ResultToSave],
) -> None:
    """Write all blocks, and then the manifest."""
    blocks, edges_of_parts, dtypes = _write_partitions(graph, beside, held, chosen)
    content = {
        **_describe(graph, list(chosen.dtypes), orders),
        "dtypes": chosen.described(dtypes),
        "attributes": saved_columns.described(attributes),
        "partitions": blocks,
        "edges": edges_of_parts,
        "owned": np.diff(graph.placement.bounds).tolist(),
        "shared": _write_shared(graph, beside)
        | saved_columns.write_empty(beside, "edges", chosen.others)
        | saved_columns.write_empty(beside, "vertices", attributes)
        | _write_vertices(graph, beside, attributes),
        "results": {one.name: one.write(beside, number) for number, one in enumerate(results)},
    }
    store.check_sizes(beside, all_blocks(content))
    with (beside / MANIFEST).open("w") as file:
        file.write(manifest_text(KIND, VERSION, content))
        store.flush(file)


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
    """The partitions to write. If there are columns that kernels do not read, they are built with the row of each
    edge."""
    if not chosen.others:
        return graph.partitioned(orders, chosen.numbers).held
    held = with_rows(graph, chosen.numbers)
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
        tables = _without_errors(workers.get(write_others(graph, folder, held, chosen.others)))
        blocks = tuple(
            {**one, f"p{part}.others.arrow": table}
            for part, (one, table) in enumerate(zip(blocks, tables, strict=True))
        )
    return list(blocks), list(edges), dtypes[0]


def _write_vertices(graph: PartitionedGraph, folder: Path, dtypes: dict[str, Any]) -> dict[str, store.Entry]:
    tables = _without_errors(graph.workers.get(write_vertices(graph, folder, dtypes)))
    return {f"vertices{part}.arrow": table for part, table in enumerate(tables)}


def _without_errors(written: Sequence[Any]) -> Sequence[Any]:
    """The results of tasks that write; raises the first error that one of them returned."""
    for one in written:
        if isinstance(one, Exception):
            raise one
    return written


def free_folder(path: Any, overwrite: bool) -> Path:
    """The folder to save to. Refuses a folder that exists, unless `overwrite` is set and it holds only a saved
    graph."""
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
        raise OptionError(
            f"{folder} is not just a saved graph: overwrite=True would also remove {others[0]!r}; pass another path"
        )
    return folder


def _write(
    folder: Path, partition: Partition, columns: Sequence[str], directed: bool
) -> tuple[dict[str, store.Entry], int, list[str]] | OSError:
    """Write a partition. Returns its blocks, the number of listed edges and the types of the columns; or the error,
    which is raised only after all partitions are done writing."""
    out = partition.out
    assert out is not None
    edges = len(out.neighbours[is_listed(partition, directed)])
    dtypes = [out.columns[name].dtype.str for name in columns]
    try:
        return store.write_partition(folder, partition, columns), edges, dtypes
    except OSError as error:
        return error


def _describe(graph: PartitionedGraph, columns: list[str], orders: list[str]) -> dict[str, Any]:
    id_type, ranks = graph.numbering.id_type, graph.numbering.ranks
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
