"""NetworkX's own tests whose expectations differ from what a function promises, and why."""

OTHER_COMMUNITIES = "the communities themselves are compared, and dgraph finds others, about as good"
OTHER_PATHS = "cycles are compared, which follow from one of several shortest paths"
EXPECTED: dict[str, str] = {
    "test_dag.py::TestDAG::test_topological_sort6": "the graph changes while its order is read, which is known by then",
    "test_mis.py::test_random_seed": "a set is compared, and dgraph's is another for a seed",
    **{
        f"test_cycles.py::TestMinimumCycleBasis::{name}": OTHER_PATHS
        for name in (
            "test_unweighted_diamond",
            "test_weighted_diamond",
            "test_petersen_graph",
            "test_gh6787_and_edge_attribute_names",
        )
    },
    **{
        f"test_louvain.py::{name}": OTHER_COMMUNITIES
        for name in (
            "test_karate_club_partition",
            "test_undirected_selfloops",
            "test_directed_partition",
            "test_none_weight_param",
            "test_multigraph",
            "test_max_level",
        )
    },
}
