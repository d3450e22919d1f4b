"""METIS, DIMACS, KONECT, Graphalytics, Parquet and archives: small files, right and wrong."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dgraph.errors import ColumnError, DgraphError, FileError, IdError, OptionError, WeightError
from dgraph.io.edge_list import EdgeList
from dgraph.io.formats import read_edge_list, write_edge_list


def triples(edges):
    return sorted(tuple(row.values()) for row in edges.edges.to_pylist())


def test_metis_keeps_each_edge_once(put):
    assert triples(read_edge_list(put("a.graph", "% c\n4 3\n2 3\n1\n1 3\n\n"))) == [(1, 2), (1, 3), (3, 3)]
    assert triples(read_edge_list(put("a.graph", "3 2 1\n2 5\n1 5 3 7\n2 7\n"))) == [(1, 2, 5), (2, 3, 7)]
    assert triples(read_edge_list(put("a.graph", "3 1\n2\n1"))) == [(1, 2)]
    assert triples(read_edge_list(put("a.graph", "3 3\n2\n3\n1\n"))) == [(1, 2), (2, 3), (3, 1)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("3 2\n2\n1 3\n1\n", "not listed in the same way"),
        ("3 2 1\n2 5\n1 6 3 7\n2 7\n", "edge 1 - 2 is not listed in the same way"),
        ("3 2\n2 4\n1 3\n2\n", "neighbour 4, but there are 3"),
        ("3 9\n2\n1\n\n", "header's 9 edges"),
        ("3 2\n2\n", "truncated"),
        ("2 1\n2\n1\n1\n", "3 rows"),
        ("2 1 1\n2\n1 5\n", "vertex 1 has 1 numbers"),
        ("2 1 7\n2\n1\n", "fmt '7'"),
        ("a b\n", "header 'a b'"),
        ("2 1\n2 x\n1\n", "row of vertex 1"),
        ("2 2\n0 2\n1 0\n", "has neighbour 0, but there are 2 vertices .ids run from 1 to 2"),
        ("% only\n", "no header"),
        ("2 1\n2.5\n1\n", "whole number"),
        ("2 1\n2e300\n1\n", "whole number"),
        ("2 1\n2e999\n1\n", "whole number"),
        ("900000000000000000 1\n1\n", "truncated"),
    ],
)
def test_malformed_metis_is_refused(put, content, said):
    with pytest.raises(FileError, match=said):
        read_edge_list(put("a.graph", content))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("p sp 2 2\na 1 2 3\n", "1 arcs"),
        ("p sp 2 1\na 1 3 3\n", "destination 3"),
        ("p sp 2 1\ne 1 2 3\n", "starts with 'e'"),
        ("p sp 2 1\na 1 2\na 1 2 3\n", "line 3: .* got 4"),
        ("p max 2 1\na 1 2 3\n", "p sp vertices arcs"),
        ("c only\n", "expected `p sp"),
        ("p sp x 1\n", "does not give sizes"),
    ],
)
def test_malformed_dimacs_is_refused(put, content, said):
    with pytest.raises(FileError, match=said):
        read_edge_list(put("a.gr", content))


def test_a_dimacs_weight_that_is_text_is_refused(put):
    with pytest.raises(DgraphError, match=r"line 3.*'heavy'"):
        read_edge_list(put("a.gr", "c x\np sp 2 1\na 1 2 heavy\nc y\n"))


def test_konect_files_are_read_and_malformed_ones_are_refused(put):
    edges = read_edge_list(put("a.konect", "% bip weighted\n% 2 3 4\n1 1 0.5 99\n3 4 1.5 98\n"), columns=["time"])
    assert triples(edges) == [(1, 4, 0.5, 99.0), (3, 7, 1.5, 98.0)]
    assert (edges.directed, edges.vertices) == (False, range(1, 8))
    for content, said in (
        ("% bip weighted\n% 2 3 4\n1 1 1\n3 5 1\n", "destination 5"),
        ("% asym unweighted\n% 3 3 3\n1 2\n", "1 edges"),
        ("% odd unweighted\n1 2\n", "sym.asym.bip"),
        ("1 2\n", "sym.asym.bip"),
        ("% sym unweighted\n0 2\n", "source 0"),
    ):
        with pytest.raises(FileError, match=said):
            read_edge_list(put("a.konect", content))


def test_graphalytics_files_are_read_with_their_properties(put, tmp_path):
    put("g.v", "1 9\n2 9\n5 9\n")
    put("g.e", "1 2 0.5 7\n")
    put("g.properties", "graph.g.x.directed = false\ngraph.g.x.edge-properties.names = cost, age\n")
    edges = read_edge_list(tmp_path / "g.v", columns="all")
    assert (edges.weight, edges.directed, edges.vertices.to_pylist()) == (
        "cost",
        False,
        [{"id": 1}, {"id": 2}, {"id": 5}],
    )
    assert edges.edges.to_pylist() == [{"source": 1, "destination": 2, "cost": 0.5, "age": 7}]
    put("g.e", "1 3 0.5 7\n")
    with pytest.raises(IdError, match="vertex 3 is not in"):
        read_edge_list(tmp_path / "g.e")
    put("g.properties", "graph.g.meta.edges = 2\n")
    put("g.e", "1 2 0.5\n")
    with pytest.raises(FileError, match=r"1 edges, but .* 2"):
        read_edge_list(tmp_path / "g.properties")
    packed = put("h.e.gz", gzip.compress(b"7 8\n"))
    put("h.e", "1 2\n")
    assert read_edge_list(packed).edges.to_pylist() == [{"source": 7, "destination": 8}]


@pytest.mark.parametrize("fails", [".v", ".e", ".properties"])
def test_graphalytics_properties_are_written_only_with_the_other_files(fails, tmp_path, monkeypatch):
    moved = Path.replace

    def replace(beside, path):
        if str(path).endswith(fails):
            raise OSError(28, "No space left on device")
        return moved(beside, path)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(FileError, match="No space left"):
        write_edge_list(EdgeList({"src": [1], "dst": [2]}, "src", "dst", directed=True), tmp_path / "g.properties")
    assert not (tmp_path / "g.properties").exists()
    assert not list(tmp_path.glob("*.part"))


def test_parquet_columns_are_chosen_by_name_and_checked(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"when": [1.5], "u": ["x"], "v": ["y"]}), path)
    with pytest.raises(IdError, match="'when' are of type double"):
        read_edge_list(path)
    assert triples(read_edge_list(path, source="u", destination="v")) == [("x", "y")]
    with pytest.raises(ColumnError, match="'cost'"):
        read_edge_list(path, weight="cost")
    pq.write_table(pa.table({"u": [1, None], "v": [1, 2]}), path)
    with pytest.raises(IdError, match="row 1 of column 'u' is missing"):
        read_edge_list(path)


def test_parquet_without_rows_is_read(tmp_path):
    """Whoever wrote no row need not have known the types of columns."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"u": pa.nulls(0), "v": pa.nulls(0)}), path)
    assert triples(read_edge_list(path)) == []


