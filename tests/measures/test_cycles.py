"""Whether a graph has a cycle, against NetworkX; and that what is found is one."""

from collections import Counter

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from rules import RULES, ruled

import dgraph as dg
from dgraph.errors import OptionError

VERTICES = 30


def is_cycle(cycle, frame, directed):
    """Whether each vertex occurs once, and each step has an edge of its own."""
    key = (lambda u, v: (u, v)) if directed else (lambda u, v: (min(u, v), max(u, v)))
    steps = Counter(key(u, v) for u, v in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True))
    there = Counter(key(u, v) for u, v in frame.itertuples(index=False, name=None))
    return len(set(cycle)) == len(cycle) > 0 and steps <= there


def networkx_finds_one(graph):
    try:
        return bool(nx.find_cycle(graph))
    except nx.NetworkXNoCycle:
        return False


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(
    ("directed", "edges", "expected"),
    [
        (True, 15, {False}),
        (True, 25, {True, False}),
        (True, 60, {True}),
        (False, 8, {False}),
        (False, 15, {True, False}),
        (False, 25, {True}),
    ],
)
def test_cycles_are_found_if_and_only_if_networkx_finds_one(directed, edges, expected, parts):
    answers = set()
    for seed in range(5):
        frame = pd.DataFrame(np.random.default_rng(seed).integers(0, VERTICES, (edges, 2)), columns=["src", "dst"])
        frame = frame[frame["src"] != frame["dst"]].sort_values("src", ignore_index=True).astype(str)
        names = [str(v) for v in range(VERTICES)]
        graph = dg.Graph.from_edges(frame, directed=directed, parts=parts, vertices=pd.DataFrame({"id": names}))
        theirs = (nx.MultiDiGraph if directed else nx.MultiGraph)(list(frame.itertuples(index=False, name=None)))
        has_cycle = networkx_finds_one(theirs)
        found = dg.find_cycle(graph)
        assert is_cycle(found, frame, directed) if has_cycle else found == []
        assert dg.is_dag(graph) == nx.is_directed_acyclic_graph(theirs)
        answers.add(has_cycle)
    assert answers == expected


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(
    ("edges", "directed", "expected"),
    [
        ([(0, 1), (1, 1), (2, 2)], True, [1]),
        ([(0, 1), (1, 1), (2, 2)], False, [1]),
        ([(0, 1), (1, 0)], True, [0, 1]),
        ([(0, 1), (1, 0)], False, [0, 1]),  # two edges between the same vertices
        ([(0, 1), (0, 1)], True, []),
        ([(0, 1), (0, 1)], False, [0, 1]),
        ([(0, 1), (1, 2), (2, 3)], False, []),
        ([(0, 1), (1, 2), (1, 2), (2, 3)], False, [1, 2]),
        ([(9, 3), (3, 5), (5, 3), (5, 4)], True, [3, 5]),
        ([(9, 3), (3, 5), (5, 9), (5, 4)], False, [3, 5, 9]),
        ([], True, []),
        ([], False, []),
    ],
)
def test_cycles_of_small_graphs(edges, directed, parts, expected):
    frame = pd.DataFrame(edges, columns=["src", "dst"], dtype="int64")
    graph = dg.Graph.from_edges(frame, directed=directed, parts=parts, vertices=12)
    assert dg.find_cycle(graph) == expected
    assert dg.is_dag(graph) == (directed and not expected)


@pytest.mark.parametrize(("directed", "rules"), RULES)
def test_cycles_are_those_of_the_edges_that_the_rules_leave(directed, rules):
    answers = set()
    for seed in range(8):
        frame = pd.DataFrame(np.random.default_rng(seed).integers(0, 12, (7, 2)), columns=["src", "dst"])
        frame = pd.concat([frame, frame.iloc[:1]], ignore_index=True)
        left = ruled(frame, directed=directed, **rules)
        has_cycle = networkx_finds_one((nx.MultiDiGraph if directed else nx.MultiGraph)(left))
        graph = dg.Graph.from_edges(frame, directed=directed, parts=1 + seed % 2, **rules)
        found = dg.find_cycle(graph)
        assert is_cycle(found, pd.DataFrame(left), directed) if has_cycle else found == []
        assert dg.is_dag(graph) == (directed and not has_cycle)
        answers.add(has_cycle)
    assert True in answers


def test_dropped_loops_are_no_cycles():
    for directed in (True, False):
        graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 1]}, directed=directed, loops="drop")
        assert dg.find_cycle(graph) == []
        assert dg.is_dag(graph) == directed


def test_cycles_across_workers_are_those_found_here(client):
    frame = dg.rmat(scale=6, edge_factor=2, seed=4).edges.compute()
    for directed in (True, False):
        here, there = (
            dg.Graph.from_edges(frame, source="source", destination="destination", directed=directed, **where)
            for where in ({}, {"parts": 3, "client": client})
        )
        assert dg.find_cycle(here) == dg.find_cycle(there) != []


def test_unknown_options_are_refused():
    with pytest.raises(OptionError, match="orientation"):
        dg.find_cycle(dg.grid(rows=2, cols=2), orientation="ignore")
