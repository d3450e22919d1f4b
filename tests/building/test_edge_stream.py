"""Edges that are read piece by piece, again for each pass, become the same graph as edges that are held."""

from itertools import product

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dgraph as dg
from dgraph.building import input_edges
from dgraph.errors import ColumnError, InputError
from dgraph.partition.ids.bitmaps import GrowingBitmap, bitmap

HELD, STREAMED = 16, 1 << 60  # fractions of the free memory: most of it, and nothing
RULES = [{"directed": one, "loops": two} for one, two in product((True, False), ("keep", "drop"))]


@pytest.fixture
def frame(random):
    edges = pd.DataFrame(random.integers(-4, 300, (2000, 2)), columns=["src", "dst"])
    edges.loc[::50, "dst"] = edges["src"][::50]
    return edges.assign(weight=random.integers(1, 9, 2000), length=random.random(2000))


@pytest.fixture
def random():
    return np.random.default_rng(5)


def graph_of(frame, share, monkeypatch, **options):
    monkeypatch.setattr(input_edges, "HELD_SHARE", share)
    graph = dg.Graph.from_edges(dd.from_pandas(frame, npartitions=7), **options)
    assert graph.num_vertices and (graph.input_edges.streamed is None) == (share == HELD)
    return graph


def tables(graph, orders, columns):
    (partition,) = graph.partitioned(orders, columns)
    found = []
    for side in (getattr(partition, order) for order in orders):
        found += [side.indptr, side.neighbours, *(side.columns[name] for name in columns)]
    return [*found, partition.numbers]


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("orders", [("out",), ("incoming",), ("out", "incoming")])
@pytest.mark.parametrize("columns", [(), ("weight",), ("length", "weight")])
@pytest.mark.parametrize(
    "vertices", [None, range(-9, 400), pd.DataFrame({"id": [7, 1000]})], ids=["", "range", "frame"]
)
def test_streamed_edges_become_the_same_arrays(frame, rules, orders, columns, vertices, monkeypatch):
    options = {**rules, "vertices": vertices, "weight": "weight"}
    held, streamed = (graph_of(frame, share, monkeypatch, **options) for share in (HELD, STREAMED))
    assert (held.num_vertices, held.num_edges) == (streamed.num_vertices, streamed.num_edges)
    for one, other in zip(tables(held, orders, columns), tables(streamed, orders, columns), strict=True):
        assert one.dtype == other.dtype or (one.dtype, other.dtype) == (np.int64, np.uint8)  # weights
        np.testing.assert_array_equal(one, other)


def test_edges_that_must_be_merged_or_placed_are_not_streamed(frame, monkeypatch):
    for options in ({"repeats": "sum"}, {"symmetrize": True}, {"parts": 3}):
        held, streamed = (graph_of(frame, share, monkeypatch, **options) for share in (HELD, STREAMED))
        assert held.num_edges == streamed.num_edges
        pd.testing.assert_frame_equal(*(dg.degrees(one).compute() for one in (held, streamed)))
        pd.testing.assert_frame_equal(*(one.edges.compute() for one in (held, streamed)))


@pytest.mark.parametrize("operation", [dg.wcc, dg.scc, dg.core_number, dg.pagerank])
def test_answers_are_those_of_edges_that_are_held(frame, operation, monkeypatch):
    held, streamed = (graph_of(frame, share, monkeypatch) for share in (HELD, STREAMED))
    pd.testing.assert_frame_equal(*(operation(one).compute() for one in (held, streamed)))
    if operation is dg.wcc:
        assert streamed.partitions.orders == ("out",) and len(held.partitions.orders) == 2


def test_ids_that_no_bitmap_can_number_are_held(monkeypatch):
    monkeypatch.setattr(input_edges, "HELD_SHARE", STREAMED)
    for ends in ([5, 10**15], [5, 2**63 + 1], ["a", "b"]):
        frame = pd.DataFrame({"src": ends, "dst": ends[::-1]})
        graph = dg.Graph.from_edges(dd.from_pandas(frame, npartitions=2))
        assert graph.numbering.ids().tolist() == ends if isinstance(ends[0], int) else graph.num_vertices == 2
        assert graph.input_edges.streamed is None


