"""The speed of workers, measured in a moment: all gather over the same graph at once, each with the daemons it has. The
results are capacities, by which a graph is split."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy import float64

from dgraph.agents.agent import agent_of
from dgraph.agents.daemon_settings import DaemonSettings, settings
from dgraph.cluster.retry import retry
from dgraph.cluster.waits import run_on_each
from dgraph.cluster.workers import Workers, threads_of_worker
from dgraph.codegen.recipe import recipe_of
from dgraph.devices.probe import device_here
from dgraph.native import threads
from dgraph.options import check_choice, check_integer
from dgraph.partition.adjacency import EdgeSlice, build
from dgraph.partition.balance import rate
from dgraph.partition.partition import Partition
from dgraph.partition.proxies import Proxies
from dgraph.plan import DEVICES
from dgraph.programs.monoid import SUM
from dgraph.programs.program import Message, State, VertexProgram
from dgraph.solvers.ranks.pagerank import katz
from dgraph.solvers.solver import Problem
from dgraph.tables.edge_tables import EdgeTables
from dgraph.tables.vertex_tables import vertex_table

SIZES = 1 << 9, 1 << 16, 1 << 22  # edges of the graph that is gathered over: fewer, unless they are done at once
AT_ONCE = 0.01  # seconds
DEGREE = 16
ROUNDS = 32  # of a solver: beside them a call counts little


class SumOfNeighbours(VertexProgram):
    """The sum of what all in-neighbours hold: a round of PageRank without its arithmetic."""

    kind = "synchronous"
    held = State(float64, start=1.0)
    gathered = Message(float64, SUM)

    def send(held):
        return held

    def apply(gathered):
        return gathered


def capacities(*, client: Any = None, daemons: Any = "auto", device: str = "auto", workers: int = 1) -> Any:
    """Edges a second of each worker, to be passed on as `capacities=`: on a cluster {address: number}, in this process
    a list, one for each of so many `workers`.

    daemons, device: as a run would have them, for a worker may be as fast as its daemons.

        >>> graph = dg.Graph.from_edges(frame, parts=2, capacities=dg.capacities(workers=2, daemons=daemons))
    """
    check_integer("workers", workers)
    check_choice("device", device, DEVICES)
    how, on = settings(daemons, "auto", "auto"), Workers.find(client)
    if on.client is None:
        each = max(1, threads.cores() // workers)
        return threads.each(lambda worker: speed(f"thread {worker}", worker, how, device, each), range(workers))
    return retry(on.client, lambda: run_on_each(on.client, on.addresses, speed, how, device), lambda: None)


def speed(name: str, number: int, how: DaemonSettings, device: str, cores: int | None = None) -> float:
    """Edges a second of the worker of this name. Runs on it, with its own daemons."""
    if device == "auto":
        device = device_here() if how.direct else "cpu"
    where: dict[str, Any] = {"device": device, "worker": number, "threads": cores or threads_of_worker()}
    found = 0.0
    for edges in SIZES:
        found = gathering(name, random_partition(edges), how, **where)
        if edges / found > AT_ONCE:
            break
    return found


def gathering(name: str, partition: Partition, how: DaemonSettings, **where: Any) -> float:
    """Edges a second of an agent that gathers along the edges into the vertices of a partition."""
    recipe = recipe_of(SumOfNeighbours(), where["device"], others=how.others)
    tables, n = EdgeTables(partition, True, {}, where["threads"]), partition.num_owned
    connection = agent_of(name).connect(recipe, n, how, **where)
    arrays, table = connection.arrays, vertex_table(recipe, tables, {})
    values = {name: arrays.moved(array) for name, array in table.items()}
    values |= tables.arguments(tables.receivers("out", at_once=True)[0])

    def pull() -> None:
        connection.rows("pull", n, values)
        arrays.wait()

    assert partition.incoming is not None
    found = rate(pull, len(partition.incoming.neighbours))
    connection.disconnect()
    return found


def solving(partition: Partition, cores: int) -> float:
    """Edges a second of the solver that gathers, in rounds over a partition that is all of a graph."""
    edges = EdgeTables(partition, True, {}, cores)
    values = {"alpha": 1e-9, "beta": 1.0, "tol": -1.0, "normalized": False}
    katz(Problem(edges, values | {"max_iter": 1}, {}, cores))  # lays out the edges
    begun = time.perf_counter()
    solved = katz(Problem(edges, values | {"max_iter": ROUNDS}, {}, cores))
    return solved.edges / (time.perf_counter() - begun)


def random_partition(edges: int) -> Partition:
    """Edges between vertices drawn at random, the same everywhere."""
    n, draw = edges // DEGREE, np.random.default_rng(1)
    rows, others = (draw.integers(0, n, edges, dtype=np.uint32) for _ in range(2))
    return partition_into(rows, others, n)


def partition_into(rows: np.ndarray, others: np.ndarray, n: int, *, workers: int = 1) -> Partition:
    """A partition of all n vertices, with edges into `rows` from `others`, built by so many threads."""
    incoming = build([EdgeSlice(rows, others)], n, workers=workers)
    none = Proxies(np.full((1, 4), n, np.int64))
    return Partition(0, 1, n, np.arange(n, dtype=np.uint32), none, None, incoming)
