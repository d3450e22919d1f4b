"""The vertices that a partition holds copies of, ordered so that values travel between partitions without ids.

A partition's local ids number its own vertices first, then its proxies: grouped by owner, and in each group first those
with in-edges only, then those with both, then those with out-edges only. So the proxies that gather messages for their
owner (a *reduce*) and those that need its state (a *broadcast*) are two overlapping ranges of local ids. The owner
needs one list of its own vertices in the same order, the address table, which is exchanged once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from dgraph.errors import OptionError
from dgraph.partition import build_kernels
from dgraph.partition.ids import id_kernels
from dgraph.partition.ids.bitmaps import Ranks

HAS_IN, HAS_OUT = 1, 2
MOST_LOCAL_IDS = 2**32 - 1  # local ids have 32 bits, and the last one stands for no vertex
_ENDS = {"in": (0, 2), "out": (1, 3), "any": (0, 3)}  # of the proxies on a side, among the bounds of a group
_ORDER = np.array([3, 0, 2, 1], np.uint8)  # flags -> place in the group: in-edges only, both, out-edges only


@dataclass(frozen=True, eq=False)
class Proxies:
    """Copies of other partitions' vertices, and the owned vertices that other partitions copy.

    `groups[q]` has four bounds, as local ids, of the proxies whose master is on partition q: the first with in-edges,
    the first with out-edges, the end of those with in-edges, and the end of the group. `masters[q]` lists the owned
    vertices that partition q copies, in its order; `kinds[q]` says where in that list the copies with out-edges begin,
    and where the copies with in-edges end.
    """

    groups: np.ndarray  # int64, parts x 4
    masters: dict[int, np.ndarray] = field(default_factory=dict)
    kinds: dict[int, tuple[int, int]] = field(default_factory=dict)

    def copies(self, side: str, owner: int) -> slice:
        """The local ids of the proxies of an owner's vertices on a side: with in-edges ("in"), out-edges, or all."""
        first, last = _ENDS[side]
        return slice(int(self.groups[owner, first]), int(self.groups[owner, last]))

    def has(self, side: str) -> bool:
        """Whether there is any proxy on a side."""
        first, last = _ENDS[side]
        return bool((self.groups[:, last] > self.groups[:, first]).any())

    def originals(self, side: str, peer: int) -> np.ndarray:
        """The owned vertices that have a proxy in another partition on a side, in the order of its `copies`."""
        if peer not in self.masters:
            return _NO_VERTICES
        first_out, end_in = self.kinds[peer]
        return self.masters[peer][{"in": slice(end_in), "out": slice(first_out, None), "any": slice(None)}[side]]

    @property
    def nbytes(self) -> int:
        return self.groups.nbytes + sum(array.nbytes for array in self.masters.values())

    def reversed(self) -> Proxies:
        """The proxies of the reversed edges. The originals must have in-edges only; the result has out-edges only."""
        assert (self.groups[:, 1:] == self.groups[:, 3:]).all(), "expected the proxies of an outgoing cut"
        groups = np.repeat(self.groups[:, :1], 4, axis=1)
        groups[:, 3] = self.groups[:, 3]
        return Proxies(groups, self.masters, dict.fromkeys(self.masters, (0, 0)))

    def requests(self, positions: np.ndarray, bounds: np.ndarray) -> dict[int, ProxyList]:
        """The request to each owner of these proxies, which are at these positions."""
        first, out = int(self.groups[0, 0]), {}
        for owner, (begin, broadcast, reduce_end, end) in enumerate(self.groups.tolist()):
            if end > begin:
                theirs = positions[begin - first : end - first] - bounds[owner]
                out[owner] = ProxyList(theirs.astype(np.uint32), (broadcast - begin, reduce_end - begin))
        return out

    def with_requests(self, requests: Mapping[int, ProxyList]) -> Proxies:
        """The same proxies, with the requests of each peer to this partition."""
        masters = {peer: request.locals for peer, request in requests.items()}
        return Proxies(self.groups, masters, {peer: request.kinds for peer, request in requests.items()})


_NO_VERTICES = np.empty(0, np.uint32)


