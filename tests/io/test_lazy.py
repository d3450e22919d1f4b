"""Lazy reading: blocks of any size give the rows of the whole, with one type of ids."""

import re
from types import SimpleNamespace
from uuid import UUID

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dgraph as dg
from dgraph.errors import ColumnError, IdError, InputError, OptionError, WeightError
from dgraph.io.formats import read_edge_list
from dgraph.io.graphs import _block_size
from dgraph.io.lazy_edges import lazy_edge_list


def rows(edge_list):
    frame = edge_list.edges
    frame = frame.compute(scheduler="sync") if hasattr(frame, "dask") else frame.to_pandas()
    return frame.reset_index(drop=True)


@pytest.mark.parametrize("block_size", [1, 7, 64, 1000, 1 << 20])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_blocks_are_cut_at_lines(put, block_size, end):
    lines = ["# a comment", "source,target,cost", *(f"{i * 37 % 101},{i},{i}.5" for i in range(60))]
    path = put("a.csv", end.join(lines) + end)
    lazy = lazy_edge_list(path, weight="cost", block_size=block_size)
    pd.testing.assert_frame_equal(rows(lazy), rows(read_edge_list(path, weight="cost")))
    if block_size < 64:
        assert lazy.edges.npartitions > 10


def test_blocks_are_small_beside_the_memory_of_a_worker(tmp_path):
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    sizes = {}
    for memory in (None, 1 << 34, 1 << 30, 1 << 20):
        workers = SimpleNamespace(threads=2, addresses=["tcp://127.0.0.1:1"], memory=memory)
        sizes[memory] = _block_size(path, workers)
    assert sizes == {None: 1 << 26, 1 << 34: 1 << 26, 1 << 30: 1 << 24, 1 << 20: 1 << 22}


def test_strings_and_compressed_files_are_read_by_block(put, data):
    path = put("a.txt", "a b\nb 1\nb c\n")
    assert rows(lazy_edge_list(path, block_size=3)).to_numpy().tolist() == [["a", "b"], ["b", "1"], ["b", "c"]]
    path = data("wiki-Vote/wiki-Vote.txt.xz")
    pd.testing.assert_frame_equal(rows(lazy_edge_list(path)), rows(read_edge_list(path)))


def test_several_files_share_their_types(put, tmp_path):
    put("1.csv", "1,2\n")
    put("2.csv", "x,2\n")
    frame = lazy_edge_list(str(tmp_path)).edges
    assert frame.compute(scheduler="sync").to_numpy().tolist() == [["1", "2"], ["x", "2"]]
    assert (frame.dtypes == frame.partitions[0].compute(scheduler="sync").dtypes).all()


def test_a_late_string_is_an_error_with_the_way_out(put):
    path = put("a.csv", "".join(f"{i},1\n" for i in range(50_000)) + "x,1\n")
    with pytest.raises(IdError, match='id_type="string"'):
        rows(lazy_edge_list(path, block_size=1 << 16))
    assert len(rows(lazy_edge_list(path, block_size=1 << 16, id_type="string"))) == 50_001


def test_parquet_is_read_by_row_group(tmp_path):
    for part in range(3):
        table = pa.table({"u": [part, 2], "v": ["a", "b"], "w": [0.5, 1.5], "more": [1, 2]})
        pq.write_table(table, tmp_path / f"{part}.parquet", row_group_size=1)
    lazy = lazy_edge_list(tmp_path, weight="w")
    assert lazy.edges.npartitions == 6
    assert list(lazy.edges.columns) == ["u", "v", "w"]
    assert len(rows(lazy)) == 6
    assert read_edge_list(tmp_path, weight="w").edges.column_names == ["u", "v", "w"]


@pytest.mark.parametrize("lazy", [False, True])
def test_an_invalid_weight_is_reported_with_its_file(tmp_path, lazy):
    for part, weight in enumerate((0.5, None)):
        table = pa.table({"u": [part], "v": [2], "w": pa.array([weight], pa.float64())})
        pq.write_table(table, tmp_path / f"{part}.pq")
    where = r"1\.pq: row group 0, column 'w', row 0" if lazy else r": column 'w', row 1"
    with pytest.raises(WeightError, match=where):
        dg.read_edges(tmp_path, weight="w", format=dg.Parquet(lazy=lazy)).validate()


