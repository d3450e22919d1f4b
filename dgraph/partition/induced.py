"""Edges between chosen vertices, of a chunk or of a partition, which are numbered anew.

The chosen vertices are a `Ranks`: a bit for each vertex of the whole graph, and the rank of each that is set, which is
its new number. Bitmaps of millions of vertices stay in cache while edges stream past.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numba import uint64

from dgraph.native import threads
from dgraph.native.machine_code import cached_njit, inlined
from dgraph.partition.adjacency import Adjacency
from dgraph.partition.ids.bitmaps import IDENTITY, Ranks
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.ids.id_kernels import number_of
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.partition import Partition

PIECES = 4  # of the rows of a partition, for each core, because their lengths differ

kernel = cached_njit()


def ranks_of(mask: np.ndarray) -> Ranks:
    """The numbers at which a mask is true."""
    words = np.zeros(-(-len(mask) // 64) * 8, np.uint8)
    bits = np.packbits(mask, bitorder="little")
    words[: len(bits)] = bits
    return Ranks.of_bitmap(0, words.view(np.uint64))


# -- chunks ------------------------------------------------------------------------------------------------------------


def edges_between(chunk: NumberedChunk, chosen: Ranks) -> np.ndarray:
    """Which edges of a chunk have both ends among the chosen vertices."""
    kept, which = np.empty(len(chunk), np.bool_), (chosen.size, chosen.words)

    def mark(s: slice) -> None:
        _mark_between(chunk.sources[s], chunk.destinations[s], *chunk.ranks.arguments, *which, kept[s])

    threads.parallel_map(mark, threads.slices(len(chunk), threads.cores()), len(chunk))
    return kept


def kept_edges(chunk: NumberedChunk, kept: np.ndarray, chosen: Ranks = IDENTITY) -> NumberedChunk:
    """The edges of a chunk that are kept, whose ends are numbered by rank among the chosen vertices. The new chunk says
    that these numbers are ids, although each id is its own number: chunks of ids are sorted in one go, which is faster;
    chunks of numbers are sorted range by range, so that their memory can be freed on the way."""
    slices = threads.slices(len(chunk), threads.cores())
    counts = threads.parallel_map(lambda s: int(np.count_nonzero(kept[s])), slices, len(chunk))
    starts = np.concatenate([[0], np.cumsum(counts)])
    dtype = np.uint32 if chosen.size and chosen.size < 2**32 else chunk.dtype
    sources, destinations = (np.empty(int(starts[-1]), dtype) for _ in range(2))

    def renumber(piece: int) -> None:
        s, mine = slices[piece], slice(starts[piece], starts[piece + 1])
        how = *chunk.ranks.arguments, *chosen.arguments, kept[s]
        _renumber_kept(chunk.sources[s], chunk.destinations[s], *how, sources[mine], destinations[mine])

    threads.parallel_map(renumber, range(len(slices)), len(chunk))
    return NumberedChunk(sources, destinations, {}, Ranks(0, chosen.size or chunk.ranks.size))


@inlined
def _is_member(number, size, words):
    """Whether a vertex is chosen; without `words`, the first `size` vertices are."""
    x = np.uint64(number)
    if words.size == 0:
        return x < np.uint64(size)
    return (words[x >> np.uint64(6)] >> (x & np.uint64(63))) & np.uint64(1) != np.uint64(0)


@kernel
def _mark_between(sources, destinations, first, id_words, before, size, words, kept):
    for i in range(uint64(sources.size)):
        u = number_of(sources[i], first, id_words, before)
        v = number_of(destinations[i], first, id_words, before)
        kept[i] = _is_member(u, size, words) & _is_member(v, size, words)


@kernel
def _renumber_kept(sources, destinations, first, id_words, before, lowest, words, ranks, kept, out, into):
    """Write every edge, and go on to the next place if it is kept: a branch would be mispredicted too often."""
    k = uint64(0)
    for i in range(uint64(sources.size)):
        if k == uint64(out.size):
            return
        out[k] = number_of(number_of(sources[i], first, id_words, before), lowest, words, ranks)
        into[k] = number_of(number_of(destinations[i], first, id_words, before), lowest, words, ranks)
        k += uint64(kept[i])


# -- partitions --------------------------------------------------------------------------------------------------------


def induced_partition(whole: Partition, chosen: Ranks, ids: Numbering) -> Partition:
    """The part of a graph's only partition between chosen vertices, as the only partition of a graph with these ids."""
    members = chosen.members()
    out = None if whole.out is None else _induced_rows(whole.out, members, chosen)
    if whole.incoming is whole.out or whole.incoming is None:  # one table if the graph is symmetric
        incoming = whole.incoming and out
    else:
        incoming = _induced_rows(whole.incoming, members, chosen)
    table = out or incoming
    assert table is not None, "a partition has one order at least"
    return replace(Partition.of_whole_graph(table, "out", ids.ids()), out=out, incoming=incoming)


