"""Matrix Market: all that LAGraph's reader accepts is read alike, all that it refuses is refused."""

import json
from pathlib import Path

import pytest

from dgraph.errors import FileError, WeightError
from dgraph.io.formats import read_edge_list

NAMES = """A cover cover_structure ldbc-cdlp-directed-example ldbc-cdlp-undirected-example ldbc-directed-example-bool
ldbc-directed-example ldbc-directed-example-unweighted ldbc-undirected-example-bool ldbc-undirected-example
ldbc-undirected-example-unweighted ldbc-wcc-example LFAT5 msf1 msf2 msf3 sample2 sample sources_7 tree-example lp_afiro
lp_afiro_structure karate matrix_bool matrix_int8 matrix_int16 matrix_int32 matrix_int64 matrix_uint8 matrix_uint16
matrix_uint32 matrix_uint64 matrix_fp32 matrix_fp32_structure matrix_fp64 skew_fp32 skew_fp64 skew_int8 skew_int16
skew_int32 skew_int64 structure full full_symmetric empty"""
GOOD = NAMES.split()
BAD = {f"mangled{k}": "" for k in range(1, 17)} | {
    "complex": "complex",
    "mangled_format": "array",
    "mangled_skew": "unsigned",
    **{
        f"mangled_{kind}": f"not of type {kind}"
        for kind in ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32")
    },
}
BAD |= {
    "mangled1": "'mangled'",
    "mangled3": "type of values",
    "mangled8": "rows, columns and entries",
    "mangled9": "square",
}
BAD |= {
    "mangled10": "declares 3",
    "mangled11": "line 5: 'zero'",
    "mangled12": "line 5: .* got 2",
    "mangled14": "twice",
}
BAD |= {"mangled13": "column 9999 ", "mangled7": "gunk", "mangled5": "hermitian", "mangled15": "complex"}


def test_the_test_lists_cover_all_files_of_lagraph(data):
    expected = json.loads(Path(data("lagraph/EXPECTED.json")).read_text())
    assert {f"{name}.mtx" for name in GOOD} == set(expected["mmread"])
    assert {f"{name}.mtx" for name in BAD} == set(expected["malformed"])


@pytest.mark.parametrize("name", GOOD)
def test_files_of_lagraph_have_the_expected_entries(data, name):
    facts = json.loads(Path(data("lagraph/EXPECTED.json")).read_text())["mmread"][f"{name}.mtx"]
    edges = read_edge_list(data(f"lagraph/{name}.mtx"))
    pairs = list(zip(edges.edges["source"].to_pylist(), edges.edges["destination"].to_pylist(), strict=True))
    entries = len(pairs) + (sum(u != v for u, v in pairs) if edges.directed is False else 0)
    assert entries == facts["entries"]
    square = facts["rows"] == facts["cols"]
    assert edges.vertices == range(1, facts["rows"] + (0 if square else facts["cols"]) + 1)
    assert all(u in edges.vertices and v in edges.vertices for u, v in pairs)


@pytest.mark.parametrize("name", BAD)
def test_malformed_files_of_lagraph_are_refused(data, name):
    with pytest.raises(FileError, match=BAD[name] or None):
        read_edge_list(data(f"lagraph/{name}.mtx"))


def test_skew_goes_both_ways_with_negated_weights(data):
    edges = read_edge_list(data("lagraph/skew_int8.mtx")).edges.to_pylist()
    weights = {(row["source"], row["destination"]): row["weight"] for row in edges}
    assert weights[4, 1] == -12
    assert weights[1, 4] == 12


def test_no_number_is_cut_to_fit(put):
    banner = "%%MatrixMarket matrix coordinate integer general\n2 2 1\n"
    for row in ("1 1 1.5", "1 1 4 5", "1 0x1 4", "1 1 99999999999999999999", "1 1", "0 1 1", "a 1 1"):
        with pytest.raises(FileError):
            read_edge_list(put("a.mtx", banner + row + "\n"))
    assert read_edge_list(put("a.mtx", banner + "01 2 -0\n")).edges.to_pylist() == [
        {"source": 1, "destination": 2, "weight": 0}
    ]


def test_repeats_are_parallel_edges_unless_it_is_a_matrix_of_graphblas(put):
    banner, rows = "%%MatrixMarket matrix coordinate real general\n", "2 2 2\n1 2 1\n1 2 2\n"
    assert read_edge_list(put("a.mtx", banner + rows)).edges.num_rows == 2
    with pytest.raises(FileError, match="twice"):
        read_edge_list(put("b.mtx", banner + "%%GraphBLAS type double\n" + rows))


def test_both_triangles_of_a_symmetric_file_are_refused(put):
    with pytest.raises(FileError, match="general"):
        read_edge_list(put("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 2\n2 1\n"))


def test_a_pattern_has_no_weight(put):
    path = put("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n")
    with pytest.raises(WeightError):
        read_edge_list(path, weight=True)


def test_without_banner_the_remedy_is_named(data):
    with pytest.raises(FileError, match='format="txt"'):
        read_edge_list(data("cugraph_small/karate_str.mtx"))
    assert read_edge_list(data("cugraph_small/karate_str.mtx"), format="txt").edges.num_rows == 78
