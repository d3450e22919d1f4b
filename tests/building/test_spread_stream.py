"""Partitions of edges that are read again piece by piece equal those of edges that are held: in this process, and on
workers."""

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.building import input_edges, spread_stream
from dgraph.cluster.tasks import are_independent
from dgraph.errors import ColumnError, InputError, StorageError
from dgraph.partition import scratch

RULES = [{}, {"directed": False}, {"loops": "drop"}, {"directed": False, "loops": "drop"}, {"vertices": range(-9, 400)}]


@pytest.fixture
def frame():
    random = np.random.default_rng(5)
    edges = pd.DataFrame(random.integers(-4, 300, (2000, 2)), columns=["src", "dst"])
    edges.loc[::50, "dst"] = edges["src"][::50]
    return edges.assign(weight=random.integers(1, 9, 2000), length=random.random(2000))


@pytest.fixture
def streams(monkeypatch, tmp_path):
    """Every lazy frame is too large to be held."""
    monkeypatch.setattr(input_edges, "HELD_SHARE", 1 << 60)
    monkeypatch.setattr(input_edges, "HELD_BYTES", 1 << 50)
    monkeypatch.setattr(input_edges, "has_room", lambda size: False)
    monkeypatch.setattr(spread_stream, "SLICE", 300)
    monkeypatch.setattr(scratch, "AT_ONCE", 170)
    with dask.config.set({"temporary-directory": str(tmp_path)}):
        yield


def lazy(frame):
    return dd.from_pandas(frame, npartitions=7, sort=False)


def edges_of(partition, order):
    """The edges of a partition by number, in any order, with their columns."""
    table = partition.out if order == "out" else partition.incoming
    rows, others = (partition.numbers[end] for end in (table.rows(), table.neighbours))
    return pd.DataFrame({"row": rows, "other": others, **table.columns}).sort_values(["row", "other", *table.columns])


def assert_same(found, expected, order):
    for one, other in zip(found, expected, strict=True):
        pd.testing.assert_frame_equal(
            edges_of(one, order).reset_index(drop=True), edges_of(other, order).reset_index(drop=True)
        )
        np.testing.assert_array_equal(one.numbers, other.numbers)
        np.testing.assert_array_equal(one.proxies.groups, other.proxies.groups)
        assert one.proxies.kinds == other.proxies.kinds
        for peer, masters in other.proxies.masters.items():
            np.testing.assert_array_equal(one.proxies.masters[peer], masters)


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("policy", ["outgoing", "incoming", "cartesian", "hybrid"])
@pytest.mark.parametrize("order", ["out", "incoming"])
def test_partitions_are_those_of_held_edges(frame, streams, rules, policy, order):
    how = {"weight": "weight", "parts": 3, "policy": policy, **rules}
    columns = ("length", "weight") if policy == "hybrid" else ()
    found, expected = (dg.Graph.from_edges(one, **how) for one in (lazy(frame), frame))
    held = found.partitioned([order], columns)
    assert found.input_edges.streamed is not None
    assert_same(held, expected.partitioned([order], columns), order)
    assert (found.num_edges, found.num_vertices) == (expected.num_edges, expected.num_vertices)


def test_orders_and_columns_are_added_later(frame, streams):
    graph = dg.Graph.from_edges(lazy(frame), weight="weight", parts=3)
    expected = dg.Graph.from_edges(frame, weight="weight", parts=3)
    assert dg.wcc(graph).by_number("component").tolist() == dg.wcc(expected).by_number("component").tolist()
    np.testing.assert_array_equal(*(dg.sssp(one, 3).by_number("distance") for one in (graph, expected)))
    np.testing.assert_allclose(*(dg.pagerank(one).by_number("pagerank") for one in (graph, expected)))
    assert_same(graph.partitioned(["out", "incoming"]), expected.partitioned(["out", "incoming"]), "incoming")
    edges = graph.edges.compute().sort_values(["src", "dst", "length"])
    pd.testing.assert_frame_equal(
        edges.reset_index(drop=True), frame.sort_values(["src", "dst", "length"]).reset_index(drop=True)
    )


def test_more_partitions_than_pieces_or_edges(streams):
    frame = pd.DataFrame({"src": [5, 7], "dst": [7, 5]})
    graph = dg.Graph.from_edges(dd.from_pandas(frame, npartitions=1), parts=5)
    assert sum(one.num_edges for one in graph.partitioned()) == 2
    assert dg.wcc(graph).by_number("component").tolist() == [0, 0]


@pytest.mark.parametrize("rules", [{}, {"directed": False}, {"vertices": pd.DataFrame({"id": [-70, 900]})}], ids=str)
def test_workers_build_what_this_process_does(frame, streams, client, rules):
    how = {"weight": "weight", **rules}
    graph, expected = dg.Graph.from_edges(lazy(frame), client=client, **how), dg.Graph.from_edges(frame, parts=2, **how)
    held = graph.partitioned(["incoming"], ["weight"])
    assert graph.input_edges.streamed is not None and graph.num_parts == 2
    assert_same(client.gather(list(held)), expected.partitioned(["incoming"], ["weight"]), "incoming")
    np.testing.assert_allclose(*(dg.pagerank(one).by_number("pagerank") for one in (graph, expected)))
    np.testing.assert_array_equal(*(dg.sssp(one, 3).by_number("distance") for one in (graph, expected)))


