"""Leiden: known optima, connected communities, levels, quality beside igraph's, and what it refuses."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import PLACES, real_graph

import dgraph as dg
from dgraph.errors import ColumnError, OptionError, RoomError, RunError, WeightError
from dgraph.testing.strategies import small_graphs
from dgraph.testing.verify import verify

pytestmark = pytest.mark.usefixtures("several_threads")
SEARCHES = {"leiden": dg.leiden, "louvain": dg.louvain}


@settings(max_examples=40)
@given(
    small_graphs(),
    st.sampled_from(PLACES),
    st.sampled_from([*SEARCHES]),
    st.sampled_from([("modularity", 1.0), ("modularity", 2.5), ("cpm", 0.3)]),
    st.booleans(),
)
def test_communities_pass_verification_and_report_their_modularity(drawn, place, name, how, weighted):
    frame, kwargs = drawn
    graph, (objective, resolution) = dg.Graph.from_edges(frame, **kwargs, **place), how
    options = {"objective": objective, "resolution": resolution, "weighted": weighted and graph.weight is not None}
    result = SEARCHES[name](graph, **options)
    verify(name, graph, result, **options)
    if objective == "modularity":
        found = dg.modularity(graph, result, resolution=resolution, weighted=options["weighted"])
        assert result.totals["modularity"] == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_the_karate_club_reaches_its_known_optimum(seed):
    graph = dg.from_networkx(nx.karate_club_graph())
    assert dg.leiden(graph, random_seed=seed).totals["modularity"] > 0.4188
    assert dg.louvain(graph, random_seed=seed).totals["modularity"] >= 0.4155
    if seed == 0:
        assert max(dg.leiden(graph, random_seed=s).totals["modularity"] for s in range(10)) == pytest.approx(
            0.41979, abs=1e-5
        )


def test_cliques_in_a_ring_are_communities():
    ring = dg.from_networkx(nx.ring_of_cliques(12, 6))
    expected = np.arange(72) // 6 * 6
    for name, search in SEARCHES.items():
        assert search(ring).by_number("community").tolist() == expected.tolist(), name
    for name, search in SEARCHES.items():  # a density between that inside a clique and that of two cliques
        found = search(ring, objective="cpm", resolution=0.6)
        assert found.by_number("community").tolist() == expected.tolist(), name
        assert found.totals["cpm"] == pytest.approx(12 * 15 * (1 - 0.6))


@pytest.mark.parametrize("place", PLACES)
def test_planted_communities_are_found_on_any_partitioning(place):
    peer = nx.planted_partition_graph(8, 40, 0.4, 0.01, seed=3)
    edges = pd.DataFrame(peer.edges(), columns=["src", "dst"])
    graph = dg.Graph.from_edges(edges, directed=False, vertices=320, **place)
    assert dg.leiden(graph).by_number("community").tolist() == (np.arange(320) // 40 * 40).tolist()


def test_directed_modularity_follows_directions():
    """Leicht and Newman: two groups that only directions tell apart."""
    draw = np.random.default_rng(1)
    u, v = draw.integers(0, 40, (2, 600))
    directed = dg.Graph.from_edges({"src": u, "dst": v})
    result = dg.leiden(directed)
    peer = nx.MultiDiGraph(list(zip(u.tolist(), v.tolist(), strict=True)))
    groups = result.compute().groupby("community")["vertex"].apply(set).tolist()
    assert result.totals["modularity"] == pytest.approx(nx.community.modularity(peer, groups), abs=1e-12)


def test_weights_draw_vertices_together():
    edges = {"src": [0, 1, 2, 3], "dst": [1, 2, 3, 0], "weight": [9.0, 1.0, 9.0, 1.0]}
    graph = dg.Graph.from_edges(edges, directed=False)
    assert dg.leiden(graph, weighted=True).by_number("community").tolist() == [0, 0, 2, 2]
    zero = dg.Graph.from_edges({**edges, "weight": [1.0, 0.0, 1.0, 0.0]}, directed=False)
    assert dg.leiden(zero, weighted=True, objective="cpm", resolution=1e-9).by_number("community").tolist() == [
        0,
        0,
        2,
        2,
    ]


@pytest.mark.parametrize("parts", [1, 3])
def test_levels_go_from_fine_to_coarse(parts):
    graph = dg.rmat(scale=10, edge_factor=8, seed=2, parts=parts)
    for search in SEARCHES.values():
        result = search(graph)
        levels = [frame.compute().sort_values("vertex")["community"].to_numpy() for frame in result.levels]
        assert (levels[-1] == result.by_number("community")).all()
        for fine, coarse in pairwise(levels):
            assert len(np.unique(fine)) >= len(np.unique(coarse))
            assert pd.Series(coarse).groupby(fine).nunique().max() == 1
        if search is dg.leiden:
            for labels in levels:
                verify("leiden", graph, {"community": labels}, at_least=-1.0)
        assert len(search(graph, max_levels=1).levels) == 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_deterministic_communities_do_not_depend_on_partitions_and_threads(weighted, directed):
    draw = np.random.default_rng(5)
    edges = {"src": draw.integers(0, 300, 3000), "dst": draw.integers(0, 300, 3000), "weight": draw.random(3000)}
    for name, search in SEARCHES.items():
        found = [
            search(
                dg.Graph.from_edges(edges, directed=directed, vertices=300, **place),
                weighted=weighted,
                deterministic=True,
                random_seed=seed,
            ).by_number("community")
            for place, seed in (*((place, 1) for place in PLACES), ({}, 2))
        ]
        assert all((one == found[0]).all() for one in found[:-1]), name
        assert (found[0] != found[-1]).any(), name


def test_results_report_the_options_of_the_search():
    found = dg.leiden(dg.grid(rows=3, cols=3), random_seed=7)
    assert repr(found.options) == "engine='local', device='cpu', random_seed=7"


def test_the_same_seed_gives_the_same_communities_on_one_thread(monkeypatch):
    monkeypatch.setattr("dgraph.native.team.LOOKS", 1 << 40)
    graph = dg.rmat(scale=10, edge_factor=8, seed=2)
    first, second, other = (dg.leiden(graph, random_seed=s).by_number("community") for s in (1, 1, 2))
    assert (first == second).all()
    assert (first != other).any()


def test_quality_is_that_of_igraph():
    igraph = pytest.importorskip("igraph")
    for name in ("jazz", "email-Eu-core", "PGPgiantcompo", "facebook_combined"):
        real = real_graph(name)
        edges = real.frame[["src", "dst"]]
        graph = dg.Graph.from_edges(edges, directed=False, loops="drop", repeats="first")
        peer = igraph.Graph(edges=list(zip(*(graph.edges.compute()[end] for end in ("src", "dst")), strict=True)))
        theirs = np.mean([peer.community_leiden("modularity", n_iterations=2).modularity for _ in range(4)])
        ours = np.mean([dg.leiden(graph, random_seed=seed).totals["modularity"] for seed in range(4)])
        assert ours >= 0.995 * theirs, name


def test_graphs_without_edges_have_one_community_per_vertex():
    for search in SEARCHES.values():
        alone = search(dg.Graph.from_edges({"src": np.zeros(0, int), "dst": np.zeros(0, int)}, vertices=4))
        assert (alone.by_number("community").tolist(), alone.totals) == ([0, 1, 2, 3], {"modularity": 0.0})
        empty = search(dg.Graph.from_edges({"src": np.zeros(0, int), "dst": np.zeros(0, int)}))
        assert (len(empty.compute()), len(empty.levels), empty.totals) == (0, 1, {"modularity": 0.0})


def test_bad_input_is_refused():
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2], "weight": [1.0, -2.0]})
    for search in SEARCHES.values():
        for error, text, options in (
            (OptionError, "resolution=0 ", {"resolution": 0}),
            (OptionError, "objective='density'", {"objective": "density"}),
            (OptionError, "max_levels=0", {"max_levels": 0}),
            (OptionError, "tol=-1", {"tol": -1}),
            (OptionError, "random_seed=-1", {"random_seed": -1}),
            (OptionError, "deterministic=1", {"deterministic": 1}),
            (OptionError, "engine='gas'", {"engine": "gas"}),
            (OptionError, "device='cuda'", {"device": "cuda"}),
            (WeightError, "-2", {"weighted": True}),
        ):
            with pytest.raises(error) as raised:
                search(graph, **options)
            assert text in str(raised.value), raised.value
        with pytest.raises(ColumnError, match="needs weights"):
            search(dg.Graph.from_edges({"src": [0], "dst": [1]}), weighted=True)


@pytest.mark.parametrize("name", SEARCHES)
def test_an_earlier_division_that_is_too_coarse_breaks_up(name):
    ring, search = dg.from_networkx(nx.ring_of_cliques(12, 6)), SEARCHES[name]
    pairs = np.arange(72) // 12 * 12
    assert search(ring, previous=pairs, objective="cpm", resolution=0.6).totals["cpm"] >= 0
    light = dg.Graph.from_edges({"src": [0], "dst": [1], "weight": [0.01]}, directed=False)
    assert search(light, weighted=True, objective="cpm", previous=[0, 0]).by_number("community").tolist() == [0, 1]
    alone = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]}, vertices=5, directed=False)
    assert search(alone, previous=[0] * 5).by_number("community").tolist() == [0, 0, 0, 3, 4]


@pytest.mark.parametrize(("name", "most"), [("leiden", 1 / 2), ("louvain", 1 / 3)])
def test_few_changes_of_a_graph_take_few_moves_and_leave_other_communities_alone(name, most):
    random, size, search = np.random.default_rng(3), 2000, SEARCHES[name]
    source = random.integers(0, size, 8 * size)
    inside, other = source // 50 * 50 + random.integers(0, 50, 8 * size), random.integers(0, size, 8 * size)
    destination = np.where(random.random(8 * size) < 0.9, inside, other)
    graph = dg.Graph.from_edges({"src": source, "dst": destination}, directed=False, vertices=size)
    more = {"src": np.array([3, 7, 11]), "dst": np.array([60, 70, 80])}
    changed, before = graph.updated(added=more), search(graph, deterministic=True)
    fresh, on = search(changed, deterministic=True), search(changed, deterministic=True, previous=before)
    assert on.report["edges"].sum() <= most * fresh.report["edges"].sum()
    assert on.totals["modularity"] >= fresh.totals["modularity"] - 1e-3
    labels, found = before.by_number("community"), on.by_number("community")
    untouched = ~np.isin(labels, labels[np.concatenate([*more.values()])])
    assert untouched.sum() > size / 2 and np.array_equal(labels[untouched], found[untouched])


@pytest.mark.parametrize("weight", [1e-170, 1.0, 1e155, 1e300])
@pytest.mark.parametrize("directed", [False, True])
def test_the_scale_of_weights_does_not_matter(weight, directed):
    edges = {"src": [0, 1, 2, 3, 4, 5, 2], "dst": [1, 2, 0, 4, 5, 3, 3], "weight": [weight] * 7}
    graph = dg.Graph.from_edges(edges, directed=directed)
    for search in SEARCHES.values():
        found = search(graph, weighted=True)
        assert found.by_number("community").tolist() == [0, 0, 0, 3, 3, 3]
        assert found.totals["modularity"] == pytest.approx(dg.modularity(graph, [0, 0, 0, 1, 1, 1]))
    huge = dg.Graph.from_edges({**edges, "weight": [1e308] * 7})
    with pytest.raises(WeightError, match="scale them down"):
        dg.leiden(huge, weighted=True)


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float64])
@pytest.mark.parametrize("weight", [1, 1 << 30, 1 << 31])  # the last two add up to more than 2**32 and 2**31
def test_the_type_of_weights_does_not_matter(weight, kind):
    if weight > np.iinfo(np.uint8).max and kind == np.uint8:
        kind = np.uint32
    ring = nx.ring_of_cliques(12, 6)
    ends = np.array(ring.edges)
    edges = {"src": ends[:, 0], "dst": ends[:, 1], "weight": np.full(len(ends), weight, kind)}
    found = dg.leiden(dg.Graph.from_edges(edges, directed=False), weighted=True)
    assert found.by_number("community").tolist() == (np.arange(72) // 6 * 6).tolist()
    assert found.totals["modularity"] == pytest.approx(dg.leiden(dg.from_networkx(ring)).totals["modularity"])


@pytest.mark.parametrize("parts", [1, 3])
def test_communities_are_columns_of_later_runs(parts):
    class Same(dg.VertexProgram):
        kind = "synchronous"
        group = dg.VertexColumn("int64")
        same = dg.State("int64")
        message = dg.Message("int64", dg.SUM)

        def send(group):
            return group

        def apply(message):
            return message

        def stop(round):
            return round == 1

    graph = dg.rmat(scale=7, edge_factor=4, seed=1, parts=parts)
    found = dg.leiden(graph)
    ran = dg.run(graph, Same(), columns={"group": found.column("community")})
    edges, group = graph.edges.compute(), found.by_number("community")
    expected = np.bincount(edges.iloc[:, 1], group[edges.iloc[:, 0]], graph.num_vertices)
    assert ran.by_number("same").tolist() == expected.tolist()


def test_lost_communities_are_found_again_or_refused(client):
    """A second search may find others, so that the rest of the answer would be of the first."""
    graph = dg.rmat(scale=8, edge_factor=8, seed=1, client=client)
    for deterministic in (True, False):
        found = dg.leiden(graph, deterministic=deterministic)
        before = found.by_number("community")
        for one in (found, found.every_level):
            for future in one._held.results:
                future.cancel(force=True)
        if deterministic:
            assert (found.by_number("community") == before).all()
            assert len(found.levels) > 1
        else:
            with pytest.raises(RunError, match="run again, or pass deterministic=True"):
                found.by_number("community")


def test_a_lack_of_memory_is_a_room_error(monkeypatch):
    def fail(*_):
        raise MemoryError("Unable to allocate 80 GiB")

    monkeypatch.setattr("dgraph.communities.detection.row_sums", fail)
    with pytest.raises(RoomError, match=r"communities of a graph: not enough memory to find them.*80 GiB"):
        dg.leiden(dg.grid(rows=3, cols=3))


def test_communities_on_a_cluster_are_verified(client):
    graph = dg.rmat(scale=9, edge_factor=8, seed=1, client=client)
    for name, search in SEARCHES.items():
        result = search(graph)
        verify(name, graph, result)
        assert result.levels[-1].compute(scheduler=client)["community"].nunique() == len(
            np.unique(result.by_number("community"))
        )
        assert result.totals["modularity"] == pytest.approx(dg.modularity(graph, result), abs=1e-9)
