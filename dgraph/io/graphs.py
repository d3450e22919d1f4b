"""The public functions that read and write graphs: files of edges, and saved graphs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from dgraph.arguments import check_choice, check_flag, check_integer, known_options
from dgraph.building import whole_folder
from dgraph.building.saved_graph import SavedGraph, local_folder
from dgraph.cluster.shares import MOST_PARTS, check_capacities
from dgraph.cluster.workers import Workers
from dgraph.errors import OptionError, WeightError
from dgraph.frames.any_frame import LazyPieces
from dgraph.graph import Graph
from dgraph.io.edge_list import EdgeList, edge_list_of
from dgraph.io.format_options import Parquet, Text, options_of_formats
from dgraph.native.free_memory import explain_lack_of_memory, free_memory, refuse_beyond_memory, within

BLOCK_FORMATS = ("text", "parquet")  # formats that many workers can read at the same time
BLOCKS_EACH, SMALLEST_BLOCK = 4, 1 << 22  # blocks of text per thread of a cluster; the smallest block in bytes
# A thread may read a block of 1 / BLOCK_SHARE of its part of a worker's memory; reading needs 4 blocks.
BLOCK_SHARE = 32
# A file larger than this fraction of the free memory is read block by block; one of Parquet is compressed.
LISTED, NUMBER = 16, 8  # bytes of the ids of an edge in a frame, and of a number in another column
MEMORY_SHARES = {"text": 8, "parquet": 32}


@known_options(old=options_of_formats)
def read_edges(
    path: str | os.PathLike,
    *,
    format: str | Text | Parquet | None = None,
    source: str | int | None = None,
    destination: str | int | None = None,
    weight: str | int | bool | None = "auto",
    columns: Sequence[str | int] | str | None = None,
    directed: bool | None = None,
    vertices: Any = None,
    loops: str = "keep",
    repeats: str = "keep",
    symmetrize: bool = False,
    policy: Any = "auto",
    parts: int | None = None,
    capacities: Any = None,
    memory: int | str | None = None,
    client: Any = None,
    device: Literal["cpu", "cuda"] = "cpu",
    id_type: Literal["int64", "string"] | None = None,
) -> Graph:
    """Read a graph from a file, a folder, a glob or a URL.

    Parameters
    ----------
    path : str or path
        What to read. Files that end in .gz, .bz2, .xz or .zst are decompressed.
    format : str, Text or Parquet, optional
        The format or one of its suffixes, such as ``"text"``, ``"parquet"`` or ``"mtx"``; or a `Text` or `Parquet` with
        options, such as the delimiter or whether to read block by block. By default the suffix of the file decides, or
        else its content.
    source, destination : str or int, optional
        Columns of the ends of an edge, by name or position; by default the first two columns.
    weight : str, int or None, default "auto"
        Column of the weight, by name or position. ``"auto"`` uses the weight that the format defines, if any, or else a
        numeric column called ``weight``; a text file without a header then has no weight. None (or False) makes an
        unweighted graph; True requires a weight that the format defines.
    columns : list of str or int, or "all", optional
        Further edge columns to keep, by name or position.
    directed : bool, optional
        Whether edges are directed; by default as the file states, or else True.
    vertices : frame, int or range, optional
        Vertices, as in `Graph.from_edges`; by default those that the file lists or counts in its header.
    loops, repeats, symmetrize, policy, parts, capacities, memory, client
        As in `Graph.from_edges`.
    device : {"cpu", "cuda"}, default "cpu"
        ``"cuda"`` (experimental) reads Parquet and text with cuDF, block by block, on workers with cuDF and a GPU.
    id_type : {"int64", "string"}, optional
        Type of ids in text and Graphalytics. By default ids are integers if every one is, else strings.

    Returns
    -------
    Graph

    Raises
    ------
    FileError
        If a file is missing, corrupt or not in its format. The message names the file, and the line where possible.
    InputError
        If columns, ids, weights or options are invalid (`ColumnError`, `IdError`, `WeightError`, `OptionError`).
    RoomError
        If the contents of the file, or the sizes that it declares, need more memory than this process has, or if the
        workers cannot hold the edges.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/roads.csv"
    >>> pd.DataFrame({"from": ["a", "a", "b"], "to": ["b", "c", "c"], "km": [5, 9, 2]}).to_csv(path, index=False)
    >>> G = dg.read_edges(path, weight="km", directed=False)
    >>> G.num_vertices, G.num_edges, G.weight
    (3, 3, 'km')
    >>> dg.read_edges(path, format=dg.Text(header=True, lazy=True), weight=None).num_edges
    3
    """
    from dgraph.io.formats import format_of  # readers are loaded when a file is read

    workers = Workers.find(client, memory)
    name, lazy = format_of(path, format), getattr(format, "lazy", None)
    ends = {"source": source, "destination": destination}
    choice: dict[str, Any] = {**ends, "weight": weight, "columns": columns, "id_type": id_type}
    if check_choice("device", device, ("cpu", "cuda")) == "cuda":
        if name not in BLOCK_FORMATS or lazy is False:
            problem = f"device={device!r} is not available for {path} as {name}"
            raise OptionError(f'{problem}: it reads Parquet and text block by block; choose "cpu"')
        from dgraph.io.cudf_reader import CudfFrames

        lazy, choice["by"] = True, CudfFrames(workers)
    if name == "text" and workers.client is not None and device == "cpu":
        choice["block_size"] = _block_size(path, workers)
    rules: dict[str, Any] = {"loops": loops, "repeats": repeats, "symmetrize": symmetrize}
    where: dict[str, Any] = {"policy": policy, "parts": parts, "capacities": capacities, "memory": memory}
    with within(workers.limit):
        edge_list = _edge_list(path, name, format, lazy, workers, choice, own_vertices=vertices is None)
        try:
            with explain_lack_of_memory(path):
                return edge_list.graph(directed, vertices, **rules, **where, client=workers.client)
        except WeightError as error:
            raise WeightError(f"{path}: {error}") from error


def _edge_list(
    path: Any, name: str, format: Any, lazy: bool | None, workers: Workers, choice: dict[str, Any], own_vertices: bool
) -> EdgeList:
    """The edges of a file, which are read now, or block by block when they are needed."""
    from dgraph.io.declared_sizes import check_vertices
    from dgraph.io.formats import read_edge_list

    if lazy or (lazy is None and name in BLOCK_FORMATS and (workers.client is not None or _is_large(path, name))):
        from dgraph.io.lazy_edges import lazy_edge_list

        edge_list = lazy_edge_list(path, format=format or name, **choice)
    else:
        choice.pop("block_size", None)
        edge_list = read_edge_list(path, format=format or name, **choice)
    if own_vertices and isinstance(edge_list.vertices, range) and workers.client is None:
        check_vertices(path, edge_list.vertices)
    return edge_list


def _is_large(path: str | os.PathLike, name: str) -> bool:
    return _size(path) * MEMORY_SHARES[name] > free_memory()


def _block_size(path: str | os.PathLike, workers: Workers) -> int:
    """Bytes per block of text: a few blocks for each thread of the workers, so that all have work, and each small
    beside a worker's memory."""
    from dgraph.io.lazy_edges import BLOCK_SIZE

    threads = workers.threads * len(workers.addresses)
    most = BLOCK_SIZE if workers.memory is None else workers.memory // (BLOCK_SHARE * workers.threads)
    return max(SMALLEST_BLOCK, min(BLOCK_SIZE, most, _size(path) // (BLOCKS_EACH * threads)))


def _size(path: str | os.PathLike) -> int:
    from dgraph.io import paths

    try:
        return sum(fs.size(inner) or 0 for fs, inner in map(paths.filesystem, paths.expand(path)))
    except OSError:  # opening the file raises the error
        return 0


@known_options()
def write_edges(
    graph: Graph,
    path: str | os.PathLike,
    *,
    format: str | None = None,
    isolated: str = "refuse",
    renumber: bool = False,
) -> None:
    """Write the edges of a graph to a file, and its vertices if the format lists vertices.

    The file is replaced only when it is complete. Column names and UUIDs are written as text.

    Parameters
    ----------
    graph : Graph
        The graph to write.
    path : str or path
        The file to write; its suffix decides the format and the compression. A path that ends with a slash is a folder,
        which gets a Parquet file for each piece of the edges, and must be new or empty. In this process, edges that
        are read block by block are then never all in memory, unless the graph merges, adds or drops some.
    format : str, optional
        The format, if the suffix does not determine it.
    isolated : {"refuse", "drop"}, default "refuse"
        What to do with vertices without edges if the format cannot hold them: raise an error, or leave them out.
    renumber : bool, default False
        For formats that number vertices from 1: write the position of a vertex in the order of results, from 1, instead
        of its id.

    Raises
    ------
    InputError
        If the format is not known, or cannot hold the graph: its ids, columns, directions, or isolated vertices.
    FileError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/edges.csv"
    >>> G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
    >>> dg.write_edges(G, path)
    >>> dg.read_edges(path).num_edges
    2
    """
    from dgraph.io.formats import counts_from_one, format_to_write, parquet_folder, write_edge_list

    check_choice("isolated", isolated, ("refuse", "drop"))
    renumbers = check_flag("renumber", renumber) and counts_from_one(path, format)
    format_to_write(path, format)
    if parquet_folder.is_folder(path):
        if parquet_folder.can_stream(graph):
            parquet_folder.write_pieces(graph, path)
            return
        parquet_folder.check_new(path)
    elif isinstance(graph.input_edges.edges.frame, LazyPieces) and graph.client is None:
        listed = LISTED + NUMBER * len(graph.edge_columns)
        remedy = "write a folder, whose path ends with a slash: its edges need not all be in memory"
        refuse_beyond_memory("all edges at once", graph.input_edges.num_input_edges * listed, remedy=remedy)
    given = edge_list_of(graph)
    start, end = str(given.source), str(given.destination)
    weight = None if given.weight is None else str(given.weight)
    edges, vertices = given.edges.rename(columns=str), given.vertices.rename(columns=str)
    if renumbers:
        ids = pd.Index(graph.numbering.ids())
        edges = edges.assign(**{name: ids.get_indexer(edges[name]) + 1 for name in (start, end)})
        vertices = vertices.assign(**{vertices.columns[0]: ids.get_indexer(vertices.iloc[:, 0]) + 1})
    elif graph.numbering.id_type.kind == "uuid":
        edges, vertices = edges.astype({start: str, end: str}), vertices.astype({vertices.columns[0]: str})
    edge_list = EdgeList(edges, start, end, weight, graph.directed, _as_range(vertices))
    write_edge_list(edge_list, path, format=format, drop_isolated=isolated == "drop")


def _as_range(vertices: pd.DataFrame) -> Any:
    """Consecutive integers without attributes as a range, which even formats without a list of vertices can hold."""
    ids = vertices.iloc[:, 0]
    if len(vertices.columns) > 1 or ids.dtype.kind not in "iu" or ids.empty or ids.max() >= 2**63:
        return vertices
    first, last = int(ids.min()), int(ids.max())
    return range(first, last + 1) if last - first + 1 == len(ids) else vertices


@known_options()
def open_graph(
    path: Any,
    *,
    version: int | None = None,
    weight: str | None = "auto",
    policy: Any = None,
    parts: int | None = None,
    capacities: Any = None,
    memory: int | str | None = None,
    client: Any = None,
) -> Graph:
    """Open a graph that `Graph.save` wrote.

    This reads only the manifest; blocks are memory-mapped and verified on first use. The saved partitions are reused if
    there are `parts` of them and no other policy is given; otherwise the graph is partitioned again. Results that were
    saved with the graph are in its attribute `results`. In a version that consists of changes, these are merged into
    the partitions when an operation needs them.

    Parameters
    ----------
    path : str or path
        The folder.
    version : int, optional
        The version to open; by default the newest. The first one is 0, and each `Graph.save` of a changed graph adds
        one.
    weight : str or None, default "auto"
        Edge column with the weights. ``"auto"`` uses the weight column that the graph was saved with, if any; None
        opens an unweighted graph.
    policy : str or function, optional
        Partitioning policy, as in `Graph.from_edges`; by default the saved one.
    parts : int, optional
        Number of partitions; defaults to one per worker, or to the saved number if the graph is opened in this process.
    capacities : mapping or "measure", optional
        Speeds of the workers, as in `Graph.from_edges`.
    memory : int or str, optional
        Bytes of memory that each process may use, as in `Graph.from_edges`.
    client : distributed.Client, optional
        The cluster to use; by default that of the current client, or this process if there is none.

    Returns
    -------
    Graph

    Raises
    ------
    StorageError
        If the folder is not a saved graph, is damaged, or was saved in a version that cannot be read.
    OptionError
        If an option has a value that is not allowed, or there is no such version.
    ColumnError
        If the edges have no column `weight`.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp() + "/saved"
    >>> dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}).save(folder)
    >>> dg.open_graph(folder).num_edges
    2
    """
    version = check_integer("version", version, 0, or_none=True)
    workers, saved = Workers.find(client, memory), SavedGraph.find(local_folder(path), version)
    parts = check_integer("parts", parts, 1, MOST_PARTS, or_none=True) or len(workers.addresses) or saved.parts
    check_capacities(workers, capacities, parts)
    how = workers, weight, policy, parts, capacities
    if saved.changes:
        from dgraph.changes.versions import opened  # kernels that other graphs do not need

        input_edges, partitioning, as_saved = opened(saved, *how)
    else:
        input_edges, partitioning, as_saved = saved.opened(*how)
    return Graph.of(input_edges, partitioning, as_saved=as_saved)


@known_options()
def compact(path: Any) -> None:
    """Merge all versions of a saved graph into one, which is opened without changes to merge.

    The newest version stays, with its number and its results; earlier ones are removed. It is replaced in one step, so
    `open_graph` finds either all versions or the merged one. A graph that somebody has open keeps the blocks that it
    has mapped; if it needs any other block, a StorageError says to open it again. Changes that other processes save in
    the meantime wait, and then follow the merged version.

    Parameters
    ----------
    path : str or path
        The folder.

    Raises
    ------
    StorageError
        If the folder is not a saved graph, is damaged, or cannot be written. Its contents are kept.
    OptionError
        If the folder holds other files.
    RoomError
        If there is not enough memory in this process to merge the changes.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp() + "/saved"
    >>> G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
    >>> G.save(folder)
    >>> G.updated(added={"src": [2], "dst": [0]}).save(folder)
    >>> dg.compact(folder)
    >>> dg.open_graph(folder).version
    1
    """
    from dgraph.building.graph_writer import free_folder, not_written, write_whole
    from dgraph.changes.versions import opened
    from dgraph.runs.saved_results import to_save

    folder = local_folder(path).resolve()
    SavedGraph.find(folder)
    try:
        with whole_folder.alone(folder):
            saved = SavedGraph.find(folder)
            if not saved.changes:
                return

            def put(beside: Path) -> None:
                free_folder(folder, overwrite=True, how="compact()")
                whole_folder.put(beside, folder, replaces=True)

            edges, asked, _ = opened(saved, Workers(), "auto", None, saved.parts, None)
            graph = Graph.of(edges, asked)
            write_whole(graph, folder, put, results=to_save(graph, graph.results), origin=saved.version)
    except OSError as cause:
        raise not_written(folder, cause) from cause
