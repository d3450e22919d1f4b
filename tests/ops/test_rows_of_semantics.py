"""docs/semantics.md: the rows of its tables that are about one operation each, and those where others differ."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from test_semantics import PAGE, ROWS, answer, cells, edges_of

import dgraph as dg
from dgraph.errors import DgraphError, OptionError, UnsettledWarning
from dgraph.testing.verify import verify

FRAME = edges_of("pagerank", 3)


def graph_of(*edges, **options):
    frame = pd.DataFrame(edges, columns=["src", "dst", "weight"][: len(edges[0])])
    return dg.Graph.from_edges(frame, weight="weight" if len(edges[0]) == 3 else None, **options)


def whole():
    return dg.Graph.from_edges(FRAME, weight="weight", vertices=26)


def isolated_vertex():
    ranks, katz = dg.pagerank(whole(), tol=1e-12).compute(), dg.katz(whole(), beta=2, normalized=False).compute()
    assert ranks["pagerank"][25] == ranks["pagerank"].min() > 0
    assert katz["katz"][25] == 2
    assert dg.eigenvector(whole(), tol=0, max_iter=300).compute()["eigenvector"][25] < 1e-9
    assert dg.k_core(whole(), 0).compute()["in_core"][25]
    assert not dg.k_core(whole(), 1).compute()["in_core"][25]


def of_several_predecessors():
    ties = graph_of((0, 2, 1), (0, 1, 1), (1, 3, 1), (2, 3, 1), (4, 0, 0), (0, 4, 0), (3, 4, 1))
    for found in (dg.bfs(ties, 0), dg.sssp(ties, 0)):
        assert found.compute()["predecessor"].tolist() == [pd.NA, 0, 0, 1, 0]


def several_sources():
    path = graph_of((0, 1, 2.0), (1, 2, 2.0), (3, 2, 1.0), (2, 4, 1.0))
    for found, distances in ((dg.bfs(path, [0, 3]), [0, 1, 1, 0, 2]), (dg.sssp(path, [0, 3]), [0, 2, 1, 0, 2])):
        assert found.compute()["distance"].tolist() == distances
        assert found.compute()["predecessor"][[0, 3]].isna().all()
    each = dg.sssp(path, [0, 3], per_source=True).compute()["distance"]
    assert np.stack(each).T.tolist() == [[0, 2, 4, np.inf, 5], [np.inf, np.inf, 1, 0, 2]]


def target():
    path = graph_of((0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0))
    for found in (dg.bfs(path, 0, target=1), dg.sssp(path, 0, target=1)):
        assert found.compute()["distance"].tolist() == [0, 1, np.inf, np.inf]
    with pytest.raises(OptionError, match="negative weights"):
        dg.sssp(graph_of((0, 1, -1.0)), 0, target=1)


def limits():
    assert dg.bfs(graph_of((0, 1), (1, 2)), 0, depth_limit=1).compute()["distance"].tolist() == [0, 1, np.inf]


def no_out_edge():
    ends, jumps = graph_of((0, 1), (0, 2), (1, 2)), {0: 1.0}
    expected = {
        None: nx.pagerank(nx.DiGraph([(0, 1), (0, 2), (1, 2)]), personalization=jumps, tol=1e-12),
        "uniform": nx.pagerank(
            nx.DiGraph([(0, 1), (0, 2), (1, 2)]), personalization=jumps, dangling={0: 1, 1: 1, 2: 1}, tol=1e-12
        ),
        "none": {0: 0.15, 1: 0.15 * 0.425, 2: 0.15 * 0.425 * 1.85},
    }
    expected["personalization"] = expected[None]
    for dangling, ranks in expected.items():
        found = dg.pagerank(ends, personalization=jumps, dangling=dangling, tol=1e-13, max_iter=500).compute()
        assert np.allclose(found["pagerank"], [ranks[v] for v in range(3)], rtol=1e-8), dangling
    elsewhere = dg.pagerank(ends, dangling={1: 3}, tol=1e-13, max_iter=500).compute()
    theirs = nx.pagerank(nx.DiGraph([(0, 1), (0, 2), (1, 2)]), dangling={1: 3}, tol=1e-13, max_iter=500)
    assert np.allclose(elsewhere["pagerank"], [theirs[v] for v in range(3)], rtol=1e-8)


def ends():
    for tol in (0, None):
        assert dg.pagerank(whole(), tol=tol, max_iter=7).rounds == 7
    settled = dg.pagerank(whole(), tol=1e-3)
    assert settled.totals["change"] < 1e-4 * 26 and settled.rounds < 100
    closest = dg.pagerank(whole(), tol=0, max_iter=1000).compute()["pagerank"]
    split = dg.Graph.from_edges(FRAME, weight="weight", vertices=26, parts=2)
    for engine in ("bulk_async", dg.BlockDescent(operator="push")):
        found = dg.pagerank(split, tol=1e-5, engine=engine).compute()["pagerank"]
        assert np.abs(found - closest).sum() <= 1e-5
    assert np.isclose(dg.hits(whole()).compute()["hub"].sum(), 1)
    assert dg.hits(whole(), tol=0, max_iter=6).rounds == 12  # of two rounds each
    with pytest.raises(OptionError, match="did not converge"):
        dg.katz(whole(), alpha=0.9)
    assert dg.eigenvector(whole(), tol=0, max_iter=7).rounds == 7
    assert dg.eigenvector(whole(), tol=1e-3).totals["change"] < 1e-3 * 26
    assert dg.cdlp(whole(), max_iter=4).rounds == 4
    assert dg.label_propagation(whole()).totals["restless"] == 0
    sides = edges_of("matching", 1)
    verify("matching", dg.Graph.from_edges(sides), dg.matching(dg.Graph.from_edges(sides)))  # maximal, too


def what_it_is():
    for operation in ("wcc", "scc", "triangles", "lcc", "core_number", "k_core"):
        verify(operation, whole(), getattr(dg, operation)(whole()))
    verify("maximal_independent_set", whole(), dg.maximal_independent_set(whole(), random_seed=4), random_seed=4)
    verify("coloring", whole(), dg.coloring(whole(), random_seed=4), random_seed=4)
    acyclic = dg.Graph.from_edges(edges_of("topological_generations", 3))
    verify("topological_generations", acyclic, dg.topological_generations(acyclic))
    cores = dg.core_number(whole()).compute()["core"]
    assert dg.k_core(whole()).compute()["in_core"].equals((cores == cores.max()).rename("in_core"))
    assert dg.k_core(whole(), 2, remove=True).compute()["vertex"].tolist() == np.flatnonzero(cores >= 2).tolist()


def ties():
    tied = graph_of((0, 2), (1, 2), directed=False)
    assert dg.cdlp(tied, max_iter=1).compute()["label"].tolist() == [2, 2, 0]
    random = (
        ("label_propagation", "label", FRAME),
        ("maximal_independent_set", "in_set", FRAME),
        ("coloring", "color", pd.DataFrame({"src": range(21), "dst": np.arange(1, 22) % 21})),
        ("matching", "mate", edges_of("matching", 2)),
    )
    for operation, column, frame in random:
        graph = dg.Graph.from_edges(frame)
        drawn = [getattr(dg, operation)(graph, random_seed=seed).by_number(column).tolist() for seed in (1, 1, 2)]
        assert drawn[0] == drawn[1] != drawn[2]


def of_several_best_communities():
    path = graph_of((0, 1), (1, 2), directed=False)  # as good: {0, 1} and {1, 2}
    for operation in (dg.louvain, dg.leiden):
        assert operation(path, objective="cpm", resolution=0.9, max_levels=1).by_number("community").tolist() == [
            0,
            0,
            2,
        ]


CHECKS = {
    "isolated vertex": isolated_vertex,
    "of several predecessors": of_several_predecessors,
    "several sources": several_sources,
    "`target=`": target,
    "limits": limits,
    "no out-edge": no_out_edge,
    "ends": ends,
    "what it is": what_it_is,
    "ties": ties,
    "of several best communities": of_several_best_communities,
}


def test_every_row_of_semantics_has_a_test():
    assert {row for _, row in cells()} == {*CHECKS, *ROWS, "columns"}


@pytest.mark.parametrize("row", CHECKS)
def test_a_row_of_semantics_is_true(row):
    CHECKS[row]()


def test_a_list_of_personalizations_gives_a_column_of_vectors():
    assert "a vector for a list" in cells()["pagerank", "columns"]
    found = dg.pagerank(whole(), personalization=[{0: 1}, {1: 1}]).compute()["pagerank"]
    assert np.stack(found).shape == (26, 2)


# -- where others differ -----------------------------------------------------------------------------------------------


def peer(kind=nx.DiGraph):
    g = kind()
    g.add_nodes_from(range(26))
    g.add_weighted_edges_from(FRAME.itertuples(index=False))
    return g


def test_differences_from_other_libraries_are_as_documented():
    reads = nx.pagerank(peer(), tol=1e-12)
    assert np.allclose(dg.pagerank(whole(), weighted=True, tol=1e-13).compute()["pagerank"], list(reads.values()))
    assert not np.allclose(dg.pagerank(whole(), tol=1e-13).compute()["pagerank"], list(reads.values()))
    with pytest.raises(nx.PowerIterationFailedConvergence):
        nx.pagerank(peer(), max_iter=1)
    with pytest.warns(UnsettledWarning):
        assert dg.pagerank(whole(), max_iter=1).rounds == 1
    with pytest.raises(DgraphError):
        dg.katz(whole(), max_iter=1)
    assert 25 not in nx.single_source_shortest_path_length(peer(), 0)
    assert answer("bfs", FRAME)["distance"][25] == np.inf
    parts = dg.wcc(whole()).compute().groupby("component")["vertex"].agg(set)
    assert sorted(map(sorted, parts)) == sorted(map(sorted, nx.weakly_connected_components(peer())))
    assert all(min(members) == name for name, members in parts.items())
    assert not np.allclose(dg.lcc(whole()).compute()["lcc"], list(nx.clustering(peer()).values()))  # Fagiolo's
    both = dg.Graph.from_edges(FRAME, directed=False, repeats="first", vertices=26)
    assert np.allclose(dg.lcc(both).compute()["lcc"], list(nx.clustering(peer(nx.Graph)).values()))
    loop = dg.degrees(graph_of((0, 0), directed=False)).compute()["degree"].item()
    assert (loop, nx.Graph([(0, 0)]).degree[0]) == (1, 2)
    hubs, _ = nx.hits(peer(), tol=1e-12)
    assert np.allclose(dg.hits(whole(), weighted=True, tol=1e-13).compute()["hub"], list(hubs.values()))
    theirs = nx.katz_centrality(peer(), alpha=0.01, weight="weight", tol=1e-10)
    mine = dg.katz(whole(), alpha=0.01, weighted=True, tol=1e-12).compute()["katz"]
    assert np.allclose(mine, list(theirs.values()), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("scale", [1e-310, 1e-40, 1e40, 1e300])
def test_weights_count_in_proportion_however_small_or_large(scale, dtype):
    ranks = [
        dg.pagerank(
            dg.Graph.from_edges(FRAME.assign(weight=FRAME["weight"] * by), weight="weight"), weighted=True, dtype=dtype
        ).compute()["pagerank"]
        for by in (1.0, scale)
    ]
    assert np.allclose(*ranks, rtol=1e-9 if dtype == "float64" else 1e-5)


def test_predecessors_are_a_nullable_column():
    assert "nullable column" in PAGE
    assert str(dg.bfs(whole(), 0).compute()["predecessor"].dtype) == "Int64"
