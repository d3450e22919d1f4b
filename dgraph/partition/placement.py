"""Placing vertices and edges on partitions: a policy applied to the edges of a graph."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from dgraph.errors import OptionError
from dgraph.native import threads
from dgraph.partition import build_kernels, policies, rules
from dgraph.partition.adjacency import Adjacency, EdgeSlice, build
from dgraph.partition.ids.chunk import Ids, NumberedChunk
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.policies import Policy

LARGEST_TOTAL = 2**31 - 1  # METIS uses 32-bit integers, also for the total weight of all vertices
STDOUT = 1
_lock = Lock()
NOWHERE = np.uint16(2**16 - 1)  # no partition has this number
SPLIT_EDGES = 1 << 20  # edges that a thread splits at once
# a function that places edges, and whether to place their reverses instead
Listing: TypeAlias = tuple[Callable[..., np.ndarray], bool]


@dataclass(frozen=True, eq=False)
class Placement:
    """Which partition owns which vertices: partition p owns the positions bounds[p]..bounds[p + 1]. If a policy does
    not keep vertices in order of their ids, `numbers` has the number at each position, and `positions` is its
    inverse."""

    policy: Policy
    bounds: np.ndarray
    high: np.ndarray = field(default_factory=lambda: np.empty(0, bool))  # hubs, for the hybrid rule
    numbers: np.ndarray | None = None
    positions: np.ndarray | None = None
    twice: bool = False  # under an edge cut: an edge between two partitions is stored on both
    owners: np.ndarray | None = None  # what `owner` returns, where it is asked for very often

    @classmethod
    def of_numbers(cls, policy: Policy, bounds: np.ndarray, numbers: np.ndarray, high: np.ndarray) -> Placement:
        """Masters in any order, given the number at each position."""
        positions = np.empty_like(numbers)
        positions[numbers] = np.arange(len(numbers), dtype=numbers.dtype)
        return cls(policy, bounds, high, numbers, positions)

    @property
    def parts(self) -> int:
        return len(self.bounds) - 1

    @property
    def owner(self) -> np.ndarray:
        """The partition that owns each position."""
        if self.owners is not None:
            return self.owners
        return np.repeat(np.arange(self.parts, dtype=np.uint16), np.diff(self.bounds))

    def to_positions(self, chunk: NumberedChunk) -> NumberedChunk:
        """A chunk with positions in place of numbers."""
        if self.positions is None:
            return chunk
        one = chunk.compact()
        return NumberedChunk(self.positions[one.sources], self.positions[one.destinations], one.columns)

    def ids(self, ids: Numbering, part: int) -> Ids:
        """The ids that a partition owns, in the order of its local ids."""
        low, high = int(self.bounds[part]), int(self.bounds[part + 1])
        return ids.ids(low, high) if self.numbers is None else ids.take(self.numbers[low:high])


# -- masters -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DegreeTable:
    """The out-degree and in-degree of each vertex; None where not requested."""

    out: np.ndarray | None
    into: np.ndarray | None

    @classmethod
    def of(cls, size: int, *, out: bool, into: bool, mirror: bool) -> DegreeTable:
        """A table before any edge is counted. With `mirror`, reverses count too, so out-degrees equal in-degrees."""
        first = np.zeros(size, np.uint32) if out or mirror else None
        return cls(first, first if mirror else np.zeros(size, np.uint32) if into else None)

    def add(self, chunk: NumberedChunk, *, mirror: bool, skip_loops: bool) -> None:
        """Count the edges of a chunk."""

        def count(keys: np.ndarray, others: np.ndarray, degree: np.ndarray | None, skip: bool) -> None:
            if degree is not None:
                build_kernels.count_degrees(keys, others, *chunk.ranks.arguments, skip, degree)

        count(chunk.sources, chunk.destinations, self.out, skip_loops)
        count(chunk.destinations, chunk.sources, self.into, skip_loops or mirror)

    def __sizeof__(self) -> int:  # Dask decides by this size when to spill
        return sum(side.nbytes for side in (self.out, self.into) if side is not None)


def degrees(chunk: NumberedChunk, size: int, *, out: bool, into: bool, mirror: bool, skip_loops: bool) -> DegreeTable:
    """Degrees from the edges of a chunk."""
    table = DegreeTable.of(size, out=out, into=into, mirror=mirror)
    table.add(chunk, mirror=mirror, skip_loops=skip_loops)
    return table


def sum_degrees(all_degrees: Sequence[DegreeTable]) -> DegreeTable:
    """The degrees over all chunks."""
    sides: Any = [one.out for one in all_degrees], [one.into for one in all_degrees]
    return DegreeTable(*(None if side[0] is None else reduce(np.add, side) for side in sides))


def ranges(policy: Policy, degree: DegreeTable, size: int, shares: Sequence[float]) -> Placement:
    """Masters in ranges of equal work: one unit per vertex, and one per edge that the rule places with the vertex."""
    work = np.ones(size, np.int64)
    out, into = policy.needs_degrees
    if out and degree.out is not None:
        work += degree.out
    if into and degree.into is not None:
        work += degree.into
    return Placement(policy, policies.split_evenly(work, shares), find_hubs(policy, degree))


def find_hubs(policy: Policy, degree: DegreeTable | None) -> np.ndarray:
    """A mask, by number, of the vertices with many in-edges; empty if the policy does not distinguish hubs."""
    if not policy.finds_hubs:
        return np.empty(0, bool)
    assert degree is not None and degree.into is not None
    return degree.into > policies.HIGH_DEGREE


def by_table(policy: Policy, owners: np.ndarray, parts: int, high: np.ndarray) -> Placement:
    """Masters by a table of owners: vertices change position so that each partition owns a range of positions."""
    numbers = np.argsort(owners, kind="stable").astype(np.uint32 if len(owners) < 2**32 else np.int64)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=parts))]).astype(np.int64)
    return Placement.of_numbers(policy, bounds, numbers, high[numbers] if len(high) else high)


def by_owners(policy: Policy, degree: DegreeTable | None, ids: Numbering, parts: int) -> Placement:
    """Masters where the user's function puts them."""
    assert callable(policy.owners)
    owners = policy.owners(ids.id_type.restore(ids.ids()), parts)
    checked = policies.checked_places(owners, ids.size, parts, "vertices")
    return by_table(policy, checked, parts, find_hubs(policy, degree))


