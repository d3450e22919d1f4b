"""`memory=` limits what a process may use for a graph: while it is built, while operations run, and in estimates."""

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.building import input_edges
from dgraph.cluster.workers import Workers
from dgraph.errors import OptionError, RoomError
from dgraph.native import free_memory
from dgraph.native.free_memory import within

EDGES = 1 << 22  # whose partition takes 16 MiB, and as much while it is sorted
MARGIN = 12 << 20


@pytest.fixture
def frame():
    random = np.random.default_rng(8)
    return dd.from_pandas(pd.DataFrame(random.integers(0, 1000, (EDGES, 2)), columns=["src", "dst"]), npartitions=8)


@pytest.fixture
def exact(monkeypatch):
    """What little memory there is counts, and edges are not held beside the partition."""
    monkeypatch.setattr(free_memory, "FEW", 0)
    monkeypatch.setattr(input_edges, "HELD_SHARE", 1 << 60)


def taken():
    """The bytes that this process uses now."""
    with within(1 << 60):
        return (1 << 60) - free_memory._users_limit()


def on_disk(graph):
    (partition,) = graph.partitioned()
    array = partition.out.neighbours
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return not isinstance(array, np.ndarray)


def test_edges_beyond_the_limit_are_built_on_disk(frame, exact, tmp_path):
    with dask.config.set({"temporary-directory": str(tmp_path)}):
        whole = dg.Graph.from_edges(frame)
        assert not on_disk(whole)
        whole.built = None
        limited = dg.Graph.from_edges(frame, memory=taken() + MARGIN)
        assert on_disk(limited)
    np.testing.assert_array_equal(dg.wcc(limited).by_number("component"), dg.wcc(whole).by_number("component"))


def test_vertices_beyond_the_limit_are_refused(frame, exact, tmp_path):
    graph = dg.Graph.from_edges(frame, vertices=1 << 22, memory=taken() + MARGIN)
    with pytest.raises(RoomError, match="the vertices of a graph of 4,194,304 vertices and 4,194,304 edges need about"):
        graph.partitioned()


def test_operations_keep_to_the_limit_of_their_graph(frame, monkeypatch):
    seen = []
    monkeypatch.setattr("dgraph.solvers.ranks.gather.has_room", lambda size: bool(seen.append(free_memory._limits[:])))
    for memory in None, "3 GiB":
        dg.pagerank(dg.Graph.from_edges(frame, memory=memory), max_iter=1, tol=0)
    assert seen == [[], [3 << 30]]
    assert free_memory._limits == []


def test_nested_limits_end_in_any_order():
    outer, inner = within(1 << 50), within(1 << 40)
    outer.__enter__()
    inner.__enter__()
    assert free_memory._limits == [1 << 50, 1 << 40]
    with pytest.raises(ZeroDivisionError), within(5):
        assert free_memory._users_limit() == 0
        raise ZeroDivisionError
    outer.__exit__(None, None, None)
    assert (1 << 40) - (1 << 36) < free_memory._users_limit() < 1 << 40
    inner.__exit__(None, None, None)
    assert free_memory._limits == []


def test_every_graph_takes_the_option_and_estimates_use_it(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("src,dst\n1,2\n2,3\n")
    graph = dg.read_edges(path, memory="20 GB")
    graph.save(tmp_path / "saved")
    made = {  # above what a process that runs tests holds
        20 * 10**9: graph,
        1 << 34: dg.rmat(scale=4, memory=1 << 34),
        18 << 30: dg.open_graph(tmp_path / "saved", memory="18 GiB"),
    }
    assert [one.memory for one in made.values()] == list(made)
    for memory, one in made.items():
        assert one.estimate().memory == memory
    assert graph.estimate(memory="5 GiB").memory == 5 << 30
    assert dg.rmat(scale=4).estimate().memory is None


@pytest.mark.parametrize("wrong", [0, -1, "much", 1.5, True, float("nan")])
def test_what_is_no_size_is_refused(tmp_path, wrong):
    dg.rmat(scale=2).save(tmp_path / "saved")
    for make in (
        lambda: dg.Graph.from_edges({"src": [1], "dst": [2]}, memory=wrong),
        lambda: dg.rmat(scale=2, memory=wrong),
        lambda: dg.read_edges(tmp_path / "none.csv", memory=wrong),
        lambda: dg.open_graph(tmp_path / "saved", memory=wrong),
    ):
        with pytest.raises(OptionError, match=r"memory=.* must be a number of bytes >= 1, such as 4096 or"):
            make()


def test_workers_may_use_no_more(client):
    edges = pd.DataFrame({"src": np.arange(100_000), "dst": np.arange(100_000)[::-1]})
    assert Workers.find(client, "3 GiB").memory == 3 << 30
    with pytest.raises(RoomError, match="sending the edges to the workers needs about"):
        dg.Graph.from_edges(edges, client=client, memory="1 MiB")
