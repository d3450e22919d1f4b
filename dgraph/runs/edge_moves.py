"""A run whose edges move between supersteps: it ends when all workers find that a move pays, and goes on from what they
have, on partitions in proportion to their measured speed (`run_in_rounds.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dgraph.checkpoint.keeper import arrays_of, globals_of, restore_arrays
from dgraph.checkpoint.piece import NUMBERS, CheckpointPiece, rows_for
from dgraph.engines.rounds import Rounds
from dgraph.errors import OptionError
from dgraph.graph import Graph
from dgraph.partition import policies
from dgraph.plan import Plan
from dgraph.runs.vertex_columns import detach_columns
from dgraph.runs.worker_results import VertexValues, WorkerResult

BUILDING = ("place", "partition", "transpose")  # what a move has to do again
SECONDS_AN_EDGE = 1e-7  # where it is not known how long that took


def check_rebalance(plan: Plan, graph: Graph) -> None:
    """Refuse `rebalance=` where edges cannot move: without common rounds, or where a user's function places them."""
    if not plan.has_rounds:
        raise OptionError(
            f"rebalance=True is not for engine={plan.engine!r}: edges move between common rounds; choose gas or bsp"
        )
    if policies.choose(graph.division.asked.policy, graph.num_parts).owners is not None:
        raise OptionError("rebalance=True is not for a policy that is a function: it says who has which vertices")


def move_cost(graph: Graph) -> float:
    """Seconds that a move takes: as many as the partitions took to build."""
    return sum(graph.listed.watch.seconds.get(step, 0.0) for step in BUILDING) or graph.num_edges * SECONDS_AN_EDGE


class MovedPartition:
    """What a worker goes on from after a move. A plain class, because Dask would look through a tuple for tasks."""

    def __init__(self, given: Any, rows: dict[str, Any]):
        self.given, self.rows = given, rows  # a partition and its columns; and the arrays of its vertices


class PausedResult(WorkerResult):
    """A `WorkerResult` between two rounds: the run is to go on with its edges split into `shares`."""

    def __init__(self, parts: Any, rows: Any, rounds: int, totals: Any, shares: Sequence[float]):
        super().__init__(parts, set(), rows, rounds, totals)
        self.shares = shares

    def without_values(self) -> PausedResult:
        return PausedResult({}, self.rows, self.rounds, self.totals, self.shares)


def paused_result(rounds: Rounds) -> WorkerResult:
    """This worker's part of a `PausedResult`."""
    pieces = {state.partition.index: arrays_of(state) for state in rounds.states}
    parts = {part: VertexValues(arrays.pop(NUMBERS), arrays) for part, arrays in pieces.items()}
    return PausedResult(parts, rounds.log.rows, rounds.round, rounds.globals.values, rounds.pauses.shares)


def move_partition(given: Any, *found: WorkerResult) -> MovedPartition:
    """A new partition, with what matters of its vertices from all parts of the `PausedResult`."""
    partition, _ = detach_columns(given)
    pieces = {
        part: CheckpointPiece({}, one.rounds, part, 0, {NUMBERS: numbers, **arrays})
        for one in found
        for part, (numbers, arrays) in one.parts.items()
    }
    rows = rows_for(pieces, partition.numbers[: partition.num_owned], "a run whose edges move")
    return MovedPartition(given, rows | globals_of(found[0].totals))


def resumption(carried: dict[int, MovedPartition], round: int) -> Callable[[Rounds], None]:
    """The function that puts the arrays of `move_partition` into new states, which go on after a round."""

    def resume(rounds: Rounds) -> None:
        restore_arrays(rounds, round, [carried[state.partition.index].rows for state in rounds.states])
        if rounds.pauses.keeper is not None:
            rounds.pauses.keeper.last = round

    return resume
