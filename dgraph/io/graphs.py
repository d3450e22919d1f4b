"""Graphs from files and other libraries, and back: what users call."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dgraph.building.graph_frames import compute_frames
from dgraph.cluster.workers import Workers
from dgraph.errors import InputError, OptionError, WeightError
from dgraph.graph import Graph
from dgraph.io.edge_list import EdgeList
from dgraph.io.libraries import igraph, networkx, scipy_sparse
from dgraph.options import check_choice, check_flag, known_options

BY_BLOCKS = ("text", "parquet")  # formats that many workers can read at once
BLOCKS_EACH, SMALLEST_BLOCK = 4, 1 << 22  # for each thread of a cluster, of text; bytes
MEMORY_SHARE = 8  # a file larger than this fraction of the free memory is read block by block


def read_edges(
    path: str | os.PathLike,
    *,
    format: str | None = None,
    source: str | int | None = None,
    destination: str | int | None = None,
    weight: str | int | bool | None = None,
    columns: Sequence[str | int] | str | None = None,
    directed: bool | None = None,
    vertices: Any = None,
    loops: str = "keep",
    repeats: str = "keep",
    symmetrize: bool = False,
    policy: Any = "auto",
    parts: int | None = None,
    capacities: Any = None,
    client: Any = None,
    lazy: bool | None = None,
    device: str = "cpu",
    **options: Any,
) -> Graph:
    """A graph from a file, a folder, a glob or a URL; the suffix (or `format=`) tells the format, and the compression.

    source, destination, weight: columns by name or position; by default the first two, and the weight of formats that
                have one.
    columns:    further edge columns to keep: names, positions or "all".
    directed:   by default what the file says of itself, else True.
    vertices:   by default what the file lists or its header counts.
    lazy:       whether the workers read Parquet and text block by block; by default on a cluster, and in this process
                for files that are large beside the free memory.
    device:     "cuda" has Parquet and text read by cuDF, block by block, on the workers that have it and a GPU.
    The rest is as in `Graph.from_edges`; further options are those of the format (delimiter, header, id_type).
    """
    from dgraph.io.formats import format_of, read_edge_list  # readers are loaded when a file is read

    workers = Workers.find(client)
    name = format_of(path, format)
    choice: dict[str, Any] = {
        "format": name,
        "source": source,
        "destination": destination,
        "weight": weight,
        "columns": columns,
    }
    if check_choice("device", device, ("cpu", "cuda")) == "cuda":
        if name not in BY_BLOCKS or lazy is False:
            remedy = '"cuda" reads Parquet and text block by block; choose "cpu"'
            raise OptionError(f"device={device!r} cannot be had for {path} as {name}: {remedy}")
        from dgraph.io.cudf_reader import GpuBlocks

        lazy, options["by"] = True, GpuBlocks(workers)
    if lazy is not None:
        check_flag("lazy", lazy)
    else:
        lazy = name in BY_BLOCKS and (workers.client is not None or _is_large(path))
    if lazy:
        from dgraph.io.lazy_edges import lazy_edge_list

        if name == "text" and workers.client is not None and device == "cpu":
            options.setdefault("block_size", _block_size(path, workers))
        found = lazy_edge_list(path, **choice, **options)
    else:
        found = read_edge_list(path, **choice, **options)
    rules = {"loops": loops, "repeats": repeats, "symmetrize": symmetrize}
    where = {"policy": policy, "parts": parts, "capacities": capacities, "client": workers.client}
    try:
        return _graph(found, directed, vertices, **rules, **where)
    except WeightError as error:
        raise WeightError(f"{path}: {error}") from error


def _is_large(path: str | os.PathLike) -> bool:
    return _size(path) * MEMORY_SHARE > os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _block_size(path: str | os.PathLike, workers: Workers) -> int:
    """Bytes of text that are read at once: a few blocks for each thread of the workers, so that all have work."""
    from dgraph.io.lazy_edges import BLOCK_SIZE

    threads = workers.threads * len(workers.addresses)
    return max(SMALLEST_BLOCK, min(BLOCK_SIZE, _size(path) // (BLOCKS_EACH * threads)))


def _size(path: str | os.PathLike) -> int:
    from dgraph.io import paths

    try:
        return sum(fs.size(inner) or 0 for fs, inner in map(paths.filesystem, paths.expand(path)))
    except OSError:  # whoever opens it says what is wrong
        return 0


def _graph(found: EdgeList, directed: bool | None, vertices: Any, **options: Any) -> Graph:
    if directed is None:
        directed = found.directed is not False
    return Graph.from_edges(
        found.edges,
        source=found.source,
        destination=found.destination,
        weight=found.weight,
        directed=directed,
        vertices=found.vertices if vertices is None else vertices,
        **options,
    )


@known_options()
def write_edges(
    graph: Graph,
    path: str | os.PathLike,
    *,
    format: str | None = None,
    isolated: str = "refuse",
    renumber: bool = False,
) -> None:
    """Write a graph's edges, and its vertices where the format lists them; the file appears whole or not at all.
    Names of columns and UUIDs become text.

    isolated: vertices without edges, where the format has no place for them: "refuse" to write, or "drop" them.
    renumber: where the format counts vertices from 1, write in place of an id its place in the order of `r.compute()`,
              from 1.
    """
    from dgraph.io.formats import counts_from_one, write_edge_list

    check_choice("isolated", isolated, ("refuse", "drop"))
    start, end = map(str, _ends(graph).values())
    weight = None if graph.weight is None else str(graph.weight)
    edges, vertices = (frame.rename(columns=str) for frame in compute_frames(graph))
    if check_flag("renumber", renumber) and counts_from_one(path, format):
        ids = pd.Index(graph.numbering.ids())
        edges = edges.assign(**{name: ids.get_indexer(edges[name]) + 1 for name in (start, end)})
        vertices = vertices.assign(**{vertices.columns[0]: ids.get_indexer(vertices.iloc[:, 0]) + 1})
    elif graph.numbering.id_type.kind == "uuid":
        edges, vertices = _in_text(edges, (start, end)), _in_text(vertices, vertices.columns[:1])
    listed = EdgeList(edges, start, end, weight, graph.directed, _as_range(vertices))
    write_edge_list(listed, path, format=format, drop_isolated=isolated == "drop")


def _in_text(frame: pd.DataFrame, ids: Iterable[str]) -> pd.DataFrame:
    return frame.assign(**{name: frame[name].astype(str) for name in ids})


def _as_range(vertices: pd.DataFrame) -> Any:
    """Consecutive whole numbers without attributes are a range, which also formats without a list can note."""
    ids = vertices.iloc[:, 0]
    if len(vertices.columns) > 1 or ids.dtype.kind not in "iu" or ids.empty or ids.max() >= 2**63:
        return vertices
    first, last = int(ids.min()), int(ids.max())
    return range(first, last + 1) if last - first + 1 == len(ids) else vertices


# -- other libraries ---------------------------------------------------------------------------------------------------


def from_networkx(graph: Any, *, weight: str | None = "weight", **options: Any) -> Graph:
    """A graph from NetworkX, with its attributes; the edge attribute `weight`, if there is one, is the weight. Options
    are those of `Graph.from_edges`."""
    _expect(graph, "is_multigraph", "graph of NetworkX")
    return _graph(networkx.from_networkx(graph, weight), None, None, **options)


def from_igraph(graph: Any, *, weight: str | None = "weight", name: str | None = "name", **options: Any) -> Graph:
    """A graph from igraph, with its attributes; the vertex attribute `name`, if there is one, is the id, and the edge
    attribute `weight` the weight. Options are those of `Graph.from_edges`."""
    _expect(graph, "es", "graph of igraph")
    return _graph(igraph.from_igraph(graph, weight, name), None, None, **options)


def from_scipy(matrix: Any, *, directed: bool = True, **options: Any) -> Graph:
    """A graph from a sparse adjacency matrix (or a NumPy array): an edge from i to j, with its value as weight, for
    every stored entry. Options are those of `Graph.from_edges`."""
    _expect(matrix, "tocoo" if not isinstance(matrix, np.ndarray) else "shape", "matrix of SciPy or NumPy")
    return _graph(scipy_sparse.from_scipy(matrix, directed=directed), None, None, **options)


@known_options()
def to_networkx(graph: Graph, *, multigraph: bool | None = None) -> Any:
    """A NetworkX graph with all ids, columns and attributes; a multigraph if edges repeat, or as asked."""
    return networkx.to_networkx(*compute_frames(graph), **_ends(graph), directed=graph.directed, multigraph=multigraph)


@known_options()
def to_igraph(graph: Graph) -> Any:
    """An igraph graph with all columns and attributes; ids are in the vertex attribute `name`."""
    return igraph.to_igraph(*compute_frames(graph), **_ends(graph), directed=graph.directed)


@known_options()
def to_scipy(graph: Graph) -> tuple[Any, np.ndarray]:
    """The adjacency matrix in compressed rows, and the id of each row; repeated edges add up."""
    return scipy_sparse.to_scipy(*compute_frames(graph), **_ends(graph), weight=graph.weight, directed=graph.directed)


def _expect(given: Any, attribute: str, what: str) -> None:
    if not hasattr(given, attribute):
        raise InputError(f"{type(given).__name__} is no {what}; edges in a frame are for Graph.from_edges")


def _ends(graph: Graph) -> dict[str, str]:
    return {"source": graph.listed.edges.source, "destination": graph.listed.edges.destination}
