"""Ranks, scores and embeddings, by dense matrices."""

from __future__ import annotations

import random

import networkx as nx
import numpy as np
from answers import close, columns, operation, same, some, vertices, weighted
from multigraphs import Multigraph

LOOSE = 1e-6  # scores that are within a tolerance of 1e-10 of a fixed point, which a slow iteration may miss by more


def chances(graph: Multigraph, weighted: bool) -> np.ndarray:
    """Where a step along an edge leads, a row for each vertex; 0 where no edge can be followed."""
    matrix = graph.matrix(weighted)
    total = matrix.sum(axis=1, keepdims=True)
    return np.divide(matrix, total, out=np.zeros_like(matrix), where=total > 0)


def shares(graph: Multigraph, weights: dict[int, float] | None) -> np.ndarray:
    found = np.zeros(graph.n)
    for u, weight in (dict.fromkeys(range(graph.n), 1) if weights is None else weights).items():
        found[u] = weight
    return found / found.sum() if graph.n else found


def _jumps(graph: Multigraph, rng: random.Random) -> dict:
    return {one: rng.randrange(1, 5) for one in vertices(graph, rng)}


def _pagerank(graph: Multigraph, rng: random.Random):
    options = weighted(graph, rng) | some(rng, 0.5, alpha=rng.choice((0.5, 0.85, 0.95)))
    if graph.n and rng.random() < 0.5:
        jumps = _jumps(graph, rng)
        options["personalization"] = [jumps, _jumps(graph, rng)] if rng.random() < 0.3 else jumps
    if graph.n:
        dangling = rng.choice(("uniform", "personalization", "none", _jumps(graph, rng)))
        options |= some(rng, 0.4, dangling=dangling)
    if rng.random() < 0.3:
        return options | {"tol": 0, "max_iter": rng.randrange(1, 6), "engine": rng.choice(("auto", "gas", "bsp"))}
    return options | {"tol": 1e-10, "max_iter": 2000}


@operation(_pagerank)
def pagerank(
    graph: Multigraph, call, alpha=0.85, tol=0, max_iter=100, personalization=None, dangling=None, weighted=False, **_
):
    (found,) = columns(graph, call(), "pagerank")
    several = isinstance(personalization, list)
    steps = chances(graph, weighted)
    for k, jumps in enumerate(personalization if several else [personalization]):
        away = shares(graph, jumps)
        if isinstance(dangling, dict):
            lost = shares(graph, dangling)
        else:
            lost = {"none": np.zeros(graph.n), "uniform": shares(graph, None)}.get(dangling, away)
        step = alpha * (steps + np.outer(steps.sum(axis=1) == 0, lost))
        if tol:
            expected = np.linalg.solve(np.eye(graph.n) - step.T, (1 - alpha) * away)
        else:
            expected = away
            for _ in range(max_iter):
                expected = step.T @ expected + (1 - alpha) * away
        one = np.array(found)[:, k] if several and graph.n else np.array(found)
        close(one, expected, rtol=0, atol=tol + 1e-12)
    if tol and not several and dangling is None and len(graph.edges):  # the same once more, by a library
        known = nx.pagerank(graph.summed(weighted).to_directed(), alpha, personalization, 2000, 1e-14)
        close(found, [known[u] for u in range(graph.n)], rtol=0, atol=1e-9)


def _in_rounds(graph: Multigraph, rng: random.Random):
    options = weighted(graph, rng)
    if rng.random() < 0.5:
        return options | {"tol": None, "max_iter": rng.randrange(1, 8)}
    return options | {"tol": 1e-10, "max_iter": 3000}


@operation(_in_rounds)
def hits(graph: Multigraph, call, tol, max_iter, weighted=False, **_):
    hub, authority = columns(graph, call(), "hub", "authority")
    matrix = graph.matrix(weighted)
    expected = np.full(graph.n, 1 / max(graph.n, 1))
    if not matrix.any():
        same([*hub, *authority], [0] * 2 * graph.n)
        return
    for _ in range(max_iter):
        heard = matrix.T @ expected
        before, expected = expected, matrix @ (heard / heard.sum())
        expected = expected / expected.sum()
        if tol and np.abs(expected - before).sum() < tol / 100:
            break
    close(hub, expected, atol=LOOSE if tol else 1e-9)
    close(authority, heard / heard.sum(), atol=LOOSE if tol else 1e-9)


def radius_of(matrix: np.ndarray) -> float:
    return max(np.abs(np.linalg.eigvals(matrix)), default=0.0)


def _katz(graph: Multigraph, rng: random.Random):
    options = weighted(graph, rng) | {"tol": 1e-12, "max_iter": 20_000}
    if rng.random() < 0.5:
        bound = radius_of(graph.matrix(options.get("weighted", False)))
        options["alpha"] = round(rng.choice((0.3, 0.8)) / max(bound, 1), 4)
    return options | some(rng, 0.3, beta=2.0, normalized=False)


