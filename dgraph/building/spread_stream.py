"""Edges that are too many for the workers to hold while they build partitions: each worker reads its share of the
pieces again whenever they are needed, as `edge_stream.py` does for one partition in this process.

One pass numbers the ids, and one counts degrees if the policy needs them. In a third, all workers go through their
pieces step by step (`supersteps/`) and send each edge to its partition, whose worker writes it to a file of its scratch
folder. Partitions are sorted from there. Besides them, memory holds a few pieces for each worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dgraph.building.build_report import Stopwatch
from dgraph.building.edge_room import scratch_folder
from dgraph.building.edge_stream import IdSurvey, NumberedEdges, of_all
from dgraph.building.frame_pieces import PieceReader
from dgraph.cluster.tasks import pick
from dgraph.cluster.workers import Workers
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.mail import StepReport, Token
from dgraph.native import threads
from dgraph.partition import placement
from dgraph.partition.adjacency import Buckets, EdgeSlice, sorted_pieces
from dgraph.partition.ids.bitmaps import union
from dgraph.partition.ids.chunk import Chunk, NumberedChunk
from dgraph.partition.ids.id_tables import release_memory
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.ids.survey import bitmap_of_range
from dgraph.partition.partition import Half, half_of
from dgraph.partition.placement import DegreeTable, Listing, Placement
from dgraph.partition.policies import Policy
from dgraph.partition.proxies import LocalIds, find_proxies
from dgraph.partition.scratch import ScratchArray, ScratchFolder
from dgraph.supersteps.run_steps import run_steps
from dgraph.supersteps.steps import Steps

TABLES = 16  # of degrees, which a worker's memory has room for while it counts
SLICE = 1 << 22  # edges of a partition that are sorted at once
SOURCE, DESTINATION = 0, 1  # the places of the ends among the files of a partition; columns follow


class SpreadStream:
    """The pieces of a lazy frame, for many workers, or for many partitions in this process. `share` divides the pieces,
    with some columns, into so many readers."""

    def __init__(
        self, workers: Workers, share: Callable[[Sequence[str], int], list[PieceReader]], stopwatch: Stopwatch
    ):
        self.workers, self.share, self.stopwatch = workers, share, stopwatch

    def number(self, vertices: Sequence[Any], listed: range, budget: int) -> NumberedEdges | None:
        """As `EdgeStream.number`, but no edges are held; `vertices` are tasks."""
        each = budget // self.workers.threads  # a bitmap for each thread
        held = self._on_shares(survey_pieces, None, self.workers.threads, each)
        held += self.workers.hold([self.workers.call(survey_vertices, one, each) for one in vertices])
        surveys = self.workers.get([self.workers.item(one, 0) for one in held])
        total = of_all(surveys, listed, budget) if all(one.usable(each) for one in surveys) else None
        if total is None or total.low is None or total.high is None:
            return None
        of_range = total.low, total.high
        words = [self.workers.call(words_of, one, *of_range) for one in held]
        words += [self.workers.call(bitmap_of_range, listed, *of_range)] if len(listed) else []
        united = self.workers.reduce(union, words)
        numbering = self.workers.keep(self.workers.call(Numbering.by_bitmap, total.id_type, total.low, united))
        return NumberedEdges.of(numbering, surveys)

    def placement(
        self, numbered: NumberedEdges, policy: Policy, shares: Sequence[float], *, mirror: bool, skip_loops: bool
    ) -> Placement:
        """The masters of a policy that gives each partition a range of vertices."""
        out, into = policy.needs_degrees
        size, degree = numbered.numbering.size, None
        if len(shares) == 1:
            return Placement(policy, np.array([0, size], np.int64), np.zeros(size * policy.finds_hubs, bool))
        if out or into:
            sides = {"out": out, "into": into, "mirror": mirror}
            counting = partial(degrees_of, size=size, sides=sides, skip_loops=skip_loops)
            room = (self.workers.memory or 1 << 62) // (TABLES * (out + into or 1) * 4 * max(size, 1))
            threads = max(1, min(self.workers.threads, room))
            held = self._on_shares(counting, numbered, threads, self.workers.share(numbered.numbering))
            degree = self.workers.reduce(placement.sum_degrees, held)
        return self.workers.keep(self.workers.call(placement.ranges, policy, degree, size, list(shares)))

    def halves(
        self,
        numbered: NumberedEdges,
        where: Placement,
        order: str,
        types: dict[str, np.dtype],
        *,
        mirror: bool,
        skip_loops: bool,
    ) -> list[Any]:
        """The task of each partition, still without the requests of its peers."""
        workers, parts = self.workers, where.parts
        homes = [workers.host(part, parts) for part in range(parts)]
        ids, placed = workers.share(numbered.numbering), workers.share(where)
        readers = self._readers(tuple(types), parts, numbered)
        arguments = [(reader, ids, placed) for reader in readers]
        shares = workers.wait(workers.each(PieceShare, arguments, homes))
        edges = sum(numbered.rows) * (1 + mirror)
        plan = DeliveryPlan(order, types, mirror, skip_loops, edges, workers.threads)
        most = max(map(len, readers))
        self.stopwatch.expect("sending edges to their partitions", most)

        def after_chunk(steps: int, tokens: Sequence[Token]) -> None:
            self.stopwatch.reach(min(steps, most), sum(numbered.rows) * min(steps, most) // max(most, 1))

        outcome = run_steps(
            Steps(partial(Delivery, plan=plan), Delivery.step, Delivery.finish, title="building a graph"),
            shares,
            client=workers.client,
            homes=None if workers.client is None else [str(home) for home in homes],
            threads=threads.cores(),
            after_chunk=after_chunk,
        )
        assert outcome is not None, "nothing stops it"
        return [workers.call(pick, *outcome.place_of(part), on=home) for part, home in enumerate(homes)]

    def _readers(self, columns: Sequence[str], shares: int, numbered: NumberedEdges | None) -> list[PieceReader]:
        readers = self.share(columns, shares)
        known = list(zip(numbered.rows, numbered.fingerprints, strict=True)) if numbered else []
        for reader in readers if known else ():
            reader.known = {number: known[number] for number in reader.numbers}
        return readers

    def _on_shares(
        self, task: Callable[..., Any], numbered: NumberedEdges | None, threads: int, *arguments: Any
    ) -> list[Any]:
        """What a task makes of the ids in each share of the pieces, held; each worker has so many shares."""
        workers = self.workers
        places: list[Any] = workers.addresses or [None]
        homes = [address for address in places for _ in range(threads)]
        readers = self._readers((), len(homes), numbered)
        return workers.wait(workers.each(task, [(one, *arguments) for one in readers], homes))


# -- the tasks ---------------------------------------------------------------------------------------------------------


def survey_pieces(reader: PieceReader, budget: int) -> tuple[IdSurvey, Any]:
    """What is known of some pieces; and the bits of their ids, which stay on the worker."""
    found = IdSurvey()
    for place, number in enumerate(reader.numbers):
        if not found.add(reader.read(place)[0], budget, number):
            break
    release_memory()
    return found.parted()


def survey_vertices(chunk: Chunk, budget: int) -> tuple[IdSurvey, Any]:
    found = IdSurvey()
    found.add(chunk, budget)
    return found.parted()


def words_of(found: tuple[IdSurvey, Any], low: int, high: int) -> np.ndarray:
    return found[1].over(low, high)


def degrees_of(
    reader: PieceReader, ids: Numbering, *, size: int, sides: dict[str, bool], skip_loops: bool
) -> DegreeTable:
    table = DegreeTable.of(size, **sides)
    for place in range(len(reader)):
        table.add(by_number(*reader.read_again(place, {}), ids), mirror=sides["mirror"], skip_loops=skip_loops)
    release_memory()
    return table


def by_number(chunk: Chunk, columns: dict[str, np.ndarray], ids: Numbering) -> NumberedChunk:
    assert ids.ranks is not None, "a bitmap numbers them"
    return NumberedChunk(np.asarray(chunk.sources), np.asarray(chunk.destinations), columns, ids.ranks)


# -- edges on their way to their partitions ----------------------------------------------------------------------------


@dataclass(frozen=True)
class DeliveryPlan:
    """What becomes of the edges."""

    order: str
    types: dict[str, np.dtype]
    mirror: bool
    skip_loops: bool
    edges: int  # of all partitions
    threads: int  # that sort a partition

    @property
    def listings(self) -> list[Listing]:
        return [(placement.place_edges, False), (placement.place_edges, True)][: 1 + self.mirror]


class PieceShare:
    """The pieces that are read beside a partition, and how its edges are numbered and placed."""

    def __init__(self, reader: PieceReader, ids: Numbering, where: Placement):
        self.reader, self.ids, self.where = reader, ids, where

    def __len__(self) -> int:
        return len(self.reader)


class Delivery:
    """One worker's part: it sends the edges of its pieces, and keeps those of its partitions."""

    def __init__(self, exchange: Exchange, shares: Mapping[int, PieceShare], plan: DeliveryPlan):
        self.exchange, self.shares, self.plan = exchange, shares, plan
        some = next(iter(shares.values()))
        number = np.dtype(np.uint32 if some.ids.size < 2**32 else np.int64)
        types = [number, number, *plan.types.values()]
        scratch, need = scratch_folder(), sum(one.itemsize for one in types) * plan.edges
        scratch.require(need * len(shares) // len(exchange.route.homes), "the edges of a worker's partitions")
        self.arrived = {part: ArrivedEdges(scratch, types) for part in shares}
        self.where = replace(some.where, owners=some.where.owner)  # looked up in each step

    def step(self, number: int, reports: list[StepReport]) -> StepReport:
        """Keep what was sent in the last step, and send the edges of the next piece of each share. All workers decide
        alike that nothing is left."""
        if number > 0:
            for part, arrived in self.arrived.items():
                arrived.add([buffer for _, buffer in self.exchange.collect(number - 1, part)])
            if not any(report["left"] for report in reports):
                return {"done": True}
        for part, share in self.shares.items():
            if number < len(share):
                self._send(number, part, share)
        return {"left": max(0, *(len(share) - number - 1 for share in self.shares.values()))}

    def _send(self, number: int, part: int, share: PieceShare) -> None:
        edges = by_number(*share.reader.read_again(number, self.plan.types), share.ids)
        for listing in self.plan.listings:
            cuts = placement.split(edges, self.where, share.ids, listing, self.plan.skip_loops)
            for receiver, one in enumerate(cuts):
                for buffer in (one.sources, one.destinations, *one.columns.values()) if len(one) else ():
                    self.exchange.send(number, part, receiver, buffer)

    def finish(self) -> list[Half]:
        """The partitions of this worker, one after the other."""
        self.where = next(iter(self.shares.values())).where  # without the owners
        release_memory()  # what reading has left
        return [self._half(part, self.arrived.pop(part)) for part in list(self.arrived)]

    def _half(self, part: int, arrived: ArrivedEdges) -> Half:
        share, order = self.shares[part], self.plan.order
        place = find_proxies(part, share.where.bounds, *arrived.files[:2])
        pieces = [ArrivedSlice(arrived, start, place, self.plan) for start in range(0, len(arrived), SLICE)]
        pieces = pieces or [ArrivedSlice(arrived, 0, place, self.plan)]  # which tells the types of columns
        table = sorted_pieces(pieces, place.size, self.plan.threads)
        arrived.close()
        return half_of(part, share.where, share.ids, place, table, order)


class ArrivedEdges:
    """The edges of a partition by number, in files: their ends, and their columns."""

    def __init__(self, scratch: ScratchFolder, types: Sequence[np.dtype]):
        self.files: list[ScratchArray] = [scratch.array(0, dtype) for dtype in types]

    def __len__(self) -> int:
        return self.files[SOURCE].size

    def add(self, buffers: Sequence[Any]) -> None:
        """Append edges: for each piece that has some, a buffer for each file."""
        for place, buffer in enumerate(buffers):
            file = self.files[place % len(self.files)]
            file.append(buffer.view(file.dtype))

    def close(self) -> None:
        for file in self.files:
            file.close()


class ArrivedSlice:
    """Some of these edges, to be sorted; they are read when they are counted, and again when they are put into their
    rows."""

    def __init__(self, arrived: ArrivedEdges, start: int, place: LocalIds, plan: DeliveryPlan):
        self.arrived, self.start, self.place, self.plan = arrived, start, place, plan
        self.stop = min(start + SLICE, len(arrived))
        self.columns = {name: np.empty(0, dtype) for name, dtype in plan.types.items()}

    def __len__(self) -> int:
        return self.stop - self.start

    def count(self, shift: int, counts: np.ndarray) -> None:
        keys = self._local(SOURCE if self.plan.order == "out" else DESTINATION)
        EdgeSlice(keys, keys).count(shift, counts)

    def scatter(self, shift: int, offsets: np.ndarray, into: Buckets) -> None:
        ends = [self._local(end) for end in (SOURCE, DESTINATION)]
        keys, others = ends if self.plan.order == "out" else reversed(ends)
        files = self.arrived.files[DESTINATION + 1 :]
        columns = {name: file.read(self.start, self.stop) for name, file in zip(self.columns, files, strict=True)}
        EdgeSlice(keys, others, columns).scatter(shift, offsets, into)

    def _local(self, end: int) -> np.ndarray:
        return self.place.localize(self.arrived.files[end].read(self.start, self.stop), in_place=True)
