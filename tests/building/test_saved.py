"""A saved graph is the graph, opens without being read, and says so when it is torn or was changed."""

import json
import shutil
from datetime import date, time
from decimal import Decimal
from functools import partial
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dask.dataframe.utils import clear_known_categories
from saved import IDS, PAIRS, RNG, example, rows

import dgraph as dg
from dgraph.errors import ColumnError, OptionError, RoomError, StorageError
from dgraph.partition import store
from dgraph.partition.policies import POLICY_NAMES

EDGES = pd.DataFrame({"src": PAIRS[:, 0], "dst": PAIRS[:, 1]})


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("policy", POLICY_NAMES)
@pytest.mark.parametrize("kind", IDS)
def test_an_opened_graph_equals_the_saved_one(tmp_path, kind, policy, directed):
    graph = example(kind, policy=policy, parts=3, directed=directed)
    graph.save(tmp_path / "g")
    for other in (dg.open_graph(tmp_path / "g"), dg.open_graph(tmp_path / "g", parts=2, policy="incoming")):
        assert (other.num_vertices, other.num_edges) == (graph.num_vertices, graph.num_edges)
        assert (other.directed, other.weight) == (directed, "cost")
        assert rows(other) == rows(graph)
        ours, theirs = (g.vertices.compute().sort_values("id", ignore_index=True) for g in (graph, other))
        text = {"name": "string"}  # with one word for the names that two have not: None, nan or NA
        pd.testing.assert_frame_equal(ours.astype(text), theirs.astype(text))
        assert sum(one.num_edges for one in other.partitions) == sum(one.num_edges for one in graph.partitions)


@pytest.mark.parametrize("directed", [True, False])
def test_a_graph_that_a_function_has_partitioned_is_opened_as_saved(tmp_path, directed):
    graph = dg.Graph.from_edges(EDGES, policy=by_both_ends, parts=3, directed=directed)
    graph.save(tmp_path / "g")
    opened = dg.open_graph(tmp_path / "g")
    assert opened.policy == "by_both_ends"
    assert [one.num_edges for one in opened.partitions] == [one.num_edges for one in graph.partitions]
    pd.testing.assert_frame_equal(dg.label_propagation(opened).compute(), dg.label_propagation(graph).compute())
    assert dg.open_graph(tmp_path / "g", parts=2).policy == "outgoing"
    with pytest.raises(OptionError, match="partitioned by a function, by_both_ends, which is not saved"):
        opened.cut.edges([0], [1], 3)


def by_both_ends(sources, destinations, parts):
    return (7 * sources + destinations) % parts


def test_partitions_are_the_saved_arrays(tmp_path):
    graph = example(parts=2, policy="cartesian")
    graph.partitioned(("out", "incoming"), ["cost"])
    graph.save(tmp_path / "g")
    for ours, theirs in zip(graph.partitions, dg.open_graph(tmp_path / "g").partitions, strict=True):
        assert np.array_equal(ours.numbers, theirs.numbers)
        for mine, other in ((ours.out, theirs.out), (ours.incoming, theirs.incoming)):
            assert np.array_equal(mine.indptr, other.indptr)
            assert np.array_equal(mine.neighbours, other.neighbours)
            assert np.array_equal(mine.columns["cost"], other.columns["cost"])
        for peer in range(2):
            assert np.array_equal(ours.proxies.originals("out", peer), theirs.proxies.originals("out", peer))


def test_the_columns_that_were_named_are_saved_in_every_order(tmp_path):
    graph = dg.Graph.from_edges({"src": [3, 1, 2], "dst": [1, 2, 3], "a": [1, 2, 3], "b": [0.5, 1.5, 2.5]}, weight="b")
    graph.partitioned("out", ["b"])
    graph.partitioned("incoming", ["a"])
    for names in (["a", "b"], ["b"], []):
        graph.save(tmp_path / "g", columns=names, overwrite=True)
        found = dg.open_graph(tmp_path / "g")
        assert (found.edge_columns, found.weight) == (names, "b" if names else None)
        (one,), (expected,) = found.partitioned(("out", "incoming"), names), graph.partitions
        for mine, theirs in ((one.out, expected.out), (one.incoming, expected.incoming)):
            assert {name: mine.columns[name].tolist() for name in mine.columns} == {
                name: theirs.columns[name].tolist() for name in names
            }


