"""What a depth-first search tells of cuts: bridges, articulation points and biconnected components (Hopcroft and
Tarjan, 1973).

The low point of a vertex is the first visited vertex that an edge from it, or from a descendant, leads to; the edge to
its parent does not count, but repetitions of that do.
"""

from __future__ import annotations

import numpy as np
from numba import uint32, uint64

from dgraph.native.interruptible_calls import EDGES_PER_LOOK
from dgraph.native.team import ONE, STOP, atomic_load, kernel, team
from dgraph.partition.adjacency import Adjacency
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.solvers.trees.chunk_slices import look_at_slices

NO_VERTEX = np.uint32((1 << 32) - 1)
NO_BLOCK = -1  # of a self loop


class DepthFirstSearch:
    """A depth-first search of all vertices, along edges in both directions. `order` numbers them from 1 on as they are
    visited, `visits` lists them so; `low` is the least order that an edge from a vertex or a descendant leads to."""

    def __init__(self, rows: Adjacency):
        size = len(rows.indptr) - 1
        self.above = np.empty(size, np.uint32)  # the parent, or NO_VERTEX
        self.order, self.low, self.visits = (
            np.zeros(size, np.uint32),
            np.empty(size, np.uint32),
            np.empty(size, np.uint32),
        )
        again, edge = np.zeros(size, np.bool_), np.empty(size, np.int64)
        found = self.order, self.low, self.above, self.visits
        team(_search, 1, rows.indptr, rows.neighbours, *found, again, edge)

    @property
    def children(self) -> np.ndarray:
        """The vertices with parents."""
        return np.flatnonzero(self.above != NO_VERTEX)

    def articulation_points(self) -> np.ndarray:
        """The vertices without which there are more components, in ascending order."""
        children = self.children
        parents = self.above[children]
        is_root = self.above[parents] == NO_VERTEX
        heads = self.low[children] >= self.order[parents]
        several = np.bincount(parents[is_root], minlength=1) > 1
        return np.union1d(parents[heads & ~is_root], np.flatnonzero(several)).astype(np.uint32)


class Bridges:
    """The parent of each vertex at the other end of a bridge. This is a plain class because Dask would search a tuple
    for tasks."""

    def __init__(self, search: DepthFirstSearch):
        children = search.children
        parents = search.above[children]
        chosen = search.low[children] > search.order[parents]
        self.across = np.full(len(search.above), NO_VERTEX)
        self.across[children[chosen]] = parents[chosen]

    def in_chunk(self, chunk: NumberedChunk) -> np.ndarray:
        """The rows of a chunk that are bridges."""

        def find(sources: np.ndarray, destinations: np.ndarray, start: int) -> tuple[np.ndarray]:
            rows = np.empty(len(sources), np.int64)
            return (rows[: _find_bridges(sources, destinations, self.across, rows)] + start,)

        return look_at_slices(chunk, find)[0]

    def __sizeof__(self) -> int:  # tells Dask when to spill to disk
        return self.across.nbytes


class Blocks:
    """The biconnected component of the edge from each vertex to its parent, and the order of visits. The edges of a
    vertex to others that were visited before are in the same component. Plain, too."""

    def __init__(self, search: DepthFirstSearch):
        self.order, self.block = search.order, np.full(len(search.above), NO_BLOCK)
        ends = np.full((2, len(search.above)), NO_VERTEX)
        count = int(_name_blocks(search.visits, search.order, search.low, search.above, self.block, *ends))
        first, second = (end[:count].astype(np.uint64) for end in ends)
        rank = np.empty(count, np.int64)
        rank[np.argsort(first << np.uint64(32) | second)] = np.arange(count)
        tied = self.block != NO_BLOCK
        self.block[tied] = rank[self.block[tied]]

    def of_chunk(self, chunk: NumberedChunk) -> np.ndarray:
        """The component of each edge of a chunk, or NO_BLOCK."""

        def look(sources: np.ndarray, destinations: np.ndarray, start: int) -> tuple[np.ndarray]:
            blocks = np.empty(len(sources), np.int64)
            _look_up_blocks(sources, destinations, self.order, self.block, blocks)
            return (blocks,)

        return look_at_slices(chunk, look)[0]

    def __sizeof__(self) -> int:
        return self.order.nbytes + self.block.nbytes


@kernel
def _search(rank, size, signals, indptr, neighbours, order, low, above, visits, again, edge):
    """`edge` has the next edge of each vertex on the path; `again` says of which the edge to the parent was met."""
    visited, edges_read = uint32(0), uint64(0)
    for root in range(uint64(order.size)):
        if order[root] != 0:
            continue
        visits[visited], above[root] = root, NO_VERTEX
        visited += uint32(1)
        order[root] = low[root] = visited
        u, depth, edge[0] = root, uint64(0), indptr[root]
        while True:
            parent, least, e, end, entered = (
                uint64(above[u]),
                low[u],
                uint64(edge[depth]),
                uint64(indptr[u + ONE]),
                False,
            )
            v, begin = u, e
            while e < end and not entered:
                v = uint64(neighbours[e])
                known = order[v]
                entered = known == 0
                if known < least and not entered:
                    if v == parent and not again[u]:
                        again[u] = True
                    else:
                        least = known
                e += ONE
            low[u] = least
            edges_read += e - begin + ONE
            if edges_read >= EDGES_PER_LOOK:
                if atomic_load(signals, STOP) != 0:
                    return 0
                edges_read = uint64(0)
            if entered:
                edge[depth] = e
                visits[visited], above[v] = v, u
                visited += uint32(1)
                order[v] = low[v] = visited
                u, depth = v, depth + ONE
                edge[depth] = indptr[u]
            elif depth == 0:
                break
            else:
                low[parent] = min(low[parent], least)
                u, depth = parent, depth - ONE
    return 0


@kernel
def _name_blocks(visits, order, low, above, block, first, second):
    """Number the components, and write the two least vertices of each, by which no two are alike. Returns how many."""
    count = 0
    for i in range(uint64(visits.size)):
        v = uint64(visits[i])
        parent = uint64(above[v])
        if above[v] == NO_VERTEX:
            continue
        if low[v] >= order[parent]:
            block[v] = count
            first[count] = parent
            count += 1
        else:
            block[v] = block[parent]
        k = block[v]
        if v < uint64(first[k]):
            first[k], second[k] = v, first[k]
        elif v < uint64(second[k]):
            second[k] = v
    return count


@kernel
def _find_bridges(sources, destinations, across, rows):
    count = uint64(0)
    for i in range(uint64(sources.size)):
        u, v = uint64(sources[i]), uint64(destinations[i])
        if uint64(across[u]) == v or uint64(across[v]) == u:
            rows[count] = i
            count += ONE
    return count


@kernel
def _look_up_blocks(sources, destinations, order, block, blocks):
    for i in range(uint64(sources.size)):
        u, v = uint64(sources[i]), uint64(destinations[i])
        later = u if order[u] > order[v] else v
        blocks[i] = NO_BLOCK if u == v else block[later]
