"""Looks at the edges of a chunk on several threads, a slice after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dgraph.native import threads
from dgraph.partition.ids.chunk import NumberedChunk

SLICE = 1 << 18  # edges that a thread looks at before it takes others

Look = Callable[[np.ndarray, np.ndarray, int], Sequence[np.ndarray]]


def look_at_slices(chunk: NumberedChunk, look: Look) -> list[np.ndarray]:
    """Call `look` with the numbers of both ends of each slice, and the row at which that starts, and put the arrays
    together that it returns."""

    def at(start: int) -> Sequence[np.ndarray]:
        ends = chunk.sources[start : start + SLICE], chunk.destinations[start : start + SLICE]
        one = NumberedChunk(*ends, ranks=chunk.ranks).compact()
        return look(one.sources, one.destinations, start)

    found = threads.parallel_map(at, range(0, max(len(chunk), 1), SLICE), len(chunk))
    return [np.concatenate(arrays) for arrays in zip(*found, strict=True)]
