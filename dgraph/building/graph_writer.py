"""Writing a graph to a folder, whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from dgraph.building import graph_frames
from dgraph.building.saved_graph import KIND, MANIFEST, VERSION, local_folder
from dgraph.cluster.retry import retry_on_loss
from dgraph.errors import ColumnError, OptionError, StorageError
from dgraph.graph import Graph
from dgraph.options import check_flag
from dgraph.partition import store
from dgraph.partition.manifest import manifest_text
from dgraph.partition.partition import Partition


@retry_on_loss
def save(graph: Graph, path: Any, *, columns: list[str] | None = None, overwrite: bool = False) -> None:
    """Write a graph to a folder that all workers can reach.

    Everything is written beside the folder first and moved there at the end, so the folder is whole or not there.
    columns: the edge columns to save, numbers all; by default every column, and an error if one is not numeric.
    """
    folder = free_folder(path, overwrite)
    if isinstance(columns, str) or not isinstance(columns, Iterable | None):
        raise OptionError(f"columns={columns!r} is no list of columns: give [{columns!r}], or None for all")
    names = graph.edge_columns if columns is None else list(dict.fromkeys(columns))
    for name in (graph.listed.edges.source, graph.listed.edges.destination, graph.listed.vertices.id, *names):
        if not isinstance(name, str):
            raise ColumnError(f"column {name!r}: a saved graph calls its columns by text; rename it first")
    try:
        orders = graph.division.built.orders if graph.division.built else ()
        partitions = graph.partitioned((*orders, "out"), names)
    except ColumnError as cause:
        raise ColumnError(
            f"{cause}; a saved graph holds numbers: name the edge columns to save with columns="
        ) from cause
    beside = folder.with_name(f".{folder.name}.{uuid4().hex}")
    try:
        beside.mkdir(parents=True)
    except OSError as cause:
        raise StorageError(f"{folder}: cannot be written ({cause})") from cause
    workers = graph.workers
    try:
        blocks = _all_written(workers.get([workers.call(_write, beside, one, names) for one in partitions.held]))
        content = _describe(graph, names, list(partitions.orders))
        content["partitions"] = blocks
        content["owned"] = np.diff(graph.placement.bounds).tolist()
        content["edges"] = workers.get([workers.call(_listed_edges, one, graph.directed) for one in partitions.held])
        content["shared"] = _write_shared(graph, beside)
        store.check_sizes(beside, {name: entry for one in blocks for name, entry in one.items()})
        _write_manifest(beside / MANIFEST, content)
        _move(beside, folder, overwrite)
    except OSError as cause:
        remedy = "check the space on the disk, and that nobody else writes there"
        raise StorageError(f"{folder}: could not be written ({cause}; {remedy}); nothing was changed") from cause
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def free_folder(path: Any, overwrite: bool) -> Path:
    """Where a graph can be saved; refused where something is that must stay."""
    folder, replaces = local_folder(path), check_flag("overwrite", overwrite)
    if folder.exists():
        if not replaces:
            raise OptionError(f"{folder} is there already; give another path, or overwrite=True")
        _check_replaceable(folder)
    return folder


def _check_replaceable(folder: Path) -> None:
    """Refuses to remove anything but a saved graph: what lies beside its blocks is somebody's."""
    found = sorted(folder.iterdir()) if folder.is_dir() else [folder]
    is_saved = (folder / MANIFEST).exists()
    others = [path.name for path in found if not is_saved or path.suffix not in (".npy", ".arrow", ".json")]
    if others:
        raise OptionError(
            f"{folder} is not a saved graph and nothing else: {others[0]!r} is there; overwrite=True would remove it, "
            f"so give another path"
        )


def _write(folder: Path, partition: Partition, columns: Sequence[str]) -> dict[str, store.Entry] | OSError:
    """The blocks of a partition, or why they could not be written: told when all others are done writing too."""
    try:
        return store.write_partition(folder, partition, columns)
    except OSError as error:
        return error


def _all_written(found: list[dict[str, store.Entry] | OSError]) -> list[dict[str, store.Entry]]:
    for one in found:
        if isinstance(one, OSError):
            raise one
    return [one for one in found if not isinstance(one, OSError)]


def _describe(graph: Graph, columns: list[str], orders: list[str]) -> dict[str, Any]:
    known = graph.numbering
    sample = graph.workers.get([graph.workers.call(_dtypes, graph.partitions.held[0], columns)])[0]
    return {
        "directed": graph.directed,
        "source": graph.listed.edges.source,
        "destination": graph.listed.edges.destination,
        "weight": graph.weight if graph.weight in columns else None,
        "id": graph.listed.vertices.id,
        "columns": columns,
        "dtypes": sample,
        "orders": orders,
        "attributes": bool(graph.listed.vertices.columns),
        "policy": graph.policy,
        "num_vertices": graph.num_vertices,
        "num_edges": graph.num_edges,
        "id_type": [known.id_type.kind, known.id_type.dtype],
        "first": known.ranks.first if known.ranks is not None else 0,
    }


def _dtypes(partition: Partition, columns: Sequence[str]) -> list[str]:
    assert partition.out is not None
    return [partition.out.columns[name].dtype.str for name in columns]


def _listed_edges(partition: Partition, directed: bool) -> int:
    assert partition.out is not None
    if directed:
        return partition.num_edges
    return int((partition.numbers[partition.out.rows()] <= partition.numbers[partition.out.neighbours]).sum())


def _write_shared(graph: Graph, folder: Path) -> dict[str, store.Entry]:
    """What belongs to all partitions: the ids, the masters, and the attributes of vertices."""
    known, where = graph.numbering, graph.placement
    blocks = {}
    if known.ranks is None:
        tables = pa.table({"id": pa.chunked_array(known.tables)})
        blocks["ids.arrow"] = store.write_table(folder, "ids", tables)
    elif not known.ranks.is_dense:
        blocks["words.npy"] = store.write_array(folder, "words", known.ranks.words)
    if where.numbers is not None:
        blocks["order.npy"] = store.write_array(folder, "order", where.numbers)
    else:
        blocks["hubs.npy"] = store.write_array(folder, "hubs", where.high)
    if graph.listed.vertices.columns:
        for part, piece in enumerate(graph_frames.vertices(graph).to_delayed()):
            (table,) = graph.workers.get([piece])
            name = f"vertices{part}"
            try:
                listed = pa.Table.from_pandas(table, preserve_index=False)
            except (pa.ArrowException, OverflowError, UnicodeError) as cause:
                remedy = "make the values of a vertex column alike, or leave it out"
                raise ColumnError(f"{folder}: a column of vertices cannot be saved: {cause} ({remedy})") from cause
            blocks[f"{name}.arrow"] = store.write_table(folder, name, listed)
    return blocks


def _write_manifest(path: Path, content: dict[str, Any]) -> None:
    with path.open("w") as file:
        file.write(manifest_text(KIND, VERSION, content))
        store.flush(file)


def _move(beside: Path, folder: Path, overwrite: bool) -> None:
    """Put the finished folder in its place; an older one goes only when the new one is there, else it comes back."""
    free_folder(folder, overwrite)  # asked again: what came while we wrote may have to stay
    old = folder.with_name(f".{folder.name}.{uuid4().hex}")
    if overwrite and folder.exists():
        folder.rename(old)
    try:
        beside.rename(folder)
    except OSError:
        if old.exists() and not folder.exists():
            old.rename(folder)
        shutil.rmtree(old, ignore_errors=True)  # somebody else's new one is there
        raise
    shutil.rmtree(old, ignore_errors=True)
