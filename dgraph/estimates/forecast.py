"""How long an operation will take on a cluster that is not there, what memory it needs and what it sends.

Coefficients are measured here, by the operation itself on a sample of the edges; what partitions will be like is
estimated from the graph; a round is as long as its slowest worker, and what it sends takes its share of the network.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf, log
from statistics import median_low as median
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from dask.utils import format_bytes, parse_bytes, parse_timedelta

from dgraph.agents.settings import settings
from dgraph.errors import OptionError
from dgraph.estimates.calibration import gathering, partition_into
from dgraph.estimates.estimate import Sample, estimate, sample
from dgraph.estimates.footprints import FOOTPRINTS
from dgraph.partition.chunk import Numbered
from dgraph.partition.threads import cores as cores_here

if TYPE_CHECKING:
    from dgraph.graph import Graph

EDGES = 1 << 22  # of the sample that is run
FEW = 64  # the first of so many are run, too, to tell what does not grow
FEWER = 4  # of a lazy graph, all edges known are so many times as many as others, to tell how seconds grow
STEEPEST = 0.5  # power of its edges: no cache is that much quicker than memory over many sizes
MOST = 1 << 26  # edges that are gathered over
RUNS, ENOUGH = 3, 0.5  # at least so many runs of each, and so many seconds of all


@dataclass(frozen=True)
class Cluster:
    """What there will be. A device counts as so many cores as it replaces."""

    workers: int
    cores: int = 1  # of each worker
    devices: int = 0  # of each worker
    device_cores: float = 20.0  # cores that a device is worth
    bandwidth: float = 1.25e9  # bytes a second of each worker, in either direction: 10 Gbit/s
    latency: float = 3e-3  # seconds that a round takes beside its work: Dask's for a step, and the network's
    start: float = 0.1  # seconds until the tasks of a run have begun, and until its end is known

    def __post_init__(self) -> None:
        for name, least in (("workers", 1), ("cores", 0), ("devices", 0), ("latency", 0), ("start", 0)):
            if getattr(self, name) < least:
                raise OptionError(f"{name}={getattr(self, name)!r} must be at least {least}")
        if self.bandwidth <= 0 or self.device_cores <= 0 or self.capacity <= 0:
            raise OptionError("bandwidth, and the cores and devices of a worker, must be above zero")

    @classmethod
    def described(cls, workers: int, *, bandwidth: str, latency: str, **others: Any) -> Cluster:
        """Bandwidth as "1.25 GB" a second, latency as "2 ms"."""
        try:
            network: dict[str, Any] = {"bandwidth": parse_bytes(bandwidth), "latency": parse_timedelta(latency)}
        except (ValueError, KeyError) as error:
            given = f"bandwidth={bandwidth!r} and latency={latency!r}"
            raise OptionError(f'{given}: a bandwidth is like "1.25 GB", a latency like "2 ms"') from error
        return cls(workers, **network, **others)

    @property
    def capacity(self) -> float:
        """Of a worker, in cores."""
        return self.cores + self.devices * self.device_cores


@dataclass(frozen=True)
class Coefficients:
    """Measured on this machine; times are those of one core."""

    build: float  # seconds an edge, to place and sort it
    edge: float  # seconds an edge of a partition and run: all its rounds together
    alone: float  # the same where all is one partition, and the operation's own solver runs
    call: float  # seconds of that for a few edges
    rounds: int
    traffic: float  # of a run, in rounds in which every vertex changes
    part: float = inf  # edges of a partition in which `edge` was measured
    whole: float = inf  # and `alone`
    growth: float = 0.0  # seconds an edge grow with this power of the edges: caches hold less and less of a graph


@dataclass(frozen=True)
class Forecast:
    """`frame` has a row for each policy: seconds to start, build, compute, exchange and wait for rounds, and of all;
    bytes of memory a worker, and bytes sent in all."""

    op: str
    cluster: Cluster
    coefficients: Coefficients
    vertices: int
    edges: int
    frame: pd.DataFrame

    @property
    def policy(self) -> str:
        """The quickest."""
        return str(self.frame["seconds"].idxmin())

    def __repr__(self) -> str:
        shown = self.frame.copy()
        for name in shown:
            form: Callable = format_bytes if name in ("memory", "traffic") else "{:.3g} s".format
            shown[name] = shown[name].map(form)
        head = f"{self.op} on {self.cluster.workers} workers of {self.cluster.capacity:g} cores: "
        graph = f"{self.vertices:,} vertices, {self.edges:,} edges, {self.coefficients.rounds} rounds"
        return f"{head}{graph}\n{shown.to_string()}\nquickest policy: {self.policy}"


def forecast(
    graph: Graph, op: str, cluster: Cluster, run: Callable[..., Any], *, measured: Coefficients | None = None
) -> Forecast:
    """`run(graph, **options)` runs the operation, to measure it on a sample of the graph."""
    found = estimate(graph, op, cluster.workers, None)
    known = measured or calibrate(graph, op, run)
    return Forecast(op, cluster, known, found.vertices, found.edges, seconds(found.frame, cluster, known))


def seconds(estimated: pd.DataFrame, cluster: Cluster, known: Coefficients) -> pd.DataFrame:
    """The model: the largest partition says how long all compute, and each worker sends its share."""
    frame = pd.DataFrame(index=estimated.index)
    spread = cluster.workers > 1
    frame["start"] = cluster.start if spread else known.call
    frame["build"] = known.build * estimated["edges"] / max(cluster.cores, 1)
    an_edge, measured = (known.edge, known.part) if spread else (known.alone, known.whole)
    slower = np.maximum(estimated["edges"] / measured, 1.0) ** known.growth
    frame["compute"] = an_edge * slower * estimated["edges"] / cluster.capacity
    traffic = estimated["exchange"] * known.traffic * spread
    frame["exchange"] = traffic / cluster.workers / cluster.bandwidth
    frame["rounds"] = known.rounds * cluster.latency * spread
    frame["seconds"] = frame.sum(axis=1)
    frame["memory"] = estimated[["build", "run"]].max(axis=1)
    frame["traffic"] = traffic.astype(np.int64)
    return frame


def calibrate(graph: Graph, op: str, run: Callable[..., Any], *, edges: int = EDGES) -> Coefficients:
    """Run the operation on a sample of the edges: as one partition, and as one for each core here."""
    from dgraph.graph import Graph

    found = sample(graph)
    chunk = found.chunk
    weighted = FOOTPRINTS[op].weighted and graph.weight is not None

    def sampled(parts: int, most: int | None = None) -> Graph:
        columns: dict[str, Any] = {side: ends[:most] for side, ends in _thinned(chunk, step).items()}
        if weighted:  # some numbers will do: the rounds hardly depend on them
            columns["weight"] = np.random.default_rng(1).integers(1, 100, len(columns["src"])).astype(np.float64)
        weight = "weight" if weighted else None
        return Graph.from_edges(columns, directed=graph.directed, weight=weight, parts=parts)

    step, parts = -(-max(len(chunk.sources), 1) // edges), max(2, cores_here())
    size = -(-max(len(chunk.sources), 1) // step)
    arcs, few = size * (1 if graph.directed else 2), max(1, size // FEW)
    run(sampled(parts, few))  # compiles, and loads what builds partitions
    split = sampled(parts)
    call, alone, spread = _in_turn([sampled(1, few), sampled(1), split], run)
    return Coefficients(
        build=sum(split.partitions.report.seconds.values()) * min(parts, cores_here()) / arcs,
        edge=spread.busy / arcs,
        alone=max(alone.seconds - call.seconds, 0.0) * cores_here() / arcs,
        call=call.seconds,
        rounds=spread.rounds,
        traffic=_traffic(split, op, spread.bytes),
        part=arcs / parts,
        whole=float(arcs),
        growth=_growth(found, step),
    )


def _thinned(chunk: Numbered, step: int) -> dict[str, np.ndarray]:
    """One edge of so many. Neighbouring vertices become one, so that each has as many edges as before."""
    return {"src": chunk.sources[::step] // step, "dst": chunk.destinations[::step] // step}


def _growth(found: Sample, step: int) -> float:
    """How seconds an edge grow from the sample to the graph, of which caches hold less: as those of gathering over
    both. Of a lazy graph only some edges are known: as from a part of these to all of them, but not for ever."""
    whole, known = found.chunk, step if step > 1 else FEWER
    if not len(whole.sources) or (found.exact and step == 1):
        return 0.0
    thin = -(-len(whole.sources) // MOST)
    less = _thinned(whole, known)
    build = partial(partition_into, workers=cores_here())
    partitions = (
        build(less["dst"], less["src"], found.size // known + 1),
        build(whole.destinations[::thin], whole.sources[::thin], found.size),
    )
    how, where = settings("auto", "auto", "auto"), {"device": "cpu", "worker": 0, "threads": cores_here()}
    rates = [[gathering("plan", one, how, **where) for one in partitions] for _ in range(RUNS)]
    small, large = (max(each) for each in zip(*rates, strict=True))
    return min(max(log(small / large, known), 0.0), inf if found.exact else STEEPEST)


def _traffic(graph: Graph, op: str, sent: int) -> float:
    """What a run sent, in rounds in which every vertex changes. What is passed on beside rounds is in no report."""
    if FOOTPRINTS[op].passed_bytes:
        return 1.0
    told = estimate(graph, op, graph.num_parts, None).frame.loc[graph.policy]
    return sent / told["exchange"] if told["exchange"] else 0.0


@dataclass(frozen=True)
class _Measured:
    """Medians."""

    seconds: float
    busy: float
    bytes: int
    rounds: int


def _in_turn(graphs: list[Graph], run: Callable[..., Any]) -> list[_Measured]:
    """Of each graph, after a first run, which builds what the operation asks for. They take turns: a machine that is
    slow for a while is slow for all."""
    for graph in graphs:
        run(graph)
    turns: list[list[tuple[float, float, int, int]]] = []
    begun = time.perf_counter()
    while len(turns) < RUNS or time.perf_counter() - begun < ENOUGH:
        turns.append([_timed(graph, run) for graph in graphs])
    return [_Measured(*map(median, zip(*found, strict=True))) for found in zip(*turns, strict=True)]


def _timed(graph: Graph, run: Callable[..., Any]) -> tuple[float, float, int, int]:
    begun = time.perf_counter()
    result = run(graph)
    took, rows = time.perf_counter() - begun, result.report
    return took, float(rows["busy"].sum()), int(rows["bytes"].sum()), result.rounds
