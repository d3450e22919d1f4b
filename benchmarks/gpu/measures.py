"""Measures the speed of a GPU: rates compared with the ceilings of an H200, our CPU engine and cuGraph; the cost of a
superstep; edges that stream through the GPU."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from answers import OPERATIONS, lacks, same
from findings import NOT_RUN, OK, Finding, goal

import dgraph as dg
from dgraph.codegen.recipe import recipe_of
from dgraph.devices import probe
from dgraph.devices.cuda import CudaDevice
from dgraph.devices.device_vertex_arrays import COUNTED
from dgraph.devices.own_device import launchers, own_memory
from dgraph.ops.wcc import Components

TRIALS, PATIENCE = 5, 10.0  # the number of runs, and seconds after which no further run begins
CEILINGS = {"pagerank": 113e9, "sssp": 95e9, "wcc": 115e9, "bfs": 115e9}  # edges/s of random access on an H200
SHARE, TIMES_CPU, OVERHEAD = 0.4, 20.0, 100e-6  # goals: share of a ceiling, speed-up over the CPU, s per superstep
PCIE, PIPELINE = 0.7, 1.3  # goals: share of the measured rate, and speed-up by the pipeline


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """The last result of several runs, and the median of their seconds, after a first run that compiles."""
    result, seconds = run(), []
    while len(seconds) < (1 if probe.simulated() else TRIALS) and sum(seconds) < PATIENCE:
        begun = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - begun)
    return result, statistics.median(seconds)


def elapsed(result: Any) -> float:
    """Seconds of all supersteps of one partition, including idle time, in which kernels continue."""
    return float(result.report["busy"].sum() + result.report["idle"].sum())


def goal_of_time(what: str, reached: bool, said: str) -> list[Finding]:
    """The finding about a goal for time, which is always met in the simulator, where timings are meaningless."""
    return [goal(what, reached or probe.simulated(), said)]


class Speed:
    """The speed of operations on a graph. They run when a check first needs them, so that rates can come first."""

    def __init__(self, graph: dg.Graph):
        self.graph = graph
        self.known: dict[Any, tuple[Any, float]] = {}

    def run(self, name: str, **where: str) -> tuple[Any, float]:
        key = name, *where.values()
        if key not in self.known:
            self.known[key] = timed(lambda: OPERATIONS[name](self.graph, **where))
        return self.known[key]

    def rate(self, name: str) -> list[Finding]:
        """Compare edges per second in supersteps, from the report, with the ceiling."""
        result, _ = self.run(name, device="cuda")
        rate = float(result.report["edges"].sum()) / elapsed(result)
        share = rate / CEILINGS[name]
        said = f"{rate / 1e9:.2f} G edges/s, {share:.1%} of the ceiling (wanted: {SHARE:.0%}), {result.rounds} rounds"
        return goal_of_time(f"rate of {name}, {self.graph.num_edges:,} edges", share >= SHARE, said)

    def beside_cpu(self, name: str) -> list[Finding]:
        """Check for the same answer as on the CPU, and compare the total seconds."""
        (result, seconds), (on_cpu, cpu_seconds) = self.run(name, device="cuda"), self.run(name, device="cpu")
        same(result.compute(), on_cpu.compute())
        times = cpu_seconds / seconds
        said = f"{seconds:.3f} s, CPU {cpu_seconds:.3f} s: {times:.1f} x (wanted: {TIMES_CPU:.0f} x)"
        what = f"{name}, {self.graph.num_edges:,} edges, beside our CPU engine"
        return goal_of_time(what, times >= TIMES_CPU, said)

    def beside_cugraph(self, name: str) -> list[Finding]:
        """Check for the same answer as from cuGraph. Its seconds exclude the transfer of edges, so they compare with
        those of our supersteps."""
        what = f"{name}, {self.graph.num_edges:,} edges, beside cuGraph"
        if missing := lacks("pylibcugraph"):
            return [Finding(what, NOT_RUN, missing)]
        (result, seconds), (theirs, their_seconds) = self.run(name, device="cuda"), self.run(name, engine="cugraph")
        column = result.compute().columns[1]
        same(result.compute()[[column]], theirs.compute()[[column]])
        ours, inside = elapsed(result), float(theirs.report["busy"].sum())
        said = f"supersteps {ours:.4f} s, in cuGraph {inside:.4f} s: {inside / ours:.2f} x (wanted: 1)"
        said += f"; in all {seconds:.3f} s and {their_seconds:.3f} s"
        return goal_of_time(what, ours <= inside, said)


def memory_rates(count: int) -> str:
    """The rates of the GPU's memory when copying `count` 32-bit numbers, and when reading them in random order."""
    memory = own_memory()
    there = memory.xp.arange(count, dtype=np.uint32)
    places = there * np.uint32(2654435761)  # odd, and the count is a power of two, so each place occurs once
    places = (places ^ (places >> np.uint32(15))) & np.uint32(count - 1)

    def seconds(do: Callable[[], Any]) -> float:
        found = []
        for _ in range(TRIALS):
            begun = time.perf_counter()
            do()
            memory.wait()
            found.append(time.perf_counter() - begun)
        return min(found)

    copied, read = seconds(there.copy), seconds(lambda: there[places])
    return f"copies {8e-9 * count / copied:.0f} GB/s; {1e-9 * count / read:.1f} G random reads/s of 4 bytes"


