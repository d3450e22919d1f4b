"""From which size of a graph a function is faster than NetworkX: the lines that are printed by
`benchmarks/networkx_backend.py --crossover`. The command line shows them, so this module imports nothing."""

from __future__ import annotations

from collections.abc import Mapping

Sizes = tuple[int | None, int | None]  # nodes and edges, with conversion and with a converted graph; None: from no size

_MEASURED: Mapping[Sizes, str] = {
    (0, 0): "leiden_communities",
    (200, 200): (
        "triadic_census betweenness_centrality reciprocity overall_reciprocity degree_assortativity_coefficient"
    ),
    (500, 200): (
        "all_pairs_bellman_ford_path average_shortest_path_length wiener_index global_efficiency eccentricity "
        "diameter radius center periphery closeness_centrality harmonic_centrality louvain_communities"
    ),
    (500, 500): "all_pairs_dijkstra_path_length all_pairs_bellman_ford_path_length edge_betweenness_centrality",
    (1000, 200): "katz_centrality asyn_lpa_communities",
    (1000, 500): "all_pairs_dijkstra_path",
    (1000, 1000): "all_pairs_dijkstra",
    (2000, 200): "transitivity average_clustering",
    (2000, 500): "fast_label_propagation_communities",
    (2000, 1000): "eigenvector_centrality",
    (5000, 200): "is_forest clustering",
    (5000, 500): "triangles",
    (5000, 2000): "has_bridges",
    (5000, 5000): "k_truss all_pairs_shortest_path_length shortest_path_length",
    (10_000, 200): "pagerank hits",
    (10_000, 500): "is_branching",
    (10_000, 1000): (
        "is_attracting_component core_number single_source_bellman_ford single_source_bellman_ford_path "
        "single_source_bellman_ford_path_length"
    ),
    (10_000, 2000): "strongly_connected_components attracting_components bridges k_corona",
    (10_000, 10_000): "minimum_spanning_tree",
    (20_000, 2000): (
        "number_strongly_connected_components is_strongly_connected number_attracting_components is_tree k_core "
        "k_shell k_crust multi_source_dijkstra_path_length single_source_dijkstra_path "
        "single_source_dijkstra_path_length bellman_ford_path bellman_ford_path_length modularity is_bipartite sets "
        "maximal_independent_set"
    ),
    (20_000, 10_000): "maximum_spanning_tree articulation_points",
    (20_000, 20_000): (
        "minimum_spanning_edges maximum_spanning_edges biconnected_components is_biconnected shortest_path"
    ),
    (20_000, 50_000): "all_pairs_shortest_path",
    (50_000, 2000): "multi_source_dijkstra multi_source_dijkstra_path single_source_dijkstra color",
    (50_000, 5000): "descendants greedy_color",
    (100_000, 5000): "is_connected is_directed_acyclic_graph ancestors",
    (200_000, 5000): (
        "connected_components number_connected_components number_weakly_connected_components "
        "single_source_shortest_path_length bfs_layers"
    ),
    (200_000, 10_000): "single_target_shortest_path_length",
    (200_000, 20_000): "topological_sort",
    (500_000, 5000): "node_connected_component weakly_connected_components is_weakly_connected",
    (500_000, 20_000): "topological_generations",
    (1_000_000, 50_000): "single_target_shortest_path",
    (None, 2000): "is_arborescence",
    (None, 10_000): "single_source_shortest_path degree_centrality isolates number_of_isolates",
    (None, 50_000): "in_degree_centrality out_degree_centrality",
    (None, None): (
        "biconnected_component_edges ego_graph bidirectional_shortest_path has_path descendants_at_distance "
        "dijkstra_path dijkstra_path_length bidirectional_dijkstra efficiency jaccard_coefficient adamic_adar_index "
        "resource_allocation_index preferential_attachment is_isolate is_regular is_k_regular is_eulerian"
    ),
}
NOT_MEASURED: Sizes = (10_000, 3_000)
SIZES: Mapping[str, Sizes] = {name: sizes for sizes, names in _MEASURED.items() for name in names.split()}
# Parameters for a few nodes, which NetworkX looks at alone. Here, all nodes are computed.
OF_FEW_NODES = ("nodes", "nbunch", "u", "v")


def least_size(name: str, *, converted: bool) -> int | None:
    """The nodes and edges from which a function is faster than NetworkX; None if it never is."""
    return SIZES.get(name, NOT_MEASURED)[converted]
