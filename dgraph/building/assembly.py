"""From frames to partitions: the Dask tasks in between.

    chunks by number (numbering_tasks.py) -> (repeats merged) -> places -> pieces -> partitions -> address tables

Every step is a function of `dgraph.partition` on plain arrays; this file only says what is done to what. With one
partition nothing is placed or moved: the rows are sorted straight from the caller's own arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from dgraph.cluster.workers import Workers
from dgraph.partition import placement, policies, rules
from dgraph.partition.adjacency import Adjacency, EdgeSlice, SortFunction, build
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.ids.id_tables import give_back
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.partition import EdgePiece, Partition, agree, assemble
from dgraph.partition.placement import Listing, Placement
from dgraph.partition.policies import Policy
from dgraph.partition.proxies import Proxies, ProxyList, check_room

RANGES = 8  # in which the rows of the only partition are sorted
SAMPLE = 1 << 12  # edges by which they are cut

# -- rules -------------------------------------------------------------------------------------------------------------


def merge_repeats(
    workers: Workers, chunks: Sequence[Any], size: int, *, repeats: str, directed: bool, skip_loops: bool
) -> list[Any]:
    """The edges with repeats made one: all edges of a range of first ends meet in one task."""
    buckets = max(1, len(workers.addresses))
    bounds = np.linspace(0, size, buckets + 1).astype(np.int64)
    tasks = []
    for low, high in pairwise(bounds):
        pieces = [workers.call(rules.piece_of, chunk, int(low), int(high), directed, skip_loops) for chunk in chunks]
        options: dict[str, Any] = {"repeats": repeats, "directed": directed, "workers": workers.threads}
        tasks.append(workers.call(rules.merge_repeats, pieces, size, **options))
    return workers.hold(tasks)


# -- places ------------------------------------------------------------------------------------------------------------


def plan_places(
    workers: Workers,
    chunks: Sequence[Any],
    ids: Numbering,
    policy: Policy,
    shares: Sequence[float],
    *,
    mirror: bool,
    skip_loops: bool,
) -> Placement:
    """Choose the masters: ranges of equal work, METIS's parts, or what the user's function says."""
    parts, size = len(shares), ids.size
    if policy.owners is not None:
        return workers.keep(workers.call(placement.by_owners, policy, workers.share(ids), parts))
    if not policy.by_range:
        return workers.keep(workers.call(placement.by_metis, policy, list(chunks), size, shares, workers.threads))
    if parts == 1:
        return Placement(policy, np.array([0, size], np.int64), np.zeros(size * (policy.rule == policies.HYBRID), bool))
    out, into = policy.needs_degrees
    options: dict[str, Any] = {"out": out, "into": into, "mirror": mirror, "skip_loops": skip_loops}
    tasks = [workers.call(placement.degrees, chunk, size, **options) for chunk in chunks]
    return workers.keep(
        workers.call(placement.ranges, policy, workers.reduce(placement.total, tasks), size, list(shares))
    )


# -- partitions --------------------------------------------------------------------------------------------------------


def partition(
    workers: Workers,
    chunks: Sequence[Any],
    ids: Numbering,
    where: Placement,
    *,
    order: str,
    mirror: bool,
    skip_loops: bool,
    sort: SortFunction = build,
) -> list[Any]:
    """All partitions, held on the workers, each with the address tables that its peers asked for. (Dask looks for tasks
    in the arguments of a task, which takes long, but not in a `partial`.)"""
    parts, here = where.parts, workers.client is None
    if parts == 1 and where.numbers is None:
        how: dict[str, Any] = {"order": order, "mirror": mirror, "skip_loops": skip_loops, "sort": sort}
        task = partial(build_single_partition, ids=ids, **how, threads_each=workers.threads, in_place=here)
        return workers.hold([workers.call(task, list(chunks), on=workers.host(0, 1))])
    listings: list[Listing] = [(placement.places, False), (placement.places, True)][: 1 + mirror]
    listings += [(placement.second_places, False)] if where.twice else []
    if here:
        split = partial(placement.split_all, where=where, ids=ids, listings=listings, skip_loops=skip_loops)
        (pieces,) = workers.hold([workers.call(split, list(chunks))])
        assembling = [
            partial(_assemble, p, where, ids, mine, order, sort, in_place=True) for p, mine in enumerate(pieces)
        ]
        return _agreed(workers, [workers.call(task) for task in assembling])
    shared, known, each = workers.share(where), workers.share(ids), workers.threads_each(parts)
    moved = chunks if where.positions is None else [workers.call(Placement.move, shared, chunk) for chunk in chunks]
    cuts = [
        workers.call(_split, chunk, shared, known, parts, listing, skip_loops)
        for chunk in moved
        for listing in listings
    ]
    tasks = []
    for part in range(parts):
        mine = [workers.call(itemgetter(part), cut) for cut in cuts]
        on = workers.host(part, parts)
        tasks.append(workers.call(_assemble, part, shared, known, mine, order, sort, each, on=on))
    return _agreed(workers, tasks)


def _agreed(workers: Workers, tasks: list[Any]) -> list[Any]:
    """The partitions that tasks assemble, each with what its peers ask of it. (A task for each partition and worker:
    one for each pair of partitions would take half a millisecond, more than there is to do.)"""
    halves = workers.hold(tasks)
    if workers.client is None:
        everything = [asked for _, asked in halves]
        return [_agree(half, everything, part) for part, half in enumerate(halves)]
    requests = [workers.item(half, 1) for half in halves]
    of_each: dict[str | None, list[int]] = {}
    for part in range(len(halves)):
        of_each.setdefault(workers.host(part, len(halves)), []).append(part)
    found = []
    for host, mine in of_each.items():
        picked = [workers.call(partial(_requests_to, mine), request) for request in requests]
        asked = workers.call(list, picked, on=host)
        found += [workers.call(_agree, halves[part], asked, part, on=host) for part in mine]
    return workers.hold(found)


def build_single_partition(
    chunks: list[NumberedChunk],
    *,
    ids: Numbering,
    order: str,
    mirror: bool,
    skip_loops: bool,
    threads_each: int,
    sort: SortFunction,
    in_place: bool,
) -> Partition:
    """The only partition of a graph. `in_place` says that all of it happens in this process."""
    check_room(0, 1, ids.size)
    by_table = not any(chunk.ranks.size for chunk in chunks)  # then numbers are arrays of their own
    if in_place and by_table and sort is build and sum(map(len, chunks)) > placement.AT_ONCE:
        return build_in_ranges(chunks, ids, order, mirror, skip_loops, threads_each)
    edges = []
    for chunk in chunks:
        ends = (chunk.sources, chunk.destinations) if order == "out" else (chunk.destinations, chunk.sources)
        edges.append(EdgeSlice(*ends, chunk.columns, chunk.ranks, skip_loops))
        if mirror:
            edges.append(EdgeSlice(*ends[::-1], chunk.columns, chunk.ranks, skip_loops=True))
    return partition_from_rows(sort(edges, ids.size, workers=threads_each), ids, order)


def build_in_ranges(
    chunks: list[NumberedChunk], ids: Numbering, order: str, mirror: bool, skip_loops: bool, threads_each: int
) -> Partition:
    """The same, one range of rows after the other: numbers, which are let go, and rows are never all there at once."""
    rows = [chunk.sources if order == "out" else chunk.destinations for chunk in chunks]
    some = np.sort(np.concatenate([row[:: 1 + len(row) // SAMPLE] for row in rows]))
    bounds = np.unique([0, *some[np.arange(1, RANGES) * len(some) // RANGES], ids.size]).astype(np.int64)
    del rows
    rule = Policy("rows", policies.OUTGOING if order == "out" else policies.INCOMING)
    listings: list[Listing] = [(placement.places, False), (placement.places, True)][: 1 + mirror]
    ranges = placement.split_all(chunks, Placement(rule, bounds), ids, listings, skip_loops)
    edges = sum(len(piece.sources) for pieces in ranges for piece in pieces)
    indptr, neighbours = np.zeros(ids.size + 1, np.int64), np.empty(edges, np.uint32)
    columns: dict[str, np.ndarray] = {}
    start = 0
    for low, high in pairwise(bounds.tolist()):
        slices = []
        for piece in ranges.pop(0):
            keys, others = piece.ends(order)
            keys -= keys.dtype.type(low)
            slices.append(EdgeSlice(keys, others, piece.columns))
        found = build(slices, high - low, workers=threads_each)
        stop = start + found.num_edges
        np.add(found.indptr[1:], start, out=indptr[low + 1 : high + 1])
        neighbours[start:stop] = found.neighbours
        for name, values in found.columns.items():
            columns.setdefault(name, np.empty(edges, values.dtype))[start:stop] = values
        start = stop
        del keys, others, slices, found
        give_back()
    return partition_from_rows(Adjacency(indptr, neighbours, columns), ids, order)


def partition_from_rows(adjacency: Adjacency, ids: Numbering, order: str) -> Partition:
    """The partition that has all edges."""
    numbers = np.arange(ids.size, dtype=np.uint32 if ids.size < 2**32 else np.int64)
    none = Proxies(np.full((1, 4), ids.size, np.int64))
    out, incoming = (adjacency, None) if order == "out" else (None, adjacency)
    return Partition(0, 1, ids.size, numbers, none, out, incoming, ids.ids())


def _assemble(
    part: int,
    where: Placement,
    ids: Numbering,
    pieces: list[EdgePiece],
    order: str,
    sort: SortFunction,
    each: int = 1,
    in_place: bool = False,
) -> tuple[Partition, dict[int, ProxyList]]:
    mine, known = pieces if in_place else list(pieces), where.ids(ids, part)
    found = assemble(part, where.bounds, mine, where.numbers, known, order, each, in_place, sort)
    give_back()
    return found


def _split(
    chunk: NumberedChunk, where: Placement, ids: Numbering, parts: int, listing: Listing, skip_loops: bool
) -> list[EdgePiece]:
    find, flip = listing
    return placement.split(chunk, find(chunk, where, ids, flip), parts, flip, skip_loops)


def _requests_to(parts: list[int], requests: dict[int, ProxyList]) -> dict[int, ProxyList]:
    return {part: requests[part] for part in parts if part in requests}


def _agree(half: tuple[Partition, Any], asked: Sequence[dict[int, ProxyList]], part: int) -> Partition:
    return agree(half[0], {peer: requests[part] for peer, requests in enumerate(asked) if part in requests})
