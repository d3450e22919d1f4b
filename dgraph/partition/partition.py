"""A partition at rest: some of a graph's edges, the vertices it owns, and copies of vertices that other partitions
own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dgraph.partition import proxies as proxy
from dgraph.partition.adjacency import Adjacency, EdgeSlice, SortFunction, build
from dgraph.partition.external_sort import transposed_on_disk
from dgraph.partition.ids.chunk import Ids, NumberedChunk
from dgraph.partition.ids.id_tables import release_memory
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.placement import Placement
from dgraph.partition.proxies import LocalIds, Proxies, ProxyList
from dgraph.partition.scratch import ScratchFolder


@dataclass(frozen=True, eq=False)
class Partition:
    """Local ids number owned vertices first, then proxies. `out` has a row for each source, `incoming` for each
    destination; either may be missing until it is needed."""

    index: int
    parts: int
    num_owned: int
    numbers: np.ndarray  # the rank of each local vertex among all ids, which does not depend on the policy
    proxies: Proxies
    out: Adjacency | None
    incoming: Adjacency | None
    ids: Ids | None = None  # the ids of the owned vertices, in the form that the numbering uses

    @classmethod
    def of_whole_graph(cls, table: Adjacency, order: str, ids: Ids | None = None) -> Partition:
        """The only partition of a graph: it has all edges, and no proxies."""
        n = len(table.indptr) - 1
        numbers = np.arange(n, dtype=np.uint32 if n < 2**32 else np.int64)
        out, incoming = (table, None) if order == "out" else (None, table)
        return cls(0, 1, n, numbers, Proxies(np.full((1, 4), n, np.int64)), out, incoming, ids)

    @property
    def num_local(self) -> int:
        return len(self.numbers)

    @property
    def by_source(self) -> Adjacency:
        """The edges with a row for each source, in a partition that was built with them."""
        assert self.out is not None, "the caller asks for this order"
        return self.out

    @cached_property
    def num_edges(self) -> int:
        table = self.out or self.incoming
        return table.num_edges if table else 0

    def column_types(self, names: Sequence[str]) -> dict[str, np.dtype]:
        """The type of each column; the common one if the two orders were built apart and differ."""
        sides = [side for side in (self.out, self.incoming) if side is not None]
        return {name: np.result_type(*(side.columns[name] for side in sides)) for name in names}

    @property
    def nbytes(self) -> int:
        tables = {table for table in (self.out, self.incoming) if table}  # one if the graph is symmetric
        ids = self.ids.nbytes if self.ids is not None else 0
        return self.numbers.nbytes + self.proxies.nbytes + ids + sum(table.nbytes for table in tables)

    def __sizeof__(self) -> int:  # Dask decides by this size when to spill
        return self.nbytes

    def with_order(
        self,
        order: str,
        columns: Sequence[str] | None = None,
        *,
        symmetric: bool = False,
        workers: int = 1,
        sort: SortFunction = build,
        scratch: ScratchFolder | None = None,
    ) -> Partition:
        """The partition with a second order, made by transposing the first, with the given columns (by default all).
        In a `symmetric` graph both orders are the same table. With `scratch`, the second is on disk."""
        other = self.incoming if order == "out" else self.out
        assert other is not None
        if symmetric:
            table = other
        elif scratch is not None:
            table = transposed_on_disk(other, columns, workers, scratch)
        else:
            table = other.transposed(workers, sort, columns)
        return replace(self, out=table) if order == "out" else replace(self, incoming=table)

    def without(self, orders: Sequence[str]) -> Partition:
        """The partition without the given orders; their memory is freed once nothing else refers to them."""
        removed: dict[str, Any] = dict.fromkeys(orders)
        return replace(self, **removed)

    def with_orders_of(self, earlier: Partition) -> Partition:
        """This partition, completed by the orders that an earlier build of it has."""
        return replace(self, out=self.out or earlier.out, incoming=self.incoming or earlier.incoming)

    def reversed(self) -> Partition:
        """The partition with every edge reversed: in an undirected graph, the same edges placed by the opposite rule.
        Nothing is copied."""
        return replace(self, out=self.incoming, incoming=self.out, proxies=self.proxies.reversed())

    def in_order(self, workers: int = 1) -> Partition:
        """The partition with each row's neighbours sorted by number, so that the sum over a row is the same to the last
        bit on any partition."""
        out, incoming = (table and table.in_order_of(self.numbers, workers) for table in (self.out, self.incoming))
        return replace(self, out=out, incoming=incoming)


def assemble(
    part: int,
    where: Placement,
    ids: Numbering,
    pieces: list[NumberedChunk],
    order: str,
    sort: SortFunction = build,
    workers: int = 1,
    in_place: bool = False,
) -> Half:
    """A partition from its edges.

    With `in_place`, nothing else reads the pieces: the list is emptied, and each piece is freed as soon as its ends are
    local.
    """
    pieces = pieces if in_place else list(pieces)
    place = proxy.find_proxies(part, where.bounds, [p.sources for p in pieces], [p.destinations for p in pieces])
    edges = []
    while pieces:
        piece = pieces.pop(0)
        keys, others = (place.localize(end, in_place) for end in piece.ends(order))
        edges.append(EdgeSlice(keys, others, piece.columns))
        del piece, keys, others
    return half_of(part, where, ids, place, sort(edges, place.size, workers=workers), order)


class Half:
    """A partition still without the requests of its peers, and its own requests to them. (Dask sees only a few bytes:
    those of the partition count once it is complete.)"""

    def __init__(self, partition: Partition, requests: dict[int, ProxyList]):
        self.partition, self.requests = partition, requests

    def completed(self, requests: dict[int, ProxyList]) -> Partition:
        """The partition with the address tables that its peers requested."""
        return replace(self.partition, proxies=self.partition.proxies.with_requests(requests))


def half_of(part: int, where: Placement, ids: Numbering, place: LocalIds, adjacency: Adjacency, order: str) -> Half:
    """A partition with a table of its edges."""
    positions = np.concatenate([np.arange(*place.owned), place.positions])
    dtype = np.uint32 if where.bounds[-1] < 2**32 else np.int64
    partition = Partition(
        part,
        where.parts,
        place.owned[1] - place.owned[0],
        (positions if where.numbers is None else where.numbers[positions]).astype(dtype),
        place.proxies,
        adjacency if order == "out" else None,
        adjacency if order == "incoming" else None,
        where.ids(ids, part),
    )
    release_memory()
    return Half(partition, place.requests())


def report_row(partition: Partition) -> dict[str, Any]:
    """A row of the partition report."""
    groups = partition.proxies.groups
    return {
        "partition": partition.index,
        "vertices": partition.num_owned,
        "proxies": partition.num_local - partition.num_owned,
        "edges": partition.num_edges,
        "bytes": partition.nbytes,
        "reduced": int((groups[:, 2] - groups[:, 0]).sum()),
        "broadcast": int((groups[:, 3] - groups[:, 1]).sum()),
        "boundary": len(np.unique(np.concatenate([np.empty(0, np.uint32), *partition.proxies.masters.values()]))),
    }
