"""A run in rounds, as its client sees it: all workers take steps until the run is over; where edges move
meanwhile, it goes on from there on new partitions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dgraph.devices.probe import CPU
from dgraph.exchange.mail import Token
from dgraph.graph import Graph
from dgraph.native import threads
from dgraph.runs.edge_moves import PausedResult, move_partition
from dgraph.runs.job import WorkerJob
from dgraph.runs.one_worker_finish import OneWorkerFinish
from dgraph.runs.progress import Progress
from dgraph.runs.repartition import by_shares
from dgraph.runs.vertex_columns import GivenColumns, attach_columns
from dgraph.runs.worker_results import WorkerResult
from dgraph.supersteps.steps import CHUNK, Outcome, run_steps


@dataclass(frozen=True)
class RoundsDriver:
    """What the client needs on the way."""

    graph: Graph
    job: WorkerJob
    columns: GivenColumns
    homes: Sequence[str] | None
    shown: Progress
    gathering: OneWorkerFinish

    def to_the_end(self, given: Sequence[Any]) -> tuple[Outcome, list[WorkerResult], list[str]]:
        """Run on partitions and their columns, with as many moves of edges as pay. Returns the last outcome, what the
        workers told, and a line for each move."""
        outcome, workers = self.steps(given, 0), self.graph.workers
        lines: list[str] = []
        rows: list[dict[str, Any]] = []  # of the report, before the last move
        while isinstance(first := outcome.summaries[0], PausedResult):
            begun = time.perf_counter()
            rows += [row for one in outcome.summaries for row in one.rows]
            rebuilt = self.rebuild_partitions(first.shares)
            given = workers.wait(workers.hold([workers.call(move_partition, one, *outcome.results) for one in rebuilt]))
            split = " : ".join(f"{share / sum(first.shares):.0%}" for share in first.shares)
            seconds = time.perf_counter() - begun
            lines.append(f"after superstep {first.rounds} to {split} of the work, in {seconds:.2g} s")
            outcome = self.steps(given, first.rounds)
        first.rows = rows + first.rows
        return outcome, outcome.summaries, lines

    def steps(self, given: Sequence[Any], round: int) -> Outcome:
        """All steps of the workers from a round on, until the run is over or edges are to move."""
        client, plan = self.graph.client, self.job.plan
        return run_steps(
            replace(self.job, round=round).steps,
            given,
            client=client,
            homes=self.homes,
            threads=threads.cores(),
            chunk=1 if self.shown.active and client is None else CHUNK,
            exact=self.shown.active,
            after_chunk=self.after_chunk,
            exchange=plan.exchange,
            fuse=True if plan.free else None,
        )

    def after_chunk(self, steps: int, tokens: Sequence[Token]) -> int | None:
        """Called with what all workers have told after so many steps: returns how many more to take at most."""
        self.shown.after_chunk(tokens)
        return self.gathering.look(steps, tokens)

    def rebuild_partitions(self, shares: Sequence[float]) -> Sequence[Any]:
        """Partitions with given shares of the edges, and their columns."""
        graph, plan, analysis = self.graph, self.job.plan, self.job.recipes[CPU].analysis
        orders, names = plan.orders(analysis, graph.directed), dict(self.job.columns.values())
        held = by_shares(graph, tuple(names), orders, plan.switches, shares)
        return attach_columns(graph, analysis, held, self.columns, graph.workers.where(held), anew=True)
