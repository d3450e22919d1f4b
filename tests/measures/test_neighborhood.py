"""The neighbourhood function against exact distances, over partitions, workers and seeds."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph import errors
from dgraph.solvers.balls import estimates, first_registers

pytestmark = pytest.mark.usefixtures("several_threads")


def exact_of(frame, vertices, directed, direction):
    peer = (nx.DiGraph if directed else nx.Graph)()
    peer.add_nodes_from(range(vertices))
    peer.add_edges_from(frame[["src", "dst"]].itertuples(index=False))
    peer = peer.reverse() if directed and direction == "in" else peer
    distances = [d for _, lengths in nx.all_pairs_shortest_path_length(peer) for d in lengths.values()]
    return np.cumsum(np.bincount(distances))


def drawn(seed, edges=500, vertices=200):
    return pd.DataFrame(np.random.default_rng(seed).integers(0, vertices, (edges, 2)), columns=["src", "dst"])


@pytest.mark.parametrize("direction", ["out", "in"])
@pytest.mark.parametrize("directed", [True, False])
def test_estimates_are_near_the_exact_numbers_and_the_same_in_any_partitions(directed, direction):
    frame = drawn(3)
    exact = exact_of(frame, 200, directed, direction)
    tables = []
    for parts in (1, 3):
        graph = dg.Graph.from_edges(frame, vertices=200, directed=directed, parts=parts)
        found = dg.neighborhood_function(graph, log2m=12, direction=direction)
        tables.append(found.pairs)
    pd.testing.assert_frame_equal(*tables)
    pairs = tables[0]["pairs"].to_numpy()
    assert len(pairs) == len(exact) and tables[0]["distance"].tolist() == list(range(len(exact)))
    np.testing.assert_allclose(pairs, exact, rtol=0.06)
    steps = np.diff(exact)
    mean = (steps * np.arange(1, len(exact))).sum() / steps.sum()
    assert found.mean_distance == pytest.approx(mean, rel=0.05)
    assert (
        np.searchsorted(exact, 0.88 * exact[-1]) - 1
        <= found.effective_diameter
        <= np.searchsorted(exact, 0.92 * exact[-1])
    )


@pytest.mark.parametrize("log2m", [4, 6, 8, 11])
def test_the_error_of_sketches_is_as_stated(log2m):
    """The root mean square over 200 sets, each of 5,000 vertices."""
    errors_of = []
    for seed in range(200):
        alone = first_registers(np.arange(5000), log2m, seed)
        errors_of.append(estimates(alone.max(axis=0)[None])[0] / 5000 - 1)
    stated = 1.04 / np.sqrt(1 << log2m)
    assert np.sqrt(np.mean(np.square(errors_of))) < 1.2 * stated
    assert abs(np.mean(errors_of)) < 0.5 * stated


def test_small_sets_are_counted_by_empty_registers():
    alone = first_registers(np.arange(40), 10, 1)
    assert estimates(alone) == pytest.approx(1, abs=0.01)
    assert estimates(alone.max(axis=0)[None])[0] == pytest.approx(40, rel=0.06)


def test_workers_find_what_this_process_does(client):
    frame = drawn(4)
    expected = dg.neighborhood_function(dg.Graph.from_edges(frame)).pairs
    for parts in (1, 2):
        found = dg.neighborhood_function(dg.Graph.from_edges(frame, parts=parts, client=client)).pairs
        pd.testing.assert_frame_equal(found, expected)


def test_a_seed_draws_the_same_sketches():
    graph = dg.Graph.from_edges(drawn(5))
    tables = [dg.neighborhood_function(graph, random_seed=seed).pairs["pairs"].tolist() for seed in (1, 1, 2)]
    assert tables[0] == tables[1] != tables[2]


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("vertices", [0, 1, 3])
def test_graphs_without_edges(vertices, parts):
    graph = dg.Graph.from_edges({"src": [], "dst": []}, vertices=vertices, parts=parts)
    found = dg.neighborhood_function(graph)
    assert found.pairs.to_numpy().tolist() == [[0, vertices]]
    assert (found.mean_distance, found.effective_diameter) == (0, 0)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"log2m": 3}, "log2m=3"), ({"log2m": 17}, "log2m=17"), ({"direction": "both"}, "direction='both'")],
)
def test_options_are_checked(options, words):
    with pytest.raises(errors.OptionError, match=words):
        dg.neighborhood_function(dg.Graph.from_edges({"src": [0], "dst": [1]}), **options)
