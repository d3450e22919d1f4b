"""Fits factors to ratings, epoch by epoch, and keeps those with the least error on ratings that were held out.

A fit is a generator. Whenever it needs what all workers know, it yields its own part, and continues with their sums. So
the same lines run on one worker, and on many as steps (`spread_fit.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from math import isfinite, nan
from typing import Any

import numpy as np

from dgraph.errors import OptionError
from dgraph.exchange.proxy_post import BROADCAST
from dgraph.factors.factor_updates import (
    DESCEND,
    PREFER,
    SEARCH,
    SOLVE,
    FactorUpdate,
    balancing_turns,
    products_of,
    turn,
    weights_of,
)
from dgraph.factors.fit_options import Gradient, HeldOut, LeastSquares
from dgraph.factors.fit_place import FitPlace
from dgraph.factors.rating_test import RatingTest
from dgraph.runs.worker_results import VertexValues, WorkerResult, single_call_row

FIRST, FALL, LEAST = 0.15, 0.7, 0.003  # regularization="auto": the first, the factor from one to the next, the last
SETTLE = 8  # epochs before the first change, and before the fit may stop: until then, factors depend on how they began
WITHOUT_TEST = 0.1  # regularization="auto" if no ratings are held out
BIAS_EPOCHS = 5
HALVES = 0.5 ** np.arange(60)  # factors to try in the search for a step length
DIVERGED = 10.0  # how many times the first error shows that steps are too long
LARGEST = 1e200  # a penalty beyond this would overflow

CPU_AND_CUDA = "cpu and cuda"  # the devices of a fit that has a GPU
COUNTED = ("fired", "edges", "bytes")  # columns of the report whose sums progress shows

FitSums = dict[str, Any]  # numbers and arrays
Facts = Generator[FitSums, FitSums, Any]  # yields a worker's part of some sums, and is sent the sums


@dataclass(frozen=True)
class FitPlan:
    """What to fit, and how. Without a learning rate, a vertex takes the step that is best for it alone, so steps are
    halved until an epoch reduces what is minimized."""

    rank: int
    biases: bool
    regularization: float | None  # None: what suits the ratings that are held out
    update: Gradient | LeastSquares
    epochs: int
    stop: HeldOut | None
    test: RatingTest
    at_once: bool = False

    @property
    def is_feedback(self) -> bool:
        return self.way == PREFER

    @property
    def way(self) -> int:
        if isinstance(self.update, LeastSquares):
            return SOLVE if self.update.implicit_alpha is None else PREFER
        return SEARCH if self.update.learning_rate is None else DESCEND


def combined(parts: Sequence[FitSums]) -> FitSums:
    """The sums of all workers; of names that begin with "most", the largest."""
    names = parts[0] if parts else {}
    return {name: (max if name.startswith("most") else sum)(one[name] for one in parts) for name in names}


@dataclass
class BestEpoch:
    """The factors with the least loss so far: an error on what was held out, or else what is minimized. Epoch 0 is
    before the first: biases, without factors."""

    factors: list[np.ndarray]  # by place, of owned vertices
    loss: float
    measures: dict[str, float]
    epoch: int = 0


@dataclass
class RatingFit:
    """Fits factors to the ratings of some places, minus their mean."""

    plan: FitPlan
    places: list[FitPlace]
    threads: int
    report: list[dict[str, Any]] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))  # by all workers
    step, regularization = 1.0, 0.0  # the share of the best steps that is taken; and what the next epoch takes
    mean, unit, count, tested = 0.0, 1.0, 0.0, 0.0  # of all ratings that are known; how many there are, and held out
    looks, looks_of_all, fired = 0, 0.0, 0  # ratings read in an epoch, here and everywhere; vertices updated
    epoch, worker, workers = 0, 0, 1
    checkpoints: Any = None  # a `FitCheckpoints`, if there are any
    queue: Any = None  # a `PieceQueue`, if GPUs update factors as well
    taken: dict[str, int] = field(default_factory=dict)  # then what each kind of device has taken, on all workers
    sent = (0, 0)  # buffers and bytes, by all workers

    def alone(self, tell: Callable[[dict[str, int]], None] = lambda counts: None) -> RatingFit:
        """Run with no other worker; `tell` is called with the counts so far."""
        running = self.rounds()
        try:
            sums = next(running)
            while True:
                sums = running.send(combined([sums]))
                tell(self.counts())
        except StopIteration:
            tell(self.counts())
            return self
        finally:
            if self.checkpoints is not None:
                self.checkpoints.close()

    def counts(self) -> dict[str, int]:
        """What all workers have done so far, as the first one tells it to show progress."""
        return {"round": self.epoch, **self.done} if self.worker == 0 else dict.fromkeys(("round", *COUNTED), 0)

    def rounds(self) -> Facts:
        plan, begun = self.plan, time.perf_counter()
        self.how = FactorUpdate(plan.way, plan.rank, self.threads, plan.at_once, self.queue)
        yield from self.prepare()
        self.regularization = self.usual() if plan.regularization is None else plan.regularization
        yield from self._check_penalty(self.regularization)
        yield from self.begin()
        kept = [self.without_factors(place.factors) for place in self.places]
        measures = yield from self.measured(kept)
        first, loss = measures["rmse"], (yield from self.loss(kept, measures, self.regularization))
        self.best = BestEpoch(
            [one[: place.owned] for place, one in zip(self.places, kept, strict=True)], loss, measures
        )
        if self.checkpoints is not None and self.checkpoints.restore(self):
            yield from self._tell((0, 1))
        for epoch in range(self.epoch + 1, plan.epochs + 1):
            self.epoch, before, regularization = epoch, self.sent, self.regularization
            opened = time.perf_counter()
            self.looks = yield from self.advance(regularization)
            busy, factors = time.perf_counter() - opened, [place.factors for place in self.places]
            measures = yield from self.measured(factors)
            error = measures["rmse"]
            if self.count and not (isfinite(error) and (plan.way != DESCEND or error <= DIVERGED * first)):
                raise OptionError(self._problem(epoch))
            loss = yield from self.loss(factors, measures, regularization)
            if loss < self.best.loss:
                owned = [place.factors[: place.owned].copy() for place in self.places]
                self.best = BestEpoch(owned, loss, measures, epoch)
            row = single_call_row(self.fired, int(self.looks_of_all), busy, superstep=epoch, direction="pull")
            row |= {"messages": int(self.sent[0] - before[0]), "bytes": int(self.sent[1] - before[1])}
            if self.queue is not None:
                row |= {"device": CPU_AND_CUDA, **self.taken}
            row |= {"epochs": float(epoch), **measures, "regularization": regularization}
            self.report.append(row | {"seconds": time.perf_counter() - begun})
            self.done = {name: count + row[name] for name, count in self.done.items()}
            if plan.stop is not None and self.tested and epoch - max(self.best.epoch, SETTLE) >= plan.stop.patience:
                break
            self.regularization = self.next(epoch, regularization)
            if self.checkpoints is not None and epoch < plan.epochs:
                sums = yield {"overdue": self.worker == 0 and self.checkpoints.is_overdue}
                if self.checkpoints.is_due(epoch, overdue=bool(sums["overdue"])):
                    self.checkpoints.wait()
                    yield {}
                    self.checkpoints.keep(self)
        for row in self.report:
            row["kept"] = row["superstep"] == self.best.epoch

    def result(self, parts: Sequence[int] = (0,), *, reports: bool = True) -> WorkerResult:
        """The factors that were kept, and the report unless another worker has it."""
        values = {}
        for part, place, factors in zip(parts, self.places, self.best.factors, strict=True):
            columns = {"factors": np.sqrt(self.unit) * factors[:, : self.plan.rank]}
            if self.plan.biases:
                columns["bias"] = self.unit * factors[:, self.plan.rank]
            values[part] = VertexValues(place.numbers[: place.owned].astype(np.int64), columns)
        totals = {"mean": self.mean, "epoch": self.best.epoch, **self.best.measures}
        return WorkerResult(values, set(), self.report if reports else [], self.epoch, totals)

    # -- what differs for implicit feedback ----------------------------------------------------------------------------

    def prepare(self) -> Facts:
        """Subtract the mean, and divide by the deviation, because kernels compare numbers with constants; ratings that
        vary only by rounding become 0."""
        yield from self._count()
        known, held = ([getattr(place, one).values for place in self.places] for one in ("known", "held"))
        rows = [place.rows.values for place in self.places]
        sums = yield {"total": float(sum(values.sum() for values in known))}
        self.mean = sums["total"] / max(self.count, 1.0)
        for values in (*known, *held, *rows):
            values -= self.mean
        sums = yield {"most": max(float(np.abs(values).max(initial=0.0)) for values in known)}
        largest = sums["most"]
        if largest <= 1e-12 * (abs(self.mean) + largest):
            for values in (*known, *rows):
                values[:] = 0.0
            return
        sums = yield {"squares": float(sum(np.sum((values / largest) ** 2) for values in known))}
        self.unit = largest * float(np.sqrt(sums["squares"] / self.count))
        for values in (*known, *held, *rows):
            values /= self.unit

    def usual(self) -> float:
        return FIRST if self.tested else WITHOUT_TEST

    def next(self, epoch: int, regularization: float) -> float:
        """The regularization of the next epoch: smaller, until the fit stops."""
        if self.plan.regularization is not None or not self.tested or epoch < SETTLE:
            return regularization
        return max(FALL * regularization, LEAST)

    def begin(self) -> Facts:
        """Make the first factors, and the biases that are best without them."""
        plan, rank = self.plan, self.plan.rank
        for place in self.places:
            place.factors = np.zeros((len(place.numbers), int(plan.biases)))
        if plan.biases:
            alone, self.how = self.how, FactorUpdate(SOLVE, 0, self.threads, queue=self.queue)
            for _ in range(BIAS_EPOCHS):
                yield from self._update(0.0)
            self.how = alone
        for place in self.places:
            place.factors = np.concatenate([np.zeros((len(place.numbers), rank)), place.factors], axis=1)
        measures = yield from self.measured([place.factors for place in self.places])
        self.spread = measures["rmse"] / self.unit if self.count else 0.0  # what biases leave
        size = 0.5 * float(np.sqrt(self.spread / np.sqrt(rank)))
        for place in self.places:
            place.factors[:, :rank] = place.drawn(plan.test.random_seed, rank, size)
        yield from self._tell((0, 1))  # who has no ratings to learn from has no factors

    def without_factors(self, factors: np.ndarray) -> np.ndarray:
        """What epoch 0 would keep: biases alone."""
        alone = factors.copy()
        alone[:, : self.plan.rank] = 0.0
        return alone

    def measured(self, factors: Sequence[np.ndarray]) -> Facts:
        """The root mean square errors on what was learned from, and on what was held out; NaN without ratings."""
        posts = [place.post for place in self.places if place.post is not None]
        parts = {"looks": self.looks, "known": 0.0, "held": 0.0}
        parts |= {"messages": sum(one.buffers for one in posts), "bytes": sum(one.bytes for one in posts)}
        for place, mine in zip(self.places, factors, strict=True):
            parts["known"] += self.how.squares(place.known, mine)
            parts["held"] += self.how.squares(place.held, mine)
        taken = {} if self.queue is None else self.queue.take_counts()
        sums = yield {**parts, **taken}
        self.taken = {name: int(sums[name]) for name in taken}
        self.looks_of_all, self.sent = sums["looks"], (sums["messages"], sums["bytes"])
        known, held = (
            self.unit * float(np.sqrt(sums[name] / many)) if many else nan
            for name, many in (("known", self.count), ("held", self.tested))
        )
        return {"rmse": known, "held_out": held}

    def loss(self, factors: Sequence[np.ndarray], measures: dict[str, float], regularization: float) -> Facts:
        """The error on the held-out ratings; without any, what is minimized."""
        if self.tested:
            return measures["held_out"]
        penalty = regularization * self.spread
        pairs = zip(self.places, factors, strict=True)
        sums = yield {"penalty": sum(self.how.penalty(one.rows, mine[: one.owned], penalty) for one, mine in pairs)}
        return self.count * (measures["rmse"] / self.unit) ** 2 + sums["penalty"] if self.count else 0.0

    def advance(self, regularization: float) -> Facts:
        """Update every vertex once; returns how many ratings were read here."""
        how, penalty = self.how, regularization * self.spread
        once = sum(how.ratings_read(place.rows, place.factors.shape[1]) for place in self.places)
        if how.way != SEARCH:
            rate = getattr(self.plan.update, "learning_rate", 1.0)
            yield from self._update(penalty, rate, (self.spread or 1.0) / np.sqrt(self.plan.rank))
            return once
        yield from self._balance()
        before, far = [place.factors.copy() for place in self.places], (yield from self._objective(penalty))
        for tries, shorter in enumerate(self.step * HALVES, 1):  # until it falls
            for place, factors in zip(self.places, before, strict=True):
                place.factors[:] = factors
            self.step, looks = shorter, tries * once
            yield from self._update(penalty, self.step)
            now = yield from self._objective(penalty)
            if now <= far * (1 + 1e-9):  # up to rounding; False if it is NaN
                break
        return looks

    # ------------------------------------------------------------------------------------------------------------------

    def _count(self) -> Facts:
        parts = {one: float(sum(len(getattr(place, one).values) for place in self.places)) for one in ("known", "held")}
        sums = yield parts | {"owned": float(sum(place.owned for place in self.places))}
        self.count, self.tested, self.fired = sums["known"], sums["held"], int(sums["owned"])
        held, column = self.plan.test.what, self.plan.test.column
        if self.tested and not self.count:
            what = f"all {self.tested:,.0f} ratings" if self.tested > 1 else "the only rating"
            raise OptionError(f"test={held!r} holds out {what}, so none is left to learn from: hold out fewer")
        if column is not None and self.count and not self.tested:
            raise OptionError(f"test={column!r}: the column is true for no rating, so nothing is held out; pass test=0")

    def _update(self, penalty: float, step: float = 1.0, variance: float = 1.0) -> Facts:
        """Update users, and then items, or both at once, and tell others of them."""
        for sides in ((0, 1),) if self.how.at_once else ((0,), (1,)):
            for place in self.places:
                self.how.update(place.rows, place.factors, penalty, step, variance, sides=sides)
            yield from self._tell(sides)

    def _tell(self, sides: Sequence[int]) -> Facts:
        """Send factors to the partitions that have copies of these users or items."""
        posts = [place for place in self.places if place.post is not None]
        if not posts:
            return
        for place in posts:
            place.post.broadcast(BROADCAST, "any", [place.factors], place.mask_of(sides))
        yield {}
        for place in posts:
            for found in place.post.collect({BROADCAST: "any"}):
                place.factors[found.locals] = found.values[0]

    def _balance(self) -> Facts:
        """Make components uncorrelated, which changes no product."""
        rank, sums = self.plan.rank, {}
        for name, side in (("users", 0), ("items", 1)):
            sums[name] = np.zeros((rank, rank))
            for place in self.places:
                sums[name] += products_of(place.factors, place.rows.sides[side].vertices, place.rows, rank)
        sums = yield sums
        turns = balancing_turns(sums["users"], sums["items"])
        if self.worker:  # others might find another turn that is as good
            turns = np.zeros((rank, rank)), np.zeros((rank, rank))
        sums = yield dict(zip(("users", "items"), turns, strict=True))
        for side, name in enumerate(("users", "items")):
            for place in self.places:
                turn(place.factors, place.here[side], sums[name])

    def _objective(self, penalty: float) -> Facts:
        """What is minimized. Every update of a vertex lowers it."""
        total = 0.0
        for place in self.places:
            total += self.how.squares(place.known, place.factors)
            total += self.how.penalty(place.rows, place.factors[: place.owned], penalty)
        sums = yield {"total": total}
        return sums["total"]

    def _check_penalty(self, regularization: float) -> Facts:
        sums = yield {"most": max(float(weights_of(place.rows).max(initial=1.0)) for place in self.places)}
        if regularization > LARGEST / sums["most"]:
            raise OptionError(f"regularization={regularization:g} is too large: penalties overflow; use 1 or less")

    def _problem(self, epoch: int) -> str:
        """Why the error has grown beyond measure."""
        if self.plan.way != DESCEND:
            return f"the factors of epoch {epoch} are not finite; use a larger regularization"
        rate = getattr(self.plan.update, "learning_rate", 0.0)
        return (
            f"learning_rate={rate:g} is too large: the error has grown {DIVERGED:g}-fold by epoch {epoch}; use "
            f'{rate / 4:g}, leave it out to search for a step, or use update="least_squares", which needs none'
        )
