"""The sides of bipartite components over several partitions: connected components of the double cover of the graph.

See `solvers/subgraphs/sides.py` for the cover. Its components are found as those of the graph are, by contraction, with
labels of twice as many vertices.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dgraph.engines.local_methods.contraction import ComponentLabels, ContractionMethod, ContractState
from dgraph.solvers.subgraphs.sides import local_cover


class CoverState(ContractState):
    """The state of one partition. The labels of both copies of a vertex end up in its two inboxes."""

    def local_labels(self) -> ComponentLabels:
        roots, edges_read = local_cover(self.edges)
        self.total["edges"] += edges_read
        numbers = _copies(self.partition.numbers)
        return ComponentLabels(roots, numbers, np.empty(len(roots), np.int64), 2 * self.values["vertices"])

    def labelled(self, ids: np.ndarray) -> np.ndarray:
        return _copies(ids)

    def spread(self, labels: ComponentLabels) -> None:
        labels.spread(2 * self.n)
        for parity, inbox in enumerate(self.inboxes):
            inbox[: self.n] = labels.of[parity : 2 * self.n : 2]


class DoubleCoverMethod(ContractionMethod):
    """The method for programs that find the smallest copy in each component of the double cover."""

    state: ClassVar[type] = CoverState

    def memory(self, edge_columns: int) -> tuple[int, int]:
        return 56, 0


def _copies(ids: np.ndarray) -> np.ndarray:
    """Both copies of each of these vertices, in order."""
    copies = np.repeat(ids.astype(np.int64) << 1, 2)
    copies[1::2] += 1
    return copies
