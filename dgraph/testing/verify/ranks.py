"""Ranks: scores of PageRank, HITS, Katz and eigenvector centrality are fixed points, so one more round in float64 with
SciPy must not change them.

PageRank of a fixed number of rounds is compared with as many rounds of power iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from dgraph.errors import AnswerError, OptionError
from dgraph.testing.verify.edges import Edges, expect

RTOL = 1e-9  # for rounding
SLACK = 1e-2  # of an eigenvalue that a few rounds have found
LEAST_ALPHA = 0.3  # of 1 / the largest eigenvalue: what katz chooses by itself is not less
LOST = ("none", "scaled")  # the rank of vertices without out-edges is lost
LANDS = ("uniform", "personalization", *LOST)


def pagerank(
    edges: Edges,
    *,
    pagerank: np.ndarray,
    alpha: float = 0.85,
    tol: float | None = 1e-6,
    max_iter: int = 100,
    rounds: int | None = None,
    personalization: np.ndarray | list[np.ndarray] | None = None,
    weighted: bool = False,
    dangling: str | np.ndarray | None = None,
    rtol: float = 1e-9,
) -> None:
    """Verify that one more round of power iteration does not change ranks too much.

    Parameters
    ----------
    rounds : int, optional
        Compare with the ranks after this many rounds, within `rtol`; by default the number of rounds depends on `tol`.
    tol : float or None
        Distance of the ranks from the fixed point, in total. One more round may change them by 1 + alpha times that,
        or by what `max_iter` rounds leave, because ranks that have not converged by then are allowed.
    personalization : array or list of arrays, optional
        Where to jump, by number, summing to 1. With a list, each rank has one value per entry.
    dangling : {"uniform", "personalization", "none", "scaled"} or array, optional
        Where the rank of vertices without out-edges goes. "scaled": nowhere, but in the end all ranks are scaled to sum
        to 1. By default it goes where jumps go.
    """
    if isinstance(dangling, str) and dangling not in LANDS:
        choices = f"{', '.join(LANDS)}, or {{vertex: weight}}"
        raise OptionError(f"dangling={dangling!r} is not known; choose one of {choices}")
    if not edges.vertices:
        return
    several = isinstance(personalization, list)
    ranks = np.array([*pagerank], np.float64) if several else np.asarray(pagerank, np.float64)[:, None]
    jumps = personalization if isinstance(personalization, list) else [personalization]
    if ranks.shape != (edges.vertices, len(jumps)):
        raise AnswerError(f"pagerank: {ranks[0].size} values per vertex for {len(jumps)} personalizations")
    for one, rank in zip(jumps, ranks.T, strict=True):
        how: dict[str, Any] = {"alpha": alpha, "weighted": weighted, "dangling": dangling, "personalization": one}
        _rank(edges, rank, how, max(tol or 0.0, 2 * alpha**max_iter), rounds, rtol)


def _rank(edges: Edges, rank: np.ndarray, how: dict[str, Any], tol: float, rounds: int | None, rtol: float) -> None:
    """Verify one rank per vertex."""
    expect(rank >= 0, lambda v: f"vertex {v}: rank {rank[v]} is not a probability")
    if rounds is not None:
        expected = after(edges, rounds, **how)
        same = np.abs(rank - expected) <= rtol * expected
        expect(same, lambda v: f"vertex {v}: rank {rank[v]} after {rounds} rounds, not {expected[v]}")
        return
    lost = isinstance(how["dangling"], str) and how["dangling"] in LOST
    if not lost and abs(rank.sum() - 1) > rtol:
        raise AnswerError(f"ranks sum to {rank.sum()}, not 1")
    change = np.abs(_round(edges, **how)(rank) - rank).sum()
    allowed = tol * (1 + how["alpha"])
    if change > allowed + rtol / 1000:  # the second term allows for rounding
        raise AnswerError(f"one more round changes ranks by {change:g} in total, more than {allowed:g}")


def after(edges: Edges, rounds: int, **how: Any) -> np.ndarray:
    """The ranks after a number of rounds of power iteration, which starts from the distribution of jumps."""

    def repeated() -> np.ndarray:
        jumps = how.get("personalization")
        rank = np.full(edges.vertices, 1 / edges.vertices) if jumps is None else jumps
        once = _round(edges, **how)
        for _ in range(rounds):
            rank = once(rank)
        return rank / rank.sum() if isinstance(how.get("dangling"), str) and how["dangling"] == "scaled" else rank

    key = tuple(value.tobytes() if isinstance(value, np.ndarray) else value for value in how.values())
    return edges.cached(("ranks", rounds, *zip(how, key, strict=True)), repeated)


def _round(
    edges: Edges,
    alpha: float = 0.85,
    weighted: bool = False,
    dangling: str | np.ndarray | None = None,
    personalization: np.ndarray | None = None,
) -> Callable[[np.ndarray], np.ndarray]:
    chance, stuck = edges.cached(("chance", weighted), lambda: _chance(edges, weighted))
    uniform = np.full(edges.vertices, 1 / edges.vertices)
    jumps = uniform if personalization is None else personalization
    lands = jumps if dangling is None else dangling
    if isinstance(lands, str):
        lands = {"uniform": uniform, "personalization": jumps}.get(lands, 0 * jumps)
    return lambda rank: alpha * (chance @ rank + rank[stuck].sum() * lands) + (1 - alpha) * jumps


def _chance(edges: Edges, weighted: bool) -> tuple[csr_array, np.ndarray]:
    """The probabilities of going from each source (column) to each destination (row), and the vertices without
    out-edges."""
    starts, _, weight = edges.arcs
    values = np.ones(len(starts)) if weight is None or not weighted else weight
    total = np.bincount(starts, values, edges.vertices)
    share = np.divide(values, total[starts], out=np.zeros(len(starts)), where=total[starts] > 0)
    return edges.matrix(share, incoming=True), np.flatnonzero(total == 0)


def hits(
    edges: Edges, *, hub: np.ndarray, authority: np.ndarray, tol: float | None = 1e-8, weighted: bool = False
) -> None:
    """Verify that one more round does not change hub and authority scores too much, and that each kind sums to 1."""
    tol = _accuracy("hits", tol)
    if not edges.vertices or not len(edges.source):
        return
    values = edges.arcs[2] if weighted else None
    incoming = edges.cached(("incoming", weighted), lambda: edges.matrix(values, incoming=True))
    largest = edges.cached(("largest", weighted), lambda: _largest(incoming))
    grown = 1.0
    for name, scores, other, rows in (("authority", authority, hub, incoming), ("hub", hub, authority, incoming.T)):
        if scores.min() < 0:
            raise AnswerError(f"vertex {scores.argmin()}: {name} {scores.min()} is below 0")
        if abs(scores.sum() - 1) > tol:
            raise AnswerError(f"{name} sums to {scores.sum()}, not 1")
        expected = rows @ other
        off = np.abs(expected / (expected.sum() or 1.0) - scores)
        if off.max() > tol:
            raise AnswerError(f"vertex {off.argmax()}: {name} is off by {off.max():g}")
        grown *= expected.sum()
    if not np.isclose(grown, largest, rtol=max(1e-6, tol)):
        problem = "hub and authority scores do not belong to the largest eigenvalue"
        raise AnswerError(f"{problem}: expected {largest:g}, got {grown:g}")


def _accuracy(operation: str, tol: float | None) -> float:
    """The error allowed, which must be > 0, because after a fixed number of rounds, scores may be far from a fixed
    point."""
    if not tol:
        problem = f"tol={tol!r} runs a fixed number of rounds, but {operation} is verified as a fixed point"
        raise OptionError(f"{problem}; pass tol > 0")
    return tol


def _largest(rows: csr_array) -> float:
    """The factor by which hub and authority scores grow per round: the square of the largest singular value."""
    vector, grown = np.ones(rows.shape[1]), 0.0
    for _ in range(1000):
        vector = rows.T @ (rows @ (vector / np.linalg.norm(vector)))
        if np.isclose(np.linalg.norm(vector), grown, rtol=1e-12, atol=0):
            break
        grown = float(np.linalg.norm(vector))
    return grown


def katz(
    edges: Edges,
    *,
    katz: np.ndarray,
    alpha: float | None = None,
    beta: float = 1.0,
    tol: float | None = 1e-6,
    normalized: bool = True,
    weighted: bool = False,
) -> None:
    """Verify that one more round does not change scores too much.

    A score is beta plus alpha times the scores of the in-neighbours. If `normalized`, scores are divided by the square
    root of the sum of their squares. Without `alpha`, it is the number that fits best.
    """
    tol = _accuracy("katz", tol)
    if not edges.vertices:
        return
    values = edges.arcs[2] if weighted else None
    rows = edges.cached(("incoming", weighted), lambda: edges.matrix(values, incoming=True))
    scores = np.asarray(katz, np.float64)
    pull = rows @ scores
    if alpha is None:  # x = alpha A x + scale
        fit, *_ = np.linalg.lstsq(np.stack([pull, np.ones(len(pull))], axis=1), scores)
        alpha, largest = float(fit[0]), edges.cached(("spectral", weighted), lambda: _largest(rows)) ** 0.5
        if not LEAST_ALPHA <= alpha * largest <= 1 and pull.any() and np.ptp(pull) > tol:
            raise AnswerError(f"the scores fit alpha={alpha:g}, but 1 / the largest eigenvalue is {1 / largest:g}")
    pull = alpha * pull
    # x / s = alpha A x / s + beta / s: the unknown scale s is the one with which both sides fit best
    scale = float(np.mean(scores - pull)) / beta if normalized and beta else 1.0
    off = np.abs(pull + beta * scale - scores)
    expect(off <= tol * max(1.0, float(np.abs(scores).max())), lambda v: f"vertex {v}: katz is off by {off[v]:g}")
    if normalized and beta and abs(np.linalg.norm(scores) - 1) > tol:
        raise AnswerError(f"the Euclidean norm of all values is {np.linalg.norm(scores)}, not 1")


def eigenvector(
    edges: Edges,
    *,
    eigenvector: np.ndarray,
    direction: str = "in",
    tol: float | None = 1e-6,
    max_iter: int = 100,
    weighted: bool = False,
) -> None:
    """Verify that one more round of power iteration does not change scores too much, that their squares sum to 1, and
    that no other scores grow faster.

    Scores that have not converged in `max_iter` rounds are allowed to be as far off as so many rounds leave them.
    """
    tol = _accuracy("eigenvector", tol)
    if not edges.vertices:
        return
    values, scores = edges.arcs[2] if weighted else None, np.asarray(eigenvector, np.float64)
    into = direction == "in"
    rows = edges.cached(("rows", direction, weighted), lambda: edges.matrix(values, incoming=into))
    expect(scores >= 0, lambda v: f"vertex {v}: eigenvector {scores[v]} is below 0")
    if abs(np.linalg.norm(scores) - 1) > RTOL:
        raise AnswerError(f"the Euclidean norm of all values is {np.linalg.norm(scores)}, not 1")
    vector, change, grown = np.full(edges.vertices, edges.vertices**-0.5), np.inf, 0.0
    for _ in range(max_iter):
        pull = rows @ vector
        grown = float(np.linalg.norm(pull))
        if not grown:
            break
        moved = pull + grown * vector
        moved /= np.linalg.norm(moved)
        change = float(np.abs(moved - vector).sum())
        vector = moved
    pull = rows @ scores
    growth = float(np.linalg.norm(pull))
    if not grown:
        return
    off = float(np.abs(pull / (growth or 1.0) - scores).sum()) / 2
    if off > max(tol * edges.vertices, 2 * change) + RTOL:
        raise AnswerError(f"one more round changes scores by {off:g} in total, more than {tol * edges.vertices:g}")
    if growth < grown * (1 - SLACK):
        raise AnswerError(f"the scores belong to the eigenvalue {growth:g}; another is at least {grown:g}")
