"""Which calls the backend takes: what it does not do, and what NetworkX does faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

import networkx as nx

from dgraph.networkx_backend.calls import WEIGHTS, signature_of
from dgraph.networkx_backend.choices_of_nodes import LARGEST_FIRST, RANDOM, STRATEGIES, WITHOUT_INTERCHANGE
from dgraph.networkx_backend.function_table import FUNCTIONS
from dgraph.networkx_backend.node_graphs import NodeGraph
from dgraph.networkx_backend.ranks import one_beta
from dgraph.networkx_backend.sizes import OF_FEW_NODES, least_size

OLDEST = (3, 5)  # of NetworkX; before that, its functions had other arguments and results
OF_PATHS = ("weighted_paths", "shortest_paths", "centralities", "ego")  # where NetworkX takes functions as weights
LARGE = 2.0**1000
MOST_OF_ALL_PAIRS = 2000  # nodes of a graph all of whose pairs are compared

Check = Callable[[Mapping[str, Any]], str | None]  # a reason why arguments cannot be taken


@cache
def _version() -> tuple[int, ...]:
    return tuple(int(part) for part in version("networkx").split(".")[:2])


def can_run(name: str, args: tuple, kwargs: dict[str, Any]) -> bool | str:
    """True, or the reason why a function is not available for these arguments."""
    if name not in FUNCTIONS:
        return f"dgraph has no {name}"
    if _version() < OLDEST:
        return f"the backend of dgraph needs NetworkX {'.'.join(map(str, OLDEST))} or newer, got {version('networkx')}"
    try:
        bound = signature_of(name).bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    bound.apply_defaults()
    checks = (*(() if FUNCTIONS[name] in OF_PATHS else (_no_function,)), *_CHECKS.get(name, ()))
    try:
        reasons = [check(bound.arguments) for check in checks]
    except (TypeError, AttributeError) as error:  # of arguments, or a graph, that a check does not expect
        return f"dgraph does not support these arguments: {error}"
    return next(filter(None, reasons), True)


def should_run(name: str, args: tuple, kwargs: dict[str, Any]) -> bool | str:
    """True, or the reason why NetworkX itself is likely to be faster, conversion included."""
    graph = args[0] if args else kwargs["G"]
    if hasattr(graph, "__networkx_backend__") and not hasattr(graph, "_adj"):
        return True  # a graph of dgraph
    given = signature_of(name).bind_partial(*args, **kwargs).arguments
    if any(given.get(one) is not None for one in OF_FEW_NODES):
        return "NetworkX looks at these nodes alone"
    converted = _is_converted(graph)
    least = least_size(name, converted=converted)
    if least is None:
        return f"NetworkX is faster at it, {'even' if converted else 'at least'} with a graph that is already converted"
    if len(graph) >= least:  # NetworkX counts edges node by node
        return True
    size = len(graph) + graph.number_of_edges()
    return True if size >= least else f"{size:,} nodes and edges are fewer than {least:,}, so NetworkX is faster"


def _is_converted(graph: Any) -> bool:
    """Whether the cache of a NetworkX graph has a graph of this backend, and not only None or a failed conversion."""
    kept = (getattr(graph, "__networkx_cache__", None) or {}).get("backends", {}).get("dgraph") or {}
    return any(isinstance(one, NodeGraph) for one in kept.values())


def _no_function(arguments: Mapping[str, Any]) -> str | None:
    given = any(callable(arguments.get(name)) for name in WEIGHTS)
    return "weights are edge attributes, and not the results of a function" if given else None


def _function_of_edges(arguments: Mapping[str, Any]) -> str | None:
    """Closeness is that of distances to a node, for which NetworkX calls a function with the ends of reversed edges."""
    back = callable(arguments["distance"]) and _is_directed(arguments)
    return "a function may give reversed edges other weights" if back else None


def _is_directed(arguments: Mapping[str, Any]) -> bool:
    return arguments["G"].is_directed()


def _no_direction(arguments: Mapping[str, Any]) -> str | None:
    return "dgraph does this for undirected graphs only" if _is_directed(arguments) else None


def _no_multigraph(arguments: Mapping[str, Any]) -> str | None:
    return "dgraph does this for simple graphs only" if arguments["G"].is_multigraph() else None


def _one_beta(arguments: Mapping[str, Any]) -> str | None:
    try:
        one_beta(arguments["G"], arguments["beta"])
    except NotImplementedError as error:
        return str(error)
    except nx.NetworkXError:
        pass  # of wrong arguments, which the function raises again
    return None


def _positive_alpha(arguments: Mapping[str, Any]) -> str | None:
    return None if arguments["alpha"] > 0 else "alpha must be above 0"


def _normalized(arguments: Mapping[str, Any]) -> str | None:
    return None if arguments["normalized"] else "scores are normalized"


def _uniform_start(arguments: Mapping[str, Any]) -> str | None:
    start = arguments["nstart"]
    uneven = start is not None and (len(set(start.values())) > 1 or set(start) != set(arguments["G"]))
    return "an eigenvector that depends on nstart; leave it out" if uneven else None


def _whole_start(arguments: Mapping[str, Any]) -> str | None:
    start = arguments["nstart"]
    partial = start is not None and set(start) != set(arguments["G"])
    return "nstart must have the nodes of the graph, and no others" if partial else None


def _finite_start(arguments: Mapping[str, Any]) -> str | None:
    start = arguments["nstart"]
    if start is None or all(isinstance(one, int | float) and abs(one) < LARGE for one in start.values()):
        return None
    return "values of nstart must be finite numbers"


def _nonzero_start(arguments: Mapping[str, Any]) -> str | None:
    start = arguments["nstart"]
    return "nstart must not be 0 everywhere" if start is not None and not any(start.values()) else None


def _one_distance(arguments: Mapping[str, Any]) -> str | None:
    both = arguments["undirected"] and arguments["distance"] is not None and _is_directed(arguments)
    return "edges could have another distance in each direction; leave out undirected= or distance=" if both else None


def _no_loops(arguments: Mapping[str, Any]) -> str | None:
    rows = getattr(arguments["G"], "_adj", {})
    loops = any(node in row for node, row in rows.items())
    return "NetworkX lists loops in the components of their nodes, and dgraph does not" if loops else None


def _all_cores(arguments: Mapping[str, Any]) -> str | None:
    known = arguments["core_number"]
    partial = known is not None and not set(arguments["G"]) <= set(known)
    return "core_number= must have all nodes, because a neighbor may be any of them" if partial else None


def _several_sources(arguments: Mapping[str, Any]) -> str | None:
    one = arguments["k"] == 1 and len(arguments["G"]) > 1 and not arguments.get("endpoints")
    return "from one source, the value of that node has no estimate" if one else None


def _pairs(arguments: Mapping[str, Any]) -> str | None:
    many = arguments["ebunch"] is None and len(arguments["G"]) > MOST_OF_ALL_PAIRS
    return f"all pairs of more than {MOST_OF_ALL_PAIRS:,} nodes; list pairs in ebunch=" if many else None


def _given_order(arguments: Mapping[str, Any]) -> str | None:
    strategy, interchange = arguments["strategy"], arguments["interchange"]
    wrong = not callable(strategy) and (strategy not in STRATEGIES or (interchange and strategy in WITHOUT_INTERCHANGE))
    if wrong:
        return None  # the function raises NetworkX's error
    known = not interchange and (strategy in (LARGEST_FIRST, RANDOM) or callable(strategy))
    return None if known else "the strategy must be 'largest_first', 'random_sequential' or a function"


_UNDIRECTED_SIMPLE = (_no_direction, _no_multigraph)
_CHECKS: Mapping[str, tuple[Check, ...]] = {
    "hits": (_normalized, _whole_start, _finite_start, _nonzero_start),
    "katz_centrality": (_one_beta, _positive_alpha, _no_multigraph, _whole_start, _finite_start),
    "eigenvector_centrality": (_uniform_start, _no_multigraph),
    **dict.fromkeys(("core_number", "k_core", "k_shell", "k_crust"), (_no_direction,)),
    "k_corona": (_no_direction, _all_cores),
    "triangles": (_no_multigraph,),
    "transitivity": _UNDIRECTED_SIMPLE,
    "clustering": (_no_multigraph,),
    "average_clustering": (_no_multigraph,),
    "closeness_centrality": (_function_of_edges,),
    "harmonic_centrality": (_function_of_edges,),
    "betweenness_centrality": (_several_sources,),
    "asyn_lpa_communities": (_no_direction,),
    "fast_label_propagation_communities": (_no_direction,),
    **dict.fromkeys(
        ("jaccard_coefficient", "adamic_adar_index", "resource_allocation_index", "preferential_attachment"), (_pairs,)
    ),
    "is_k_regular": (_no_direction,),
    "biconnected_component_edges": (_no_loops,),
    "ego_graph": (_one_distance,),
    "greedy_color": (_given_order,),
}
