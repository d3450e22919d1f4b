"""The numbers of a partition's vertices, for kernels. Owned vertices mostly have consecutive numbers, which are
computed rather than looked up in memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined
from dgraph.tables.edge_tables import EdgeTables, cached_on


class VertexNumbers(NamedTuple):
    """The first `consecutive` vertices have the numbers from `first` on; `each` holds all numbers."""

    first: int
    consecutive: int
    each: np.ndarray


def numbers_of(edges: EdgeTables) -> VertexNumbers:
    """The numbers of a partition's local vertices."""

    def make() -> VertexNumbers:
        each, owned = edges.numbers(), edges.partition.num_owned
        consecutive = owned if owned and (np.diff(each[:owned]) == 1).all() else 0
        return VertexNumbers(int(each[0]) if consecutive else 0, consecutive, each)

    return cached_on(edges.partition, "vertex numbers", make)


@inlined
def number_of_vertex(u, numbers):
    """The number of a local vertex."""
    return numbers.first + np.int64(u) if u < uint64(numbers.consecutive) else np.int64(numbers.each[u])
