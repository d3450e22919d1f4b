"""What `check.py` looks at: answers, rates beside the ceilings of an H200, the cost of a superstep, streaming."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from findings import wanted

import dgraph as dg
from dgraph.devices import probe
from dgraph.devices.cuda import own_memory
from dgraph.testing.clusters import mixed_cluster
from dgraph.testing.verify import verify

TRIALS = 5
CEILINGS = {"pagerank": 113e9, "sssp": 95e9, "wcc": 115e9, "bfs": 115e9}  # edges/s of random access on an H200
SHARE, TIMES_CPU, OVERHEAD = 0.4, 20.0, 100e-6  # of a ceiling, faster than the CPU, seconds a superstep
PCIE, PIPELINE = 0.7, 1.3  # the share of the measured rate, and times faster than without the pipeline
OPERATIONS: dict[str, Callable[..., Any]] = {
    "pagerank": lambda graph, **options: dg.pagerank(graph, max_iter=20, tol=0, **options),
    "bfs": lambda graph, **options: dg.bfs(graph, source_of(graph), **options),
    "sssp": lambda graph, **options: dg.sssp(graph, source_of(graph), predecessors=False, **options),
    "wcc": dg.wcc,
    "cdlp": lambda graph, **options: dg.cdlp(graph, max_iter=5, **options),
    "core_number": dg.core_number,
    "katz": lambda graph, **options: dg.katz(graph, alpha=1e-4, **options),
    "hits": dg.hits,
    "label_propagation": lambda graph, **options: dg.label_propagation(graph, max_iter=5, **options),
}
TIMED = ("pagerank", "bfs", "sssp", "wcc")

_sources: dict[int, int] = {}


def source_of(graph: dg.Graph) -> int:
    """A vertex from which much can be reached."""
    if id(graph) not in _sources:
        degrees = dg.degrees(graph, device="cpu").compute()
        _sources[id(graph)] = int(degrees["vertex"][degrees["out_degree"].to_numpy().argmax()])
    return _sources[id(graph)]


def same(there: Any, here: Any) -> None:
    for column in there.columns:
        if there[column].dtype.kind == "f":
            np.testing.assert_allclose(there[column], here[column], rtol=1e-8)
        else:
            assert there[column].equals(here[column]), f"column {column} differs"


def answers(name: str, graph: dg.Graph) -> str:
    """By the verifier, and the same as the CPU's."""
    on_gpu = OPERATIONS[name](graph, device="cuda")
    if name in ("pagerank", "wcc"):
        verify(name, graph, on_gpu, **({"rounds": 20} if name == "pagerank" else {}))
    there = on_gpu.compute()
    same(there, OPERATIONS[name](graph, device="cpu", engine="gas").compute())
    return f"{len(there):,} vertices, {on_gpu.rounds} rounds"


def answers_of_daemon(kind: str, graph: dg.Graph) -> str:
    """A GPU that takes blocks from a CPU worker."""
    found = dg.pagerank(graph, max_iter=5, tol=0, daemons=kind)
    same(found.compute(), dg.pagerank(graph, max_iter=5, tol=0, device="cpu").compute())
    return f"{found.report['blocks'].sum():,.0f} blocks on {' and '.join(found.report['device'].unique())}"


def launches(length: int) -> str:
    """A superstep with almost no work: a path, one vertex a round."""
    path = dg.Graph.from_edges({"src": np.arange(length), "dst": np.arange(1, length + 1)})

    def run() -> float:
        result = dg.sssp(path, 0, predecessors=False, device="cuda", direction="push")
        return result.report["busy"].sum() / result.rounds

    run()  # compiles
    seconds = min(run() for _ in range(1 if probe.simulated() else TRIALS))
    said = f"{1e6 * seconds:.0f} microseconds a superstep (wanted: below {1e6 * OVERHEAD:.0f})"
    return wanted(said, probe.simulated() or seconds < OVERHEAD)


def crossing(rounds: int) -> str:
    """Bytes between host and device in a superstep of one partition."""
    graph, memory = dg.rmat(scale=5, edge_factor=4), own_memory()

    def run(count: int) -> np.ndarray:
        before = np.array([memory.copied, memory.copies])
        dg.pagerank(graph, max_iter=count, tol=0, device="cuda")
        return np.array([memory.copied, memory.copies]) - before

    run(2)
    copied, copies = (run(rounds + 2) - run(2)) / rounds
    return wanted(f"{copied:.0f} bytes in {copies:.1f} copies (wanted: at most 64 a copy)", copied <= 64 * copies)


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """The last result of some runs, and the median of their seconds; the first, which compiles, is not counted."""
    result, seconds = run(), []
    for _ in range(TRIALS):
        begun = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - begun)
    return result, statistics.median(seconds)


