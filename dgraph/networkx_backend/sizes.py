"""From which size of a graph a function is faster than NetworkX: the lines that are printed by
`benchmarks/networkx_backend.py --crossover`. The command line shows them, so this module imports nothing."""

from __future__ import annotations

from collections.abc import Mapping

Sizes = tuple[int | None, int | None]  # nodes and edges, with conversion and with a converted graph; None: from no size

_MEASURED: Mapping[Sizes, str] = {
    (500, 100): (
        "betweenness_centrality edge_betweenness_centrality closeness_centrality harmonic_centrality "
        "global_efficiency average_shortest_path_length wiener_index eccentricity diameter radius center periphery "
        "all_pairs_shortest_path all_pairs_shortest_path_length all_pairs_dijkstra all_pairs_dijkstra_path "
        "all_pairs_dijkstra_path_length all_pairs_bellman_ford_path all_pairs_bellman_ford_path_length"
    ),
    (None, 10_000): (
        "connected_components number_connected_components is_connected node_connected_component "
        "weakly_connected_components number_weakly_connected_components is_weakly_connected is_tree is_forest "
        "is_arborescence is_branching single_source_shortest_path single_source_shortest_path_length "
        "single_target_shortest_path single_target_shortest_path_length bidirectional_shortest_path has_path "
        "descendants ancestors descendants_at_distance bfs_layers efficiency dijkstra_path dijkstra_path_length "
        "bidirectional_dijkstra shortest_path shortest_path_length jaccard_coefficient adamic_adar_index "
        "resource_allocation_index preferential_attachment isolates number_of_isolates is_isolate is_regular "
        "is_k_regular is_eulerian degree_centrality in_degree_centrality out_degree_centrality "
        "maximal_independent_set greedy_color topological_generations topological_sort ego_graph is_bipartite color "
        "sets"
    ),
}
NOT_MEASURED: Sizes = (10_000, 3_000)
SIZES: Mapping[str, Sizes] = {name: sizes for sizes, names in _MEASURED.items() for name in names.split()}
# Parameters for a few nodes, which NetworkX looks at alone. Here, all nodes are computed.
OF_FEW_NODES = ("nodes", "nbunch", "u", "v")


def least_size(name: str, *, converted: bool) -> int | None:
    """The nodes and edges from which a function is faster than NetworkX; None if it never is."""
    return SIZES.get(name, NOT_MEASURED)[converted]
