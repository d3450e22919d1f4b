"""Fits factors to implicit feedback (Hu, Koren and Volinsky, 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from dgraph.errors import OptionError
from dgraph.factors.fit_options import LeastSquares
from dgraph.factors.ranking import RankingTest
from dgraph.factors.rating_fit import Facts, FitPlan, RatingFit

USUAL = 0.01  # regularization="auto"
LARGEST = 1e15  # a confidence beyond this hides all others


class FeedbackFit(RatingFit):
    """Products should be 1 where there is feedback. The epoch that ranks best what is held out is kept; if nothing is,
    the last."""

    @property
    def alpha(self) -> float:
        assert isinstance(self.plan.update, LeastSquares) and self.plan.update.implicit_alpha is not None
        return float(self.plan.update.implicit_alpha)

    def prepare(self) -> Facts:
        yield from self._count()
        sums = yield {"most": max(float(place.known.values.max(initial=0.0)) for place in self.places)}
        most = self.alpha * sums["most"]
        if most > LARGEST:
            raise OptionError(f"implicit_alpha={self.alpha:g}: times the largest weight it is {most:g}; use less")
        self.ranking = RankingTest(self.places, self.threads)
        yield from self.ranking.begin(self.plan.test.random_seed, self.worker, self.workers)
        for place in self.places:
            for one in (place.known, place.held):
                one.values[:] = 1.0

    def usual(self) -> float:
        return USUAL

    def next(self, epoch: int, regularization: float) -> float:
        return regularization

    def begin(self) -> Facts:
        for place in self.places:
            place.factors = place.drawn(self.plan.test.random_seed, self.plan.rank, 0.1 / np.sqrt(self.plan.rank))
        yield from self._tell((0, 1))  # who has nothing to learn from has no factors

    def measured(self, factors: Sequence[np.ndarray]) -> Facts:
        measures = yield from super().measured(factors)
        return {**measures, **(yield from self.ranking.measures(factors))}

    def loss(self, factors: Sequence[np.ndarray], measures: dict[str, float], regularization: float) -> Facts:
        """Factors of 0 would rank items by their numbers, which may be better than it should."""
        yield from ()
        if not self.epoch:
            return inf
        return -measures["ndcg"] if "ndcg" in measures else -self.epoch  # the last is kept

    def advance(self, regularization: float) -> Facts:
        for side in (0, 1):
            sums = yield {"products": sum(place.gram(1 - side) for place in self.places)}
            for place in self.places:
                products = sums["products"]
                self.how.update(place.rows, place.factors, regularization, 1.0, 1.0, self.alpha, products, (side,))
            yield from self._tell((side,))
        return sum(self.how.ratings_read(place.rows, place.factors.shape[1]) for place in self.places)


def fit_of(plan: FitPlan) -> type[RatingFit]:
    return FeedbackFit if plan.is_feedback else RatingFit
