"""Fits factors to implicit feedback (Hu, Koren and Volinsky, 2008), in one place."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from dgraph.errors import OptionError
from dgraph.factors.fit_options import LeastSquares
from dgraph.factors.ranking import RankingTest
from dgraph.factors.rating_fit import Facts, RatingFit

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
        (place,) = self.places
        most = self.alpha * float(place.known.values.max(initial=0.0))
        if most > LARGEST:
            raise OptionError(f"implicit_alpha={self.alpha:g}: times the largest weight it is {most:g}; use less")
        self.ranking = RankingTest.of(place.known, place.held, np.random.default_rng(self.plan.test.random_seed))
        for one in (place.known, place.held):
            one.values[:] = 1.0

    def usual(self) -> float:
        return USUAL

    def next(self, epoch: int, regularization: float) -> float:
        return regularization

    def begin(self) -> Facts:
        (place,) = self.places
        place.factors = place.drawn(self.plan.test.random_seed, self.plan.rank, 0.1 / np.sqrt(self.plan.rank))
        yield from ()

    def measured(self, factors: Sequence[np.ndarray]) -> Facts:
        measures = yield from super().measured(factors)
        return {**measures, **self.ranking.measures(factors[0], self.threads)}

    def loss(self, factors: Sequence[np.ndarray], measures: dict[str, float], regularization: float) -> Facts:
        """Factors of 0 would rank items by their numbers, which may be better than it should."""
        yield from ()
        if not self.epoch:
            return inf
        return -measures["ndcg"] if "ndcg" in measures else -self.epoch  # the last is kept

    def advance(self, regularization: float) -> Facts:
        (place,) = self.places
        self.how.update(place.rows, place.factors, regularization, alpha=self.alpha)
        yield from ()
        return self.how.ratings_read(place.rows, place.factors.shape[1])
