"""Partitions built by supersteps are those that tasks build, edge by edge."""

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.building import assembly, delivery

OPTIONS = {
    "directed": {},
    "undirected": {"directed": False},
    "merged": {"repeats": "sum", "loops": "drop"},
    "grid": {"policy": "cartesian"},
    "hybrid": {"policy": "hybrid"},
    "by owners": {"policy": lambda ids, parts: ids % parts},
    "by edges": {"policy": lambda source, destination, parts: (source + destination) % parts},
}


@pytest.fixture
def frame():
    random = np.random.default_rng(5)
    edges = pd.DataFrame(random.integers(0, 300, (2000, 2)), columns=["src", "dst"])
    return edges.assign(weight=random.integers(1, 9, 2000), length=random.random(2000))


@pytest.fixture
def by_supersteps(monkeypatch):
    """Two workers are many; the list has the numbers of partitions that were built."""
    built, build = [], delivery.built_by_supersteps

    def noted(workers, chunks, where, ids, parts, plan):
        built.append(parts)
        return build(workers, chunks, where, ids, parts, plan)

    monkeypatch.setattr(assembly, "FEW_WORKERS", 1)
    monkeypatch.setattr(delivery, "built_by_supersteps", noted)
    return built


def same(one, other) -> bool:
    pairs = [(one.numbers, other.numbers), (one.proxies.groups, other.proxies.groups)]
    pairs += [(one.proxies.masters[peer], other.proxies.masters[peer]) for peer in other.proxies.masters]
    for table, expected in ((one.out, other.out), (one.incoming, other.incoming)):
        assert (table is None) == (expected is None)
        if table is not None:
            pairs += [(table.indptr, expected.indptr), (table.neighbours, expected.neighbours)]
            pairs += [(table.columns[name], expected.columns[name]) for name in expected.columns]
    alike = one.proxies.kinds == other.proxies.kinds and one.proxies.masters.keys() == other.proxies.masters.keys()
    return alike and all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in pairs)


@pytest.mark.parametrize("parts", [2, 5])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_partitions_are_the_same(client, frame, by_supersteps, monkeypatch, options, parts):
    columns = ("weight", "length") if options.get("repeats") != "sum" else ("weight",)
    orders = ("out", "incoming")
    found = dg.Graph.from_edges(frame, client=client, parts=parts, **options).partitioned(orders, columns)
    assert by_supersteps == [parts]
    monkeypatch.setattr(assembly, "FEW_WORKERS", 2)
    expected = dg.Graph.from_edges(frame, client=client, parts=parts, **options).partitioned(orders, columns)
    assert by_supersteps == [parts]
    pairs = zip(client.gather(found.held), client.gather(expected.held), strict=True)
    assert all(same(one, other) for one, other in pairs)


def test_empty_graphs_and_more_chunks_than_partitions(client, by_supersteps):
    none = pd.DataFrame({"src": np.empty(0, np.int64), "dst": np.empty(0, np.int64)})
    empty = dg.Graph.from_edges(none, vertices=range(7), client=client, parts=3)
    assert [len(one.numbers) for one in client.gather(empty.partitions.held)] == [3, 2, 2]
    few = pd.DataFrame({"src": [0, 1, 2, 3], "dst": [1, 2, 3, 0]})
    graph = dg.Graph.from_edges(few, client=client, parts=2, symmetrize=True)
    assert len(dg.wcc(graph).compute()) == 4
    assert by_supersteps == [3, 2]


def test_where_memory_is_short_tasks_build(client, frame, by_supersteps, monkeypatch):
    monkeypatch.setattr(delivery, "BYTES", 1 << 40)
    assert len(dg.Graph.from_edges(frame, client=client, parts=2).partitions) == 2
    assert not by_supersteps