@pytest.mark.parametrize("read", [read_edge_list, lazy_edge_list])
def test_invalid_parquet_columns_are_refused(tmp_path, read):
    ends = {"u": [1], "v": [2]}
    pq.write_to_dataset(pa.table({**ends, "day": [3]}), tmp_path / "by_day", partition_cols=["day"])
    with pytest.raises(ColumnError, match=r"'day' is in the names of folders.*read_parquet"):
        read(tmp_path / "by_day", weight="day")
    pq.write_table(pa.Table.from_arrays([pa.array([1])] * 3, ["u", "v", "v"]), tmp_path / "twice.parquet")
    with pytest.raises(ColumnError, match="2 columns are called 'v'"):
        read(tmp_path / "twice.parquet")
    for name, other in (("names", {"u": ["a"], "v": ["b"]}), ("lacking", {"u": [1], "x": [2]})):
        (tmp_path / name).mkdir()
        for part, table in enumerate((ends, other)):
            pq.write_table(pa.table(table), tmp_path / name / f"{part}.parquet")
        with pytest.raises(InputError, match=r"write all files with the same columns"):
            rows(read(tmp_path / name))


@pytest.mark.parametrize("read", [read_edge_list, lazy_edge_list])
def test_parquet_ids_may_be_text_or_uuids(tmp_path, read):
    one, two = UUID(int=1), UUID(int=2)
    text = pa.string_view() if int(pa.__version__.split(".")[0]) > 20 else pa.large_string()  # which older Arrow writes
    kinds = (
        (pa.array([one.bytes, two.bytes], pa.uuid()), [one, two]),
        (pa.array(["a", "b"], text), ["a", "b"]),
    )
    for number, (column, values) in enumerate(kinds):
        pq.write_table(pa.table({"u": column, "v": column}), tmp_path / f"{number}.parquet")
        found = read(tmp_path / f"{number}.parquet")
        graph = dg.Graph.from_edges(found.edges, source="u", destination="v")
        assert list(map(str, dg.wcc(graph).compute()["vertex"])) == list(map(str, values))


def test_formats_that_cannot_be_read_by_block_are_refused(put):
    with pytest.raises(OptionError, match="block by block"):
        lazy_edge_list(put("a.mtx", "%%MatrixMarket matrix coordinate real general\n"))


@pytest.mark.parametrize("lazy", [False, True])
def test_invalid_options_are_refused_for_lazy_and_eager_reading(tmp_path, lazy):
    (tmp_path / "a.csv").write_text("0,1\n1,2\n")
    pq.write_table(pa.table({"u": [0], "v": [1]}), tmp_path / "a.parquet")
    for name, made, id_type, message in (
        ("a.csv", dg.Text, "int", "id_type='int' must be one of"),
        ("a.parquet", dg.Parquet, "int64", "parquet has no option id_type='int64': the file says what its ids are"),
    ):
        with pytest.raises(OptionError, match=message):
            dg.read_edges(tmp_path / name, format=made(lazy=lazy), id_type=id_type)


def test_parquet_weights_may_be_decimals(tmp_path):
    cost = pa.array([2, 3, 4], pa.decimal128(9, 2))
    pq.write_table(pa.table({"a": [0, 1, 2], "b": [1, 2, 0], "cost": cost}), tmp_path / "a.parquet")
    graph = dg.read_edges(tmp_path / "a.parquet", weight="cost", format=dg.Parquet(lazy=True))
    assert dg.sssp(graph, 0).compute()["distance"].tolist() == [0, 2, 5]


def test_an_error_far_behind_the_header_names_the_right_line(put, monkeypatch):
    monkeypatch.setattr("dgraph.io.lazy_edges._LINE", 30)
    lines = ["# calls", "src,dst", *(f"{i},{i + 1}" for i in range(9)), "x,3"]
    lazy = lazy_edge_list(put("a.csv", "\n".join(lines)), block_size=20)
    with pytest.raises(IdError, match=r"a.csv, line 12: id 'x' is not a 64-bit integer"):
        rows(lazy)


def test_later_files_may_have_wider_types_than_the_first(tmp_path):
    tables = [
        pa.table({"a": pa.nulls(0), "b": pa.nulls(0), "w": pa.nulls(0)}),
        pa.table({"a": pa.array([1], pa.int32()), "b": pa.array([2], pa.int32()), "w": [3]}),
        pa.table({"w": [4.5], "b": [2**40], "a": [2]}),
    ]
    for number, table in enumerate(tables):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    for found in (read_edge_list(tmp_path, weight="w"), lazy_edge_list(tmp_path, weight="w")):
        assert rows(found).to_numpy().tolist() == [[1, 2, 3], [2, 2**40, 4.5]]


def test_columns_with_gaps_in_some_files_have_one_type(tmp_path):
    """Numbers stay whole, and every partition has the types of the frame: who joins or writes them sees one."""
    for file, last in enumerate((None, 7)):
        columns = {"src": [1, 2], "dst": [2, 1], "w": [3, 4], "n": pa.array([2**60 + 1, last], pa.int64())}
        table = pa.table({**columns, "b": pa.array([True, last and False])})
        pq.write_table(table, tmp_path / f"{file}.parquet")
    frame = lazy_edge_list(tmp_path, weight="w", columns="all").edges
    for piece in frame.partitions:
        assert (piece.compute(scheduler="sync").dtypes == frame.dtypes).all()
    assert list(map(str, frame.dtypes)) == ["int64", "int64", "int64", "Int64", "boolean"]
    assert frame.compute(scheduler="sync")["n"].tolist() == [2**60 + 1, pd.NA, 2**60 + 1, 7]


