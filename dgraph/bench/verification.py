"""Verifies a trial with `dgraph.testing.verify`, passing the options that the verifier needs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.errors import AnswerError
from dgraph.testing.verify import OPERATIONS, RATINGS, Edges, verify

VERIFIED = {**OPERATIONS, **RATINGS}
SINGLE = 1e-4  # relative tolerance for ranks in float32
SAMPLE = 4_000_000  # edges beyond which triangles are verified only at some vertices, because all take minutes


def check(operation: str, edges: Edges, result: Any, options: Mapping[str, Any], case: str) -> None:
    """Raise an AnswerError that names the `case` if the result is wrong. `edges` are the edges of the graph, and
    `options` those of the call."""
    known = inspect.signature(VERIFIED[operation][0]).parameters
    how = {name: value for name, value in options.items() if name in known}
    if operation == "pagerank" and not options.get("tol", 1e-6):  # a number of rounds, not a fixed point
        how |= {"rounds": options.get("max_iter", 100)}
    if options.get("dtype") == "float32" and "rtol" in known:
        how["rtol"] = SINGLE
    if operation == "label_propagation" and "restless" in result.totals:  # vertices that oscillate forever
        how["restless"] = result.totals["restless"] / edges.vertices
    if operation == "factorize":  # the factors must be as good as the report says
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


def same(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Raise an AnswerError if the values are not those expected."""
    if not np.array_equal(found, expected):
        raise AnswerError(f"{what}: got {len(found)} values that differ from the {len(expected)} expected")


def sorted_pairs(sources: np.ndarray, destinations: np.ndarray) -> np.ndarray:
    """Pairs of numbers below 2**32, each as one number, sorted. They are equal only for equal multisets of edges."""
    pairs = sources.astype(np.uint64) << np.uint64(32) | destinations.astype(np.uint64)
    pairs.sort()
    return pairs


def rows_of(indptr: np.ndarray) -> np.ndarray:
    """The row of each entry of a compressed sparse matrix."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
