"""Follows predecessors back to a source, to list paths."""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.native.team import ONE, kernel

UNREACHED, ENDLESS = -1, -1  # the step of a vertex without a path; the length of a path that never ends


@kernel
def path_lengths(steps, targets, known, lengths):
    """Set lengths[i] to the number of vertices on the path to targets[i]. steps[v] is the predecessor of v, or v itself
    where paths start. `known`, 0 at first, keeps the lengths of all vertices passed, so that none is passed twice."""
    for i in range(uint64(targets.size)):
        u, passed = np.int64(targets[i]), np.int64(0)
        while known[u] == 0 and steps[u] != UNREACHED and steps[u] != u and passed <= steps.size:
            u = np.int64(steps[u])
            passed += 1
        if passed > steps.size:
            lengths[i] = ENDLESS
            continue
        if known[u] == 0 and steps[u] == u:
            known[u] = 1
        lengths[i] = known[u] + passed if known[u] else 0
        u = np.int64(targets[i])
        for place in range(passed if lengths[i] else 0):
            known[u] = lengths[i] - place
            u = np.int64(steps[u])


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
