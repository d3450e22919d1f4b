"""Random walks from vertex to vertex: uniform, weighted, with restarts, or by node2vec (Grover and Leskovec, KDD
2016)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dgraph.arguments import check_flag, check_integer, check_positive, is_number, known_options
from dgraph.building import graph_frames
from dgraph.building.vertex_pairs import listed_numbers
from dgraph.building.weights import check_weights
from dgraph.cluster.retry import retry_on_loss
from dgraph.errors import OptionError
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory, refuse_beyond_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.partition.ids.numbering import Numbering
from dgraph.runs.repartition import own_order
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.walks import LOOKS, WalkRule, walks
from dgraph.walks.choice_places import ChoicePlace, choice_places
from dgraph.walks.spread_walks import spread_walks
from dgraph.walks.walk_table import NO_WALKS, WalkPlan, WalkTable, ranges

if TYPE_CHECKING:
    import dask.dataframe as dd

ROWS = 1 << 20  # of a partition of the frame, unless one walk is longer
LEAST, MOST = 1e-100, 1e100  # for p and q, so that products with weights are floats
MOST_STEPS, MOST_STARTS = 2**31 - 1, 2**32 - 1


@known_options(runs=True)
def random_walks(
    graph: Graph,
    starts: Any | None,
    length: int,
    *,
    weighted: bool = False,
    p: float = 1.0,
    q: float = 1.0,
    restart: float = 0.0,
    random_seed: int = 0,
) -> dd.DataFrame:
    """Random walks along the edges, from given vertices: uniform, weighted, with restarts, or biased as in node2vec.

    Repeated edges each count, and a walk follows self loops. A walk ends early at a vertex without out-edges.

    Parameters
    ----------
    graph : Graph
        The graph. Walks follow the direction of its edges.
    starts : list, array, Series, frame or result of vertices, or None
        Where walks begin, one for each entry: list a vertex several times for several walks from it. A frame has one
        column, or a column ``vertex``. None stands for every vertex once.
    length : int
        The number of steps of each walk, at least 1.
    weighted : bool, default False
        Use the graph's weights: edges are followed in proportion to them. They must be finite and >= 0; an edge of
        weight 0 is never followed.
    p : float, default 1.0
        Return parameter of node2vec, from 1e-100 to 1e100: of a walk that came to a vertex from t, edges back to t
        count 1 / `p`.
    q : float, default 1.0
        In-out parameter of node2vec, with the same bounds: edges to vertices that no edge joins to t count 1 / `q`, and
        other edges 1. In a directed graph, the edge has to lead from t.
    restart : float, default 0.0
        The chance that a step leads back to the start instead of along an edge, from 0 to below 1.
    random_seed : int, default 0
        Seed of the random number generator.

    Returns
    -------
    dask.dataframe.DataFrame
        The columns ``walk`` (its place in `starts`), ``step`` (0 is the start) and ``vertex``, with a row for each
        vertex of a walk, in this order. If `starts` is empty, so is the frame.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed.
    IdError
        If `starts` has a vertex that is not in the graph.
    ColumnError
        If ``weighted=True`` and the graph has no weights.
    WeightError
        If ``weighted=True`` and a weight is negative or infinite.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    Walks take 4 bytes a step. Each partition keeps a sorted list of its edges for later calls, of 4 bytes for an edge
    (8 if it is undirected, and 8 or 16 more with ``weighted=True``), unless its edges are sorted already. If partitions
    do not have all out-edges of their vertices, the first call builds others that have, as large as the graph's own,
    and they are kept as long as the graph.

    With several partitions, a walk moves to the partition that has the edges of its vertex. With `q`, that asks the
    partition of the vertex before which of up to 64 candidates are its neighbours. If all were rejected, the list of
    those neighbours is sent. Other edges stay where they are.

    Walks depend on the seed and their place in `starts`, and not on partitions, workers or threads. On average, a step
    considers up to `q` candidates, or 1 / `q` if that is more; if 64 were rejected, it weighs all edges.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["a", "b", "c"], "dst": ["b", "c", "d"]})
    >>> dg.random_walks(G, ["a", "c"], 2).compute()
       walk  step vertex
    0     0     0      a
    1     0     1      b
    2     0     2      c
    3     1     0      c
    4     1     1      d

    Sentences for word2vec, as in DeepWalk and node2vec:

    >>> found = dg.random_walks(G, ["a", "b"], 3, p=0.5, q=2).compute()
    >>> found.groupby("walk")["vertex"].agg(list).tolist()
    [['a', 'b', 'c', 'd'], ['b', 'c', 'd']]
    """
    plan = WalkPlan(
        check_integer("length", length, 1, MOST_STEPS),
        WalkRule.of(_factor("p", p), _factor("q", q), _chance(restart)),
        RunOptions(random_seed=random_seed).random_seed,
    )
    if check_flag("weighted", weighted):
        check_weights(graph, "random_walks", (own_order(graph, "out") or "out",))
    every = np.arange(graph.num_vertices, dtype=np.uint32)
    numbers = every if starts is None else listed_numbers(graph, "starts", starts)
    if len(numbers) > MOST_STARTS:
        raise OptionError(f"starts= lists {len(numbers):,} vertices, but at most {MOST_STARTS:,} walks are possible")
    return _frame(graph, numbers, plan, graph.weight if weighted else None)


def _factor(name: str, value: Any) -> float:
    if not LEAST <= check_positive(name, value) <= MOST:
        raise OptionError(f"{name}={value!r} must be from {LEAST:g} to {MOST:g}")
    return float(value)


def _chance(restart: Any) -> float:
    if not is_number(restart) or isinstance(restart, bool) or not 0 <= restart < 1:
        raise OptionError(f"restart={restart!r} must be a number >= 0 and < 1")
    return float(restart)


@retry_on_loss
def _frame(graph: Graph, starts: np.ndarray, plan: WalkPlan, weight: str | None) -> dd.DataFrame:
    workers = graph.workers
    places = choice_places(graph, "out", weight) if len(starts) else []
    if len(places) > 1:
        found = spread_walks(workers, places, starts, plan, graph.num_vertices)
    elif places:
        found = [(workers.wait(workers.each(_walks_here, [(places[0], starts, plan, workers.threads)]))[0], 0)]
    else:
        found = [([NO_WALKS], 0)]
    ids, each, tasks = workers.share(graph.numbering), max(1, ROWS // (plan.length + 1)), []
    for (tables, place), (begin, end) in zip(found, ranges(len(starts), len(found)), strict=True):
        firsts = range(0, max(end - begin, 1), each)
        tasks += [workers.call(_listed, tables, place, first, first + each, ids) for first in firsts]
    return graph_frames.lazy_frame(workers, tasks, NO_WALKS.frame(0, 0, graph.numbering))


@explain_lack_of_memory("random walks", "take them")
def _walks_here(place: ChoicePlace, starts: np.ndarray, plan: WalkPlan, threads: int) -> list[WalkTable]:
    """All walks, where one partition has all edges."""
    refuse_beyond_memory(f"{len(starts):,} walks", 4 * len(starts) * (plan.length + 1))
    looks = LOOKS * len(starts) * plan.length
    threads = worthwhile_threads(threads, looks)
    return [WalkTable(0, call_team(threads, partial(walks, place.rows, starts, *plan, threads), looks))]


def _listed(tables: list[WalkTable], place: int, begin: int, end: int, ids: Numbering) -> pd.DataFrame:
    return tables[place].frame(begin, end, ids)