def test_a_graph_saved_on_a_cluster_opens_with_and_without_a_client(tmp_path, client):
    graph = example("string", parts=2, client=client)
    graph.save(tmp_path / "g")
    assert rows(dg.open_graph(tmp_path / "g")) == rows(graph)
    assert rows(dg.open_graph(tmp_path / "g", client=client)) == rows(graph)


def test_opening_reads_no_block(tmp_path, monkeypatch):
    example(parts=2).save(tmp_path / "g")
    monkeypatch.setattr(store, "read_array", lambda *_: pytest.fail("a block was read"))
    monkeypatch.setattr(store, "read_table", lambda *_: pytest.fail("a table was read"))
    assert dg.open_graph(tmp_path / "g").num_edges == 300


def test_every_changed_block_is_found(tmp_path):
    example("string", parts=2, policy="metis").save(tmp_path / "g")
    blocks = [path for path in sorted((tmp_path / "g").iterdir()) if path.name != "manifest.json"]
    assert len(blocks) > 10
    for block in blocks:
        good = block.read_bytes()
        header = 128 if block.suffix == ".npy" else 0
        if len(good) > header:
            place = header + (len(good) - header) // 2
            block.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
            with pytest.raises(StorageError, match="checksum"):
                dg.open_graph(tmp_path / "g").validate()
        block.write_bytes(good[:-1])
        with pytest.raises(StorageError, match=r"has \d+ bytes instead of \d+"):
            dg.open_graph(tmp_path / "g")
        block.unlink()
        with pytest.raises(StorageError, match="missing"):
            dg.open_graph(tmp_path / "g")
        block.write_bytes(good)
    assert dg.open_graph(tmp_path / "g").validate().blocks == len(blocks)


def test_blocks_are_read_without_pythons_parser(tmp_path, monkeypatch):
    """It may fail in one thread while another uses it: "AST constructor recursion depth mismatch"."""
    graph = example()
    graph.save(tmp_path / "g")

    def busy(*given):
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr("ast.literal_eval", busy)
    assert dg.wcc(dg.open_graph(tmp_path / "g")).compute().equals(dg.wcc(graph).compute())


def test_a_lack_of_memory_is_not_reported_as_a_damaged_graph(tmp_path, monkeypatch):
    example().save(tmp_path / "g")

    def short(*given, **options):
        raise MemoryError("Unable to allocate 9 GiB")

    monkeypatch.setattr("dgraph.partition.store._mapped", short)
    with pytest.raises(RoomError, match=r"g/\S+: not enough memory to read it, .* are free: Unable to allocate 9 GiB"):
        dg.wcc(dg.open_graph(tmp_path / "g")).compute()


def test_invalid_manifests_are_refused(tmp_path):
    example().save(tmp_path / "g")
    path = tmp_path / "g" / "manifest.json"
    good = json.loads(path.read_text())
    for wrong, message in (
        ("", "not the manifest"),
        ("[]", "not the manifest"),
        (json.dumps({**good, "version": 99}), "format 99; this release reads format 3"),
        (json.dumps({**good, "content": {**good["content"], "num_edges": 7}}), "checksum"),
    ):
        path.write_text(wrong)
        with pytest.raises(StorageError, match=message):
            dg.open_graph(tmp_path / "g")
    with pytest.raises(StorageError, match="is not a saved graph"):
        dg.open_graph(tmp_path / "nowhere")
    with pytest.raises(OptionError, match="memory map"):
        dg.open_graph("s3://bucket/graph")


@pytest.mark.parametrize(
    "asked",
    [{"parts": 0}, {"parts": -1}, {"parts": 2.5}, {"parts": "x"}, {"parts": 2**16}, {"part": 2}, {"capacities": 2}],
)
def test_invalid_options_of_open_graph_are_refused(asked, tmp_path):
    example().save(tmp_path / "g")
    with pytest.raises(OptionError, match=r"(part|parts|capacities)="):
        dg.open_graph(tmp_path / "g", **asked)