def building(graph: dg.Graph, **rules: Any) -> list[Finding]:
    """Check that partitions built from arrays on the GPU equal the CPU's from the same arrays, and time both."""
    here = {name: np.asarray(graph.input_edges.edges.frame[name]) for name in graph.input_edges.edges.frame}
    there = {name: own_memory().xp.asarray(array) for name, array in here.items()}
    source, destination, *others = here
    how = {"source": source, "destination": destination, "weight": None, "directed": graph.directed, **rules}

    def built(edges: dict[str, Any]) -> dg.Graph:
        made = dg.Graph.from_edges(edges, **how)
        made.partitioned("incoming", others)
        return made

    (on_gpu, seconds), (on_cpu, cpu_seconds) = timed(lambda: built(there)), timed(lambda: built(here))
    assert np.array_equal(on_gpu.numbering.ids(), on_cpu.numbering.ids()), "numbers differ"
    arcs = 0
    for mine, theirs in zip(on_gpu.partitions.held, on_cpu.partitions.held, strict=True):
        one, other = mine.incoming, theirs.incoming
        assert own_memory().has(one.neighbours), "it was built by the CPU"
        assert np.array_equal(one.indptr, other.indptr), "rows differ"
        assert np.array_equal(one.neighbours, other.neighbours), "neighbours differ"
        assert all(np.array_equal(one.columns[name], other.columns[name]) for name in others), "columns differ"
        arcs += one.num_edges
    said = f"{arcs:,} arcs in {seconds:.3f} s, by the CPU {cpu_seconds:.3f} s: {cpu_seconds / seconds:.1f} x"
    words = "".join(f", {name}={value!r}" for name, value in rules.items())
    return [Finding(f"a graph of {graph.num_edges:,} edges{words} is built on the GPU as on the CPU", OK, said)]


def superstep(length: int) -> list[Finding]:
    """Time a superstep with almost no work, on a path with one active vertex per round."""
    path = dg.Graph.from_edges({"src": np.arange(length), "dst": np.arange(1, length + 1)})

    def run() -> float:
        result = dg.sssp(path, 0, predecessors=False, device="cuda", engine=dg.Gas(direction="push"))
        return elapsed(result) / result.rounds

    run()  # this run compiles
    seconds = min(run() for _ in range(1 if probe.simulated() else TRIALS))
    said = f"{1e6 * seconds:.0f} microseconds (wanted: below {1e6 * OVERHEAD:.0f})"
    return goal_of_time("a superstep without work", seconds < OVERHEAD, said)


