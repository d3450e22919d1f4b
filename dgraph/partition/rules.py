"""The rules for self loops, repeated edges and reverses: which of the listed edges are in the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dgraph.arguments import check_choice
from dgraph.errors import WeightError
from dgraph.native import threads
from dgraph.partition import build_kernels
from dgraph.partition.adjacency import EdgeSlice, build, common_type
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.sum_limits import first_excess

REPEATS = ("keep", "first", "sum", "min", "max")
LOOPS = ("keep", "drop")
ROW, FLIPPED = "\0row", "\0flipped"  # columns: the row of the listed edge, and whether this is its reverse
_REDUCE = {"sum": np.add, "min": np.minimum, "max": np.maximum}


class Names(Protocol):
    """Tells the user's ids of vertices by number, for errors."""

    def restored(self, numbers: np.ndarray) -> Any: ...


def check_rules(loops: str, repeats: str) -> None:
    """Refuse unknown rules for loops or repeats."""
    check_choice("loops", loops, LOOPS)
    check_choice("repeats", repeats, REPEATS)


def reverses(chunk: NumberedChunk) -> NumberedChunk:
    """The reverse of every edge except self loops."""
    one = chunk.compact()
    one = one[one.sources != one.destinations].reversed()
    if FLIPPED in one.columns:
        one.columns[FLIPPED] = ~one.columns[FLIPPED]
    return one


def count_loops(chunk: NumberedChunk) -> int:
    def count(s: slice) -> int:
        return int((chunk.sources[s] == chunk.destinations[s]).sum())

    return sum(threads.parallel_map(count, threads.slices(len(chunk), threads.cores())))


def piece_of(
    chunk: NumberedChunk, low: int = 0, high: int | None = None, directed: bool = True, skip_loops: bool = False
) -> NumberedChunk:
    """The edges of a chunk whose first end is in low..high: the source, or the smaller end of an undirected edge."""
    one = chunk.compact()
    chosen = one.sources != one.destinations if skip_loops else np.ones(len(one), bool)
    if high is not None:
        first = one.sources if directed else np.minimum(one.sources, one.destinations)
        chosen &= (first >= low) & (first < high)
    return one if chosen.all() else one[chosen]


def merge_repeats(
    pieces: Sequence[NumberedChunk],
    size: int,
    ids: Names | None = None,
    *,
    repeats: str,
    directed: bool,
    workers: int = 1,
) -> NumberedChunk:
    """One edge for each pair of ends (for undirected edges, in either direction), in order of the pair.

    Two stable sorts, by destination and then by source, bring repeats together in the order in which they were listed.
    The origin of an edge, and columns that are not numeric, keep their first value under every rule. `ids` translates
    the numbers of an edge whose sum does not fit into 64 bits.
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
    firsts, columns = order[is_first], dict[str, np.ndarray]()
    merged = NumberedChunk(sources[firsts], destinations[firsts], columns)
    for name in pieces[0].columns:
        values = [p.columns[name] for p in pieces]
        common_type(name, values)  # refuses numbers that would change
        column = _joined(values)
        if repeats == "first" or name in (ROW, FLIPPED) or column.dtype.kind not in "iuf" or not len(firsts):
            columns[name] = column[firsts]
        else:
            columns[name] = _reduced(name, column[order], np.flatnonzero(is_first), merged, repeats, ids)
    return merged


def merge_values(name: str, values: np.ndarray, edges: NumberedChunk, repeats: str, ids: Names) -> np.ndarray:
    """The merged value of each edge, given a row of values for each."""
    starts = np.arange(len(values)) * values.shape[1]
    return _reduced(name, values.ravel(), starts, edges, repeats, ids)


def _reduced(
    name: str, values: np.ndarray, starts: np.ndarray, edges: NumberedChunk, repeats: str, ids: Names | None
) -> np.ndarray:
    """The merged value of each edge, whose values extend from its start to the next one."""
    if repeats == "sum" and (group := first_excess(values, starts)) is not None:
        raise _sum_error(name, int(edges.sources[group]), int(edges.destinations[group]), ids)
    return _REDUCE[repeats].reduceat(values, starts)


def _sum_error(name: str, source: int, destination: int, ids: Names | None) -> WeightError:
    """The error for a column whose sum over the repeats of an edge is too large."""
    ends = np.array([source, destination])
    u, v = (ends if ids is None else np.asarray(ids.restored(ends))).tolist()
    problem = f"the sum of the repeated edge from {u!r} to {v!r} exceeds 64 bits"
    remedy = "convert the column to float64, or choose another repeats="
    return WeightError(f'column {name!r}: {problem} (repeats="sum"); {remedy}')


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _sorted_by(keys: np.ndarray, values: np.ndarray, size: int, workers: int) -> np.ndarray:
    """The values in ascending order of their keys; a stable sort."""
    return build([EdgeSlice(keys, values)], size, workers=workers).neighbours
