"""The ways into dgraph: frames, files, other libraries and saved graphs. Most files are written by hand or by other
libraries, so that readers are not tried on what our writers make of a graph."""

from __future__ import annotations

import gzip
import importlib.util
from collections.abc import Callable
from pathlib import Path

import dask.dataframe as dd
import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
from multigraphs import Multigraph
from scipy.sparse import coo_array

import dgraph as dg

Door = Callable[..., dg.Graph]


def frame(graph: Multigraph) -> pd.DataFrame:
    kind = "int64" if not graph.ids or isinstance(graph.ids[0], int) else "str"
    source, destination = ([graph.ids[edge[end]] for edge in graph.listed] for end in (0, 1))
    columns = {"src": pd.Series(source, dtype=kind), "dst": pd.Series(destination, dtype=kind)}
    if graph.weighted:
        columns["weight"] = pd.Series(
            [w for _, _, w in graph.listed], dtype="int64" if graph.kind == "whole" else float
        )
    return pd.DataFrame(columns)


def isolated(graph: Multigraph) -> dict:
    """The vertices, if edges do not name them all."""
    if len({end for u, v, _ in graph.listed for end in (u, v)}) == graph.n:
        return {}
    return {"vertices": pd.DataFrame({"id": pd.Series(graph.ids, dtype=frame(graph)["src"].dtype)})}


def _frames(made: Callable[[pd.DataFrame], object]) -> Door:
    def through(graph: Multigraph, folder: Path, **how) -> dg.Graph:
        how |= {"directed": graph.directed, **isolated(graph), **dict(graph.rules)}
        return dg.Graph.from_edges(made(frame(graph)), **how)

    return through


def _polars(table: pd.DataFrame):
    import polars

    return polars.from_pandas(table)


def _file(name: str, write: Callable[[Multigraph, Path], object], **always) -> Door:
    """A file that says nothing of directions and isolated vertices."""

    def through(graph: Multigraph, folder: Path, **how) -> dg.Graph:
        write(graph, folder / name)
        how |= {"directed": graph.directed, **isolated(graph), **dict(graph.rules)}
        return dg.read_edges(folder / name, **always, **how)

    return through


def _format(name: str, write: Callable[[Multigraph, Path], object]) -> Door:
    """A file that says all that there is to say."""

    def through(graph: Multigraph, folder: Path, **how) -> dg.Graph:
        write(graph, folder / name)
        return dg.read_edges(folder / name, **how)

    return through


def _lines(path: Path, lines) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _row(graph: Multigraph, edge: tuple, *first: str) -> str:
    u, v, w = edge
    return " ".join([*first, str(graph.ids[u]), str(graph.ids[v]), *([str(w)] if graph.weighted else [])])


def _gzipped(graph: Multigraph, path: Path) -> None:
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        frame(graph).to_csv(file, index=False, sep="\t")


def _matrix_market(graph: Multigraph, path: Path) -> None:
    kind = "real" if graph.weighted else "pattern"
    edges = graph.edges if graph.directed else [(max(u, v), min(u, v), w) for u, v, w in graph.edges]
    head = f"%%MatrixMarket matrix coordinate {kind} {'general' if graph.directed else 'symmetric'}"
    _lines(path, [head, f"{graph.n} {graph.n} {len(edges)}", *(_row(graph, edge) for edge in edges)])


def _metis(graph: Multigraph, path: Path) -> None:
    near: list[list[str]] = [[] for _ in range(graph.n)]
    for u, v, w in graph.arcs(graph.weighted):
        near[u] += [str(v + 1), str(w)] if graph.weighted else [str(v + 1)]
    head = f"{graph.n} {len(graph.edges)}{' 1' if graph.weighted else ''}"
    _lines(path, [head, *(" ".join(one) for one in near)])


def _dimacs(graph: Multigraph, path: Path) -> None:
    _lines(path, [f"p sp {graph.n} {len(graph.edges)}", *(_row(graph, edge, "a") for edge in graph.edges)])


def _konect(graph: Multigraph, path: Path) -> None:
    head = f"% {'asym' if graph.directed else 'sym'} {'weighted' if graph.weighted else 'unweighted'}"
    _lines(path, [head, f"% {len(graph.edges)} {graph.n} {graph.n}", *(_row(graph, edge) for edge in graph.edges)])


def _graphalytics(graph: Multigraph, path: Path) -> None:
    _lines(path.with_suffix(".v"), graph.ids)
    _lines(path.with_suffix(".e"), (_row(graph, edge) for edge in graph.edges))
    lines = [f"graph.g.directed = {str(graph.directed).lower()}"]
    lines += ["graph.g.edge-properties.names = weight", "graph.g.edge-properties.types = real"] * graph.weighted
    _lines(path, lines)


