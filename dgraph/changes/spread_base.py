"""The partitions of a graph that changes, if they are several or on a cluster: batches are sent to the partitions that
hold the edges, and merged there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dgraph.building.assembly import with_requests
from dgraph.building.partition_set import Partitions
from dgraph.changes.batch import ends_of
from dgraph.cluster.workers import any_lost
from dgraph.native.free_memory import has_room, refuse_beyond_memory
from dgraph.partition import build_kernels, policies
from dgraph.partition.changed_partition import PartitionChange, changed_half
from dgraph.partition.ids.bitmaps import IDENTITY
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.local_numbers import count_arcs
from dgraph.partition.partition import Partition
from dgraph.partition.placement import Placement

MERGED = "the edges of a graph and of its changes, merged,"
REMEDY = "use a machine or a limit with more memory, or del graphs that are not needed"

if TYPE_CHECKING:
    from dgraph.building.input_edges import EdgeRules
    from dgraph.changes.history import History


@dataclass(frozen=True, eq=False)
class SpreadBase:
    """Partitions that own ranges of vertices, and hold edges by a rule of their ends."""

    partitions: Partitions
    placement: Placement

    @property
    def is_lost(self) -> bool:
        """Whether some partitions were lost with a worker."""
        return any_lost(self.partitions.held)

    @cached_property
    def num_edges(self) -> int:
        """The number of edges of all partitions, in both directions if they have none."""
        return count_all(self.partitions)

    def counts(self, keys: np.ndarray) -> np.ndarray:
        """How many edges there are with each key."""
        known, workers = np.flatnonzero(self._knows(keys)), self.partitions.workers
        arcs = NumberedChunk(*ends_of(keys[known]))
        where, counts = self.places(arcs), np.zeros(len(keys), np.int64)
        rows = {part: np.flatnonzero(where == part) for part in np.unique(where).tolist()}
        asked = [(self.partitions[part], *arcs[some].ends("out")) for part, some in rows.items()]
        found = workers.ask(count_arcs, asked)
        for some, one in zip(rows.values(), found, strict=True):
            counts[known[some]] = one
        return counts

    def _knows(self, keys: np.ndarray) -> np.ndarray:
        """Whether both ends are vertices of these partitions."""
        first, second = ends_of(keys)
        return np.maximum(first, second) < self.placement.bounds[-1]

    def places(self, arcs: NumberedChunk) -> np.ndarray:
        """The partition that holds each of a few edges."""
        where, count = self.placement, len(arcs)
        ends = np.concatenate([arcs.sources, arcs.destinations])
        owner = (np.searchsorted(where.bounds, ends, side="right") - 1).astype(np.uint16)
        high = where.high[ends] if len(where.high) else where.high
        out, each = np.empty(count, np.uint16), np.arange(2 * count, dtype=np.uint32)
        grid = policies.grid_columns(where.parts)
        build_kernels.place(each[:count], each[count:], *IDENTITY.arguments, owner, where.policy.rule, grid, high, out)
        return out

    def split(self, edges: NumberedChunk, rules: EdgeRules) -> list[NumberedChunk]:
        """The edges of each partition, in both directions if they have none."""
        both = [edges] if rules.directed else [edges, edges[edges.sources != edges.destinations].reversed()]
        placed = [(arcs, self.places(arcs)) for arcs in both]
        return [_joined([arcs[where == part] for arcs, where in placed]) for part in range(len(self.partitions))]

    # -- merging -------------------------------------------------------------------------------------------------------

    def changed(self, history: History, added: NumberedChunk, rules: EdgeRules, policy: str) -> SpreadBase:
        """The partitions after all batches, given the edges that these add, after the rules of the graph."""
        old, new = self.partitions, self._grown(history)
        ends = history.renumber(added.sources), history.renumber(added.destinations)
        more = new.split(NumberedChunk(*ends, added.columns), rules)
        net, known = history.net, self._knows(history.net.removed)
        gone = self.split(NumberedChunk(*ends_of(net.removed[known]), {"count": net.counts[known]}), rules)
        names = BatchNames.of(history, np.concatenate(ends)) if rules.repeats == "sum" else BatchNames.none()
        places, workers = history.new_places, old.workers
        if workers.client is None and not has_room(need := sum(one.nbytes for one in old.held)):
            refuse_beyond_memory(MERGED, need, remedy=REMEDY)
        ids, owners = net.ids, self._owners(places)
        threads, homes = workers.threads_each(len(old)), workers.where(old.held)
        tasks = []
        for part, partition in enumerate(old.held):
            mine = ids.filter(pa.array(owners == part)) if ids is not None and len(places) else None
            change = PartitionChange(new.placement.bounds, places, mine, gone[part], more[part], rules.repeats, names)
            tasks.append(workers.call(changed_half, partition, change, threads, on=homes[part] if homes else None))
        held = workers.wait(with_requests(workers, tasks, homes))
        made = Partitions(held, workers, old.kept, policy, history.size, {})
        return replace(new, partitions=made)

    def _owners(self, places: np.ndarray) -> np.ndarray:
        """The partition that owns each new vertex, which comes before the old one at a place: that of its neighbours in
        the order of ids."""
        parts = self.placement.parts
        return np.minimum(np.searchsorted(self.placement.bounds, places, side="right") - 1, parts - 1)

    def _grown(self, history: History) -> SpreadBase:
        """The same with the new vertices of all batches in its placement."""
        places, where = history.new_places, self.placement
        if not len(places):
            return self
        more = np.cumsum(np.bincount(self._owners(places), minlength=where.parts))
        bounds = where.bounds + np.concatenate([[0], more])
        high = np.insert(where.high, places, False) if len(where.high) else where.high
        return replace(self, placement=replace(where, bounds=bounds, high=high, owners=None))


class BatchNames:
    """The ids of a few vertices, by number, for errors."""

    def __init__(self, numbers: np.ndarray, ids: Any):
        self.numbers, self.ids = numbers, ids

    @classmethod
    def of(cls, history: History, numbers: np.ndarray) -> BatchNames:
        distinct = np.unique(numbers)
        return cls(distinct, np.asarray(history.numbering.restored(distinct)))

    @classmethod
    def none(cls) -> BatchNames:
        return cls(np.empty(0, np.uint32), np.empty(0))

    def restored(self, numbers: np.ndarray) -> Any:
        return self.ids[np.searchsorted(self.numbers, numbers)]


def _joined(chunks: Sequence[NumberedChunk]) -> NumberedChunk:
    if len(chunks) == 1:
        return chunks[0]
    columns = {name: np.concatenate([one.columns[name] for one in chunks]) for name in chunks[0].columns}
    sources = np.concatenate([one.sources for one in chunks])
    return NumberedChunk(sources, np.concatenate([one.destinations for one in chunks]), columns)


def count_all(partitions: Partitions) -> int:
    """The number of edges of all partitions, in both directions if they have none."""
    workers = partitions.workers
    return sum(workers.ask(_num_edges, [(one,) for one in partitions.held]))


def _num_edges(partition: Partition) -> int:
    return partition.num_edges
