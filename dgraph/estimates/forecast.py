"""How long an operation will take on a cluster that is not there, what memory it needs and what it sends.

Coefficients are measured here, by the operation itself on a sample of the edges; what partitions will be like is
estimated from the graph; a round is as long as its slowest worker, and what it sends takes its share of the network.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, log
from statistics import median_low as median
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from dask.utils import format_bytes, parse_bytes, parse_timedelta

from dgraph.agents.daemon_settings import settings
from dgraph.errors import OptionError
from dgraph.estimates.calibration import gathering, partition_into, solving
from dgraph.estimates.estimate import estimate
from dgraph.estimates.footprints import FOOTPRINTS
from dgraph.estimates.sample import Sample, sample
from dgraph.native.team import scale_threads
from dgraph.native.threads import cores as cores_here
from dgraph.phrases import format_count

if TYPE_CHECKING:
    from dgraph.graph import Graph

EDGES = 1 << 22  # of the sample that is run
FEWER = 4  # times fewer are run, too, to tell what does not grow
PARTS = 4  # partitions of a sample at most, or as many as there are cores: with more than two, rounds are others
STEEPEST = 0.5  # power of its edges: no cache is that much quicker than memory over many sizes
MOST = 1 << 26  # edges that are gathered over
RUNS, ENOUGH = 5, 0.5  # at least so many runs of each, and so many seconds of all


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
        for name in ("bandwidth", "device_cores"):
            if not 0 < getattr(self, name) < inf:
                raise OptionError(f"{name}={getattr(self, name)!r} must be a number above zero")
        if not self.capacity:
            raise OptionError("cores=0 and devices=0: a worker computes on one or the other")

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
        """The capacity of a worker, in cores."""
        return self.cores + self.devices * self.device_cores


@dataclass(frozen=True)
class Coefficients:
    """Measured on this machine, for one worker or for several: where all is one partition, the operation's own solver
    runs. Times are those of one core."""

    build: float  # seconds an edge, to place and sort it
    edge: float  # seconds an edge of a partition and run: all its rounds together
    rounds: int
    traffic: float  # of a run, in rounds in which every vertex changes
    turn: float = 0.0  # seconds of a partition and run, however few its edges are
    part: float = inf  # edges of a partition in which `edge` was measured
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
        where = f"{format_count(self.cluster.workers, 'worker')} of {format_count(self.cluster.capacity, 'core')}"
        many = (self.vertices, "vertex"), (self.edges, "edge"), (self.coefficients.rounds, "round")
        head = f"{self.op} on {where}: {', '.join(format_count(number, what) for number, what in many)}"
        return f"{head}\n{shown.to_string()}\nquickest policy: {self.policy}"


def forecast(
    graph: Graph, op: str, cluster: Cluster, run: Callable[..., Any], *, measured: Coefficients | None = None
) -> Forecast:
    """`run(graph, **options)` runs the operation, to measure it on a sample of the graph."""
    found = estimate(graph, op, cluster.workers, None)
    known = measured or calibrate(graph, op, run, workers=cluster.workers)
    return Forecast(op, cluster, known, found.vertices, found.edges, seconds(found.frame, cluster, known))


def seconds(estimated: pd.DataFrame, cluster: Cluster, known: Coefficients) -> pd.DataFrame:
    """The model: the largest partition says how long all compute, and each worker sends its share."""
    frame = pd.DataFrame(index=estimated.index)
    spread = cluster.workers > 1
    frame["start"] = cluster.start * spread
    frame["build"] = known.build * estimated["edges"] / max(cluster.cores, 1)
    slower = np.maximum(estimated["edges"] / known.part, 1.0) ** known.growth
    frame["compute"] = known.edge * slower * estimated["edges"] / cluster.capacity + known.turn
    traffic = estimated["exchange"] * known.traffic * spread
    frame["exchange"] = traffic / cluster.workers / cluster.bandwidth
    frame["rounds"] = known.rounds * cluster.latency * spread
    frame["seconds"] = frame.sum(axis=1)
    frame["memory"] = estimated[["build", "run"]].max(axis=1)
    frame["traffic"] = traffic.astype(np.int64)
    return frame


def calibrate(graph: Graph, op: str, run: Callable[..., Any], *, workers: int = 1, edges: int = EDGES) -> Coefficients:
    """Run the operation on samples of two sizes: as one partition for one worker, and for more as several."""
    from dgraph.graph import Graph

    found = sample(graph)
    weighted = FOOTPRINTS[op].weighted and graph.weight is not None
    step, parts = -(-max(len(found.chunk.sources), 1) // edges), min(workers, max(PARTS, cores_here()))

    def sampled(step: int) -> Graph:
        columns: dict[str, Any] = found.folded(step)
        if weighted:  # some numbers will do: the rounds hardly depend on them
            columns["weight"] = np.random.default_rng(1).integers(1, 100, len(columns["src"])).astype(np.float64)
        weight = "weight" if weighted else None
        return Graph.from_edges(columns, directed=graph.directed, weight=weight, parts=parts)

    steps = FEWER * step, step
    graphs = [sampled(one) for one in steps]
    few, many = _in_turn(graphs, [partial(_as_threaded, run, times=one) for one in steps])
    told = [estimate(one, op, parts, None).frame.loc[one.policy] for one in graphs]
    fewer, part = (max(1, int(one["edges"])) for one in told)
    turn, edge = fit_line((fewer, few.seconds), (part, many.seconds))
    built, arcs = graphs[-1].partitions.report.seconds, max(1, graphs[-1].listed.num_arcs)
    return Coefficients(
        build=sum(built.values()) * min(parts, cores_here()) / arcs,
        edge=edge * max(1, cores_here() // parts),
        rounds=many.rounds,
        traffic=_traffic(op, many.bytes, float(told[-1]["exchange"])),
        turn=turn,
        part=part,
        growth=_growth(found, step, not graph.directed, FOOTPRINTS[op].gathers and parts == 1),
    )


def fit_line(few: tuple[int, float], many: tuple[int, float]) -> tuple[float, float]:
    """Seconds of no edges, and of each edge, neither of them below zero, from two measurements; the second holds."""
    edges, took = many
    each = (took - few[1]) / max(edges - few[0], 1)
    each = min(max(each, 0.0), took / edges)
    return took - each * edges, each


def _growth(found: Sample, step: int, mirror: bool, gathers: bool) -> float:
    """How seconds an edge grow from the sample to the graph, of which caches hold less: as those of gathering over
    both, by the solver if the operation has one that gathers, and by agents otherwise. Of a lazy graph only some edges
    are known: as from a part of these to all of them, but not for ever."""
    whole, known, cores = found.chunk, step if step > 1 else FEWER, cores_here()
    if not len(whole.sources) or (found.exact and step == 1):
        return 0.0
    thin, less = -(-len(whole.sources) // MOST), found.folded(known)
    partitions = []
    for ends in ((less["dst"], less["src"]), (whole.destinations[::thin], whole.sources[::thin])):
        rows, others = (np.concatenate([ends[i], ends[1 - i]]) if mirror else ends[i] for i in (0, 1))
        partitions.append(partition_into(rows, others, int(max(rows.max(), others.max())) + 1, workers=cores))
    how, where = settings("auto", "auto", "auto"), {"device": "cpu", "worker": 0, "threads": cores}
    rates = [
        [solving(one, cores) if gathers else gathering("plan", one, how, **where) for one in partitions]
        for _ in range(RUNS)
    ]
    small, large = (max(each) for each in zip(*rates, strict=True))
    return min(max(log(small / large, known), 0.0), inf if found.exact else STEEPEST)


def _traffic(op: str, sent: int, each: float) -> float:
    """What a run sent, in rounds in which every vertex changes. What is passed on beside rounds is in no report."""
    return 1.0 if FOOTPRINTS[op].passed_bytes else sent / each if each else 0.0


@dataclass(frozen=True)
class _Measured:
    """Medians; but the least time, when nothing else took any."""

    seconds: float  # of one partition the run's; of several what the busiest of each round was busy
    bytes: int
    rounds: int


def _as_threaded(run: Callable[..., Any], graph: Graph, times: int) -> Any:
    """A run on as many threads as one on so many times the edges would take."""
    with scale_threads(times):
        return run(graph)


def _in_turn(graphs: Sequence[Graph], runs: Sequence[Callable[..., Any]]) -> list[_Measured]:
    """The measured run on each graph, after a first run that builds what the operation asks for. The graphs take turns,
    because a machine that is slow for a while is then slow for all."""
    each = list(zip(graphs, runs, strict=True))
    for graph, run in each:
        run(graph)
    turns: list[list[tuple[float, int, int]]] = []
    begun = time.perf_counter()
    while len(turns) < RUNS or time.perf_counter() - begun < ENOUGH:
        turns.append([_timed(graph, run) for graph, run in each])
    columns = (zip(*found, strict=True) for found in zip(*turns, strict=True))
    return [_Measured(min(took), median(sent), median(rounds)) for took, sent, rounds in columns]


def _timed(graph: Graph, run: Callable[..., Any]) -> tuple[float, int, int]:
    begun = time.perf_counter()
    result = run(graph)
    took, rows = time.perf_counter() - begun, result.report
    if graph.num_parts > 1:
        took = float(rows.groupby("superstep")["busy"].max().sum())
    return took, int(rows["bytes"].sum()), result.rounds
