"""What strangers tripped over: each line was wrong once."""

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.errors import ColumnError, InputError, OptionError
from dgraph.ops.wcc import Components


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


def test_denormal_weights_are_added_exactly():
    found = dg.sssp(weighted([(0, 1, 1e-310), (1, 2, 1e-310)]), 0).compute()
    assert found["distance"].tolist() == [0, 1e-310, 2e-310]


def test_deterministic_weighted_pagerank_is_the_same_bits_for_any_partitions():
    rng = np.random.default_rng(1)
    edges = np.column_stack([rng.integers(0, 60, (3000, 2)), rng.random(3000)])
    frame = pd.DataFrame(edges, columns=["src", "dst", "weight"]).astype({"src": int, "dst": int})
    ranks = [
        dg.pagerank(graph, weighted=True, engine=dg.Gas(deterministic=True)).compute()["pagerank"]
        for graph in (dg.Graph.from_edges(frame, weight="weight", parts=parts) for parts in (1, 2, 4))
    ]
    assert ranks[0].equals(ranks[1])
    assert ranks[0].equals(ranks[2])


def test_a_solver_does_not_ignore_a_number_of_rounds():
    refusal = r"max_rounds=1 is not available with engine='local', which does not run the program in rounds"
    with pytest.raises(OptionError, match=refusal):
        dg.run(weighted([(0, 1, 1.0)]), Components(), engine="local", max_rounds=1)


def test_engines_without_rounds_need_plugins(client):
    G = weighted([(0, 1, 1.0), (1, 2, 1.0)], parts=2, client=client)
    with pytest.raises(OptionError, match="cannot run with direct_exchange=False"):
        dg.wcc(G, engine=dg.BulkAsync(optimizations=dg.Optimizations(direct_exchange=False)))


def test_sssp_accepts_local_rounds():
    G = weighted([(0, 1, 1.0), (1, 2, 1.0)], parts=2)
    found = dg.sssp(G, 0, engine=dg.BulkAsync(local_rounds=2)).compute()
    assert found["distance"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("parts", [1, 2])
def test_columns_of_a_result_that_lists_some_vertices_are_refused(parts):
    ring = [(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (2, 3, 1.0)]
    found = dg.k_core(weighted(ring, parts=parts), 2, remove=True)
    assert found.compute()["vertex"].tolist() == [0, 1, 2]
    for ask in (found.column, found.by_number):
        with pytest.raises(ColumnError, match="lists only some vertices"):
            ask("in_core")


@pytest.mark.parametrize("several", [pd.Series, pd.Index, np.array, set, tuple, lambda ids: (one for one in ids)])
def test_vertices_come_in_any_collection(several):
    G = weighted([(0, 1, 1.0), (2, 3, 1.0)])
    for operation in (dg.bfs, dg.sssp):
        assert operation(G, several([0, 2])).compute()["distance"].tolist() == [0, 1, 0, 1]
    assert dg.matching(G, left=several([0, 2])).compute()["mate"].tolist() == [1, 0, 3, 2]
    assert dg.matching(weighted([(0, 1, 1.0)]), left=0).compute()["mate"].tolist() == [1, 0]
    assert dg.bfs(G, np.array(2)).compute()["distance"].tolist() == [np.inf, np.inf, 0, 1]


def test_numpy_integers_are_accepted_as_integers():
    G = weighted([(0, 1, 1.0), (1, 2, 1.0)], parts=np.int8(2))
    assert np.isinf(dg.bfs(G, 0, depth_limit=np.int64(1)).compute()["distance"][2])
    assert dg.k_core(G, np.uint8(1)).compute()["in_core"].all()
    assert dg.cdlp(G, max_iter=np.int32(3), engine=dg.Gas(max_rounds=np.int64(1))).rounds == 1
    assert dg.label_propagation(G, random_seed=np.int64(1)).compute()["label"].nunique() == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda G: dg.bfs(G, pd.DataFrame({"a": [0]})), r"source= is a table with the columns \['a'\]: pass one"),
        (lambda G: dg.sssp(G, []), r"source=\[\] is empty"),
        (lambda G: dg.sssp(G, 0, columns={"source": {0: True}}), "columns=<dict>: sssp has no such option; .*target"),
        (lambda G: dg.wcc(G, random_seed=1), "random_seed=1: wcc has no such option; its options are previous, engine"),
        (lambda G: dg.pagerank(G, reset_probability=0.15), "reset_probability=0.15: pagerank has .* write alpha=0.85,"),
        (lambda G: dg.pagerank(G, resetProbability="x"), "write alpha=1 - resetProbability"),
        (lambda G: dg.katz(G, reset_probability=0.15), "katz has no such option; its options are"),
        (lambda G: dg.pagerank(dg.rmat(scale=3), weighted=True), "pagerank needs weights"),
        (lambda G: dg.bfs(G, 1.5), "bfs: source=1.5"),
        (lambda G: dg.cdlp(G, engine="bulk_async"), "cannot run cdlp"),
        (lambda G: dg.cdlp(G, max_iter=2.0), "max_iter=2.0 must be an integer >= 1"),
        (lambda G: dg.bfs(G, 0, depth_limit=True), "depth_limit=True must be an integer >= 0, or None"),
    ],
)  # fmt: skip
def test_errors_name_the_operation_that_was_called(call, words):
    with pytest.raises(InputError, match=words):
        call(weighted([(0, 1, 1.0), (1, 2, 1.0)]))


@pytest.mark.parametrize(
    ("options", "engine"),
    [
        ({"engine": dg.BlockDescent(order="priority", block_size=2)}, "block_descent"),
        ({"engine": dg.BulkAsync(local_rounds=1)}, "bulk_async"),
        ({"engine": dg.Gas(max_rounds=50)}, "gas"),
        ({"checkpoint": "kept"}, "gas"),
    ],
    ids=["block_descent", "bulk_async", "max_rounds", "checkpoint"],
)
def test_every_engine_finds_valid_predecessors(options, engine, tmp_path):
    if "checkpoint" in options:
        options = {"checkpoint": tmp_path}
    found = dg.sssp(weighted([(0, 1, 1.0), (1, 2, 1.0), (0, 2, 3.0)]), 0, **options)
    assert found.compute()["predecessor"].tolist()[1:] == [0, 1]
    assert found.report.options["engine"] == engine
