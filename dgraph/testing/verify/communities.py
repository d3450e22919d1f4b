"""Communities of Louvain and Leiden: names, connectedness, and what they gain over the obvious divisions."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dgraph.testing.verify.edges import Edges, expect


def louvain(
    edges: Edges,
    *,
    community: np.ndarray,
    resolution: float = 1.0,
    objective: str = "modularity",
    weighted: bool = False,
    at_least: float | None = None,
    names: str = "smallest",
) -> None:
    """Verify that each community is named by its smallest vertex (with ``names="any"``, by any vertex), and that the
    quality is at least `at_least`, by default that of each vertex alone and of one community for all."""
    own = np.arange(edges.vertices)
    smallest = np.full(edges.vertices, edges.vertices)
    inside = (community >= 0) & (community < edges.vertices)
    expect(inside, lambda v: f"vertex {v}: its community {community[v]} is not a vertex")
    np.minimum.at(smallest, community, own)
    expect(
        (smallest[community] == community) | (names == "any"),
        lambda v: f"vertex {v}: community {community[v]} is not named by its smallest vertex {smallest[community[v]]}",
    )
    how = resolution, objective, weighted
    found = quality(edges, community, *how)
    if at_least is None:
        at_least = max(quality(edges, own, *how), quality(edges, np.zeros_like(own), *how))
    expect(found >= at_least - 1e-9, lambda _: f"the {objective} is {found:.6f}, below {at_least:.6f}")


def leiden(
    edges: Edges,
    *,
    community: np.ndarray,
    resolution: float = 1.0,
    objective: str = "modularity",
    weighted: bool = False,
    at_least: float | None = None,
    names: str = "smallest",
    connected: bool = True,
) -> None:
    """Verify what `louvain` verifies, and that each community is connected, unless that is not claimed."""
    how = partial(louvain, resolution=resolution, objective=objective, weighted=weighted)
    how(edges, community=community, at_least=at_least, names=names)
    if not connected:
        return
    u, v, weight = edges.arcs
    ties = community[u] == community[v]
    if weighted and weight is not None:
        ties &= weight > 0
    graph = coo_array((np.ones(ties.sum()), (u[ties], v[ties])), (edges.vertices, edges.vertices))
    _, pieces = connected_components(graph, directed=False) if edges.vertices else (0, np.zeros(0, int))
    first = np.full(edges.vertices, edges.vertices)
    np.minimum.at(first, community, np.arange(edges.vertices))
    expect(
        pieces == pieces[first[community]],
        lambda v: f"vertex {v}: no path inside community {community[v]} leads to its smallest vertex",
    )


def quality(edges: Edges, community: np.ndarray, resolution: float, objective: str, weighted: bool) -> float:
    """Modularity, or the quality of the constant Potts model, by their definitions."""
    u, v, weight = edges.source, edges.destination, edges.weight
    weight = weight if weighted and weight is not None else np.ones(len(u))
    inside = float(weight[community[u] == community[v]].sum())
    if objective == "cpm":
        sizes = np.bincount(community, minlength=1).astype(float)
        return inside - resolution * float((sizes * (sizes - 1)).sum()) * (1.0 if edges.directed else 0.5)
    total = float(weight.sum())
    if not total:
        return 0.0
    leaving, entering = (np.bincount(community[end], weight, edges.vertices + 1).astype(float) for end in (u, v))
    out, into = (leaving, entering) if edges.directed else ((leaving + entering) / 2,) * 2
    return inside / total - resolution * float((out * into).sum()) / total**2
