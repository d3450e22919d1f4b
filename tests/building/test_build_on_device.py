"""Graphs built on a GPU: the text that runs there runs here with NumPy, and what it makes is what CPUs make."""

import gc

import numpy as np
import pandas as pd
import pytest
from cudf_on_cpu import There
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from one_thread import OneThread

import dgraph as dg
from dgraph.building.gpu_build import DeviceEdges
from dgraph.devices import distinct_ids, own_device
from dgraph.devices.device_memory import Memory
from dgraph.errors import ColumnError, WeightError
from dgraph.partition import adjacency
from dgraph.partition.ids import id_tables
from dgraph.partition.ids.chunk import Chunk
from dgraph.partition.ids.id_types import IdType
from dgraph.partition.policies import POLICY_NAMES


@pytest.fixture(autouse=True)
def built(one_thread, monkeypatch):
    """What was built there."""
    found, adjacency = [], DeviceEdges.adjacency

    def noted(*given, **options):
        found.append(adjacency(*given, **options))
        return found[-1]

    monkeypatch.setattr(own_device, "own_memory", lambda: OneThread.memory)
    monkeypatch.setattr(OneThread, "memory", Memory())
    monkeypatch.setattr(DeviceEdges, "adjacency", noted)
    return found


def there(columns):
    return {name: np.asarray(values).view(There) for name, values in columns.items()}


def arrays_of(side):
    return [] if side is None else [side.indptr, side.neighbours, *side.columns.values()]


def same(found, expected):
    """The same numbers, and the same edges in the same order."""
    a, b = found.numbering, expected.numbering
    assert a.id_type == b.id_type and a.size == b.size and np.array_equal(a.ids(), b.ids())
    for left, right in zip(found.partitions.held, expected.partitions.held, strict=True):
        for one, other in ((left.out, right.out), (left.incoming, right.incoming)):
            assert (one is None) == (other is None)
            for mine, theirs in zip(arrays_of(one), arrays_of(other), strict=True):
                assert type(mine) is np.ndarray and mine.dtype == theirs.dtype and np.array_equal(mine, theirs)
        assert left.num_owned == right.num_owned and np.array_equal(left.numbers, right.numbers)


IDS = {
    "dense": lambda draw, n: draw.integers(5, 40, n),
    "gaps": lambda draw, n: 3 * draw.integers(-20, 400, n),
    "far apart": lambda draw, n: draw.integers(-(2**60), 2**60, 20)[draw.integers(0, 20, n)],
    "32 bits": lambda draw, n: draw.integers(0, 99, n).astype(np.int32),
    "unsigned": lambda draw, n: draw.integers(2**63, 2**64, 30, np.uint64)[draw.integers(0, 30, n)],
}


@pytest.mark.parametrize("order", ["out", "incoming"])
@pytest.mark.parametrize(
    "rules", [{}, {"directed": False}, {"loops": "drop"}, {"directed": False, "loops": "drop"}], ids=str
)
@pytest.mark.parametrize("ids", IDS)
def test_a_graph_built_on_the_gpu_equals_one_built_on_the_cpu(ids, rules, order, built):
    draw = np.random.default_rng(5)
    edges = {
        "src": IDS[ids](draw, 300),
        "dst": IDS[ids](draw, 300),
        "w": draw.integers(1, 9, 300),
        "t": draw.random(300),
    }
    found, expected = (dg.Graph.from_edges(one, weight="w", **rules) for one in (there(edges), edges))
    for graph in (found, expected):
        graph.partitioned([order], ["w", "t"])
    assert len(built) == 1
    same(found, expected)
    assert found.num_edges == expected.num_edges
    pd.testing.assert_frame_equal(found.edges.compute(), expected.edges.compute())
    for graph in (found, expected):  # the second order, and a column anew
        graph.partitioned(["out", "incoming"], ["t"])
    same(found, expected)


