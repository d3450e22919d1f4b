"""Verifiers take the options of their operations, by the user's ids, and refuse others."""

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.errors import AnswerError, IdError, OptionError
from dgraph.testing.verify import Edges, verify


@pytest.fixture(scope="module")
def graph():
    ends = np.random.default_rng(5).integers(0, 40, (90, 2)) + 100
    return dg.Graph.from_edges(pd.DataFrame(ends, columns=["src", "dst"]).assign(w=0.5), weight="w")


def test_the_verifier_checks_the_main_core_by_default(graph):
    main = dg.k_core(graph)
    verify("k_core", graph, main)
    for k in (1, 9):  # a core that is too low, and an empty one
        with pytest.raises(AnswerError, match="highest"):
            verify("k_core", graph, dg.k_core(graph, k))
    wrong = main.compute()
    wrong.loc[wrong.index[wrong["in_core"]][0], "in_core"] = False
    with pytest.raises(AnswerError):
        verify("k_core", graph, wrong)
    with pytest.raises(OptionError, match="k=-1"):
        verify("k_core", graph, main, k=-1)


def test_options_of_ranks_take_the_users_ids(graph):
    first, second = graph.numbering.ids()[:2].tolist()
    for options in (
        {"personalization": {first: 1}},
        {"dangling": {second: 2, first: 1}},
        {"personalization": [{first: 1}, {second: 3, first: 1}]},
    ):
        result = dg.pagerank(graph, tol=1e-9, max_iter=500, **options)
        verify("pagerank", graph, result, **options)
        verify("pagerank", graph, result.compute(), **options)
        with pytest.raises(AnswerError):
            verify("pagerank", graph, result, **{**options, "alpha": 0.5})
    with pytest.raises(AnswerError, match="2 values"):
        verify("pagerank", graph, result)
    with pytest.raises(IdError, match="no vertex 7"):
        verify("pagerank", graph, result, personalization={7: 1})
    for wrong in ({"personalization": {first: -1}}, {"dangling": {}}, {"dangling": "where"}):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            verify("pagerank", graph, result, **wrong)


@pytest.mark.parametrize("operation", ["bfs", "sssp"])
def test_searches_with_a_target_or_limit_are_verified(graph, operation):
    source = 100
    find = getattr(dg, operation)
    whole = find(graph, source)
    frame = whole.compute()
    unit = 1 if operation == "bfs" else 0.5
    target = int(frame.loc[frame["distance"] == 2 * unit, "vertex"].iloc[0])
    assert frame["distance"].replace(np.inf, 0).max() > 2 * unit
    cases = [{"target": target}, *([{"depth_limit": 1}, {"depth_limit": 1, "target": target}] if unit == 1 else [])]
    for options in cases:
        result = find(graph, source, **options)
        verify(operation, graph, result, source=source, **options)
        with pytest.raises(AnswerError):
            verify(operation, graph, result, source=source)
        with pytest.raises(AnswerError, match="where the search ends"):
            verify(operation, graph, whole, source=source, **options)
    near = find(graph, source, target=target).compute()
    near.loc[near["vertex"] == target, ["distance", "predecessor"]] = [np.inf, None]
    with pytest.raises(AnswerError):
        verify(operation, graph, near, source=source, target=target)
    for wrong in ({"source": 7}, {"source": source, "target": 7}):
        with pytest.raises(IdError, match="no vertex 7"):
            verify(operation, graph, whole, **wrong)


def test_missing_and_unknown_options_are_refused(graph):
    found = dg.bfs(graph, 100)
    with pytest.raises(OptionError, match="source= is missing"):
        verify("bfs", graph, found)
    with pytest.raises(OptionError, match=r'mean= is missing: .* has it as totals\["mean"\]'):
        verify("factorize", graph, {"factors": np.zeros((1, 2))}, rmse=1.0)
    with pytest.raises(OptionError, match=r"depth= is not an option .*depth_limit"):
        verify("bfs", graph, found, source=100, depth=3)
    with pytest.raises(OptionError, match=r"distance= is not an option"):
        verify("bfs", graph, found, source=100, distance=3)
    with pytest.raises(IdError, match="no vertex 2"):
        verify("bfs", Edges(np.array([0]), np.array([1]), 2), {"distance": np.zeros(2)}, source=2)


def test_a_fixed_number_of_rounds_is_verified_for_pagerank_only(graph):
    """What `tol=None` asks for: ranks are as near to the fixed point as these lead, others may be anywhere."""
    verify("pagerank", graph, dg.pagerank(graph, tol=None, max_iter=9), tol=None, max_iter=9)
    for operation, options in ((dg.hits, {}), (dg.katz, {"alpha": 0.01})):
        result = operation(graph, tol=None, max_iter=9, **options)
        with pytest.raises(OptionError, match="tol=None runs a fixed number of rounds"):
            verify(operation.__name__, graph, result, tol=None, **options)


def test_katz_with_beta_zero_is_verified(graph):
    verify("katz", graph, dg.katz(graph, beta=0), beta=0)
