"""Warnings where rounds ended early: before an answer was as near to its fixed point as was asked, or before anything
was sent."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dgraph.errors import UnsentWarning, UnsettledWarning
from dgraph.programs.program import Delta, Result, State, VertexProgram
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


def warn_unsent(program: VertexProgram, result: RunResult) -> None:
    """Warn if a user's program that keeps the best of what has come ended without any vertex having had anything to
    send: one whose edges lead nowhere has sent, too."""
    (phase, *_) = program.phases
    keeps = program.kind == "accumulative" and all(message.merge.idempotent for message in phase.messages)
    if not keeps or program.operation or result.rounds > 1:
        return
    report = result.report
    silent = "senders" in report and report["fired"].any() and not report["senders"].any()
    if silent and ("start" in program.functions or _as_at_the_start(program, result)):
        warnings.warn(
            f"{program.title}: nothing was sent. A vertex sends when a field has changed that `send` reads, and what "
            "it holds at the start, by `start` or `start=`, has not: let that be the merge's identity, such as inf "
            "where the least counts, and `seed` bring all else",
            UnsentWarning,
            stacklevel=CALLER - 1,
        )


def _as_at_the_start(program: VertexProgram, result: RunResult) -> bool:
    """Whether no field has changed since the start."""
    states = [] if program.of(Result) else program.of(State)
    known = [one for one in states if one.shape is None and not one.is_vertex and not isinstance(one, Delta)]
    changed = [(result.frame[one.name] != one.start).any() for one in known]
    return len(known) == len(states) > 0 and not any(one.compute() for one in changed)


def _text(max_iter: int, why: str) -> str:
    return (
        f"scores have not settled when max_iter={max_iter} ended them: {why}. Give a larger max_iter= or tol=; or "
        "tol=0, for exactly so many iterations"
    )