def _networkx(graph: Multigraph, folder: Path, **how) -> dg.Graph:
    made = nx.MultiDiGraph() if graph.directed else nx.MultiGraph()
    made.add_nodes_from(graph.ids)
    for u, v, w in graph.edges:
        made.add_edge(graph.ids[u], graph.ids[v], **({"weight": w} if graph.weighted else {}))
    return dg.from_networkx(made, **how)


def _igraph(graph: Multigraph, folder: Path, **how) -> dg.Graph:
    import igraph

    made = igraph.Graph(n=graph.n, edges=[edge[:2] for edge in graph.edges], directed=graph.directed)
    made.vs["name"] = graph.ids
    if graph.weighted:
        made.es["weight"] = [w for _, _, w in graph.edges]
    return dg.from_igraph(made, **how)


def _scipy(graph: Multigraph, folder: Path, **how) -> dg.Graph:
    arcs = graph.arcs(graph.weighted)
    source, destination, weights = (np.array([arc[k] for arc in arcs]) for k in range(3))
    matrix = coo_array((weights.astype(float), (source.astype(int), destination.astype(int))), (graph.n, graph.n))
    how |= {} if graph.weighted else {"weight": None}
    return dg.from_scipy(matrix, directed=graph.directed, **how)


def _saved(graph: Multigraph, folder: Path, **how) -> dg.Graph:
    made = DOORS["pandas"](graph, folder, **{**how, "client": None})
    made.save(folder / "saved")
    return dg.open_graph(folder / "saved", client=how["client"])


def _rewritten(name: str) -> Door:
    """Our writers and readers, one after the other."""

    def through(graph: Multigraph, folder: Path, **how) -> dg.Graph:
        made = DOORS["pandas"](graph, folder, parts=1, client=None)
        dg.write_edges(made, folder / name)
        return dg.read_edges(folder / name, **how)

    return through


DOORS: dict[str, Door] = {
    "dict": _frames(lambda table: {name: column.to_numpy() for name, column in table.items()}),
    "pandas": _frames(lambda table: table),
    "arrow": _frames(lambda table: pa.Table.from_pandas(table, preserve_index=False)),
    "dask": _frames(lambda table: dd.from_pandas(table, npartitions=2)),
    "csv": _file("g.csv", lambda graph, path: frame(graph).to_csv(path, index=False)),
    "tsv.gz": _file("g.tsv.gz", _gzipped),
    "parquet": _file("g.parquet", lambda graph, path: frame(graph).to_parquet(path, index=False)),
    "lazy parquet": _file(
        "g.parquet", lambda graph, path: frame(graph).to_parquet(path, index=False), format=dg.Parquet(lazy=True)
    ),
    "matrix market": _format("g.mtx", _matrix_market),
    "metis": _format("g.graph", _metis),
    "dimacs": _format("g.gr", _dimacs),
    "konect": _format("g.konect", _konect),
    "graphalytics": _format("g.properties", _graphalytics),
    "networkx": _networkx,
    "scipy": _scipy,
    "saved": _saved,
    "npz": _rewritten("g.npz"),
    "written parquet": _rewritten("h.parquet"),
}
if importlib.util.find_spec("polars"):
    DOORS["polars"] = _frames(_polars)
if importlib.util.find_spec("igraph"):
    DOORS["igraph"] = _igraph
FRAMES = ("dict", "pandas", "arrow", "dask", "polars")
KEEP_ORDER = (*FRAMES, "csv", "tsv.gz", "parquet", "lazy parquet")  # also the order of the ends of an undirected edge
NARROW = ("matrix market", "metis", "dimacs", "konect", "scipy")  # few graphs fit through these
COUNTED = ("matrix market", "metis", "dimacs", "konect")  # which number vertices from 1


def suits(door: str, graph: Multigraph) -> bool:
    """Whether a graph fits through a door."""
    pairs = [(u, v) if graph.directed else (min(u, v), max(u, v)) for u, v, _ in graph.edges]
    repeats, loops = len(set(pairs)) < len(pairs), any(u == v for u, v in pairs)
    if graph.rules:
        return door in KEEP_ORDER
    if door in COUNTED and (graph.ids != tuple(range(1, graph.n + 1)) or not graph.n):
        return False
    match door:
        case "csv" | "tsv.gz":  # without rows, ids might be of any kind
            return bool(graph.listed)
        case "matrix market":
            return not repeats
        case "metis":
            return not (graph.directed or repeats or loops) and graph.kind in ("none", "whole")
        case "dimacs":
            return graph.directed and graph.kind == "whole"
        case "konect":
            return bool(graph.edges)
        case "graphalytics":
            return bool(graph.edges) and (isinstance(graph.ids[0], int))
        case "scipy":
            return graph.ids == tuple(range(graph.n)) and not repeats
        case "written parquet":
            return not isolated(graph)
        case "networkx" | "igraph":
            return graph.n > 0 and (not graph.weighted or bool(graph.edges))
    return True
