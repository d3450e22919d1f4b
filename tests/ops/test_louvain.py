"""Louvain beside NetworkX's; what it shares with Leiden is tested in test_leiden.py."""

import networkx as nx
import numpy as np
import pytest

import dgraph as dg

pytestmark = pytest.mark.usefixtures("several_threads")


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_quality_is_that_of_networkx(directed, weighted):
    ours, theirs = [], []
    for seed in range(6):
        draw = np.random.default_rng(seed)
        ends = draw.integers(0, 12, (2, 900)) + 12 * draw.integers(0, 5, 900)
        ends = np.where(draw.random((2, 900)) < 0.1, draw.integers(0, 60, (2, 900)), ends)
        peer = (nx.DiGraph if directed else nx.Graph)()
        peer.add_weighted_edges_from(zip(*ends.tolist(), draw.integers(1, 9, 900).tolist(), strict=True))
        graph = dg.from_networkx(peer)
        weight = "weight" if weighted else None
        found = nx.community.louvain_communities(peer, weight=weight, seed=seed)
        theirs.append(nx.community.modularity(peer, found, weight=weight))
        ours.append(dg.louvain(graph, weighted=weighted, random_seed=seed).totals["modularity"])
    assert np.mean(ours) >= 0.99 * np.mean(theirs)


def test_a_higher_resolution_gives_more_communities():
    graph = dg.from_networkx(nx.karate_club_graph())
    counts = [len(np.unique(dg.louvain(graph, resolution=one).by_number("community"))) for one in (0.2, 1.0, 3.0)]
    assert counts == sorted(counts)
    assert counts[0] < counts[2]
