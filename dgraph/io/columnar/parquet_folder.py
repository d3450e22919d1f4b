"""Writes edges to a folder of Parquet files, piece by piece, so that they need not all be in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet

from dgraph.building.input_edges import EdgeRules
from dgraph.building.whole_folder import beside, put
from dgraph.cluster.tasks import one_by_one
from dgraph.errors import FileError
from dgraph.frames.any_frame import is_lazy, to_main_memory
from dgraph.graph import Graph
from dgraph.io import files, paths
from dgraph.io.columnar import parquet
from dgraph.io.columnar.arrow_tables import to_table
from dgraph.io.edge_list import EdgeList
from dgraph.native import threads

ROWS = 1 << 22  # of a file, if the edges are in memory


def is_folder(path: str | os.PathLike) -> bool:
    """Whether a path to write names a folder: it ends with a slash."""
    return os.fspath(path).endswith("/")


def write_slices(edge_list: EdgeList, path: str | os.PathLike) -> None:
    """Write edges that are in memory."""
    table = to_table(edge_list.edges)
    note = parquet.note_of(replace(edge_list, edges=table), path)
    _write(edge_list, -(-len(table) // ROWS) or 1, lambda number: table.slice(number * ROWS, ROWS), path, note)


def can_stream(graph: Graph) -> bool:
    """Whether the pieces of the user's frame are the edges to write, and can be read one by one."""
    edges = graph.input_edges
    as_listed = edges.rules == EdgeRules(directed=graph.directed) and edges.vertices.frame is None
    return graph.client is None and is_lazy(edges.edges.frame) and as_listed


def write_pieces(graph: Graph, path: str | os.PathLike) -> None:
    """Write such edges, which are never all in memory."""
    given, pieces = graph.input_edges.edges, graph.input_edges.edge_pieces
    vertices, read = graph.input_edges.vertices.id_range or None, one_by_one(pieces)
    some = EdgeList(given.frame._meta, given.source, given.destination, graph.weight, graph.directed, vertices)
    _write(some, len(pieces), lambda number: to_main_memory(read(number)), path, parquet.note_of(some, path))


def _write(
    some: EdgeList, pieces: int, read: Callable[[int], Any], path: str | os.PathLike, note: dict[bytes, str]
) -> None:
    """Write a file for each piece. The folder appears only once it is complete; one that has files is refused."""
    fs, inner = paths.filesystem(paths.absolute_path(path))
    folder = Path(inner)
    if not files.is_local(fs):
        raise FileError("only local folders can be written", path=path, remedy="copy the folder afterwards")
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise FileError("this is there already", path=path, remedy="remove it, or choose another folder")
    with beside(folder) as new:
        threads.parallel_map(
            lambda k: parquet.write_file(replace(some, edges=read(k)), new / f"part-{k:05}.parquet", note),
            range(pieces),
        )
        with paths.explain_failure(str(path), "cannot be written", "check the folder and its permissions"):
            put(new, folder, replaces=folder.exists())


def count(path: str | os.PathLike) -> int:
    """The number of edges in a folder."""
    return sum(pyarrow.parquet.read_metadata(file).num_rows for file in Path(path).glob("part-*.parquet"))
