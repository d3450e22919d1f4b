"""The rules for self loops, repeated edges and reverses: which of the listed edges the graph has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dgraph.native import threads
from dgraph.options import check_choice
from dgraph.partition import build_kernels
from dgraph.partition.adjacency import EdgeSlice, build
from dgraph.partition.ids.bitmaps import IDENTITY
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.partition import EdgePiece

REPEATS = ("keep", "first", "sum", "min", "max")
LOOPS = ("keep", "drop")
ROW, FLIPPED = "\0row", "\0flipped"  # columns that tell which listed edge this is, and whether it is its reverse
_REDUCE = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def check(loops: str, repeats: str) -> None:
    """Refuse what is no rule for loops, or for repeats."""
    check_choice("loops", loops, LOOPS)
    check_choice("repeats", repeats, REPEATS)


def reverses(chunk: NumberedChunk) -> NumberedChunk:
    """The reverse of every edge; a self loop, being its own, has none."""
    one = chunk.compact()
    keep = one.sources != one.destinations
    columns = {name: column[keep] for name, column in one.columns.items()}
    if FLIPPED in columns:
        columns[FLIPPED] = ~columns[FLIPPED]
    return NumberedChunk(one.destinations[keep], one.sources[keep], columns, IDENTITY)


def count_loops(chunk: NumberedChunk) -> int:
    def count(s: slice) -> int:
        return int((chunk.sources[s] == chunk.destinations[s]).sum())

    return sum(threads.each(count, threads.slices(len(chunk), threads.cores())))


def piece_of(
    chunk: NumberedChunk, low: int = 0, high: int | None = None, directed: bool = True, skip_loops: bool = False
) -> EdgePiece:
    """The edges of a chunk whose first end is one of low..high: the source, or of undirected edges the smaller end."""
    one = chunk.compact()
    chosen = one.sources != one.destinations if skip_loops else np.ones(len(one), bool)
    if high is not None:
        first = one.sources if directed else np.minimum(one.sources, one.destinations)
        chosen &= (first >= low) & (first < high)
    if chosen.all():
        return EdgePiece(one.sources, one.destinations, one.columns)
    columns = {name: column[chosen] for name, column in one.columns.items()}
    return EdgePiece(one.sources[chosen], one.destinations[chosen], columns)


def merge_repeats(
    pieces: Sequence[EdgePiece], size: int, *, repeats: str, directed: bool, workers: int = 1
) -> NumberedChunk:
    """One edge for each pair of ends (for undirected edges, whichever way round), in order of the pair.

    Two stable sorts, by destination and then by source, bring repeats together in the order in which they were listed.
    Where an edge came from, and columns that are not numbers, keep their first value under every rule.
    """
    sources, destinations = (_joined([getattr(p, end) for p in pieces]) for end in ("sources", "destinations"))
    low, high = sources, destinations
    if not directed:
        low, high = np.minimum(sources, destinations), np.maximum(sources, destinations)
    positions = np.arange(len(high), dtype=np.uint32 if len(high) < 2**32 else np.int64)
    by_high = _sorted_by(high, positions, size, workers)
    del positions
    order = _sorted_by(low[by_high], by_high, size, workers)
    del by_high
    is_first = np.empty(len(order), bool)
    build_kernels.starts_group(low, high, order, is_first)
    del low, high
    firsts, columns = order[is_first], {}
    for name in pieces[0].columns:
        column = _joined([p.columns[name] for p in pieces])
        if repeats == "first" or name in (ROW, FLIPPED) or column.dtype.kind not in "iuf":
            columns[name] = column[firsts]
        elif len(firsts):
            columns[name] = _REDUCE[repeats].reduceat(column[order], np.flatnonzero(is_first))
        else:
            columns[name] = column[:0]
    del order, is_first
    return NumberedChunk(sources[firsts], destinations[firsts], columns, IDENTITY)


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _sorted_by(keys: np.ndarray, values: np.ndarray, size: int, workers: int) -> np.ndarray:
    """The values in ascending order of their keys, those of equal keys in the order given."""
    return build([EdgeSlice(keys, values)], size, workers=workers).neighbours
