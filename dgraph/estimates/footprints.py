"""What each operation needs beside the graph's ids: orders of edges, bytes of a vertex, an edge and a message.

Measured, as peaks of arrays, and kept true by `tests/estimates/test_estimate.py`: where an operation copies the edges, for
partitions of its own or a table without repeats, that copy is among the bytes of an edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BOTH = ("out", "incoming")


@dataclass(frozen=True)
class MemoryNeed:
    """What a worker needs, at the peak."""

    orders: tuple[str, ...] = ("out",)  # in which a partition holds its edges
    vertex_bytes: float = 0  # of each local vertex
    edge_bytes: float = 0  # of each edge, beyond those orders
    directed_bytes: float = 0  # of each edge of a directed graph, beyond these
    everywhere: float = 0  # of each vertex of the graph, on every worker


@dataclass(frozen=True)
class Footprint:
    """What an operation needs where it is alone and where it is spread over workers, and what these send each other."""

    alone: MemoryNeed = MemoryNeed()  # where all is one partition, and the operation's own solver runs
    spread: MemoryNeed = MemoryNeed()
    weighted: bool = False  # whether it reads the weights
    message_bytes: int = 8  # sent for a proxy in a round in which every vertex changes, each way that its policy needs
    passed_bytes: int = 0  # of each edge, once, to every other worker, or to the one that gathers
    gathers: bool = False  # whether its solver reads what all in-neighbours have, in every round
    simple: bool = False  # whether it is spread on a graph of its own, in which repeated edges are one
    both_ends: bool = False  # whether it is spread on partitions that have an edge of a directed graph at both ends
    gathered: MemoryNeed | None = (
        None  # of all vertices and edges, on the worker that works for all, beside its partition
    )


def footprint_of(orders: Sequence[str], columns: Sequence[str]) -> Footprint:
    """The footprint of partitions alone, with edges in these orders and with columns."""
    need = MemoryNeed(tuple(orders), edge_bytes=8 * max(0, len(columns) - 1))
    return Footprint(need, need, weighted=bool(columns))


_CORES = Footprint(
    MemoryNeed(BOTH, 50, 8), MemoryNeed(("out",), 70, 7.5, 11), message_bytes=12, simple=True, both_ends=True
)
FOOTPRINTS: dict[str, Footprint] = {
    "build": Footprint(),
    "bfs": Footprint(MemoryNeed(BOTH, 25), MemoryNeed(BOTH, 60)),
    "cdlp": Footprint(MemoryNeed(BOTH, 22), MemoryNeed(("out",), 84, 5, 30), both_ends=True),
    "core_number": _CORES,
    "degrees": Footprint(MemoryNeed(("out",), 30), MemoryNeed(BOTH, 75)),
    "factorize": Footprint(weighted=True, message_bytes=0, passed_bytes=16, gathered=MemoryNeed((), 190, 60)),
    "hits": Footprint(MemoryNeed(BOTH, 34), MemoryNeed(BOTH, 86), gathers=True),
    "k_core": _CORES,
    "katz": Footprint(MemoryNeed(("incoming",), 50, 3.5), MemoryNeed(("incoming",), 65), gathers=True),
    "label_propagation": Footprint(
        MemoryNeed(BOTH, 37), MemoryNeed(("out",), 100, 6, 30), message_bytes=16, both_ends=True
    ),
    "lcc": Footprint(
        MemoryNeed(BOTH, 52, 10), MemoryNeed(("out",), 0, 6.5, 5, everywhere=28), message_bytes=0, passed_bytes=4
    ),
    "matching": Footprint(MemoryNeed(("out",), 26), MemoryNeed(("out",), 97, 1, 23.5), both_ends=True),
    "pagerank": Footprint(MemoryNeed(("incoming",), 48, 3.7), MemoryNeed(("incoming",), 68), gathers=True),
    "scc": Footprint(MemoryNeed(BOTH, 75), MemoryNeed(BOTH, 110), message_bytes=24),
    "sssp": Footprint(MemoryNeed(("out",), 50), MemoryNeed(BOTH, 94, 15), weighted=True),
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