@pytest.mark.parametrize("change", ["ends", "rows", "ids"])
@pytest.mark.parametrize("when", [1, 2])
def test_pieces_that_change_between_passes_are_refused(change, when, monkeypatch):
    """Their edges would be written into rows of others, or beyond them."""
    times = []

    def read(part):
        times.append(part)
        rows = np.arange(200)
        if times.count(part) > when:
            rows = {"ends": rows // 2, "rows": rows[1:], "ids": rows + 1}[change]
        return pd.DataFrame({"src": rows, "dst": (rows * 7) % 200})

    monkeypatch.setattr(input_edges, "HELD_SHARE", STREAMED)
    meta = pd.DataFrame({"src": [0][:0], "dst": [0][:0]})
    graph = dg.Graph.from_edges(dd.from_map(read, range(3), meta=meta))
    assert graph.num_edges == 600
    with pytest.raises(InputError, match=r"the edges of partition [0-2] of the frame have changed.* persist"):
        graph.partitioned()


@pytest.mark.parametrize(
    ("weights", "dtype"),
    [
        ([0, 7, 255], "uint8"),
        ([0.0, 7.0, 255.0], "float64"),
        (np.array([-3, 7, 100], "int8"), "int8"),
        (np.array([1, 0, 1], "int16"), "uint8"),
        ([0, 7, 256], "int64"),
        ([-1, 7, 255], "int64"),
        ([0.0, 7.5, 255.0], "float64"),
        ([0.0, 7.0, 1e300], "float64"),
        (np.array([0, 7, 255], "uint8"), "uint8"),
    ],
    ids=str,
)
def test_weights_are_stored_in_the_narrowest_type(weights, dtype, monkeypatch, tmp_path):
    """Users see the type of their frame, and answers are the same."""
    frame = pd.DataFrame({"src": [0, 1, 2], "dst": [1, 2, 3], "weight": weights})
    held, streamed = (
        graph_of(pd.concat([frame] * 3), share, monkeypatch, weight="weight") for share in (HELD, STREAMED)
    )
    (partition,) = streamed.partitioned(("out",), ("weight",))
    assert partition.out.columns["weight"].dtype == dtype
    streamed.save(tmp_path / "saved")
    opened = dg.open_graph(tmp_path / "saved")
    assert opened.edges.compute()["weight"].tolist() == streamed.edges.compute()["weight"].tolist()
    assert opened.edges["weight"].dtype == streamed.edges["weight"].dtype == frame["weight"].dtype
    runs = [dg.pagerank, lambda graph: dg.pagerank(graph, weighted=True), lambda graph: dg.sssp(graph, 0)]
    for run in runs[: 1 if min(weights) < 0 else 3]:
        pd.testing.assert_frame_equal(*(run(one).compute() for one in (held, streamed)))


def test_orders_that_were_built_apart_are_saved_with_one_type(frame, monkeypatch, tmp_path):
    """One with bytes, and the other, because of a column of text, with the user's integers."""
    graph = graph_of(frame.assign(name="a"), STREAMED, monkeypatch, weight="weight")
    (partition,) = graph.partitioned(("incoming",), ("weight",))
    assert partition.incoming.columns["weight"].dtype == np.uint8
    graph.save(tmp_path / "saved")
    opened = dg.open_graph(tmp_path / "saved")
    for run in (lambda one: dg.pagerank(one, weighted=True), lambda one: dg.sssp(one, 0)):
        pd.testing.assert_frame_equal(run(opened).compute(), run(graph).compute())


def test_weights_that_change_between_passes_are_refused(monkeypatch):
    """They would not fit into the type that was chosen for them."""
    times = []

    def read(part):
        times.append(part)
        return pd.DataFrame({"src": [part], "dst": [2], "weight": [5 if times.count(part) < 3 else 300]})

    monkeypatch.setattr(input_edges, "HELD_SHARE", STREAMED)
    meta = pd.DataFrame({"src": [0], "dst": [0], "weight": [0]})[:0]
    graph = dg.Graph.from_edges(dd.from_map(read, range(2), meta=meta), weight="weight")
    with pytest.raises(InputError, match=r"the edges of partition [01] of the frame have changed.* persist"):
        graph.partitioned(("out",), ("weight",))


@pytest.mark.parametrize(("said", "held"), [("int64", 1.5), ("float64", 2**53 + 1), ("float64", 3)])
def test_a_column_of_another_type_than_the_frame_says(said, held, monkeypatch):
    """It is refused unless its values stay the same."""

    def read(part):
        return pd.DataFrame({"src": [part], "dst": [2], "weight": [held]})

    monkeypatch.setattr(input_edges, "HELD_SHARE", STREAMED)
    meta = pd.DataFrame({"src": [0], "dst": [0], "weight": np.zeros(1, said)})
    graph = dg.Graph.from_edges(dd.from_map(read, range(2), meta=meta), weight="weight")
    if held == 3:
        assert dg.sssp(graph, 0).compute()["distance"].tolist() == [0.0, np.inf, 3.0]
        return
    with pytest.raises(ColumnError, match="column 'weight'"):
        graph.partitioned(("out",), ("weight",))


@given(st.lists(st.lists(st.integers(-400, 400), min_size=1), min_size=1), st.integers(0, 200), st.integers(0, 200))
def test_a_growing_bitmap_has_the_bits_of_all_chunks(chunks, below, above):
    growing, ids = GrowingBitmap(), np.concatenate([np.array(one, np.int64) for one in chunks])
    for one in chunks:
        growing.add(np.array(one, np.int64), min(one), max(one))
    low, high = int(ids.min()) - below, int(ids.max()) + above
    np.testing.assert_array_equal(growing.over(low, high), bitmap([ids], low, high))
