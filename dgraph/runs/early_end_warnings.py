"""Warnings about runs that ended early: before the answer converged, or before anything was sent."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.errors import UnsentWarning, UnsettledWarning
from dgraph.phrases.phrases import warn
from dgraph.programs.program import Delta, Result, State, VertexProgram
from dgraph.runs.result import RunResult


def warn_unsettled(result: RunResult, rounds: int, change: Any, limit: float, max_iter: int, tol: float | None) -> None:
    """Warn if `max_iter` ended a run after `rounds` rounds, and its last iteration still changed scores by `limit` or
    more."""
    change = float(np.max(change, initial=0))
    if tol and result.rounds >= rounds and not (change < limit or change == 0):
        last = (
            f"the last iteration changed them by {change:.3g} in total, and tol={tol!r} requires less than {limit:.3g}"
        )
        _warn_unsettled(max_iter, last)


def warn_not_converged(totals: dict[str, Any], max_iter: int, tol: float | None) -> None:
    """Warn if `max_iter` ended a run whose total `converged` is False."""
    if tol and not totals["converged"]:
        _warn_unsettled(max_iter, f"tol={tol!r} was not reached")


def warn_unsent(program: VertexProgram, result: RunResult) -> None:
    """Warn if the user's program, which keeps the best message of each vertex, ended before any vertex had something
    to send. A vertex without edges counts as sending."""
    keeps_best = program.kind == "accumulative" and all(one.merge.idempotent for one in program.phases[0].messages)
    if not keeps_best or program.operation or result.rounds > 1:
        return
    report = result.report
    silent = "senders" in report and report["fired"].any() and not report["senders"].any()
    if silent and ("start" in program.functions or _is_unchanged(program, result)):
        warn(
            f"{program.title}: nothing was sent. A vertex sends after a field that `send` reads has changed, and the "
            "initial values set by `start` or `start=` are not changes: start with the identity of the merge, such as "
            "inf for a minimum, and set other values in `seed`",
            UnsentWarning,
        )


def _is_unchanged(program: VertexProgram, result: RunResult) -> bool:
    """Whether all fields still have their initial values."""
    states = [] if program.of(Result) else program.of(State)
    known = [one for one in states if one.shape is None and not one.is_vertex and not isinstance(one, Delta)]
    changed = [(result.frame[one.name] != one.start).any() for one in known]
    return len(known) == len(states) > 0 and not any(one.compute() for one in changed)


def _warn_unsettled(max_iter: int, why: str) -> None:
    warn(
        f"scores had not converged after max_iter={max_iter} iterations: {why}. Increase max_iter= or tol=, or set "
        "tol=0 to run exactly max_iter= iterations",
        UnsettledWarning,
    )
