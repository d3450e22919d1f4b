"""Fits factors to ratings, epoch by epoch, and returns those with the least error on ratings that were held out."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from math import isfinite, nan
from typing import Any

import numpy as np

from dgraph.errors import OptionError
from dgraph.factors.factor_updates import DESCEND, SEARCH, SOLVE, FactorUpdate, balance
from dgraph.factors.fit_options import Gradient, HeldOut, LeastSquares
from dgraph.factors.rating_rows import RatingColumns, RatingRows
from dgraph.runs.worker_results import VertexValues, WorkerResult, single_call_row

FIRST, FALL, LEAST = 0.15, 0.7, 0.003  # regularization="auto": the first, the factor from one to the next, the last
SETTLE = 8  # epochs before the first change, and before the fit may stop: until then, factors depend on how they began
WITHOUT_TEST = 0.1  # regularization="auto" if no ratings are held out
BIAS_EPOCHS = 5
HALVES = 0.5 ** np.arange(60)  # factors to try in the search for a step length


@dataclass(frozen=True)
class FitPlan:
    """What to fit, and how. Without a learning rate, a vertex takes the step that is best for it alone, so steps are
    halved until an epoch reduces the error."""

    rank: int
    biases: bool
    regularization: float | None  # None: the best on the ratings that are held out
    update: Gradient | LeastSquares
    epochs: int
    stop: HeldOut | None
    at_once: bool

    @property
    def way(self) -> int:
        if isinstance(self.update, LeastSquares):
            return SOLVE
        return SEARCH if self.update.learning_rate is None else DESCEND


@dataclass
class LeastError:
    """The factors with the least error so far. Epoch 0 is before the first: biases, without factors."""

    factors: np.ndarray
    errors: tuple[float, float]  # on the ratings that were learned from, and on those held out
    epoch: int = 0

    @staticmethod
    def _judged(errors: tuple[float, float]) -> float:
        learned, held = errors
        return learned if held != held else held

    def take(self, epoch: int, factors: np.ndarray, errors: tuple[float, float]) -> None:
        if self._judged(errors) < self._judged(self.errors):
            self.factors[:], self.errors, self.epoch = factors, errors, epoch


@dataclass
class RatingFit:
    """Fits factors to `known` ratings, minus their mean; `held` are those to test on."""

    plan: FitPlan
    known: RatingColumns
    held: RatingColumns
    vertices: int
    threads: int
    report: list[dict[str, Any]] = field(default_factory=list)

    def run(self, draw: np.random.Generator) -> LeastError:
        plan, begun = self.plan, time.perf_counter()
        self.rows = RatingRows.of(self.known, self.vertices)
        self.how = FactorUpdate(plan.way, plan.rank, self.threads, plan.at_once)
        factors = np.zeros((self.vertices, plan.rank + plan.biases))
        if plan.biases:
            factors[:, plan.rank] = self._biases()
        best = LeastError(factors.copy(), self._errors(factors))
        spread = best.errors[0]
        self._draw(factors, spread, draw)
        regularization = plan.regularization
        if regularization is None:
            regularization = FIRST if len(self.held.values) else WITHOUT_TEST
        self.step = 1.0
        tested = len(self.held.values) > 0
        for epoch in range(1, plan.epochs + 1):
            opened = time.perf_counter()
            looks = self._epoch(factors, regularization * spread, spread)
            busy, errors = time.perf_counter() - opened, self._errors(factors)
            if len(self.known.values) and not isfinite(errors[0]):
                raise OptionError(self._problem(epoch, regularization))
            best.take(epoch, factors, errors)
            self._tell(epoch, busy, time.perf_counter() - begun, errors, looks, regularization)
            if plan.stop is not None and tested and epoch - max(best.epoch, SETTLE) >= plan.stop.patience:
                break
            if plan.regularization is None and tested and epoch >= SETTLE:
                regularization = max(FALL * regularization, LEAST)
        for row in self.report:
            row["kept"] = row["superstep"] == best.epoch
        return best

    def _biases(self) -> np.ndarray:
        """The biases that are best without factors."""
        alone = FactorUpdate(SOLVE, 0, self.threads)
        biases = np.zeros((self.vertices, 1))
        for _ in range(BIAS_EPOCHS):
            alone.update(self.rows, biases, 0.0)
        return biases[:, 0]

    def _draw(self, factors: np.ndarray, spread: float, draw: np.random.Generator) -> None:
        """Draw the first factors, so that their products vary as far as what biases leave of the ratings."""
        rank, rated = self.plan.rank, np.diff(self.rows.indptr) > 0
        values = self.known.values
        varied = spread > 1e-12 * max(1.0, float(np.abs(values).max(initial=0.0)))
        size = 0.5 * np.sqrt(spread / np.sqrt(rank)) if varied else 0.0
        factors[:, :rank] = draw.normal(0, size, (self.vertices, rank)) * rated[:, None]

    def _epoch(self, factors: np.ndarray, penalty: float, spread: float) -> int:
        """Update every vertex once; returns how many ratings were read."""
        how, rows, once = self.how, self.rows, self.how.ratings_read(self.rows)
        if how.way == SOLVE:
            how.update(rows, factors, penalty)
            return once
        if isinstance(self.plan.update, Gradient) and self.plan.update.learning_rate is not None:
            rate = self.plan.update.learning_rate
            how.update(rows, factors, penalty, rate, (spread or 1.0) / np.sqrt(self.plan.rank))
            return once
        balance(factors, self.plan.rank, rows)
        before, far = factors.copy(), how.objective(self.known, rows, factors, penalty)
        for tries, shorter in enumerate(self.step * HALVES, 1):  # until the error falls
            factors[:], self.step = before, shorter
            how.update(rows, factors, penalty, self.step)
            now, looks = how.objective(self.known, rows, factors, penalty), tries * once
            if now <= far * (1 + 1e-9):  # up to rounding; False if it is NaN
                break
        return looks

    def _errors(self, factors: np.ndarray) -> tuple[float, float]:
        """The root mean square errors on what was learned from, and on what was held out; NaN without ratings."""
        known, held = (
            float(np.sqrt(self.how.squares(one, factors) / len(one.values))) if len(one.values) else nan
            for one in (self.known, self.held)
        )
        return known, held

    def _problem(self, epoch: int, regularization: float) -> str:
        """Why the factors are no longer finite."""
        if self.plan.way == SOLVE:
            return f"regularization={regularization:g} is too small: the factors of epoch {epoch} are not finite"
        if self.plan.way == SEARCH:
            return f"regularization={regularization:g} is too large: in epoch {epoch} no step is small enough"
        rate = getattr(self.plan.update, "learning_rate", 0.0)
        return (
            f"learning_rate={rate:g} is too large: factors overflow in epoch {epoch}; use {rate / 4:g}, "
            'leave it out to search for a step, or use update="least_squares", which needs none'
        )

    def _tell(
        self, epoch: int, busy: float, seconds: float, errors: tuple[float, float], looks: int, regularization: float
    ) -> None:
        """Add a row to the report; edges are read from both ends."""
        row = single_call_row(self.vertices, looks, busy, superstep=epoch, direction="pull")
        learned, held = errors
        more = {"epochs": float(epoch), "rmse": learned, "held_out": held, "regularization": regularization}
        self.report.append(row | more | {"seconds": seconds})


def result_of(fit: RatingFit, best: LeastError, mean: float) -> WorkerResult:
    rank = fit.plan.rank
    columns = {"factors": best.factors[:, :rank].copy()}
    if fit.plan.biases:
        columns["bias"] = best.factors[:, rank].copy()
    rmse, held_out = best.errors
    totals = {"mean": mean, "epoch": best.epoch, "rmse": rmse, "held_out": held_out}
    values = VertexValues(np.arange(fit.vertices), columns)
    return WorkerResult({0: values}, set(), fit.report, len(fit.report), totals)
