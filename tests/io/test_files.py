"""Files: compression by suffix, missing and torn ones, and writes that appear whole or not at all."""

from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dgraph as dg
from dgraph.errors import ColumnError, DgraphError, FileError, OptionError
from dgraph.io import files
from dgraph.io.edge_list import EdgeList
from dgraph.io.formats import read_edge_list, write_edge_list

EDGES = EdgeList(pd.DataFrame({"source": range(1000), "destination": range(1, 1001)}), "source", "destination")


@pytest.mark.parametrize("compression", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_compressed_files_are_read_and_truncated_ones_are_refused(tmp_path, compression):
    path = str(tmp_path / f"a.csv{compression}")
    write_edge_list(EDGES, path)
    assert read_edge_list(path).edges["source"].to_pylist() == list(range(1000))
    whole = (tmp_path / f"a.csv{compression}").read_bytes()
    if compression:
        (tmp_path / f"a.csv{compression}").write_bytes(whole[:-9])
        with pytest.raises(FileError, match="corrupt or truncated"):
            read_edge_list(path)
        (tmp_path / "b.csv").write_bytes(whole)
        with pytest.raises(FileError, match=f"rename it to end in {compression}"):
            read_edge_list(str(tmp_path / "b.csv"))


def test_missing_files_are_named(tmp_path):
    for path in (tmp_path / "a.csv", tmp_path / "*.csv", tmp_path / "a.mtx", tmp_path / "a.parquet", tmp_path / "a.e"):
        with pytest.raises(FileError, match=r"there is no|no file matches"):
            read_edge_list(path)
    with pytest.raises(FileError, match=r"no .*\.csv"):
        read_edge_list(tmp_path, format="csv")
    with pytest.raises(FileError, match="protocol"):
        read_edge_list("nowhere://a.csv")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def fail():
        with files.atomic(path) as stream:
            stream.write(b"half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_refused_write_leaves_nothing(tmp_path):
    strings = EdgeList(pa.table({"source": ["a b"], "destination": ["c"]}), "source", "destination", None, False)
    for suffix in ("txt", "el", "mtx", "graph", "gr", "konect", "e"):
        with pytest.raises(DgraphError, match="a b"):
            write_edge_list(strings, tmp_path / f"a.{suffix}")
    assert not list(tmp_path.iterdir())


def test_formats_are_chosen_by_name_and_content(put, tmp_path):
    assert read_edge_list(put("a.xyz", "1 2\n3 4\n")).edges.num_rows == 2
    assert read_edge_list(put("out.net", "% sym unweighted\n1 2\n")).directed is False
    assert read_edge_list(put("b.xyz", "c about\np sp 2 1\na 1 2 3\n")).weight == "weight"
    with pytest.raises(FileError, match="set format= to one of"):
        read_edge_list(put("c.xyz", "one two three\nfour\n"))
    with pytest.raises(OptionError, match="choices are"):
        read_edge_list(put("a.csv", "1,2\n"), format="doc")
    write_edge_list(EDGES, tmp_path / "a.out", format="csv")
    assert (tmp_path / "a.out").read_bytes().startswith(b'"source","destination"\n0,1\n')
    assert read_edge_list(put("w.out", "1 2 3\n"), format="wel").weight == "weight"
    with pytest.raises(OptionError, match="no format has the suffix"):
        write_edge_list(EDGES, tmp_path / "a.doc")


def test_files_can_be_read_and_written_at_urls():
    write_edge_list(EDGES, "memory://folder/a.csv.gz")
    assert read_edge_list("memory://folder/a.csv.gz").edges.num_rows == 1000
    write_edge_list(EDGES, "memory://folder/a.parquet")
    assert read_edge_list("memory://folder/*.parquet").edges.num_rows == 1000


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz"])
def test_uuids_are_written_as_text(tmp_path, suffix):
    ids = [UUID(int=17**k) for k in (0, 3, 11)]
    graph = dg.Graph.from_edges({"src": ids[:2], "dst": ids[1:]}, vertices=ids)
    dg.write_edges(graph, tmp_path / f"edges{suffix}")
    assert dg.read_edges(tmp_path / f"edges{suffix}").vertices.compute()["id"].tolist() == list(map(str, ids))


def test_npz_columns_may_have_names_that_numpy_reserves(tmp_path):
    edges = pa.table({"source": [1], "destination": [2], "file": [3], "allow_pickle": [4]})
    write_edge_list(EdgeList(edges, "source", "destination"), tmp_path / "edges.npz")
    assert read_edge_list(tmp_path / "edges.npz", columns="all").edges.to_pylist() == edges.to_pylist()


def test_columns_called_by_numbers_are_written_as_text(tmp_path):
    graph = dg.Graph.from_edges(pd.DataFrame([[1, 2, 3.5]]), source=1, destination=0, weight=2)
    dg.write_edges(graph, tmp_path / "edges.parquet")
    back = dg.read_edges(tmp_path / "edges.parquet").edges.compute()
    assert back[["1", "0", "2"]].to_numpy().tolist() == [[2, 1, 3.5]]


def test_unsigned_integers_and_negative_zeros_survive_text_files(tmp_path):
    frame = {"src": [1, 2], "dst": [2, 1], "hash": np.array([2**64 - 1, 2**53 + 1], np.uint64), "w": [-0.0, 1.5]}
    dg.write_edges(dg.Graph.from_edges(frame, weight="w"), tmp_path / "a.csv")
    back = dg.read_edges(tmp_path / "a.csv", weight="w", columns=["hash"]).edges.compute()
    assert back["hash"].tolist() == [2**64 - 1, 2**53 + 1]
    del frame["hash"]
    dg.write_edges(dg.Graph.from_edges(frame, weight="w"), tmp_path / "a.mtx")
    for found in (back, dg.read_edges(tmp_path / "a.mtx").edges.compute()):
        assert np.signbit(found.iloc[:, 2]).tolist() == [True, False]


@pytest.mark.parametrize("suffix", [".csv", ".el", ".e"])
def test_warns_of_string_ids_that_look_like_integers(tmp_path, suffix):
    graph = dg.Graph.from_edges({"src": ["1", "2"], "dst": ["2", "10"]})
    with pytest.warns(UserWarning, match="all ids are strings .*integers, such as '1'.*id_type=\"string\""):
        dg.write_edges(graph, tmp_path / f"a{suffix}")
    back = dg.read_edges(tmp_path / f"a{suffix}", id_type="string")
    assert back.vertices.compute()["id"].tolist() == ["1", "10", "2"]
    dg.write_edges(dg.Graph.from_edges({"src": ["1", "02"], "dst": ["2", "10"]}), tmp_path / f"b{suffix}")
    assert dg.read_edges(tmp_path / f"b{suffix}").vertices.compute()["id"].tolist() == ["02", "1", "10", "2"]


@pytest.mark.parametrize("values", [[1j, 2j], [1, "a"]], ids=["complex", "mixed"])
def test_columns_that_no_file_can_hold_are_refused(tmp_path, values):
    frame = pd.DataFrame({"src": [1, 2], "dst": [2, 1]})
    values = pd.Series(values)
    with pytest.raises(ColumnError, match="has no Arrow type"):
        dg.write_edges(dg.Graph.from_edges(frame.assign(x=values)), tmp_path / "a.csv")
    graph = dg.Graph.from_edges(frame, vertices=pd.DataFrame({"id": [1, 2], "x": values}))
    with pytest.raises(ColumnError, match=r"cannot be saved.*leave it out"):
        graph.save(tmp_path / "g")
    assert not list(tmp_path.iterdir())