def test_invalid_options_of_save_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (None, 5, b"g", ""):
        with pytest.raises(OptionError, match="expected the path of a folder, got"):
            example().save(path)
        with pytest.raises(OptionError, match="expected the path of a folder, got"):
            dg.open_graph(path)
    with pytest.raises(OptionError, match=r"columns='cost' must be a list of column names, such as \['cost'\]"):
        example().save("g", columns="cost")
    with pytest.raises(OptionError, match="overwrite='no' must be True or False"):
        example().save("g", overwrite="no")
    assert not list(tmp_path.iterdir())


def test_a_graph_that_could_not_be_opened_is_not_saved(tmp_path):
    graph = dg.Graph.from_edges(pd.DataFrame([[1, 2, 3]]), source=0, destination=1)
    with pytest.raises(ColumnError, match="column 0: the columns of a saved graph must have text names; rename"):
        graph.save(tmp_path / "g")
    assert not list(tmp_path.iterdir())


MISSING = pd.to_datetime(["2020-01-01", None, "2021-05-05"])
COLUMNS = {
    "objects": pd.Series(["a", None, "b"], dtype=object),
    "gaps": pd.Series([np.nan, None, pd.NA], dtype=object),
    "text": pd.Series(["a", None, "é"]),
    "arrow_text": pd.Series(["a", None, "b"], dtype="string[pyarrow]"),
    "python_text": pd.Series(["a", None, "b"], dtype="string[python]"),
    "arrow": pd.Series(["a", None, "b"], dtype=pd.ArrowDtype(pa.string())),
    "categories": pd.Categorical(["x", None, "y"], categories=["y", "x", "z"]),
    "ordered": pd.Categorical(["x", None, "y"], categories=["y", "x", "z"], ordered=True),
    "numbered": pd.Categorical([3, None, 1]),
    "times": MISSING,
    "seconds": MISSING.astype("M8[s]"),
    "zone": MISSING.tz_localize("Europe/Berlin"),
    "spans": pd.to_timedelta([1, None, 3], unit="s"),
    "flags": [True, False, True],
    "nullable_flags": pd.array([True, None, False], "boolean"),
    "arrow_flags": pd.array([True, None, False], "bool[pyarrow]"),
    "whole": pd.array([1, None, 2**50], "Int64"),
    "large": pd.array([1, None, 2**60 + 1], "Int64"),
    "narrow": np.array([1, 2, 3], "i1"),
    "days": [date(2020, 1, 1), None, None],
    "hours": [time(10, 30), None, None],
    "prices": [Decimal("1.10"), None, Decimal(2)],
}


@pytest.mark.parametrize("ids", ["gaps", "string"])
@pytest.mark.parametrize(
    "options",
    [{}, {"parts": 3}, {"parts": 2, "directed": False, "repeats": "first"}, {"policy": "cartesian", "parts": 2}],
)
def test_columns_come_back_as_they_were(tmp_path, ids, options):
    some, rows = pd.DataFrame(COLUMNS), np.arange(60)
    ends = {name: IDS[ids](RNG.integers(0, 9, 60)) for name in ("src", "dst")}
    frame = some.iloc[rows % 3].reset_index(drop=True).assign(cost=rows / 3, **ends)
    vertices = some.assign(id=IDS[ids](np.arange(3)))
    graph = dg.Graph.from_edges(frame, weight="cost", vertices=vertices, **options)
    graph.partitioned("incoming", ["cost"])
    graph.save(tmp_path / "g")
    for found in (dg.open_graph(tmp_path / "g"), dg.open_graph(tmp_path / "g", parts=4, policy="incoming")):
        for ours, theirs, by in ((graph.edges, found.edges, "cost"), (graph.vertices, found.vertices, "id")):
            before, after = (one.compute().sort_values(by, ignore_index=True) for one in (ours, theirs))
            if by == "cost" and not graph.directed:
                before, after = (one.drop(columns=["src", "dst"]) for one in (before, after))
            pd.testing.assert_frame_equal(before, after[before.columns])
            assert theirs._meta.dtypes.to_dict() | after.dtypes.to_dict() == theirs._meta.dtypes.to_dict()
        found.validate()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "Int8", "float16"])
