"""The work of each worker in a run: it sets up the states of its partitions, takes supersteps, and returns results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

import numpy as np

from dgraph.agents.agent import Connection, agent_of
from dgraph.arguments import AUTO
from dgraph.checkpoint.keeper import CheckpointKeeper, CheckpointPlan, arrays_of, globals_of, restore_arrays
from dgraph.checkpoint.piece import NUMBERS, CheckpointPiece, rows_for
from dgraph.cluster.workers import threads_of_worker
from dgraph.codegen.recipe import Recipe
from dgraph.devices.cpu import Cpu
from dgraph.devices.probe import CPU, CUDA, default_device
from dgraph.engines.local_methods.local_rounds import LocalRounds
from dgraph.engines.rebalance_decision import RebalanceDecision
from dgraph.engines.round_limits import Patience
from dgraph.engines.rounds import Rounds, Superstep
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.mail import StepReport
from dgraph.exchange.proxy_post import ProxyMail, opened
from dgraph.exchange.worker_post import MANY, WorkerPost
from dgraph.partition.partition import Partition
from dgraph.runs.plan import Plan
from dgraph.runs.worker_results import VertexValues, WorkerResult, has_missing_vertex
from dgraph.supersteps.steps import Steps
from dgraph.tables.edge_tables import EdgeTables
from dgraph.vertex_state.partition_state import COUNTERS, PartitionState
from dgraph.vertex_state.synchronous_state import KERNEL, RecountState, SynchronousState


@dataclass(frozen=True)
class WorkerJob:
    """What a worker needs to know about the run, apart from its partitions. A job is sent to the workers, and its
    methods are the `Steps` of the run."""

    recipes: Mapping[str, Recipe]  # by device
    plan: Plan
    directed: bool
    vertices: int
    columns: dict[str, tuple[str, str]]  # edge columns: {name in the program: (name in the graph, dtype)}
    threads: int | None  # threads per partition; None for all threads of the worker, whose partitions then take turns
    patience: Patience | None = None  # for a program that may never end
    checkpoints: CheckpointPlan | None = None
    cost: float | None = None  # seconds to move edges; None if they must not move
    round: int = 0  # the round to continue from, if edges have moved
    gpus: frozenset[str] = frozenset()  # the workers that run kernels on a GPU
    title: str = ""  # of the program

    @property
    def steps(self) -> Steps:
        return Steps(
            self.setup,
            self.step,
            self.finish,
            methodcaller("without_values"),
            waits_within_steps=self.plan.free,
            title=self.title,
            counts=WorkerRun.counts,
        )

    def setup(self, end: Exchange, partitions: Mapping[int, Any]) -> WorkerRun:
        carried = {part: one for part, one in partitions.items() if isinstance(one, ResumePoint)}
        device = default_device() if self.plan.device == AUTO else self.plan.device
        many = len(end.route.homes) >= MANY * len(set(end.route.homes))
        alike = self.plan.device == CPU or not self.gpus  # what is on a device goes to each partition by itself
        shared = WorkerPost(end, opened) if many and alike else None
        states = [
            self._state(end, device, shared, carried[part].share if part in carried else one)
            for part, one in partitions.items()
        ]
        alone, recipe = len(end.route.workers) == 1, self.recipes[device]
        keeper = (
            None
            if self.checkpoints is None
            else CheckpointKeeper(self.checkpoints, self.checkpoints.store.on_worker(end))
        )
        rebalance = None if self.cost is None or alone else RebalanceDecision(states, self.cost, self.round)
        kind = LocalRounds if self.plan.local_method else Rounds
        rounds = kind(
            states,
            recipe,
            directed=self.directed,
            alone=alone,
            limit=self.plan.max_rounds,
            patience=self.patience,
            keeper=keeper,
            rebalance=rebalance,
            resume=self._resume(carried, keeper),
        )
        return WorkerRun(rounds, self.plan.begun(rounds))

    def _resume(
        self, carried: dict[int, ResumePoint], keeper: CheckpointKeeper | None
    ) -> Callable[[Rounds], None] | None:
        """A function that restores the states after edges have moved, or from a checkpoint; None if the run starts
        from the beginning."""
        if carried:
            return resume_after_move(carried, self.round)
        return keeper.restore if keeper is not None and keeper.plan.round else None

    def _state(self, end: Exchange, device: str, shared: WorkerPost | None, share: Any) -> PartitionState:
        partition, columns = unpack(share)
        worker, threads = end.route.workers[end.worker], self.threads or threads_of_worker()
        recipe, switches = self.recipes[device], self.plan.round_options
        settings, lazy = self.plan.settings, switches.lazy_upload
        if device == CPU and not settings.daemons:
            connection: Connection = Cpu(recipe.kernels, threads)
        else:
            connection = agent_of(worker).connect(
                recipe, partition.num_local, settings, device=device, worker=end.worker, threads=threads, lazy=lazy
            )
        edges = EdgeTables(partition, self.directed, self.columns, threads, recipe.analysis.draws)
        direct = frozenset[int]()
        if device == CUDA and switches.changed_only:  # if not, the host must see which copies change
            direct = frozenset(part for part in range(partition.parts) if end.takes_gpu_arrays(part, self.gpus))
        post = ProxyMail(end, partition, direct, shared)
        parts = edges, recipe, connection, post, switches, self.vertices, columns
        method = self.plan.local_method
        if method is not None:
            return method.state(method, *parts)
        if not recipe.analysis.synchronous:
            return PartitionState(*parts)
        both_ways = not self.directed or recipe.analysis.phases[0].along == "both"
        recounts = both_ways and switches.active_only and KERNEL in recipe.source.kernels
        return (RecountState if recounts and isinstance(connection, Cpu) else SynchronousState)(*parts)

    def step(self, running: WorkerRun, step: int, reports: list[StepReport]) -> StepReport:
        rounds = running.rounds
        for state in rounds.states:
            state.post.step = step
        try:
            return next(running.engine) if step == 0 else running.engine.send(reports)
        except StopIteration:
            return {**rounds.tell(), "done": True}

    def finish(self, running: WorkerRun) -> WorkerResult:
        """The results of this worker's partitions, and the rows of the report."""
        rounds = running.rounds
        if rounds.keeper is not None:
            rounds.keeper.close()
        result = paused(rounds) if rounds.shares else self._result(rounds)
        for state in rounds.states:
            state.agent.disconnect()
        return result

    def _result(self, rounds: Rounds) -> WorkerResult:
        parts, missing = {}, set()
        for state in rounds.states:
            results = state.results()
            missing |= {n for n in rounds.analysis.vertex_results if has_missing_vertex(results[n], self.vertices)}
            parts[state.partition.index] = VertexValues(state.partition.numbers[: state.n], results)
        totals = rounds.analysis.totals(rounds.globals.values)
        return WorkerResult(parts, missing, rounds.log.rows, rounds.round, totals, rounds.log.found_end_in)


@dataclass
class WorkerRun:
    """What a worker keeps between steps."""

    rounds: Rounds
    engine: Superstep

    def counts(self) -> dict[str, Any]:
        """What the partitions have done so far, for the live page."""
        rounds = self.rounds
        sums = {what: sum(int(state.total[what]) for state in rounds.states) for what in COUNTERS}
        residuals = [row["residual"] for row in rounds.log.rows[-len(rounds.states) :] if "residual" in row]
        return {"round": rounds.round, **sums, **({"residual": float(sum(residuals))} if residuals else {})}


def unpack(share: Any) -> tuple[Partition, dict[str, np.ndarray]]:
    """The partition and its vertex columns, from an item of what `attach_columns` returns."""
    return share if isinstance(share, tuple) else (share, {})


# -- edges that move between two rounds --------------------------------------------------------------------------------


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
