"""Colorings: two colors for bipartite components, and those of the greedy algorithm for the others, whatever runs it,
and with any number of colors."""

from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph import errors
from dgraph.native.team import team
from dgraph.ops.coloring import WINDOW, GreedyColors, Sides
from dgraph.programs import reference
from dgraph.programs.random_draws import uniform, word_of_round
from dgraph.solvers import random_order
from dgraph.solvers.random_order import LOTS
from dgraph.solvers.subgraphs import sides as sides_solver
from dgraph.solvers.subgraphs.sides import NEITHER
from dgraph.testing.verify import verify

pytestmark = pytest.mark.usefixtures("several_threads")
VERTICES = 60


def frame_of(seed, edges=250):
    """Loops, repeats, edges in both directions, isolated vertices."""
    ends = np.random.default_rng(seed).integers(0, VERTICES - 5, (edges, 2))
    return pd.DataFrame(ends, columns=["src", "dst"])


def simple(frame, vertices):
    graph = nx.Graph()
    graph.add_nodes_from(range(vertices))
    graph.add_edges_from((u, v) for u, v in frame.itertuples(index=False) if u != v)
    return graph


def sides(frame, vertices):
    """The side of each vertex by NetworkX, or NEITHER."""
    graph, side = simple(frame, vertices), {}
    for component in map(graph.subgraph, nx.connected_components(graph)):
        try:
            found = nx.bipartite.color(component)
        except nx.NetworkXError:
            found = dict.fromkeys(component, NEITHER)
        first = found[min(component)]
        side |= {v: one if one == NEITHER else one ^ first for v, one in found.items()}
    return [side[v] for v in range(vertices)]


def colors(frame, vertices, random_seed):
    """Sides, and elsewhere the greedy coloring in the order of the seed."""
    word, near = word_of_round(random_seed, 0), simple(frame, vertices).adj
    color = {v: side for v, side in enumerate(sides(frame, vertices)) if side != NEITHER}
    rest = set(range(vertices)) - color.keys()
    for v in sorted(rest, key=lambda v: (-len(near[v]), int(uniform(word, v) * LOTS), v)):
        taken = {color.get(u) for u in near[v]}
        color[v] = next(c for c in range(vertices) if c not in taken)
    return [color[v] for v in range(vertices)]


def two_sided(seed):
    """Trees, even cycles, paths, and beside them a component with an odd cycle; vertex 0 is on the side of 1."""
    far, near = np.random.default_rng(seed).integers(0, 10, (2, 12))
    path = [(v, v + 1) for v in range(24, 36)]
    odd = [(40, 41), (41, 42), (42, 40), (42, 43), (43, 44)]
    edges = [*zip(20 - 2 * far, 21 - 2 * near, strict=True), *path, (37, 38), (38, 39), *odd, (30, 30)]
    return pd.DataFrame(np.array(edges), columns=["src", "dst"])


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("random_seed", [0, -3, 2**62])
def test_every_engine_finds_the_greedy_coloring(directed, random_seed):
    frame = frame_of(random_seed % 100)
    expected = colors(frame, VERTICES, random_seed)
    options = {"directed": directed, "vertices": VERTICES}
    for parts, engine in ((1, "local"), (1, "gas"), (3, "bsp"), (2, "block_descent"), (3, "auto")):
        graph = dg.Graph.from_edges(frame, **options, parts=parts)
        found = dg.coloring(graph, random_seed=random_seed, engine=engine)
        assert found.by_number("color").tolist() == expected, engine
        assert found.totals["colors"] == max(expected) + 1
        verify("coloring", graph, found, random_seed=random_seed)


def test_the_program_means_the_greedy_coloring():
    frame = frame_of(8)
    ends = sorted({tuple(sorted(edge)) for edge in frame.itertuples(index=False) if edge[0] != edge[1]})
    columns = {"side": sides(frame, VERTICES)}
    meant = reference.run(GreedyColors(), ends, VERTICES, vertex_columns=columns, directed=False, random_seed=5)
    assert meant.results()["color"] == colors(frame, VERTICES, 5)


def test_the_program_of_sides_means_the_sides_of_bipartite_components():
    for frame in (frame_of(3, edges=40), frame_of(4), two_sided(2)):
        ends = [edge for edge in frame.itertuples(index=False) if edge[0] != edge[1]]
        expected = sides(frame, VERTICES)
        assert reference.run(Sides(), ends, VERTICES).results()["side"] == expected
        graph = dg.Graph.from_edges(frame, vertices=VERTICES, loops="drop", parts=3)
        for engine in (dg.Gas(direction="pull"), "bsp", "bulk_async"):  # step by step, and by contraction
            assert dg.run(graph, Sides(), engine=engine).by_number("side").tolist() == expected


def test_there_may_be_more_colors_than_a_message_tells_of():
    """Of a complete graph, and with vertices beside it that have fewer neighbours."""
    size = 2 * WINDOW + 5
    edges = [*combinations(range(size), 2), *((v, size + v) for v in range(size)), *((v, v + 1) for v in range(size))]
    frame = pd.DataFrame(edges, columns=["src", "dst"])
    for parts, engine in ((1, "local"), (1, "gas"), (3, "gas")):
        graph = dg.Graph.from_edges(frame, directed=False, parts=parts)
        found = dg.coloring(graph, engine=engine)
        assert found.totals["colors"] == size
        assert found.by_number("color").tolist() == colors(frame, 2 * size, 0)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("frame", [two_sided(0), two_sided(1), frame_of(2, edges=30), frame_of(5, edges=50)])
