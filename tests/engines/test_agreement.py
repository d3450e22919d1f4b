"""One answer: every program on every engine, policy and number of partitions is what the reference says.

All pairs of (program, engine) and of (program, number of partitions) are taken each time, policies in turn; with
DGRAPH_ALL=1 every combination is.
"""

import os
from itertools import product

import pytest
from cases import PROGRAMS, SEED, check, graph_for

import dgraph as dg
from dgraph.keywords import ENGINE_VALUES
from dgraph.partition.policies import POLICY_NAMES

PARTS, ENGINES = (1, 2, 3, 8), ("bsp", "gas")
DIRECTED = [(name, directed) for name in PROGRAMS for directed in (True, False) if directed or name != "Matching"]


def by_hash(ids, parts):
    """A policy of the user's: vertices."""
    return (ids * 7 + 3) % parts


def by_ends(source, destination, parts):
    """A policy of the user's: edges."""
    return (source + 3 * destination) % parts


def sampled():
    cases = list(product(DIRECTED, PARTS, (*POLICY_NAMES, by_hash, by_ends), ENGINES))
    if os.environ.get("DGRAPH_ALL"):
        return cases
    policies = (*POLICY_NAMES, by_hash, by_ends)
    return [
        (case, parts, policies[(2 * i + j + parts) % len(policies)], ENGINES[(i + j) % 2])
        for i, (case, parts) in enumerate(product(DIRECTED, PARTS))
        for j in range(1 if parts == 1 else 2)
    ]


@pytest.mark.parametrize(("case", "parts", "policy", "engine"), sampled())
def test_every_engine_matches_the_reference(case, parts, policy, engine):
    name, directed = case
    graph = graph_for(name, directed, parts=parts, policy=policy)
    check(name, directed, dg.run(graph, PROGRAMS[name], engine=engine, random_seed=SEED))


@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program.kind == "accumulative"])
def test_pushing_and_pulling_match_the_reference(name, direction):
    """Every round after the first, in which `gas` has nothing to send yet, goes in the direction that was asked for."""
    graph = graph_for(name, parts=3, policy="hybrid")
    result = dg.run(graph, PROGRAMS[name], random_seed=SEED, engine=dg.Gas(direction=direction))
    check(name, True, result)
    sent = result.report[result.report["superstep"] > 1]
    assert set(sent["direction"]) == {direction}
    if direction == "pull":  # which reads the edges of all vertices, however few of them have news
        assert (sent.groupby("superstep")["edges"].sum() == sent.groupby("superstep")["edges"].sum().max()).all()


@pytest.mark.parametrize("switch", ["active_only", "changed_only", "drop_weights", "skip_exchange", "lazy_upload"])
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_an_optimization_changes_no_answer(name, switch):
    graph = graph_for(name, parts=3, policy="cartesian")
    engine = dg.Gas(optimizations=dg.Optimizations(**{switch: False}))
    result = dg.run(graph, PROGRAMS[name], random_seed=SEED, engine=engine)
    check(name, True, result)
    shown = {
        "active_only": "active vertices only",
        "changed_only": "changed copies only",
        "drop_weights": "weights dropped",
        "skip_exchange": "exchanges skipped",
        "lazy_upload": "lazy upload",
    }
    assert result.report.options[shown[switch]] is False


def test_only_changed_copies_travel():
    graph = graph_for("Components", parts=3, policy="cartesian")
    how = [dg.Gas(optimizations=dg.Optimizations(changed_only=on)) for on in (True, False)]
    some, all_of_them = (dg.run(graph, PROGRAMS["Components"], engine=one) for one in how)
    assert some.report["bytes"].sum() < all_of_them.report["bytes"].sum()


@pytest.mark.parametrize("engine", ["gas", "bsp", "bulk_async"])
def test_lazy_upload_sends_only_values_that_are_read(engine):
    graph, program = graph_for("ShortestPaths", parts=3, policy="outgoing"), PROGRAMS["ShortestPaths"]
    how = [dg.Optimizations(lazy_upload=on) for on in (True, False)]
    engines = [ENGINE_VALUES[engine](local_rounds=1, optimizations=one) for one in how]
    lazy, eager = (dg.run(graph, program, engine=one) for one in engines)
    check("ShortestPaths", True, lazy)
    check("ShortestPaths", True, eager)
    if engine != "bulk_async":  # which takes as many rounds as it happens to
        assert lazy.report["bytes"].sum() < eager.report["bytes"].sum()


def test_only_active_vertices_fire():
    graph = graph_for("ShortestPaths", parts=2)
    how = [dg.Gas(optimizations=dg.Optimizations(active_only=on)) for on in (True, False)]
    some, all_of_them = (dg.run(graph, PROGRAMS["ShortestPaths"], engine=one) for one in how)
    assert some.report["fired"].sum() < all_of_them.report["fired"].sum() == 40 * all_of_them.rounds


def test_an_edge_cut_needs_one_buffer_per_round():
    """Under an edge cut a partition sends one buffer a round: proxies never send, or never gather."""
    for policy in ("outgoing", "incoming"):
        report = dg.run(graph_for("Katz", parts=2, policy=policy), PROGRAMS["Katz"]).report
        assert report[report["superstep"] > 1]["messages"].max() == 1, policy
