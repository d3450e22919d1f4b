"""What each worker of a run does: it makes states of its partitions, takes their supersteps, and hands over the
answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

from dgraph.agents.agent import agent_of
from dgraph.checkpoint.keeper import CheckpointKeeper, CheckpointSettings
from dgraph.cluster.workers import threads_of_worker
from dgraph.codegen.recipe import Recipe
from dgraph.devices.probe import CUDA, device_here
from dgraph.engines.local_methods.contraction import ContractionState
from dgraph.engines.local_methods.diffusion import DiffusionState
from dgraph.engines.local_methods.local_rounds import LocalRounds
from dgraph.engines.local_methods.peeling import PeelingState
from dgraph.engines.local_methods.settlement import SettlementState
from dgraph.engines.pauses import Pauses
from dgraph.engines.rebalance_decision import RebalanceDecision
from dgraph.engines.rounds import Rounds, Superstep
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.mail import TokenValues
from dgraph.exchange.proxy_post import ProxyMail
from dgraph.options import AUTO
from dgraph.plan import Plan
from dgraph.runs import edge_moves
from dgraph.runs.edge_moves import MovedPartition
from dgraph.runs.run_inputs import vertex_columns_of
from dgraph.runs.vertex_columns import detach_columns
from dgraph.runs.worker_results import VertexValues, WorkerResult, has_missing_vertex
from dgraph.solvers.solver import ContractionMethod, DiffusionMethod, LocalMethod, PeelingMethod, SettlementMethod
from dgraph.supersteps.steps import Steps
from dgraph.tables.edge_tables import EdgeTables
from dgraph.vertex_state.partition_state import PartitionState
from dgraph.vertex_state.recount import RecountState, can_recount
from dgraph.vertex_state.synchronous_state import SynchronousState

STATES: Mapping[type[LocalMethod], Callable[..., PartitionState]] = {
    SettlementMethod: SettlementState,
    ContractionMethod: ContractionState,
    PeelingMethod: PeelingState,
    DiffusionMethod: DiffusionState,
}


@dataclass(frozen=True)
class WorkerJob:
    """What a worker must know of the run beside its partitions: a value that travels. Its methods are the `Steps` of
    the run."""

    recipes: Mapping[str, Recipe]  # by device
    plan: Plan
    directed: bool
    vertices: int
    columns: dict[str, tuple[str, str]]  # of edges: what the program calls them -> the graph's name, and the dtype
    threads: int | None  # as many as the worker has, whose partitions take turns
    checkpoints: CheckpointSettings | None = None
    cost: float | None = None  # seconds to move edges, where that may be done
    round: int = 0  # that the run goes on from, if edges have moved
    gpus: frozenset[str] = frozenset()  # the workers that run kernels on one

    @property
    def steps(self) -> Steps:
        return Steps(self.setup, self.step, self.finish, methodcaller("without_values"), meets=self.plan.free)

    def setup(self, end: Exchange, partitions: Mapping[int, Any]) -> WorkerRun:
        carried = {part: one for part, one in partitions.items() if isinstance(one, MovedPartition)}
        device = device_here() if self.plan.device == AUTO else self.plan.device
        states = [
            self._state(end, device, carried[part].given if part in carried else one)
            for part, one in partitions.items()
        ]
        alone, recipe = len(end.route.workers) == 1, self.recipes[device]
        keeper = (
            None if self.checkpoints is None else CheckpointKeeper(self.checkpoints, self.checkpoints.store.at(end))
        )
        rebalance = None if self.cost is None or alone else RebalanceDecision(states, self.cost, self.round)
        pauses = Pauses(keeper, rebalance, self._resume(carried, keeper))
        limit, directed = self.plan.max_rounds, self.directed
        kind = LocalRounds if self.plan.local_method else Rounds
        rounds = kind(states, recipe, directed=directed, alone=alone, limit=limit, pauses=pauses)
        return WorkerRun(rounds, self.plan.begun(rounds))

    def _resume(
        self, carried: dict[int, MovedPartition], keeper: CheckpointKeeper | None
    ) -> Callable[[Rounds], None] | None:
        """The function that puts the states where the run was, after edges have moved or from a checkpoint; None if the
        run begins."""
        if carried:
            return edge_moves.resumption(carried, self.round)
        return keeper.restore if keeper is not None and keeper.kept.round else None

    def _state(self, end: Exchange, device: str, given: Any) -> PartitionState:
        partition, columns = detach_columns(given)
        worker, threads = end.route.workers[end.worker], self.threads or threads_of_worker()
        recipe, switches = self.recipes[device], self.plan.switches
        how, lazy = self.plan.settings, switches.lazy_upload
        connection = agent_of(worker).connect(
            recipe, partition.num_local, how, device=device, worker=end.worker, threads=threads, lazy=lazy
        )
        edges = EdgeTables(partition, self.directed, self.columns, threads)
        direct = frozenset[int]()
        if device == CUDA and switches.changed_only:  # else the host must see who is told
            direct = frozenset(part for part in range(partition.parts) if end.passes(part, self.gpus))
        post = ProxyMail(end, partition, direct)
        parts = edges, recipe, connection, post, switches, self.vertices, columns
        method = self.plan.local_method
        if method is not None:
            return STATES[type(method)](method, *parts)
        if not recipe.analysis.synchronous:
            return PartitionState(*parts)
        return (RecountState if can_recount(recipe, connection, switches, self.directed) else SynchronousState)(*parts)

    def step(self, running: WorkerRun, step: int, told: list[TokenValues]) -> TokenValues:
        rounds = running.rounds
        for state in rounds.states:
            state.post.step = step
        try:
            return next(running.engine) if step == 0 else running.engine.send(told)
        except StopIteration:
            return {**rounds.tell(), "done": True}

    def finish(self, running: WorkerRun) -> WorkerResult:
        """The answers of this worker's partitions, and the rows of the report."""
        rounds, pauses = running.rounds, running.rounds.pauses
        if pauses.keeper is not None:
            pauses.keeper.close()
        found = edge_moves.paused_result(rounds) if pauses.shares else self._found(rounds)
        for state in rounds.states:
            state.agent.disconnect()
        return found

    def _found(self, rounds: Rounds) -> WorkerResult:
        parts, missing = {}, set()
        for state in rounds.states:
            results = state.results()
            missing |= {n for n in vertex_columns_of(rounds.analysis) if has_missing_vertex(results[n], self.vertices)}
            parts[state.partition.index] = VertexValues(state.partition.numbers[: state.n], results)
        totals = rounds.analysis.totals(rounds.globals.values)
        return WorkerResult(parts, missing, rounds.log.rows, rounds.round, totals, rounds.log.found_end_in)


@dataclass
class WorkerRun:
    """What a worker keeps from one step to the next."""

    rounds: Rounds
    engine: Superstep
