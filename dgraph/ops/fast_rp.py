"""Embeddings by random projection: FastRP (Chen, Sultan, Tian, Chen, Skiena, CIKM 2019). Each vertex has a random
vector; the means of the vectors around it, near and farther away, say where in the graph it is.

With one partition, a solver takes all steps. With several, each step is a run of a vertex program.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy import float32, float64, int64

from dgraph.arguments import check_flag, check_integer, is_number
from dgraph.building.weights import check_weights, unit_of
from dgraph.errors import OptionError
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.ops.degrees import Degrees
from dgraph.partition.partition import Partition
from dgraph.programs.monoid import SUM
from dgraph.programs.program import Message, Parameter, State, VertexColumn, VertexProgram
from dgraph.runs.execution import execute, recoverable_result
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.runs.worker_results import VertexValues, WorkerResult, single_call_row
from dgraph.solvers.projections import random_vectors, sum_of_means

MOST = 4096  # dimensions
LARGEST = 1e30  # of the weights of steps, so that float32 can hold sums


class Strengths(VertexProgram):
    """The sum of the weights of out-edges, in units of about the largest."""

    operation = "fast_rp"
    kind = "synchronous"
    along = "in"
    strength = State(float64)
    message = Message(float64, SUM)
    unit = Parameter(float64, 1.0)

    def send(weight, unit):
        return weight * unit

    def apply(message):
        return message

    def stop(round):
        return round >= 1


class Means(VertexProgram):
    """The mean of the vectors of out-neighbours."""

    operation = "fast_rp"
    kind = "synchronous"
    along = "in"
    mean = State(float32, shape="lane")
    message = Message(float32, SUM, shape="lane")
    vectors = VertexColumn(float32, shape="lane")
    strength = VertexColumn(float64)
    lane = Parameter(int64, shape=...)

    def send(vectors):
        return vectors

    def apply(message, strength):
        return message / strength if strength > 0 else 0.0

    def stop(round):
        return round >= 1


class WeightedMeans(Means):
    message = Message(float64, SUM, shape="lane")
    unit = Parameter(float64, 1.0)

    def send(vectors, weight, unit):
        return vectors * (weight * unit)


@operation
def fast_rp(
    graph: Graph,
    *,
    dimensions: int = 128,
    weights: Sequence[float] = (0.0, 0.0, 1.0, 1.0),
    weighted: bool = False,
    random_seed: int = 0,
    engine: Literal["auto", "local"] = "auto",
    device: Literal["auto", "cpu"] = "auto",
) -> RunResult:
    """Embeddings of vertices by random projection: vertices in the same part of a graph get similar vectors.

    Each vertex draws a vector; then each takes the mean of its neighbours' vectors, of their means, and so on. The
    embedding is a weighted sum of these.

    Parameters
    ----------
    graph : Graph
        The graph. In a directed one, neighbours are where edges lead.
    dimensions : int, default 128
        The length of the vectors.
    weights : sequence of float, default (0.0, 0.0, 1.0, 1.0)
        The weight of the random vectors themselves, of the means of the neighbours, of the means of these, and so on.
    weighted : bool, default False
        Use the graph's weights: means are in proportion to them; they must be finite and >= 0.
    random_seed : int, default 0
        Seed of the random number generator, which draws the vectors.
    engine : {"auto", "local"}, default "auto"
        ``"local"`` is for a graph with one partition.
    device : {"auto", "cpu"}, default "auto"
        Only the CPU computes.

    Returns
    -------
    RunResult
        One row per vertex: ``vertex``, ``embedding``, a vector of float32. ``result.by_number("embedding")`` has all of
        them as one array with a row for each vertex, in ascending order, as scikit-learn takes it.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed.
    ColumnError
        If ``weighted=True`` and the graph has no weights.
    WeightError
        If ``weighted=True`` and a weight is negative or infinite.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    Numbers of a random vector are √3 or -√3, each with a chance of a sixth, or 0. They depend on the seed and on the
    vertex's place in the order of all, not on partitions; sums agree up to the rounding of float32.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["a", "b", "c", "d"], "dst": ["b", "a", "d", "c"]})
    >>> vectors = dg.fast_rp(G, dimensions=64, weights=(1, 1)).by_number("embedding")
    >>> vectors.shape, bool((vectors[0] == vectors[1]).all()), bool((vectors[0] == vectors[2]).all())
    ((4, 64), True, False)
    """
    check_integer("dimensions", dimensions, 1, MOST)
    weighted = check_flag("weighted", weighted)
    factors = _factors(weights)
    options = RunOptions.on_cpus(graph.num_parts, engine, device, random_seed)
    if weighted:
        check_weights(graph, "fast_rp", ("out",))
    how = factors, dimensions, options.random_seed
    if graph.num_parts == 1:
        result = recoverable_result(graph, partial(_solved, weighted=weighted, how=how))
    else:
        result = _in_steps(graph, weighted, how, options)
    result.options = options.decided("local" if graph.num_parts == 1 else "gas", "cpu")
    return result


def _factors(weights: Any) -> np.ndarray:
    listed = list(weights) if isinstance(weights, Sequence | np.ndarray) and not isinstance(weights, str) else []
    finite = (is_number(one) and not isinstance(one, bool) and abs(one) <= LARGEST for one in listed)
    if not listed or not all(finite):
        raise OptionError(
            f"weights={weights!r}: pass a list of finite numbers up to 1e30, the first for the random vectors"
        )
    if not any(listed):
        raise OptionError(f"weights={weights!r}: all are 0, so every embedding would be 0; at least one must not be")
    return np.trim_zeros(np.array(listed, np.float64), "b")


# -- one partition -----------------------------------------------------------------------------------------------------


def _solved(graph: Graph, weighted: bool, how: tuple[np.ndarray, int, int]) -> RunResult:
    weight = graph.weight if weighted else None
    held = graph.partitioned(("out",), () if weight is None else (weight,)).held
    results = graph.workers.wait(graph.workers.each(_whole, [(held[0], weight, *how, graph.workers.threads)]))
    return RunResult(graph, results, [], {"engine": "local", "device": "cpu"})


@explain_lack_of_memory("the vectors of all vertices, three times,", "add them up")
def _whole(
    partition: Partition, weight: str | None, factors: np.ndarray, dimensions: int, random_seed: int, threads: int
) -> WorkerResult:
    """All the work in one task, for a graph with one partition."""
    looks = len(factors) * dimensions * (partition.num_owned + partition.num_edges) // 16
    threads = worthwhile_threads(threads, looks)

    def by_team() -> WorkerResult:
        begun = time.perf_counter()
        vectors = random_vectors(partition.numbers, dimensions, random_seed, threads)
        weights = None if weight is None else partition.by_source.columns[weight]
        total, edges = sum_of_means(partition.by_source, weights, vectors, factors, threads)
        report = [single_call_row(partition.num_owned, edges, time.perf_counter() - begun)]
        values = VertexValues(partition.numbers, {"embedding": total})
        return WorkerResult({0: values}, set(), report, len(factors), {})

    return call_team(threads, by_team, looks)


# -- several partitions ------------------------------------------------------------------------------------------------


def _in_steps(graph: Graph, weighted: bool, how: tuple[np.ndarray, int, int], options: RunOptions) -> RunResult:
    (factors, dimensions, random_seed), unit = how, 1.0
    if weighted:
        unit = unit_of(graph)
        strength = execute(graph, Strengths(unit=unit), options)
    else:
        strength = execute(graph, Degrees(), options).map(_as_strength)
    near = strength.map(partial(_drawn, dimensions=dimensions, random_seed=random_seed))
    total = near.map(partial(_scaled, factor=factors[0]))
    lanes = np.arange(dimensions)
    program: Any = WeightedMeans(lane=lanes, unit=unit) if weighted else Means(lane=lanes)
    for factor in factors[1:]:
        columns = {"vectors": near.column("mean"), "strength": strength.column("strength")}
        near = execute(graph, program, options, columns)
        total = near.with_rounds_before(total).map(partial(_added, factor=factor), total)
    return total


def _as_strength(numbers: np.ndarray, degrees: dict[str, np.ndarray]) -> Any:
    return numbers, {"strength": degrees["out_degree"].astype(np.float64)}


def _drawn(numbers: np.ndarray, _: Any, dimensions: int, random_seed: int) -> Any:
    return numbers, {"mean": random_vectors(numbers, dimensions, random_seed, 1)}


def _scaled(numbers: np.ndarray, values: dict[str, np.ndarray], factor: float) -> Any:
    return numbers, {"embedding": np.float32(factor) * values["mean"]}


def _added(numbers: np.ndarray, values: dict[str, np.ndarray], total: dict[str, np.ndarray], factor: float) -> Any:
    return numbers, {"embedding": total["embedding"] + np.float32(factor) * values["mean"]}
