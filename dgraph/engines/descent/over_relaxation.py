"""Successive over-relaxation (Young 1954): how far beyond its best value a vertex steps in one turn. As in Hageman and
Young (1981), the factor is found during the run, from how fast residuals fall without relaxation."""

from __future__ import annotations

from math import sqrt

from dgraph.programs.program import Parameter

STEADY_RATE = 0.03  # the relative difference up to which two successive rates count as equal
TRIAL_EPOCHS = 4  # epochs until a factor is judged
SMALLEST_RISE, LARGEST_FACTOR = 0.02, 1.9  # the smallest step by which the factor is raised, and its maximum


class RelaxationFactor(Parameter):
    """A parameter of a program by which `apply` multiplies a vertex's step. Block descent on one partition updates it
    after each epoch; elsewhere it stays 1."""


class RelaxationSearch:
    """The search for the best factor. `factor` applies to the next epoch; with 1, a vertex takes exactly its best
    value."""

    def __init__(self) -> None:
        self.factor = 1.0
        self.best = 1.0, 1.0  # the lowest rate at which residuals have steadily fallen, and the factor that achieved it
        self.given_up: tuple[float, float] | None = None  # a larger factor that was given up, and its rate
        self.settled = False
        self.residuals: list[float] = []  # the residuals of the epochs since the factor last changed

    def learn(self, residual: float) -> None:
        """Learn from the residual after another epoch. The factor is raised as long as that helps. The best factor is
        then kept, unless residuals grow, or fall more slowly than with a factor given up earlier (at first they fall
        fast with any factor)."""
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
            radius = (rate + self.factor - 1) ** 2 / (rate * self.factor**2)  # Young's, for sweeps from old values
            factor = min(LARGEST_FACTOR, 2 / (1 + sqrt(max(0.0, 1 - radius))))
            if factor > self.factor + SMALLEST_RISE:
                self._take(factor)

    def _take(self, factor: float) -> None:
        self.factor, self.residuals = factor, []

    def _rate(self, back: int) -> float:
        """The factor by which residuals fell per epoch: the mean of two epochs, the later one `back` epochs ago."""
        before, now = self.residuals[-back - 2], self.residuals[-back]
        return sqrt(now / before) if before > 0 else 0.0