def test_parquet_keeps_the_roles_of_columns_and_the_vertices(tmp_path):
    table = pa.table({"cost": [0.5], "v": [1], "u": [2]})
    write_edge_list(EdgeList(table, "u", "v", "cost", False, range(5)), tmp_path / "a.parquet")
    edges = read_edge_list(tmp_path / "a.parquet")
    assert (edges.source, edges.destination, edges.weight, edges.directed) == ("u", "v", "cost", False)
    assert edges.vertices == range(5)


def test_what_a_format_cannot_express_is_refused(tmp_path):
    def edges(directed=False, vertices=None, weight="w", **columns):
        table = pa.table({"u": [1, 2], "v": [2, 3], "w": [1.0, 2.0]} | columns)
        return EdgeList(table, "u", "v", weight, directed, vertices)

    for suffix, edge_list, error, said in (
        ("csv", edges(vertices=range(1, 9)), IdError, "vertex 4"),
        ("parquet", edges(vertices=pa.table({"id": [9]})), IdError, "vertex 9"),
        ("csv", edges(vertices=pa.table({"id": [1], "age": [3]})), ColumnError, "'age'"),
        ("mtx", edges(u=[1, 0]), IdError, "id 0"),
        ("mtx", edges(u=[1, 9]), IdError, "4 vertices with ids up to 9"),
        ("graph", edges(directed=True), OptionError, "undirected"),
        ("graph", edges(w=[0.5, 1.0]), WeightError, "0.5"),
        ("gr", edges(weight=None), ColumnError, "'w'"),
        ("konect", edges(note=["x", "y"]), ColumnError, "'note'"),
        ("e", edges(directed=None), FileError, "direction"),
        ("wel", edges(w=[1.0, None]), WeightError, "1 weights are missing"),
        ("npz", edges(w=[1.0, None]), ColumnError, "1 values"),
        ("csv", edges(u=[1, None]), IdError, "1 ids"),
        ("csv", edges(u=[0.5, 1.0]), IdError, "double"),
        ("parquet.gz", edges(), OptionError, "compressed internally"),
    ):
        with pytest.raises(error, match=said):
            write_edge_list(edge_list, tmp_path / f"a.{suffix}")
    assert not list(tmp_path.iterdir())
