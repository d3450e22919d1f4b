"""Fits factors to ratings, epoch by epoch, and keeps those with the least error on ratings that were held out."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from math import isfinite, nan
from typing import Any

import numpy as np

from dgraph.errors import OptionError
from dgraph.factors.factor_updates import DESCEND, PREFER, SEARCH, SOLVE, FactorUpdate, balance, weights_of
from dgraph.factors.fit_options import Gradient, HeldOut, LeastSquares
from dgraph.factors.ranking import RankingTest
from dgraph.factors.rating_rows import RatingColumns, RatingRows
from dgraph.runs.worker_results import VertexValues, WorkerResult, single_call_row

FIRST, FALL, LEAST = 0.15, 0.7, 0.003  # regularization="auto": the first, the factor from one to the next, the last
SETTLE = 8  # epochs before the first change, and before the fit may stop: until then, factors depend on how they began
WITHOUT_TEST = 0.1  # regularization="auto" if no ratings are held out
OF_FEEDBACK = 0.01  # regularization="auto" for implicit feedback
BIAS_EPOCHS = 5
HALVES = 0.5 ** np.arange(60)  # factors to try in the search for a step length
DIVERGED = 10.0  # how many times the first error shows that steps are too long
LARGEST = 1e200  # a penalty beyond this would overflow


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
    at_once: bool

    @property
    def way(self) -> int:
        if isinstance(self.update, LeastSquares):
            return SOLVE if self.update.implicit_alpha is None else PREFER
        return SEARCH if self.update.learning_rate is None else DESCEND


@dataclass
class BestEpoch:
    """The factors with the least loss so far: an error on what was held out, or else what is minimized. Epoch 0 is
    before the first: biases, without factors."""

    factors: np.ndarray
    loss: float
    measures: dict[str, float]
    epoch: int = 0

    def take(self, epoch: int, factors: np.ndarray, loss: float, measures: dict[str, float]) -> None:
        if loss < self.loss:
            self.factors[:], self.loss, self.measures, self.epoch = factors, loss, measures, epoch


@dataclass
class RatingFit:
    """Fits factors to `known` ratings, minus their `mean`; `held` are those to test on."""

    plan: FitPlan
    known: RatingColumns
    held: RatingColumns
    mean: float
    vertices: int
    threads: int
    report: list[dict[str, Any]] = field(default_factory=list)
    step = 1.0  # the share of the best steps that is taken

    def run(self, draw: np.random.Generator) -> WorkerResult:
        """Fit in units of the ratings' deviation, because kernels compare numbers with constants."""
        plan, begun, tested = self.plan, time.perf_counter(), len(self.held.values) > 0
        self.unit = self._unit()
        self.rows = RatingRows.of(self.known, self.vertices)
        self.how = FactorUpdate(plan.way, plan.rank, self.threads, plan.at_once)
        factors, regularization = self.begin(draw), plan.regularization
        if regularization is None:
            regularization = self.usual()
        self._check_penalty(regularization)
        measures = self.measured(self.kept(factors))
        first = measures["rmse"]
        best = BestEpoch(self.kept(factors), self.loss(self.kept(factors), measures, regularization), measures)
        for epoch in range(1, plan.epochs + 1):
            opened = time.perf_counter()
            looks = self.advance(factors, regularization)
            busy, measures = time.perf_counter() - opened, self.measured(factors)
            error = measures["rmse"]
            if len(self.known.values) and not ((isfinite(error) and error <= DIVERGED * first) or plan.way != DESCEND):
                raise OptionError(self._problem(epoch))
            best.take(epoch, factors, self.loss(factors, measures, regularization), measures)
            row = single_call_row(self.vertices, looks, busy, superstep=epoch, direction="pull")
            row |= {"epochs": float(epoch), **measures, "regularization": regularization}
            self.report.append(row | {"seconds": time.perf_counter() - begun})
            if plan.stop is not None and tested and epoch - max(best.epoch, SETTLE) >= plan.stop.patience:
                break
            regularization = self.next(epoch, regularization)
        for row in self.report:
            row["kept"] = row["superstep"] == best.epoch
        return self._result(best)

    # -- what differs for implicit feedback ----------------------------------------------------------------------------

    def usual(self) -> float:
        return FIRST if len(self.held.values) else WITHOUT_TEST

    def next(self, epoch: int, regularization: float) -> float:
        """The regularization of the next epoch: smaller, until the fit stops."""
        if self.plan.regularization is not None or not len(self.held.values) or epoch < SETTLE:
            return regularization
        return max(FALL * regularization, LEAST)

    def begin(self, draw: np.random.Generator) -> np.ndarray:
        """The first factors, and the biases that are best without them."""
        plan, rank = self.plan, self.plan.rank
        factors = np.zeros((self.vertices, rank + plan.biases))
        if plan.biases:
            alone, biases = FactorUpdate(SOLVE, 0, self.threads), np.zeros((self.vertices, 1))
            for _ in range(BIAS_EPOCHS):
                alone.update(self.rows, biases, 0.0)
            factors[:, rank] = biases[:, 0]
        self.spread = self.measured(factors)["rmse"] / self.unit  # what biases leave
        factors[:, :rank] = draw.normal(0, 0.5 * np.sqrt((self.spread or 0.0) / np.sqrt(rank)), (self.vertices, rank))
        factors[np.diff(self.rows.indptr) == 0] = 0.0
        return factors

    def kept(self, factors: np.ndarray) -> np.ndarray:
        """What epoch 0 would keep: biases alone."""
        alone = factors.copy()
        alone[:, : self.plan.rank] = 0.0
        return alone

    def measured(self, factors: np.ndarray) -> dict[str, float]:
        """The root mean square errors on what was learned from, and on what was held out; NaN without ratings."""
        known, held = (
            self.unit * float(np.sqrt(self.how.squares(one, factors) / len(one.values))) if len(one.values) else nan
            for one in (self.known, self.held)
        )
        return {"rmse": known, "held_out": held}

    def loss(self, factors: np.ndarray, measures: dict[str, float], regularization: float) -> float:
        """The error on the held-out ratings; without any, what is minimized."""
        if len(self.held.values):
            return measures["held_out"]
        squares = len(self.known.values) * (measures["rmse"] / self.unit) ** 2 if len(self.known.values) else 0.0
        return squares + self.how.penalty(self.rows, factors, regularization * self.spread)

    def advance(self, factors: np.ndarray, regularization: float) -> int:
        """Update every vertex once; returns how many ratings were read."""
        how, rows, penalty = self.how, self.rows, regularization * self.spread
        once = how.ratings_read(rows, factors.shape[1])
        if how.way == SOLVE:
            how.update(rows, factors, penalty)
            return once
        if isinstance(self.plan.update, Gradient) and self.plan.update.learning_rate is not None:
            variance = (self.spread or 1.0) / np.sqrt(self.plan.rank)
            how.update(rows, factors, penalty, self.plan.update.learning_rate, variance)
            return once
        balance(factors, self.plan.rank, rows)
        before, far = factors.copy(), self._objective(factors, penalty)
        for tries, shorter in enumerate(self.step * HALVES, 1):  # until it falls
            factors[:], self.step = before, shorter
            how.update(rows, factors, penalty, self.step)
            now, looks = self._objective(factors, penalty), tries * once
            if now <= far * (1 + 1e-9):  # up to rounding; False if it is NaN
                break
        return looks

    # ------------------------------------------------------------------------------------------------------------------

    def _objective(self, factors: np.ndarray, penalty: float) -> float:
        """What is minimized. Every update of a vertex lowers it."""
        return self.how.squares(self.known, factors) + self.how.penalty(self.rows, factors, penalty)

    def _unit(self) -> float:
        """The deviation of the ratings, by which they are divided; ratings that vary only by rounding become 0."""
        values = self.known.values
        largest = float(np.abs(values).max(initial=0.0))
        if largest <= 1e-12 * (abs(self.mean) + largest):
            values[:] = 0.0
            return 1.0
        unit = largest * float(np.sqrt(np.mean((values / largest) ** 2)))
        for one in (self.known, self.held):
            one.values[:] /= unit
        return unit

    def _check_penalty(self, regularization: float) -> None:
        if regularization > LARGEST / max(1.0, float(weights_of(self.rows).max(initial=1.0))):
            raise OptionError(f"regularization={regularization:g} is too large: penalties overflow; use 1 or less")

    def _problem(self, epoch: int) -> str:
        """Why the error has grown beyond measure."""
        rate = getattr(self.plan.update, "learning_rate", 0.0)
        return (
            f"learning_rate={rate:g} is too large: the error has grown {DIVERGED:g}-fold by epoch {epoch}; use "
            f'{rate / 4:g}, leave it out to search for a step, or use update="least_squares", which needs none'
        )

    def _result(self, best: BestEpoch) -> WorkerResult:
        rank, factors = self.plan.rank, best.factors
        columns = {"factors": np.sqrt(self.unit) * factors[:, :rank]}
        if self.plan.biases:
            columns["bias"] = self.unit * factors[:, rank]
        totals = {"mean": self.mean, "epoch": best.epoch, **best.measures}
        values = VertexValues(np.arange(self.vertices), columns)
        return WorkerResult({0: values}, set(), self.report, len(self.report), totals)


