"""What each operation needs in addition to the graph's ids: edge orders, and bytes per vertex, edge and message.

The numbers are measured peaks of array sizes; `tests/estimates/test_estimate.py` checks them. If an operation copies
edges, for separate partitions or to remove repeated edges, the bytes per edge include the copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

BOTH = ("out", "incoming")
USUAL_RANK, LARGEST_RANK = 8, 4096  # of `factorize`


@dataclass(frozen=True)
class MemoryNeed:
    """What a worker needs at its peak."""

    orders: tuple[str, ...] = ("out",)  # orders in which a partition holds its edges
    vertex_bytes: float = 0  # per local vertex
    edge_bytes: float = 0  # per edge, in addition to the orders
    directed_bytes: float = 0  # per edge of a directed graph, in addition to `edge_bytes`
    everywhere: float = 0  # per vertex of the whole graph, on every worker
    rank_bytes: float = 0  # per local vertex and component of its factors


@dataclass(frozen=True)
class Footprint:
    """What an operation needs with one partition and with several, and what workers send each other."""

    alone: MemoryNeed = MemoryNeed()  # with one partition, where the operation's own solver runs
    spread: MemoryNeed = MemoryNeed()
    weighted: bool = False  # whether it reads weights
    message_bytes: int = 8  # per proxy and direction, in a round in which every vertex changes
    passed_bytes: int = 0  # per edge, once, to every other worker or to the worker that gathers
    gathers: bool = False  # whether its solver reads the values of all in-neighbours in every round
    simple: bool = False  # whether, with several partitions, it builds a graph without repeated edges
    both_ends: bool = False  # whether, with several partitions, these hold each directed edge at both ends
    gathered: MemoryNeed | None = None  # with several, extra on the worker that gathers, for all vertices and edges
    planned: bool = True  # whether its time on several workers can be told from its rounds
    sweeps: bool = False  # whether each round updates all vertices, with the same kernels on any number of workers

    def of_rank(self, rank: int) -> Footprint:
        """With the bytes of vectors of this length."""
        alone, spread = (
            replace(one, vertex_bytes=one.vertex_bytes + rank * one.rank_bytes, rank_bytes=0)
            for one in (self.alone, self.spread)
        )
        return replace(self, alone=alone, spread=spread, message_bytes=self.message_bytes + 8 * rank)


def footprint_of(orders: Sequence[str], columns: Sequence[str]) -> Footprint:
    """The footprint of the partitions alone, with these edge orders and columns."""
    need = MemoryNeed(tuple(orders), edge_bytes=8 * max(0, len(columns) - 1))
    return Footprint(need, need, weighted=bool(columns))


_CORES = Footprint(
    MemoryNeed(BOTH, 50, 8), MemoryNeed(("out",), 70, 7.5, 11), message_bytes=12, simple=True, both_ends=True
)
FOOTPRINTS: dict[str, Footprint] = {
    "build": Footprint(),
    "betweenness": Footprint(MemoryNeed(BOTH, 100), MemoryNeed(BOTH, 900), planned=False),
    "closeness": Footprint(MemoryNeed(BOTH, 80), MemoryNeed(BOTH, 400), planned=False),
    "bfs": Footprint(MemoryNeed(BOTH, 25), MemoryNeed(BOTH, 60)),
    "cdlp": Footprint(MemoryNeed(BOTH, 22), MemoryNeed(("out",), 84, 5, 30), both_ends=True),
    "coloring": Footprint(
        MemoryNeed(BOTH, 41), MemoryNeed(("out",), 100, 7.5, 11), message_bytes=24, simple=True, both_ends=True
    ),
    "core_number": _CORES,
    "degree_centrality": Footprint(MemoryNeed(("out",), 54), MemoryNeed(BOTH, 99)),
    "degrees": Footprint(MemoryNeed(("out",), 30), MemoryNeed(BOTH, 75)),
    "eccentricity": Footprint(
        MemoryNeed(BOTH, 90), gathered=MemoryNeed((), 90, 19), message_bytes=0, passed_bytes=8, planned=False
    ),
    "eigenvector": Footprint(MemoryNeed(("incoming",), 60), MemoryNeed(("incoming",), 60), gathers=True),
    "factorize": Footprint(
        MemoryNeed(("out",), 70, 30, 30, rank_bytes=28),
        MemoryNeed(("out",), 75, 38, 27, rank_bytes=27),
        weighted=True,
        both_ends=True,
        sweeps=True,
    ),
    "fast_rp": Footprint(MemoryNeed(("out",), 1600), MemoryNeed(BOTH, 4450), message_bytes=512, planned=False),
    "harmonic": Footprint(MemoryNeed(BOTH, 80), MemoryNeed(BOTH, 400), planned=False),
    "hits": Footprint(MemoryNeed(BOTH, 34), MemoryNeed(BOTH, 86), gathers=True),
    "k_core": _CORES,
    "katz": Footprint(MemoryNeed(("incoming",), 50, 3.5), MemoryNeed(("incoming",), 65), gathers=True),
    "label_propagation": Footprint(
        MemoryNeed(BOTH, 37), MemoryNeed(("out",), 100, 6, 30), message_bytes=16, both_ends=True
    ),
    "lcc": Footprint(
        MemoryNeed(BOTH, 52, 10), MemoryNeed(("out",), 0, 6.5, 5, everywhere=28), message_bytes=0, passed_bytes=4
    ),
    "leiden": Footprint(
        MemoryNeed(BOTH, 150, 14, 16), MemoryNeed(("out",), 0, 32, 38, everywhere=90), message_bytes=0, planned=False
    ),
    "louvain": Footprint(
        MemoryNeed(BOTH, 120, 6, 7), MemoryNeed(("out",), 0, 18, 21, everywhere=85), message_bytes=0, planned=False
    ),
    "matching": Footprint(MemoryNeed(("out",), 26), MemoryNeed(("out",), 97, 1, 23.5), both_ends=True),
    "maximal_independent_set": Footprint(MemoryNeed(BOTH, 20), MemoryNeed(BOTH, 95), message_bytes=18),
    "pagerank": Footprint(MemoryNeed(("incoming",), 48, 3.7), MemoryNeed(("incoming",), 68), gathers=True),
    "scc": Footprint(MemoryNeed(BOTH, 75), MemoryNeed(BOTH, 110), message_bytes=24),
    "sketched_closeness": Footprint(MemoryNeed(BOTH, 620), MemoryNeed(BOTH, 1500), message_bytes=256, planned=False),
    "sketched_harmonic": Footprint(MemoryNeed(BOTH, 620), MemoryNeed(BOTH, 1500), message_bytes=256, planned=False),
    "sssp": Footprint(MemoryNeed(("out",), 50), MemoryNeed(BOTH, 94, 15), weighted=True),
    "topological_generations": Footprint(MemoryNeed(("out",), 52), MemoryNeed(BOTH, 110), message_bytes=16),
    "triad_census": Footprint(
        MemoryNeed(BOTH, 70, 10), MemoryNeed(("out",), 0, 7.5, 5.5, everywhere=15), message_bytes=0, planned=False
    ),
    "triangles": Footprint(
        MemoryNeed(BOTH, 43, 8), MemoryNeed(("out",), 0, 7.5, 5.5, everywhere=15), message_bytes=0, passed_bytes=4
    ),
    "wcc": Footprint(MemoryNeed(BOTH, 14), MemoryNeed(BOTH, 78), message_bytes=4),
    "weighted_label_propagation": Footprint(
        MemoryNeed(BOTH, 50, 16), MemoryNeed(("out",), 130, 14, 95), weighted=True, message_bytes=16, both_ends=True
    ),
    "weighted_pagerank": Footprint(
        MemoryNeed(("incoming",), 30, 28),
        MemoryNeed(("incoming",), 64, 28),
        weighted=True,
        message_bytes=16,
        gathers=True,
    ),
}
OPERATIONS = {one.removeprefix("weighted_").removeprefix("sketched_") for one in FOOTPRINTS} - {"build"}  # for users

# Of functions that are no operations, with a row for each vertex; with several partitions.
CUTS = Footprint(gathered=MemoryNeed((), 70, 20), message_bytes=0, passed_bytes=8)
TRUSSES = Footprint(gathered=MemoryNeed((), 50, 85), message_bytes=0, passed_bytes=8)
FOREST = Footprint(
    spread=MemoryNeed(("out",), 0, 24, everywhere=28), gathered=MemoryNeed((), 100), message_bytes=0, passed_bytes=8
)