@pytest.mark.parametrize("repeats", ["first", "sum", "min", "max"])
@pytest.mark.parametrize("loops", ["keep", "drop"])
@pytest.mark.parametrize("sides", [{}, {"directed": False}, {"symmetrize": True}], ids=str)
def test_repeated_edges_are_merged_on_the_gpu(sides, loops, repeats, built):
    draw = np.random.default_rng(7)
    edges = {end: 2 * draw.integers(0, 12, 400) for end in ("src", "dst")}
    edges |= {"w": draw.integers(-9, 9, 400).astype(np.int32), "b": draw.random(400) < 0.5}
    edges |= {"t": np.where(draw.random(400) < 0.1, np.nan, draw.integers(-9, 9, 400) / 4)}
    edges |= {"u": draw.integers(0, 9, 400).astype(np.uint16), "f": draw.integers(0, 9, 400).astype(np.float32)}
    found, expected = (
        dg.Graph.from_edges(one, weight="w", loops=loops, repeats=repeats, **sides) for one in (there(edges), edges)
    )
    for graph in (found, expected):
        graph.partitioned(["out"], ["w", "b", "t", "u", "f"])
    assert len(built) == 1 and built[0] is not None
    (left,), (right,) = found.partitions.held, expected.partitions.held
    for mine, theirs in zip(arrays_of(left.out), arrays_of(right.out), strict=True):
        np.testing.assert_array_equal(mine, theirs, strict=True)
    assert found.num_edges == expected.num_edges


@pytest.mark.parametrize("repeats", ["first", "sum", "min", "max"])
def test_a_graph_whose_edges_are_all_dropped_equals_that_of_the_cpu(repeats):
    edges = {"src": [1, 2], "dst": [1, 2], "w": [3, 4]}
    found, expected = (
        dg.Graph.from_edges(one, weight="w", loops="drop", repeats=repeats) for one in (there(edges), edges)
    )
    for graph in (found, expected):
        graph.partitioned("incoming", ["w"])
    same(found, expected)


def modulo(ids, parts):
    return ids % parts


@pytest.mark.parametrize("policy", [*POLICY_NAMES, modulo])
@pytest.mark.parametrize("rules", [{}, {"directed": False, "repeats": "sum"}], ids=str)
def test_rows_of_several_partitions_are_sorted_on_the_gpu(rules, policy, monkeypatch):
    draw = np.random.default_rng(9)
    edges = {"src": draw.integers(0, 90, 600), "dst": draw.integers(0, 90, 600), "w": draw.integers(1, 9, 600)}
    found, expected = (
        dg.Graph.from_edges(one, weight="w", policy=policy, parts=4, **rules) for one in (there(edges), edges)
    )
    expected.partitioned(["out", "incoming"], ["w"])
    monkeypatch.setattr(adjacency, "build", None)  # the CPU's
    found.partitioned(["out", "incoming"], ["w"])
    same(found, expected)
    for one in found.partitions.held:
        assert all(OneThread.memory.has(array) for side in (one.out, one.incoming) for array in arrays_of(side))


