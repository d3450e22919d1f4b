"""Names that other libraries use for dgraph's features, where to find features that dgraph lacks, and suggestions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

ALIKE, CLOSE_MATCH = 0.6, 0.8  # similarity that makes a known name a likely suggestion, or a nearly certain one

FOREIGN_NAMES = {  # dgraph's name -> names that other libraries use for the same thing
    "wcc": ("components", "connected_components", "weakly_connected_components"),
    "scc": ("strongly_connected_components", "strong_components"),
    "sssp": ("shortest_paths", "dijkstra", "bellman_ford", "single_source_shortest_path"),
    "shortest_path": (
        *("bidirectional_shortest_path", "bidirectional_dijkstra", "single_pair_shortest_path", "dijkstra_path"),
        *("bellman_ford_path", "get_shortest_path", "get_shortest_paths"),
    ),
    "bfs": ("breadth_first_search", "breadth_first_order"),
    "lcc": ("clustering", "clustering_coefficient", "local_clustering_coefficient"),
    "core_number": ("coreness", "core_decomposition"),
    "triangles": ("triangle_count", "count_triangles"),
    "triad_census": ("triadic_census", "motifs", "motif_census"),
    "katz": ("katz_centrality",),
    "eigenvector": ("eigenvector_centrality", "eigenvector_centrality_numpy", "evcent"),
    "degrees": ("degree", "in_degree", "out_degree"),
    "betweenness": ("betweenness_centrality", "brandes", "edge_betweenness", "edge_betweenness_centrality"),
    "closeness": ("closeness_centrality",),
    "neighborhood_function": ("hyperball", "hyper_anf", "effective_diameter", "average_shortest_path_length"),
    "similarity": (
        *(
            "node_similarity",
            "jaccard",
            "jaccard_coefficient",
            "overlap",
            "sorensen",
            "adamic_adar",
            "adamic_adar_index",
        ),
        *("resource_allocation_index", "preferential_attachment", "common_neighbors", "all_pairs_jaccard"),
    ),
    "fast_rp": ("fastrp", "embedding", "embeddings", "node_embedding", "node2vec_embedding", "random_projection"),
    "random_walks": (
        *("random_walk", "node2vec", "node2vec_walk", "deepwalk", "deep_walk", "uniform_random_walk"),
        *("uniform_random_walks", "biased_random_walk", "biased_random_walks", "node2vec_random_walks"),
    ),
    "sample_neighbors": (
        *("neighbor_sample", "neighbor_sampling", "neighbor_loader", "neighbour_sample", "uniform_neighbor_sample"),
        *("sample_neighbours", "graphsage", "heterogeneous_neighbor_sample", "homogeneous_neighbor_sample"),
    ),
    "length": ("walk_length", "max_depth", "steps", "num_steps"),
    "starts": ("start_vertices", "source_nodes", "sources"),
    "seeds": ("input_nodes", "start_list", "seed_nodes"),
    "fanouts": ("num_neighbors", "fanout", "fan_out", "fanout_vals", "num_samples"),
    "restart": ("restart_prob", "restart_probability"),
    "harmonic": ("harmonic_centrality", "harmonic_closeness"),
    "degree_centrality": ("in_degree_centrality", "out_degree_centrality"),
    "leiden": ("leiden_communities", "community_leiden"),
    "louvain": ("louvain_communities", "community_multilevel", "best_partition"),
    "label_propagation": ("lpa", "communities"),
    "coloring": ("colouring", "color", "greedy_color", "vertex_coloring", "vertex_coloring_greedy", "graph_coloring"),
    "topological_generations": ("topological_sort", "topological_sorting", "topological_order", "toposort"),
    "is_dag": ("is_directed_acyclic_graph", "is_acyclic"),
    "maximal_independent_set": ("mis", "luby", "independent_set", "largest_independent_vertex_sets"),
    "subgraph": ("induced_subgraph", "extract_subgraph", "node_subgraph", "vertex_subgraph"),
    "ego": ("ego_graph", "neighborhood", "neighborhood_graph", "k_hop_subgraph", "neighbors_subgraph"),
    "largest_component": ("giant_component", "largest_connected_component", "largest_cc"),
    "reverse": ("transpose", "reverse_edges", "reverse_view", "reversed"),
    "simplify": ("to_simple", "simple_graph", "remove_self_loops", "remove_loops", "remove_multi_edges"),
    "filter_edges": ("filteredges", "edge_subgraph", "select_edges", "subgraph_edges", "filter"),
    "spanning_forest": (
        *("minimum_spanning_tree", "minimum_spanning_edges", "minimum_spanning_forest", "maximum_spanning_tree"),
        *("maximum_spanning_edges", "spanning_tree", "mst", "kruskal", "boruvka"),
    ),
    "bridges": ("bridge", "has_bridges", "cut_edges"),
    "articulation_points": ("cut_vertices", "cutpoints", "cut_points", "articulation_vertices"),
    "biconnected_components": ("biconnected_component_edges", "bicomponents", "bicomp", "blocks"),
    "alpha": ("damping", "damping_factor", "damp"),
    "tol": ("tolerance", "eps", "epsilon", "threshold"),
    "max_iter": ("iterations", "num_iterations", "niter"),
    "personalization": ("reset", "teleport"),
    "weighted": ("weight", "weights"),
    "source_vertex": ("root", "start", "start_vertex"),  # on the command line, where --source names a column
    "source": ("root", "start", "start_vertex"),
    "destination": ("target", "to"),
    "weight": ("edge_attr", "edge_weight", "cost", "capacity"),
    "vertices": ("nodes",),
    "num_vertices": ("num_nodes", "number_of_nodes", "number_of_vertices", "vcount"),
    "num_edges": ("number_of_edges", "ecount"),
    "Graph.from_edges": (
        *("from_edges", "from_pandas", "from_pandas_edgelist", "from_arrow", "from_polars", "from_dask_dataframe"),
        *("from_cudf_edgelist", "from_dask_cudf_edgelist", "DiGraph", "MultiGraph", "MultiDiGraph", "GraphFrame"),
    ),
    "delimiter": ("sep", "separator"),
    "read_edges": ("read_edgelist", "read_edge_list", "read_graph", "read_csv", "read_parquet", "from_csv", "load"),
    "from_scipy": ("from_scipy_sparse_array", "from_numpy", "from_numpy_array", "from_adjacency"),
    "parts": ("npartitions", "num_partitions", "n_partitions"),
    "depth_limit": ("cutoff", "max_depth"),
    "cuda": ("gpu",),
}
# Parameters that other libraries have as 1 minus ours: function -> ours, theirs
OPPOSITES = {"pagerank": ("alpha", ("reset_probability", "resetprobability", "reset_prob", "teleport_probability"))}
# Functions that make a graph from a graph, which other libraries have as methods
CUTS = ("subgraph", "ego", "largest_component", "reverse", "simplify", "filter_edges")
# What dgraph lacks: the NetworkX function for it (or the method of igraph's graphs), the names that it goes by, and
# what dgraph offers for a similar question.
_COMMUNITIES, _FROM_ONE = "leiden and louvain find communities", "sssp and bfs find the distances from one vertex"
ABSENT = (
    ("community.greedy_modularity_communities", "greedy_modularity_communities fast_greedy", _COMMUNITIES),
    ("community.girvan_newman", "girvan_newman", _COMMUNITIES),
    ("all_pairs_shortest_path_length", "all_pairs_shortest_path apsp floyd_warshall johnson", _FROM_ONE),
    ("astar_path(@, source, target)", "astar a_star astar_path", "shortest_path searches from both ends"),
    ("simple_cycles", "simple_cycles", "find_cycle finds one cycle, and scc all vertices on cycles"),
    ("find_cliques", "find_cliques cliques maximal_cliques clique_number", ""),
    ("maximum_flow(@, source, target)", "max_flow maximum_flow", ""),
    ("minimum_cut(@, source, target)", "min_cut minimum_cut", ""),
    ("max_weight_matching", "max_weight_matching maximum_matching maximal_matching", "matching pairs two sides"),
)


def nearest(word: str, known: Iterable[str], likeness: float = ALIKE) -> str:
    """The known name that `word` probably means; "" if there is none. The word may be another library's name for the
    same thing, a different spelling, a likely misspelling, or part of exactly one name (`seed` of `random_seed`)."""
    names = {_plain(one): one for one in known}
    plain = _plain(word)
    theirs = [ours for ours, words in FOREIGN_NAMES.items() if plain in map(_plain, words) and _plain(ours) in names]
    alike = [one for one in names if plain in one.split("_") or one in plain.split("_")]
    near = theirs or ([plain] if plain in names else get_close_matches(plain, names, 1, likeness))
    return names[_plain(near[0])] if near else names[alike[0]] if len(alike) == 1 else ""


def opposite(function: str, word: str, value: object) -> str:
    """How to write an option that another library has as 1 minus a parameter of `function`; "" for other words."""
    ours, theirs = OPPOSITES.get(function, ("", ()))
    if _plain(word) not in theirs:
        return ""
    if isinstance(value, int | float) and 0 <= value <= 1:
        return f"write {ours}={1 - value:g}, which is 1 - {word}"
    return f"write {ours}=1 - {word}"


def suggestion(
    word: str,
    known: Iterable[str],
    likeness: float = ALIKE,
    *,
    said: Callable[[str], str] = "did you mean {}?".format,
    operations: bool = False,
) -> str:
    """The part of an error that helps with an unknown name: the known name that it probably means, formatted by `said`;
    for `operations`, how another library does what dgraph lacks; "" if neither is known."""
    known = list(known)
    if operations and (lead := elsewhere(word, known)):
        return lead
    near = nearest(word, known, likeness)
    return said(near) if near else (elsewhere(word, known, CLOSE_MATCH) if operations else "")


def choices(word: str, known: Iterable[str], suggested: str | None = None, *, operations: bool = False) -> str:
    """The remedy for an unknown word: a suggestion (by default `suggestion`), and the list of known words."""
    known = list(known)
    near = suggestion(word, known, operations=operations) if suggested is None else suggested
    return f"{near and near + (' ' if near.endswith('?') else ', or ')}choose one of {', '.join(known)}"


def elsewhere(word: str, known: Iterable[str] = (), likeness: float = 1.0) -> str:
    """Where to find an operation that dgraph does not have, or "" if that is not listed."""
    rows = {name: (call, similar) for call, names, similar in ABSENT for name in names.split()}
    near = get_close_matches(_plain(word), rows.keys() - set(known), 1, likeness)
    if not near:
        return ""
    call, similar = rows[near[0]]
    return f"dgraph does not have {near[0]}; {f'{similar}; or ' if similar else ''}use {_spelled(call)}"


def _spelled(call: str) -> str:
    """A call of another library on a graph, in full."""
    if call.startswith("igraph."):
        return call.replace("igraph", "dgraph.to_igraph(G)")
    return f"networkx.{call if '@' in call else f'{call}(@)'}".replace("@", "dgraph.to_networkx(G)")


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
