"""Ranks: PageRank, HITS and Katz are fixed points, so that one more round in float64 by SciPy must not move them.

PageRank of a fixed number of rounds is compared with as many rounds of power iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from dgraph.errors import AnswerError, OptionError
from dgraph.testing.verify.edges import Edges, expect, sized

LOST = ("none", "scaled")  # no rank comes back from vertices without an out-edge
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
    """Refuse ranks that one more round of power iteration would move too far.

    rounds: how many were asked for, whose outcome is compared within `rtol`; by default as many as `tol` takes.
    tol: how far all ranks together are from the fixed point; one more round changes them by 1 + alpha times that. More
    is only what `max_iter` rounds leave, after which ranks may be given that have not settled.
    personalization: where to jump, by number, summing to 1; with a list of these, a rank has one value for each.
    dangling: where the rank of vertices without an out-edge goes: as jumps do, anywhere ("uniform"), as an array says,
    nowhere ("none"); or nowhere, but all ranks are "scaled" in the end so that they sum to 1.
    """
    if isinstance(dangling, str) and dangling not in LANDS:
        raise OptionError(
            f"dangling={dangling!r} is not known; choose one of {', '.join(LANDS)}, or {{vertex: weight}}"
        )
    sized(edges, {"pagerank": pagerank})
    if not edges.vertices:
        return
    several = isinstance(personalization, list)
    ranks = np.array([*pagerank], np.float64) if several else np.asarray(pagerank, np.float64)[:, None]
    jumps = personalization if isinstance(personalization, list) else [personalization]
    if ranks.shape != (edges.vertices, len(jumps)):
        raise AnswerError(f"pagerank: {ranks[0].size} values a vertex for {len(jumps)} personalizations")
    for one, rank in zip(jumps, ranks.T, strict=True):
        how: dict[str, Any] = {"alpha": alpha, "weighted": weighted, "dangling": dangling, "personalization": one}
        _rank(edges, rank, how, max(tol or 0.0, 2 * alpha**max_iter), rounds, rtol)


def _rank(
    edges: Edges,
    rank: np.ndarray,
    how: dict[str, Any],
    tol: float,
    rounds: int | None,
    rtol: float,
) -> None:
    """One rank a vertex."""
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
    if change > allowed + rtol / 1000:  # rounding
        raise AnswerError(f"one more round changes ranks by {change:g} in all, more than {allowed:g}")


def after(edges: Edges, rounds: int, **how: Any) -> np.ndarray:
    """Ranks after so many rounds of power iteration, which begins where the surfer jumps."""

    def repeated() -> np.ndarray:
        jumps = how.get("personalization")
        rank = np.full(edges.vertices, 1 / edges.vertices) if jumps is None else jumps
        once = _round(edges, **how)
        for _ in range(rounds):
            rank = once(rank)
        return rank / rank.sum() if isinstance(how.get("dangling"), str) and how["dangling"] == "scaled" else rank

    key = tuple(value.tobytes() if isinstance(value, np.ndarray) else value for value in how.values())
    return edges.remembered(("ranks", rounds, *zip(how, key, strict=True)), repeated)


def _round(
    edges: Edges,
    alpha: float = 0.85,
    weighted: bool = False,
    dangling: str | np.ndarray | None = None,
    personalization: np.ndarray | None = None,
) -> Callable[[np.ndarray], np.ndarray]:
    chance, stuck = edges.remembered(("chance", weighted), lambda: _chance(edges, weighted))
    jumps = np.full(edges.vertices, 1 / edges.vertices) if personalization is None else personalization
    lands = jumps if dangling is None or isinstance(dangling, str) else dangling
    if isinstance(dangling, str):
        lands = {"uniform": np.full(edges.vertices, 1 / edges.vertices), "personalization": jumps}.get(
            dangling, 0 * jumps
        )
    return lambda rank: alpha * (chance @ rank + rank[stuck].sum() * lands) + (1 - alpha) * jumps


def _chance(edges: Edges, weighted: bool) -> tuple[csr_array, np.ndarray]:
    """By row of destination, the probability of going there from each source; and the vertices from which no edge leads
    on."""
    starts, _, weight = edges.arcs
    values = np.ones(len(starts)) if weight is None or not weighted else weight
    total = np.bincount(starts, values, edges.vertices)
    share = np.divide(values, total[starts], out=np.zeros(len(starts)), where=total[starts] > 0)
    return edges.matrix(share, incoming=True), np.flatnonzero(total == 0)


def hits(
    edges: Edges, *, hub: np.ndarray, authority: np.ndarray, tol: float | None = 1e-8, weighted: bool = False
) -> None:
    """Refuse hubs and authorities that one more round would move too far. Each sum to 1: what hubs say of authorities,
    and back, in proportion."""
    sized(edges, {"hub": hub, "authority": authority})
    tol = _accuracy("hits", tol)
    if not edges.vertices or not len(edges.source):
        return
    values = edges.arcs[2] if weighted else None
    incoming = edges.remembered(("incoming", weighted), lambda: edges.matrix(values, incoming=True))
    largest = edges.remembered(("largest", weighted), lambda: _largest(incoming))
    grown = 1.0
    for name, found, other, rows in (("authority", authority, hub, incoming), ("hub", hub, authority, incoming.T)):
        if found.min() < 0:
            raise AnswerError(f"vertex {found.argmin()}: {name} {found.min()} is below 0")
        if abs(found.sum() - 1) > tol:
            raise AnswerError(f"{name} sums to {found.sum()}, not 1")
        said = rows @ other
        off = np.abs(said / (said.sum() or 1.0) - found)
        if off.max() > tol:
            raise AnswerError(f"vertex {off.argmax()}: {name} is off by {off.max():g}")
        grown *= said.sum()
    if not np.isclose(grown, largest, rtol=max(1e-6, tol)):
        raise AnswerError(f"hubs and authorities of another part: there they grow by {grown:g}, not {largest:g}")


def _accuracy(operation: str, tol: float | None) -> float:
    """What an answer may be off by: one of so many rounds need not be near to a fixed point."""
    if not tol:
        raise OptionError(
            f"tol={tol!r} asks for a number of rounds, and {operation} is verified as a fixed point: give one"
        )
    return tol


def _largest(rows: csr_array) -> float:
    """The factor by which hubs and authorities grow in a round: the square of the largest singular value."""
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
    alpha: float = 0.1,
    beta: float = 1.0,
    tol: float | None = 1e-6,
    normalized: bool = True,
    weighted: bool = False,
) -> None:
    """Refuse scores that one more round would move too far. A vertex has beta, and alpha times what its in-neighbours
    have; `normalized` by the Euclidean length of all."""
    sized(edges, {"katz": katz})
    tol = _accuracy("katz", tol)
    if not edges.vertices:
        return
    values = edges.arcs[2] if weighted else None
    rows = edges.remembered(("incoming", weighted), lambda: edges.matrix(values, incoming=True))
    found = np.asarray(katz, np.float64)
    pull = alpha * (rows @ found)
    # x / s = alpha A x / s + beta / s: the one unknown scale s is where both sides fit best
    scale = float(np.mean(found - pull)) / beta if normalized and beta else 1.0
    off = np.abs(pull + beta * scale - found)
    expect(off <= tol * max(1.0, float(np.abs(found).max())), lambda v: f"vertex {v}: katz is off by {off[v]:g}")
    if normalized and beta and abs(np.linalg.norm(found) - 1) > tol:
        raise AnswerError(f"the length of all values is {np.linalg.norm(found)}, not 1")
