"""Frames of every kind go in, and the user's own ids and columns come back."""

import random

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from oracle import check_graph, listed

import dgraph as dg
from dgraph.errors import IdError
from dgraph.frames.any_frame import least_bytes
from dgraph.partition.policies import POLICY_NAMES
from dgraph.phrases.phrases import format_count

POLICIES = ["outgoing", "cartesian", "metis"]


class ArrowStream:
    """A frame of some other library, such as Polars: all that is known of it is that it exports Arrow streams."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class ToArrow:
    """A frame that converts itself, such as cuDF's."""

    def __init__(self, table):
        self.table = table

    def to_arrow(self):
        return self.table


FRAME = pd.DataFrame({"src": [3, 1, 1, 7, 3], "dst": [1, 7, 1, 3, 1], "weight": [1.0, 2.5, 4.0, 0.0, 8.0]})
FRAMES = {
    "pandas": FRAME,
    "pandas with an index": FRAME.set_axis([9, 9, "a", None, 2.5]),
    "pandas on Arrow": FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "pandas nullable": FRAME.convert_dtypes(),
    "Arrow": pa.Table.from_pandas(FRAME),
    "Arrow in chunks": pa.concat_tables([pa.Table.from_pandas(FRAME[:2]), pa.Table.from_pandas(FRAME[2:])]),
    "Arrow batch": pa.RecordBatch.from_pandas(FRAME),
    "Arrow stream": ArrowStream(pa.Table.from_pandas(FRAME)),
    "to_arrow": ToArrow(pa.Table.from_pandas(FRAME)),
    "arrays": {name: FRAME[name].to_numpy() for name in FRAME},
    "lists": FRAME.to_dict("list"),
    "Dask": dd.from_pandas(FRAME, npartitions=3),
    "Dask with empty partitions": dd.concat([dd.from_pandas(FRAME[:0], npartitions=1), dd.from_pandas(FRAME)]),
}


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_every_kind_make_the_same_graph(kind, parts):
    graph = dg.Graph.from_edges(FRAMES[kind], weight="weight", parts=parts)
    check_graph(graph, listed(FRAME), weight="weight")
    back = graph.edges.compute()
    assert list(back.columns) == ["src", "dst", "weight"]
    assert sorted(listed(back)) == sorted(listed(FRAME))
    assert graph.vertices.compute()["id"].tolist() == [1, 3, 7]


def table_of_roads():
    return pd.DataFrame(
        {
            "opened": pd.to_datetime(["2001-02-03", "1999-01-01", None, "2020-12-31"]),
            "home": ["é", "a", "b", "a"],
            "name": ["A1", None, "B2", "C3"],
            "away": ["a", "b", "a", "b"],
            "lanes": pd.array([2, None, 4, 4], "Int64"),
            "toll": [True, False, False, True],
            "kind": pd.Categorical(["x", "y", "x", "x"]),
            "number": np.arange(4, dtype=np.int8),
        }
    )


def in_order(frame, by="number"):
    return frame.sort_values(by).reset_index(drop=True)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("parts", [1, 3])
def test_columns_of_every_type_come_back(policy, parts):
    frame = table_of_roads()
    graph = dg.Graph.from_edges(frame, source="home", destination="away", weight="number", policy=policy, parts=parts)
    assert graph.weight == "number"
    assert graph.edge_columns == ["opened", "name", "lanes", "toll", "kind", "number"]
    assert graph.edges.npartitions == parts
    back = graph.edges.compute()
    pd.testing.assert_frame_equal(in_order(back), frame)
    assert graph.edges.dtypes.to_dict() == frame.dtypes.to_dict()
    pieces = dd.from_pandas(frame, npartitions=2)
    lazy = dg.Graph.from_edges(pieces, source="home", destination="away", policy=policy, parts=parts)
    pd.testing.assert_frame_equal(in_order(lazy.edges.compute()), in_order(pieces.compute()))


def test_the_other_direction_swaps_only_the_ends():
    frame = table_of_roads()
    graph = dg.Graph.from_edges(frame, source="home", destination="away", symmetrize=True, parts=2)
    swapped = frame.rename(columns={"home": "away", "away": "home"})[frame.columns]
    back = in_order(graph.edges.compute(), ["number", "home"])
    pd.testing.assert_frame_equal(back, in_order(pd.concat([frame, swapped]), ["number", "home"]))


