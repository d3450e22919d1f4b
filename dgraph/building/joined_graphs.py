"""What operations run on if the user asked for very many partitions: the same edges, one partition for each worker."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, TypeVar
from weakref import ref

from dgraph.partition.policies import in_fewer_parts, still_suits

if TYPE_CHECKING:
    from dgraph.building.partitioned_graph import PartitionedGraph

    G = TypeVar("G", bound=PartitionedGraph)

MOST_KEPT = 4  # graphs whose results can be recomputed after a loss


class JoinedGraphs:
    """What was made of one graph, for one number of workers after the other."""

    def __init__(self) -> None:
        self.kept: list[PartitionedGraph] = []  # the last is in use; the others are kept for their results
        self.whole: ref[PartitionedGraph] | None = None  # the graph that this one's graph was made of
        self._lock = Lock()

    def of(self, graph: G) -> G:
        """The graph to run on: one with a partition for each worker, or the graph itself if none suits."""
        workers, edges = graph.workers.number, graph.input_edges
        asked = in_fewer_parts(graph.asked, workers)
        with self._lock:
            last = self.kept[-1] if self.kept and asked is not None else None
            if last is not None and still_suits(last.num_parts, workers):
                return last  # type: ignore[return-value]
            for earlier in self.kept:
                earlier.built = None
            if asked is None or not edges.has_room_for(asked):
                return graph
            made: G = type(graph).of(edges, asked)  # type: ignore[attr-defined]
            made.joins, made.joined.whole = graph.num_parts, ref(graph)
            self.kept = [*self.kept[1 - MOST_KEPT :], made]
            return made

    def forget_lost(self) -> None:
        """Forget what the graphs lost with a worker."""
        for graph in self.kept:
            graph.forget_lost()


def as_asked(graph: G) -> G:
    """The user's graph, with the partitions that were asked for, of one that operations run on."""
    whole = None if graph.joined.whole is None else graph.joined.whole()
    return graph if whole is None else whole  # type: ignore[return-value]