def by_metis(
    policy: Policy,
    degree: DegreeTable | None,
    chunks: Sequence[NumberedChunk],
    size: int,
    shares: Sequence[float],
    workers: int,
) -> Placement:
    """Masters where METIS puts them, from all edges in one task."""
    high = find_hubs(policy, degree)
    pieces = [rules.piece_of(replace(chunk, columns={}), skip_loops=True) for chunk in chunks]
    simple = rules.merge_repeats(pieces, size, repeats="first", directed=False, workers=workers)
    if not len(simple) or size <= len(shares):  # nothing to cut, or a partition for each vertex
        return Placement(policy, policies.split_evenly(np.ones(size), shares), high)
    both = [EdgeSlice(simple.sources, simple.destinations), EdgeSlice(simple.destinations, simple.sources)]
    graph = build(both, size, workers=workers)
    return by_table(policy, metis_owners(graph, shares), len(shares), high)


# -- edges -------------------------------------------------------------------------------------------------------------


def place_edges(chunk: NumberedChunk, where: Placement, ids: Numbering) -> np.ndarray:
    """The partition of each edge of a chunk, which names vertices by position."""
    policy = where.policy
    if policy.edges is not None:
        one = chunk.compact()
        sources, destinations = (ids.restored(end) for end in (one.sources, one.destinations))
        returned = policy.edges(sources, destinations, where.parts)
        return policies.checked_places(returned, len(chunk), where.parts, "edges")
    out = np.empty(len(chunk), np.uint16)
    owner, columns = where.owner, policies.grid_columns(where.parts)

    def one_slice(s: slice) -> None:
        ends = chunk.sources[s], chunk.destinations[s]
        build_kernels.place(*ends, *chunk.ranks.arguments, owner, policy.rule, columns, where.high, out[s])

    threads.parallel_map(one_slice, threads.slices(len(chunk), threads.cores()))
    return out