def test_bipartite_components_get_two_colors_beside_others(frame, directed):
    """Loops and repeated edges do not count. On partitions, an edge that closes an odd cycle may be elsewhere."""
    expected = colors(frame, VERTICES, 0)
    for parts, engine in ((1, "auto"), (1, "bsp"), (2, "auto"), (3, "gas"), (5, "auto"), (3, "block_descent")):
        graph = dg.Graph.from_edges(frame, directed=directed, vertices=VERTICES, parts=parts)
        found = dg.coloring(graph, engine=engine)
        assert found.by_number("color").tolist() == expected, (parts, engine)
        verify("coloring", graph, found, random_seed=0)


@pytest.mark.parametrize("parts", [1, 3])
def test_graphs_of_more_copies_than_four_bytes_number_get_the_same_sides(parts, monkeypatch):
    roots = []
    monkeypatch.setattr(sides_solver, "MOST_NARROW", 0)
    monkeypatch.setattr(sides_solver, "team", lambda kernel, *how: roots.append(how[-2].dtype) or team(kernel, *how))
    for frame in (two_sided(0), frame_of(2, edges=30)):
        graph = dg.Graph.from_edges(frame, vertices=VERTICES, loops="drop", parts=parts)
        assert dg.run(graph, Sides(), engine="auto").by_number("side").tolist() == sides(frame, VERTICES)
    assert set(roots) == {np.dtype(np.uint64)}


@pytest.mark.parametrize("parts", [1, 4])
def test_large_graphs_get_two_colors_unless_one_edge_closes_an_odd_cycle(parts):
    rows, cols = 60, 80
    edges = dg.grid(rows=rows, cols=cols, removed=0, weights=None).edges.compute().to_numpy()
    sides = np.add.outer(np.arange(rows), np.arange(cols)).ravel() % 2
    graph = dg.Graph.from_edges(pd.DataFrame(edges, columns=["src", "dst"]), directed=False, parts=parts)
    assert dg.coloring(graph).by_number("color").tolist() == sides.tolist()
    for far, closes_odd_cycle in ((rows * cols - 1, True), (rows * cols - 2, False)):
        frame = pd.DataFrame([*edges, (0, far)], columns=["src", "dst"])
        found = dg.coloring(dg.Graph.from_edges(frame, directed=False, parts=parts))
        assert (found.totals["colors"] > 2) == closes_odd_cycle
        verify("coloring", dg.Graph.from_edges(frame, directed=False), found, random_seed=0)


def test_verifiers_refuse_more_colors_than_a_bipartite_component_needs():
    path = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 3]})
    for wrong, words in (([1, 0, 1, 0], "vertex 0: color 1, but its side is 0"), ([0, 1, 2, 0], "side is 0")):
        answer = {"color": np.array(wrong)}
        verify("coloring", path, answer)
        with pytest.raises(errors.AnswerError, match=words):
            verify("coloring", path, answer, random_seed=0)


@pytest.mark.parametrize("depth", [1, 3])
def test_vertices_that_were_put_aside_and_forgotten_are_colored_later(monkeypatch, depth):
    monkeypatch.setattr(random_order, "DEPTH", depth)
    for seed in range(4):
        frame = frame_of(seed, edges=900)
        found = dg.coloring(dg.Graph.from_edges(frame, vertices=VERTICES))
        assert found.by_number("color").tolist() == colors(frame, VERTICES, 0)


@pytest.mark.parametrize("directed", [True, False])
def test_all_of_a_large_graph_is_colored_by_several_threads(directed):
    graph = dg.rmat(scale=13, seed=2, directed=directed)
    for random_seed in range(3):
        found = dg.coloring(graph, random_seed=random_seed)
        verify("coloring", graph, found, random_seed=random_seed)


def test_colorings_of_other_seeds_are_refused_only_if_the_seed_is_told():
    graph = dg.Graph.from_edges(frame_of(6), vertices=VERTICES)
    found = dg.coloring(graph, random_seed=1)
    verify("coloring", graph, found)
    with pytest.raises(errors.AnswerError, match="no neighbour that comes before it"):
        verify("coloring", graph, found, random_seed=2)


def test_ids_may_be_strings_and_workers_find_the_same_coloring(client):
    for frame in (frame_of(4).astype(str), two_sided(3).astype(str)):
        here, there = (dg.Graph.from_edges(frame, **where) for where in ({}, {"parts": 3, "client": client}))
        frames = [dg.coloring(graph, random_seed=2).compute() for graph in (here, there)]
        pd.testing.assert_frame_equal(*frames)
        verify("coloring", here, frames[0], random_seed=2)


def test_a_saved_run_is_found_again_and_goes_on(tmp_path):
    """Sides and colors have checkpoints of their own."""
    frame = pd.concat([two_sided(4), frame_of(4, edges=60)], ignore_index=True)
    for _ in range(2):
        graph = dg.Graph.from_edges(frame, vertices=VERTICES, parts=2)
        found = dg.coloring(graph, checkpoint=dg.Checkpoint(tmp_path, every=1))
        assert found.by_number("color").tolist() == colors(frame, VERTICES, 0)


def test_graphs_without_edges_and_without_vertices():
    for vertices, engine in ((3, "local"), (0, "local"), (3, "gas"), (0, "gas")):
        empty = dg.Graph.from_edges(pd.DataFrame({"src": [], "dst": []}, dtype="int64"), vertices=vertices)
        found = dg.coloring(empty, engine=engine)
        assert found.by_number("color").tolist() == [0] * vertices
        assert found.totals["colors"] == min(vertices, 1)


def test_engines_that_cannot_run_it_are_refused():
    with pytest.raises(errors.OptionError, match="bulk_async"):
        dg.coloring(dg.grid(rows=2, cols=2), engine="bulk_async")
