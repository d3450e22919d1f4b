"""Where vertices and edges go: a policy applied to the edges of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from dgraph.native import threads
from dgraph.partition import build_kernels, metis, policies, rules
from dgraph.partition.adjacency import EdgeSlice, build
from dgraph.partition.ids.bitmaps import IDENTITY
from dgraph.partition.ids.chunk import Ids, NumberedChunk
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.partition import EdgePiece
from dgraph.partition.policies import Policy

NOWHERE = np.uint16(2**16 - 1)  # no partition has this number
AT_ONCE = 1 << 20  # edges that one thread cuts at once
Listing: TypeAlias = tuple[Callable[..., np.ndarray], bool]  # how edges are placed, and whether their reverses are


@dataclass(frozen=True, eq=False)
class Placement:
    """Which partition owns which vertices: partition p the positions bounds[p]..bounds[p + 1]. Where a policy does not
    follow the order of the ids, `numbers` has the number at each position, and `positions` the position of each
    number."""

    policy: Policy
    bounds: np.ndarray
    high: np.ndarray = field(default_factory=lambda: np.empty(0, bool))  # hubs, for the hybrid rule
    numbers: np.ndarray | None = None
    positions: np.ndarray | None = None
    twice: bool = False  # under an edge cut: an edge between two partitions is on both

    @property
    def parts(self) -> int:
        return len(self.bounds) - 1

    @property
    def owner(self) -> np.ndarray:
        """The partition that owns each position."""
        return np.repeat(np.arange(self.parts, dtype=np.uint16), np.diff(self.bounds))

    def move(self, chunk: NumberedChunk) -> NumberedChunk:
        """A chunk by position."""
        if self.positions is None:
            return chunk
        one = chunk.compact()
        return NumberedChunk(self.positions[one.sources], self.positions[one.destinations], one.columns, IDENTITY)

    def ids(self, ids: Numbering, part: int) -> Ids:
        """The ids that a partition owns, in the order of its local ids."""
        low, high = int(self.bounds[part]), int(self.bounds[part + 1])
        return ids.ids(low, high) if self.numbers is None else ids.take(self.numbers[low:high])


# -- masters -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DegreeTable:
    """Edges out of and into every vertex, each where it was asked for."""

    out: np.ndarray | None
    into: np.ndarray | None

    def __sizeof__(self) -> int:  # what Dask counts, to spill in time
        return sum(side.nbytes for side in (self.out, self.into) if side is not None)

    def __add__(self, other: DegreeTable) -> DegreeTable:
        return DegreeTable(
            None if self.out is None or other.out is None else self.out + other.out,
            None if self.into is None or other.into is None else self.into + other.into,
        )


def degrees(chunk: NumberedChunk, size: int, *, out: bool, into: bool, mirror: bool, skip_loops: bool) -> DegreeTable:
    """Degrees by the edges of a chunk; with `mirror`, by the edges and their reverses: both are the same."""
    ends = chunk.sources, chunk.destinations

    def count(keys: np.ndarray, others: np.ndarray, degree: np.ndarray, skip: bool) -> np.ndarray:
        build_kernels.count_degrees(keys, others, *chunk.ranks.arguments, skip, degree)
        return degree

    if mirror:
        both = count(*ends[::-1], count(*ends, np.zeros(size, np.uint32), skip_loops), True)
        return DegreeTable(both, both)
    return DegreeTable(
        count(*ends, np.zeros(size, np.uint32), skip_loops) if out else None,
        count(*ends[::-1], np.zeros(size, np.uint32), skip_loops) if into else None,
    )


def total(all_degrees: Sequence[DegreeTable]) -> DegreeTable:
    """The degrees of all chunks together."""
    return reduce(DegreeTable.__add__, all_degrees)


def ranges(policy: Policy, found: DegreeTable, size: int, shares: Sequence[float]) -> Placement:
    """Masters in ranges of equal work: one for each vertex, and one for each edge that the rule sends with it."""
    work = np.ones(size, np.int64)
    if policy.rule != policies.INCOMING and found.out is not None:
        work += found.out
    if policy.rule not in (policies.OUTGOING, policies.BY_USER) and found.into is not None:
        work += found.into
    if policy.rule == policies.HYBRID:
        assert found.into is not None
        return Placement(policy, policies.split_evenly(work, shares), found.into > policies.HIGH_DEGREE)
    return Placement(policy, policies.split_evenly(work, shares))


def moved(policy: Policy, owners: np.ndarray, parts: int) -> Placement:
    """Masters by a table: vertices change their position so that each partition owns a range of positions."""
    numbers = np.argsort(owners, kind="stable").astype(np.uint32 if len(owners) < 2**32 else np.int64)
    positions = np.empty_like(numbers)
    positions[numbers] = np.arange(len(numbers), dtype=numbers.dtype)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=parts))]).astype(np.int64)
    return Placement(policy, bounds, numbers=numbers, positions=positions)


def by_owners(policy: Policy, ids: Numbering, parts: int) -> Placement:
    """Masters where a function of the user's puts them."""
    assert policy.owners is not None
    found = policy.owners(ids.id_type.restore(ids.ids()), parts)
    return moved(policy, policies.checked_places(found, ids.size, parts, "vertices"), parts)


