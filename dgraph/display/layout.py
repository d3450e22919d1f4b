"""Places for the vertices of a small graph, by stress majorization (Gansner, Koren and North, 2004): two places are as
far apart as there are edges between them, nearly. Nothing is random, so a graph is always drawn in the same way."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

STEPS = 200  # of the majorization at most
ENOUGH = 1e-4  # the relative change of the stress at which it ends
APART = 1.5  # of two vertices without a path, in terms of the longest path


def places(sources: np.ndarray, destinations: np.ndarray, vertices: int) -> np.ndarray:
    """A row of two coordinates from -1 to 1 for each vertex."""
    if vertices < 2:
        return np.zeros((vertices, 2))
    ones = np.ones(len(sources))
    hops = shortest_path(
        coo_array((ones, (sources, destinations)), (vertices, vertices)), directed=False, unweighted=True
    )
    connected = np.isfinite(hops)
    hops[~connected] = max(2.0, APART * np.sqrt(hops[connected].max(initial=1.0) * np.sqrt(vertices)))
    np.fill_diagonal(hops, 1.0)
    weight = hops**-2.0
    np.fill_diagonal(weight, 0.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.pinv(laplacian, hermitian=True)
    found, before = _by_scaling(hops), np.inf
    for _ in range(STEPS):
        apart = np.linalg.norm(found[:, None] - found[None], axis=2)
        stress = float((weight * (apart - hops) ** 2).sum())
        if before - stress <= ENOUGH * stress:
            break
        before = stress
        pull = np.divide(weight * hops, apart, out=np.zeros_like(apart), where=apart > 0)
        found = inverse @ ((np.diag(pull.sum(axis=1)) - pull) @ found)
    found = found - (found.max(axis=0) + found.min(axis=0)) / 2
    return found / (np.abs(found).max() or 1.0)


def _by_scaling(hops: np.ndarray) -> np.ndarray:
    """Where to begin: classical scaling, and a spiral, so that no two vertices are at one place."""
    squares = hops**2.0
    np.fill_diagonal(squares, 0.0)
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    turn = np.arange(len(hops)) * 2.399963  # the golden angle
    spiral = np.sqrt(np.arange(len(hops)) / len(hops))[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0)) + 0.1 * spiral
