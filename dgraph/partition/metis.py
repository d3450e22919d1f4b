"""METIS's k-way partition, in this process. Karypis and Kumar, SIAM J. Sci. Comput. 1998."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

import numpy as np

from dgraph.errors import OptionError
from dgraph.partition.adjacency import Adjacency

MOST = 2**31 - 1  # METIS counts in 32 bits, the weights of all vertices together, too
STDOUT = 1
_alone = Lock()


def owners(graph: Adjacency, parts: int, shares: Sequence[float]) -> np.ndarray:
    """The part of each vertex of an undirected simple graph; a vertex weighs one plus its degree."""
    size = len(graph.indptr) - 1
    if size + graph.num_edges > MOST:
        raise OptionError(
            f'policy="metis" counts in 32 bits: {size:,} vertices and {graph.num_edges:,} arcs, both '
            f"directions of each edge, are more than {MOST:,} together; choose outgoing, incoming, cartesian or hybrid"
        )
    if parts == 1 or not graph.num_edges:
        return np.zeros(size, np.uint16)
    if parts >= size:
        return np.arange(size, dtype=np.uint16)
    import pymetis

    with _stdout_closed():
        _, found = pymetis.part_graph(
            parts,
            adjacency=pymetis.CSRAdjacency(graph.indptr.astype(np.int32), graph.neighbours.astype(np.int32)),
            vweights=(np.diff(graph.indptr) + 1).astype(np.int32),
            tpwgts=[s / sum(shares) for s in shares],
        )
    return np.asarray(found, np.uint16)


@contextmanager
def _stdout_closed() -> Iterator[None]:
    """Close standard output in the block: METIS prints where a part stays empty, as of a star, amid the values if these
    go there."""
    flush = ctypes.CDLL(None).fflush
    with _alone, Path(os.devnull).open("wb") as nowhere:
        flush(None)
        kept = os.dup(STDOUT)
        os.dup2(nowhere.fileno(), STDOUT)
        try:
            yield
        finally:
            flush(None)
            os.dup2(kept, STDOUT)
            os.close(kept)
