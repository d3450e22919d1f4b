"""Independent sets and colorings, verified edge by edge; with the seed, by the order of the greedy algorithm, too."""

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


def coloring(edges: Edges, *, color: np.ndarray, random_seed: int | None = None) -> None:
    """Verify a greedy coloring: no two neighbours have the same color, and a vertex has a neighbour of every smaller
    color. With `random_seed`, these come before it in the order of this seed, so no other coloring passes."""
    simple, color = edges.simple.tocoo(), np.asarray(color)
    u, v = simple.row, simple.col
    expect(color >= 0, lambda v: f"vertex {v}: color {color[v]} is below 0")
    expect(color[u] != color[v], lambda i: f"edge {u[i]} - {v[i]}: both ends have color {color[u[i]]}")
    helpful, what = color[u] < color[v], "no neighbour"
    if random_seed is not None:
        degrees = np.bincount(u, minlength=edges.vertices)
        places = places_in_order(edges.vertices, random_seed, -degrees)
        helpful &= places[u] < places[v]
        what = "no neighbour that comes before it"
    colors = int(color.max(initial=0)) + 1
    heard = np.unique(v[helpful].astype(np.int64) * colors + color[u[helpful]])
    counts = np.bincount(heard // colors, minlength=edges.vertices)

    def missing(v: int) -> str:
        near = heard[heard // colors == v] % colors
        return f"vertex {v}: {what} has color {np.setdiff1d(np.arange(color[v]), near)[0]}, but its color is {color[v]}"

    expect(counts == color, missing)


def places_in_order(vertices: int, random_seed: int, first: np.ndarray | None = None) -> np.ndarray:
    """The place of each vertex in the random order, or in ascending order of `first`, which is random among ties."""
    numbers: Any = np.arange(vertices, dtype=np.uint64)  # NumPy's words wrap around at 64 bits
    drawn: Any = uniform(word_of_round(random_seed, 0), numbers)
    lots = (drawn * LOTS).astype(np.int64)
    places = np.empty(vertices, np.int64)
    places[np.argsort(lots, kind="stable") if first is None else np.lexsort([lots, first])] = np.arange(vertices)
    return places
