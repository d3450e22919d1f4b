"""Random walks by all workers, each with the edges of its vertices (KnightKing: Yang et al., SOSP 2019).

All walks take their steps at the same time. A walk moves to the partition of its next vertex; a step that depends on
the neighbours of the vertex before goes by the partition of that, which answers, or tells them if it has to. The
partition where the walks of a range are listed hears of every step.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from dgraph.cluster.workers import Workers
from dgraph.exchange.exchange import Exchange
from dgraph.exchange.mail import StepReport
from dgraph.native import threads
from dgraph.native.free_memory import refuse_beyond_memory
from dgraph.native.team import worthwhile_threads
from dgraph.programs.random_draws import uint64
from dgraph.solvers.choice_rows import ChoiceRows
from dgraph.solvers.walk_questions import (
    Walkers,
    WalkNeighbours,
    WalkQuestions,
    answers,
    moved,
    questions,
    told,
    weighed_all,
)
from dgraph.solvers.walks import LOOKS, NOBODY
from dgraph.supersteps.run_steps import run_steps
from dgraph.supersteps.steps import Steps
from dgraph.walks.choice_places import ChoicePlace
from dgraph.walks.walk_table import WalkPlan, WalkTable, ranges

WALKERS, STEPS, QUESTIONS, NEIGHBOURS = range(4)  # kinds of mail
TYPES = [np.dtype(one) for one in (np.uint32, np.int64, np.float64)]  # of arrays in mail
WORD = 8  # bytes to which arrays in mail are aligned


def spread_walks(
    workers: Workers, places: Sequence[Any], starts: np.ndarray, plan: WalkPlan, vertices: int
) -> list[tuple[Any, int]]:
    """For each partition, a held list of tables, and the place of its own table in that."""
    owners = np.empty(vertices, np.uint16)
    for part, own in enumerate(workers.bring(workers.each(_numbers, [(one,) for one in places]))):
        owners[own] = part
    parts, homes = len(places), workers.where(places)
    own_starts = workers.send([starts[slice(*some)] for some in ranges(len(starts), parts)])
    (told,) = workers.send([owners])
    counts = [(place, told, own, len(starts)) for place, own in zip(places, own_starts, strict=True)]
    shares = workers.wait(workers.each(WalkShare, counts, homes))
    cores = workers.kernel_threads(parts) or workers.threads
    begin = partial(WalksAtWorker, plan=plan, cores=cores)
    steps = Steps(begin, WalksAtWorker.step, WalksAtWorker.finish, title="random walks")
    outcome = run_steps(steps, shares, client=workers.client, homes=homes, threads=threads.cores())
    assert outcome is not None, "nothing stops the run"
    return [outcome.place_of(part) for part in range(parts)]


def _numbers(place: ChoicePlace) -> np.ndarray:
    return place.numbers


class WalkShare:
    """What a partition has: the edges of its vertices, which partition owns each vertex, and the starts of a range of
    all walks. This is a plain class because Dask would search a dataclass or a tuple for tasks."""

    def __init__(self, place: ChoicePlace, owners: np.ndarray, starts: np.ndarray, walks: int):
        self.place, self.owners, self.starts, self.walks = place, owners, starts, walks

    def __sizeof__(self) -> int:  # tells Dask when to spill to disk
        return self.place.__sizeof__() + self.owners.nbytes + self.starts.nbytes


class WalksAtWorker:
    """The walks that are at the partitions of one worker."""

    def __init__(self, exchange: Exchange, shares: dict[int, WalkShare], plan: WalkPlan, cores: int):
        parts = len(exchange.route.homes)
        self.parts = [WalksAtPartition(exchange, part, parts, share, plan, cores) for part, share in shares.items()]
        self.plan, self.running = plan, self._rounds()

    def step(self, number: int, reports: Sequence[StepReport]) -> StepReport:
        for one in self.parts:
            one.number = number
        return next(self.running) if number == 0 else self.running.send(reports)

    def _rounds(self) -> Generator[StepReport, Sequence[StepReport], None]:
        """One step of all walks after the other; all workers decide alike when the last has ended."""
        reports = yield self._each(WalksAtPartition.set_out)
        for step in range(1, self.plan.length + 1):
            if not any(report["walkers"] for report in reports):
                break
            reports = yield self._each(partial(WalksAtPartition.move, step=step))
            if self.plan.rule.near != self.plan.rule.far:
                reports = yield self._each(partial(WalksAtPartition.answer, step=step))
                if any(report["rejected"] for report in reports):
                    reports = yield self._each(partial(WalksAtPartition.weigh, step=step))
        self._each(WalksAtPartition.arrive)
        yield {"done": True}

    def _each(self, action: Callable[[WalksAtPartition], int]) -> StepReport:
        walkers = sum(action(one) for one in self.parts)
        return {"walkers": walkers, "rejected": sum(one.rejected for one in self.parts)}

    def finish(self) -> list[WalkTable]:
        return [one.table for one in self.parts]


class WalksAtPartition:
    """The walks that are at a partition, and the table of those whose range it lists."""

    def __init__(self, exchange: Exchange, part: int, parts: int, share: WalkShare, plan: WalkPlan, cores: int):
        self.exchange, self.part, self.share, self.plan, self.cores = exchange, part, share, plan, cores
        self.number = 0  # of the superstep
        self.bounds = np.array([begin for begin, _ in ranges(share.walks, parts)])
        refuse_beyond_memory(f"{len(share.starts):,} walks", 4 * len(share.starts) * (plan.length + 1))
        steps = np.full((len(share.starts), plan.length + 1), NOBODY, np.uint32)
        steps[:, 0] = share.starts
        self.table = WalkTable(int(self.bounds[part]), steps)
        self.waiting = Walkers(*np.empty((4, 0), np.uint32))  # for the next step
        self.asked: list[WalkQuestions] = []
        self.known: list[WalkNeighbours] = []
        self.rejected = 0  # walks of whose candidates none was accepted in this step
        self.seed = np.uint64(uint64(plan.random_seed))

    # Each of the following returns how many walks are left here or were sent.

    def set_out(self) -> int:
        starts = self.share.starts
        walks = np.arange(len(starts), dtype=np.uint32) + np.uint32(self.table.first)
        self._send_walkers(Walkers(walks, starts, np.full(len(starts), NOBODY), starts))
        return len(starts)

    def move(self, step: int) -> int:
        """Take a step with all walks that are here, or ask for what has to be known."""
        self.arrive()
        walkers, self.waiting = self.waiting, self.waiting.chosen(np.zeros(0, np.int64))
        places, rows = self.share.place.rows_of(walkers.vertices), self.share.place.rows
        how = step, self.plan.rule, self.seed
        found, counts = moved(rows, places, walkers, *how, worthwhile_threads(self.cores, LOOKS * len(places)))
        known = counts == 0
        moved_on = self._send_on(walkers.chosen(known)._replace(vertices=found[known]), step)
        open_ones = np.flatnonzero(counts)
        owners = self.share.owners[walkers.before[open_ones]]
        for part, some in _by_part(owners):
            mine = open_ones[some]
            asked = questions(rows, places[mine], walkers.chosen(mine), counts[mine], *how)
            self._send(part, QUESTIONS, *asked.walkers, *asked.candidates)
        return moved_on + len(open_ones)

    def answer(self, step: int) -> int:
        """Choose among the candidates of walks that came from here."""
        place, count, self.rejected = self.share.place, self.arrive(), 0
        for asked in self.asked:
            before = place.rows_of(asked.walkers.before)
            found = answers(place.rows, before, asked, step, self.plan.rule, self.seed)
            accepted = found != NOBODY
            count += self._send_next(asked.walkers.chosen(accepted), found[accepted], step)
            rejected = np.flatnonzero(~accepted)
            for part, some in _by_part(self.share.owners[asked.walkers.vertices[rejected]]):
                mine = rejected[some]
                known = told(place.rows, before[mine], asked.walkers.chosen(mine))
                self._send(part, NEIGHBOURS, *known.walkers, known.rows, *known.neighbours)
            self.rejected += len(rejected)
        self.asked = []
        return count + self.rejected

    def weigh(self, step: int) -> int:
        """Take a step with the walks here of whose candidates none was accepted."""
        place, count, self.rejected = self.share.place, self.arrive(), 0
        for known in self.known:
            places = place.rows_of(known.walkers.vertices)
            threads = worthwhile_threads(self.cores, 2 * int(np.diff(place.rows.indptr)[places].sum()))
            found = weighed_all(place.rows, places, known, step, self.plan.rule, self.seed, threads)
            count += self._send_next(known.walkers, found, step)
        self.known = []
        return count

    def arrive(self) -> int:
        """Read the mail: walks wait for the next step, questions for an answer, and steps are listed."""
        arrived = [self.waiting]
        for _, buffer in self.exchange.collect(self.number - 1, self.part):
            kind, fields = _opened(buffer)
            if kind == WALKERS:
                arrived.append(Walkers(*fields))
            elif kind == QUESTIONS:
                self.asked.append(WalkQuestions(Walkers(*fields[:4]), ChoiceRows(*fields[4:])))
            elif kind == NEIGHBOURS:
                self.known.append(WalkNeighbours(Walkers(*fields[:4]), fields[4], ChoiceRows(*fields[5:])))
            else:
                step, walks, vertices = fields
                self.table.steps[walks - self.table.first, step[0]] = vertices
        self.waiting = Walkers(*map(np.concatenate, zip(*arrived, strict=True)))
        return len(self.waiting.walks)

    # -- mail ----------------------------------------------------------------------------------------------------------

    def _send_next(self, walkers: Walkers, found: np.ndarray, step: int) -> int:
        """Send walks on to the next vertices, not to where they came from."""
        return self._send_on(walkers._replace(before=walkers.vertices, vertices=found), step)

    def _send_on(self, walkers: Walkers, step: int) -> int:
        """Send walks that have not ended to the partitions of their vertices, and tell those that list them. Returns
        how many there are."""
        walkers = walkers.chosen(walkers.vertices != NOBODY)
        self._send_walkers(walkers)
        lists = np.searchsorted(self.bounds, walkers.walks, "right") - 1
        for part, some in _by_part(lists):
            self._send(part, STEPS, np.array([step]), walkers.walks[some], walkers.vertices[some])
        return len(walkers.walks)

    def _send_walkers(self, walkers: Walkers) -> None:
        for part, some in _by_part(self.share.owners[walkers.vertices]):
            self._send(part, WALKERS, *walkers.chosen(some))

    def _send(self, part: int, kind: int, *fields: np.ndarray) -> None:
        self.exchange.send(self.number, self.part, part, _packed(kind, fields))


def _by_part(parts: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The places of each part that occurs."""
    order = np.argsort(parts, kind="stable")
    occurring, starts = np.unique(parts[order], return_index=True)
    for part, (start, end) in zip(occurring.tolist(), pairwise([*starts.tolist(), len(parts)]), strict=True):
        yield part, order[start:end]


def _packed(kind: int, fields: Sequence[np.ndarray]) -> np.ndarray:
    """A kind of mail and arrays as one buffer: the kind, their number, and the type and size of each come first."""
    head = [kind, len(fields), *(number for one in fields for number in (TYPES.index(one.dtype), one.size))]
    return np.concatenate([np.array(head, np.int64).view(np.uint8), *(_as_words(one) for one in fields)])


def _as_words(field: np.ndarray) -> np.ndarray:
    """The bytes of an array, filled up to whole words."""
    return np.pad(np.ascontiguousarray(field).view(np.uint8), (0, -field.nbytes % WORD))


def _opened(buffer: Any) -> tuple[int, list[np.ndarray]]:
    kind, count = buffer[: 2 * WORD].view(np.int64).tolist()
    head = buffer[2 * WORD : (2 + 2 * count) * WORD].view(np.int64).reshape(count, 2)
    fields, place = [], (2 + 2 * count) * WORD
    for which, size in head.tolist():
        end = place + size * TYPES[which].itemsize
        fields.append(buffer[place:end].view(TYPES[which]).copy())
        place = end + -end % WORD
    return kind, fields
