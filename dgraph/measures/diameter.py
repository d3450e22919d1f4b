"""The diameter and the radius of a graph: its largest and its smallest eccentricity."""

from __future__ import annotations

from typing import Literal

from dgraph.arguments import check_choice, known_options
from dgraph.cluster.retry import retry_on_loss
from dgraph.errors import BoundsError, InputError
from dgraph.graph import Graph
from dgraph.ops.eccentricity import ALL, LARGEST, Extent, extent, limit_of
from dgraph.solvers.paths.eccentricities import DIAMETER, RADIUS


@known_options(runs=True)
def diameter(graph: Graph, *, components: Literal["all", "largest"] = "all", max_searches: int | None = None) -> float:
    """The diameter: the largest distance between two vertices, which is infinite if one does not reach the other.

    Distances are numbers of edges, along their direction. Few searches suffice for most graphs.

    Parameters
    ----------
    graph : Graph
        The graph.
    components : {"all", "largest"}, default "all"
        Which components count: with ``"largest"``, only the largest (strongly connected, if the graph is directed).
    max_searches : int, optional
        Stop after searches from this many vertices, with an error if the answer is not known by then.

    Returns
    -------
    float

    Raises
    ------
    BoundsError
        If `max_searches` did not suffice; it has the bounds.
    InputError
        If the graph has no vertices.
    OptionError
        If an option has a value that is not allowed.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    The edges of all partitions are gathered on one worker.

    Examples
    --------
    >>> dg.diameter(dg.Graph.from_edges({"src": ["a", "b", "c"], "dst": ["b", "c", "d"]}, directed=False))
    3.0
    """
    return _value(graph, "diameter", components, max_searches)


@known_options(runs=True)
def radius(graph: Graph, *, components: Literal["all", "largest"] = "all", max_searches: int | None = None) -> float:
    """The radius: the smallest eccentricity, which is infinite if no vertex reaches all others.

    Distances are numbers of edges, along their direction. Few searches suffice for most graphs.

    Parameters
    ----------
    graph : Graph
        The graph.
    components : {"all", "largest"}, default "all"
        Which components count: with ``"largest"``, only the largest (strongly connected, if the graph is directed).
    max_searches : int, optional
        Stop after searches from this many vertices, with an error if the answer is not known by then.

    Returns
    -------
    float

    Raises
    ------
    BoundsError
        If `max_searches` did not suffice; it has the bounds.
    InputError
        If the graph has no vertices.
    OptionError
        If an option has a value that is not allowed.
    RoomError
        If there is not enough memory, on the workers or in this process.

    Notes
    -----
    The edges of all partitions are gathered on one worker.

    Examples
    --------
    >>> dg.radius(dg.Graph.from_edges({"src": ["a", "b", "c"], "dst": ["b", "c", "d"]}, directed=False))
    2.0
    """
    return _value(graph, "radius", components, max_searches)


def _value(graph: Graph, name: str, components: str, max_searches: int | None) -> float:
    check_choice("components", components, (ALL, LARGEST))
    most = limit_of(max_searches)
    if not graph.num_vertices:
        raise InputError(f"a graph without vertices has no {name}")
    bounds, searches = _bounds(graph, name, components, most)
    if bounds[0] < bounds[1]:
        raise BoundsError(name, *bounds, searches)
    return bounds[0]


@retry_on_loss
def _bounds(graph: Graph, name: str, components: str, most: int) -> tuple[tuple[float, float], int]:
    found = extent(graph, components, DIAMETER if name == "diameter" else RADIUS, most)
    (ends,) = graph.workers.bring(graph.workers.each(Extent.ends, [(found,)]))
    return (ends.diameter if name == "diameter" else ends.radius), ends.searches
