"""How many pairs of vertices are within each distance, estimated by HyperBall (`solvers/balls.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd
from numpy import float64, int64, uint8

from dgraph.arguments import check_choice, check_integer, known_options
from dgraph.cluster.retry import retry_on_loss
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.ops.balls import estimate, first_balls, is_empty, program_of, share, standard_error
from dgraph.partition.partition import Partition
from dgraph.programs.monoid import MAX, SUM
from dgraph.programs.program import Global, Message, Parameter, State, VertexColumn, VertexProgram
from dgraph.programs.syntax import total
from dgraph.runs.execution import execute
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.balls import sizes_by_distance

LEAST, MOST = 4, 16  # logarithms of the number of registers
SHARE = 0.9  # of all pairs, for the effective diameter


@dataclass(frozen=True, eq=False)
class NeighborhoodFunction:
    """How many pairs of vertices are within each distance. `dgraph.neighborhood_function` makes it.

    Attributes
    ----------
    pairs : pandas.DataFrame
        For each ``distance`` from 0 on, the estimated number of ordered ``pairs`` of vertices of which the second is at
        most so far from the first; each vertex is a pair with itself.
    effective_diameter : float
        The distance, interpolated, within which 90 % of the pairs are that have any.
    mean_distance : float
        The mean distance of pairs of two vertices of which the first reaches the second; 0 without such pairs.
    error : float
        The standard error of the estimate of one vertex's reach, relative to it. That of a sum over vertices is less,
        but not by as much as for independent estimates.
    """

    pairs: pd.DataFrame = field(repr=False)
    effective_diameter: float
    mean_distance: float
    error: float


class Balls(VertexProgram):
    """The union of a vertex's set with those of its out-neighbours, and the sum of the sizes of all."""

    operation = "neighborhood_function"
    kind = "synchronous"
    along = "in"
    registers = State(uint8, shape="lane")
    message = Message(uint8, MAX, shape="lane")
    known = VertexColumn(uint8, shape="lane")
    lane = Parameter(int64, shape=...)
    width = Parameter(int64)

    def send(known):
        return known

    def apply(message, known):
        return max(message, known)

    def stop(round):
        return round >= 1

    @Global(int64, SUM)
    def grown(registers, known):
        return 1 if registers != known else 0

    @Global(float64, SUM)
    def size(registers, width):
        return estimate(total(share, registers, registers), total(is_empty, registers, registers), width)


class BallsBack(Balls):
    along = "out"


@known_options(runs=True)
def neighborhood_function(
    graph: Graph, *, log2m: int = 8, direction: Literal["out", "in"] = "out", random_seed: int = 0
) -> NeighborhoodFunction:
    """Number of pairs of vertices within each distance, estimated.

    Parameters
    ----------
    graph : Graph
        The graph.
    log2m : int, default 8
        The logarithm of the number of registers that each vertex has: one more halves the variance of estimates, and
        doubles time and memory.
    direction : {"out", "in"}, default "out"
        Along which edges of a directed graph distances are.
    random_seed : int, default 0
        Seed of the random number generator, which hashes the vertices.

    Returns
    -------
    NeighborhoodFunction
        A table of pairs by distance, the effective diameter, the mean distance, and the error.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Examples
    --------
    >>> found = dg.neighborhood_function(dg.grid(rows=30, cols=30, removed=0), log2m=10)
    >>> float(found.pairs["pairs"][0]), abs(found.mean_distance - 20) < 1
    (900.0, True)
    """
    check_integer("log2m", log2m, LEAST, MOST)
    check_choice("direction", direction, ("out", "in"))
    seed = RunOptions(random_seed=random_seed).random_seed
    sums = _sums(graph, log2m, direction, seed)
    return _function(sums, standard_error(log2m))


@retry_on_loss
def _sums(graph: Graph, log2m: int, direction: str, random_seed: int) -> list[float]:
    """The sums of the estimates of all vertices, for each distance from 1 on until nothing changes."""
    if graph.num_parts > 1:
        return [graph.num_vertices, *_by_steps(graph, log2m, direction, random_seed)]
    order = "out" if direction == "out" or not graph.directed else "incoming"
    (partition,) = graph.partitioned((order,)).held
    how = order, log2m, random_seed, graph.workers.threads
    (found,) = graph.workers.bring(graph.workers.each(_of_partition, [(partition, *how)]))
    return [graph.num_vertices, *found]


@explain_lack_of_memory("the sketches of all vertices", "let them grow")
def _of_partition(partition: Partition, order: str, log2m: int, random_seed: int, threads: int) -> list[float]:
    rows = partition.out if order == "out" else partition.incoming
    assert rows is not None
    looks = (rows.num_edges + partition.num_owned) << max(log2m - 4, 0)
    threads = worthwhile_threads(threads, looks)

    def by_team() -> list[float]:
        sizes = sizes_by_distance(rows, partition.numbers, log2m, random_seed, threads)
        return [float(one.sum()) for one in sizes][1:]

    return call_team(threads, by_team, looks)


def _by_steps(graph: Graph, log2m: int, direction: str, random_seed: int) -> Iterator[float]:
    """With several partitions, each distance is a run of a vertex program."""
    program, options = program_of((Balls, BallsBack), direction, log2m), RunOptions()
    near = first_balls(graph, log2m, random_seed, options)
    while graph.num_vertices:
        near = execute(graph, program, options, {"known": near.column("registers")})
        if not near.totals["grown"]:
            return
        yield near.totals["size"]


def _function(sums: list[float], error: float) -> NeighborhoodFunction:
    pairs = np.maximum.accumulate(np.array(sums, float))
    table = pd.DataFrame({"distance": np.arange(len(pairs)), "pairs": pairs})
    found = np.diff(pairs)
    mean = float((found * np.arange(1, len(pairs))).sum() / found.sum()) if found.sum() > 0 else 0.0
    wanted = SHARE * pairs[-1]
    place = int(np.searchsorted(pairs, wanted))
    if place == 0:
        return NeighborhoodFunction(table, 0.0, mean, error)
    share = (wanted - pairs[place - 1]) / (pairs[place] - pairs[place - 1])
    return NeighborhoodFunction(table, float(place - 1 + share), mean, error)
