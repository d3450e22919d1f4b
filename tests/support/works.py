"""Runs of every kind, each with an answer that does not depend on who computes it, or when."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import CancelledError

import dgraph as dg

ROUNDS = {"max_iter": 100, "tol": None}
MAIL_AS_EDGES = dg.Gas(optimizations=dg.Optimizations(direct_exchange=False))
EXACT = {"tol": 1e-11}  # distance from the fixed point, in whatever order changes came


def on(graph: dg.Graph, **options) -> dict:
    """Options that make sense on a cluster alone."""
    return options if graph.client is not None else {}


# name -> (graph, a folder for checkpoints) -> the result
WORKS: dict[str, Callable[[dg.Graph, str], dg.Result]] = {
    "gas": lambda graph, _: dg.pagerank(graph, engine="gas", **ROUNDS),
    "bsp": lambda graph, _: dg.pagerank(graph, engine="bsp", **ROUNDS),
    "mail as edges": lambda graph, _: dg.pagerank(
        graph, **{"engine": "gas", **on(graph, engine=MAIL_AS_EDGES)}, **ROUNDS
    ),
    "checkpoints": lambda graph, at: dg.pagerank(graph, engine="gas", **ROUNDS, **on(graph, checkpoint=at)),
    "checkpoints in memory": lambda graph, _: dg.pagerank(
        graph, engine="gas", **ROUNDS, checkpoint=dg.Checkpoint(every=10)
    ),
    "bulk_async, checkpoints": lambda graph, at: dg.wcc(
        graph, engine="bulk_async", checkpoint=dg.Checkpoint(at, every=1)
    ),
    "bulk_async, checkpoints in memory": lambda graph, _: dg.pagerank(
        graph, engine="bulk_async", **EXACT, checkpoint=dg.Checkpoint(every=3)
    ),
    "block_descent, checkpoints": lambda graph, at: dg.pagerank(
        graph, engine="block_descent", **EXACT, checkpoint=dg.Checkpoint(at, every=1)
    ),
    "block_descent, checkpoints in memory": lambda graph, _: dg.katz(
        graph, engine="block_descent", alpha=0.01, **EXACT, checkpoint=dg.Checkpoint(every=1)
    ),
    "daemons": lambda graph, _: dg.pagerank(graph, engine="gas", **ROUNDS, **on(graph, daemons="own process")),
    "bulk_async": lambda graph, _: dg.wcc(graph, engine="bulk_async"),
    "bulk_async, distances": lambda graph, _: dg.bfs(graph, 7, engine="bulk_async"),
    "rebalance": lambda graph, _: dg.pagerank(graph, engine=dg.Gas(rebalance=True), **ROUNDS),
    "deterministic": lambda graph, _: dg.hits(graph, max_iter=20, tol=None, engine=dg.Gas(deterministic=True)),
    "labels": lambda graph, _: dg.cdlp(graph, max_iter=5),
    "local": lambda graph, _: dg.wcc(graph, engine="local"),
    "block_descent, one partition": lambda graph, _: dg.sssp(graph, 7, engine="block_descent"),
    "block_descent, ranks": lambda graph, _: dg.pagerank(graph, engine="block_descent", **EXACT),
    "block_descent, distances": lambda graph, _: dg.sssp(graph, 7, engine="block_descent"),
    "block_descent, waiting": lambda graph, _: dg.pagerank(graph, engine=dg.BlockDescent(mode="barrier"), **EXACT),
    "triangles": lambda graph, _: dg.triangles(graph),
    "lcc": lambda graph, _: dg.lcc(graph),
    "degrees": lambda graph, _: dg.degrees(graph),
    "core_number": lambda graph, _: dg.core_number(graph),
    "cugraph": lambda graph, _: dg.wcc(graph, **on(graph, engine="cugraph")),  # its stand-in: see with_cugraph.py
    "a Dask frame": lambda graph, _: dg.wcc(graph),
    "files": lambda graph, _: dg.wcc(graph),
    "a saved graph": lambda graph, _: dg.bfs(graph, 7),
    "METIS": lambda graph, _: dg.wcc(graph),
    "a lazy result": lambda graph, _: dg.degrees(graph),
    "paths": lambda graph, _: dg.sssp(graph, 7),
    "ranks by residuals": lambda graph, _: dg.pagerank(graph, engine="bulk_async", **EXACT),
    "k_core": lambda graph, _: dg.k_core(graph, k=9),
    "closeness": lambda graph, _: dg.closeness(graph, sources=40),
    "betweenness": lambda graph, _: dg.betweenness(graph, sources=20),
    "eccentricity": lambda graph, _: dg.eccentricity(graph, components="largest"),
    "matching": lambda graph, _: _of(_two_sides(graph), dg.matching),
    "saving": lambda graph, at: _reopened(graph, at),
    "writing": lambda graph, at: _reread(graph, at),
}
OF_FRAMES = ("a lazy result", "matching", "writing")  # where Dask computes lazy frames
WRITERS = ("checkpoints", "bulk_async, checkpoints", "block_descent, checkpoints", "a saved graph", "saving", "writing")
IN_ONE_PLACE = ("local", "block_descent, one partition")


def _of(graph: dg.Graph, work: Callable[[dg.Graph], dg.Result]) -> dg.Result:
    """A result that keeps its graph, from which it is computed again if it is lost."""
    result = work(graph)
    result.graphs = [graph, *getattr(result, "graphs", ())]
    return result


def _two_sides(graph: dg.Graph) -> dg.Graph:
    """Every edge from a vertex of one side to one of the other."""
    edges = _computed(lambda: graph.edges, graph.client)
    sides = {"src": edges["src"].to_numpy(), "dst": edges["dst"].to_numpy() + 2000}
    return dg.Graph.from_edges(sides, parts=graph.num_parts, client=graph.client)


def _reopened(graph: dg.Graph, at: str) -> dg.Result:
    """Whoever writes is killed: the folder is whole."""
    graph.save(Path(at) / "again")
    return _of(dg.open_graph(Path(at) / "again"), dg.wcc)


def _reread(graph: dg.Graph, at: str) -> dg.Result:
    dg.write_edges(graph, Path(at) / "edges.parquet")
    assert [path.name for path in Path(at).iterdir()] == ["edges.parquet"], "a piece of a file is left"
    return _of(dg.read_edges(Path(at) / "edges.parquet"), dg.wcc)


def frame_of(seed: int) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).integers(0, 2000, (20_000, 2)), columns=["src", "dst"])


def found(name: str, frame: pd.DataFrame, client=None, parts: int = 2, room: str | Path | None = None) -> pd.DataFrame:
    """The graph is built, the operation run and its result fetched. Files are written into a folder of `room`."""
    with tempfile.TemporaryDirectory(dir=room) as folder:
        graph = _graph(name, frame, client, Path(folder), parts)
        result = _of(graph, lambda graph: WORKS[name](graph, folder))
        if name != "a lazy result":
            return result.compute()
        return _computed(lambda: result.frame, client).sort_values("vertex", ignore_index=True)


def _computed(lazy: Callable[[], dd.DataFrame], client) -> pd.DataFrame:
    """What it is made of may leave while Dask computes: then it is taken again, as losses.md says."""
    while True:
        try:
            return lazy().compute(scheduler=client or "threads")
        except CancelledError:
            continue


def _graph(name: str, frame: pd.DataFrame, client, folder: Path, parts: int) -> dg.Graph:
    where = {"client": client, "parts": 1 if client is None or name in IN_ONE_PLACE else parts}
    match name:
        case "a Dask frame":
            return dg.Graph.from_edges(dd.from_pandas(frame, npartitions=5), **where)
        case "files":
            frame.to_csv(folder / "edges.csv", index=False)
            return dg.read_edges(folder / "edges.csv", format=dg.Text(lazy=True, block_size=1 << 16), **where)
        case "a saved graph":
            dg.Graph.from_edges(frame, parts=2).save(folder / "graph")
            return dg.open_graph(folder / "graph", **where)
        case "METIS":
            return dg.Graph.from_edges(frame, policy="metis", **where)
    return dg.Graph.from_edges(frame, **where)


def check(table: pd.DataFrame, expected: pd.DataFrame) -> None:
    assert table.columns.tolist() == expected.columns.tolist() and len(table) == len(expected)
    for column in expected.columns:
        np.testing.assert_allclose(table[column].astype(float), expected[column].astype(float), rtol=1e-9, atol=1e-9)
