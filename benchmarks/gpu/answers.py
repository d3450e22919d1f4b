"""Checks that a GPU's answers equal the CPU's, for operations, engines, daemons, mixed clusters and RAPIDS packages."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dgraph as dg
from dgraph.devices import probe
from dgraph.testing import mixed_cluster
from dgraph.testing.verify import verify

OPERATIONS: dict[str, Callable[..., Any]] = {
    "pagerank": lambda graph, **options: dg.pagerank(graph, max_iter=20, tol=0, **options),
    "bfs": lambda graph, **options: dg.bfs(graph, source_of(graph), **options),
    "sssp": lambda graph, **options: dg.sssp(graph, source_of(graph), predecessors=False, **options),
    "wcc": dg.wcc,
    "scc": dg.scc,
    "cdlp": lambda graph, **options: dg.cdlp(graph, max_iter=5, **options),
    "core_number": dg.core_number,
    "degrees": dg.degrees,
    "hits": lambda graph, **options: dg.hits(graph, max_iter=20, tol=0, **options),
    "k_core": lambda graph, **options: dg.k_core(graph, k=3, **options),
    "katz": lambda graph, **options: dg.katz(graph, alpha=1e-4, max_iter=20, tol=0, **options),
    "label_propagation": lambda graph, **options: dg.label_propagation(graph, max_iter=5, **options),
    "matching": lambda graph, **options: dg.matching(two_sides(graph), **options),
}
BY_TOLERANCE = {  # operations that cuGraph ends by tolerance, rather than after a number of rounds
    "hits": lambda graph, **options: dg.hits(graph, max_iter=200, tol=1e-12, **options),
    "katz": lambda graph, **options: dg.katz(graph, alpha=1e-4, tol=1e-12, **options),
}
VERIFIED = {"pagerank": {"rounds": 20}, "wcc": {}}
ENGINES = "bsp", "bulk_async", "block_descent"  # in addition to the default; the last shares blocks with the CPU

_sources: dict[int, int] = {}


def source_of(graph: dg.Graph) -> int:
    """A vertex from which many others can be reached: the one with the most out-edges."""
    if id(graph) not in _sources:
        degrees = dg.degrees(graph, device="cpu").compute()
        _sources[id(graph)] = int(degrees["vertex"][degrees["out_degree"].to_numpy().argmax()])
    return _sources[id(graph)]


def two_sides(graph: dg.Graph) -> dg.Graph:
    """A bipartite copy of the graph, in which every edge leads from one side to the other."""
    sources, destinations = (graph.edges.compute()[end].to_numpy() for end in graph.edges.columns[:2])
    return dg.Graph.from_edges({"src": sources, "dst": destinations + graph.num_vertices})


def same(there: pd.DataFrame, here: pd.DataFrame, rtol: float = 1e-8) -> None:
    for column in there.columns:
        if there[column].dtype.kind == "f":
            np.testing.assert_allclose(there[column], here[column], rtol=rtol, atol=1e-15, err_msg=column)
        else:
            assert there[column].equals(here[column]), f"column {column} differs"


def of_operation(name: str, graph: dg.Graph) -> str:
    """Check the answer of an operation with the verifier, and against the CPU's."""
    on_gpu = OPERATIONS[name](graph, device="cuda")
    if name in VERIFIED:
        verify(name, graph, on_gpu, **VERIFIED[name])
    same(on_gpu.compute(), OPERATIONS[name](graph, device="cpu", engine="gas").compute())
    return f"{len(on_gpu.compute()):,} vertices, {on_gpu.rounds} rounds"


def of_factors(update: str, scale: int) -> str:
    """Check the errors of factors that the GPU and the CPU have updated together."""
    graph = dg.ratings(users=3 << scale, items=1 << scale, ratings=100 << scale, seed=2)
    found, expected = (dg.factorize(graph, update=update, epochs=5, device=one) for one in ("cuda", "cpu"))
    columns = ["rmse", "held_out"]
    same(found.report[columns], expected.report[columns], rtol=0.005)
    share = found.report["edges cuda"].sum() / found.report[["edges cuda", "edges in process"]].sum().sum()
    assert share > 0 or probe.simulated(), "the GPU has taken nothing"
    return f"{graph.num_edges:,} ratings, {share:.0%} of the updates by the GPU"


def of_engine(engine: str, graph: dg.Graph) -> str:
    """Check components exactly, and ranks up to a tolerance, because engines reach them in different ways."""
    found = dg.wcc(graph, engine=engine, device="cuda")
    same(found.compute(), dg.wcc(graph, device="cpu").compute())
    ranks = dg.pagerank(graph, engine=engine, tol=1e-10, device="cuda").compute()["pagerank"]
    expected = dg.pagerank(graph, tol=1e-10, device="cpu").compute()["pagerank"]
    np.testing.assert_allclose(ranks, expected, rtol=1e-5)
    return f"{graph.num_parts} partitions"


