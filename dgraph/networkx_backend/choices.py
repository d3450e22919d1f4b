"""Which calls the backend takes: what it does not do, and what NetworkX does faster."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from dgraph.networkx_backend.calls import function_of
from dgraph.networkx_backend.function_table import FUNCTIONS

MOST_OF_ALL_PAIRS = 2000  # nodes of a graph all of whose pairs are compared

# Sizes (nodes and edges) from which calls are faster here, and the functions with a search from every node.
LEAST, LEAST_OF_SEARCHES = 20_000, 500
SEARCH_PER_NODE = frozenset(
    [
        "betweenness_centrality",
        "edge_betweenness_centrality",
        "closeness_centrality",
        "harmonic_centrality",
        "global_efficiency",
        "average_shortest_path_length",
        "wiener_index",
        "eccentricity",
        "diameter",
        "radius",
        "center",
        "periphery",
    ]
)
PART_OF_A_GRAPH = frozenset(
    [
        "has_path",
        "bidirectional_shortest_path",
        "bidirectional_dijkstra",
        "dijkstra_path",
        "dijkstra_path_length",
        "efficiency",
        "is_isolate",
        "jaccard_coefficient",
        "adamic_adar_index",
        "resource_allocation_index",
        "preferential_attachment",
        "descendants_at_distance",
        "isolates",
        "number_of_isolates",
        "is_regular",
        "is_k_regular",
        "degree_centrality",
        "in_degree_centrality",
        "out_degree_centrality",
        "is_tree",
        "is_arborescence",
        "is_eulerian",
    ]
)

Check = Callable[[Mapping[str, Any]], str | None]  # a reason why arguments cannot be taken


@cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(function_of(name))


def can_run(name: str, args: tuple, kwargs: dict[str, Any]) -> bool | str:
    """True, or the reason why a function is not available for these arguments."""
    if name not in FUNCTIONS:
        return f"dgraph has no {name}"
    try:
        bound = _signature(name).bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    bound.apply_defaults()
    for check in (_weight_functions, *_CHECKS.get(name, ())):
        if reason := check(bound.arguments):
            return reason
    return True


def should_run(name: str, args: tuple, kwargs: dict[str, Any]) -> bool | str:
    """True, or the reason why NetworkX itself is likely to be faster, conversion included."""
    graph = args[0] if args else kwargs["G"]
    if hasattr(graph, "__networkx_backend__") and not hasattr(graph, "_adj"):
        return True  # a graph of dgraph
    if name in PART_OF_A_GRAPH and not _is_converted(graph):
        return "NetworkX looks at a part of the graph, and all of it would be converted"
    least = LEAST_OF_SEARCHES if name in SEARCH_PER_NODE else LEAST
    size = len(graph) + graph.number_of_edges()
    return True if size >= least else f"{size:,} nodes and edges are fewer than {least:,}, so NetworkX is faster"


def _is_converted(graph: Any) -> bool:
    return bool((getattr(graph, "__networkx_cache__", None) or {}).get("backends", {}).get("dgraph"))


def _weight_functions(arguments: Mapping[str, Any]) -> str | None:
    given = any(callable(arguments.get(name)) for name in ("weight", "distance"))
    return "weights are edge attributes; a function would be called for every edge" if given else None


def _is_directed(arguments: Mapping[str, Any]) -> bool:
    return arguments["G"].is_directed()


def _no_direction(arguments: Mapping[str, Any]) -> str | None:
    return "dgraph does this for undirected graphs only" if _is_directed(arguments) else None


def _no_multigraph(arguments: Mapping[str, Any]) -> str | None:
    return "dgraph does this for simple graphs only" if arguments["G"].is_multigraph() else None


def _no_weight(arguments: Mapping[str, Any]) -> str | None:
    return "dgraph does this without weights only" if arguments["weight"] is not None else None


def _one_beta(arguments: Mapping[str, Any]) -> str | None:
    return "beta must be one number for all nodes" if not isinstance(arguments["beta"], (int, float)) else None


def _positive_alpha(arguments: Mapping[str, Any]) -> str | None:
    return None if arguments["alpha"] > 0 else "alpha must be above 0"


def _normalized(arguments: Mapping[str, Any]) -> str | None:
    return None if arguments["normalized"] else "scores are normalized"


def _uniform_start(arguments: Mapping[str, Any]) -> str | None:
    start = arguments["nstart"]
    uneven = start is not None and (len(set(start.values())) > 1 or set(start) != set(arguments["G"]))
    return "an eigenvector that depends on nstart; leave it out" if uneven else None


def _no_nodes(arguments: Mapping[str, Any]) -> str | None:
    return "dgraph does this for the whole graph only" if arguments["nodes"] is not None else None


def _no_sources(arguments: Mapping[str, Any]) -> str | None:
    return "all nodes are sources" if arguments["sources"] is not None else None


def _several_sources(arguments: Mapping[str, Any]) -> str | None:
    one = arguments["k"] == 1 and len(arguments["G"]) > 1 and not arguments.get("endpoints")
    return "from one source, the value of that node has no estimate" if one else None


def _no_given_distances(arguments: Mapping[str, Any]) -> str | None:
    return "distances are computed here; leave out sp=" if arguments["sp"] is not None else None


def _pairs(arguments: Mapping[str, Any]) -> str | None:
    many = arguments["ebunch"] is None and len(arguments["G"]) > MOST_OF_ALL_PAIRS
    return f"all pairs of more than {MOST_OF_ALL_PAIRS:,} nodes; list pairs in ebunch=" if many else None


def _largest_first(arguments: Mapping[str, Any]) -> str | None:
    known = arguments["strategy"] == "largest_first" and not arguments["interchange"]
    return None if known else "the strategy must be 'largest_first', without interchange"


_UNDIRECTED_SIMPLE = (_no_direction, _no_multigraph)
_DISTANCES = (_no_weight,)
_CHECKS: Mapping[str, tuple[Check, ...]] = {
    "hits": (_normalized,),
    "katz_centrality": (_one_beta, _positive_alpha, _no_multigraph),
    "eigenvector_centrality": (_uniform_start, _no_multigraph),
    **dict.fromkeys(("core_number", "k_core", "k_shell", "k_crust", "k_corona"), (_no_direction,)),
    "triangles": (_no_multigraph,),
    "transitivity": _UNDIRECTED_SIMPLE,
    "clustering": (*_UNDIRECTED_SIMPLE, _no_weight),
    "average_clustering": (*_UNDIRECTED_SIMPLE, _no_weight),
    "eccentricity": (*_DISTANCES, _no_given_distances),
    **dict.fromkeys(("diameter", "radius", "center", "periphery"), _DISTANCES),
    "harmonic_centrality": (_no_sources,),
    "betweenness_centrality": (_several_sources,),
    "edge_betweenness_centrality": (_no_multigraph,),
    "asyn_lpa_communities": (_no_direction,),
    "fast_label_propagation_communities": (_no_direction,),
    **dict.fromkeys(
        ("jaccard_coefficient", "adamic_adar_index", "resource_allocation_index", "preferential_attachment"), (_pairs,)
    ),
    "is_k_regular": (_no_direction,),
    "reciprocity": (_no_nodes,),
    "maximal_independent_set": (_no_nodes,),
    "greedy_color": (_largest_first, _no_direction),
}
