"""Samples of the neighbourhoods of vertices, hop by hop, for graph neural networks (GraphSAGE: Hamilton, Ying and
Leskovec, NeurIPS 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from dgraph.arguments import check_choice, check_flag, check_integer, known_options
from dgraph.building.vertex_pairs import listed_numbers
from dgraph.building.weights import check_weights
from dgraph.cluster.retry import retry_on_loss
from dgraph.errors import ColumnError, OptionError
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory, refuse_beyond_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.programs.random_draws import word_of_round
from dgraph.runs.repartition import own_order
from dgraph.runs.run_options import RunOptions
from dgraph.solvers.samples import ALL, SMALL, LocalNumbers, SampledRows, sampled
from dgraph.solvers.walks import LOOKS
from dgraph.walks.choice_places import ChoicePlace, choice_places
from dgraph.walks.neighbor_sample import NeighborSample

HOP = "hop"
FEW = 16  # edges of a vertex, where nobody has counted
MOST = 2**31 - 1  # edges of a vertex in a hop
EDGE = 80  # bytes of a sampled edge while hops are joined
ORDERS = {"in": "incoming", "out": "out"}


class HopPlan(NamedTuple):
    """What is sampled in one hop."""

    fanout: int
    replace: bool
    word: int  # of the seed and the hop


@known_options(runs=True)
def sample_neighbors(
    graph: Graph,
    seeds: Any,
    fanouts: Sequence[int],
    *,
    direction: Literal["in", "out"] = "in",
    replace: bool = False,
    weighted: bool = False,
    random_seed: int = 0,
) -> NeighborSample:
    """Sample the neighbourhoods of some vertices hop by hop, as GraphSAGE does for mini-batches.

    In the first hop, edges of the seeds are sampled; in each other hop, edges of the vertices that the last one has
    reached for the first time. Repeated edges and self loops count as edges.

    Parameters
    ----------
    graph : Graph
        The graph.
    seeds : list, array, Series, frame or result of vertices
        The vertices to begin with, each once. A frame has one column, or a column ``vertex``.
    fanouts : sequence of int
        For each hop, the number of edges that are sampled for each vertex, below 2**31; -1 takes all. A vertex with
        fewer edges has all of them.
    direction : {"in", "out"}, default "in"
        In a directed graph, whether to sample the edges that arrive at a vertex, along which it hears of its
        neighbours, or those that leave it.
    replace : bool, default False
        Sample with replacement: an edge may be drawn several times, and every vertex that has edges gets as many as the
        fan-out says.
    weighted : bool, default False
        Use the graph's weights: edges are drawn in proportion to them. They must be finite and >= 0; an edge of weight
        0 is never drawn.
    random_seed : int, default 0
        Seed of the random number generator. Use another one for each epoch.

    Returns
    -------
    NeighborSample
        ``edges``, a frame with the user's ids; and ``vertices``, ``edge_index``, ``hops`` and ``num_seeds`` with local
        numbers, as PyTorch Geometric takes them. If `seeds` is empty, so is the sample.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed, or a seed is listed twice.
    IdError
        If `seeds` has a vertex that is not in the graph.
    ColumnError
        If ``weighted=True`` and the graph has no weights, or an end of its edges is in a column called ``hop``.
    WeightError
        If ``weighted=True`` and a weight is negative or infinite.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    The first call sorts the edges, and keeps a list of them for later calls, as `random_walks` does; with
    ``weighted=True``, one for draws with replacement, and another for those without, which takes 8 bytes more for each
    vertex and for every 16 edges. If partitions do not have all edges of their vertices in this direction, the first
    call builds others that have, as large as the graph's own, and they are kept as long as the graph.

    Each hop asks all partitions; only the sample leaves them. What is drawn for a vertex depends on the random seed,
    the hop and the vertex, and not on partitions, workers, threads or other vertices. Other seeds can only change the
    hop in which a vertex is reached.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["a", "b", "c", "d"], "dst": ["c", "c", "d", "e"]})
    >>> dg.sample_neighbors(G, ["e", "c"], [1, 1]).edges
      src dst  hop
    0   d   e    1
    1   a   c    1
    2   c   d    2
    """
    check_choice("direction", direction, tuple(ORDERS))
    sizes, replace = _checked_fanouts(fanouts), check_flag("replace", replace)
    seed = RunOptions(random_seed=random_seed).random_seed
    ends = graph.input_edges.edges.source, graph.input_edges.edges.destination
    if HOP in ends:
        raise ColumnError(f"the edges have an end in the column {HOP!r}, which the sample needs: rename it")
    if check_flag("weighted", weighted):
        check_weights(graph, "sample_neighbors", (own_order(graph, ORDERS[direction]) or "out",))
    numbers = listed_numbers(graph, "seeds", seeds)
    _check_unlike(graph, numbers)
    plans = [HopPlan(one, replace and one != ALL, word_of_round(seed, hop)) for hop, one in enumerate(sizes, 1)]
    vertices, found, hops = _sampled(graph, numbers, plans, ORDERS[direction], graph.weight if weighted else None)
    ids = graph.numbering.restored(vertices)
    edge_index = found if direction == "in" else np.ascontiguousarray(found[::-1])
    return NeighborSample(ids, edge_index, hops, len(numbers), ends)


def _checked_fanouts(fanouts: Any) -> list[int]:
    if (
        not isinstance(fanouts, Sequence | np.ndarray)
        or isinstance(fanouts, str | bytes | bytearray)
        or len(fanouts) == 0
    ):
        raise OptionError(f"fanouts={fanouts!r} must be a list with the number of edges for each hop, such as [15, 10]")
    sizes = [check_integer("fanouts", one, ALL, MOST) for one in fanouts]
    if 0 in sizes:
        raise OptionError(f"fanouts={fanouts!r}: a hop of 0 edges reaches nothing; pass -1 for all edges")
    return sizes


def _check_unlike(graph: Graph, numbers: np.ndarray) -> None:
    ordered = np.sort(numbers)
    twice = ordered[1:][ordered[1:] == ordered[:-1]][:1]
    if len(twice):
        (vertex,) = np.asarray(graph.numbering.restored(twice)).tolist()
        raise OptionError(f"seeds= lists the vertex {vertex!r} twice; list each vertex once")


@retry_on_loss
def _sampled(
    graph: Graph, seeds: np.ndarray, plans: Sequence[HopPlan], order: str, weight: str | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The vertices, the edges as local numbers (the vertex that is reached, and from where), and their hops."""
    workers, local = graph.workers, LocalNumbers()
    local.of(seeds)
    edges, hops, begin = [np.empty((2, 0), np.int64)], [np.empty(0, np.int64)], 0
    kinds = {plan.replace or weight is None for plan in plans if len(seeds)}
    forms = {summed: choice_places(graph, order, weight, summed=summed) for summed in kinds}
    threads = workers.threads if graph.num_parts == 1 or workers.client is not None else 1
    for hop, plan in enumerate(plans if forms else [], 1):
        places = forms[plan.replace or weight is None]
        (frontier,) = workers.send([local.vertices[begin:]])
        parts = workers.bring(workers.each(_of_place, [(one, frontier, plan, threads) for one in places]))
        many = sum(len(rows.neighbours) for _, rows in parts)
        if EDGE * many > SMALL:
            refuse_beyond_memory(f"a sample of {sum(map(len, hops)) + many:,} edges", EDGE * many)
        counts, neighbours = _joined(parts, len(local.vertices) - begin)
        reached, begin = np.repeat(np.arange(begin, len(local.vertices)), counts), len(local.vertices)
        edges.append(np.stack([local.of(neighbours), reached]))
        hops.append(np.full(len(reached), hop))
    return local.vertices, np.concatenate(edges, axis=1), np.concatenate(hops)