class FeedbackFit(RatingFit):
    """Fits factors to implicit feedback, whose products should be 1. The epoch that ranks best what is held out is
    kept; if nothing is, the last."""

    def usual(self) -> float:
        return OF_FEEDBACK

    def next(self, epoch: int, regularization: float) -> float:
        return regularization

    def begin(self, draw: np.random.Generator) -> np.ndarray:
        self.ranking = RankingTest.of(self.known, self.held, draw)
        self.targets = [one._replace(values=np.ones(len(one.values))) for one in (self.known, self.held)]
        factors = draw.normal(0, 0.1 / np.sqrt(self.plan.rank), (self.vertices, self.plan.rank))
        factors[np.diff(self.rows.indptr) == 0] = 0.0
        return factors

    def _unit(self) -> float:
        return 1.0

    def measured(self, factors: np.ndarray) -> dict[str, float]:
        known, held = (
            float(np.sqrt(self.how.squares(one, factors) / len(one.values))) if len(one.values) else nan
            for one in self.targets
        )
        return {"rmse": known, "held_out": held, **self.ranking.measures(factors, self.threads)}

    def loss(self, factors: np.ndarray, measures: dict[str, float], regularization: float) -> float:
        if len(self.held.values):
            return -measures["ndcg"]
        return -float(len(self.report))  # the last is kept

    def advance(self, factors: np.ndarray, regularization: float) -> int:
        alpha = getattr(self.plan.update, "implicit_alpha", None)
        self.how.update(self.rows, factors, regularization, alpha=float(alpha or 0.0))
        return self.how.ratings_read(self.rows, factors.shape[1])
