"""Independent sets, verified edge by edge, and by the order of the greedy algorithm if the seed is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.programs.random_draws import uniform, word_of_round
from dgraph.testing.verify.edges import Edges, expect

LOTS = 2.0**30


def maximal_independent_set(edges: Edges, *, in_set: np.ndarray, random_seed: int | None = None) -> None:
    """Verify a maximal independent set. With `random_seed`, it must be the one of this seed: each vertex outside has a
    neighbour in the set that comes before it in the random order."""
    inside, own = np.asarray(in_set).astype(bool), np.arange(edges.vertices)
    u, v = edges.source, edges.destination
    expect(~(inside[u] & inside[v] & (u != v)), lambda i: f"edge {u[i]} - {v[i]}: both ends are in the set")
    places = own if random_seed is None else places_in_order(edges.vertices, random_seed)
    covered = inside.copy()
    for one, other in ((u, v), (v, u)):
        covered[other[inside[one] & (random_seed is None or places[one] < places[other])]] = True
    what = "neither it nor a neighbour is in the set"
    if random_seed is not None:
        what += ", or none that comes before it in the random order"
    expect(covered, lambda v: f"vertex {v}: {what}")


def places_in_order(vertices: int, random_seed: int) -> np.ndarray:
    """The place of each vertex in the random order."""
    numbers: Any = np.arange(vertices, dtype=np.uint64)  # NumPy's words wrap around at 64 bits
    drawn: Any = uniform(word_of_round(random_seed, 0), numbers)
    lots = (drawn * LOTS).astype(np.int64)
    places = np.empty(vertices, np.int64)
    places[np.argsort(lots, kind="stable")] = np.arange(vertices)
    return places
