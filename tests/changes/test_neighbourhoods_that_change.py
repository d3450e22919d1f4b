"""Answers about the simple graph that go on from earlier ones: only what changed there is read."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from changed import frame_of

import dgraph as dg
from dgraph import errors
from dgraph.solvers.subgraphs import repaired_cores, repaired_triangles

ROWS = [(0, 1, 1), (1, 2, 1), (2, 0, 1), (2, 3, 1), (3, 0, 1), (4, 4, 1)]


def said(result):
    return result.report.options["previous"]


EXPECTED = {"triangles": nx.triangles, "core_number": nx.core_number}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_answers_after_changes_are_those_of_networkx(name, directed, seed, monkeypatch):
    monkeypatch.setattr(repaired_cores, "most_to_read", lambda rows: 1 << 40)
    rng, run = np.random.default_rng(seed), getattr(dg, name)
    theirs = nx.gnm_random_graph(60, 400, seed=seed, directed=directed)
    ends = np.array(theirs.edges)
    graph = dg.Graph.from_edges({"src": ends[:, 0], "dst": ends[:, 1]}, vertices=60, directed=directed, repeats="first")
    answer = run(graph)
    for _ in range(5):
        gone = np.array(theirs.edges)[rng.choice(theirs.number_of_edges(), 30, replace=False)]
        more = rng.integers(0, 60, (40, 2))
        theirs.remove_edges_from(gone.tolist())
        theirs.add_edges_from(more.tolist())
        graph = graph.updated(removed={"src": gone[:, 0], "dst": gone[:, 1]})
        graph = graph.updated({"src": more[:, 0], "dst": more[:, 1]})
        answer = run(graph, previous=answer)
        assert said(answer).startswith("went on")
        simple = nx.Graph(theirs)
        simple.remove_edges_from(list(nx.selfloop_edges(simple)))
        found = answer.compute().set_index("vertex").iloc[:, 0].to_dict()
        assert found == EXPECTED[name](simple)
        assert answer.totals == ({"triangles": sum(found.values()) // 3} if name == "triangles" else {})


@pytest.mark.parametrize(
    ("added", "removed"),
    [([(1, 0, 1)], []), ([(0, 1, 1)], []), ([(0, 0, 1)], [(4, 4, 1)]), ([(2, 1, 1)], [(1, 2, 1)])],
)
def test_a_pair_that_stays_connected_changes_nothing(added, removed):
    """The other direction, a repeated edge and loops do not count."""
    graph = dg.Graph.from_edges(frame_of(ROWS))
    earlier, changed = dg.triangles(graph), graph.updated(frame_of(added), frame_of(removed)[["src", "dst"]])
    answer = dg.triangles(changed, previous=earlier)
    assert answer.by_number("triangles").tolist() == [2, 1, 2, 1, 0]
    assert answer.report["edges"].sum() <= 4


def test_a_repeated_edge_that_is_left_keeps_its_triangles():
    graph = dg.Graph.from_edges(frame_of([*ROWS, ROWS[0]]), directed=False)
    earlier, once = dg.triangles(graph), graph.updated(removed={"src": [1], "dst": [0]})
    answer = dg.triangles(once, previous=earlier)
    assert said(answer).startswith("went on")
    assert answer.totals["triangles"] == 2
    assert dg.triangles(once.updated(removed={"src": [0], "dst": [1]}), previous=answer).totals["triangles"] == 1


def test_a_triangle_of_edges_that_all_came_or_went_counts_once():
    graph = dg.Graph.from_edges(frame_of(ROWS[:3]), vertices=8, directed=False)
    earlier, gone = dg.triangles(graph), frame_of(ROWS[:3])[["src", "dst"]]
    changed = graph.updated(frame_of([(5, 6, 1), (6, 7, 1), (7, 5, 1)]), gone)
    answer = dg.triangles(changed, previous=earlier)
    assert said(answer).startswith("went on")
    assert answer.by_number("triangles").tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert answer.totals == {"triangles": 1}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("kind", ["additions", "removals", "both"])
def test_few_edges_are_read(kind, name):
    run = getattr(dg, name)
    rng = np.random.default_rng(2)
    edges = dg.rmat(scale=14, edge_factor=16, seed=1).edges.compute()[["source", "destination"]]
    edges = edges[edges["source"] < edges["destination"]].drop_duplicates(ignore_index=True)
    ends = {"source": "source", "destination": "destination"}
    graph = dg.Graph.from_edges(edges, **ends, directed=False, vertices=1 << 14)
    count = len(edges) // 10_000
    more = pd.DataFrame(rng.integers(0, 1 << 14, (count, 2)), columns=["source", "destination"])
    less = edges.iloc[rng.choice(len(edges), count, replace=False)]
    given = {"additions": (more, None), "removals": (None, less), "both": (more, less)}[kind]
    earlier, changed = run(graph), graph.updated(*given)
    found = run(changed, previous=earlier)
    assert changed.changes.merging == "not merged yet"
    fresh = run(changed)
    pd.testing.assert_frame_equal(found.compute(), fresh.compute())
    assert found.report["edges"].sum() <= 0.05 * fresh.report["edges"].sum()


def test_what_reaches_too_much_is_computed_anew(monkeypatch):
    monkeypatch.setattr(repaired_triangles, "most_to_read", lambda rows: 0)
    graph = dg.Graph.from_edges(frame_of(ROWS))
    earlier, changed = dg.triangles(graph), graph.updated(frame_of([(1, 3, 1)]))
    answer = dg.triangles(changed, previous=earlier)
    assert said(answer) == "computed anew: too much depends on what changed" and answer.totals["triangles"] == 4


def test_cores_that_one_edge_may_change_far_away_are_computed_anew(monkeypatch):
    """Whether an edge within a grid raises anybody depends on the grid's corners."""
    monkeypatch.setattr(repaired_cores, "most_to_read", lambda rows: 4096)
    cells = np.arange(900).reshape(30, 30)
    sides = np.concatenate([cells[:, :-1].ravel(), cells[:-1].ravel()])
    others = np.concatenate([cells[:, 1:].ravel(), cells[1:].ravel()])
    graph = dg.Graph.from_edges({"src": sides, "dst": others}, directed=False)
    earlier, changed = dg.core_number(graph), graph.updated({"src": [455], "dst": [470]})
    found = dg.core_number(changed, previous=earlier)
    assert said(found) == "computed anew: too much depends on what changed"
    cut = graph.updated(removed={"src": [455], "dst": [456]})
    assert said(dg.core_number(cut, previous=earlier)).startswith("went on")
    assert set(found.by_number("core")) == {2}


