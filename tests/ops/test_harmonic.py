"""Harmonic centrality against NetworkX; `test_closeness.py` has what it shares with closeness."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.ops.harmonic import harmonic
from dgraph.testing.verify import verify


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
def test_values_match_networkx(parts, weighted):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.integers(0, 40, (90, 2)), columns=["src", "dst"]).assign(weight=rng.integers(1, 5, 90))
    graph = dg.Graph.from_edges(frame, weight="weight", vertices=42, parts=parts)
    peer = nx.MultiDiGraph()
    peer.add_nodes_from(range(42))
    peer.add_weighted_edges_from(frame.to_numpy().tolist())
    for direction, seen in (("in", peer), ("out", peer.reverse())):
        result = harmonic(graph, weighted=weighted, direction=direction)
        expected = nx.harmonic_centrality(seen, distance="weight" if weighted else None)
        found = result.compute()
        np.testing.assert_allclose(found["harmonic"], [expected[v] for v in found["vertex"]], rtol=1e-12)
        verify("harmonic", graph, result, weighted=weighted, direction=direction)