def test_only_pieces_that_are_computed_one_by_one_are_read_again(frame, streams, client):
    futures = client.scatter([frame.iloc[:900], frame.iloc[900:]])
    held, lists = client.persist(lazy(frame)), dd.from_delayed(futures, meta=frame.iloc[:0])
    with client.as_current():
        shuffled = lazy(frame).shuffle("src")
        assert not are_independent(shuffled.to_delayed())
    assert not are_independent(held.to_delayed()) and not are_independent(lists.to_delayed())
    assert are_independent(lazy(frame).to_delayed()) and are_independent(dg.rmat(scale=4).input_edges.edge_pieces[:0])
    for one in (lists, shuffled):
        graph = dg.Graph.from_edges(one, weight=None, client=client)
        assert graph.num_edges == len(frame) and graph.input_edges.streamed is None
    graph = dg.Graph.from_edges(held, weight=None, client=client)
    assert graph.num_vertices == len(np.unique(frame[["src", "dst"]])) and graph.input_edges.streamed is None


def test_ids_too_far_apart_for_the_threads_of_a_worker_are_numbered_otherwise(streams, client, monkeypatch):
    """Each thread has a share of the memory for bitmaps, and stops reading where its own is too large."""
    monkeypatch.setattr("dgraph.building.edge_stream.SMALL_BITMAP", 0)
    ids = np.random.default_rng(2).integers(0, 6400, (500, 2))
    for far in (1, 1000):
        frame = pd.DataFrame(ids * far, columns=["src", "dst"])
        monkeypatch.setattr(input_edges, "HELD_SHARE", 1)
        monkeypatch.setattr("dgraph.cluster.workers.Workers.memory", 1500)
        monkeypatch.setattr("dgraph.cluster.workers.Workers.threads", 3)
        graph = dg.Graph.from_edges(lazy(frame), client=client, parts=2)
        with dask.config.set({"dgraph.memory-check": False}):
            assert graph.num_edges == 500 and len(dg.wcc(graph).compute()) == len(np.unique(ids))
        assert graph.input_edges.streamed is None


def test_small_frames_are_held_by_workers(frame, client):
    graph = dg.Graph.from_edges(lazy(frame), weight=None, client=client)
    assert graph.num_edges == len(frame) and graph.input_edges.streamed is None


def test_what_cannot_be_streamed_is_still_built(frame, streams, client):
    text = frame.assign(src=frame["src"].astype(str), dst=frame["dst"].astype(str))
    for one, how in ((text, {}), (frame, {"repeats": "first"}), (frame, {"policy": lambda ids, parts: ids % parts})):
        found = dg.Graph.from_edges(lazy(one), weight=None, client=client, **how)
        expected = dg.Graph.from_edges(one, weight=None, **how)
        assert sorted(dg.wcc(found).compute()["component"]) == sorted(dg.wcc(expected).compute()["component"])


@pytest.mark.parametrize("where", ["here", "workers"])
def test_pieces_that_change_are_refused(streams, tmp_path, where, request):
    client = request.getfixturevalue("client") if where == "workers" else None
    path = tmp_path / "edges"
    path.mkdir()
    for number in range(3):
        pd.DataFrame({"src": np.arange(50), "dst": np.arange(50) + number}).to_parquet(path / f"{number}.parquet")
    graph = dg.read_edges(path, format=dg.Parquet(lazy=True), parts=2, client=client)
    assert graph.num_vertices == 52
    pd.DataFrame({"src": np.arange(50), "dst": np.arange(50)[::-1]}).to_parquet(path / "1.parquet")
    with pytest.raises(InputError, match="the edges of partition 1 of the frame have changed since they were first"):
        graph.partitioned()


def test_columns_that_are_not_what_the_frame_says_are_refused(frame, streams):
    def wrong(piece, partition_info=None):
        return piece.assign(length=piece["length"].astype(str)) if partition_info["number"] == 2 else piece

    edges = lazy(frame).map_partitions(wrong, meta=frame.iloc[:0])
    with pytest.raises(ColumnError, match="partition 2 of the frame"):
        dg.Graph.from_edges(edges, weight="weight", parts=2).partitioned(["out"], ["length"])


def test_a_full_disk_is_told_before_edges_are_sent(frame, streams, monkeypatch):
    monkeypatch.setattr(scratch.ScratchFolder, "free", 1000)
    with pytest.raises(StorageError, match=r"the edges of a worker's partitions need .* of disk in the scratch"):
        dg.Graph.from_edges(lazy(frame), weight=None, parts=2).partitioned()
