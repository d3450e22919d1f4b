"""The Dask tasks that turn numbered chunks into partitions.

    chunks by number (numbering_tasks.py) -> (repeats merged) -> places -> pieces -> partitions -> address tables

Each step is a function of `dgraph.partition` on plain arrays; this file only connects them. A single partition needs no
placement: its rows are sorted directly from the user's arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.cluster.tasks import pick
from dgraph.cluster.workers import Workers
from dgraph.partition import placement, policies, rules
from dgraph.partition.adjacency import Adjacency, EdgeSlice, SortFunction, build
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.ids.id_tables import release_memory
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.partition import Half, Partition, assemble
from dgraph.partition.placement import Listing, Placement
from dgraph.partition.policies import Policy
from dgraph.partition.proxies import ProxyList, check_local_ids

if TYPE_CHECKING:
    from dgraph.building.input_edges import EdgeRules

FEW_WORKERS = 8  # up to so many, tasks are quicker, and what was lost with one can be computed again alone
ROW_RANGES = 8  # ranges of rows in which the only partition is sorted
SAMPLE = 1 << 12  # edges sampled to choose these ranges

# -- rules -------------------------------------------------------------------------------------------------------------


def merge_repeats(workers: Workers, chunks: Sequence[Any], ids: Numbering, edge_rules: EdgeRules) -> list[Any]:
    """The edges with repeats merged. Each task gets all edges whose first end is in its range."""
    buckets = max(1, len(workers.addresses))
    bounds = np.linspace(0, ids.size, buckets + 1).astype(np.int64)
    repeats, directed, skip_loops = edge_rules.repeats, edge_rules.directed, edge_rules.skip_loops
    tasks, numbering = [], workers.share(ids) if repeats == "sum" else None  # for errors
    for low, high in pairwise(bounds):
        pieces = [workers.call(rules.piece_of, chunk, int(low), int(high), directed, skip_loops) for chunk in chunks]
        options: dict[str, Any] = {"repeats": repeats, "directed": directed, "workers": workers.threads}
        tasks.append(workers.call(rules.merge_repeats, pieces, ids.size, numbering, **options))
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
    """Choose the masters: by ranges of equal work, by METIS, or by the user's function."""
    parts, size = len(shares), ids.size
    if parts == 1 and policy.by_range:
        return Placement(policy, np.array([0, size], np.int64), np.zeros(size * policy.finds_hubs, bool))
    out, into = policy.needs_degrees
    degree = None
    if out or into:
        options: dict[str, Any] = {"out": out, "into": into, "mirror": mirror, "skip_loops": skip_loops}
        tasks = [workers.call(placement.degrees, chunk, size, **options) for chunk in chunks]
        degree = workers.reduce(placement.sum_degrees, tasks)
    if policy.by_range:
        return workers.keep(workers.call(placement.ranges, policy, degree, size, list(shares)))
    if callable(policy.owners):
        return workers.keep(workers.call(placement.by_owners, policy, degree, workers.share(ids), parts))
    more = list(chunks), size, shares, workers.threads
    return workers.keep(workers.call(placement.by_metis, policy, degree, *more))


# -- partitions --------------------------------------------------------------------------------------------------------


def build_partitions(
    workers: Workers,
    chunks: Sequence[Any],
    ids: Numbering,
    where: Placement,
    *,
    order: str,
    mirror: bool,
    skip_loops: bool,
    num_arcs: int,
    sort: SortFunction = build,
) -> list[Any]:
    """All partitions of about so many arcs, held on the workers, each with the address tables that its peers requested.
    (Arguments go into a `partial`, because Dask takes long to search the arguments of a task for other tasks.)"""
    parts, here = where.parts, workers.client is None
    if parts == 1 and where.numbers is None:
        how: dict[str, Any] = {"order": order, "mirror": mirror, "skip_loops": skip_loops, "sort": sort}
        task = partial(build_single_partition, ids=ids, **how, threads_each=workers.threads, in_place=here)
        return workers.hold([workers.call(task, list(chunks), on=workers.host(0, 1))])
    listings: list[Listing] = [(placement.place_edges, False), (placement.place_edges, True)][: 1 + mirror]
    listings += [(placement.second_places, False)] if where.twice else []
    if here:
        split = partial(placement.split_all, where=where, ids=ids, listings=listings, skip_loops=skip_loops)
        (pieces,) = workers.hold([workers.call(split, list(chunks))])
        assembling = [
            partial(assemble, part, where, ids, mine, order, sort, in_place=True) for part, mine in enumerate(pieces)
        ]
        return with_requests(workers, [workers.call(task) for task in assembling])
    shared, numbering, each = workers.share(where), workers.share(ids), workers.threads_each(parts)
    if workers.number > FEW_WORKERS:
        from dgraph.building import delivery

        if delivery.suits(workers, num_arcs, parts):
            plan = delivery.BuildingPlan(order, listings, skip_loops, sort, workers.threads)
            return delivery.built_by_supersteps(workers, chunks, shared, numbering, parts, plan)
    moved = (
        chunks if where.positions is None else [workers.call(Placement.to_positions, shared, chunk) for chunk in chunks]
    )
    cuts = [
        workers.call(placement.split, chunk, shared, numbering, listing, skip_loops)
        for chunk in moved
        for listing in listings
    ]
    tasks = []
    for part in range(parts):
        mine = [workers.call(pick, cut, part) for cut in cuts]
        on = workers.host(part, parts)
        tasks.append(workers.call(assemble, part, shared, numbering, mine, order, sort, each, on=on))
    return with_requests(workers, tasks)


