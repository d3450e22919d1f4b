"""The triad census: how many sets of three vertices have arcs of each pattern (Holland and Leinhardt, 1970).

Closed triads are found as triangles are. Open ones are the pairs of neighbours of a vertex that no arc joins, so their
number is that of all pairs less those in closed triads. What remains has arcs between two vertices at most, and follows
from the number of arcs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import combinations_with_replacement
from math import comb
from typing import NamedTuple

import numpy as np

from dgraph.arguments import known_options
from dgraph.cluster.retry import retry_on_loss
from dgraph.errors import InputError
from dgraph.estimates.footprints import FOOTPRINTS
from dgraph.graph import Graph
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.native.interruptible_calls import call_team
from dgraph.native.team import worthwhile_threads
from dgraph.ops.triangles import LOOKS, add_up, blocks_of, over_pairs, shift_of, threads_of_pair
from dgraph.partition.partition import Partition
from dgraph.solvers.subgraphs.neighbours import BACK, FORTH, LOWER, Neighbours, by_degree, distinct
from dgraph.solvers.subgraphs.triads import CODES, IN, MUTUAL, OUT, add_kinds, closed_triads
from dgraph.tables.edge_tables import EdgeTables

# The names count the mutual pairs, those with an arc in one direction, and those without.
NAMES = (
    *("003", "012", "102", "021D", "021U", "021C", "111D", "111U"),
    *("030T", "030C", "201", "120D", "120U", "120C", "210", "300"),
)
SUMMED = 1 << 20  # vertices whose pairs of neighbours are added up at a time
OPEN = {  # by the kinds of the two neighbours of the vertex in the middle
    (OUT, OUT): "021D",
    (OUT, IN): "021C",
    (OUT, MUTUAL): "111U",
    (IN, IN): "021U",
    (IN, MUTUAL): "111D",
    (MUTUAL, MUTUAL): "201",
}


@known_options(runs=True)
def triad_census(graph: Graph) -> dict[str, int]:
    """Count the triads of each of 16 types: sets of three vertices, by the arcs between them.

    Self loops, repeated edges and weights do not count.

    Parameters
    ----------
    graph : Graph
        A directed graph.

    Returns
    -------
    dict
        The number of triads by type, as in NetworkX. The digits of a type count its pairs of vertices with arcs in both
        directions, with an arc in one, and without; D, U, C and T (down, up, cyclic, transitive) tell apart types with
        the same digits.

    Raises
    ------
    InputError
        If the graph is undirected.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    Only triads whose three pairs all have arcs are searched for, as `dgraph.triangles` does; the numbers of the others
    follow from degrees. With several partitions, edges are divided into blocks on the workers, 5 bytes for each
    edge; besides, there are 12 bytes for each vertex of the graph, and twice as many while a worker adds to the counts
    of another.

    Examples
    --------
    >>> counts = dg.triad_census(dg.Graph.from_edges({"src": [0, 1, 2, 2], "dst": [1, 2, 0, 3]}))
    >>> {name: count for name, count in counts.items() if count}
    {'012': 1, '021D': 1, '021C': 1, '030C': 1}
    """
    if not graph.directed:
        raise InputError(
            "triad_census counts patterns of directions, and the graph is undirected: make it with directed=True; "
            "symmetrize=True then counts each edge as arcs in both directions. Or use triangles"
        )
    return census_of(graph.num_vertices, *_sums(graph))


class TriadSums(NamedTuple):
    """Closed triads by code, the pairs of neighbours of all vertices by kinds, and the neighbours of each kind."""

    closed: list[int]
    pairs: dict[tuple[int, int], int]
    neighbours: list[int]

    @classmethod
    def of(cls, closed: np.ndarray, kinds: np.ndarray) -> TriadSums:
        """From the neighbours of each kind of each vertex, some vertices at a time."""
        pairs, neighbours = Counter[tuple[int, int]](), [0, 0, 0]
        for first in range(0, len(kinds), SUMMED):
            some = kinds[first : first + SUMMED].T.astype(np.int64)
            for a, b in combinations_with_replacement((OUT, IN, MUTUAL), 2):
                pairs[a, b] += _exact_sum(some[a] * some[b] if a != b else _pairs_of(some[a]))
            neighbours = [before + int(one.sum()) for before, one in zip(neighbours, some, strict=True)]
        return cls(closed.tolist(), pairs, neighbours)


def _pairs_of(counts: np.ndarray) -> np.ndarray:
    """How many pairs so many things make. The even factor is halved first, so that no product is beyond 64 bits."""
    return np.where(counts % 2 == 0, counts // 2 * (counts - 1), counts * (counts // 2))


def _exact_sum(values: np.ndarray) -> int:
    """The sum of numbers below 2**63, which may be beyond 64 bits."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


