"""Every real graph is read with the sizes that its README and its reference results state."""

import pyarrow.compute as pc
import pytest

from dgraph.errors import WeightError
from dgraph.io.formats import read_edge_list

LISTS = {  # file: (vertices named by edges, rows, options, directed)
    "graphx/followers.txt": (6, 8, {}, None),
    "cugraph_small/karate.csv": (34, 156, {"weight": 2}, None),
    "cugraph_small/netscience.csv.xz": (1461, 5484, {"weight": 2}, None),
    "cugraph_small/negative-vertex-id.csv": (3, 3, {"weight": 2}, None),
    "asoiaf/asoiaf-all-edges.csv.xz": (796, 2823, {"weight": "weight"}, None),
    "openflights/routes.dat.xz": (3425, 67663, {"source": 2, "destination": 4}, None),
    "bitcoin_otc/bitcoin_otc.csv.xz": (5881, 21492, {}, None),
    "email-Eu-core/email-Eu-core.csv.xz": (1005, 25571, {}, None),
    "wiki-Vote/wiki-Vote.txt.xz": (7115, 103689, {}, None),
    "facebook_combined/facebook_combined.txt.xz": (4039, 88234, {}, None),
    "musae_git/git_edges.csv.xz": (37700, 289003, {}, None),
    "twitter/twitter_e_*.xz": (81306, 1768135, {"weight": "weight"}, None),
    "gapbs_formats/4.el": (13, 256, {}, None),
    "gapbs_formats/4.wel": (13, 256, {}, None),
    "formats_misc/powergraph.tsv": (5, 7, {}, None),
    "formats_misc/powergraph.snap": (5, 7, {}, None),
    "foodweb-baydry/foodweb-baydry.konect": (128, 2137, {}, True),
}
COUNTED = {  # file: (vertices, rows, directed, weighted)
    "gapbs_formats/4.gr": (14, 256, True, True),
    "gapbs_formats/4.graph": (14, 53, True, False),
    "gapbs_formats/4w.graph": (14, 53, True, True),
    "gapbs_formats/4.mtx": (14, 256, True, False),
    "gapbs_formats/4w.mtx": (14, 256, True, True),
    "metis_tiny/tiny_01.graph": (7, 11, False, False),
    "metis_tiny/tiny_02.graph": (7, 11, False, True),
    "metis_tiny/tiny_03.graph": (7, 11, False, True),
    "metis_tiny/tiny_04.graph": (7, 11, False, False),
    "jazz/jazz.graph": (198, 2742, False, False),
    "power/power.graph.xz": (4941, 6594, False, False),
    "PGPgiantcompo/PGPgiantcompo.graph.xz": (10680, 24316, False, False),
    "celegans_metabolic/celegans_metabolic.graph": (453, 2025, False, False),
    "polblogs/polblogs.graph.xz": (1490, 16715, False, False),
    "wave/wave.graph.xz": (156317, 1059331, False, False),
    "usroads-48/road-usroads-48.mtx.xz": (126146, 161950, False, False),
    "ldbc_example/example-directed.e": (10, 17, True, True),
    "ldbc_example/example-undirected.v": (9, 12, False, True),
    "p2p-31/p2p-31.properties": (62586, 147892, False, True),
}


def named(edge_list):
    ends = [edge_list.edges[name].combine_chunks() for name in (edge_list.source, edge_list.destination)]
    return len(set(ends[0].unique().to_pylist()) | set(ends[1].unique().to_pylist()))


@pytest.mark.parametrize("name", LISTS)
def test_edge_lists_have_the_documented_sizes(data, name):
    vertices, rows, options, directed = LISTS[name]
    edges = read_edge_list(data(name), **options)
    assert (named(edges), edges.edges.num_rows, edges.directed) == (vertices, rows, directed)


@pytest.mark.parametrize("name", COUNTED)
def test_files_with_vertex_counts_have_the_documented_sizes(data, name):
    vertices, rows, directed, weighted = COUNTED[name]
    edges = read_edge_list(data(name))
    assert len(edges.vertices) == vertices
    assert (edges.edges.num_rows, edges.directed, edges.weight is not None) == (rows, directed, weighted)


def test_gapbs_files_are_one_graph(data):
    """14 nodes and 53 arcs, once loops and repeats are dropped, whatever the format."""
    for name, base in (("4.el", 0), ("4.wel", 0), ("4.gr", 1), ("4.graph", 1), ("4w.graph", 1), ("4.mtx", 1)):
        edges = read_edge_list(data(f"gapbs_formats/{name}"))
        pairs = zip(edges.edges["source"].to_pylist(), edges.edges["destination"].to_pylist(), strict=True)
        arcs = {(u - base, v - base) for u, v in pairs if u != v}
        assert len(arcs) == 53, name
        if name == "4.el":
            first = arcs
        assert arcs == first, name


def test_ids_at_the_limits_of_32_bits_are_read(data):
    edges = read_edge_list(data("cugraph_small/negative-vertex-id.csv")).edges
    assert edges["source"].to_pylist() == [-1, -2147483648, 2147483647]


def test_weights_that_are_missing_are_named(data):
    with pytest.raises(WeightError, match=r"line 571.*'sign' is missing"):
        read_edge_list(data("bitcoin_otc/bitcoin_otc.csv.xz"), weight="sign")


def test_carriage_returns_alone_end_lines(data):
    edges = read_edge_list(data("asoiaf/asoiaf-all-edges.csv.xz"), columns="all", weight="weight")
    assert pc.unique(edges.edges["Type"]).to_pylist() == ["Undirected"]


def test_metis_vertex_weights_are_columns(data):
    vertices = read_edge_list(data("metis_tiny/tiny_04.graph")).vertices
    assert vertices.column_names == ["id", "weight0", "weight1", "weight2"]
