"""A fit by all workers of a cluster, each with the ratings of its users and items.

Every rating is at both of its ends. Workers update their users, tell the others of them, update their items, and so on;
what must be known of all ratings, such as the error, goes with the same steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.checkpoint.keeper import CheckpointPlan
from dgraph.cluster.workers import threads_of_worker
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.mail import StepReport
from dgraph.exchange.proxy_post import ProxyMail
from dgraph.factors.feedback_fit import fit_of
from dgraph.factors.fit_checkpoints import FitCheckpoints, fit_checkpoints
from dgraph.factors.fit_place import FitPlace
from dgraph.factors.rating_fit import Facts, FitPlan, RatingFit, combined
from dgraph.factors.rating_rows import RatingColumns
from dgraph.options import Checkpoint
from dgraph.partition.partition import Partition
from dgraph.runs.progress import Progress
from dgraph.runs.repartition import neighbourhood_partitions
from dgraph.runs.worker_results import WorkerResult
from dgraph.supersteps.run_steps import run_steps
from dgraph.supersteps.steps import Outcome, Steps


@dataclass
class FitOnWorker:
    """One worker's part of a fit."""

    parts: Sequence[int]
    fit: RatingFit
    running: Facts

    @classmethod
    def begin(
        cls,
        exchange: Exchange,
        partitions: dict[int, Partition],
        plan: FitPlan,
        columns: Sequence[str],
        checkpoints: CheckpointPlan | None,
    ) -> FitOnWorker:
        places = [place_of(one, plan, columns) for one in partitions.values()]
        for place, one in zip(places, partitions.values(), strict=True):
            place.post = ProxyMail(exchange, one)
        fit = fit_of(plan)(plan, places, threads_of_worker())
        fit.worker, fit.workers = exchange.worker, len(exchange.route.workers)
        if checkpoints is not None:
            fit.checkpoints = FitCheckpoints(checkpoints, list(partitions), len(exchange.route.homes))
        return cls(list(partitions), fit, fit.rounds())

    def step(self, number: int, reports: Sequence[StepReport]) -> StepReport:
        for place in self.fit.places:
            place.post.step = number
        try:
            sums = combined([one["facts"] for one in reports]) if number else None
            facts = next(self.running) if sums is None else self.running.send(sums)
        except StopIteration:
            return {"done": True, **self.fit.counts()}
        return {"facts": facts, **self.fit.counts()}

    def finish(self) -> WorkerResult:
        return self.fit.result(self.parts, reports=self.fit.worker == 0)


def place_of(partition: Partition, plan: FitPlan, columns: Sequence[str]) -> FitPlace:
    """The ratings of a partition's users and items; `columns` are the ratings, and perhaps marks."""
    rows = partition.by_source
    values, *marks = (rows.columns[name] for name in columns)
    ratings = RatingColumns(rows.rows().astype(np.uint32), rows.neighbours, values.astype(np.float64))
    marked, test = marks[0] if marks else None, plan.test
    return FitPlace.of(partition.numbers, partition.num_owned, ratings, marked, test, is_feedback=plan.is_feedback)


def spread_fit(
    graph: PartitionedGraph, plan: FitPlan, columns: Sequence[str], option: Checkpoint | None, shown: Progress
) -> tuple[Outcome, CheckpointPlan | None]:
    held = neighbourhood_partitions(graph, columns, ("out",), twice=True, in_order=False, kept=False)
    checkpoints = fit_checkpoints(graph, plan, columns, held, option, twice=True)
    steps = Steps(
        partial(FitOnWorker.begin, plan=plan, columns=tuple(columns), checkpoints=checkpoints),
        FitOnWorker.step,
        FitOnWorker.finish,
        WorkerResult.without_values,
    )
    homes = graph.workers.where(held)
    outcome = run_steps(
        steps, held, client=graph.client, homes=homes, after_chunk=lambda _, tokens: shown.after_chunk(tokens)
    )
    assert outcome is not None, "nothing stops it"
    return outcome, checkpoints
