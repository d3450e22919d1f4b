"""Communities that several workers find together are as good as those that one finds, and no less connected."""

import numpy as np
import pytest
from distributed import Client, LocalCluster

import dgraph as dg
from dgraph.cluster.workers import Workers
from dgraph.communities.detection import Journal, detection
from dgraph.communities.spread_search import GatheredLevel, SpreadLevel, SpreadSearch
from dgraph.solvers.communities.shares import REFINING_TURNS, TURNS, Mover, Refiner
from dgraph.testing.verify import verify

NEVER, AT_ONCE = 0, 1 << 60  # how many edges one worker may gather
OPTIONS = {"engine": "auto", "device": "auto", "deterministic": False}


def search(graph, operation, most_edges, seed=0, objective="modularity", weighted=False, resolution=1.0):
    """The communities that a worker for each partition finds, and the search."""
    options = {**OPTIONS, "random_seed": seed}
    job = detection(graph, operation, resolution, objective, weighted, 20, 1e-4, options)
    found = SpreadSearch(
        job.max_levels, job.tol, np.random.default_rng(seed), workers=graph.workers, most_edges=most_edges
    )
    columns = () if job.weight is None else (job.weight,)
    held = graph.partitioned(("out",), columns).held
    level = found.first_level(held, job.weight, job.directed, graph.placement.bounds, job.null_model)
    return job.run(found, level, None, Journal()), found


def labels_of(result):
    return result.parts[0].columns["community"]


GRAPHS = {
    "rmat": lambda **how: dg.rmat(scale=10, edge_factor=8, seed=1, directed=False, **how),
    "directed": lambda **how: dg.rmat(scale=9, edge_factor=8, seed=1, directed=True, **how),
    "grid": lambda **how: dg.grid(rows=40, cols=40, **how),
    "weighted": lambda **how: dg.grid(rows=20, cols=20, weights=(1.0, 9.0), seed=2, **how),
}


@pytest.mark.parametrize("parts", [2, 8])
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("operation", ["louvain", "leiden"])
def test_communities_of_several_workers_are_as_good_as_those_of_one(operation, name, parts):
    weighted = name == "weighted"
    whole, spread = GRAPHS[name](), GRAPHS[name](parts=parts)
    alone = [getattr(dg, operation)(whole, random_seed=seed, weighted=weighted) for seed in range(3)]
    for most_edges in (AT_ONCE, NEVER):
        found = [search(spread, operation, most_edges, seed, weighted=weighted)[0] for seed in range(3)]
        for one in found:
            labels = labels_of(one)
            quality = dg.partition_quality(whole, labels, weighted=weighted)
            assert one.totals["modularity"] == pytest.approx(quality.modularity, abs=1e-9)
            assert operation == "louvain" or not quality.disconnected
            assert (labels <= np.arange(len(labels))).all(), "named by the smallest vertex"
        means = [np.mean([one.totals["modularity"] for one in some]) for some in (found, alone)]
        assert means[0] >= 0.97 * means[1]


@pytest.mark.parametrize("parts", [2, 8])
@pytest.mark.parametrize("length", [2, 4])
def test_neighbours_on_two_workers_do_not_change_places_for_ever(length, parts):
    """Each vertex joins the other, which has left; many paths, apart from each other, of one vertex on each worker."""
    count = 500
    here = np.arange(count * (length - 1))
    graph = dg.Graph.from_edges({"src": here, "dst": here + count}, directed=False, parts=parts)
    for operation in ("louvain", "leiden"):
        found, _ = search(graph, operation, NEVER)
        assert found.totals["modularity"] > (0.99 if length == 2 else 0.95) * (1 - 1 / count)


def test_a_vertex_moves_only_in_its_turn_even_if_a_neighbour_wakes_it():
    graph = GRAPHS["rmat"](parts=2)
    search = SpreadSearch(20, 1e-4, np.random.default_rng(0), workers=Workers(), most_edges=NEVER)
    job = detection(graph, "leiden", 1.0, "modularity", False, 20, 1e-4, {**OPTIONS, "random_seed": 0})
    held = graph.partitioned(("out",), ()).held
    level = search.first_level(held, None, False, graph.placement.bounds, job.null_model)
    labels = np.arange(level.vertices, dtype=np.uint32)
    movers = [Mover(share, labels, place, 2, seed=0) for place, share in enumerate(level.shares)]
    refiners = [Refiner(share, np.zeros_like(labels), seed=0) for share in level.shares]
    for shares, turns in ((movers, 2 * TURNS), (refiners, REFINING_TURNS)):
        moved = 0
        for number in range(turns):
            done = [share.turn(number).moves for share in shares]
            for share, moves, others in zip(shares, done, done[::-1], strict=True):
                assert (share.turn_of[moves.vertices] == number % TURNS).all()
                share.hear(others)
            moved += sum(len(moves.vertices) for moves in done)
        assert moved > level.vertices / 2