def test_sums_of_repeats_come_back(tmp_path, dtype):
    ends = {"src": [0] * 4 + [1], "dst": [1] * 4 + [2]}
    high = 32_768 if dtype == "float16" else 100
    frame = pd.DataFrame({**ends, "weight": pd.array([high] * 5, dtype), "toll": pd.array([high] * 5, dtype)})
    graph = dg.Graph.from_edges(frame, repeats="sum", parts=2)
    graph.save(tmp_path / "g")
    for found in (graph, dg.open_graph(tmp_path / "g"), dg.open_graph(tmp_path / "g", parts=1)):
        edges = found.edges.compute()
        assert edges["weight"].tolist() == edges["toll"].tolist() == [4 * high, high]
        assert dtype == "float16" or found.edges.dtypes["weight"] == edges["weight"].dtype
        assert dg.sssp(found, 0).compute()["distance"].tolist() == [0, 4 * high, 5 * high]


def test_columns_of_a_dask_frame_come_back(tmp_path, client):
    """Dask does not know the categories of a frame before it reads them."""
    frame = pd.DataFrame({"src": range(9), "dst": range(1, 10), "kind": pd.Categorical(list("abcabcbca"))})
    frame["note"], frame["cost"] = pd.array([f"n{i}" for i in range(9)], "string[pyarrow]"), np.arange(9.0)
    pieces = [one.assign(kind=one["kind"].cat.remove_unused_categories()) for one in (frame[:2], frame[2:])]
    lazy = dd.from_map(lambda number: pieces[number], [0, 1], meta=clear_known_categories(frame[:0]))
    dg.Graph.from_edges(lazy, client=client).save(tmp_path / "g")
    found = dg.open_graph(tmp_path / "g").edges.compute().sort_values("src", ignore_index=True)
    pd.testing.assert_frame_equal(found, frame)


@pytest.mark.parametrize(
    "values", [[[1], [2]], [{}, {}], [1, "a"], pd.period_range("2020", periods=2, freq="D"), ["a", "\ud800"]]
)
def test_columns_that_could_not_come_back_are_refused(tmp_path, values):
    edges = pd.DataFrame({"src": [1, 2], "dst": [2, 3], "cost": [1.0, 2.0]})
    odd = pd.Series(values, dtype=None if isinstance(values, pd.PeriodIndex) else object)
    graph = dg.Graph.from_edges(edges.assign(odd=odd))
    listed = dg.Graph.from_edges(edges, vertices=pd.DataFrame({"id": [1, 2]}).assign(odd=odd))
    for one in (graph, listed):
        with pytest.raises(ColumnError, match=r"'odd' of type .* cannot be saved: .*; convert it.*or leave it out"):
            one.save(tmp_path / "g")
        assert not list(tmp_path.iterdir())
    graph.save(tmp_path / "g", columns=["cost"])
    assert list(dg.open_graph(tmp_path / "g").edges.columns) == ["src", "dst", "cost"]
    with pytest.raises(ColumnError, match="no column 'what'; they have cost, odd"):
        graph.save(tmp_path / "h", columns=["what"])


