"""Sums over the distances from all vertices by HyperBall (Boldi and Vigna, 2013): sketches of the sets of vertices
within each distance grow round by round. On one partition `solvers/balls.py` does the work, on several a program.
"""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

import numpy as np
from numpy import float64, int64, uint8

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.ops.degrees import Degrees
from dgraph.partition.partition import Partition
from dgraph.programs.monoid import MAX
from dgraph.programs.program import Message, Parameter, Result, State, VertexColumn, VertexProgram
from dgraph.programs.syntax import total
from dgraph.runs.execution import execute, recoverable_result
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions
from dgraph.runs.worker_results import VertexValues, WorkerResult, single_call_row
from dgraph.solvers.balls import ball_sums, first_registers

ERROR = 1.04  # the standard error of an estimate is ERROR / √registers
LOG2M = 8  # the logarithm of the number of registers of a sketch


def standard_error(log2m: int) -> float:
    """The standard error of the estimated size of a set, relative to it, with 2**log2m registers."""
    return float(ERROR / np.sqrt(1 << log2m))


def share(a, b):
    """What a register of the union of two sets adds to the sum of which the estimate is made."""
    larger = max(a, b)
    return 1.0 / (1 << larger) if larger > 0 else 0.0


def is_empty(a, b):
    return 1 if a == 0 and b == 0 else 0


def estimate(shares, empty, width):
    """The estimated size of a set, as in `solvers/balls.py`."""
    if empty == width:
        return 0.0
    x, factor, before = empty / width, 1.0, -1.0
    sigma = x
    while sigma != before:
        x, before = x * x, sigma
        sigma += x * factor
        factor += factor
    return width * width / (2 * math.log(2.0) * (shares + width * sigma))


def program_of(kinds: tuple[Any, Any], direction: str, log2m: int) -> VertexProgram:
    """The program for the distances from vertices, which is first, or to them."""
    width = 1 << log2m
    return kinds[direction != "out"](lane=np.arange(width), width=width)


def first_balls(graph: PartitionedGraph, log2m: int, random_seed: int, options: RunOptions) -> RunResult:
    """A result whose column `registers` has the sketch of each vertex alone."""

    def seeded(numbers: np.ndarray, _: Any) -> Any:
        return numbers, {"registers": first_registers(numbers, log2m, random_seed)}

    return execute(graph, Degrees(), options).map(seeded)


class BallSums(VertexProgram):
    """Sums over the distances from each vertex, made of the sizes of its set after each round."""

    operation = "closeness"
    kind = "synchronous"
    along = "in"
    registers = State(uint8, shape="lane")
    size = State(float64)
    found = State(float64)
    distances = State(float64)
    inverses = State(float64)
    message = Message(uint8, MAX, shape="lane")
    known = VertexColumn(uint8, shape="lane")
    lane = Parameter(int64, shape=...)
    width = Parameter(int64)

    def start(known, width):
        return known, estimate(total(share, known, known), total(is_empty, known, known), width), 0.0, 0.0, 0.0

    def send(registers):
        return registers

    def apply(registers, size, found, distances, inverses, message, width, round, component):
        grown = 0.0
        if component == 0:  # scalars are those of component 0
            shares, empty = total(share, registers, message), total(is_empty, registers, message)
            grown = estimate(shares, empty, width) - size
        return max(registers, message), size + grown, found + grown, distances + grown * round, inverses + grown / round

    @Result(float64)
    def reached(found):
        return found

    @Result(float64)
    def total(distances):
        return distances

    @Result(float64)
    def inverse(inverses):
        return inverses


class BallSumsBack(BallSums):
    along = "out"


def sketched_sums(graph: Graph, numbers: np.ndarray, along: str, options: RunOptions) -> RunResult:
    """The sums of the vertices with these numbers, which have a column for each field of `DistanceSums`."""
    if graph.num_parts == 1:
        return recoverable_result(graph, partial(_solved, numbers=numbers, along=along, seed=options.random_seed))
    program = program_of((BallSums, BallSumsBack), along, LOG2M)

    def work(graph: PartitionedGraph) -> RunResult:
        first = first_balls(graph, LOG2M, options.random_seed, options)
        found = execute(graph, program, options, {"known": first.column("registers")}).with_rounds_before(first)
        return found.map(partial(_chosen, chosen=numbers))

    return recoverable_result(graph, work)  # which makes the sketches again if it must


def _chosen(numbers: np.ndarray, sums: dict[str, np.ndarray], chosen: np.ndarray) -> Any:
    here = np.isin(numbers, chosen)
    return numbers[here], {name: values[here] for name, values in sums.items()}


def _solved(graph: Graph, numbers: np.ndarray, along: str, seed: int) -> RunResult:
    held = graph.partitioned((along,)).held
    how = numbers, along, seed, graph.workers.threads
    results = graph.workers.wait(graph.workers.each(_whole, [(held[0], *how)]))
    return RunResult(graph, results, [], {"engine": "local", "device": "cpu"})


@explain_lack_of_memory("the sketches of all vertices", "let them grow")
def _whole(partition: Partition, chosen: np.ndarray, along: str, seed: int, threads: int) -> WorkerResult:
    """All the work in one task, for a graph with one partition."""
    rows = partition.out if along == "out" else partition.incoming
    assert rows is not None
    looks = (rows.num_edges + partition.num_owned) << LOG2M - 4
    threads = worthwhile_threads(threads, looks)

    def by_team() -> WorkerResult:
        begun = time.perf_counter()
        sums, rounds = ball_sums(rows, partition.numbers, LOG2M, seed, threads)
        report = [single_call_row(len(chosen), rounds * rows.num_edges, time.perf_counter() - begun)]
        values = {name: one[chosen] for name, one in sums._asdict().items()}
        return WorkerResult({0: VertexValues(partition.numbers[chosen], values)}, set(), report, 1, {})

    return call_team(threads, by_team, looks)