@explain_lack_of_memory("a sample of neighbours", "take it")
def _of_place(place: ChoicePlace, frontier: np.ndarray, plan: HopPlan, threads: int) -> tuple[np.ndarray, SampledRows]:
    """The places in the frontier of the vertices that a partition owns, and what is sampled for them."""
    here = np.flatnonzero(place.owns(frontier))
    mine = frontier[here]
    looks = LOOKS * len(mine) * (plan.fanout if plan.fanout != ALL else FEW)
    threads = worthwhile_threads(threads, looks)
    find = partial(sampled, place.rows, place.rows_of(mine), mine, *plan, threads)
    return here, call_team(threads, find, looks)


def _joined(parts: Sequence[tuple[np.ndarray, SampledRows]], size: int) -> tuple[np.ndarray, np.ndarray]:
    """What is sampled for the whole frontier, in its order: how many edges each vertex has, and their other ends."""
    if len(parts) == 1:
        return parts[0][1]
    counts = np.zeros(size, np.int64)
    for here, rows in parts:
        counts[here] = rows.counts
    starts, neighbours = np.cumsum(counts) - counts, np.empty(counts.sum(), np.uint32)
    for here, rows in parts:
        own_starts = np.cumsum(rows.counts) - rows.counts
        places = np.arange(len(rows.neighbours)) + np.repeat(starts[here] - own_starts, rows.counts)
        neighbours[places] = rows.neighbours
    return counts, neighbours