@operation(_katz)
def katz(graph: Multigraph, call, weighted=False, alpha=None, beta=1.0, normalized=True, **_):
    result = call()
    (found,) = columns(graph, result, "katz")
    matrix, used = graph.matrix(weighted), result.totals["alpha"]
    if alpha is None:
        assert used * radius_of(matrix) < 1, f"alpha = {used}, and the largest eigenvalue is {radius_of(matrix)}"
    else:
        same(used, alpha, "alpha")
    expected = np.linalg.solve(np.eye(graph.n) - used * matrix.T, np.full(graph.n, beta))
    close(found, expected / np.linalg.norm(expected) if normalized and graph.n else expected, rtol=LOOSE)


@operation(lambda graph, rng: _in_rounds(graph, rng) | some(rng, direction=rng.choice(("in", "out"))))
def eigenvector(graph: Multigraph, call, tol, max_iter, weighted=False, direction="in", **_):
    result = call()
    (found,) = columns(graph, result, "eigenvector")
    matrix = graph.matrix(weighted)
    matrix = matrix.T if direction == "in" else matrix
    if not graph.n:
        return
    close(np.linalg.norm(found), 1, what="the sum of squares")
    assert min(found) >= 0
    if not tol:  # how fast rounds converge is not documented, but that each is one of power iteration
        return
    bound = radius_of(matrix)
    if result.totals["change"] < tol * graph.n:
        close(matrix @ found, result.totals["eigenvalue"] * np.array(found), atol=1e-4, what="matrix times vector")
        slow = not nx.is_strongly_connected(graph.steps)  # eigenvectors of larger eigenvalues come in slowly
        close(
            result.totals["eigenvalue"],
            bound,
            rtol=0.1 if slow else 1e-5,
            atol=0.1 if slow else 1e-5,
            what="eigenvalue",
        )


def _fast_rp(graph: Multigraph, rng: random.Random):
    weights = [rng.choice((0.0, 1.0, 0.5, 2.0)) for _ in range(rng.randrange(4))] + [1.5]
    return weighted(graph, rng) | {"weights": weights, "dimensions": 4, "random_seed": rng.randrange(5)}


@operation(_fast_rp)
def fast_rp(graph: Multigraph, call, weights, dimensions, weighted=False, **_):
    """What the random vectors are, the operation says itself: they are the embedding of the weights 1, 0, 0, ..."""
    (drawn,) = columns(graph, call(weights=[1.0]), "embedding")
    (found,) = columns(graph, call(), "embedding")
    vectors = np.array(drawn, float).reshape(graph.n, dimensions)
    assert set(np.abs(vectors).round(3).flatten()) <= {0.0, 1.732}, vectors
    expected, steps = np.zeros_like(vectors), chances(graph, weighted)
    for weight in weights:
        expected += weight * vectors
        vectors = steps @ vectors
    close(np.array(found, float).reshape(graph.n, dimensions), expected, rtol=1e-4, atol=1e-5)


# -- ratings -----------------------------------------------------------------------------------------------------------


def _factorize(graph: Multigraph, rng: random.Random):
    sides = [{edge[end] for edge in graph.edges} for end in (0, 1)]
    if not graph.weighted or sides[0] & sides[1]:
        return None
    return {"rank": 2, "epochs": 4, "test": 0, "random_seed": rng.randrange(5)} | some(rng, 0.3, biases=False)


@operation(_factorize)
def factorize(graph: Multigraph, call, rank, biases=True, **_):
    """The errors that the report tells are those of what it returns, and not above those of the mean."""
    result = call()
    factors, *bias = columns(graph, result, "factors", *(["bias"] if biases else []))
    factors, bias = np.array(factors, float).reshape(graph.n, rank), bias[0] if bias else [0] * graph.n
    ratings = np.array([w for _, _, w in graph.edges], float)
    if not len(ratings):
        assert not factors.any() and np.isnan(result.totals["rmse"])
        return
    mean = result.totals["mean"]
    close(mean, ratings.mean(), what="mean")
    errors = [w - mean - bias[u] - bias[v] - factors[u] @ factors[v] for u, v, w in graph.edges]
    close(result.totals["rmse"], np.sqrt(np.mean(np.square(errors))), rtol=1e-5, atol=1e-6, what="rmse")
    assert result.totals["rmse"] <= ratings.std() + 1e-6
    rated = {end for u, v, _ in graph.edges for end in (u, v)}
    assert not any(factors[u].any() or bias[u] for u in range(graph.n) if u not in rated)
    pairs = [(u, v) for u, v, _ in graph.edges]
    told = result.predict({"user": [graph.ids[u] for u, _ in pairs], "item": [graph.ids[v] for _, v in pairs]})
    close(told.compute()["prediction"], ratings - errors, rtol=1e-5, atol=1e-5)
