"""Moves edges between supersteps of a run. The run pauses when all workers find that a move pays, and continues from
their state on new partitions, sized in proportion to the workers' measured speed (`run_in_rounds.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.checkpoint.keeper import arrays_of, globals_of, restore_arrays
from dgraph.checkpoint.piece import NUMBERS, CheckpointPiece, rows_for
from dgraph.engines.rounds import Rounds
from dgraph.errors import OptionError
from dgraph.plan import Plan
from dgraph.runs.vertex_columns import unpack
from dgraph.runs.worker_results import VertexValues, WorkerResult

BUILD_STEPS = ("place", "partition", "transpose")  # the steps that a move repeats
SECONDS_AN_EDGE = 1e-7  # the assumed time of a move, if those steps were not timed


def check_rebalance(plan: Plan, graph: PartitionedGraph) -> None:
    """Reject `rebalance=True` if edges cannot move: without rounds, or if the user's function places them."""
    if not plan.has_rounds:
        raise OptionError(
            f"rebalance=True is not available with engine={plan.engine!r}: edges can be moved only between rounds that "
            "all workers run in step; choose gas or bsp"
        )
    if callable(graph.cut.owners):
        raise OptionError(
            "rebalance=True and a function as the policy are mutually exclusive: the function decides who owns a vertex"
        )


def move_cost(graph: PartitionedGraph) -> float:
    """The estimated seconds of a move, which equal the time that it took to build the partitions."""
    return (
        sum(graph.input_edges.stopwatch.seconds.get(step, 0.0) for step in BUILD_STEPS)
        or graph.num_edges * SECONDS_AN_EDGE
    )


class ResumePoint:
    """What a partition continues from after a move. This is a plain class because Dask searches tuples for tasks."""

    def __init__(self, share: Any, rows: dict[str, Any]):
        self.share, self.rows = share, rows  # the partition with its columns, and the arrays of its vertices


def paused(rounds: Rounds) -> WorkerResult:
    """The state of this worker's partitions at a pause."""
    pieces = {state.partition.index: arrays_of(state) for state in rounds.states}
    parts = {part: VertexValues(arrays.pop(NUMBERS), arrays) for part, arrays in pieces.items()}
    rows, totals = rounds.log.rows, rounds.globals.values
    return WorkerResult(parts, set(), rows, rounds.round, totals, shares=rounds.shares)


def move_partition(share: Any, *results: WorkerResult) -> ResumePoint:
    """A new partition with the state of its vertices, taken from the results of all workers."""
    partition, _ = unpack(share)
    pieces = {
        part: CheckpointPiece({}, one.rounds, part, 0, {NUMBERS: numbers, **arrays})
        for one in results
        for part, (numbers, arrays) in one.parts.items()
    }
    rows = rows_for(pieces, partition.numbers[: partition.num_owned], "a run whose edges move")
    return ResumePoint(share, rows | globals_of(results[0].totals))


def resume_after_move(carried: dict[int, ResumePoint], round: int) -> Callable[[Rounds], None]:
    """A function that puts the arrays of `move_partition` into new states, which continue after a round."""

    def resume(rounds: Rounds) -> None:
        restore_arrays(rounds, round, [carried[state.partition.index].rows for state in rounds.states])
        if rounds.keeper is not None:
            rounds.keeper.last = round

    return resume
