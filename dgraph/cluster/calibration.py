"""Measures the speed of workers: all gather over the same graph at once, each with its own daemons. The results are
capacities, in proportion to which a graph is split."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy import float64

from dgraph.agents.agent import agent_of
from dgraph.agents.daemon_settings import NO_DAEMONS, DaemonSettings, settings
from dgraph.arguments import check_integer, known_options
from dgraph.cluster.retry import retry
from dgraph.cluster.scheduler import run_on_each
from dgraph.cluster.workers import Workers, threads_of_worker
from dgraph.codegen.recipe import recipe_of
from dgraph.devices.probe import CUDA, default_device
from dgraph.errors import LostError
from dgraph.keywords import DaemonsLike, DeviceLike, daemons_value, device_value
from dgraph.native import threads
from dgraph.partition.adjacency import EdgeSlice, build
from dgraph.partition.balance import measure_rate
from dgraph.partition.partition import Partition
from dgraph.programs.monoid import SUM
from dgraph.programs.program import Message, State, VertexProgram
from dgraph.solvers.ranks.pagerank import katz
from dgraph.solvers.solver import Problem
from dgraph.tables.edge_tables import EdgeTables
from dgraph.tables.vertex_tables import vertex_table

SIZES = 1 << 9, 1 << 16, 1 << 22  # edges of the test graph; the first size that takes longer than SHORTEST_RUN counts
SHORTEST_RUN = 0.01  # seconds
DEGREE = 16
SOLVER_ROUNDS = 32  # rounds of a solver, so that the cost of the call does not matter


class SumOfNeighbours(VertexProgram):
    """The sum over all in-neighbours: a round of PageRank without its arithmetic."""

    kind = "synchronous"
    held = State(float64, start=1.0)
    gathered = Message(float64, SUM)

    def send(held):
        return held

    def apply(gathered):
        return gathered


@known_options()
def capacities(
    *, client: Any = None, daemons: DaemonsLike = None, device: DeviceLike = "auto", workers: int = 1
) -> Any:
    """Measure the capacity of each worker, in edges per second, for the ``capacities=`` of a graph.

    Parameters
    ----------
    client : distributed.Client, optional
        The cluster to measure; by default that of the current client, or this process if there is none.
    daemons : str, list, mapping or Daemons, optional
        The daemons that a run will use, which determine the speed of their worker; see `dgraph.Daemons`.
    device : {"auto", "cpu", "cuda"}, default "auto"
        The device that a run will use; ``"cuda"`` is experimental.
    workers : int, default 1
        In this process, the number of partitions to measure for; its threads are divided among them.

    Returns
    -------
    dict or list
        On a cluster, edges per second by worker address; in this process, a list with one number per worker.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed.
    DeviceError
        If the requested device is not available.
    LostError
        If a worker leaves during the measurement.

    Examples
    --------
    >>> speeds = dg.capacities(workers=2)
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]}, parts=2, capacities=speeds)
    """
    check_integer("workers", workers)
    taken, where = daemons_value(daemons), device_value(device)
    how, cluster = settings(taken) if taken else NO_DAEMONS, Workers.find(client)
    kind = where if isinstance(where, str) else CUDA
    if cluster.client is None:
        each = max(1, threads.cores() // workers)
        return threads.parallel_map(
            lambda worker: measure_speed(f"thread {worker}", worker, how, kind, each), range(workers)
        )
    return retry(
        cluster.client, lambda: run_on_each(cluster.client, cluster.addresses, measure_speed, how, kind), lambda: None
    )


def speeds(workers: Workers, *, anew: bool = False) -> dict[str, float]:
    """Edges per second of each worker; measured if the speed of a worker is unknown, or if `anew` is set."""
    known, addresses = workers.capabilities.answers("edges per second"), workers.addresses
    if anew or not known.keys() >= set(addresses):
        known |= capacities(client=workers.client)
    if missing := [address for address in addresses if address not in known]:
        raise LostError(f"{', '.join(missing)} left the cluster while the speed of workers was measured")
    return {address: known[address] for address in addresses}


def measure_speed(name: str, number: int, how: DaemonSettings, device: str, cores: int | None = None) -> float:
    """Edges per second of the worker called `name`. Runs on that worker, with its own daemons."""
    if device == "auto":
        device = default_device() if not how.daemons else "cpu"
    where: dict[str, Any] = {"device": device, "worker": number, "threads": cores or threads_of_worker()}
    measured = 0.0
    for edges in SIZES:
        measured = gather_rate(name, random_partition(edges), how, **where)
        if edges / measured > SHORTEST_RUN:
            break
    return measured


def gather_rate(name: str, partition: Partition, how: DaemonSettings, **where: Any) -> float:
    """Edges per second of an agent that gathers along the edges into the vertices of a partition."""
    recipe = recipe_of(SumOfNeighbours(), where["device"], other_devices=how.other_devices)
    tables, n = EdgeTables(partition, True, {}, where["threads"]), partition.num_owned
    connection = agent_of(name).connect(recipe, n, how, **where)
    arrays, table = connection.arrays, vertex_table(recipe, tables, {})
    values = {name: arrays.to_device(array) for name, array in table.items()}
    values |= tables.arguments(tables.receivers("out", joined=True)[0])

    def pull() -> None:
        connection.rows("pull", n, values)
        arrays.wait()

    assert partition.incoming is not None
    measured = measure_rate(pull, len(partition.incoming.neighbours))
    connection.disconnect()
    return measured


def solver_rate(partition: Partition, cores: int) -> float:
    """Edges per second of the gathering solver, in rounds over a partition that holds a whole graph."""
    edges = EdgeTables(partition, True, {}, cores)
    values = {"alpha": 1e-9, "beta": 1.0, "tol": -1.0, "normalized": False}
    katz(Problem(edges, values | {"max_iter": 1}, {}, cores))  # prepares the layout of the edges
    begun = time.perf_counter()
    solved = katz(Problem(edges, values | {"max_iter": SOLVER_ROUNDS}, {}, cores))
    return solved.edges / (time.perf_counter() - begun)


def random_partition(edges: int) -> Partition:
    """Random edges, the same on every worker."""
    n, draw = edges // DEGREE, np.random.default_rng(1)
    rows, others = (draw.integers(0, n, edges, dtype=np.uint32) for _ in range(2))
    return partition_into(rows, others, n)


def partition_into(rows: np.ndarray, others: np.ndarray, n: int, *, workers: int = 1) -> Partition:
    """A partition of all n vertices, with edges into `rows` from `others`, built by `workers` threads."""
    return Partition.of_whole_graph(build([EdgeSlice(rows, others)], n, workers=workers), "incoming")