def launches(count: int) -> str:
    """The time that the host spends on the building blocks of supersteps."""
    cuda = CudaDevice(recipe_of(Components(), "cuda").source)
    flags = cuda.memory.to_device(np.zeros(256, np.int32))
    parts = {
        "a kernel": lambda: cuda.arrays.launch("count_flags", 256, arrived=flags, listed=COUNTED),
        "a fill": lambda: cuda.memory.fill(flags, 0),
        "a fill, a kernel and its answer": lambda: cuda.arrays.count(flags, 0),
    }
    said = ", ".join(f"{what} {1e6 * each(do, count):.1f}" for what, do in parts.items())
    ways = {type(kernel.launcher).__name__ for kernels in launchers.values() for kernel in kernels.values()}
    return f"{said} microseconds; launches by {' and '.join(ways)}"


def each(do: Callable[[], Any], count: int) -> float:
    """The mean seconds per call."""
    do()
    begun = time.perf_counter()
    for _ in range(count):
        do()
    return (time.perf_counter() - begun) / count


def crossing(rounds: int) -> list[Finding]:
    """Measure bytes between host and device in a superstep of one partition."""
    graph, memory = dg.rmat(scale=5, edge_factor=4), own_memory()

    def run(count: int) -> np.ndarray:
        before = np.array([memory.copied, memory.copies])
        dg.pagerank(graph, max_iter=count, tol=0, device="cuda")
        return np.array([memory.copied, memory.copies]) - before

    run(2)
    copied, copies = (run(rounds + 2) - run(2)) / rounds
    said = f"{copied:.0f} bytes in {copies:.1f} copies (wanted: at most 64 a copy)"
    return [goal("what crosses in a superstep", copied <= 64 * copies, said)]


def streaming(graph: dg.Graph) -> list[Finding]:
    """Measure the rate of edges that stream through in every round, against one large pinned copy, and without the
    pipeline."""
    edges, vertices = 4 * graph.num_edges, 100 * graph.num_vertices + (1 << 14)
    memory, rounds = own_memory(), 3
    room = memory.used + vertices + edges // 2

    def run(block: Any) -> tuple[float, Any]:
        found = dg.pagerank(graph, max_iter=rounds, tol=0, device=dg.Cuda(memory=room, block=block))
        return found.report["streamed"].sum() / elapsed(found), found

    run("auto")
    rate, found = run("auto")
    alone, _ = run(None)
    streamed, block = found.report["streamed"].sum(), found.report["block_size"].iloc[-1]
    assert streamed >= rounds * edges, "it was not streamed"
    same(found.compute(), dg.pagerank(graph, max_iter=rounds, tol=0, device="cpu").compute())
    here = "twice the memory budget"
    rows = [Finding(f"answers of a graph {here}", OK, f"{streamed:,.0f} bytes in blocks of {block:,.0f} edges")]
    pcie = pinned_rate(1 << 20 if probe.simulated() else 1 << 30)
    said = f"{rate / 1e9:.1f} GB/s, {rate / pcie:.0%} of {pcie / 1e9:.1f} GB/s (wanted: {PCIE:.0%})"
    rows += goal_of_time(f"rate of a graph {here}", rate >= PCIE * pcie, said)
    said = f"{rate / alone:.2f} x (wanted: {PIPELINE})"
    return rows + goal_of_time(f"the same beside no pipeline, {here}", rate >= PIPELINE * alone, said)


def pinned_rate(size: int) -> float:
    """Bytes per second from pinned memory to the device."""
    memory = own_memory()
    memory.begin(None)  # clears the budget left by earlier runs
    here, there = memory.pinned(size), memory.empty(size, np.uint8)
    seconds = []
    for _ in range(TRIALS):
        begun = time.perf_counter()
        with memory.stage(0):
            memory.put(there, here)
        seconds.append(time.perf_counter() - begun)
    return size / min(seconds)