def _induced_rows(table: Adjacency, members: np.ndarray, chosen: Ranks) -> Adjacency:
    """The rows of the chosen vertices, with the neighbours that are chosen too."""
    firsts, which = table.indptr[members], (chosen.size, chosen.words)
    work = np.linspace(0, table.num_edges, PIECES * threads.cores() + 1) if len(members) else [0]
    cuts = np.unique([0, *np.searchsorted(firsts, work), len(members)])
    pieces = [slice(a, b) for a, b in pairwise(cuts.tolist())]

    def each(work: Callable[..., None], *given: Any) -> None:
        threads.parallel_map(partial(work, *given), pieces, table.num_edges)

    indptr = np.zeros(len(members) + 1, np.int64)
    rows = table.indptr, table.neighbours, members

    def count(s: slice) -> None:
        _count_rows(*rows[:2], members[s], *which, indptr[1:][s])

    def fill(out: np.ndarray, s: slice) -> None:
        _fill_rows(*rows[:2], members[s], *which, chosen.before, indptr[s], indptr[s.stop], out)

    def fill_column(values: np.ndarray, out: np.ndarray, s: slice) -> None:
        _fill_values(*rows[:2], values, members[s], *which, indptr[s], indptr[s.stop], out)

    each(count)
    np.cumsum(indptr, out=indptr)
    neighbours = np.empty(int(indptr[-1]), table.neighbours.dtype)
    each(fill, neighbours)
    columns = {name: np.empty(len(neighbours), values.dtype) for name, values in table.columns.items()}
    for name, values in table.columns.items():
        each(fill_column, values, columns[name])
    return Adjacency(indptr, neighbours, columns)


@kernel
def _count_rows(indptr, neighbours, members, size, words, counts):
    for i in range(uint64(members.size)):
        u = uint64(members[i])
        count = 0
        for e in range(uint64(indptr[u]), uint64(indptr[u + 1])):
            count += int(_is_member(neighbours[e], size, words))
        counts[i] = count


@kernel
def _fill_rows(indptr, neighbours, members, size, words, ranks, starts, stop, out):
    k = uint64(starts[0])
    for i in range(uint64(members.size)):
        u = uint64(members[i])
        for e in range(uint64(indptr[u]), uint64(indptr[u + 1])):
            if k == uint64(stop):
                return
            v = neighbours[e]
            out[k] = number_of(v, 0, words, ranks)
            k += uint64(_is_member(v, size, words))


@kernel
def _fill_values(indptr, neighbours, values, members, size, words, starts, stop, out):
    k = uint64(starts[0])
    for i in range(uint64(members.size)):
        u = uint64(members[i])
        for e in range(uint64(indptr[u]), uint64(indptr[u + 1])):
            if k == uint64(stop):
                return
            out[k] = values[e]
            k += uint64(_is_member(neighbours[e], size, words))
