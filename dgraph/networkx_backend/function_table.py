"""The functions of NetworkX that the backend has, and the files of this folder where they are. It imports nothing."""

from __future__ import annotations

from collections.abc import Mapping

_FILES = {
    "ranks": "pagerank hits katz_centrality eigenvector_centrality",
    "components": (
        "connected_components number_connected_components is_connected node_connected_component "
        "weakly_connected_components number_weakly_connected_components is_weakly_connected "
        "strongly_connected_components number_strongly_connected_components is_strongly_connected "
        "attracting_components number_attracting_components is_attracting_component "
        "is_directed_acyclic_graph is_tree is_forest is_arborescence is_branching"
    ),
    "trees": "minimum_spanning_edges maximum_spanning_edges minimum_spanning_tree maximum_spanning_tree",
    "cuts": (
        "bridges has_bridges articulation_points biconnected_components biconnected_component_edges is_biconnected"
    ),
    "orders": "topological_generations topological_sort",
    "cores": "core_number k_core k_shell k_crust k_corona k_truss",
    "clustering": "triangles transitivity clustering average_clustering",
    "triads": "triadic_census",
    "ego": "ego_graph",
    "distances": (
        "single_source_shortest_path single_source_shortest_path_length single_target_shortest_path "
        "single_target_shortest_path_length all_pairs_shortest_path all_pairs_shortest_path_length "
        "bidirectional_shortest_path has_path descendants ancestors descendants_at_distance bfs_layers"
    ),
    "weighted_paths": (
        "multi_source_dijkstra multi_source_dijkstra_path multi_source_dijkstra_path_length single_source_dijkstra "
        "single_source_dijkstra_path single_source_dijkstra_path_length dijkstra_path dijkstra_path_length "
        "bidirectional_dijkstra all_pairs_dijkstra all_pairs_dijkstra_path all_pairs_dijkstra_path_length "
        "single_source_bellman_ford single_source_bellman_ford_path single_source_bellman_ford_path_length "
        "bellman_ford_path bellman_ford_path_length all_pairs_bellman_ford_path all_pairs_bellman_ford_path_length"
    ),
    "shortest_paths": (
        "shortest_path shortest_path_length average_shortest_path_length wiener_index efficiency global_efficiency "
        "eccentricity diameter radius center periphery"
    ),
    "centralities": (
        "degree_centrality in_degree_centrality out_degree_centrality closeness_centrality harmonic_centrality "
        "betweenness_centrality edge_betweenness_centrality"
    ),
    "communities": (
        "louvain_communities leiden_communities asyn_lpa_communities fast_label_propagation_communities modularity"
    ),
    "link_prediction": ("jaccard_coefficient adamic_adar_index resource_allocation_index preferential_attachment"),
    "degrees": (
        "isolates number_of_isolates is_isolate is_regular is_k_regular is_eulerian reciprocity overall_reciprocity"
    ),
    "assortativity": "degree_assortativity_coefficient",
    "bipartite": "is_bipartite color sets",
    "choices_of_nodes": "maximal_independent_set greedy_color",
}
FUNCTIONS: Mapping[str, str] = {name: file for file, names in _FILES.items() for name in names.split()}

# What differs from NetworkX within what a function promises; shown in NetworkX's documentation.
NOTES: Mapping[str, str] = {
    "hits": "Found by power iteration, which does not depend on `nstart`.",
    "louvain_communities": "As good as NetworkX's, but not the same communities. With `seed`, one thread is used.",
    "leiden_communities": "With `seed`, the same communities every time, from one thread.",
    "asyn_lpa_communities": "Each node has one of the most frequent labels of its neighbors; ties may differ.",
    "fast_label_propagation_communities": "Each node has one of the most frequent labels of its neighbors.",
    "topological_generations": "The nodes of a generation are in the order of the graph.",
    "topological_sort": "The nodes of a generation are in the order of the graph.",
    "articulation_points": "In the order of the graph's nodes.",
    "biconnected_components": "In another order than NetworkX's.",
    "biconnected_component_edges": "In another order than NetworkX's.",
    **dict.fromkeys(
        ("minimum_spanning_edges", "maximum_spanning_edges", "minimum_spanning_tree", "maximum_spanning_tree"),
        "The edges are those of Kruskal's algorithm, in its order, for any `algorithm`.",
    ),
    "maximal_independent_set": "For a seed, another set than NetworkX's.",
    "color": "The dictionary is in the order of the graph's nodes.",
}
