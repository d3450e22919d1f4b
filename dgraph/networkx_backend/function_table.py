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
    "subgraphs": ("core_number triangles transitivity clustering average_clustering"),
}
FUNCTIONS: Mapping[str, str] = {name: file for file, names in _FILES.items() for name in names.split()}

# What differs from NetworkX within what a function promises; shown in NetworkX's documentation.
NOTES: Mapping[str, str] = {
    "hits": "Found by power iteration, which does not depend on `nstart`.",
}