@pytest.mark.parametrize("read", [read_edge_list, lazy_edge_list])
@pytest.mark.parametrize("kind", [pa.decimal128(22, 1), pa.date32(), pa.timestamp("us"), pa.float64()])
def test_parquet_columns_of_other_types_are_refused_as_ids(tmp_path, read, kind):
    """Read by blocks, decimals and dates became strings, in whose order 10 is before 9."""
    column = pa.array([9, 10], pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    pq.write_table(pa.table({"src": column, "dst": column}), tmp_path / "a.pq")
    with pytest.raises(IdError, match=rf"a\.pq.*'src'.*{re.escape(str(kind))}"):
        read(tmp_path / "a.pq")


@pytest.mark.parametrize("coded", [0, 1, 2])
def test_one_of_several_files_may_have_categories(tmp_path, coded):
    for number in range(3):
        column = pa.array(["x", f"y{number}"])
        table = pa.table({"a": column.dictionary_encode() if number == coded else column, "b": column})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    expected = [[end] * 2 for number in range(3) for end in ("x", f"y{number}")]
    for found in (read_edge_list(tmp_path), lazy_edge_list(tmp_path)):
        assert rows(found).to_numpy().tolist() == expected


def test_further_columns_of_text_are_numbers_where_all_are(put):
    path = put("a.csv", "src,dst,x,y,z,none\n1,2,,a,9007199254740993,\n2,3,5,,1,\n")
    lazy, at_once = (rows(read(path, columns="all")) for read in (lazy_edge_list, read_edge_list))
    pd.testing.assert_series_equal(lazy["x"], at_once["x"].astype("float64"))
    assert [pd.api.types.is_string_dtype(lazy[name]) for name in ("y", "z", "none")] == [True] * 3
    assert lazy["z"].tolist() == ["9007199254740993", "1"]  # more digits than a number with a point has
    assert lazy["none"].isna().all()


def test_a_column_that_turns_out_to_hold_text_names_the_remedy(put):
    path = put("a.csv", "src,dst,x\n" + "1,2,3\n" * 20_000 + "2,3,4.5\n" + "1,2,3\n" * 20_000 + "2,3,abc\n")
    edges = lazy_edge_list(path, columns="all", block_size=1 << 17).edges
    assert edges.partitions[0].compute(scheduler="sync")["x"].sum() > 60_000
    with pytest.raises(ColumnError, match=r"a\.csv: column 'x'.*'abc'.*lazy=False"):
        edges.compute(scheduler="sync")


def test_unsigned_ids_in_text_are_read_if_they_come_early(put):
    path = put("a.csv", f"{2**64 - 1},2\n" + "1,2\n" * 40_000)
    assert rows(lazy_edge_list(path, block_size=1 << 16)).equals(rows(read_edge_list(path)).astype("uint64"))
    late = put("b.csv", "1,2\n" * 40_000 + f"{2**64 - 1},2\n")
    with pytest.raises(IdError, match=f"{2**64 - 1}.*lazy=False"):
        rows(lazy_edge_list(late, block_size=1 << 16))


@pytest.mark.parametrize("read", [read_edge_list, lazy_edge_list])
def test_decimal_ids_without_fractions_are_read_as_integers(tmp_path, read):
    whole = pa.array([1, 2]).cast(pa.decimal128(38, 0))
    pq.write_table(pa.table({"src": whole, "dst": [2, 3]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"src": [3], "dst": pa.array([4]).cast(pa.decimal128(19, 0))}), tmp_path / "b.parquet")
    found = rows(read(tmp_path))
    assert found.to_numpy().tolist() == [[1, 2], [2, 3], [3, 4]]
    assert {dtype.kind for dtype in found.dtypes} == {"i"}
    pq.write_table(pa.table({"src": whole.cast(pa.decimal128(38, 2)), "dst": [2, 3]}), tmp_path / "c.parquet")
    with pytest.raises(InputError, match=r"decimal128\(38, 2\)"):
        rows(read(tmp_path / "c.parquet"))


@pytest.mark.parametrize("read", [read_edge_list, lazy_edge_list])
def test_one_of_several_files_may_have_unsigned_ids(tmp_path, read):
    pq.write_table(pa.table({"src": pa.array([2**64 - 1], pa.uint64()), "dst": [2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"src": [1], "dst": [2]}), tmp_path / "b.parquet")
    assert rows(read(tmp_path))["src"].tolist() == [2**64 - 1, 1]
    pq.write_table(pa.table({"src": [-1], "dst": [2]}), tmp_path / "c.parquet")
    with pytest.raises(InputError, match="-1"):
        rows(read(tmp_path))
