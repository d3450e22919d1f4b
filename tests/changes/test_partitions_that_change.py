"""Graphs of several partitions, in this process and on a cluster, are changed where their partitions lie."""

import warnings

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from changed import NAMES, RULES, ListedGraph, arcs, ask, check_alike, edges, frame_of, named, rename, updates
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph import errors

BY_RULE = ("outgoing", "incoming", "cartesian", "hybrid")


def check_partitions(graph):
    """What a partition copies, its owner lists in the same order; and each owner has its ids."""
    held = graph.partitions.held
    owned = [one.numbers[: one.num_owned] for one in held]
    assert np.concatenate(owned).tolist() == list(range(graph.num_vertices))
    for one, numbers in zip(held, owned, strict=True):
        theirs, ours = (graph.numbering.id_type.restore(ids) for ids in (one.ids, graph.numbering.take(numbers)))
        assert np.asarray(theirs).tolist() == np.asarray(ours).tolist()
        for peer in held:
            for side in ("in", "out", "any"):
                copies, originals = one.proxies.copies(side, peer.index), peer.proxies.originals(side, one.index)
                np.testing.assert_array_equal(one.numbers[copies], peer.numbers[originals])
        for order in graph.partitions.orders:
            table = getattr(one, order)
            assert len(table.indptr) == one.num_local + 1 and (np.diff(table.indptr) >= 0).all()
            rows, others = (np.unique(ends) for ends in (table.rows(), table.neighbours))
            sources, destinations = (rows, others) if order == "out" else (others, rows)
            for ends, side in ((sources, "out"), (destinations, "in")):
                known = [np.arange(s.start, s.stop) for s in (one.proxies.copies(side, peer.index) for peer in held)]
                assert np.isin(ends[ends >= one.num_owned], np.concatenate(known)).all()


def owners(graph):
    ids = np.asarray(graph.numbering.restored(np.arange(graph.num_vertices))).tolist()
    return dict(zip(ids, graph.placement.owner.tolist(), strict=True))


@settings(max_examples=30)
@given(edges(14), updates(), RULES, st.sampled_from(NAMES), st.integers(2, 4), st.sampled_from(BY_RULE), st.data())
def test_partitions_have_the_edges_of_the_changed_list(rows, steps, rules, name, parts, policy, data):
    listed = ListedGraph(rename([*rows, (0, 1, 1)], name), [], **rules)
    graph = listed.graph(name, parts=parts, policy=policy)
    ask(graph, data.draw(st.sampled_from(["out", "incoming", "both"])))
    before = owners(graph)
    for added, removed, isolated, asked in steps:
        more, less, alone = rename(added, name), rename(removed, name), [named(one, name) for one in isolated]
        listed = listed.updated(more, less, alone)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.MissingEdgesWarning)
            kind = frame_of([], name)["src"].dtype
            graph = graph.updated(
                frame_of(more, name), frame_of(less, name)[["src", "dst"]], vertices=pd.Series(alone, dtype=kind)
            )
        if asked == "nothing" and len(steps) > 1:
            continue
        ask(graph, asked if asked != "nothing" else "out")
        if graph.changes.merging.startswith("built"):
            assert not rules["directed"]
        else:
            assert graph.changes.merging.startswith("merged")
            assert before.items() <= owners(graph).items()
        before = owners(graph)
        check_partitions(graph)
        assert arcs(graph, "out") == arcs(listed.graph(name), "out")


@pytest.mark.parametrize("policy", BY_RULE)
@pytest.mark.parametrize("directed", [True, False])
def test_large_partitions_are_those_of_the_changed_list(policy, directed):
    rng = np.random.default_rng(5)
    rows = [tuple(row) for row in rng.integers(0, 400, (6000, 3)).tolist()]
    listed = ListedGraph(rows, repeats="sum", directed=directed)
    graph = listed.graph(parts=3, policy=policy)
    ask(graph, "both")
    for _ in range(3):
        more = [(u, v, abs(w)) for u, v, w in rng.integers(-9, 420, (80, 3)).tolist()]
        less = [listed.rows[place] for place in rng.integers(0, len(listed.rows), 40)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.MissingEdgesWarning)
            graph, listed = graph.updated(frame_of(more), frame_of(less)), listed.updated(more, less, [])
        ask(graph, "both")
        assert graph.changes.merging.startswith("merged")
    check_partitions(graph)
    check_alike(graph, listed.graph())


def test_a_sum_beyond_64_bits_names_the_edge_on_several_partitions():
    graph = dg.Graph.from_edges(frame_of([(5, 7, 2**62), (1, 2, 1)]), weight="w", repeats="sum", parts=2)
    ask(graph, "out")
    changed = graph.updated(frame_of([(0, 1, 1), (5, 7, 2**62)]))
    with pytest.raises(errors.WeightError, match="from 5 to 7 exceeds 64 bits"):
        dg.sssp(changed, 5)


def test_policies_that_only_know_all_edges_build_anew():
    rows = [(k, (k * 7 + 1) % 30, 1) for k in range(30)]
    for policy in ("metis", lambda source, destination, parts: (source + destination) % parts):
        listed = ListedGraph(rows)
        graph = listed.graph(parts=2, policy=policy)
        ask(graph, "out")
        changed = graph.updated(frame_of([(3, 9, 2)]), frame_of([rows[4]]))
        check_alike(changed, listed.updated([(3, 9, 2)], [rows[4]], []).graph(parts=2, policy=policy))
        assert changed.changes.merging == "not merged yet"


@pytest.mark.parametrize("convert", [lambda one: one, lambda one: dd.from_pandas(one, npartitions=2)])
def test_graphs_on_a_cluster_are_changed_where_they_lie(client, convert):
    rng = np.random.default_rng(6)
    rows = [tuple(row) for row in rng.integers(0, 60, (300, 3)).tolist()]
    listed = ListedGraph(rows)
    graph = dg.Graph.from_edges(convert(frame_of(rows)), weight="w", client=client)
    homes = graph.workers.where(graph.partitioned(("out", "incoming"), ("w",)).held)
    for step in range(3):
        more = [tuple(row) for row in rng.integers(0, 64, (8, 3)).tolist()]
        less = list(dict.fromkeys(listed.rows[place] for place in rng.integers(0, len(listed.rows), 5)))
        graph, listed = graph.updated(convert(frame_of(more)), convert(frame_of(less))), listed.updated(more, less, [])
        fresh = listed.graph()
        assert (graph.num_vertices, graph.num_edges) == (fresh.num_vertices, fresh.num_edges)
        if step != 1:
            assert graph.workers.where(graph.partitioned(("out",), ("w",)).held) == homes
            assert graph.changes.merging.startswith("merged")
    pd.testing.assert_frame_equal(dg.sssp(graph, 0).compute(), dg.sssp(fresh, 0).compute())
    found, expected = (one.compute().sort_values(["src", "dst", "w"]) for one in (graph.edges, fresh.edges))
    pd.testing.assert_frame_equal(found.reset_index(drop=True), expected.reset_index(drop=True), check_dtype=False)


def test_vertices_stay_where_they_are_even_if_nothing_was_built_yet():
    graph = dg.Graph.from_edges(frame_of([(k, k + 1, 1) for k in range(20)]), parts=4)
    graph.partitioned()
    changed = graph.updated(frame_of([(0, k, 1) for k in range(20)] + [(25, 0, 1)]))
    assert owners(graph).items() <= owners(changed).items()
    assert owners(changed)[25] == 3
