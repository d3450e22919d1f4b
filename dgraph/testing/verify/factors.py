"""Factors of ratings, verified by computing the error of their inner products in NumPy. Factors are not unique (any
rotation of all of them is as good), so they cannot be compared with reference factors."""

from __future__ import annotations

import numpy as np

from dgraph.errors import AnswerError, OptionError
from dgraph.testing.verify.edges import Edges


def factorize(edges: Edges, *, factors: np.ndarray, bias: np.ndarray | None = None, mean: float, rmse: float) -> None:
    """Verify that the error of factors is at most `rmse`, over all ratings, held out or not.

    `mean` is the mean of the ratings used for training, `result.totals["mean"]`, to which biases and inner products are
    added.
    """
    if edges.weight is None:
        raise OptionError("factors are verified against ratings; pass edges with weights")
    vectors = np.array(list(factors), np.float64).reshape(edges.vertices, -1)
    if bias is not None:  # an inner product with two more components
        own, ones = np.asarray(bias, np.float64)[:, None], np.ones((edges.vertices, 1))
        left, right = np.hstack([vectors, own, ones]), np.hstack([vectors, ones, own])
    else:
        left = right = vectors
    if not np.isfinite(left).all():
        raise AnswerError(f"{int((~np.isfinite(left)).any(axis=1).sum())} vertices have factors that are not finite")
    if len(edges.source):
        miss = edges.weight - mean - np.einsum("ij,ij->i", left[edges.source], right[edges.destination])
        error = float(np.sqrt(np.mean(miss * miss)))
        if not error <= rmse:
            raise AnswerError(f"the root mean square error is {error:g}, more than {rmse:g}")
    rated = np.union1d(edges.source, edges.destination)
    cold = np.setdiff1d(np.arange(edges.vertices), rated)
    learned = left[:, :-1] if bias is not None else left
    if learned[cold].any():
        raise AnswerError(f"vertex {cold[learned[cold].any(axis=1)][0]}: has no rating, but factors other than 0")
