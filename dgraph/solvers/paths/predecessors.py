"""Follows predecessors back to a source, to list paths."""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, kernel

UNREACHED, ENDLESS = -1, -1  # the step of a vertex without a path; the length of a path that never ends


@kernel
def path_lengths(steps, targets, lengths):
    """Set lengths[i] to the number of vertices on the path to targets[i]. steps[v] is the predecessor of v, or v itself
    where paths start."""
    for i in range(uint64(targets.size)):
        u, length = np.int64(targets[i]), np.int64(0)
        if steps[u] != UNREACHED:
            length += 1
        while steps[u] != UNREACHED and steps[u] != u and length <= steps.size:
            u = np.int64(steps[u])
            length += 1
        lengths[i] = length if length <= steps.size else ENDLESS


@kernel
def list_paths(steps, targets, ends, vertices):
    """Write the path to targets[i], from its start on, so that it ends before vertices[ends[i]]."""
    begin = uint64(0)
    for i in range(uint64(targets.size)):
        u = np.int64(targets[i])
        for place in range(uint64(ends[i]) - begin):
            vertices[uint64(ends[i]) - ONE - place] = u
            u = np.int64(steps[u])
        begin = uint64(ends[i])
