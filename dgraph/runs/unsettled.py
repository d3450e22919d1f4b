"""The warning where rounds ended before an answer was as near to its fixed point as was asked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dgraph.errors import UnsettledWarning
from dgraph.runs.result import RunResult

CALLER = 5  # frames from `warnings.warn` to who called the operation


def warn_unsettled(result: RunResult, rounds: int, change: Any, limit: float, max_iter: int, tol: float | None) -> None:
    """Warn if `max_iter` ended a run after so many rounds, and its last iteration still changed scores by `limit` or
    more."""
    change = float(np.max(change, initial=0))
    if tol and result.rounds >= rounds and not (change < limit or change == 0):
        last = f"the last iteration changed them by {change:.3g} in all, and tol={tol!r} asks for less than {limit:.3g}"
        warnings.warn(_text(max_iter, last), UnsettledWarning, stacklevel=CALLER)


def warn_not_converged(totals: dict[str, Any], max_iter: int, tol: float | None) -> None:
    """The same, where only the total `converged` tells."""
    if tol and not totals["converged"]:
        warnings.warn(_text(max_iter, f"tol={tol!r} was not reached"), UnsettledWarning, stacklevel=CALLER)


def _text(max_iter: int, why: str) -> str:
    return (
        f"scores have not settled when max_iter={max_iter} ended them: {why}. Give a larger max_iter= or tol=; or "
        "tol=0, for exactly so many iterations"
    )
