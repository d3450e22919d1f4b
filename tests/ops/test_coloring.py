"""Colorings: those of the greedy algorithm, whatever runs it, and with any number of colors."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph import errors
from dgraph.ops.coloring import WINDOW, GreedyColors
from dgraph.programs import reference
from dgraph.programs.random_draws import uniform, word_of_round
from dgraph.solvers import random_order
from dgraph.solvers.random_order import LOTS
from dgraph.testing.verify import verify

pytestmark = pytest.mark.usefixtures("several_threads")
VERTICES = 60


def frame_of(seed, edges=250):
    """Loops, repeats, edges in both directions, isolated vertices."""
    ends = np.random.default_rng(seed).integers(0, VERTICES - 5, (edges, 2))
    return pd.DataFrame(ends, columns=["src", "dst"])


def greedy(frame, vertices, random_seed):
    word, near = word_of_round(random_seed, 0), {v: set() for v in range(vertices)}
    for u, v in frame.itertuples(index=False):
        if u != v:
            near[u].add(v)
            near[v].add(u)
    color = {}
    for v in sorted(near, key=lambda v: (-len(near[v]), int(uniform(word, v) * LOTS), v)):
        taken = {color.get(u) for u in near[v]}
        color[v] = next(c for c in range(vertices) if c not in taken)
    return [color[v] for v in range(vertices)]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("random_seed", [0, -3, 2**62])
def test_every_engine_finds_the_greedy_coloring(directed, random_seed):
    frame = frame_of(random_seed % 100)
    expected = greedy(frame, VERTICES, random_seed)
    options = {"directed": directed, "vertices": VERTICES}
    for parts, engine in ((1, "local"), (1, "gas"), (3, "bsp"), (2, "block_descent"), (3, "auto")):
        graph = dg.Graph.from_edges(frame, **options, parts=parts)
        found = dg.coloring(graph, random_seed=random_seed, engine=engine)
        assert found.by_number("color").tolist() == expected, engine
        assert found.totals["colors"] == max(expected) + 1
        verify("coloring", graph, found, random_seed=random_seed)


def test_the_program_means_the_greedy_coloring():
    frame = frame_of(8)
    ends = {tuple(sorted(edge)) for edge in frame.itertuples(index=False) if edge[0] != edge[1]}
    meant = reference.run(GreedyColors(), sorted(ends), VERTICES, directed=False, random_seed=5)
    assert meant.results()["color"] == greedy(frame, VERTICES, 5)


def test_there_may_be_more_colors_than_a_message_tells_of():
    """Of a complete graph, and with vertices beside it that have fewer neighbours."""
    size = 2 * WINDOW + 5
    edges = [*combinations(range(size), 2), *((v, size + v) for v in range(size)), *((v, v + 1) for v in range(size))]
    frame = pd.DataFrame(edges, columns=["src", "dst"])
    for parts, engine in ((1, "local"), (1, "gas"), (3, "gas")):
        graph = dg.Graph.from_edges(frame, directed=False, parts=parts)
        found = dg.coloring(graph, engine=engine)
        assert found.totals["colors"] == size
        assert found.by_number("color").tolist() == greedy(frame, 2 * size, 0)


@pytest.mark.parametrize("depth", [1, 3])
def test_vertices_that_were_put_aside_and_forgotten_are_colored_later(monkeypatch, depth):
    monkeypatch.setattr(random_order, "DEPTH", depth)
    for seed in range(4):
        frame = frame_of(seed, edges=900)
        found = dg.coloring(dg.Graph.from_edges(frame, vertices=VERTICES))
        assert found.by_number("color").tolist() == greedy(frame, VERTICES, 0)


@pytest.mark.parametrize("directed", [True, False])
def test_all_of_a_large_graph_is_colored_by_several_threads(directed):
    graph = dg.rmat(scale=13, seed=2, directed=directed)
    for random_seed in range(3):
        found = dg.coloring(graph, random_seed=random_seed)
        verify("coloring", graph, found, random_seed=random_seed)


def test_colorings_of_other_seeds_are_refused_only_if_the_seed_is_told():
    graph = dg.grid(rows=5, cols=8)
    found = dg.coloring(graph, random_seed=1)
    verify("coloring", graph, found)
    with pytest.raises(errors.AnswerError, match="no neighbour that comes before it"):
        verify("coloring", graph, found, random_seed=2)


def test_ids_may_be_strings_and_workers_find_the_same_coloring(client):
    frame = frame_of(4).astype(str)
    here, there = (dg.Graph.from_edges(frame, **where) for where in ({}, {"parts": 3, "client": client}))
    frames = [dg.coloring(graph, random_seed=2).compute() for graph in (here, there)]
    pd.testing.assert_frame_equal(*frames)
    verify("coloring", here, frames[0])


def test_graphs_without_edges_and_without_vertices():
    for vertices, engine in ((3, "local"), (0, "local"), (3, "gas"), (0, "gas")):
        empty = dg.Graph.from_edges(pd.DataFrame({"src": [], "dst": []}, dtype="int64"), vertices=vertices)
        found = dg.coloring(empty, engine=engine)
        assert found.by_number("color").tolist() == [0] * vertices
        assert found.totals["colors"] == min(vertices, 1)


def test_engines_that_cannot_run_it_are_refused():
    with pytest.raises(errors.OptionError, match="bulk_async"):
        dg.coloring(dg.grid(rows=2, cols=2), engine="bulk_async")
