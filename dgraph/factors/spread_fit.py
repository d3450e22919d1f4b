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
from dgraph.cluster.workers import threads_of_worker
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.mail import StepReport
from dgraph.exchange.proxy_post import ProxyMail
from dgraph.factors.fit_place import FitPlace
from dgraph.factors.rating_fit import Facts, FitPlan, RatingFit, combined
from dgraph.factors.rating_rows import RatingColumns
from dgraph.partition.partition import Partition
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
        cls, exchange: Exchange, partitions: dict[int, Partition], plan: FitPlan, columns: Sequence[str]
    ) -> FitOnWorker:
        places = [place_of(one, plan, columns) for one in partitions.values()]
        for place, one in zip(places, partitions.values(), strict=True):
            place.post = ProxyMail(exchange, one)
        fit = RatingFit(plan, places, threads_of_worker())
        fit.leads = exchange.worker == 0
        return cls(list(partitions), fit, fit.rounds())

    def step(self, number: int, reports: Sequence[StepReport]) -> StepReport:
        for place in self.fit.places:
            place.post.step = number
        try:
            return next(self.running) if number == 0 else self.running.send(combined(reports))
        except StopIteration:
            return {"done": True}

    def finish(self) -> WorkerResult:
        return self.fit.result(self.parts, reports=self.fit.leads)


def place_of(partition: Partition, plan: FitPlan, columns: Sequence[str]) -> FitPlace:
    """The ratings of a partition's users and items; `columns` are the ratings, and perhaps marks."""
    rows = partition.by_source
    values, *marks = (rows.columns[name] for name in columns)
    ratings = RatingColumns(rows.rows().astype(np.uint32), rows.neighbours, values.astype(np.float64))
    return FitPlace.of(partition.numbers, partition.num_owned, ratings, marks[0] if marks else None, plan.test)


def spread_fit(graph: PartitionedGraph, plan: FitPlan, columns: Sequence[str]) -> Outcome:
    held = neighbourhood_partitions(graph, columns, ("out",), twice=True, in_order=False, kept=False)
    steps = Steps(
        partial(FitOnWorker.begin, plan=plan, columns=tuple(columns)),
        FitOnWorker.step,
        FitOnWorker.finish,
        WorkerResult.without_values,
    )
    outcome = run_steps(steps, held, client=graph.client, homes=graph.workers.where(held))
    assert outcome is not None, "nothing stops it"
    return outcome
