"""The door into execution: a program and a graph to a result, in this process or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import methodcaller
from typing import Any

from dgraph import plan as plans
from dgraph.agents.agent import agent_of
from dgraph.agents.edge_tables import EdgeTables
from dgraph.agents.settings import settings
from dgraph.analysis import analyse
from dgraph.checkpoint.keeper import Keeper, Kept
from dgraph.checkpoint.option import Checkpoint
from dgraph.codegen.recipe import Recipe, recipe_of
from dgraph.devices.probe import KERNELS, OR_OTHERS, device_here, need
from dgraph.engines.rebalance import Rebalance
from dgraph.engines.rounds import Rounds, Told
from dgraph.errors import OptionError
from dgraph.estimates.room import admit_run
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.post import Post
from dgraph.graph import Graph
from dgraph.options import known_options, switch
from dgraph.partition import threads
from dgraph.plan import Plan
from dgraph.program import VertexProgram
from dgraph.runs import rebalancing
from dgraph.runs.columns import Given, with_columns
from dgraph.runs.found import Found, has_none
from dgraph.runs.progress import Progress, check_progress
from dgraph.runs.reads import parameters_of, partitions_for, vertex_columns_of
from dgraph.runs.rebalancing import Carried
from dgraph.runs.repartition import by_shares
from dgraph.runs.result import RunResult, lasting
from dgraph.runs.resuming import forget, forgetting, kept_for
from dgraph.runs.solving import solve
from dgraph.runs.steps import CHUNK, Outcome, Steps, run_steps
from dgraph.solvers.solver import Settle
from dgraph.states.settling import Settling
from dgraph.states.state import State
from dgraph.workers import threads_of_worker


@known_options()
def run(
    graph: Graph,
    program: VertexProgram,
    *,
    engine: str = "auto",
    device: str = "auto",
    max_rounds: int | None = None,
    random_seed: int = 0,
    columns: Given | None = None,
    progress: bool | Callable[[dict[str, Any]], Any] | None = None,
    direction: str = "auto",
    active_only: bool = True,
    drop_weights: bool = True,
    changed_only: bool = True,
    skip_exchange: bool = True,
    exchange: str = "auto",
    local_rounds: int | None = None,
    deterministic: bool = False,
    checkpoint: Any = None,
    rebalance: bool = False,
    daemons: Any = "auto",
    pipeline_block: int | str | None = "auto",
    vertex_cache: int | str = "auto",
    lazy_upload: bool = True,
    memory_budget: int | None = None,
    block_size: int | str | None = None,
    order: str | None = None,
    mode: str | None = None,
    operator: str | None = None,
) -> RunResult:
    """Run a vertex program on a graph, on the cluster that holds the graph or in this process.

    engine:       "bsp" (send, merge, apply), "gas" (merge, apply, send), "bulk_async" (each partition at its own pace),
                  "block_descent" (a block of vertices at a time); of one partition "local" (the program's own solver);
                  or "auto": whichever is quickest.
    device:       "cpu", "cuda" (an NVIDIA GPU of each worker), or "auto": each worker takes a GPU if it has one, else
                  its CPU; what only CPUs can do is done there.
    max_rounds:   stop after so many rounds; by default the program says when.
    random_seed:  random choices depend on it, the round and the vertex alone.
    columns:      values of the vertex columns that the program reads, as {column: {vertex: value}}, {column: array in
                  ascending order of the vertices}, or {column: result.column(name)} of an earlier run, which stays
                  where it is; by default the graph's own.
    progress:     True, False, a function that is given a dict of counts, or None: shown on a terminal and in notebooks.
    direction:    "push" messages along the edges of those who send, "pull" them from all edges, or "auto": whichever is
                  quicker in each round.
    active_only, drop_weights, changed_only, skip_exchange: optimisations, on by default; the answer is the same without
                  them. With the last, rounds that concern one partition each follow one another without an exchange.
    exchange:     how values travel on a cluster: from worker to worker ("workers"), which takes plugins of Dask; as
                  edges of the task graph ("graph"), slower; or "auto": as the cluster allows.
    local_rounds: how many steps a partition takes by itself before others hear of it; only "bulk_async" takes more than
                  one. By default one, or where messages merge like minima, as many as leave nothing to do: on
                  "bulk_async", and wherever the operation brings an algorithm that gets there at once.
    deterministic: sums of floats are the same to the last bit for any number of partitions, workers and threads. It
                  takes partitions of its own, in which every vertex has all its edges, in one order.
    checkpoint:   a folder or URL: every 10 supersteps the run is written there, and goes on from there if it is started
                  again, or a worker is lost; or a `dgraph.Checkpoint`: how often, or in the memory of the workers.
    rebalance:    edges move between supersteps where the measured imbalance of the workers costs more than the move;
                  the report says when, and what it took.
    daemons:      who computes on each worker: "in process" (the default), "own process" (isolated: when it dies or
                  hangs it is started again and the run goes on), "cuda" or "cuda own process" (a GPU beside a CPU
                  worker), a list of kinds that take blocks of edges from one queue, or {number of a worker: such a
                  list}. A daemon lives on after the run, for the next.
    pipeline_block: how many edges a block has on its way to a daemon and back; "auto": as the measured costs say; None:
                  one block, one stage after the other. This and what follows is not for daemons="in process".
    vertex_cache: bytes of vertices that a daemon keeps between blocks and rounds, 0 for none.
    lazy_upload:  messages stay with the daemon until a round's blocks are done, if that does no harm; none, no upload.
    memory_budget: bytes of a GPU that a worker may use, by default all. Edges that find no room pass through it in
                  blocks of `pipeline_block` edges, each round; partitions that do fit stay.
    block_size, order, mode, operator: "block_descent" only. How many vertices are brought up to date at a time (a power
                  of two is taken, or "auto"); "priority", the block with most to gain before others, or "cyclic": by
                  default the first where blocks push; how workers wait for each other: "async", never (partitions that
                  pull: after an epoch), "barrier", after a block each (partitions: after an epoch), "bsp", after all
                  blocks (then the rest is no matter); a block's vertices "pull" from all their in-edges, "push" what
                  has changed along their out-edges, or "pull_push": write to a slot for each edge, read in order.
    """
    if not isinstance(program, VertexProgram):
        raise OptionError(f"{program!r} is no program: pass an object of a class derived from dgraph.VertexProgram")
    check_progress(progress)
    asked: dict[str, Any] = {
        "engine": engine,
        "max_rounds": max_rounds,
        "local_rounds": local_rounds,
        "direction": direction,
        "active_only": active_only,
        "drop_weights": drop_weights,
        "changed_only": changed_only,
        "skip_exchange": skip_exchange,
        "deterministic": deterministic,
    }
    others = {"device": device, "daemons": daemons, "progress": progress, "exchange": exchange}
    others |= {"checkpoint": checkpoint}
    solved = plans.solves(graph, program, {**asked, **others})
    if engine == plans.LOCAL and not solved:
        why = "the program has no solver" if program.solver is None else f"the graph has {graph.num_parts} partitions"
        raise OptionError(f'engine="local" cannot be had: {why}; choose one of auto, {", ".join(plans.ENGINES)}')
    kept = Checkpoint.for_run(checkpoint, graph.client)
    solved = solved and (kept is None or engine == plans.LOCAL)
    blocks = {"block_size": block_size, "order": order, "mode": mode, "operator": operator}
    found = settings(daemons, pipeline_block, vertex_cache, lazy_upload, memory_budget)
    device = plans.device_for(graph, {**asked, **others})
    plan = plans.choose(**asked, device=device, random_seed=random_seed, solved=solved, settings=found, blocks=blocks)
    plans.admit_checkpoints(plan, kept)
    rebalance = switch("rebalance", rebalance) and graph.num_parts > 1
    if rebalance:
        rebalancing.admit(plan, graph)
    if plan.engine == plans.LOCAL:
        return lasting(graph, partial(solve, program=program, plan=plan, columns=columns or {}), columns)
    plan = plans.admit(plan, analyse(program), graph.num_parts)
    if device == plans.CUDA:
        need('device="cuda"', graph.workers.lacking(KERNELS), OR_OTHERS)
    recipes, values = {}, parameters_of(graph, program)
    for target in (plans.CPU, *([plans.CUDA] if plan.device != plans.CPU else [])):
        recipe = recipe_of(program, target, plan.blocks.operator if plan.blocks else None, found.others)
        recipes[target] = replace(recipe, values=values)
    settle = plans.settling(plan, program, recipes[plans.CPU].analysis)
    plan = replace(plan, settles=settle is not None, rebalance=rebalance)
    work = partial(_in_rounds, recipes=recipes, plan=plan, settle=settle, exchange=exchange, checkpoint=kept)
    with forgetting(graph, kept):
        work = partial(work, columns=columns or {})
        later = partial(work, plan=replace(plan, rebalance=False), progress=False)
        return lasting(graph, partial(work, progress=progress), columns, later)


def _in_rounds(
    graph: Graph,
    recipes: dict[str, Recipe],
    plan: Plan,
    settle: Settle | None,
    exchange: str,
    checkpoint: Checkpoint | None,
    columns: Given,
    progress: Any,
) -> RunResult:
    """The run of a plan, from the partitions on."""
    recipe = recipes[plans.CPU]
    partitions, edge_columns, plan = partitions_for(graph, recipe.analysis, plan)
    given = with_columns(graph, recipe.analysis, partitions, columns, anew=bool(plan.repartitioned))
    admit_run(graph, partitions, recipe)
    kept = None if checkpoint is None else kept_for(graph, recipe, plan, given, checkpoint)
    cores = graph.workers.threads_of_each(len(partitions))
    cost = rebalancing.cost_of(graph) if plan.rebalance else None
    job = Job(recipes, plan, graph.directed, graph.num_vertices, edge_columns, cores, settle, kept, cost)

    def go_on(carried: Sequence[Any], round: int) -> Outcome:
        at = replace(job, round=round)
        return run_steps(
            Steps(at.setup, at.step, at.finish, methodcaller("without_values"), secedes=plan.free),
            carried or given,
            client=graph.client,
            homes=graph.workers.where(partitions),
            threads=threads.cores(),
            chunk=1 if shown.active and graph.client is None else CHUNK,
            after_chunk=shown.after_chunk,
            exchange=exchange,
            fuse=True if plan.free else None,
        )

    def build(shares: Sequence[float]) -> Sequence[Any]:
        orders, names = plans.orders_for(recipe.analysis, graph.directed, plan), dict(edge_columns.values())
        held = by_shares(graph, tuple(names), orders, plan.switches, shares)
        return with_columns(graph, recipe.analysis, held, columns, anew=True)

    with Progress.of(progress) as shown:
        outcome, told, moves = rebalancing.moving(graph, go_on, build)
    devices = sorted({row["device"] for found in told for row in found.rows}) or [plan.device]
    options = {**plan.options(), "device": " and ".join(devices), "exchange": outcome.exchange}
    if plan.rebalance:
        options |= {"rebalanced": "; ".join(moves) or "no"} | ({"repartitioned": "by speed"} if moves else {})
    found = RunResult(graph, outcome.results, vertex_columns_of(recipe.analysis), options, told=told)
    if kept is not None:  # nobody will go on from there
        forget(graph, kept.store)
    return found


@dataclass(frozen=True)
class Job:
    """What each worker does: a value that travels."""

    recipes: dict[str, Recipe]  # by device
    plan: Plan
    directed: bool
    vertices: int
    columns: dict[str, tuple[str, str]]
    threads: int | None  # as many as the worker has, whose partitions take turns
    settle: Settle | None
    kept: Kept | None = None
    cost: float | None = None  # seconds to move edges, where that may be done
    round: int = 0  # that the run goes on from, if edges have moved

    def setup(self, exchange: Exchange, partitions: Mapping[int, Any]) -> Running:
        agent, states = agent_of(exchange.route.workers[exchange.worker]), []
        threads = self.threads or threads_of_worker()
        device = device_here() if self.plan.device == plans.AUTO else self.plan.device
        where: dict[str, Any] = {"device": device, "worker": exchange.worker, "threads": threads}
        recipe = self.recipes[device]
        carried = {part: one for part, one in partitions.items() if isinstance(one, Carried)}
        for given in partitions.values():
            one = given.given if isinstance(given, Carried) else given
            partition, columns = one if isinstance(one, tuple) else (one, {})
            edges = EdgeTables(partition, self.directed, self.columns, threads)
            connected = agent.connect(recipe, partition.num_local, self.plan.settings, **where)
            post, switches = Post(exchange, partition), self.plan.switches
            parts = (edges, recipe, connected, post, switches, self.vertices, columns)
            states.append(State(*parts) if self.settle is None else Settling(self.settle, *parts))
        alone = len(exchange.route.workers) == 1
        limits = {"limit": self.plan.max_rounds, "local_rounds": self.plan.local_rounds}
        rounds = Rounds(states, recipe, directed=self.directed, alone=alone, **limits)
        rounds.keeper = None if self.kept is None else Keeper(self.kept, self.kept.store.at(exchange))
        if carried:
            rounds.resume = rebalancing.resumption(carried, self.round)
        elif rounds.keeper is not None and rounds.keeper.kept.round:
            rounds.resume = rounds.keeper.restore
        if self.cost is not None and not alone:
            rounds.rebalance = Rebalance(states, self.cost, self.round)
        rounds.blocks = self.plan.blocks
        return Running(rounds, plans.ENGINES[self.plan.engine](rounds))

    def step(self, running: Running, epoch: int, told: list[Told]) -> Told:
        rounds = running.rounds
        for state in rounds.states:
            state.post.epoch = epoch
        try:
            return next(running.engine) if epoch == 0 else running.engine.send(told)
        except StopIteration:
            return {**rounds.tell(), "done": True}

    def finish(self, running: Running) -> Found:
        """The answers of each partition, and the rows of the report."""
        rounds, parts, missing = running.rounds, {}, set()
        if rounds.keeper is not None:
            rounds.keeper.close()
        if rounds.shares:
            for state in rounds.states:
                state.agent.disconnect()
            return rebalancing.what_matters(rounds)
        for state in rounds.states:
            results = state.results()
            for name in vertex_columns_of(rounds.analysis):
                if has_none(results[name], self.vertices):
                    missing.add(name)
            owned = state.partition.num_owned
            parts[state.partition.index] = state.partition.numbers[:owned], results
            state.agent.disconnect()
        totals = rounds.analysis.totals(rounds.globals)
        return Found(parts, missing, rounds.rows, rounds.round, totals, rounds.found_end_in)


@dataclass
class Running:
    rounds: Rounds
    engine: Any
