"""Folders, globs and archives as other programs leave them: which of their files are the edges."""

import gzip
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dgraph as dg
from dgraph.errors import ColumnError, FileError
from dgraph.io.formats import read_edge_list
from dgraph.io.lazy_edges import lazy_edge_list

READERS = pytest.mark.parametrize("read", [read_edge_list, lazy_edge_list])


def rows(edge_list):
    frame = edge_list.edges
    frame = frame.compute(scheduler="sync") if hasattr(frame, "dask") else frame.to_pandas()
    return sorted(map(tuple, frame.iloc[:, :2].to_numpy().tolist()))


def parquet(path, *edges):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"src": [a for a, _ in edges], "dst": [b for _, b in edges]}), path)


@pytest.fixture
def spark(tmp_path):
    """A folder as Spark writes it, by the values of a column."""
    parquet(tmp_path / "out" / "day=1" / "part-0.snappy.parquet", (1, 2))
    parquet(tmp_path / "out" / "_hour=2" / "part-1.parquet", (3, 4))
    (tmp_path / "out" / "_SUCCESS").touch()
    (tmp_path / "out" / "day=1" / ".part-0.crc").write_bytes(b"crc")
    return tmp_path / "out"


@READERS
def test_logs_and_temporary_files_are_not_read(spark, read):
    parquet(spark / "_temporary" / "0" / "part-2.parquet", (9, 9))
    parquet(spark / ".ipynb_checkpoints" / "part-0-checkpoint.parquet", (9, 9))
    assert rows(read(spark)) == [(1, 2), (3, 4)]
    assert rows(read(f"{spark}/*")) == [(1, 2), (3, 4)]
    assert rows(read(f"{spark}/**/*.parquet")) == [(1, 2), (3, 4)]
    assert rows(read(f"{spark}/_temp*/*/*.parquet")) == [(9, 9)]  # who asks for them gets them


@READERS
def test_a_glob_may_match_folders(spark, read):
    assert rows(read(f"{spark}/day=*")) == [(1, 2)]
    assert rows(read(f"{spark}/day=[1-3]/*")) == [(1, 2)]


@READERS
@pytest.mark.parametrize("mark", ["_delta_log/0.json", ".hoodie/hoodie.properties", "metadata/v1.metadata.json"])
def test_tables_that_keep_deleted_rows_are_refused(spark, read, mark):
    (spark / mark).parent.mkdir()
    (spark / mark).write_text("{}")
    with pytest.raises(FileError, match=r"deleted rows.*Graph\.from_edges"):
        read(spark)


@READERS
def test_files_without_suffix_are_read(tmp_path, read):
    parquet(tmp_path / "hive" / "000000_0", (1, 2))
    parquet(tmp_path / "hive" / "000001_0", (3, 4))
    assert rows(read(tmp_path / "hive")) == [(1, 2), (3, 4)]
    (tmp_path / "text").mkdir()
    for number, line in enumerate(("1 2\n", "", "3 4\n")):
        (tmp_path / "text" / f"part-0000{number}").write_text(line)
    assert rows(read(tmp_path / "text")) == [(1, 2), (3, 4)]


@READERS
def test_some_files_of_a_folder_may_be_empty(put, tmp_path, read):
    for number, line in enumerate((b"", b"1,2\n", b"")):
        put(f"{number}.csv.gz", gzip.compress(line))
    put("3.csv", "")
    assert rows(read(tmp_path)) == [(1, 2)]
    with pytest.raises(FileError, match="empty"):
        read(str(tmp_path / "3.csv"))
    with pytest.raises(FileError, match="empty"):
        read(str(tmp_path / "[03].csv*"))


@READERS
def test_a_folder_of_two_formats_is_refused(put, tmp_path, read):
    put("a.csv", "1,2\n")
    parquet(tmp_path / "b.parquet", (3, 4))
    with pytest.raises(FileError, match=r"b\.parquet is parquet.*a\.csv is text.*format="):
        read(tmp_path)
    assert rows(read(tmp_path, format="csv")) == [(1, 2)]
    assert rows(read(f"{tmp_path}/*.parquet")) == [(3, 4)]


@READERS
def test_members_of_zip_archives_are_read(tmp_path, read, monkeypatch):
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("a.csv", "1,2\n")
        archive.writestr("b/c.tsv", "3\t4\n")
    monkeypatch.chdir(tmp_path)
    for url in ("zip://a.csv::z.zip", f"zip://*.csv::file://{tmp_path}/z.zip", "simplecache::zip://a.csv::z.zip"):
        assert rows(read(url)) == [(1, 2)]
    assert rows(read("zip://b::z.zip")) == [(3, 4)]
    assert rows(read("zip://::z.zip")) == [(1, 2), (3, 4)]


@READERS
def test_a_column_that_only_the_first_file_has_is_an_error(tmp_path, read):
    parquet(tmp_path / "a.parquet", (1, 2))
    pq.write_table(pa.table({"src": [1], "dest": [2]}), tmp_path / "b.parquet")
    with pytest.raises((ColumnError, FileError), match=r"b\.parquet.*dst"):
        rows(read(tmp_path))


def test_a_tilde_stands_for_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.csv").write_text("1,2\n")
    for lazy in (False, True):
        graph = dg.read_edges("~/a.csv", format=dg.Text(lazy=lazy))
        assert graph.num_edges == 1
    graph.save("~/a.dgraph")
    assert (tmp_path / "a.dgraph").is_dir()
    assert dg.open_graph("~/a.dgraph").num_edges == 1