def speed(name: str, graph: dg.Graph) -> str:
    """Edges a second in supersteps, from the report, beside the ceiling; seconds in all, beside our own CPU engine."""
    result, seconds = timed(lambda: OPERATIONS[name](graph, device="cuda"))
    on_cpu, seconds_on_cpu = timed(lambda: OPERATIONS[name](graph, device="cpu"))
    same(result.compute(), on_cpu.compute())
    rate = result.report["edges"].sum() / result.report["busy"].sum()
    share, times = rate / CEILINGS[name], seconds_on_cpu / seconds
    said = (
        f"{seconds:.3f} s, {rate / 1e9:.2f} G edges/s, {share:.1%} of an H200's ceiling (wanted: {SHARE:.0%}); "
        f"on the CPU {seconds_on_cpu:.3f} s, {times:.1f} x (wanted: {TIMES_CPU:.0f} x)"
    )
    return wanted(said, share >= SHARE, times >= TIMES_CPU)


def has_cugraph() -> bool:
    return find_spec("cugraph") is not None and not probe.simulated()


def against_cugraph(name: str, graph: dg.Graph) -> str:
    """The same operation by cuGraph, on the same GPU."""
    ours, seconds = timed(lambda: OPERATIONS[name](graph, device="cuda"))
    theirs, seconds_of_theirs = timed(lambda: OPERATIONS[name](graph, engine="cugraph"))
    column = ours.compute().columns[1]
    same(ours.compute()[[column]], theirs.compute()[[column]])
    said = f"ours {seconds:.3f} s, cuGraph {seconds_of_theirs:.3f} s: {seconds_of_theirs / seconds:.2f} x (wanted: 1)"
    return wanted(said, seconds <= seconds_of_theirs)


def streaming(graph: dg.Graph, measured: bool) -> str:
    """Edges that pass through in every round: the rate beside that of one large pinned copy, and without a pipeline."""
    edges, vertices = 4 * graph.num_edges, 100 * graph.num_vertices + (1 << 14)
    memory, rounds = own_memory(), 3
    how = {"max_iter": rounds, "tol": 0, "device": "cuda", "memory_budget": memory.used + vertices + edges // 2}

    def run(block: Any) -> tuple[float, Any]:
        found = dg.pagerank(graph, pipeline_block=block, **how)
        return found.report["streamed"].sum() / found.report["busy"].sum(), found

    run("auto")
    rate, found = run("auto")
    alone, _ = run(None)
    assert found.report["streamed"].sum() >= rounds * edges, "it was not streamed"
    same(found.compute(), dg.pagerank(graph, max_iter=rounds, tol=0, device="cpu").compute())
    if not measured:
        return (
            f"{found.report['streamed'].sum():,.0f} bytes in blocks of {found.report['block_size'].iloc[-1]:,.0f} edges"
        )
    pcie = pinned_rate(1 << 30)
    said = (
        f"{rate / 1e9:.1f} GB/s, {rate / pcie:.0%} of {pcie / 1e9:.1f} GB/s (wanted: {PCIE:.0%}); "
        f"{rate / alone:.2f} x without a pipeline (wanted: {PIPELINE})"
    )
    return wanted(said, rate >= PCIE * pcie, rate >= PIPELINE * alone)


def pinned_rate(size: int) -> float:
    """Bytes a second from pinned memory to the device."""
    memory = own_memory()
    here, there = memory.pinned(size), memory.empty(size, np.uint8)
    seconds = []
    for _ in range(TRIALS):
        begun = time.perf_counter()
        with memory.stage(0):
            memory.put(there, here)
        seconds.append(time.perf_counter() - begun)
    return size / min(seconds)


def mixed() -> str:
    """One scheduler with a worker of each kind."""
    with mixed_cluster(threads=4) as client:
        graph = dg.rmat(scale=18, seed=2, client=client)
        found = dg.pagerank(graph, max_iter=10, tol=0)
        same(found.compute(), dg.pagerank(graph, max_iter=10, tol=0, device="cpu").compute())
        sizes = graph.partitions.report.frame["edges"].tolist()
        return f"ran on {' and '.join(sorted(found.report['device'].unique()))}, edges {sizes}"
