"""A saved graph is the graph, opens without being read, and says so when it is torn or was changed."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.errors import ColumnError, OptionError, StorageError
from dgraph.partition import store

RNG = np.random.default_rng(3)
PAIRS = RNG.integers(0, 40, (300, 2))
SPARSE = RNG.integers(-(2**62), 2**62, 40)
IDS = {
    "dense": lambda x: x,
    "gaps": lambda x: x * 3 - 9,
    "sparse": lambda x: SPARSE[x],
    "string": lambda x: np.array([f"v{i}" for i in x], dtype=object),
}


def example(kind="dense", **options):
    ids = IDS[kind]
    edges = pd.DataFrame({"a": ids(PAIRS[:, 0]), "b": ids(PAIRS[:, 1]), "cost": RNG.integers(1, 9, 300) / 2})
    names = pd.DataFrame({"id": ids(np.arange(38)), "name": [f"n{i}" for i in range(38)], "k": np.arange(38)})
    return dg.Graph.from_edges(edges, source="a", destination="b", weight="cost", vertices=names, **options)


def rows(graph):
    """The edges as a sorted list, undirected ones the smaller end first."""
    frame = graph.edges.compute() if graph.client is None else graph.client.compute(graph.edges).result()
    ends = zip(frame["a"], frame["b"], frame["cost"], strict=True)
    return sorted(ends if graph.directed else ((min(u, v), max(u, v), w) for u, v, w in ends))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("policy", ["outgoing", "cartesian", "hybrid", "metis"])
@pytest.mark.parametrize("kind", IDS)
def test_it_is_the_same_graph(tmp_path, kind, policy, directed):
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
            assert np.array_equal(ours.proxies.masters_broadcast_to(peer), theirs.proxies.masters_broadcast_to(peer))


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


def test_on_a_cluster(tmp_path, client):
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


def test_manifests(tmp_path):
    example().save(tmp_path / "g")
    path = tmp_path / "g" / "manifest.json"
    good = json.loads(path.read_text())
    for wrong, message in (
        ("", "not the manifest"),
        ("[]", "not the manifest"),
        (json.dumps({**good, "version": 99}), "format 99; this release reads format 1"),
        (json.dumps({**good, "content": {**good["content"], "num_edges": 7}}), "checksum"),
    ):
        path.write_text(wrong)
        with pytest.raises(StorageError, match=message):
            dg.open_graph(tmp_path / "g")
    with pytest.raises(StorageError, match="holds no saved graph"):
        dg.open_graph(tmp_path / "nowhere")
    with pytest.raises(OptionError, match="memory map"):
        dg.open_graph("s3://bucket/graph")


@pytest.mark.parametrize(
    "asked",
    [{"parts": 0}, {"parts": -1}, {"parts": 2.5}, {"parts": "x"}, {"parts": 2**16}, {"part": 2}, {"capacities": 2}],
)
def test_how_a_graph_is_opened_is_checked(asked, tmp_path):
    example().save(tmp_path / "g")
    with pytest.raises(OptionError, match=r"(part|parts|capacities)="):
        dg.open_graph(tmp_path / "g", **asked)


def test_how_a_graph_is_saved_is_checked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (None, 5, b"g", ""):
        with pytest.raises(OptionError, match="is no path: name a folder"):
            example().save(path)
        with pytest.raises(OptionError, match="is no path: name a folder"):
            dg.open_graph(path)
    with pytest.raises(OptionError, match=r"columns='cost' is no list of columns: give \['cost'\]"):
        example().save("g", columns="cost")
    with pytest.raises(OptionError, match="overwrite='no' is a switch"):
        example().save("g", overwrite="no")
    assert not list(tmp_path.iterdir())


def test_a_folder_is_whole_or_as_it_was(tmp_path, monkeypatch):
    graph = example(parts=2)
    graph.save(tmp_path / "g")
    with pytest.raises(OptionError, match="overwrite=True"):
        graph.save(tmp_path / "g")
    write, calls, fails_at = store.write_array, [], []

    def full_disk(*arguments):
        calls.append(arguments)
        if len(calls) in fails_at:
            raise OSError(28, "No space left on device")
        return write(*arguments)

    monkeypatch.setattr(store, "write_array", full_disk)
    before = sorted(path.name for path in (tmp_path / "g").iterdir())
    for k in range(1, 15, 2):
        calls.clear()
        fails_at[:] = [k]
        with pytest.raises(StorageError, match="No space left"):
            graph.save(tmp_path / "g", overwrite=True)
        assert [path.name for path in tmp_path.iterdir()] == ["g"]
        assert sorted(path.name for path in (tmp_path / "g").iterdir()) == before
    fails_at.clear()
    graph.save(tmp_path / "g", overwrite=True)
    assert rows(dg.open_graph(tmp_path / "g")) == rows(graph)
    shutil.rmtree(tmp_path / "g")


def test_what_comes_to_the_path_while_a_graph_is_written_stays(tmp_path, monkeypatch):
    folder, write = tmp_path / "g", store.write_array

    def meanwhile(*arguments):
        folder.mkdir(exist_ok=True)
        (folder / "notes.txt").write_text("ours")
        return write(*arguments)

    monkeypatch.setattr(store, "write_array", meanwhile)
    for overwrite, told in ((False, "g is there already; give another path"), (True, "'notes.txt' is there")):
        shutil.rmtree(folder, ignore_errors=True)
        with pytest.raises(OptionError, match=told):
            example().save(folder, overwrite=overwrite)
        assert (folder / "notes.txt").read_text() == "ours"
        assert list(tmp_path.iterdir()) == [folder]


def test_where_the_new_folder_cannot_be_moved_the_old_one_comes_back(tmp_path, monkeypatch):
    graph, folder, rename = example(), tmp_path / "g", Path.rename
    graph.save(folder)

    def only_the_old(path, target):
        if not (path / "ids.arrow").exists():
            return rename(path, target)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "rename", only_the_old)
    with pytest.raises(StorageError, match=r"Input/output error.*nothing was changed"):
        example("string").save(folder, overwrite=True)
    assert list(tmp_path.iterdir()) == [folder]
    assert rows(dg.open_graph(folder)) == rows(graph)


def test_of_savers_to_one_path_at_a_time_one_wins(tmp_path):
    graphs, folder = [example(parts=parts) for parts in (1, 2, 3, 4)], tmp_path / "g"

    def saved(graph, overwrite):
        try:
            graph.save(folder, overwrite=overwrite)
        except (OptionError, StorageError) as error:
            return error
        return None

    with ThreadPoolExecutor(len(graphs)) as savers:
        found = list(savers.map(partial(saved, overwrite=False), graphs))
        assert found.count(None) == 1
        assert len(dg.open_graph(folder).partitions) == found.index(None) + 1
        assert None in savers.map(partial(saved, overwrite=True), graphs * 5)
    assert list(tmp_path.iterdir()) == [folder]
    assert rows(dg.open_graph(folder)) in [rows(graph) for graph in graphs]


def test_only_a_saved_graph_is_replaced(tmp_path):
    graph, folder = example(), tmp_path / "data"
    folder.mkdir()
    graph.save(folder, overwrite=True)  # an empty folder
    graph.save(folder, overwrite=True)
    (folder / "notes.txt").write_text("ours")
    (tmp_path / "edges.npy").write_text("edges")
    for path, named in ((folder, "notes.txt"), (tmp_path, "data"), (tmp_path / "edges.npy", "edges.npy")):
        with pytest.raises(OptionError, match=rf"{named}' is there; overwrite=True would remove it"):
            graph.save(path, overwrite=True)
    assert (folder / "notes.txt").read_text() == "ours"
    assert (tmp_path / "edges.npy").read_text() == "edges"
    assert rows(dg.open_graph(folder)) == rows(graph)


def test_a_graph_that_could_not_be_opened_is_not_saved(tmp_path):
    graph = dg.Graph.from_edges(pd.DataFrame([[1, 2, 3]]), source=0, destination=1)
    with pytest.raises(ColumnError, match="column 0: a saved graph calls its columns by text; rename"):
        graph.save(tmp_path / "g")
    assert not list(tmp_path.iterdir())


def test_columns_that_are_no_numbers_are_chosen_or_refused(tmp_path):
    edges = pd.DataFrame({"src": [1, 2], "dst": [2, 3], "note": ["x", "y"], "cost": [1.0, 2.0]})
    graph = dg.Graph.from_edges(edges)
    with pytest.raises(ColumnError, match=r"note.*columns="):
        graph.save(tmp_path / "g")
    assert not list(tmp_path.iterdir())
    graph.save(tmp_path / "g", columns=["cost"])
    assert list(dg.open_graph(tmp_path / "g").edges.columns) == ["src", "dst", "cost"]


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]"])
def test_whole_numbers_that_gaps_would_round_are_refused(tmp_path, kind):
    frame = pd.DataFrame({"src": [1, 2, 3], "dst": [2, 3, 1]})
    dg.Graph.from_edges(frame.assign(x=pd.array([1, None, 2**53 - 1], kind))).save(tmp_path / "a")
    assert dg.open_graph(tmp_path / "a").edges.compute()["x"].max() == 2**53 - 1
    with pytest.raises(ColumnError, match="'x': a whole number near 9007199254740992: a float"):
        dg.Graph.from_edges(frame.assign(x=pd.array([1, None, 2**53 + 1], kind))).save(tmp_path / "b")
    dg.Graph.from_edges(frame.assign(x=pd.array([1, 2, 2**53 + 1], kind))).save(tmp_path / "c")
    assert dg.open_graph(tmp_path / "c").edges.compute()["x"].max() == 2**53 + 1
