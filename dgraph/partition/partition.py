"""A partition at rest: some of a graph's edges, the vertices it owns, and copies of vertices that others own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dgraph.partition import proxies as proxy
from dgraph.partition.adjacency import Adjacency, EdgeSlice, SortFunction, build
from dgraph.partition.ids.chunk import Ids
from dgraph.partition.proxies import LocalIds, Proxies, ProxyList


@dataclass(frozen=True, eq=False)
class Partition:
    """Local ids count owned vertices first, then proxies. `out` has a row for each source, `incoming` for each
    destination; either may be missing until someone needs it."""

    index: int
    parts: int
    num_owned: int
    numbers: np.ndarray  # of each local vertex, its rank among all ids: the same whatever the policy
    proxies: Proxies
    out: Adjacency | None
    incoming: Adjacency | None
    ids: Ids | None = None  # of the owned vertices, as numbering keeps them

    @property
    def num_local(self) -> int:
        return len(self.numbers)

    @property
    def num_edges(self) -> int:
        found = self.out if self.out is not None else self.incoming
        return found.num_edges if found is not None else 0

    @property
    def nbytes(self) -> int:
        sides = [side for side in (self.out, self.incoming) if side is not None]
        if len(sides) == 2 and sides[0] is sides[1]:
            sides.pop()
        ids = self.ids.nbytes if self.ids is not None else 0
        return self.numbers.nbytes + self.proxies.nbytes + ids + sum(side.nbytes for side in sides)

    def __sizeof__(self) -> int:  # what Dask counts, to spill in time
        return self.nbytes

    def with_order(
        self,
        order: str,
        columns: Sequence[str] | None = None,
        *,
        symmetric: bool = False,
        workers: int = 1,
        sort: SortFunction = build,
    ) -> Partition:
        """The partition with an order that has these columns, by default all: the other one, transposed. In a
        `symmetric` graph both are the same."""
        other = self.incoming if order == "out" else self.out
        assert other is not None
        found = other if symmetric else other.transposed(workers, sort, columns)
        return replace(self, out=found) if order == "out" else replace(self, incoming=found)

    def without(self, orders: Sequence[str]) -> Partition:
        """The partition without some orders, whose memory is free when nobody has them any more."""
        gone: dict[str, Any] = dict.fromkeys(orders)
        return replace(self, **gone)

    def beside(self, other: Partition) -> Partition:
        """This partition with the orders, too, that the same partition has as it was built before."""
        return replace(self, out=self.out or other.out, incoming=self.incoming or other.incoming)

    def turned(self) -> Partition:
        """Every edge the other way round: of an undirected graph the same edges, by the opposite rule. Nothing is
        copied."""
        return replace(self, out=self.incoming, incoming=self.out, proxies=self.proxies.turned())

    def in_order(self, workers: int = 1) -> Partition:
        """The partition with the neighbours of each row by their numbers: sums over a row, wherever it is, are the same
        to the last bit."""
        out, incoming = (side and side.in_order_of(self.numbers, workers) for side in (self.out, self.incoming))
        return replace(self, out=out, incoming=incoming)


@dataclass(frozen=True, eq=False)
class EdgePiece:
    """The edges of one chunk that go to one partition, their ends by position."""

    sources: np.ndarray
    destinations: np.ndarray
    columns: dict[str, np.ndarray]

    def ends(self, order: str) -> tuple[np.ndarray, np.ndarray]:
        """Rows in an order, and their neighbours."""
        return (self.sources, self.destinations) if order == "out" else (self.destinations, self.sources)

    def __sizeof__(self) -> int:  # what Dask counts, to spill in time
        return self.sources.nbytes + self.destinations.nbytes + sum(c.nbytes for c in self.columns.values())


def assemble(
    part: int,
    bounds: np.ndarray,
    pieces: list[EdgePiece],
    numbers: np.ndarray | None,
    ids: Ids | None,
    order: str,
    workers: int = 1,
    in_place: bool = False,
    sort: SortFunction = build,
) -> tuple[Partition, dict[int, ProxyList]]:
    """A partition from its edges, still without its peers' requests, and its own requests to them.

    `numbers` translates positions to numbers where a policy moved vertices; None where they are the same.
    `pieces` is emptied: each piece is let go as soon as its ends are local. `in_place` says that nobody else has them.
    """
    place = proxy.find(part, bounds, [p.sources for p in pieces], [p.destinations for p in pieces])
    edges = []
    while pieces:
        piece = pieces.pop(0)
        ends = place.localize(piece.sources, in_place), place.localize(piece.destinations, in_place)
        keys, others = ends if order == "out" else ends[::-1]
        edges.append(EdgeSlice(keys, others, piece.columns))
        del piece, ends, keys, others
    adjacency = sort(edges, place.size, workers=workers)
    found = Partition(
        part,
        len(bounds) - 1,
        place.owned[1] - place.owned[0],
        _numbers(place, numbers),
        place.proxies,
        adjacency if order == "out" else None,
        adjacency if order == "incoming" else None,
        ids,
    )
    return found, place.requests()


def _numbers(place: LocalIds, numbers: np.ndarray | None) -> np.ndarray:
    positions = np.concatenate([np.arange(*place.owned), place.positions])
    dtype = np.uint32 if place.bounds[-1] < 2**32 else np.int64
    return (positions if numbers is None else numbers[positions]).astype(dtype)


def agree(partition: Partition, requests: dict[int, ProxyList]) -> Partition:
    """The partition with the address tables that its peers asked for."""
    return replace(partition, proxies=partition.proxies.agreed(requests))


def stats(partition: Partition) -> dict[str, Any]:
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
