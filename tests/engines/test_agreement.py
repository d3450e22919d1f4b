"""One answer: every program on every engine, policy and number of partitions is what the reference says.

All pairs of (program, engine) and of (program, number of partitions) are taken each time, policies in turn; with
DGRAPH_ALL=1 every combination is.
"""

import os
from itertools import product

import pytest
from cases import PROGRAMS, check, graph_for

import dgraph as dg

POLICIES = ("outgoing", "incoming", "cartesian", "hybrid", "metis")
PARTS, ENGINES = (1, 2, 3, 8), ("bsp", "gas")
DIRECTED = [(name, directed) for name in PROGRAMS for directed in (True, False) if directed or name != "Matching"]


def by_hash(ids, parts):
    """A policy of the user's: vertices."""
    return (ids * 7 + 3) % parts


def by_ends(source, destination, parts):
    """A policy of the user's: edges."""
    return (source + 3 * destination) % parts


def sampled():
    cases = list(product(DIRECTED, PARTS, (*POLICIES, by_hash, by_ends), ENGINES))
    if os.environ.get("DGRAPH_ALL"):
        return cases
    policies = (*POLICIES, by_hash, by_ends)
    return [
        (case, parts, policies[(2 * i + j + parts) % len(policies)], ENGINES[(i + j) % 2])
        for i, (case, parts) in enumerate(product(DIRECTED, PARTS))
        for j in range(1 if parts == 1 else 2)
    ]


@pytest.mark.parametrize(("case", "parts", "policy", "engine"), sampled())
def test_the_answer_is_the_reference_s(case, parts, policy, engine):
    name, directed = case
    graph = graph_for(name, directed, parts=parts, policy=policy)
    check(name, directed, dg.run(graph, PROGRAMS[name], engine=engine, random_seed=11))


@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program.kind == "accumulative"])
def test_both_directions(name, direction):
    graph = graph_for(name, parts=3, policy="hybrid")
    result = dg.run(graph, PROGRAMS[name], direction=direction)
    check(name, True, result)
    assert set(result.report["direction"][1:]) <= {direction, "push"}


@pytest.mark.parametrize("switch", ["active_only", "changed_only", "drop_weights", "skip_exchange", "lazy_upload"])
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_an_optimisation_changes_no_answer(name, switch):
    graph = graph_for(name, parts=3, policy="cartesian")
    result = dg.run(graph, PROGRAMS[name], random_seed=11, **{switch: False})
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
    some, all_of_them = (dg.run(graph, PROGRAMS["Components"], changed_only=on) for on in (True, False))
    assert some.report["bytes"].sum() < all_of_them.report["bytes"].sum()


@pytest.mark.parametrize("engine", ["gas", "bsp", "bulk_async"])
def test_only_what_will_be_read_travels(engine):
    graph, program = graph_for("ShortestPaths", parts=3, policy="outgoing"), PROGRAMS["ShortestPaths"]
    lazy, eager = (dg.run(graph, program, engine=engine, local_rounds=1, lazy_upload=on) for on in (True, False))
    check("ShortestPaths", True, lazy)
    check("ShortestPaths", True, eager)
    if engine != "bulk_async":  # which takes as many rounds as it happens to
        assert lazy.report["bytes"].sum() < eager.report["bytes"].sum()


def test_only_active_vertices_fire():
    graph = graph_for("ShortestPaths", parts=2)
    some, all_of_them = (dg.run(graph, PROGRAMS["ShortestPaths"], active_only=on) for on in (True, False))
    assert some.report["fired"].sum() < all_of_them.report["fired"].sum() == 40 * all_of_them.rounds


def test_a_policy_leaves_out_what_is_needless():
    """Under an edge cut a partition sends one buffer a round: proxies never send, or never gather."""
    for policy in ("outgoing", "incoming"):
        report = dg.run(graph_for("Katz", parts=2, policy=policy), PROGRAMS["Katz"]).report
        assert report[report["superstep"] > 1]["messages"].max() == 1, policy
