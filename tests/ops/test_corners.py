"""What strangers tripped over: each line was wrong once."""

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.errors import ColumnError, OptionError


def weighted(edges, **options):
    frame = pd.DataFrame(edges, columns=["src", "dst", "weight"])
    return dg.Graph.from_edges(frame, weight="weight", **options)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("more", [[], [(2, 4, -0.5)]])
def test_an_infinite_weight_is_no_path(parts, more):
    G = weighted([(0, 1, 1.0), (1, 2, 1.0), (0, 3, np.inf), (3, 5, 1.0), *more], parts=parts)
    found = dg.sssp(G, 0).compute().set_index("vertex")
    assert np.isinf(found.loc[[3, 5], "distance"]).all()
    assert found.loc[[0, 3, 5], "predecessor"].isna().all()
    assert found["predecessor"][2] == 1


def test_weights_near_the_smallest_float():
    found = dg.sssp(weighted([(0, 1, 1e-310), (1, 2, 1e-310)]), 0).compute()
    assert found["distance"].tolist() == [0, 1e-310, 2e-310]


def test_weighted_pagerank_to_the_last_bit():
    rng = np.random.default_rng(1)
    edges = np.column_stack([rng.integers(0, 60, (3000, 2)), rng.random(3000)])
    frame = pd.DataFrame(edges, columns=["src", "dst", "weight"]).astype({"src": int, "dst": int})
    ranks = [
        dg.pagerank(
            dg.Graph.from_edges(frame, weight="weight", parts=parts), weighted=True, deterministic=True
        ).compute()["pagerank"]
        for parts in (1, 2, 4)
    ]
    assert ranks[0].equals(ranks[1])
    assert ranks[0].equals(ranks[2])


@pytest.mark.parametrize("asked", [{"max_rounds": 1}, {"deterministic": True}, {"direction": "pull"}])
def test_a_solver_does_not_pass_over_what_was_asked(asked):
    with pytest.raises(OptionError, match='engine="local" has no rounds'):
        dg.wcc(weighted([(0, 1, 1.0)]), engine="local", **asked)


def test_engines_without_rounds_need_plugins(client):
    G = weighted([(0, 1, 1.0), (1, 2, 1.0)], parts=2, client=client)
    with pytest.raises(OptionError, match="cannot run with exchange='graph'"):
        dg.wcc(G, engine="bulk_async", exchange="graph")


def test_local_rounds_are_of_the_distances():
    G = weighted([(0, 1, 1.0), (1, 2, 1.0)], parts=2)
    found = dg.sssp(G, 0, engine="bulk_async", local_rounds=2).compute()
    assert found["distance"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("parts", [1, 2])
def test_a_result_of_some_vertices_says_so(parts):
    ring = [(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (2, 3, 1.0)]
    found = dg.k_core(weighted(ring, parts=parts), 2, remove=True)
    assert found.compute()["vertex"].tolist() == [0, 1, 2]
    for ask in (found.column, found.by_number):
        with pytest.raises(ColumnError, match="lists only some vertices"):
            ask("in_core")
