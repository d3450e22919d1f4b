"""Matchings: one answer from solver, engines and reference, valid and maximal; who is on the left."""

import json
import lzma

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_graphs import DATA

import dgraph as dg
from dgraph import errors
from dgraph.ops.matching import Matching, matching
from dgraph.programs import reference
from dgraph.programs.random_draws import mix
from dgraph.solvers.compiled_draws import unmix
from dgraph.testing.verify import Edges, verify

pytestmark = pytest.mark.usefixtures("several_threads")


@given(st.integers(0, 2**64 - 1))
def test_a_random_draw_can_be_inverted(word):
    assert int(unmix(np.uint64(mix(word)))) == word


@st.composite
def two_sided(draw):
    """(edges, vertices, those on the left): sides of any size, edges either way round, some of them repeated."""
    sides = draw(st.lists(st.booleans(), max_size=9))
    ends = [[v for v, is_left in enumerate(sides) if is_left == side] for side in (True, False)]
    edges = []
    if all(ends):
        pair = st.tuples(*map(st.sampled_from, ends)).flatmap(lambda edge: st.sampled_from([edge, edge[::-1]]))
        edges = draw(st.lists(pair, max_size=20))
    return edges, len(sides), ends[0]


@settings(max_examples=20)
@given(two_sided(), st.booleans(), st.integers(1, 2), st.sampled_from([0, 1, -7, 2**62]))
def test_the_solver_matches_the_reference(drawn, directed, threads, random_seed):
    edges, n, left = drawn
    frame = pd.DataFrame(edges, columns=["src", "dst"], dtype="int64")
    graph = dg.Graph.from_edges(frame, directed=directed, vertices=n)
    columns = {"left": [v in left for v in range(n)]}
    options = {"vertex_columns": columns, "directed": directed, "random_seed": random_seed}
    meant = reference.run(Matching(), edges, n, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dgraph.native.threads.cores", lambda: threads)
        found = matching(graph, left=left, random_seed=random_seed, engine="local")
    assert found.by_number("mate").tolist() == meant.results()["mate"]
    assert found.rounds == meant.rounds
    verify("matching", graph, found)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
def test_solver_and_engines_agree(monkeypatch, directed, threads):
    monkeypatch.setattr("dgraph.native.threads.cores", lambda: threads)
    frame = dg.bipartite(left=300, right=200, edges=700).edges.compute()
    mates = []
    for engine, parts in (("local", 1), ("bsp", 1), ("gas", 2), ("bsp", 3)):
        names = {"source": "source", "destination": "destination", "directed": directed}
        graph = dg.Graph.from_edges(frame, **names, parts=parts)
        mates.append(matching(graph, engine=engine, random_seed=4).by_number("mate").tolist())
    assert all(mate == mates[0] for mate in mates)
    assert mates[0] != matching(graph, random_seed=5).by_number("mate").tolist()


@pytest.mark.parametrize("hubs", [1, 3])
@pytest.mark.parametrize("threads", [1, 2])
def test_matchings_of_hubs_equal_those_found_in_rounds(monkeypatch, hubs, threads):
    """Most vertices have one edge, and draw nothing; nobody is asked once all hubs have a mate."""
    monkeypatch.setattr("dgraph.native.threads.cores", lambda: threads)
    leaves = np.arange(2000)
    for ends in ((leaves % hubs, leaves + hubs), (leaves + hubs, leaves % hubs)):
        frame = pd.DataFrame(dict(zip(("src", "dst"), ends, strict=True)))
        several = pd.concat([frame, frame[:300]], ignore_index=True)  # some leaves have an edge twice
        for edges, directed in ((frame, True), (frame, False), (several, True)):
            graph = dg.Graph.from_edges(edges, directed=directed)
            meant, found = (matching(graph, engine=engine, random_seed=3) for engine in ("bsp", "local"))
            assert found.by_number("mate").tolist() == meant.by_number("mate").tolist()
            assert found.rounds == meant.rounds
            assert int((found.by_number("mate") >= 0).sum()) == 2 * hubs


def test_a_matching_of_gowalla_has_at_least_half_the_maximum_size():
    """As many pairs as half of the most that there can be, at least."""
    if not DATA.is_dir():
        pytest.skip(f"shared/data is not here: looked in {DATA}")
    facts = json.loads((DATA / "refs" / "gowalla.json").read_text())["facts"]
    with lzma.open(DATA / "gowalla" / "train.txt.xz", "rt") as lines:
        rows = [(f"u{user}", f"i{item}") for user, *items in map(str.split, lines) for item in items]
    graph = dg.Graph.from_edges(pd.DataFrame(rows, columns=["src", "dst"]), directed=False)
    found = matching(graph)
    pairs = int((found.by_number("mate") >= 0).sum()) // 2
    assert facts["max_matching"] / 2 <= pairs <= facts["max_matching"]
    verify("matching", graph, found)


def test_a_large_graph_gives_the_same_matching_on_two_threads(monkeypatch):
    graph, mates = dg.bipartite(left=60_000, right=40_000, edges=1_000_000), []
    for threads in (1, 2):
        monkeypatch.setattr("dgraph.native.threads.cores", lambda threads=threads: threads)
        mates.append(matching(graph, random_seed=1))
    assert (mates[0].by_number("mate") == mates[1].by_number("mate")).all()
    verify("matching", graph, mates[1])


FRAME = pd.DataFrame({"src": ["a", "c", "d"], "dst": ["b", "b", "c"]})  # b and d against a and c


@pytest.mark.parametrize("parts", [1, 2])
def test_the_left_side_may_be_ids_or_a_column(parts):
    table = pd.DataFrame({"id": list("abcde"), "is buyer": [True, False, True, False, None]})
    graph = dg.Graph.from_edges(FRAME, vertices=table, parts=parts)
    for left in (["a", "c"], "is buyer", {"b", "d"}):
        found = matching(graph, left=left).compute().set_index("vertex")["mate"]
        assert found["d"] == "c" or found["b"] == "c"
        assert pd.isna(found["e"])
        verify("matching", graph, matching(graph, left=left))


@pytest.mark.parametrize("policy", ["outgoing", "metis"])
def test_vertices_without_attributes_are_on_the_right(policy):
    table = pd.DataFrame({"id": ["c", "a"], "is buyer": [True, True]})
    graph = dg.Graph.from_edges(FRAME, vertices=table, parts=2, policy=policy)
    by_ids, by_column = (matching(graph, left=left).by_number("mate").tolist() for left in (["a", "c"], "is buyer"))
    assert by_ids == by_column


def test_the_default_is_the_sources():
    simple = dg.Graph.from_edges(FRAME[:2], directed=False)
    assert (matching(simple).by_number("mate") == matching(simple, left=["a", "c"]).by_number("mate")).all()


@pytest.mark.parametrize(
    ("left", "error", "words"),
    [
        (None, errors.InputError, "vertex 'c' is the destination of the edge from 'd' and the source"),
        (["a"], errors.InputError, "from 'c' to 'b' joins two vertices on the right"),
        (["a", "c", "d"], errors.InputError, "from 'd' to 'c' joins two vertices on the left"),
        (["a", "nobody"], errors.IdError, "no vertex 'nobody'"),
        ("kind", errors.ColumnError, "no such vertex column"),
    ],
)
@pytest.mark.parametrize("parts", [1, 3])
def test_a_graph_must_have_two_sides(parts, left, error, words):
    with pytest.raises(error, match=words):
        matching(dg.Graph.from_edges(FRAME, parts=parts), left=left)


@pytest.mark.parametrize("parts", [1, 2])
def test_matchings_on_a_cluster_equal_those_in_process(client, parts):
    frame = dg.bipartite(left=30, right=20, edges=60).edges.compute()
    names = {"source": "source", "destination": "destination", "vertices": 50}
    here, there = (dg.Graph.from_edges(frame, **names, parts=parts, client=one) for one in (None, client))
    for left in (None, range(30)):
        mates = [matching(graph, left=left, random_seed=2).by_number("mate").tolist() for graph in (here, there)]
        assert mates[0] == mates[1]
    with pytest.raises(errors.InputError, match="on the right"):
        matching(there, left=[])


def test_loops_are_refused_unless_dropped():
    """A vertex beside itself is on no side; but loops that are dropped do no harm."""
    frame = pd.DataFrame({"src": [1, 1], "dst": [1, 2]})
    with pytest.raises(errors.InputError, match="vertex 1"):
        matching(dg.Graph.from_edges(frame))
    found = matching(dg.Graph.from_edges(frame, loops="drop"))
    assert found.compute()["mate"].tolist() == [2, 1]


def test_without_edges_no_vertex_has_a_mate():
    nobody = dg.Graph.from_edges(pd.DataFrame({"src": [], "dst": []}, dtype="int64"), vertices=3)
    assert matching(nobody).compute()["mate"].isna().all()


def test_verifying_finds_a_pair_that_could_be_added():
    edges = Edges.of(dg.Graph.from_edges(FRAME))
    with pytest.raises(errors.DgraphError, match="not maximal"):
        verify("matching", edges, {"mate": -1 * pd.Series([1, 1, 1, 1]).to_numpy()})