@retry_on_loss
def _sums(graph: Graph) -> TriadSums:
    workers, size = graph.workers, graph.num_vertices
    if graph.num_parts == 1:
        (partition,) = graph.partitioned(("out", "incoming")).held
        (sums,) = workers.bring(workers.each(_of_partition, [(partition, workers.threads)]))
        return sums
    need = FOOTPRINTS["triad_census"]
    _, blocks = blocks_of(graph, directions=True, bits=True, what="counting triads", need=need)
    shift = shift_of(graph)
    closed = workers.reduce(add_up, over_pairs(graph, blocks, _of_pair, shift, size, threads_of_pair(graph)))
    kinds = None
    for part, block in enumerate(blocks):  # one after the other, because their sum is all that is held
        host = workers.host(part, len(blocks))
        kinds = workers.call(_with_kinds, kinds, block, part, shift, size, workers.client is None, on=host)
    (sums,) = workers.bring(workers.hold([workers.call(TriadSums.of, closed, kinds)]))
    return sums


@explain_lack_of_memory("the neighbours of all vertices, each once,", "count triads")
def _of_partition(partition: Partition, threads: int) -> TriadSums:
    threads, size = worthwhile_threads(threads, LOOKS * partition.num_edges), partition.num_owned

    def by_team() -> TriadSums:
        order = by_degree(EdgeTables(partition, True, {}, threads).degrees("both"))
        tables = [table for table in (partition.out, partition.incoming) if table is not None]
        lower = distinct(tables, size, threads, kept=LOWER, order=order, ways=True, bits=True)
        closed = closed_triads(lower, 0, lower, 0, 0, size, threads)
        return TriadSums.of(closed, _with_kinds(None, lower, 0, 0, size, True))

    return call_team(threads, by_team, LOOKS * partition.num_edges)


def _of_pair(
    before: np.ndarray | None,
    part: int,
    mine: Neighbours,
    other: int,
    theirs: Neighbours,
    shift: int,
    size: int,
    threads: int,
) -> np.ndarray:
    count = partial(closed_triads, mine, part, theirs, other, shift, size, threads)
    closed = call_team(threads, count, LOOKS * mine.num_edges)
    return closed if before is None else before + closed


def _with_kinds(
    before: np.ndarray | None, block: Neighbours, part: int, shift: int, size: int, in_place: bool
) -> np.ndarray:
    """The neighbours of each kind of each vertex, with those in one more block. With `in_place`, no other task reads
    those before."""
    kinds = np.zeros((size, 3), np.uint32) if before is None else before if in_place else before.copy()
    add_kinds(block, part, shift, kinds)
    return kinds


# -- from counts to a census -------------------------------------------------------------------------------------------


def census_of(
    vertices: int, closed: Sequence[int], pairs: dict[tuple[int, int], int], neighbours: Sequence[int]
) -> dict[str, int]:
    """The census, from the fields of `TriadSums`. All numbers are Python's, because 4 million vertices have more
    than 2**63 triads."""
    found: Counter[str] = Counter()
    joined: Counter[tuple[int, int]] = Counter()  # pairs of neighbours that are in closed triads
    for code in range(CODES):
        if closed[code]:
            corners = _corners(code)
            found[_closed_name(corners)] += closed[code]
            for corner in corners:
                joined[corner] += closed[code]
    for kinds, name in OPEN.items():
        found[name] = pairs[kinds] - joined[kinds]
    others = max(vertices - 2, 0)
    mutual, single = neighbours[MUTUAL] // 2 * others, neighbours[OUT] * others
    found["102"] = mutual - sum(int(name[0]) * count for name, count in found.items())
    found["012"] = single - sum(int(name[1]) * count for name, count in found.items())
    found["003"] = comb(vertices, 3) - found.total()
    return {name: found[name] for name in NAMES}


def _corners(code: int) -> list[tuple[int, int]]:
    """For each vertex of a closed triad, the kinds of its two neighbours."""
    here = {FORTH: OUT, BACK: IN, FORTH | BACK: MUTUAL}
    there = {FORTH: IN, BACK: OUT, FORTH | BACK: MUTUAL}
    middle, low, below = code >> 4, code >> 2 & 3, code & 3
    sides = [(here[middle], here[low]), (there[middle], here[below]), (there[low], there[below])]
    return [(min(one), max(one)) for one in sides]


def _closed_name(corners: Sequence[tuple[int, int]]) -> str:
    mutual = sum(corner.count(MUTUAL) for corner in corners) // 2
    if mutual == 0:
        return "030C" if set(corners) == {(OUT, IN)} else "030T"
    if mutual == 1:
        (alone,) = (corner for corner in corners if MUTUAL not in corner)
        return {(OUT, OUT): "120D", (IN, IN): "120U", (OUT, IN): "120C"}[alone]
    return "210" if mutual == 2 else "300"
