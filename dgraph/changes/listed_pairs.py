"""Finds the rows of listed edges by the pair of their ends, in one pass over all of them."""

from __future__ import annotations

import numpy as np
from numba import uint64

from dgraph.building.input_edges import InputEdges
from dgraph.changes.batch import PairRule
from dgraph.native import threads
from dgraph.native.machine_code import cached_njit
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.ids.id_kernels import mark, number_of

kernel = cached_njit()


def pairs_in(edges: InputEdges, keys: np.ndarray, rule: PairRule) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each piece of the listed edges: the rows of edges with one of these keys, which ascend, and which key it
    is."""
    chunks, call = edges.to_read(), edges.workers.call
    return edges.workers.get([call(_pairs_in_chunk, chunk, keys, rule.directed) for chunk in chunks])


def _pairs_in_chunk(chunk: NumberedChunk, keys: np.ndarray, directed: bool) -> tuple[np.ndarray, np.ndarray]:
    if not len(keys):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    firsts = (keys >> np.uint64(32)).astype(np.int64)
    words = np.zeros(int(firsts[-1]) // 64 + 1, np.uint64)  # keys ascend by their first ends
    mark(firsts, 0, words)
    pair = np.empty(len(chunk), np.int64)

    def find(s: slice) -> None:
        _find_pairs(chunk.sources[s], chunk.destinations[s], *chunk.ranks.arguments, directed, words, keys, pair[s])

    threads.parallel_map(find, threads.slices(len(chunk), threads.cores()), len(chunk))
    rows = np.flatnonzero(pair >= 0)
    return rows, pair[rows]


@kernel
def _find_pairs(sources, destinations, first, id_words, before, directed, words, keys, out):
    """out[i] = the place of the pair of edge i among `keys`, or -1. `words` has a bit for each first end of a key."""
    for i in range(uint64(sources.size)):
        u = uint64(number_of(sources[i], first, id_words, before))
        v = uint64(number_of(destinations[i], first, id_words, before))
        if not directed and v < u:
            u, v = v, u
        out[i] = -1
        if u >> uint64(6) < words.size and (words[u >> uint64(6)] >> (u & uint64(63))) & uint64(1):
            key = (u << uint64(32)) | v
            k = uint64(np.searchsorted(keys, key))
            if k < keys.size and keys[k] == key:
                out[i] = k