def with_requests(workers: Workers, tasks: list[Any], homes: Sequence[str] | None = None) -> list[Any]:
    """The partitions that tasks assemble, each with the requests of its peers, on `homes` if given. (There is one task
    per partition and worker. One per pair of partitions would cost half a millisecond each, more than its work.)"""
    halves = workers.hold(tasks)
    if workers.client is None:
        everything = [half.requests for half in halves]
        return [_agree(half, everything, part) for part, half in enumerate(halves)]
    requests = [workers.call(_requests_of, half) for half in halves]
    parts_of: dict[str | None, list[int]] = {}
    for part in range(len(halves)):
        parts_of.setdefault(homes[part] if homes else workers.host(part, len(halves)), []).append(part)
    agreeing = []
    for host, mine in parts_of.items():
        addressed = workers.call(list, [workers.call(partial(_addressed_to, mine), one) for one in requests], on=host)
        agreeing += [workers.call(_agree, halves[part], addressed, part, on=host) for part in mine]
    return workers.hold(agreeing)


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
    """The only partition of a graph. With `in_place`, the chunks are in this process."""
    check_local_ids(0, 1, ids.size)
    has_numbers = not any(chunk.ranks.size for chunk in chunks)  # the arrays are numbers, not the user's ids
    if in_place and has_numbers and sort is build and sum(map(len, chunks)) > placement.SPLIT_EDGES:
        return build_in_ranges(chunks, ids, order, mirror, skip_loops, threads_each)
    edges = []
    for chunk in chunks:
        ends = chunk.ends(order)
        edges.append(EdgeSlice(*ends, chunk.columns, chunk.ranks, skip_loops))
        if mirror:
            edges.append(EdgeSlice(*ends[::-1], chunk.columns, chunk.ranks, skip_loops=True))
    return Partition.of_whole_graph(sort(edges, ids.size, workers=threads_each), order, ids.ids())


def build_in_ranges(
    chunks: list[NumberedChunk], ids: Numbering, order: str, mirror: bool, skip_loops: bool, threads_each: int
) -> Partition:
    """Like `build_single_partition`, but one range of rows after another. Numbers are freed along the way, so numbers
    and rows are never all in memory at once."""
    rows = [chunk.ends(order)[0] for chunk in chunks]
    some = np.sort(np.concatenate([row[:: 1 + len(row) // SAMPLE] for row in rows]))
    bounds = np.unique([0, *some[np.arange(1, ROW_RANGES) * len(some) // ROW_RANGES], ids.size]).astype(np.int64)
    del rows
    rule = Policy("rows", policies.OUTGOING if order == "out" else policies.INCOMING)
    listings: list[Listing] = [(placement.place_edges, False), (placement.place_edges, True)][: 1 + mirror]
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
        rows_of_range = build(slices, high - low, workers=threads_each)
        stop = start + rows_of_range.num_edges
        np.add(rows_of_range.indptr[1:], start, out=indptr[low + 1 : high + 1])
        neighbours[start:stop] = rows_of_range.neighbours
        for name, values in rows_of_range.columns.items():
            columns.setdefault(name, np.empty(edges, values.dtype))[start:stop] = values
        start = stop
        del keys, others, slices, rows_of_range
        release_memory()
    return Partition.of_whole_graph(Adjacency(indptr, neighbours, columns), order, ids.ids())


def _requests_of(half: Half) -> dict[int, ProxyList]:
    return half.requests


def _addressed_to(parts: list[int], requests: dict[int, ProxyList]) -> dict[int, ProxyList]:
    return {part: requests[part] for part in parts if part in requests}


def _agree(half: Half, requests: Sequence[dict[int, ProxyList]], part: int) -> Partition:
    mine = {peer: request[part] for peer, request in enumerate(requests) if part in request}
    return half.completed(mine)