@pytest.mark.parametrize("policy", ["outgoing", "incoming", "cartesian", "hybrid", "metis"])
def test_reported_modularity_is_exact_for_any_policy(policy):
    graph = dg.rmat(scale=8, edge_factor=8, seed=1, directed=False, parts=4, policy=policy)
    for operation in ("louvain", "leiden"):
        found, _ = search(graph, operation, NEVER)
        assert found.totals["modularity"] == pytest.approx(dg.modularity(graph, labels_of(found)), abs=1e-9)


def test_levels_without_merges_are_left_out():
    """One of them goes on, and may join some; also where nobody does, there is one level."""
    graph = dg.grid(rows=6, cols=6, parts=3)
    for operation in ("louvain", "leiden"):
        for resolution in (0.5, 1e6):
            found, _ = search(graph, operation, AT_ONCE, resolution=resolution)
            counts = [len(np.unique(labels)) for labels in found.parts[0].columns.values()]
            assert counts == sorted(set(counts), reverse=True)
            assert (counts == [36]) == (resolution > 1)


def test_the_constant_potts_objective_matches_its_definition():
    graph = dg.grid(rows=12, cols=12, parts=3)
    found, _ = search(graph, "leiden", NEVER, objective="cpm", resolution=0.1)
    labels = labels_of(found)
    edges = graph.edges.compute()
    inside = (labels[edges.iloc[:, 0]] == labels[edges.iloc[:, 1]]).sum()
    sizes = np.bincount(labels)
    assert found.totals["cpm"] == pytest.approx(inside - 0.1 * (sizes * (sizes - 1) / 2).sum())
    assert dg.leiden(graph, objective="cpm", resolution=0.1).totals["cpm"] <= found.totals["cpm"] / 0.97


def test_levels_stay_with_the_workers_until_one_has_room():
    graph = GRAPHS["rmat"](parts=4)
    kinds = {AT_ONCE: [SpreadLevel, GatheredLevel], NEVER: [SpreadLevel, SpreadLevel]}
    for most_edges, expected in kinds.items():
        seen = []

        class Seen(SpreadSearch):
            def climb(self, level, labels, *, refines, depth=1):
                seen.append(type(level))  # noqa: B023
                return super().climb(level, labels, refines=refines, depth=depth)

        job = detection(graph, "louvain", 1.0, "modularity", False, 20, 1e-4, {**OPTIONS, "random_seed": 0})
        found = Seen(20, 1e-4, np.random.default_rng(0), workers=Workers(), most_edges=most_edges)
        held = graph.partitioned(("out",), ()).held
        found.search(found.first_level(held, None, False, graph.placement.bounds, job.null_model), None, refines=False)
        assert seen[:2] == expected
        assert len(found.rows) >= 4


def test_graphs_and_vertices_without_edges_keep_separate_communities():
    for edges, vertices in (({"src": [], "dst": []}, [3, 5, 7]), ({"src": [1, 2], "dst": [2, 3]}, [0, 9])):
        graph = dg.Graph.from_edges(edges, vertices=vertices, directed=False, parts=2)
        for operation in ("louvain", "leiden"):
            found, _ = search(graph, operation, NEVER)
            assert found.totals["modularity"] == pytest.approx(dg.modularity(graph, labels_of(found)))
            assert len(set(labels_of(found))) == 3


def test_a_search_from_earlier_communities_loses_no_quality():
    graph = GRAPHS["grid"](parts=4)
    begun, _ = search(graph, "leiden", AT_ONCE)
    _, codes = np.unique(labels_of(begun), return_inverse=True)
    job = detection(graph, "leiden", 1.0, "modularity", False, 20, 1e-4, {**OPTIONS, "random_seed": 0})
    found = SpreadSearch(20, 1e-4, np.random.default_rng(1), workers=Workers(), most_edges=NEVER)
    held = graph.partitioned(("out",), ()).held
    level = found.first_level(held, None, False, graph.placement.bounds, job.null_model)
    _, went_on = found.search(level, codes.astype(np.uint32), refines=True)
    assert went_on.quality / level.weight >= begun.totals["modularity"] - 1e-9


def test_turns_do_not_wait_for_tasks_behind_them():
    """A task that takes turns holds the only thread of its worker, so nothing that others need may be queued there."""
    where = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**where) as cluster, Client(cluster) as client:
        graph = dg.rmat(scale=10, edge_factor=8, seed=1, directed=False, client=client, parts=8)
        found, _ = search(graph, "leiden", NEVER)
        assert found.totals["modularity"] == pytest.approx(dg.modularity(graph, labels_of(found)), abs=1e-9)


def test_on_a_cluster_each_worker_keeps_its_edges(client, monkeypatch):
    graph = dg.rmat(scale=9, edge_factor=8, seed=1, directed=False, client=client)
    homes = set()
    level_of = SpreadSearch._level

    def seen(self, *arguments):
        level = level_of(self, *arguments)
        homes.update(level.homes)
        return level

    monkeypatch.setattr(SpreadSearch, "_level", seen)
    for operation in ("louvain", "leiden"):
        found = getattr(dg, operation)(graph)
        verify(operation, graph, found)
    assert len(homes) == len(graph.workers.addresses) > 1
