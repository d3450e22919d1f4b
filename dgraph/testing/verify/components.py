"""Components, verified with SciPy. Labels of weak components must agree along every edge, be the smallest member of the
component, and be as many as SciPy finds; strong components must equal SciPy's."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from dgraph.errors import AnswerError
from dgraph.testing.verify.edges import Edges, expect


def wcc(edges: Edges, *, component: np.ndarray, names: str = "smallest") -> None:
    """Verify weakly connected components.

    With `names="smallest"`, the label of a component must be its smallest member; with "any", any distinct value.

    Labels that agree along every edge are unions of components. If there are as many labels as components, they are the
    components.
    """
    label = component
    u, v = edges.source, edges.destination
    agree = label[u] == label[v]
    expect(agree, lambda i: f"edge {u[i]} - {v[i]}: joins component {label[u[i]]} and component {label[v[i]]}")
    if names == "smallest":
        own = np.arange(edges.vertices)
        expect((label >= 0) & (label <= own), lambda v: f"vertex {v}: component {label[v]} is not a smaller vertex")
        expect(
            label[label] == label,
            lambda v: f"vertex {v}: component {label[v]}, whose own component is {label[label[v]]}",
        )
        number = int(np.count_nonzero(label == own))
    else:
        number = len(np.unique(label))
    count = edges.cached("components", lambda: number_of_components(edges))
    if number != count:
        raise AnswerError(f"expected {count:,} components, got {number:,}")


def number_of_components(edges: Edges) -> int:
    """The number of weakly connected components, computed by SciPy."""
    rows = edges.matrix(np.ones(len(edges.arcs[0]), np.float32))
    return int(connected_components(rows, directed=True, connection="weak", return_labels=False))


def scc(edges: Edges, *, component: np.ndarray, names: str = "smallest") -> None:
    """Verify strongly connected components; `names` is as in `wcc`."""
    smallest = edges.cached("strong components", lambda: smallest_of_strong_components(edges))
    if names == "any":
        _, members, label = np.unique(component, return_index=True, return_inverse=True)
        component = members[label]
    expect(component == smallest, lambda v: f"vertex {v}: component {component[v]}, not that of {smallest[v]}")


def smallest_of_strong_components(edges: Edges) -> np.ndarray:
    """For each vertex, the smallest vertex of its strongly connected component, computed by SciPy."""
    rows = edges.matrix(np.ones(len(edges.arcs[0]), np.float32))
    count, label = connected_components(rows, directed=True, connection="strong")
    smallest = np.full(count, edges.vertices)
    np.minimum.at(smallest, label, np.arange(edges.vertices))
    return smallest[label]