def test_vertices_that_lose_or_gain_several_cores_at_once():
    everybody = [(u, v, 1) for u in range(8) for v in range(u)]
    graph = dg.Graph.from_edges(frame_of(everybody), vertices=9, directed=False)
    whole, without = dg.core_number(graph), [row for row in everybody if 7 in row]
    cut = graph.updated(removed=frame_of(without)[["src", "dst"]])
    less = dg.core_number(cut, previous=whole)
    assert less.by_number("core").tolist() == [6] * 7 + [0, 0] and less.report["fired"].sum() == 8
    back = dg.core_number(cut.updated(frame_of([*without, (9, 0, 1)])), previous=less)
    assert back.by_number("core").tolist() == [7] * 8 + [0, 1]


def test_cores_that_rounds_found_are_gone_on_from():
    graph = dg.Graph.from_edges(frame_of([*ROWS, ROWS[0]]))
    earlier, changed = dg.core_number(graph, engine="gas"), graph.updated(frame_of([(3, 1, 1), (5, 4, 1)]))
    found = dg.core_number(changed, previous=earlier)
    assert said(found).startswith("went on") and found.by_number("core").tolist() == [3, 3, 3, 3, 1, 1]


def test_changes_of_a_graph_without_a_partition_are_computed_anew():
    """It is not known which of the added edges are new."""
    graph = dg.Graph.from_edges(frame_of(ROWS))
    changed = graph.updated(frame_of([(1, 3, 1)]))
    answer = dg.triangles(changed, previous=dg.triangles(graph))
    assert "which edges were there" in said(answer) and answer.totals["triangles"] == 4


def test_what_is_not_for_the_earlier_answer_is_refused():
    graph = dg.Graph.from_edges(frame_of(ROWS))
    for other in (dg.wcc(graph), dg.lcc(graph), dg.triangles(dg.Graph.from_edges(frame_of(ROWS)))):
        for run in (dg.triangles, dg.core_number):
            with pytest.raises(errors.OptionError, match="previous="):
                run(graph, previous=other)
    with pytest.raises(errors.OptionError, match="no vertex program runs"):
        dg.triangles(graph, previous=dg.triangles(graph), engine="gas")
