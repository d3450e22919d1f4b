"""Components, by SciPy's searches. Labels of weak ones agree along every edge, name the smallest member, and there are
as many; strong ones are those that SciPy finds."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from dgraph.errors import AnswerError
from dgraph.testing.verify.edges import Edges, expect, sized


def wcc(edges: Edges, *, component: np.ndarray, names: str = "smallest") -> None:
    """Refuse components that are not those of the graph.

    names: a component is called by its "smallest" member, or by "any" value of its own.

    Labels that agree along every edge are unions of components, and as many labels as components are the components.
    """
    sized(edges, {"component": component})
    label = component
    u, v = edges.source, edges.destination
    agree = label[u] == label[v]
    expect(agree, lambda i: f"edge {u[i]} - {v[i]}: joins component {label[u[i]]} and component {label[v[i]]}")
    if names == "smallest":
        own = np.arange(edges.vertices)
        expect((label >= 0) & (label <= own), lambda v: f"vertex {v}: component {label[v]} is not a smaller vertex")
        expect(label[label] == label, lambda v: f"vertex {v}: component {label[v]}, which says {label[label[v]]}")
        found = int(np.count_nonzero(label == own))
    else:
        found = len(np.unique(label))
    count = edges.remembered("components", lambda: number_of_components(edges))
    if found != count:
        raise AnswerError(f"{found:,} components, not {count:,}")


def number_of_components(edges: Edges) -> int:
    """How many weakly connected components there are, by SciPy."""
    rows = edges.matrix(np.ones(len(edges.arcs[0]), np.float32))
    return int(connected_components(rows, directed=True, connection="weak", return_labels=False))


def scc(edges: Edges, *, component: np.ndarray, names: str = "smallest") -> None:
    """Refuse strongly connected components that are not those of the graph.

    names: a component is called by its "smallest" member, or by "any" value of its own.
    """
    sized(edges, {"component": component})
    smallest = edges.remembered("strong components", lambda: smallest_of_strong_components(edges))
    if names == "any":
        _, members, label = np.unique(component, return_index=True, return_inverse=True)
        component = members[label]
    expect(component == smallest, lambda v: f"vertex {v}: component {component[v]}, not that of {smallest[v]}")


def smallest_of_strong_components(edges: Edges) -> np.ndarray:
    """The smallest vertex of each one's strongly connected component, by SciPy."""
    rows = edges.matrix(np.ones(len(edges.arcs[0]), np.float32))
    count, label = connected_components(rows, directed=True, connection="strong")
    smallest = np.full(count, edges.vertices)
    np.minimum.at(smallest, label, np.arange(edges.vertices))
    return smallest[label]
