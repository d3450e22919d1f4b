"""METIS's k-way partitioning, in this process. Karypis and Kumar, SIAM J. Sci. Comput. 1998."""

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

LARGEST_TOTAL = 2**31 - 1  # METIS uses 32-bit integers, also for the total weight of all vertices
STDOUT = 1
_lock = Lock()


def metis_owners(graph: Adjacency, shares: Sequence[float]) -> np.ndarray:
    """The partition of each vertex of an undirected simple graph that has edges, and more vertices than partitions. The
    weight of a vertex is one plus its degree."""
    size = len(graph.indptr) - 1
    if size + graph.num_edges > LARGEST_TOTAL:
        raise OptionError(
            f'policy="metis" is limited to {LARGEST_TOTAL:,} vertices and arcs (two per edge) together, got {size:,} '
            f"vertices and {graph.num_edges:,} arcs; choose outgoing, incoming, cartesian or hybrid"
        )
    if len(shares) == 1:
        return np.zeros(size, np.uint16)
    import pymetis

    with _stdout_closed():
        _, parts_of = pymetis.part_graph(
            len(shares),
            adjacency=pymetis.CSRAdjacency(graph.indptr.astype(np.int32), graph.neighbours.astype(np.int32)),
            vweights=(np.diff(graph.indptr) + 1).astype(np.int32),
            tpwgts=[s / sum(shares) for s in shares],
        )
    return np.asarray(parts_of, np.uint16)


@contextmanager
def _stdout_closed() -> Iterator[None]:
    """Close standard output in the block: METIS prints a message when a part stays empty (as in a star), which would
    mix with results that are written to standard output."""
    flush = ctypes.CDLL(None).fflush
    with _lock, Path(os.devnull).open("wb") as nowhere:
        flush(None)
        saved = os.dup(STDOUT)
        os.dup2(nowhere.fileno(), STDOUT)
        try:
            yield
        finally:
            flush(None)
            os.dup2(saved, STDOUT)
            os.close(saved)
