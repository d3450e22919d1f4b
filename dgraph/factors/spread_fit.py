"""A fit by all workers of a cluster, each with the ratings of its users and items.

Every rating is at both of its ends, as any edge of an undirected graph is. Workers update their users, tell the others
of them, update their items, and so on; what must be known of all ratings, such as the error, goes with the same steps.
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
from dgraph.factors.gpu_updates import PieceQueue
from dgraph.factors.rating_fit import Facts, FitPlan, RatingFit, combined
from dgraph.factors.rating_rows import RatingColumns
from dgraph.factors.rating_sides import SideSearch, settle_together
from dgraph.options import Checkpoint, Cuda
from dgraph.partition.adjacency import Adjacency
from dgraph.partition.partition import Partition
from dgraph.runs.progress import Progress
from dgraph.runs.repartition import neighbourhood_partitions, row_partitions
from dgraph.runs.worker_results import WorkerResult
from dgraph.supersteps.run_steps import run_steps
from dgraph.supersteps.steps import Outcome, Steps


@dataclass
class FitOnWorker:
    """One worker's part of a fit."""

    partitions: dict[int, Partition]
    posts: list[ProxyMail]
    fit: RatingFit
    running: Facts

    @classmethod
    def begin(
        cls,
        exchange: Exchange,
        partitions: dict[int, Partition],
        plan: FitPlan,
        columns: Sequence[str],
        order: str,
        directed: bool,
        checkpoints: CheckpointPlan | None,
        cuda: Cuda | None,
    ) -> FitOnWorker:
        posts = [ProxyMail(exchange, one) for one in partitions.values()]
        fit = fit_of(plan)(plan, [], threads_of_worker())
        fit.queue = PieceQueue.of(cuda)
        fit.worker, fit.workers = exchange.worker, len(exchange.route.workers)
        if checkpoints is not None:
            fit.checkpoints = FitCheckpoints(checkpoints, list(partitions), len(exchange.route.homes))
        return cls(partitions, posts, fit, _rounds(fit, posts, columns, order, directed))

    def step(self, number: int, reports: Sequence[StepReport]) -> StepReport:
        for post in self.posts:
            post.step = number
        try:
            sums = combined([one["facts"] for one in reports]) if number else None
            facts = next(self.running) if sums is None else self.running.send(sums)
        except StopIteration:
            return {"done": True, **self.fit.counts()}
        return {"facts": facts, **self.fit.counts()}

    def finish(self) -> WorkerResult:
        if self.fit.checkpoints is not None:
            self.fit.checkpoints.close()
        return self.fit.result(list(self.partitions), reports=self.fit.worker == 0)


def _rounds(fit: RatingFit, posts: Sequence[ProxyMail], columns: Sequence[str], order: str, directed: bool) -> Facts:
    """Give a fit the ratings of a worker's users and items, once it is known who rates whom, and run it. `columns` are
    the ratings, and perhaps marks. In an undirected graph, the rows of a partition are those of its own vertices."""
    searches: list[SideSearch] = []
    if not directed:
        searches = [SideSearch(*_ends(post.partition, order), post.partition.numbers) for post in posts]
        yield from settle_together(searches, posts)
    for place, post in enumerate(posts):
        partition, table = post.partition, _table(post.partition, order)
        u, v = _ends(partition, order)
        values, *marks = (table.columns[name] for name in columns)
        if not directed:
            is_item = searches[place].is_item()
            once = ~is_item[u] | (v >= partition.num_owned)  # if both ends are owned, both list the edge
            u, v, values, *marks = (one[once] for one in (u, v, values, *marks))
            u, v = np.where(is_item[u], v, u), np.where(is_item[u], u, v)
        ratings, test = RatingColumns(u, v, values.astype(np.float64)), fit.plan.test
        how = ratings, marks[0] if marks else None, test
        found = FitPlace.of(partition.numbers, partition.num_owned, *how, is_feedback=fit.plan.is_feedback)
        found.post = post
        fit.places.append(found)
    del searches
    yield from fit.rounds()


def _table(partition: Partition, order: str) -> Adjacency:
    table = partition.out if order == "out" else partition.incoming
    assert table is not None, "built with this order"
    return table


def _ends(partition: Partition, order: str) -> tuple[np.ndarray, np.ndarray]:
    """The ends of all edges, that of the row first."""
    table = _table(partition, order)
    return table.rows().astype(np.uint32), table.neighbours


def spread_fit(
    graph: PartitionedGraph,
    plan: FitPlan,
    columns: Sequence[str],
    option: Checkpoint | None,
    cuda: Cuda | None,
    shown: Progress,
) -> tuple[Outcome, CheckpointPlan | None]:
    order = "out"
    if graph.directed:
        held = neighbourhood_partitions(graph, columns, (order,), twice=True, in_order=False, kept=False)
    else:
        held, order = row_partitions(graph, order, columns)
    checkpoints = fit_checkpoints(graph, plan, columns, held, option, twice=graph.directed)
    begin = partial(FitOnWorker.begin, plan=plan, columns=tuple(columns))
    steps = Steps(
        partial(begin, order=order, directed=graph.directed, checkpoints=checkpoints, cuda=cuda),
        FitOnWorker.step,
        FitOnWorker.finish,
        WorkerResult.without_values,
        title="factorize",
    )
    homes = graph.workers.where(held)
    outcome = run_steps(
        steps, held, client=graph.client, homes=homes, after_chunk=lambda _, tokens: shown.after_chunk(tokens)
    )
    assert outcome is not None, "nothing stops it"
    return outcome, checkpoints
