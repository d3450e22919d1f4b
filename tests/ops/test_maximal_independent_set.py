"""Maximal independent sets: those of the greedy algorithm, whatever runs it."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph import errors
from dgraph.ops.maximal_independent_set import IndependentSet
from dgraph.programs import reference
from dgraph.programs.random_draws import uniform, word_of_round
from dgraph.solvers import random_order
from dgraph.solvers.random_order import LOTS
from dgraph.testing.verify import verify

pytestmark = pytest.mark.usefixtures("several_threads")
VERTICES = 60


def frame_of(seed, edges=150):
    """Loops, repeats, edges in both directions, isolated vertices."""
    ends = np.random.default_rng(seed).integers(0, VERTICES - 5, (edges, 2))
    return pd.DataFrame(ends, columns=["src", "dst"])


def greedy(frame, vertices, random_seed):
    word, near = word_of_round(random_seed, 0), {v: set() for v in range(vertices)}
    for u, v in frame.itertuples(index=False):
        near[u].add(v)
        near[v].add(u)
    chosen = set()
    for v in sorted(range(vertices), key=lambda v: (int(uniform(word, v) * LOTS), v)):
        if not (near[v] - {v}) & chosen:
            chosen.add(v)
    return [v in chosen for v in range(vertices)]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("random_seed", [0, -3, 2**62])
def test_every_engine_finds_the_greedy_set(directed, random_seed):
    frame = frame_of(random_seed % 100)
    expected = greedy(frame, VERTICES, random_seed)
    options = {"directed": directed, "vertices": VERTICES}
    for parts, engine in ((1, "local"), (1, "gas"), (3, "bsp"), (2, "block_descent"), (3, "auto")):
        graph = dg.Graph.from_edges(frame, **options, parts=parts)
        found = dg.maximal_independent_set(graph, random_seed=random_seed, engine=engine)
        assert found.by_number("in_set").tolist() == expected, engine
        assert found.totals["size"] == sum(expected)
        verify("maximal_independent_set", graph, found, random_seed=random_seed)


def test_the_program_means_the_greedy_set():
    frame = frame_of(8)
    meant = reference.run(IndependentSet(), list(frame.itertuples(index=False)), VERTICES, random_seed=5)
    assert meant.results()["in_set"] == greedy(frame, VERTICES, 5)


@pytest.mark.parametrize("depth", [1, 3])
def test_vertices_that_were_put_aside_and_forgotten_are_decided_later(monkeypatch, depth):
    monkeypatch.setattr(random_order, "DEPTH", depth)
    for seed in range(4):
        frame = frame_of(seed, edges=900)
        found = dg.maximal_independent_set(dg.Graph.from_edges(frame, vertices=VERTICES))
        assert found.by_number("in_set").tolist() == greedy(frame, VERTICES, 0)


def test_all_of_a_large_graph_is_decided_by_several_threads():
    graph = dg.rmat(scale=13, seed=2)
    found = dg.maximal_independent_set(graph, random_seed=9)
    verify("maximal_independent_set", graph, found, random_seed=9)
    assert found.by_number("in_set").tolist() != dg.maximal_independent_set(graph).by_number("in_set").tolist()


def test_sets_of_other_seeds_are_refused_only_if_the_seed_is_told():
    graph = dg.grid(rows=5, cols=8)
    found = dg.maximal_independent_set(graph, random_seed=1)
    verify("maximal_independent_set", graph, found)
    with pytest.raises(errors.AnswerError, match="comes before it"):
        verify("maximal_independent_set", graph, found, random_seed=2)


def test_ids_may_be_strings_and_workers_find_the_same_set(client):
    frame = frame_of(4).astype(str)
    here, there = (dg.Graph.from_edges(frame, **where) for where in ({}, {"parts": 3, "client": client}))
    sets = [dg.maximal_independent_set(graph, random_seed=2).compute() for graph in (here, there)]
    pd.testing.assert_frame_equal(*sets)
    verify("maximal_independent_set", here, sets[0])


def test_loops_do_not_keep_a_vertex_out():
    loops = dg.Graph.from_edges({"src": ["a", "a", "b"], "dst": ["a", "a", "b"]})
    for engine in ("local", "gas"):
        assert dg.maximal_independent_set(loops, engine=engine).compute()["in_set"].all()


def test_graphs_without_edges_and_without_vertices():
    for vertices in (3, 0):
        empty = dg.Graph.from_edges(pd.DataFrame({"src": [], "dst": []}, dtype="int64"), vertices=vertices)
        assert dg.maximal_independent_set(empty).totals["size"] == vertices
    path = dg.Graph.from_edges(pd.DataFrame(pairwise(range(3000)), columns=["src", "dst"]))
    assert dg.maximal_independent_set(path).totals["size"] >= 1000


def test_engines_that_cannot_run_it_and_seeds_that_are_no_numbers_are_refused():
    graph = dg.grid(rows=2, cols=2)
    with pytest.raises(errors.OptionError, match="bulk_async"):
        dg.maximal_independent_set(graph, engine="bulk_async")
    with pytest.raises(errors.OptionError, match="random_seed"):
        dg.maximal_independent_set(graph, random_seed="7")
