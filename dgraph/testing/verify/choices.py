"""Independent sets and colorings, verified edge by edge; with the seed, by the order of the greedy algorithm, too, and
by the sides of bipartite components, which SciPy finds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import block_array
from scipy.sparse.csgraph import connected_components

from dgraph.programs.random_draws import uniform, word_of_round
from dgraph.testing.verify.edges import Edges, expect

LOTS = 2.0**30
NEITHER = 2  # the side of vertices of components that are not bipartite


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
    color. With `random_seed`, the colors of bipartite components are their sides, and elsewhere these neighbours come
    before the vertex in the order of this seed, so no other coloring passes."""
    simple, color = edges.simple.tocoo(), np.asarray(color)
    u, v = simple.row, simple.col
    expect(color >= 0, lambda v: f"vertex {v}: color {color[v]} is below 0")
    expect(color[u] != color[v], lambda i: f"edge {u[i]} - {v[i]}: both ends have color {color[u[i]]}")
    helpful, what = color[u] < color[v], "no neighbour"
    if random_seed is not None:
        side = edges.cached("sides", lambda: sides_of_components(edges))
        expect(
            (side == NEITHER) | (side == color), lambda v: f"vertex {v}: color {color[v]}, but its side is {side[v]}"
        )
        degrees = np.bincount(u, minlength=edges.vertices)
        places = places_in_order(edges.vertices, random_seed, -degrees)
        helpful &= (places[u] < places[v]) | (side[u] != NEITHER)
        what = "no neighbour that comes before it"
    colors = int(color.max(initial=0)) + 1
    heard = np.unique(v[helpful].astype(np.int64) * colors + color[u[helpful]])
    counts = np.bincount(heard // colors, minlength=edges.vertices)

    def missing(v: int) -> str:
        near = heard[heard // colors == v] % colors
        return f"vertex {v}: {what} has color {np.setdiff1d(np.arange(color[v]), near)[0]}, but its color is {color[v]}"

    expect(counts == color, missing)


def sides_of_components(edges: Edges) -> np.ndarray:
    """The side of each vertex, 0 or 1, if its component is bipartite: whether an even number of steps leads to it from
    the smallest vertex of the component, or an odd number. `NEITHER` if both do."""
    steps, own = edges.simple, np.arange(edges.vertices)
    _, label = connected_components(block_array([[None, steps], [steps, None]]), directed=False)
    even, odd = label[: edges.vertices], label[edges.vertices :]
    smallest = np.full(2 * edges.vertices, edges.vertices)
    np.minimum.at(smallest, even, own)
    return np.where(even == odd, NEITHER, smallest[even] > smallest[odd])


def places_in_order(vertices: int, random_seed: int, first: np.ndarray | None = None) -> np.ndarray:
    """The place of each vertex in the random order, or in ascending order of `first`, which is random among ties."""
    numbers: Any = np.arange(vertices, dtype=np.uint64)  # NumPy's words wrap around at 64 bits
    drawn: Any = uniform(word_of_round(random_seed, 0), numbers)
    lots = (drawn * LOTS).astype(np.int64)
    places = np.empty(vertices, np.int64)
    places[np.argsort(lots, kind="stable") if first is None else np.lexsort([lots, first])] = np.arange(vertices)
    return places