@given(lists=st.lists(st.lists(st.integers(-(2**62), 2**62) | st.integers(-3, 3), max_size=9), min_size=2, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_distinct_ids_are_those_of_the_cpu(lists):
    arrays, id_type = [np.array(one, np.int64) for one in lists], IdType("integer", "int64")
    for by in (distinct_ids, id_tables):
        encoded = by.encode(Chunk(id_type, *arrays[:2]), id_type)
        merged, ranks = by.merge([by.encode(Chunk(id_type, one, one[:0]), id_type).distinct for one in arrays])
        found = [*encoded.codes, *ranks, np.asarray(encoded.distinct), np.asarray(merged)]
        if by is distinct_ids:
            there = found
    for mine, theirs in zip(there, found, strict=True):
        np.testing.assert_array_equal(mine, theirs, strict=True)


@pytest.mark.parametrize("rules", [{}, {"vertices": {"id": [7, 2**60]}}, {"repeats": "sum"}], ids=str)
@pytest.mark.parametrize("ids", ["far apart", "unsigned"])
def test_ids_of_several_partitions_are_numbered_on_the_gpu(ids, rules, monkeypatch):
    draw = np.random.default_rng(5)
    edges = {"src": IDS[ids](draw, 300), "dst": IDS[ids](draw, 300), "w": draw.integers(1, 9, 300)}
    if "vertices" in rules:
        rules = {"vertices": {"id": np.array(rules["vertices"]["id"], edges["src"].dtype)}}
    found, expected = (dg.Graph.from_edges(one, weight="w", parts=3, **rules) for one in (there(edges), edges))
    expected.partitioned(["out", "incoming"], ["w"])
    monkeypatch.setattr(id_tables, "rank_ids", None)  # the CPU's
    found.partitioned(["out", "incoming"], ["w"])
    same(found, expected)


@pytest.mark.parametrize("vertices", [range(0, 60), range(5, 40), 500])
def test_listed_vertices_are_added_on_the_gpu(vertices, built):
    edges = {"src": [5, 39, 7], "dst": [6, 5, 5]}
    found, expected = (dg.Graph.from_edges(one, vertices=vertices) for one in (there(edges), edges))
    same(found, expected)
    assert len(built) == 1 and found.num_vertices == len(range(vertices) if isinstance(vertices, int) else vertices)


def test_rows_built_on_the_gpu_are_not_copied_there_again(built):
    draw, memory = np.random.default_rng(5), OneThread.memory
    edges = {end: draw.integers(0, 200, 4000) for end in ("src", "dst")}

    def ranks(frame):
        graph = dg.Graph.from_edges(frame)
        side = graph.partitioned("incoming").held[0].incoming
        before = memory.copied
        found = dg.pagerank(graph, max_iter=3, tol=0, device="cuda").compute()
        return found, memory.copied - before, side.neighbours.nbytes + side.indptr.nbytes

    (found, less, size), (expected, more, _) = ranks(there(edges)), ranks(edges)
    pd.testing.assert_frame_equal(found, expected)
    assert more - less == size and len(built) == 1
    del built[:]
    gc.collect()
    assert memory.used < size  # it goes with the graph


@pytest.mark.parametrize(
    "how",
    [{"parts": 2}, {"vertices": {"id": [1, 2, 3, 9]}}, {"policy": "metis"}],
    ids=str,
)
def test_graphs_unsupported_on_the_gpu_are_numbered_by_the_cpu(how, built):
    edges = {"src": [1, 2, 3, 1], "dst": [2, 3, 1, 2]}
    found, expected = (dg.wcc(dg.Graph.from_edges(one, **how)).compute() for one in (there(edges), edges))
    pd.testing.assert_frame_equal(found, expected)
    assert not built


@pytest.mark.parametrize("budget", [200, None])
def test_without_gpu_memory_a_cpu_builds_the_graph(budget, built, monkeypatch):
    edges = {"src": [1, 2, 3, 1], "dst": [2, 3, 1, 20]}
    expected = dg.Graph.from_edges(edges).partitions.held[0]
    monkeypatch.setattr(OneThread, "memory", Memory(budget))
    if budget is None:  # it shows late
        monkeypatch.setattr(np, "argsort", lambda *_, **__: (_ for _ in ()).throw(MemoryError))
    found = dg.Graph.from_edges(there(edges)).partitions.held[0]
    assert np.array_equal(found.out.neighbours, expected.out.neighbours)
    assert built == ([None] if budget is None else [])


def test_invalid_columns_on_a_gpu_are_named():
    with pytest.raises(ColumnError, match="differ in length"):
        dg.Graph.from_edges(there({"src": [1, 2], "dst": [1, 2, 3]}))
    with pytest.raises(WeightError, match=r"row 1: the weight is missing"):
        dg.Graph.from_edges(there({"src": [1, 2], "dst": [2, 3], "w": [1.0, np.nan]}), weight="w").partitioned(
            "out", ["w"]
        )


def test_columns_partly_on_the_gpu_are_built_by_the_cpu(built):
    found = dg.Graph.from_edges({"src": np.array([1, 2]), **there({"dst": [2, 3]})})
    assert found.partitions.held[0].num_edges == 2 and not built
