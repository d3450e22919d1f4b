"""Every trial is verified by `dgraph.testing.verify`: which of an operation's options its verifier must know."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from dgraph.errors import AnswerError
from dgraph.testing.verify import OPERATIONS, RATINGS, Edges, verify

VERIFIED = {**OPERATIONS, **RATINGS}
SINGLE = 1e-4  # what ranks in float32 may be off, in proportion
SAMPLE = 4_000_000  # edges beyond which triangles are verified at some vertices: all of them take minutes


def check(operation: str, edges: Edges, result: Any, options: Mapping[str, Any], case: str) -> None:
    """Raise an AnswerError, which names the `case`, if the result is wrong. `edges` are those of the graph; `options`
    are those that the operation was called with."""
    known = inspect.signature(VERIFIED[operation][0]).parameters
    how = {name: value for name, value in options.items() if name in known}
    if operation == "pagerank" and not options.get("tol", 1e-6):  # so many rounds, not a fixed point
        how |= {"rounds": options.get("max_iter", 100)}
    if options.get("dtype") == "float32" and "rtol" in known:
        how["rtol"] = SINGLE
    if operation == "label_propagation" and "restless" in result.totals:  # who swings for ever, when it stopped
        how["restless"] = result.totals["restless"] / edges.vertices
    if operation == "factorize":  # factors are as good as the report says of them
        last = result.report.iloc[-1]
        errors = [one for one in (last["rmse"], last["held_out"]) if one == one]  # NaN: nothing was held out
        how |= {"mean": result.totals["mean"], "rmse": max(errors) * (1 + 1e-9)}
    if operation == "triangles" and len(edges.source) > SAMPLE:
        how["sample"] = 1000
    answer = result if options.get("predecessors", True) else {"distance": result.by_number("distance")}
    try:
        verify(operation, edges, answer, **how)
    except AnswerError as wrong:
        raise AnswerError(f"{case}: {wrong}") from wrong
