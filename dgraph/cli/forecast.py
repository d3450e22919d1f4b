"""Predicts the time, memory and traffic of an operation on a cluster.

The coefficients are measured in this process by running the operation on a sample of the edges. The sizes of the
partitions are estimated from the graph. A round takes as long as its slowest worker, plus the sending of its messages,
plus what being many costs (`superstep_costs.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, log
from statistics import median_low as median
from typing import Any

import numpy as np
import pandas as pd
from dask.utils import format_bytes, parse_bytes, parse_timedelta

from dgraph.agents.daemon_settings import NO_DAEMONS
from dgraph.cli.superstep_costs import MEASURED, SuperstepCosts
from dgraph.cluster.calibration import gather_rate, partition_into, solver_rate
from dgraph.errors import OptionError
from dgraph.estimates.estimate import estimate
from dgraph.estimates.footprints import FOOTPRINTS, USUAL_RANK
from dgraph.estimates.sample import Sample, sample
from dgraph.graph import Graph
from dgraph.native.team import scale_threads
from dgraph.native.threads import cores as cores_here
from dgraph.partition.policies import unless_auto
from dgraph.phrases.phrases import format_count

EDGES = 1 << 22  # the number of edges in the sample that is run
SWEPT, FEWEST_SWEPT = 1 << 24, 1 << 14  # edges if each is read in all of many rounds: SWEPT by the square of the rank
SMALLER_BY = 4  # a second sample has this many times fewer edges, which shows the fixed costs
MOST_PARTS = 4  # maximum number of partitions of a sample; very many would be joined
LARGEST_GROWTH = 0.5  # maximum power of the edges with which the seconds per edge grow
MOST_GATHERED = 1 << 26  # maximum number of edges to gather over
FEWEST_RUNS, SHORTEST_MEASUREMENT = 5, 0.5  # minimum number of runs of each sample, and seconds for all runs


@dataclass(frozen=True)
class Cluster:
    """The cluster to predict for. A device counts as the number of cores that it replaces."""

    workers: int
    cores: int = 1  # per worker
    devices: int = 0  # per worker
    device_cores: float = 20.0  # cores that one device replaces
    bandwidth: float = 1.25e9  # bytes per second, worker and direction: 10 Gbit/s
    latency: float = 5e-5  # seconds that a packet takes from one worker to another
    costs: SuperstepCosts = MEASURED  # of a worker, in each round
    start: float = 0.1  # seconds to start the tasks of a run, and to learn that it has ended

    def __post_init__(self) -> None:
        for name, least in (("workers", 1), ("cores", 0), ("devices", 0), ("latency", 0), ("start", 0)):
            if getattr(self, name) < least:
                raise OptionError(f"{name}={getattr(self, name)!r} must be >= {least}")
        for name in ("bandwidth", "device_cores"):
            if not 0 < getattr(self, name) < inf:
                raise OptionError(f"{name}={getattr(self, name)!r} must be a finite number > 0")
        if not self.capacity:
            raise OptionError("cores=0 and devices=0: one of them must be > 0")

    @classmethod
    def described(cls, workers: int, *, bandwidth: str, latency: str, **others: Any) -> Cluster:
        """Parse the bandwidth per second, such as "1.25 GB", and the latency, such as "2 ms"."""
        try:
            network: dict[str, Any] = {"bandwidth": parse_bytes(bandwidth), "latency": parse_timedelta(latency)}
        except (ValueError, KeyError) as error:
            given = f"bandwidth={bandwidth!r} and latency={latency!r}"
            expected = 'expected a bandwidth such as "1.25 GB" and a latency such as "2 ms"'
            raise OptionError(f"{given}: {expected}") from error
        return cls(workers, **network, **others)

    @property
    def overhead(self) -> float:
        """Seconds per round in addition to its work and to the bytes that it sends."""
        return self.costs.elapsed(self.workers, self.latency)

    @property
    def capacity(self) -> float:
        """The capacity of a worker, in cores."""
        return self.cores + self.devices * self.device_cores


@dataclass(frozen=True)
class Coefficients:
    """The coefficients measured on this machine, in seconds of one core.

    With one worker, the operation's solver runs; with several, it runs in rounds.
    """

    build: float  # seconds per edge, to place and sort it
    edge: float  # seconds per edge of a partition, for all rounds of a run
    rounds: int
    traffic: float  # what a run sends, as a number of rounds in which every vertex changes
    turn: float = 0.0  # seconds per partition and run that do not depend on its edges
    part: float = inf  # edges of the partition on which `edge` was measured
    growth: float = 0.0  # seconds per edge grow with this power of the edges, as caches hold less


@dataclass(frozen=True)
class Forecast:
    """The predicted costs of an operation.

    `frame` has a row per policy: seconds to start, build, compute, exchange and wait for rounds, and in total; bytes of
    memory per worker, and bytes sent in total.
    """

    op: str
    cluster: Cluster
    coefficients: Coefficients
    vertices: int
    edges: int
    frame: pd.DataFrame

    @property
    def policy(self) -> str:
        """The fastest policy."""
        return str(self.frame["seconds"].idxmin())

    def __repr__(self) -> str:
        shown = self.frame.copy()
        for name in shown:
            form: Callable = format_bytes if name in ("memory", "traffic") else "{:.3g} s".format
            shown[name] = shown[name].map(form)
        where = f"{format_count(self.cluster.workers, 'worker')} of {format_count(self.cluster.capacity, 'core')}"
        many = (self.vertices, "vertex"), (self.edges, "edge"), (self.coefficients.rounds, "round")
        head = f"{self.op} on {where}: {', '.join(format_count(number, what) for number, what in many)}"
        advice = f"fastest policy: {self.policy}{unless_auto(self.policy, self.cluster.workers)}"
        return f"{head}\n{shown.to_string()}\n{advice}"


def forecast(
    graph: Graph,
    op: str,
    cluster: Cluster,
    run: Callable[..., Any],
    *,
    measured: Coefficients | None = None,
    rank: int | None = None,
) -> Forecast:
    """Measure an operation on a sample of the graph with `run(graph)`, and predict its costs on a cluster. `factorize`
    has vectors of length `rank`."""
    estimated = estimate(graph, op, cluster.workers, None, rank=rank)
    edges = max(FEWEST_SWEPT, SWEPT // (rank or USUAL_RANK) ** 2) if FOOTPRINTS[op].sweeps else EDGES
    known = measured or calibrate(graph, op, run, workers=cluster.workers, edges=edges)
    return Forecast(op, cluster, known, estimated.vertices, estimated.edges, predict(estimated.frame, cluster, known))


def predict(estimated: pd.DataFrame, cluster: Cluster, known: Coefficients) -> pd.DataFrame:
    """The model: the largest partition sets the time to compute, and each worker sends an equal share of messages."""
    frame = pd.DataFrame(index=estimated.index)
    spread = cluster.workers > 1
    frame["start"] = cluster.start * spread
    frame["build"] = known.build * estimated["edges"] / max(cluster.cores, 1)
    slower = np.maximum(estimated["edges"] / known.part, 1.0) ** known.growth
    frame["compute"] = known.edge * slower * estimated["edges"] / cluster.capacity + known.turn
    traffic = estimated["exchange"] * known.traffic * spread
    frame["exchange"] = traffic / cluster.workers / cluster.bandwidth
    frame["rounds"] = known.rounds * cluster.overhead
    frame["seconds"] = frame.sum(axis=1)
    frame["memory"] = estimated[["build", "run"]].max(axis=1)
    frame["traffic"] = traffic.astype(np.int64)
    return frame


def calibrate(graph: Graph, op: str, run: Callable[..., Any], *, workers: int = 1, edges: int = EDGES) -> Coefficients:
    """Run the operation on samples of two sizes: as one partition for one worker, as several for more workers."""
    drawn = sample(graph)
    weighted = FOOTPRINTS[op].weighted and graph.weight is not None
    step, parts = -(-max(len(drawn.chunk.sources), 1) // edges), min(workers, MOST_PARTS)
    if sweeps := FOOTPRINTS[op].sweeps:
        parts = 1

    def sampled(step: int) -> Graph:
        columns: dict[str, Any] = drawn.folded(step)
        if weighted:  # any weights will do, because rounds hardly depend on them
            columns["weight"] = np.random.default_rng(1).integers(1, 100, len(columns["src"])).astype(np.float64)
        weight = "weight" if weighted else None
        return Graph.from_edges(columns, directed=graph.directed, weight=weight, parts=parts)

    steps = SMALLER_BY * step, step
    graphs = [sampled(one) for one in steps]
    few, many = _in_turn(run, list(zip(graphs, steps, strict=True)))
    estimates = [estimate(one, op, parts, None).frame.loc[one.policy] for one in graphs]
    fewer, part = (max(1, int(one["edges"])) for one in estimates)
    turn, edge = fit_line((fewer, few.seconds), (part, many.seconds))
    built, arcs = graphs[-1].partitions.report.seconds, max(1, graphs[-1].input_edges.num_arcs)
    return Coefficients(
        build=sum(built.values()) * min(parts, cores_here()) / arcs,
        edge=edge * max(1, cores_here() // parts),
        rounds=many.rounds,
        traffic=many.rounds if sweeps else _traffic(op, many.bytes, float(estimates[-1]["exchange"])),
        turn=turn,
        part=part,
        growth=_growth(drawn, step, not graph.directed, FOOTPRINTS[op].gathers and parts == 1),
    )


def fit_line(few: tuple[int, float], many: tuple[int, float]) -> tuple[float, float]:
    """The fixed seconds and the seconds per edge, both >= 0, from two measurements. They fit the second one exactly."""
    edges, took = many
    each = (took - few[1]) / max(edges - few[0], 1)
    each = min(max(each, 0.0), took / edges)
    return took - each * edges, each


def _growth(drawn: Sample, step: int, mirror: bool, gathers: bool) -> float:
    """How the seconds per edge grow from the sample to the graph, a smaller part of which fits into caches.

    The growth is measured by gathering over both, with the solver if the operation has one that gathers, otherwise with
    agents. Only some edges of a lazy graph are known; its growth is taken from a part of these to all of them, up to a
    limit.
    """
    whole, known, cores = drawn.chunk, step if step > 1 else SMALLER_BY, cores_here()
    if not len(whole.sources) or (drawn.exact and step == 1):
        return 0.0
    thin, less = -(-len(whole.sources) // MOST_GATHERED), drawn.folded(known)
    partitions = []
    for ends in ((less["dst"], less["src"]), (whole.destinations[::thin], whole.sources[::thin])):
        rows, others = (np.concatenate([ends[i], ends[1 - i]]) if mirror else ends[i] for i in (0, 1))
        partitions.append(partition_into(rows, others, int(max(rows.max(), others.max())) + 1, workers=cores))
    how, where = NO_DAEMONS, {"device": "cpu", "worker": 0, "threads": cores}
    rates = [
        [solver_rate(one, cores) if gathers else gather_rate("plan", one, how, **where) for one in partitions]
        for _ in range(FEWEST_RUNS)
    ]
    small, large = (max(each) for each in zip(*rates, strict=True))
    return min(max(log(small / large, known), 0.0), inf if drawn.exact else LARGEST_GROWTH)


def _traffic(op: str, sent: int, each: float) -> float:
    """What a run sent, as a number of rounds in which every vertex changes. Reports omit anything sent otherwise."""
    return 1.0 if FOOTPRINTS[op].passed_bytes else sent / each if each else 0.0


@dataclass(frozen=True)
class _Measurement:
    """The minimum time, and the medians of the counts."""

    seconds: float  # duration of the run; with several partitions, the sum of the longest busy time in each round
    bytes: int
    rounds: int


def _in_turn(run: Callable[..., Any], samples: Sequence[tuple[Graph, int]]) -> list[_Measurement]:
    """Measure the run on each sample, after a first run that builds what the operation needs.

    The samples take turns, so that a machine that is slow for a while affects all of them.
    """
    for one in samples:
        _timed(run, *one)
    turns: list[list[tuple[float, int, int]]] = []
    begun = time.perf_counter()
    while len(turns) < FEWEST_RUNS or time.perf_counter() - begun < SHORTEST_MEASUREMENT:
        turns.append([_timed(run, *one) for one in samples])
    columns = (zip(*timings, strict=True) for timings in zip(*turns, strict=True))
    return [_Measurement(min(took), median(sent), median(rounds)) for took, sent, rounds in columns]


def _timed(run: Callable[..., Any], graph: Graph, times: int) -> tuple[float, int, int]:
    """Run on as many threads as a graph with `times` as many edges would use."""
    begun = time.perf_counter()
    with scale_threads(times):
        result = run(graph)
    took, rows = time.perf_counter() - begun, result.report
    if graph.num_parts > 1:
        took = float(rows.groupby("superstep")["busy"].max().sum())
    return took, int(rows["bytes"].sum()), result.rounds
