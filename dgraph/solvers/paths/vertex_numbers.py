"""The numbers of a partition's vertices, as kernels read them. Those of the vertices that it owns mostly follow one
another, and are reckoned: to look one up is one more look at memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined
from dgraph.tables.edge_tables import EdgeTables, cached_on


class VertexNumbers(NamedTuple):
    """The first `in_a_row` vertices have the numbers from `first` on; those of others are in `each`."""

    first: int
    in_a_row: int
    each: np.ndarray


def numbers_of(edges: EdgeTables) -> VertexNumbers:
    """Those of a partition's local vertices."""

    def found() -> VertexNumbers:
        each, owned = edges.numbers(), edges.partition.num_owned
        in_a_row = owned if owned and (np.diff(each[:owned]) == 1).all() else 0
        return VertexNumbers(int(each[0]) if in_a_row else 0, in_a_row, each)

    return cached_on(edges.partition, "numbers in a row", found)


@inlined
def number_of_vertex(u, numbers):
    """The number of a local vertex."""
    return numbers.first + np.int64(u) if u < uint64(numbers.in_a_row) else np.int64(numbers.each[u])