def test_results_are_saved_with_their_graph(tmp_path, client):
    graph = example("string", parts=3)
    some = {"ranks": dg.pagerank(graph), "paths": dg.sssp(graph, "v0"), "hubs": dg.hits(graph, engine="bsp")}
    graph.save(tmp_path / "g", results=some)
    for options in ({}, {"parts": 2}, {"client": client}):
        found = dg.open_graph(tmp_path / "g", **options)
        assert list(found.results) == list(some)
        assert repr(found.results) == "<saved results: 'ranks', 'paths', 'hubs'>"
        for name, result in some.items():
            again = found.results[name]
            pd.testing.assert_frame_equal(again.compute(), result.compute())
            assert (again.rounds, again.totals) == (result.rounds, result.totals)
            pd.testing.assert_frame_equal(pd.DataFrame(again.report), pd.DataFrame(result.report))
            assert again.column(again._vertex_columns[0] if name == "paths" else again.compute().columns[1])
        assert found.validate().blocks > 20
    with pytest.raises(KeyError, match="no result 'cores' was saved with this graph; it has 'ranks', 'paths', 'hubs'"):
        found.results["cores"]
    assert not graph.results
    other = dg.Graph.from_edges({"src": [1], "dst": [2]})
    for wrong, message in (
        ({"ranks": dg.pagerank(other)}, "'ranks'.*vertices other than those"),
        ({"ranks": 5}, "'ranks': int"),
        ([some["ranks"]], "results=list must be a mapping"),
    ):
        with pytest.raises(OptionError, match=message):
            graph.save(tmp_path / "h", results=wrong)


def test_a_saved_result_is_input_of_a_run(tmp_path):
    graph = example(parts=2)
    graph.save(tmp_path / "g", results={"ranks": dg.pagerank(graph)})
    for parts in (2, 3):
        found = dg.open_graph(tmp_path / "g", parts=parts)
        ranks = found.results["ranks"].column("pagerank")
        sums = dg.run(found, SumOfRanks(), columns={"rank": ranks})
        expected = dg.run(graph, SumOfRanks(), columns={"rank": ranks.by_number()})
        pd.testing.assert_frame_equal(sums.compute(), expected.compute())


class SumOfRanks(dg.VertexProgram):
    kind = "synchronous"
    rank = dg.VertexColumn("float64")
    total = dg.State("float64")
    message = dg.Message("float64", dg.SUM)

    def send(rank):
        return rank

    def apply(message):
        return message

    def stop(round):
        return round == 1


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]"])
@pytest.mark.parametrize("as_frame", [pd.DataFrame, partial(dd.from_pandas, npartitions=2)])
def test_large_integers_beside_missing_values_are_saved_but_kernels_refuse_them(tmp_path, kind, as_frame):
    """Also where the pieces of a lazy frame differ: only one of them has the missing value."""
    frame = pd.DataFrame({"src": [1, 2, 3, 4], "dst": [2, 3, 1, 2]})
    for number, values in enumerate(([1, 2**53 - 1, None, 3], [1, 2**53 + 1, None, 3], [1, 2, 3, 2**53 + 1])):
        edges = frame.assign(x=pd.array(values, kind))
        dg.Graph.from_edges(as_frame(edges)).save(tmp_path / str(number))
        found = dg.open_graph(tmp_path / str(number))
        pd.testing.assert_frame_equal(found.edges.compute().sort_values("src", ignore_index=True), edges)
        for graph in (found, dg.Graph.from_edges(as_frame(edges)), dg.Graph.from_edges(as_frame(edges), repeats="max")):
            if number != 1:
                graph.partitioned(columns=["x"])
                continue
            with pytest.raises(ColumnError, match=r"'x': missing values turn it into floats.* 9007199254740992;"):
                graph.partitioned(columns=["x"])


def test_a_graph_saved_by_an_earlier_release_opens(tmp_path):
    shutil.unpack_archive(Path(__file__).parent / "saved_by_0_9_3.zip", tmp_path / "saved")
    graph = dg.open_graph(tmp_path / "saved")
    assert (graph.num_vertices, graph.num_edges, graph.num_parts) == (5, 6, 2)
    found = dg.sssp(graph, "ann").compute()
    assert found["vertex"].tolist() == ["ann", "bob", "cat", "eve", "zoe"]
    assert found["distance"].tolist() == [0, 1.5, 0.25, 3.25, np.inf]
    edges = graph.edges.compute().sort_values("calls")
    assert edges["calls"].tolist() == [1, 2, 3, 4, 5, 6] and edges["weight"].tolist() == [1.5, 2, 0.25, 4, 1, 3]
    assert sorted(graph.vertices.compute()["age"]) == [30, 40, 50, 60, 70]