def test_columns_may_have_any_names():
    frame = pd.DataFrame({0: [1, 2], 1: [2, 3], "é w": [1.0, 2.0]})
    graph = dg.Graph.from_edges(frame, source=0, destination=1, weight="é w")
    assert graph.edges.compute().columns.tolist() == [0, 1, "é w"]
    assert graph.partitioned(columns=["é w"])[0].out.columns["é w"].tolist() == [1.0, 2.0]


def test_metis_says_nothing_of_small_graphs(capfd, apart):
    for size in range(1, 9):
        frame = pd.DataFrame({"src": np.arange(100) % size, "dst": np.arange(100) // size % size})
        assert dg.Graph.from_edges(frame, policy="metis", parts=8).num_parts == 8
        dg.wcc(dg.Graph.from_edges(frame, policy="metis", parts=8)).compute()
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("rules", [{}, {"repeats": "sum"}, {"symmetrize": True, "loops": "drop"}, {"directed": False}])
@pytest.mark.parametrize("policy", POLICY_NAMES)
@pytest.mark.parametrize("parts", [1, 3])
def test_graphs_may_have_no_edges_or_only_one_vertex(policy, parts, rules):
    empty = pd.DataFrame({"src": [], "dst": [], "weight": []})
    options = {"policy": policy, "parts": parts, "weight": "weight", **rules}
    for vertices, ids in ((None, []), (1, [0]), (["a"], ["a"])):
        graph = dg.Graph.from_edges(empty, vertices=vertices, **options)
        check_graph(graph, [], vertices=ids, weight="weight")
        assert graph.edges.compute().columns.tolist() == ["src", "dst", "weight"]
        assert graph.vertices.compute()["id"].tolist() == ids
    loop = pd.DataFrame({"src": ["a"], "dst": ["a"], "weight": [2]})
    graph = dg.Graph.from_edges(loop, **options)
    check_graph(graph, [] if rules.get("loops") else [("a", "a", 2)], vertices=["a"], weight="weight")


def test_a_lazy_frame_is_read_at_first_use():
    reads = []

    def read(value):
        reads.append(value)
        return FRAME

    frame = dd.from_map(read, [0], meta=FRAME.iloc[:0])
    graph = dg.Graph.from_edges(frame)
    assert "not read yet" in repr(graph)
    assert not reads
    assert graph.num_vertices == 3
    assert reads
    assert repr(graph) == "<Graph: directed, 3 vertices, 5 edges, 1 partition by outgoing, weight='weight'>"


def test_one_vertex_is_printed_in_the_singular():
    one = dg.Graph.from_edges({"src": [7], "dst": [7]}, parts=1)
    assert repr(one) == "<Graph: directed, 1 vertex, 1 edge, 1 partition by outgoing>"
    assert repr(dg.wcc(one)).endswith(" of 1 vertex>")
    assert repr(one.estimate("wcc")).startswith("wcc on 1 worker: 1 vertex, 1 edge\n")
    assert [format_count(number, "core") for number in (0, 1, 1.0, 1.5, 2000)] == [
        *("0 cores", "1 core", "1 core", "1.5 cores", "2,000 cores")
    ]


def test_only_the_requested_columns_of_a_lazy_frame_are_read():
    read = []

    def rows(start, columns=None):
        read.append(columns)
        found = pd.DataFrame({"src": range(start, start + 4), "x": 1, "dst": 0, "w": 2.0, "y": "text"})
        return found if columns is None else found[columns]

    graph = dg.Graph.from_edges(dd.from_map(rows, [0, 4], meta=rows(0)), weight="w")
    read.clear()
    assert graph.num_vertices == 8
    assert list(map(set, read)) == [{"src", "dst"}] * 2
    read.clear()
    assert dg.sssp(graph, 5).compute()["distance"].tolist() == [2.0] + [np.inf] * 4 + [0.0] + [np.inf] * 2
    assert list(map(set, read)) == [{"src", "dst", "w"}] * 2
    read.clear()
    several = dg.Graph.from_edges(dd.from_map(rows, [0, 4], meta=rows(0)), weight="w", parts=3)
    read.clear()
    several.partitioned(["out"], ["w"])
    assert sorted(map(sorted, read)) == [["dst", "src"]] * 2 + [["dst", "src", "w"]] * 2
    assert list(graph.edges.columns) == ["src", "x", "dst", "w", "y"]
    assert graph.edges.compute()["src"].tolist() == list(range(8))


LAZY = {
    "a filter": lambda frame: frame[frame["w"] > 10],
    "other names": lambda frame: frame.rename(columns={"x": "other"}).assign(z=lambda frame: frame["w"] * 2),
    "by size": lambda frame: frame.repartition(partition_size="2kB"),
    "fewer": lambda frame: frame.repartition(npartitions=2),
    "twice": lambda frame: dd.concat([frame, frame]),
    "projected": lambda frame: frame[["w", "src", "dst", "x"]].rename(columns={"x": "other"}),
    "of groups": lambda frame: frame.groupby(["src", "dst"]).agg({"w": "sum", "x": "min"}).reset_index(),
    "some partitions": lambda frame: frame.partitions[1:3],
}


@pytest.mark.parametrize("change", LAZY)
def test_rows_stay_together_when_few_columns_of_a_lazy_frame_are_read(change, tmp_path):
    """Dask puts small pieces together, which those of few columns are: rows of weights would be others than of ids."""
    numbers = np.random.default_rng(5)
    for part in range(6):
        ids = {"src": numbers.integers(0, 30, 50), "dst": numbers.integers(0, 30, 50), "w": numbers.permutation(50)}
        others = {f"y{k}": numbers.random(50) for k in range(8)}
        pd.DataFrame({**ids, "x": "text", **others}).to_parquet(tmp_path / f"{part}.parquet")
    frame = LAZY[change](dd.read_parquet(tmp_path))
    graph = dg.Graph.from_edges(frame, weight="w", parts=2)
    check_graph(graph, listed(frame.compute(), weight="w"), weight="w")
    back, columns = graph.edges.compute(), ["src", "dst", "w"]
    pd.testing.assert_frame_equal(
        back[columns].sort_values(columns, ignore_index=True),
        frame.compute()[columns].sort_values(columns, ignore_index=True),
    )


def test_the_callers_arrays_stay_as_they_are():
    frame = FRAME.copy()
    graph = dg.Graph.from_edges(frame, weight="weight", directed=False, loops="drop", repeats="sum", parts=2)
    graph.partitioned(("out", "incoming"), ["weight"])
    graph.edges.compute()
    pd.testing.assert_frame_equal(frame, FRAME)


@pytest.mark.parametrize("parts", [1, 2])
def test_unsigned_64_bit_ids_join_with_signed_columns(parts):
    """Where no id is below zero all are unsigned; else none may stand for another."""
    top = 2**64 - 1
    frame = {"src": np.array([top, 2**63, 5], np.uint64), "dst": np.array([5, 7, 2**63 - 1])}
    graph = dg.Graph.from_edges(frame, parts=parts)
    assert graph.vertices.compute()["id"].tolist() == [5, 7, 2**63 - 1, 2**63, top]
    assert sorted(graph.edges.compute().itertuples(index=False, name=None)) == [(5, 2**63 - 1), (2**63, 7), (top, 5)]
    assert dg.wcc(graph).compute()["component"].tolist() == [5, 7, 5, 7, 5]
    unsigned, signed = pd.DataFrame({"src": frame["src"]}), pd.DataFrame({"src": [1, 2, 3]})
    pieces = [dask.delayed(one.assign(dst=1)) for one in (unsigned, signed)]
    lazy = dd.from_delayed(pieces, meta=unsigned.assign(dst=1).iloc[:0], verify_meta=False)
    of_both = dg.Graph.from_edges(lazy, parts=parts)
    assert of_both.vertices.compute()["id"].tolist() == [1, 2, 3, 5, 2**63, top]
    back = of_both.edges.compute()
    assert sorted(back["src"]) == [1, 2, 3, 5, 2**63, top]
    assert back.dtypes.tolist() == of_both.edges.dtypes.tolist() == [np.dtype("uint64")] * 2
    for below in ({**frame, "dst": np.array([5, 7, -1])}, {"src": np.array([2**63] * 3, np.uint64), "dst": [1, -1, 1]}):
        with pytest.raises(IdError, match=r"id \d+ and ids below zero have no common 64-bit type"):
            dg.Graph.from_edges({name: np.asarray(ids) for name, ids in below.items()}, parts=parts)


def test_unsigned_and_signed_ids_mix_if_both_fit():
    frame = {"src": np.array([0, 7], np.uint64), "dst": np.array([7, 1], np.int64)}
    assert dg.Graph.from_edges(frame).num_vertices == 3
    assert dg.Graph.from_edges({"src": frame["src"], "dst": frame["src"]}, vertices=9).num_vertices == 9


@pytest.mark.parametrize("kind", ["float16", "longdouble"])
def test_weights_of_types_without_kernels_are_converted(kind, tmp_path):
    frame = {"src": np.array([0, 300]), "dst": np.array([300, 1]), "weight": np.array([1.5, 2], kind)}
    graph = dg.Graph.from_edges(frame, weight="weight", parts=2)
    graph.save(tmp_path / "g")
    for one in (graph, dg.open_graph(tmp_path / "g")):
        assert dg.sssp(one, 0).compute()["distance"].tolist() == [0, 3.5, 1.5]


@pytest.mark.parametrize("parts", [1, 3])
def test_arrow_columns_with_missing_values_keep_their_types(parts, tmp_path):
    """Whole numbers and truth values stay what they are, in every partition."""
    columns = {"n": [2**60 + 1, None, 3], "small": pa.array([1, None, 3], pa.int8()), "known": [None, True, False]}
    table = pa.table({"src": [0, 1, 2], "dst": [1, 2, 0], **columns})
    graph = dg.Graph.from_edges(table, vertices=table.drop_columns("dst").rename_columns({"src": "id"}), parts=parts)
    graph.save(tmp_path / "g", columns=[])
    for frame in (graph.edges, graph.vertices, dg.open_graph(tmp_path / "g").vertices):
        found = frame.compute().sort_values(frame.columns[0])
        assert [str(dtype) for dtype in found.dtypes[-3:]] == ["Int64", "Int8", "boolean"]
        assert found.dtypes.equals(frame.dtypes)
        for name, values in columns.items():
            assert [None if value is pd.NA else value for value in found[name]] == pa.array(values).to_pylist()


@pytest.mark.parametrize("parts", [1, 2])
def test_columns_of_one_name_come_back_once_each(parts):
    table = pa.table([[1, 2], [2, 3], [5, 6], [None, 8]], names=["src", "dst", "x", "x"])
    for frame in (table, table.to_pandas()):
        back = dg.Graph.from_edges(frame, parts=parts).edges.compute()
        assert list(back.columns) == ["src", "dst", "x", "x"]
        assert sorted(back.iloc[:, 2].tolist()) == [5, 6]
        assert back.iloc[:, 3].count() == 1


def test_big_endian_arrays_are_accepted():
    """Arrays from files of other machines: big-endian."""
    frame = {"src": np.array([0, 300], ">i8"), "dst": np.array([300, 1], ">i4"), "weight": np.array([1, 2], ">f8")}
    graph = dg.Graph.from_edges(frame, weight="weight")
    check_graph(graph, [(0, 300, 1.0), (300, 1, 2.0)], weight="weight")
    for given in (frame, pd.DataFrame(frame)):
        graph = dg.Graph.from_edges(given, parts=2, vertices={"id": np.array([0, 1]), "age": np.array([7, 8], ">i4")})
        assert sorted(graph.edges.compute()["weight"]) == [1.0, 2.0]
        assert graph.vertices.compute()["age"].tolist()[:2] == [7, 8]


def test_the_least_bytes_of_a_frame_are_those_of_its_own_rows():
    """Slices of Arrow share buffers, and no random numbers are drawn, which a user may have seeded."""
    ids = np.arange(100_000)
    table = pa.table({"src": ids, "dst": ids[::-1]})
    chunked = pa.Table.from_batches(table.to_batches(max_chunksize=100))
    assert least_bytes(table) == least_bytes(chunked) == least_bytes({"src": ids, "dst": ids}) == 1_600_000
    assert least_bytes(table.slice(5, 10)) == least_bytes(table.to_pandas()[5:15]) == 160
    before = random.getstate()
    twins = pd.DataFrame([["a", 1, "b"]] * 1000, columns=["src", "src", "dst"]).astype({"dst": object})
    assert least_bytes(twins) >= 24_000
    assert least_bytes({f"column {number}": ids for number in range(20)}) == 16_000_000
    assert random.getstate() == before
