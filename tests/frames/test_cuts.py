"""How good the cuts are: the user's functions, METIS, shares by capacity, and the report that tells."""

import numpy as np
import pandas as pd
import pytest
from oracle import by_id, check_graph, collect, listed, numbered_arcs, user_ids

import dgraph as dg
from dgraph.errors import OptionError

STREETS = pd.DataFrame({"src": ["a", "b", "c", "d", "a", "e"], "dst": ["b", "c", "d", "a", "a", "a"]})


def test_a_function_of_ids_places_vertices():
    seen = []

    def by_letter(ids, parts):
        seen.append((list(ids), parts))
        return [("bdace".index(name)) % parts for name in ids]

    graph = dg.Graph.from_edges(STREETS, policy=by_letter, parts=2)
    assert graph.policy == "by_letter"
    found = check_graph(graph, listed(STREETS))
    assert seen == [(["a", "b", "c", "d", "e"], 2)]
    assert [list(graph.numbering.id_type.restore(one.ids)) for one in found] == [["a", "b", "e"], ["c", "d"]]
    ids = user_ids(graph)
    assert {u for u, _, _ in by_id(numbered_arcs(found[0]), ids)} == {"a", "b", "e"}, "out-edges follow their source"
    assert [part["id"].tolist() for part in (lazy.compute() for lazy in graph.vertices.partitions)] == [
        ["a", "b", "e"],
        ["c", "d"],
    ]


@pytest.mark.parametrize("directed", [True, False])
def test_a_function_of_both_ends_places_edges(directed):
    def by_later(source, destination, parts):
        later = np.maximum(np.asarray(source, object), np.asarray(destination, object))
        return np.array([ord(name) % parts for name in later])

    graph = dg.Graph.from_edges(STREETS, policy=by_later, parts=3, directed=directed)
    ids = user_ids(graph)
    for one in check_graph(graph, listed(STREETS)):
        assert all(ord(max(u, v)) % 3 == one.index for u, v, _ in by_id(numbered_arcs(one), ids))
    for part, lazy in enumerate(graph.edges.partitions):
        assert all(ord(max(u, v)) % 3 == part for u, v, _ in listed(lazy.compute()))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda ids, parts: np.full(len(ids), parts), "placed some vertices on partition 2; there are 2"),
        (lambda ids, parts: np.full(len(ids), -1), "partition -1"),
        (lambda ids, parts: 0, "shape .* for 5 vertices"),
        (lambda ids, parts: np.zeros(len(ids)), "float64 values"),
        (lambda ids, parts: None, "policy function returned"),
        (lambda source, destination, parts: source, "partitions must be whole numbers"),
        (lambda source, destination, parts: np.zeros(1, int), r"shape \(1,\) for 6 edges"),
    ],
)
def test_policy_functions_with_invalid_results_are_refused(function, said):
    with pytest.raises(OptionError, match=said):
        dg.Graph.from_edges(STREETS, policy=function, parts=2).partitions  # noqa: B018


def test_policy_functions_with_the_wrong_parameters_are_refused():
    with pytest.raises(OptionError, match="takes 4 arguments"):
        dg.Graph.from_edges(STREETS, policy=lambda a, b, c, d: 0)


# -- quality -----------------------------------------------------------------------------------------------------------


def communities(count=4, size=40, within=300, between=40):
    """Random edges inside each community and few between them; ids say nothing about communities."""
    draw = np.random.default_rng(3)
    names = draw.permutation(count * size)
    inside = np.concatenate([size * k + draw.integers(0, size, (within, 2)) for k in range(count)])
    across = draw.integers(0, count * size, (between, 2))
    ends = names[np.concatenate([inside, across])]
    return pd.DataFrame({"src": ends[:, 0], "dst": ends[:, 1]})


def grid(side=30):
    number = np.random.default_rng(4).permutation(side * side).reshape(side, side)
    right = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    down = np.stack([number[:-1].ravel(), number[1:].ravel()])
    return pd.DataFrame(np.concatenate([right, down], axis=1).T, columns=["src", "dst"])


def cut(frame, policy):
    """Edges between vertices of two owners."""
    graph = dg.Graph.from_edges(frame, directed=False, policy=policy, parts=4)
    owner = graph.placement.owner
    positions = graph.placement.positions
    of_number = owner if positions is None else owner[positions]
    ids = graph.numbering.ids()
    numbers = np.searchsorted(ids, frame.to_numpy())
    return int((of_number[numbers[:, 0]] != of_number[numbers[:, 1]]).sum())


@pytest.mark.parametrize("frame", [communities(), grid()], ids=["communities", "grid"])
def test_metis_cuts_few_edges(frame):
    assert cut(frame, "metis") < cut(frame, "outgoing") / 3


def skewed(size=3000, edges=30_000):
    """Sources and destinations that prefer small numbers."""
    ends = (size * np.random.default_rng(6).random((edges, 2)) ** 2).astype(int)
    return pd.DataFrame({"src": ends[:, 0], "dst": ends[:, 1]})


@pytest.mark.parametrize("policy", ["outgoing", "incoming", "metis"])
@pytest.mark.parametrize("capacities", [None, [1, 2, 5]])
def test_edges_are_shared_by_capacity(policy, capacities):
    frame = skewed()
    graph = dg.Graph.from_edges(frame, policy=policy, parts=3, capacities=capacities, directed=policy != "metis")
    held = collect(graph.partitions)
    work = np.array([one.num_edges + one.num_owned for one in held])
    wanted = np.array(capacities or [1, 1, 1])
    np.testing.assert_allclose(work / work.sum(), wanted / wanted.sum(), rtol=0.05)


def test_the_partition_report_matches_the_partitions():
    graph = dg.Graph.from_edges(skewed(), policy="cartesian", parts=4)
    report = graph.partitions.report
    held = collect(graph.partitions)
    frame = report.frame
    assert frame["edges"].tolist() == [one.num_edges for one in held]
    assert frame["vertices"].sum() == graph.num_vertices
    assert frame["proxies"].tolist() == [one.num_local - one.num_owned for one in held]
    assert frame["bytes"].tolist() == [one.nbytes for one in held]
    for one in held:
        copied = set().union(*(one.proxies.masters.get(peer, np.empty(0)).tolist() for peer in range(4)))
        assert frame["boundary"][one.index] == len(copied)
    assert report.replication == frame[["vertices", "proxies"]].sum().sum() / graph.num_vertices
    assert report.balance["edges"] == frame["edges"].max() / frame["edges"].mean()
    assert set(report.seconds) >= {"number", "place", "partition"}
    assert report.spilled == 0
    for said in ("replication", "edge balance", "seconds to partition", f"{graph.num_vertices:,}"):
        assert said in repr(report)


def test_the_partition_report_can_be_plotted(tmp_path):
    pytest.importorskip("matplotlib")
    dg.Graph.from_edges(STREETS, parts=2).partitions.plot(tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 1000
