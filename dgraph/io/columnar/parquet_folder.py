"""Writes edges to a folder of Parquet files, piece by piece, so that they need not all be in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pandas as pd
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
REMEDY = "check the folder and its permissions"


def is_folder(path: str | os.PathLike) -> bool:
    """Whether a path to write names a folder: it ends with a slash."""
    return os.fspath(path).endswith("/")


def check_new(path: str | os.PathLike) -> Path:
    """The local folder of a path. One that has files is refused."""
    fs, inner = paths.filesystem(paths.absolute_path(path))
    if not files.is_local(fs):
        raise FileError("only local folders can be written", path=path, remedy="copy the folder afterwards")
    folder = Path(inner).resolve()
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise FileError("this is there already", path=path, remedy="choose another folder, or remove it")
    return folder


def write_slices(edge_list: EdgeList, path: str | os.PathLike) -> None:
    """Write edges that are in memory."""
    table = to_table(edge_list.edges)
    note = parquet.note_of(replace(edge_list, edges=table), path)
    _write(edge_list, -(-len(table) // ROWS) or 1, lambda number: table.slice(number * ROWS, ROWS), path, note)


def can_stream(graph: Graph) -> bool:
    """Whether the pieces of the user's frame are the edges to write, and can be read one by one: in this process, with
    no rules, no vertices but a range, and ids and names that need no conversion."""
    edges, given = graph.input_edges, graph.input_edges.edges
    if graph.client is not None or not is_lazy(given.frame) or given.of_cudf or given.on_device:
        return False
    as_listed = edges.rules == EdgeRules(directed=graph.directed) and edges.vertices.frame is None
    meta = given.frame._meta
    kinds = [meta[end].dtype for end in (given.source, given.destination)]
    plain = all(kind.kind in "iu" or isinstance(kind, pd.StringDtype) for kind in kinds)
    return as_listed and edges.saved is None and plain and all(isinstance(name, str) for name in meta.columns)


def write_pieces(graph: Graph, path: str | os.PathLike) -> None:
    """Write such edges, which are never all in memory."""
    given, pieces = graph.input_edges.edges, graph.input_edges.edge_pieces
    vertices, read = graph.input_edges.vertices.id_range or None, one_by_one(pieces)
    some = EdgeList(given.frame._meta, given.source, given.destination, graph.weight, graph.directed, vertices)
    _write(some, len(pieces), lambda number: to_main_memory(read(number)), path, parquet.note_of(some, path))


def _write(
    some: EdgeList, pieces: int, read: Callable[[int], Any], path: str | os.PathLike, note: dict[bytes, str]
) -> None:
    """Write a file for each piece. The folder appears only once it is complete."""
    folder, failed = check_new(path), Event()
    with beside(folder) as new:

        def write(number: int) -> Exception | None:
            """What went wrong is raised once no thread writes any more."""
            if failed.is_set():
                return None
            try:
                piece = replace(some, edges=read(number))
                on_failure = paths.explain_failure(path, "cannot be written", "check the free disk space", (OSError,))
                with on_failure, (new / f"part-{number:05}.parquet").open("xb") as stream:
                    parquet.write_stream(piece, stream, path, note)
            except Exception as error:
                failed.set()
                return error
            return None

        try:
            errors = threads.parallel_map(write, range(pieces))
        finally:
            failed.set()  # also if the user ends it
        for error in filter(None, errors):
            raise error
        with paths.explain_failure(str(path), "cannot be written", REMEDY):
            put(new, folder, replaces=False)  # this fails if somebody else has filled the folder meanwhile


def count(path: str | os.PathLike) -> int:
    """The number of edges in a folder."""
    folder = Path(paths.filesystem(paths.absolute_path(path))[1])
    return sum(pyarrow.parquet.read_metadata(file).num_rows for file in folder.glob("part-*.parquet"))
