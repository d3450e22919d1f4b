"""Factors of ratings: how far their inner products are from the ratings is counted again in NumPy. Factors are never
unique (a rotation of all changes nothing), so there is nothing to compare them with but what they are for."""

from __future__ import annotations

import numpy as np

from dgraph.errors import AnswerError, OptionError
from dgraph.testing.verify.edges import Edges


def factorize(edges: Edges, *, factors: np.ndarray, mean: float, rmse: float) -> None:
    """Refuse factors whose error is larger than was said.

    mean: of all ratings that were learned, `result.totals["mean"]`, which factors add to.
    rmse: the error of all ratings, held out or not, must be no more than this.
    """
    if edges.weight is None:
        raise OptionError("factors are verified by ratings: give edges with weights")
    found = np.array(list(factors), np.float64).reshape(edges.vertices, -1)
    if not np.isfinite(found).all():
        raise AnswerError(f"{int((~np.isfinite(found)).any(axis=1).sum())} vertices have factors that are not finite")
    if len(edges.source):
        miss = edges.weight - mean - np.einsum("ij,ij->i", found[edges.source], found[edges.destination])
        error = float(np.sqrt(np.mean(miss * miss)))
        if not error <= rmse:
            raise AnswerError(f"the root mean square error is {error:g}, more than {rmse:g}")
    rated = np.union1d(edges.source, edges.destination)
    cold = np.setdiff1d(np.arange(edges.vertices), rated)
    if found[cold].any():
        raise AnswerError(f"vertex {cold[found[cold].any(axis=1)][0]}: has no rating, and factors other than 0")
