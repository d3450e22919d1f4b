"""When rounds end that come ever nearer to an answer: what a user may ask, and a word where that was too early."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dgraph.errors import OptionError, UnsettledWarning
from dgraph.options import is_number, whole_number
from dgraph.runs.result import RunResult

CALLER = 5  # frames from `warnings.warn` to who called the operation


def check_limits(max_iter: int, tol: float | None) -> None:
    """Both as operations have them."""
    whole_number("max_iter", max_iter)
    if tol is not None and not (is_number(tol) and tol >= 0):
        raise OptionError(f"tol={tol!r} is not known: zero or more, or None for exactly max_iter rounds")


def warn_unsettled(result: RunResult, rounds: int, change: Any, limit: float, max_iter: int, tol: float | None) -> None:
    """Where `max_iter` ended a run, after so many rounds, and its last iteration still changed scores by `limit` or
    more."""
    change = float(np.max(change, initial=0))
    if tol and result.rounds >= rounds and not (change < limit or change == 0):
        warnings.warn(
            f"scores have not settled when max_iter={max_iter} ended them: the last iteration changed them by "
            f"{change:.3g} in all, and tol={tol!r} asks for less than {limit:.3g}. Give a larger max_iter= or tol=; or "
            "tol=0, for exactly so many iterations",
            UnsettledWarning,
            stacklevel=CALLER,
        )
