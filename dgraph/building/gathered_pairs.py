"""The ends of all edges, as algorithms need them that run on one worker."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.estimates.footprints import Footprint
from dgraph.estimates.memory_check import check_gathering_memory
from dgraph.partition.partition import Partition
from dgraph.solvers.subgraphs.higher_ends import higher_and_lower


def pairs_to_gather(graph: PartitionedGraph, what: str, need: Footprint) -> list[Any]:
    """The numbers of the higher and the lower end of the edges of each partition, without self loops, on its worker, to
    be handed to one task. `need` is what one worker then needs, which must be there."""
    check_gathering_memory(graph, what, need)
    return graph.workers.each(_pairs, [(one, graph.directed) for one in graph.partitioned(("out",)).held])


def _pairs(partition: Partition, directed: bool) -> tuple[np.ndarray, np.ndarray]:
    return higher_and_lower(partition.by_source, partition.numbers, directed=directed)
