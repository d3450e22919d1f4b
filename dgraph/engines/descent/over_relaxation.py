"""How far beyond its best value a vertex goes at a turn (successive over-relaxation, Young 1954). The factor that suits
a graph is found while the run goes on, as in Hageman and Young (1981): from how fast residuals fall without any."""

from __future__ import annotations

from math import sqrt

from dgraph.programs.program import Parameter

STEADY_RATE = 0.03  # by how much of it a rate may differ from the one before
TRIAL_EPOCHS = 4  # epochs until a factor is judged
SMALLEST_RISE, LARGEST_FACTOR = 0.02, 1.9  # by how much the factor is raised; the largest


class RelaxationFactor(Parameter):
    """A parameter of a program that `apply` multiplies a vertex's step by. Block descent on one partition sets it anew
    after each epoch; elsewhere it stays 1."""


class RelaxationSearch:
    """`factor` is the one for the next epoch; with 1 a vertex takes its best value itself."""

    def __init__(self) -> None:
        self.factor = 1.0
        self.best = 1.0, 1.0  # the lowest rate by which residuals have steadily fallen, and with which factor
        self.given_up: tuple[float, float] | None = None  # a larger factor, and the rate with it
        self.settled = False
        self.residuals: list[float] = []  # of the epochs since the factor was last changed

    def learn(self, residual: float) -> None:
        """Take in the residual after one more epoch. The factor is raised while that helps; then the best one stays,
        unless residuals grow, or now fall more slowly than with a factor given up before (at first they fall fast with
        any)."""
        self.residuals.append(residual)
        if len(self.residuals) <= TRIAL_EPOCHS:
            return
        before, rate = self._rate(2), self._rate(1)
        at_best = self.factor == self.best[1]
        if rate >= 1:
            self._take(1.0)
            self.given_up, self.settled = None, True
        elif self.given_up is not None and rate > self.given_up[0] + STEADY_RATE:
            self._take(self.given_up[1])
            self.given_up = None
        elif self.settled:
            return
        elif not at_best and rate > self.best[0] + STEADY_RATE:
            self.given_up = rate, self.factor
            self._take(self.best[1])
            self.settled = True
        elif rate > 0 and abs(rate - before) < STEADY_RATE * rate:
            self.best = (rate, self.factor) if at_best else min(self.best, (rate, self.factor))
            radius = (rate + self.factor - 1) ** 2 / (rate * self.factor**2)  # Young's, of sweeps from old values
            factor = min(LARGEST_FACTOR, 2 / (1 + sqrt(max(0.0, 1 - radius))))
            if factor > self.factor + SMALLEST_RISE:
                self._take(factor)

    def _take(self, factor: float) -> None:
        self.factor, self.residuals = factor, []

    def _rate(self, back: int) -> float:
        """The factor by which residuals fell in an epoch, the mean of two, the last of which was `back` epochs ago."""
        before, now = self.residuals[-back - 2], self.residuals[-back]
        return sqrt(now / before) if before > 0 else 0.0