def of_daemon(kind: str, graph: dg.Graph) -> str:
    """Check a GPU that takes blocks from a CPU worker."""
    found = dg.pagerank(graph, max_iter=5, tol=0, daemons=kind)
    same(found.compute(), dg.pagerank(graph, max_iter=5, tol=0, device="cpu").compute())
    return f"{found.report['blocks'].sum():,.0f} blocks on {' and '.join(found.report['device'].unique())}"


def of_mixed_cluster(scale: int) -> str:
    """Check a scheduler with a worker of each kind."""
    with mixed_cluster(threads=4) as client:
        return _of_cluster(client, scale, {"cpu", "cuda"})


def of_dask_cuda(scale: int) -> str:
    """Check one worker per GPU, as dask-cuda starts them."""
    from dask_cuda import LocalCUDACluster
    from distributed import Client

    with LocalCUDACluster() as cluster, Client(cluster, set_as_default=False) as client:
        return _of_cluster(client, scale, {"cuda"})


def of_direct_mail(scale: int) -> str:
    """Check that messages between two partitions on one GPU stay on the GPU."""
    graph = dg.rmat(scale=scale, seed=2, parts=2)
    for name in "pagerank", "sssp", "wcc":
        found = OPERATIONS[name](graph, device="cuda")
        same(found.compute(), OPERATIONS[name](graph, device="cpu").compute())
    return _direct(dg.pagerank(graph, max_iter=10, tol=0, device="cuda"))


def of_ucxx(scale: int) -> str:
    """Compare two workers, with one or two GPUs, over UCXX and over TCP."""
    told = []
    for protocol in "ucxx", "tcp":
        with mixed_cluster(cpu=0, gpu=2, threads=4, protocol=protocol) as client:
            graph = dg.rmat(scale=scale, seed=2, client=client)
            for _ in range(2):  # the first run compiles and transfers edges
                found = dg.pagerank(graph, max_iter=10, tol=0, device="cuda")
            same(found.compute(), dg.pagerank(graph, max_iter=10, tol=0, device="cpu").compute())
            told.append(f"{protocol}: {_direct(found) if protocol == 'ucxx' else _seconds(found)}")
    return "; ".join(told)


def _direct(result: Any) -> str:
    direct, all_bytes = (result.report[name].sum() for name in ("direct", "bytes"))
    assert direct > all_bytes / 2, f"{direct:,} of {all_bytes:,} bytes went from GPU to GPU"
    return f"{direct:,} of {all_bytes:,} bytes from GPU to GPU, {_seconds(result)}"


def _seconds(result: Any) -> str:
    report = result.report
    return f"{1e3 * (report['busy'] + report['idle']).groupby(report['partition']).sum().max():.1f} ms"


def _of_cluster(client: Any, scale: int, kinds: set[str]) -> str:
    graph = dg.rmat(scale=scale, seed=2, client=client)
    found = dg.pagerank(graph, max_iter=10, tol=0)
    assert set(found.report["device"]) == kinds, f"it ran on {set(found.report['device'])}"
    same(found.compute(), dg.pagerank(graph, max_iter=10, tol=0, device="cpu").compute())
    return f"edges {graph.partitions.report.frame['edges'].tolist()} on {' and '.join(sorted(kinds))}"


def of_cudf(graph: dg.Graph) -> str:
    """Check Parquet and CSV read by cuDF, and a result as a cuDF frame."""
    edges, expected = graph.edges.compute(), dg.wcc(graph, device="cpu").compute()
    with tempfile.TemporaryDirectory() as folder:
        for suffix, write in (("parquet", edges.to_parquet), ("csv", edges.to_csv)):
            path = Path(folder) / f"edges.{suffix}"
            write(path, index=False)
            found = dg.wcc(dg.read_edges(path, device="cuda", vertices=range(graph.num_vertices)))
            there = found.frame.compute()
            assert type(there).__module__.startswith("cudf"), type(there)
            same(there.to_pandas().sort_values("vertex", ignore_index=True), expected)
    return f"{len(edges):,} edges from Parquet and CSV"


def of_cugraph(name: str, graph: dg.Graph) -> str:
    """Compare cuGraph's answer to an operation with our own."""
    run = BY_TOLERANCE.get(name) or OPERATIONS.get(name) or getattr(dg, name)
    found, ours = run(graph, engine="cugraph"), run(graph, device="cpu")
    same(found.compute(), ours.compute(), 1e-5 if name in BY_TOLERANCE else 1e-8)
    return f"{found.report['busy'].sum():.3f} s in cuGraph"


def lacks(*modules: str) -> str:
    """Text that names the missing packages, or says that they do not support the simulator."""
    if probe.simulated():
        return "the simulator has none of it"
    missing = [one for one in modules if find_spec(one) is None]
    return f"{' and '.join(missing)} cannot be imported" if missing else ""