def by_metis(
    policy: Policy, chunks: Sequence[NumberedChunk], size: int, shares: Sequence[float], workers: int
) -> Placement:
    """Masters where METIS puts them, from all edges in one place."""
    ends = [rules.piece_of(chunk, skip_loops=True) for chunk in chunks]
    bare = [EdgePiece(piece.sources, piece.destinations, {}) for piece in ends]
    simple = rules.merge_repeats(bare, size, repeats="first", directed=False, workers=workers)
    if not len(simple) or size <= len(shares):  # nothing to cut, or a part for each vertex
        return Placement(policy, policies.split_evenly(np.ones(size), shares))
    both = [EdgeSlice(simple.sources, simple.destinations), EdgeSlice(simple.destinations, simple.sources)]
    graph = build(both, size, workers=workers)
    return moved(policy, metis.owners(graph, len(shares), shares), len(shares))


# -- edges -------------------------------------------------------------------------------------------------------------


def places(chunk: NumberedChunk, where: Placement, ids: Numbering, flip: bool) -> np.ndarray:
    """The partition of every edge of a chunk, or of every reverse. The chunk is by position."""
    ends = (chunk.destinations, chunk.sources) if flip else (chunk.sources, chunk.destinations)
    policy = where.policy
    if policy.edges is not None:
        one = chunk.compact()
        sources, destinations = (ids.id_type.restore(ids.take(end)) for end in (one.sources, one.destinations))
        if flip:
            sources, destinations = destinations, sources
        found = policy.edges(sources, destinations, where.parts)
        return policies.checked_places(found, len(chunk), where.parts, "edges")
    out = np.empty(len(chunk), np.uint16)
    owner, columns = where.owner, policies.grid_columns(where.parts)

    def one_slice(s: slice) -> None:
        build_kernels.place(
            ends[0][s], ends[1][s], *chunk.ranks.arguments, owner, policy.rule, columns, where.high, out[s]
        )

    threads.each(one_slice, threads.slices(len(chunk), threads.cores()))
    return out


def second_places(chunk: NumberedChunk, where: Placement, ids: Numbering, flip: bool) -> np.ndarray:
    """The owner of each edge's other end, under the incoming cut its source; nowhere if that owns both ends."""
    other = {policies.INCOMING: policies.OUTGOING, policies.OUTGOING: policies.INCOMING}[where.policy.rule]
    first = places(chunk, where, ids, flip)
    second = places(chunk, replace(where, policy=replace(where.policy, rule=other)), ids, flip)
    return np.where(first == second, NOWHERE, second)


def split(chunk: NumberedChunk, found: np.ndarray, parts: int, flip: bool, skip_loops: bool) -> list[EdgePiece]:
    """The edges of a chunk (or their reverses) for each partition, by where they were placed: arrays of their own, so
    that each can be let go. A self loop has no reverse."""
    sources, destinations = (chunk.destinations, chunk.sources) if flip else (chunk.sources, chunk.destinations)
    rule, counts = (found, sources, destinations, skip_loops or flip), np.zeros(parts, np.int64)
    build_kernels.count_placed(*rule, counts)
    bounds = np.concatenate([[0], np.cumsum(counts)])

    def cut(run: Callable[..., None], values: np.ndarray, dtype: Any, *options: Any) -> list[np.ndarray]:
        out = np.empty(bounds[-1], dtype)
        run(*rule, bounds[:-1].copy(), values, *options, out)
        return [out[a:z].copy() for a, z in pairwise(bounds)]

    first, second = (cut(build_kernels.split_ids, end, chunk.dtype, *chunk.ranks.arguments) for end in rule[1:3])
    columns = {name: cut(build_kernels.split_values, c, c.dtype) for name, c in chunk.columns.items()}
    return [
        EdgePiece(first[part], second[part], {name: values[part] for name, values in columns.items()})
        for part in range(parts)
    ]


def split_all(
    chunks: list[NumberedChunk], where: Placement, ids: Numbering, listings: Sequence[Listing], skip_loops: bool
) -> list[list[EdgePiece]]:
    """All edges for each partition, the last chunk first: chunks that are ours are let go as they are cut.
    `listings` say by what, and which way round, each edge is placed."""
    pieces: list[list[EdgePiece]] = [[] for _ in range(where.parts)]
    while chunks:
        chunk = chunks.pop()
        at_once = AT_ONCE if where.policy.edges is None else max(1, len(chunk))  # a function of the user's sees all
        cuts: list[list[list[EdgePiece]]] = [[] for _ in listings]
        for some in chunk.taken(at_once * threads.cores()):

            def cut(s: slice, some: NumberedChunk = some) -> list[list[EdgePiece]]:
                one = where.move(some[s])
                return [
                    split(one, find(one, where, ids, flip), where.parts, flip, skip_loops) for find, flip in listings
                ]

            for found in reversed(threads.each(cut, threads.slices(len(some), -(-len(some) // at_once)), len(some))):
                for listing, one in zip(cuts, found, strict=True):
                    listing.append(one)
        for listing in reversed(cuts):
            for one in listing:
                for mine, piece in zip(pieces, one, strict=True):
                    mine.append(piece)
    for mine in pieces:
        mine.reverse()
    return pieces
