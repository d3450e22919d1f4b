"""Partitions built by supersteps: among many workers a task for each pair of them would take longer than its work.

In the first step each worker splits its share of the chunks and sends each edge to its partition. In the second,
partitions are assembled, and tell the owners of their proxies which vertices they copy; in the third these hear it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pickle import dumps, loads
from typing import Any

from dgraph.cluster.scheduler import install
from dgraph.cluster.tasks import pick
from dgraph.cluster.workers import Workers
from dgraph.errors import RunError
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.mail import StepReport
from dgraph.partition import placement
from dgraph.partition.adjacency import SortFunction
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.partition import Half, Partition, assemble
from dgraph.partition.placement import Listing, Placement
from dgraph.partition.proxies import ProxyList
from dgraph.supersteps.run_steps import run_steps
from dgraph.supersteps.steps import Steps

BYTES = 128  # of an edge while partitions are built, with a few columns
MEMORY_SHARE = 4  # of the workers' memory; where edges need more than this part of it, Dask should move some to disk


@dataclass(frozen=True)
class BuildingPlan:
    """How edges are placed, and how partitions sort them."""

    order: str
    listings: Sequence[Listing]
    skip_loops: bool
    sort: SortFunction
    threads: int


class ChunkShare:
    """The chunks that are split beside a partition, by number, and how their edges are placed. This is a plain class
    because Dask would search a dataclass for tasks."""

    def __init__(self, numbers: Sequence[int], where: Placement, ids: Numbering, chunks: list[NumberedChunk]):
        self.numbers, self.where, self.ids, self.chunks = tuple(numbers), where, ids, chunks


def suits(workers: Workers, arcs: int, parts: int) -> bool:
    """Whether so many partitions of so many arcs are built by supersteps: each worker has some, they have room, and
    mail goes from worker to worker."""
    number, limit = workers.number, workers.memory
    if parts < number or (limit is not None and arcs * BYTES * MEMORY_SHARE > limit * number):
        return False
    try:
        install(workers.client)
    except RunError:  # plugins cannot be installed
        return False
    return True


def built_by_supersteps(
    workers: Workers, chunks: Sequence[Any], where: Any, ids: Any, parts: int, plan: BuildingPlan
) -> list[Any]:
    """All partitions, held on the workers. `where` and `ids` are shared with the workers."""
    addresses = workers.addresses
    homes = [addresses[part * len(addresses) // parts] for part in range(parts)]
    mine = [range(len(chunks) * part // parts, len(chunks) * (part + 1) // parts) for part in range(parts)]
    arguments = [(tuple(some), where, ids, [chunks[number] for number in some]) for some in mine]
    shares = workers.wait(workers.each(ChunkShare, arguments, homes))
    begin = partial(PartitionBuilder, plan=plan)
    steps = Steps(begin, PartitionBuilder.step, PartitionBuilder.finish, title="building a graph")
    outcome = run_steps(steps, shares, client=workers.client, homes=homes, exchange="workers", fuse=False)
    assert outcome is not None, "nothing stops it"
    tasks = [workers.call(pick, *outcome.place_of(part), on=home) for part, home in enumerate(homes)]
    return workers.wait(workers.hold(tasks))


class PartitionBuilder:
    """One worker's part: its chunks, and then its partitions."""

    def __init__(self, exchange: Exchange, shares: Mapping[int, ChunkShare], plan: BuildingPlan):
        self.exchange, self.shares, self.plan = exchange, dict(shares), plan
        self.halves: dict[int, Half] = {}
        self.partitions: list[Partition] = []

    def step(self, number: int, reports: list[StepReport]) -> StepReport:
        (self._split, self._assemble, self._agree)[number](number)
        return {"done": number == 2}

    def _split(self, number: int) -> None:
        for part, share in self.shares.items():
            for place, chunk in zip(share.numbers, share.chunks, strict=True):
                edges = share.where.to_positions(chunk)
                for way, listing in enumerate(self.plan.listings):
                    cuts = placement.split(edges, share.where, share.ids, listing, self.plan.skip_loops)
                    for receiver, cut in enumerate(cuts):
                        arrays = cut.sources, cut.destinations, cut.columns
                        self.exchange.send(number, part, receiver, dumps((place, way, *arrays)))
            share.chunks = []

    def _assemble(self, number: int) -> None:
        """Edges are taken in the order of their chunks, whoever has sent them, so that partitions are always the
        same."""
        for part, share in self.shares.items():
            arrived = self._arrived(number, part)
            pieces = [NumberedChunk(*arrays) for _, _, *arrays in sorted(arrived, key=lambda one: one[:2])]
            del arrived
            plan = self.plan
            half = assemble(part, share.where, share.ids, pieces, plan.order, plan.sort, plan.threads, in_place=True)
            for owner, request in half.requests.items():
                self.exchange.send(number, part, owner, dumps((part, request.locals, request.kinds)))
            self.halves[part] = half

    def _agree(self, number: int) -> None:
        for part, half in self.halves.items():
            requests = {peer: ProxyList(locals, kinds) for peer, locals, kinds in self._arrived(number, part)}
            self.partitions.append(half.completed(requests))

    def _arrived(self, number: int, part: int) -> list[Any]:
        """What others have sent to a partition in the step before."""
        buffers: list[tuple[int, Any]] = self.exchange.collect(number - 1, part)
        return [loads(buffer) for _, buffer in buffers]

    def finish(self) -> list[Partition]:
        self.shares, self.halves = {}, {}
        return self.partitions
