"""Versions of a saved graph: changes of a graph are appended to its folder, and read from there.

The first version is a whole graph, whose blocks are never changed. Each later one has tables of its changes since the
version before, in which vertices are named by their ids. The manifest lists all versions, and is replaced in one step.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow as pa

from dgraph.arguments import check_flag
from dgraph.building import graph_frames, graph_writer, whole_folder
from dgraph.building.graph_writer import ResultToSave
from dgraph.building.input_edges import InputEdges
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.building.saved_graph import (
    KIND,
    MANIFEST,
    VERSION,
    WITHOUT_CHANGES,
    SavedGraph,
    SavedVersion,
    local_folder,
    prefix_of,
)
from dgraph.changes.batch import Batch, ends_of, net_of
from dgraph.changes.changed_edges import ChangedEdges
from dgraph.changes.changed_frames import joined_vertices, with_types_of
from dgraph.changes.history import History
from dgraph.changes.new_ids import known_numbers, numbered
from dgraph.changes.update import history_of
from dgraph.changes.update_report import UpdateReport
from dgraph.cluster.workers import Workers
from dgraph.errors import InputError, OptionError, StorageError
from dgraph.frames.sources import VertexSource
from dgraph.partition import store
from dgraph.partition.ids.chunk import Chunk, Ids, chunk_of_vertices
from dgraph.partition.ids.id_types import UUID_BYTES, IdType
from dgraph.partition.manifest import checksum_of, manifest_text, require
from dgraph.partition.policies import PartitionOptions, is_saved_function
from dgraph.partition.typed_columns import frame_of, table_of

NEXT_MANIFEST = "manifest.next.json"
# the files that are added to those of a graph
OF_VERSIONS = re.compile(r"v[0-9]+\..*|result[0-9]+\..*|" + re.escape(NEXT_MANIFEST))
ANOTHER_PATH = "pass another path, or overwrite=True"
ARROW_TYPES = {"string": pa.types.is_large_string, "uuid": UUID_BYTES.equals, "integer": pa.types.is_integer}


# -- writing -----------------------------------------------------------------------------------------------------------


def save(
    graph: PartitionedGraph,
    path: Any,
    *,
    columns: list[str] | None = None,
    overwrite: bool = False,
    results: Sequence[ResultToSave] = (),
) -> None:
    """Save a graph to a folder; see `Graph.save`. If it was made from the graph that is saved there, only what has
    changed since is written; if it is that graph, only results are."""
    folder = local_folder(path)
    if check_flag("overwrite", overwrite) or not graph.input_edges.places or not (folder / MANIFEST).exists():
        graph_writer.save(graph, folder, columns=columns, overwrite=overwrite, results=results)
        return
    folder = folder.resolve()
    try:
        with whole_folder.alone(folder):
            whole_folder.remove_leftovers(folder)
            saved = SavedGraph.find(folder)
            _check(graph.input_edges, saved, columns, results)
            if graph.input_edges.is_saved:
                _add_results(saved, results)
            elif saved.content["num_vertices"]:
                _append(graph, saved, results)
            else:
                _replace_empty(graph, saved, results)
    except OSError as cause:
        raise graph_writer.not_written(folder, cause) from cause


def _check(edges: InputEdges, saved: SavedGraph, columns: list[str] | None, results: Sequence[ResultToSave]) -> None:
    """Refuse to append changes to a graph that these edges were not made from, or results that it has."""
    folder, newest = saved.folder, saved.version
    place = next((one for one in edges.places if one.root == newest.root), None)
    if place is None:
        problem = f"{folder} already exists, and this graph was not made from the one that is saved there"
        raise OptionError(f"{problem}; {ANOTHER_PATH}")
    if place.identity != newest.identity:
        which = f"this graph {'is' if edges.is_saved else 'was made from'} version {place.number}"
        now = f"version {newest.number}" if place.number != newest.number else "another one of that number"
        remedy = "open that one with dgraph.open_graph and update it, or save to another path"
        raise StorageError(f"{folder}: {which}, and there is {now} now; {remedy}")
    if edges.is_saved and not results:
        raise OptionError(f"{folder} already exists, and has this graph as version {place.number}; {ANOTHER_PATH}")
    for name in (one.name for one in results if edges.is_saved):
        if name in saved.results:
            has = f"version {place.number} in {folder} already has a result {name!r}"
            raise OptionError(f"results=: {has}; choose another name")
    if edges.later_rules.symmetrize and not edges.is_saved:
        raise InputError(
            f"{folder}: a changed graph with symmetrize=True cannot be appended to the one that is saved there, "
            f"because its reverses are edges like all others there; {ANOTHER_PATH}"
        )
    if columns is not None and list(columns) != saved.content["columns"]:
        raise OptionError(
            f"columns={columns!r} differ from those of the graph in {folder}, {saved.content['columns']}; leave "
            f"columns= out, or {ANOTHER_PATH}"
        )


def _append(graph: PartitionedGraph, saved: SavedGraph, results: Sequence[ResultToSave]) -> None:
    """Write a new version after the newest one. Until the manifest is replaced, nobody reads what is written."""
    folder, edges, number = saved.folder, graph.input_edges, saved.number + 1
    prefix = prefix_of(number)
    _remove_leftovers(saved)
    try:
        changes = {**_edge_changes(edges, saved), **_listed_vertices(graph)}
        tables = {name: changes.pop(name) for name in list(changes) if isinstance(changes[name], pa.Table)}
        blocks = {
            f"{prefix}{name}.arrow": store.write_table(folder, f"{prefix}{name}", table)
            for name, table in tables.items()
            if table.num_rows
        }
        entry = {**changes, "num_vertices": graph.num_vertices, "num_edges": graph.num_edges, "blocks": blocks}
        entry["identity"] = checksum_of([saved.version.identity, entry])
        entry["results"] = {one.name: one.write(folder, f"{prefix}result{k}") for k, one in enumerate(results)}
        versions = [*saved.changes, entry]
        _replace_manifest(folder, manifest_text(KIND, VERSION, {**saved.content, "versions": versions}))
    except BaseException:
        _remove_leftovers(SavedGraph.find(folder))
        raise
    edges.saved_as(SavedVersion(saved.first.root, entry["identity"], number))


def _add_results(saved: SavedGraph, results: Sequence[ResultToSave]) -> None:
    """Write results that the newest version did not have."""
    folder, first = saved.folder, len(saved.results)
    _remove_leftovers(saved)
    try:
        written = {
            one.name: one.write(folder, f"{saved.prefix}result{number}") for number, one in enumerate(results, first)
        }
        content = {**saved.content, "results": {**saved.results, **written}}
        if saved.changes:
            last = {**saved.changes[-1], "results": content["results"]}
            content = {**saved.content, "versions": [*saved.changes[:-1], last]}
        _replace_manifest(folder, manifest_text(KIND, VERSION if saved.changes else WITHOUT_CHANGES, content))
    except BaseException:
        _remove_leftovers(SavedGraph.find(folder))
        raise


def _replace_empty(graph: PartitionedGraph, saved: SavedGraph, results: Sequence[ResultToSave]) -> None:
    """Write the version after one without vertices, whose ids have no type yet, in place of it."""

    def put(beside: Path) -> None:
        graph_writer.free_folder(saved.folder, overwrite=True, how="save()")
        whole_folder.put(beside, saved.folder, replaces=True)

    origin = SavedVersion(saved.first.root, uuid4().hex, saved.number + 1)
    columns = saved.content["columns"]
    graph_writer.write_whole(graph, saved.folder, put, columns=columns, results=results, origin=origin)


def _remove_leftovers(saved: SavedGraph) -> None:
    """Remove the files of a version, or of results, that were not completed. `saved` is the newest version."""
    for path in saved.folder.iterdir():
        if OF_VERSIONS.fullmatch(path.name) and path.name not in saved.blocks:
            path.unlink()


def _replace_manifest(folder: Path, text: str) -> None:
    with (folder / NEXT_MANIFEST).open("w") as file:
        file.write(text)
        store.flush(file)
    (folder / NEXT_MANIFEST).replace(folder / MANIFEST)
    listing = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(listing)
    finally:
        os.close(listing)


def _edge_changes(edges: InputEdges, saved: SavedGraph) -> dict[str, Any]:
    """What the manifest says of changed edges and new vertices, and the tables of them."""
    history: History = edges.history
    net, unsaved = net_of(history.unsaved, history.rule), history.since[history.num_saved :]
    new = np.concatenate([history.unsaved_vertices, *(one.numbers for one in unsaved)])

    def ids(numbers: np.ndarray) -> Any:
        found = history.numbering.take(history.renumber(numbers))
        return found if isinstance(found, pa.Array) else pa.array(found)

    gone = ends_of(net.removed)
    old = ~(np.isin(gone[0], new) | np.isin(gone[1], new))  # what was added and removed since is in no version
    removed = {"source": ids(gone[0][old]), "destination": ids(gone[1][old])}
    frame = net.frame[saved.content["columns"]].reset_index(drop=True)
    sources, destinations = net.listed()
    columns = {"source": ids(sources), "destination": ids(destinations), **_columns(frame)}
    return {
        "added": len(net.added),
        "removed": int(net.counts[old].sum()),
        "vertices": len(new),
        "columns": graph_writer.described(frame.dtypes.to_dict()),
        "edges": pa.table(columns),
        "gone": pa.table({**removed, "count": net.counts[old], "emptied": net.emptied[old]}),
        "ids": pa.table({"id": ids(np.sort(new))}),
    }


def _columns(frame: pd.DataFrame) -> dict[str, Any]:
    table = table_of(frame)
    return dict(zip(table.column_names, table.columns, strict=True))


def _listed_vertices(graph: PartitionedGraph) -> dict[str, Any]:
    """The table of the vertices that were listed with attributes, and what the manifest says of these."""
    edges = graph.input_edges
    assert isinstance(edges, ChangedEdges)
    if not edges.unsaved_vertices:
        return {"attributes": {}}
    graph.workers.get(graph_frames.vertex_tables(graph)[0])  # refuses vertices that are listed twice
    frame, name = pd.concat(edges.unsaved_vertices, ignore_index=True), edges.vertices.id
    attributes = frame[edges.vertices.columns]
    ids = chunk_of_vertices(frame, name).sources
    table = table_of(attributes).append_column("id", ids if isinstance(ids, pa.Array) else pa.array(ids))
    return {"attributes": graph_writer.described(attributes.dtypes.to_dict()), "listed": table}


# -- reading -----------------------------------------------------------------------------------------------------------


def opened(
    saved: SavedGraph, workers: Workers, weight: str | None, policy: Any, parts: int, capacities: Any
) -> tuple[InputEdges, PartitionOptions, bool]:
    """The edges of a version, the options to partition them, and whether the saved partitions are used unchanged. The
    changes are read when they are needed."""
    listed, asked, as_saved = saved.opened(workers, weight, policy, parts, capacities)
    if not saved.changes:
        return listed, asked, as_saved
    first = PartitionedGraph(listed, asked, as_saved=as_saved)
    last = saved.changes[-1]
    made = ChangedEdges(
        listed,
        lambda: _history(first, saved),
        _vertices(listed, saved),
        UpdateReport(last["added"], last["removed"], 0, last["vertices"]),
        last["num_edges"] - saved.content["num_edges"],
        (saved.version,),
    )
    made.version, made.opened = saved.version.identity, saved
    return made, asked._replace(policy="auto") if is_saved_function(asked.policy) else asked, False


def _history(first: PartitionedGraph, saved: SavedGraph) -> History:
    """What became of the first version up to the chosen one."""
    history, before = history_of(first), saved.first
    for number, entry in enumerate(saved.changes, saved.first.number + 1):
        with saved.reading():
            history = history.with_batch(_batch(first, history, saved, number, entry), before.identity)
        before = SavedVersion(before.root, entry["identity"], number)
    return history.as_saved()


def _batch(first: PartitionedGraph, history: History, saved: SavedGraph, number: int, entry: dict[str, Any]) -> Batch:
    """The changes of a version."""
    kind, edges = first.numbering.id_type, first.input_edges
    none = history.base.numbering.ids(0, 0)

    def ids(table: pa.Table | None, name: str) -> Ids:
        return none if table is None else _ids(table, name, kind)

    table, gone, new = (_table(saved, number, entry, role) for role in ("edges", "gone", "ids"))
    ends = ids(table, "source"), ids(table, "destination")
    frame = pd.DataFrame({edges.edges.source: kind.restore(ends[0]), edges.edges.destination: kind.restore(ends[1])})
    if table is not None:
        frame = pd.concat([frame, frame_of(table, entry["columns"])], axis=1)
    meta = graph_frames.empty(edges.edges.frame)
    frame = with_types_of(meta, meta if table is None else frame[list(meta.columns)], edges.edges)
    isolated = Chunk(kind, ids(new, "id"), none)
    found, numbers = numbered(history, kind, Chunk(kind, *ends), isolated)
    require(len(found) == len(isolated.sources) == entry["vertices"], "new ids that are known, or not listed")
    batch = Batch.of(history.rule, numbers, frame, found, history.size)
    if gone is None:
        return batch
    known = known_numbers(history, kind, Chunk(kind, ids(gone, "source"), ids(gone, "destination")))
    require(min(map(np.min, known)) >= 0, "removed edges of vertices that are not known")
    return batch.without(history.rule.keys(*known), *(gone[name].to_numpy() for name in ("count", "emptied")))


def _table(saved: SavedGraph, number: int, entry: dict[str, Any], role: str) -> pa.Table | None:
    """A table of a version, which it does not have if there are no rows."""
    name = f"{prefix_of(number)}{role}"
    block = entry["blocks"].get(f"{name}.arrow")
    return None if block is None else store.read_table(saved.folder, name, block)


def _ids(table: pa.Table, name: str, kind: IdType) -> Ids:
    column = table[name].combine_chunks()
    require(ARROW_TYPES[kind.kind](column.type) and not column.null_count, "ids of another type")
    return column.to_numpy() if kind.kind == "integer" else column


def _vertices(listed: InputEdges, saved: SavedGraph) -> VertexSource:
    """The vertices of the first version, and those that later ones list with attributes."""
    frames, kind, name = [], IdType(*saved.content["id_type"]), saved.content["id"]
    for number, entry in enumerate(saved.changes, saved.first.number + 1):
        with saved.reading():
            table = _table(saved, number, entry, "listed")
            if table is not None:
                ids = pd.DataFrame({name: kind.restore(_ids(table, "id", kind))})
                frames.append(pd.concat([ids, frame_of(table, entry["attributes"])], axis=1))
    if not frames:
        return listed.vertices
    return joined_vertices(listed, VertexSource(pd.concat(frames, ignore_index=True), name))