def second_places(chunk: NumberedChunk, where: Placement, ids: Numbering) -> np.ndarray:
    """The owner of each edge's other end (under the incoming cut, the source); NOWHERE if one owner has both ends."""
    other = {policies.INCOMING: policies.OUTGOING, policies.OUTGOING: policies.INCOMING}[where.policy.rule]
    first = place_edges(chunk, where, ids)
    second = place_edges(chunk, replace(where, policy=replace(where.policy, rule=other)), ids)
    return np.where(first == second, NOWHERE, second)


def split(
    chunk: NumberedChunk, where: Placement, ids: Numbering, listing: Listing, skip_loops: bool
) -> list[NumberedChunk]:
    """The edges of a chunk (or their reverses) placed on each partition, in separate arrays, so that each can be freed
    separately. A self loop has no reverse."""
    find, flip = listing
    chunk = chunk.reversed() if flip else chunk
    rule = find(chunk, where, ids), chunk.sources, chunk.destinations, skip_loops or flip
    counts = np.zeros(where.parts, np.int64)
    build_kernels.count_placed(*rule, counts)
    bounds = np.concatenate([[0], np.cumsum(counts)])

    def cut(run: Callable[..., None], values: np.ndarray, dtype: Any, *options: Any) -> list[np.ndarray]:
        out = np.empty(bounds[-1], dtype)
        run(*rule, bounds[:-1].copy(), values, *options, out)
        return [out[a:z].copy() for a, z in pairwise(bounds)]

    first, second = (cut(build_kernels.split_ids, end, chunk.dtype, *chunk.ranks.arguments) for end in rule[1:3])
    columns = {name: cut(build_kernels.split_values, c, c.dtype) for name, c in chunk.columns.items()}
    return [
        NumberedChunk(first[part], second[part], {name: values[part] for name, values in columns.items()})
        for part in range(where.parts)
    ]


def split_all(
    chunks: list[NumberedChunk], where: Placement, ids: Numbering, listings: Sequence[Listing], skip_loops: bool
) -> list[list[NumberedChunk]]:
    """All edges of each partition. Chunks are split from last to first, and freed as they are split if nothing else
    reads them. `listings` say how edges are placed, and in which direction."""
    pieces: list[list[NumberedChunk]] = [[] for _ in range(where.parts)]
    while chunks:
        chunk = chunks.pop()
        by_kernel = where.policy.edges is None  # the user's function gets a whole chunk
        at_once = SPLIT_EDGES if by_kernel else max(1, len(chunk))
        cuts: list[list[list[NumberedChunk]]] = [[] for _ in listings]
        for some in chunk.take_slices(at_once * threads.cores()):

            def cut(s: slice, some: NumberedChunk = some) -> list[list[NumberedChunk]]:
                one = where.to_positions(some[s])
                return [split(one, where, ids, listing, skip_loops) for listing in listings]

            for done in reversed(
                threads.parallel_map(cut, threads.slices(len(some), -(-len(some) // at_once)), len(some))
            ):
                for listing, one in zip(cuts, done, strict=True):
                    listing.append(one)
        for listing in reversed(cuts):
            for one in listing:
                for mine, piece in zip(pieces, one, strict=True):
                    mine.append(piece)
    for mine in pieces:
        mine.reverse()
    return pieces


# -- METIS -------------------------------------------------------------------------------------------------------------
# METIS's k-way partitioning, in this process. Karypis and Kumar, SIAM J. Sci. Comput. 1998.


def metis_owners(graph: Adjacency, shares: Sequence[float]) -> np.ndarray:
    """The partition of each vertex of an undirected simple graph that has edges, and more vertices than partitions. The
    weight of a vertex is one plus its degree."""
    size = len(graph.indptr) - 1
    if size + graph.num_edges > LARGEST_TOTAL:
        limit = f'policy="metis" is limited to {LARGEST_TOTAL:,} vertices and arcs (two per edge) together'
        given = f"{size:,} vertices and {graph.num_edges:,} arcs"
        raise OptionError(f"{limit}, got {given}; choose outgoing, incoming, cartesian or hybrid")
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
