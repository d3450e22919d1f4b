"""Operations on real graphs against reference results that other libraries agreed on."""

import numpy as np
import pytest
from real_graphs import FILES, real_graph

import dgraph as dg

LARGE = {"wave", "usroads-48", "twitter"}
PLACES = ({}, {"parts": 3, "policy": "hybrid"}, {"parts": 2, "policy": "incoming"}, {"parts": 4, "policy": "cartesian"})
CASES = [(name, PLACES[i % len(PLACES)]) for i, name in enumerate(FILES) if name not in LARGE]


@pytest.fixture(params=CASES, ids=[f"{name}-{place.get('parts', 1)}" for name, place in CASES])
def case(request):
    name, place = request.param
    real = real_graph(name)
    return real, real.graph(**place)


def test_pagerank_matches_the_references(case):
    real, graph = case
    found = dg.pagerank(graph, tol=1e-14, max_iter=300).compute()["pagerank"]
    np.testing.assert_allclose(found, real.expected["pagerank"], atol=1e-9)


def test_bfs_matches_the_references(case):
    real, graph = case
    found = dg.bfs(graph, real.source).compute()
    level = np.where(np.isinf(found["distance"]), -1, found["distance"])
    assert level.tolist() == real.expected["bfs"].tolist()
    check_predecessors(real, found)


def test_sssp_matches_the_references(case):
    real, graph = case
    found = dg.sssp(graph, real.source).compute()
    expected = real.expected["sssp"].astype(float)
    np.testing.assert_allclose(found["distance"], np.where(expected < 0, np.inf, expected))
    check_predecessors(real, found)


def check_predecessors(real, found):
    """All that are reached have one, but the source; and it is strictly nearer, for these weights are above zero."""
    has = found["predecessor"].notna().to_numpy()
    assert has.tolist() == (np.isfinite(found["distance"]) & (found["vertex"] != real.source)).tolist()
    before = real.numbers(found["predecessor"][has]).astype(int)
    assert (found["distance"].to_numpy()[before] < found["distance"].to_numpy()[has]).all()


def test_wcc_matches_the_references(case):
    real, graph = case
    assert real.numbers(dg.wcc(graph).compute()["component"]).tolist() == real.expected["wcc"].tolist()


def test_scc_matches_the_references(case):
    real, graph = case
    expected = real.expected["scc" if real.directed else "wcc"]
    assert real.numbers(dg.scc(graph).compute()["component"]).tolist() == expected.tolist()


def test_cdlp_matches_the_references(case):
    real, graph = case
    label = dg.cdlp(graph).compute()["label"]
    found = label if isinstance(real.ids[0], int) else real.numbers(label)
    assert found.tolist() == real.expected["cdlp10"].tolist()


@pytest.mark.parametrize("k", [0, 2, 5])
def test_k_core_matches_the_references(case, k):
    real, graph = case
    assert dg.k_core(graph, k).compute()["in_core"].tolist() == (real.expected["core"] >= k).tolist()
