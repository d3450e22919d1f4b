"""A build that takes its edges a few at a time makes the same partitions as one that has them all at once."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

import dgraph as dg
from dgraph.errors import RoomError
from dgraph.native import threads
from dgraph.partition import placement
from dgraph.partition.ids.bitmaps import IDENTITY
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.policies import POLICY_NAMES


def in_turn(source, destination, parts):
    return np.arange(len(source)) % parts


POLICIES = [*POLICY_NAMES, in_turn]
RULES = [{}, {"directed": False}, {"loops": "drop"}, {"symmetrize": True}, {"repeats": "sum"}]


def arrays_of(partitions):
    for one in partitions.workers.get(list(partitions.held)):
        yield from (one.numbers, one.proxies.groups, np.asarray(one.ids))
        yield from chain(one.proxies.masters.values())
        for side in (one.out, one.incoming):
            yield from (side.indptr, side.neighbours, *side.columns.values())


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("kind", ["text", "integers"])
@pytest.mark.parametrize("order", ["out", "incoming"])
def test_building_in_slices_gives_the_same_graph(rules, parts, kind, order, monkeypatch):
    draw = np.random.default_rng(7)
    ends = [draw.integers(0, 40, 300) for _ in range(2)]
    named = [np.array([f"name {k}" for k in end], object) for end in ends] if kind == "text" else ends
    edges = {"src": named[0], "dst": named[1], "w": draw.integers(1, 9, 300)}
    for policy in POLICIES if parts > 1 else POLICIES[:1]:
        found = []
        for at_once in (1 << 20, 37):
            monkeypatch.setattr(placement, "SPLIT_EDGES", at_once)
            monkeypatch.setattr(threads, "FEWEST_ENTRIES", at_once)
            graph = dg.Graph.from_edges(edges, weight="w", policy=policy, parts=parts, **rules)
            graph.partitioned([order], ["w"])
            found.append(list(arrays_of(graph.partitioned(["out", "incoming"]))))
            assert graph.num_edges == graph.partitioned().report.frame["edges"].sum() or not graph.directed
        for mine, theirs in zip(*found, strict=True):
            np.testing.assert_array_equal(mine, theirs, strict=True)


@pytest.mark.parametrize("parts", [1, 3])
def test_a_graph_without_edges_keeps_its_columns(parts):
    graph = dg.Graph.from_edges({"src": [], "dst": [], "w": []}, weight="w", vertices=["a", "b"], parts=parts)
    assert [list(one.out.columns) for one in graph.partitioned(["out"], ["w"])] == [["w"]] * parts


def test_edges_that_a_lazy_frame_still_reads_are_kept(monkeypatch):
    """A lazy frame of edges that was asked for before the partitions are built has all of them afterwards."""
    monkeypatch.setattr(placement, "SPLIT_EDGES", 3)
    edges = {"src": np.array(list("abcdefgh"), object), "dst": np.array(list("bcdefgha"), object)}
    graph = dg.Graph.from_edges(edges)
    before = graph.edges
    assert graph.partitioned()[0].num_edges == len(before.compute()) == 8
    assert len(graph.edges.compute()) == 8


def test_only_the_owner_of_a_chunk_frees_it():
    lent = NumberedChunk(np.arange(8, dtype=np.uint32), np.arange(8, dtype=np.uint32), {}, IDENTITY)
    for chunk, left in ((lent, 8), (replace(lent, exclusive=True), 0)):
        found = [some.sources.copy() for some in chunk.take_slices(3)]
        assert [one.tolist() for one in found] == [[6, 7], [3, 4, 5], [0, 1, 2]]
        assert len(chunk.sources) == len(chunk.destinations) == left


def test_partitioning_for_one_run_keeps_the_edges():
    """Matching cuts edges in a way of its own, here before the graph has been built."""
    edges = {"src": list("aabc"), "dst": list("bdcd")}
    graph = dg.Graph.from_edges(edges, directed=False, parts=2)
    dg.matching(graph, left=["a", "c"])
    assert len(graph.edges) == 4
    assert graph.partitioned().report.frame["edges"].sum() == 8


def test_a_refused_build_keeps_the_numbers(monkeypatch):
    def refuse(*_, **options):
        raise RoomError("no room")

    graph = dg.Graph.from_edges({"src": list("aabc"), "dst": list("bdcd")}, loops="drop")
    assert graph.num_vertices == 4
    with monkeypatch.context() as patched, pytest.raises(RoomError):
        patched.setattr("dgraph.building.partitioned_graph.check_build_memory", refuse)
        graph.partitioned()
    assert graph.input_edges.fresh is not None
    assert graph.partitioned().report.frame["edges"].sum() == 4