@dataclass(frozen=True, eq=False)
class ProxyList:
    """A partition's request to an owner: the owner's vertices that the partition copies, by the owner's local ids."""

    locals: np.ndarray
    kinds: tuple[int, int]


@dataclass(frozen=True, eq=False)
class LocalIds:
    """The local ids of one partition: translates positions among all vertices into local ids."""

    bounds: np.ndarray  # partition p owns positions bounds[p]..bounds[p + 1]
    part: int
    positions: np.ndarray  # the proxies' positions, in the order of their local ids
    outside: Ranks
    slots: np.ndarray  # the local id of each proxy, in the order of positions
    proxies: Proxies

    @property
    def owned(self) -> tuple[int, int]:
        return int(self.bounds[self.part]), int(self.bounds[self.part + 1])

    @property
    def size(self) -> int:
        low, high = self.owned
        return high - low + len(self.positions)

    def localize(self, positions: np.ndarray, in_place: bool = False) -> np.ndarray:
        """The local ids of vertices; with `in_place`, they overwrite the positions."""
        out = positions if in_place and positions.dtype == np.uint32 else np.empty(len(positions), np.uint32)
        build_kernels.localize(positions, *self.owned, self.outside.words, self.outside.before, self.slots, out)
        return out

    def requests(self) -> dict[int, ProxyList]:
        """This partition's request to each owner of its proxies."""
        return self.proxies.requests(self.positions, self.bounds)


def check_local_ids(part: int, parts: int, owned: int, copied: int = 0) -> None:
    """Refuse a partition with more vertices than there are local ids."""
    if owned + copied > MOST_LOCAL_IDS:
        problem = f"partition {part} of {parts} has {owned:,} vertices and copies of {copied:,} others"
        limit = f"more than the {MOST_LOCAL_IDS:,} that a partition can have"
        raise OptionError(f"{problem}, {limit}; make more partitions with parts=")


def find_proxies(
    part: int, bounds: np.ndarray, sources: Iterable[np.ndarray], destinations: Iterable[np.ndarray]
) -> LocalIds:
    """The proxies that a partition's edges need. Edges name vertices by position; each end is iterated over twice."""
    low, high = int(bounds[part]), int(bounds[part + 1])
    size = int(bounds[-1])
    words = np.zeros(size // 64 + 1, np.uint64)
    for positions in chain(sources, destinations):
        build_kernels.mark_outside(positions, low, high, words)
    before = np.empty(len(words), np.uint32)
    copied = int(id_kernels.count_before(words, before))
    check_local_ids(part, len(bounds) - 1, high - low, copied)
    outside = np.empty(copied, np.int64)
    id_kernels.set_bits(words, outside)

    flags = np.zeros(copied, np.uint8)
    for pieces, flag in ((destinations, HAS_IN), (sources, HAS_OUT)):
        for positions in pieces:
            build_kernels.flag_outside(positions, low, high, words, before, np.uint8(flag), flags)
    owner = np.searchsorted(bounds, outside, side="right") - 1
    order, proxies = grouped(owner, flags, len(bounds) - 1, high - low)
    slots = np.empty(copied, np.uint32)
    slots[order] = np.arange(high - low, high - low + copied, dtype=np.uint32)
    return LocalIds(bounds, part, outside[order], Ranks(0, copied, words, before), slots, proxies)


def grouped(owner: np.ndarray, flags: np.ndarray, parts: int, first: int) -> tuple[np.ndarray, Proxies]:
    """The order of proxies by their local ids, the first of which is `first`, and their groups. Proxies are given in
    ascending order, each with its owner and whether it has in-edges and out-edges."""
    kind = _ORDER[flags]
    order = np.lexsort((kind, owner))  # stable, so proxies of one kind stay in order of position
    counts = np.bincount(owner * 3 + kind, minlength=3 * parts).reshape(parts, 3)
    ends = np.cumsum(counts.ravel()).reshape(parts, 3) + first
    starts = ends - counts
    return order, Proxies(np.stack([starts[:, 0], starts[:, 1], ends[:, 1], ends[:, 2]], axis=1))
