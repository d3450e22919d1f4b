"""Neighbourhoods, components, reversed and simple graphs: against NetworkX."""

import gc
import weakref

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from edges_to_cut import SIZE, edges_of, listed, text, vertices_of

import dgraph as dg
from dgraph import errors

FORMS = [(1, False), (1, True), (3, False), (3, True)]  # partitions, and whether they have been built


def graph_of(frame, parts=1, built=False, **options):
    G = dg.Graph.from_edges(frame, weight="km", parts=parts, **options)
    if built:
        G.partitioned(["out", "incoming"], ["km"])
    return G


def ids_of(graph) -> list:
    return sorted(graph.vertices.compute()["id"])


# -- ego ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(("parts", "built"), FORMS)
def test_ego_agrees_with_networkx(directed, parts, built):
    frame = edges_of(count=45, name=text)
    G = graph_of(frame, parts, built, directed=directed, vertices=vertices_of(text))
    N = nx.from_pandas_edgelist(frame, "src", "dst", create_using=nx.MultiDiGraph if directed else nx.MultiGraph)
    around = {"out": N, "in": N.reverse() if directed else N, "both": N.to_undirected()}
    sizes = set()
    for radius in (0, 1, 4):
        for direction, searched in around.items():
            H = dg.ego(G, text(0), radius, direction=direction)
            near = set(nx.ego_graph(searched, text(0), radius))
            assert ids_of(H) == sorted(near)
            assert H.num_edges == N.subgraph(near).number_of_edges() == len(H.edges.compute())
            assert H.directed is directed
            sizes.add(len(near))
    assert len(sizes) > 2


def test_graphs_to_search_are_made_once_and_freed_with_the_graph():
    from dgraph.subgraphs.ego import _searched

    G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
    for direction in ("in", "both"):
        dg.ego(G, 0, direction=direction)
        first = _searched[G][direction]
        assert ids_of(dg.ego(G, 2, direction=direction)) == [1, 2] and _searched[G][direction] is first
    graphs, free = len(_searched), weakref.ref(G)
    del G, first
    gc.collect()
    assert free() is None and len(_searched) < graphs


def test_ego_of_several_vertices_and_of_a_symmetric_graph():
    G = dg.Graph.from_edges({"src": [0, 1, 4, 5], "dst": [1, 2, 5, 6]}, vertices=9)
    assert ids_of(dg.ego(G, [0, 4])) == [0, 1, 4, 5]
    assert ids_of(dg.ego(G, 8, 3)) == [8]
    assert ids_of(dg.ego(G, 0, 2**63)) == [0, 1, 2]
    G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}, symmetrize=True)
    for direction in ("out", "in", "both"):
        assert dg.ego(G, 1, direction=direction).num_edges == 4


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((0, -1), {}, errors.OptionError, "radius=-1 must be an integer >= 0"),
        ((0, 1.5), {}, errors.OptionError, "radius=1.5"),
        ((0,), {"direction": "up"}, errors.OptionError, "direction='up' is not known"),
        ((99,), {}, errors.IdError, "no vertex 99"),
        ((0,), {"depth": 2}, errors.OptionError, "no such option"),
        (([],), {}, errors.OptionError, r"vertex=\[\] is empty"),
        ((None,), {}, errors.OptionError, "vertex=None"),
    ],
)
def test_bad_ego(arguments, options, error, words):
    with pytest.raises(error, match=words):
        dg.ego(dg.Graph.from_edges({"src": [0], "dst": [1]}), *arguments, **options)


# -- largest_component -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(("parts", "built"), FORMS)
def test_largest_component_agrees_with_networkx(directed, parts, built):
    frame = edges_of(3, count=24, name=text)
    G = graph_of(frame, parts, built, directed=directed, vertices=vertices_of(text))
    largest = max(nx.connected_components(nx.from_pandas_edgelist(frame, "src", "dst")), key=len)
    H = dg.largest_component(G)
    assert 3 < len(largest) < 20
    assert ids_of(H) == sorted(largest)
    assert listed(H.edges.compute()) == listed(frame[frame["src"].isin(largest)])


def test_of_equal_components_the_one_with_the_smallest_vertex_is_taken():
    G = dg.Graph.from_edges({"src": [9, 8, 3], "dst": [7, 2, 5]}, vertices=10)
    assert ids_of(dg.largest_component(G)) == [2, 8]
    assert dg.largest_component(dg.Graph.from_edges({"src": [], "dst": []})).num_vertices == 0


# -- reverse -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [int, text])
@pytest.mark.parametrize("policy", ["outgoing", "incoming", "hybrid"])
@pytest.mark.parametrize(("parts", "built"), FORMS)
def test_reverse_swaps_the_ends_of_edges(name, policy, parts, built):
    frame = edges_of(name=name)
    G = graph_of(frame, parts, built, policy=policy, vertices=vertices_of(name))
    R = dg.reverse(G)
    swapped = frame.assign(src=frame["dst"], dst=frame["src"])
    assert (R.num_vertices, R.num_edges, R.num_parts, R.policy, R.weight) == (SIZE, len(frame), parts, policy, "km")
    assert listed(R.edges.compute()) == listed(swapped)
    assert sorted(R.vertices.compute()["size"]) == list(range(0, SIZE * 10, 10))
    for graph, edges in ((R, swapped), (dg.reverse(R), frame), (G, frame)):
        other = dg.Graph.from_edges(edges, weight="km", vertices=vertices_of(name))
        for run in (dg.degrees, dg.pagerank, lambda graph: dg.sssp(graph, name(5))):
            pd.testing.assert_frame_equal(run(graph).compute(), run(other).compute())
        for order in ("out", "incoming"):
            weights = [one for part in graph.partitioned([order], ["km"]) for one in getattr(part, order).columns["km"]]
            assert sorted(weights) == sorted(frame["km"])


def test_reverse_of_an_undirected_graph_is_the_graph():
    G = dg.Graph.from_edges({"src": [0], "dst": [1]}, directed=False)
    assert dg.reverse(G) is G


def test_reverse_of_an_unbuilt_graph_leaves_its_edges_alone():
    frame = edges_of(count=90_000, name=text)
    G = dg.Graph.from_edges(frame, weight="km")
    assert G.num_vertices == 30
    R = dg.reverse(G)
    out = R.partitioned()[0].out
    right = dg.Graph.from_edges(frame.rename(columns={"src": "dst", "dst": "src"}), weight="km").partitioned()[0].out
    assert np.array_equal(out.indptr, right.indptr) and np.array_equal(out.neighbours, right.neighbours)
    pd.testing.assert_frame_equal(dg.degrees(G).compute(), dg.degrees(dg.Graph.from_edges(frame)).compute())
    cut = dg.subgraph(R, [text(number) for number in range(10)])
    assert cut.num_edges == (frame["src"].isin(ids_of(cut)) & frame["dst"].isin(ids_of(cut))).sum()


def test_reverse_of_edges_beyond_memory(monkeypatch):
    import dask.dataframe as dd

    from dgraph.building import input_edges

    monkeypatch.setattr(input_edges, "HELD_SHARE", 1 << 60)
    frame = edges_of().drop(columns="note")
    G = dg.Graph.from_edges(dd.from_pandas(frame, npartitions=3), weight="km", vertices=SIZE)
    assert G.num_vertices == SIZE and G.input_edges.streamed is not None
    R = dg.reverse(G)
    assert R.num_vertices == SIZE and R.input_edges.streamed is not None
    assert listed(R.edges.compute()) == listed(frame.assign(src=frame["dst"], dst=frame["src"]))
    assert dg.degrees(R).compute()["in_degree"].tolist() == dg.degrees(G).compute()["out_degree"].tolist()


@pytest.mark.parametrize("rules", [{"repeats": "sum"}, {"repeats": "first", "loops": "drop"}, {"symmetrize": True}])
def test_reverse_keeps_the_rules(rules):
    G = graph_of(edges_of().drop(columns="note"), **rules)
    R, edges = dg.reverse(G), G.edges.compute()
    assert R.num_edges == G.num_edges
    swapped = listed(edges.assign(src=edges["dst"], dst=edges["src"]))
    np.testing.assert_allclose(listed(R.edges.compute()), swapped)


# -- simplify ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("repeats", ["first", "sum", "min", "max", "keep"])
@pytest.mark.parametrize(("parts", "built"), FORMS)
def test_simplify_merges_like_from_edges(directed, repeats, parts, built):
    frame = edges_of().drop(columns="note")
    G = graph_of(frame, parts, built, directed=directed, vertices=vertices_of())
    S = dg.simplify(G, repeats=repeats)
    right = graph_of(frame, directed=directed, vertices=vertices_of(), repeats=repeats, loops="drop")
    assert (S.num_vertices, S.num_edges, S.num_parts) == (SIZE, right.num_edges, parts)
    np.testing.assert_allclose(listed(S.edges.compute()), listed(right.edges.compute()))
    pd.testing.assert_frame_equal(dg.degrees(S).compute(), dg.degrees(right).compute())
    loops = (frame["src"] == frame["dst"]).sum()
    assert dg.simplify(G, loops="keep", repeats="keep") is G
    assert dg.simplify(G, repeats="keep").num_edges == len(frame) - loops


def test_simplify_of_a_subgraph():
    frame = edges_of().drop(columns="note")
    chosen = list(range(0, SIZE, 2))
    S = dg.simplify(dg.subgraph(graph_of(frame, vertices=vertices_of()), chosen))
    right = frame[frame["src"].isin(chosen) & frame["dst"].isin(chosen) & (frame["src"] != frame["dst"])]
    assert listed(S.edges.compute()) == listed(right.drop_duplicates(["src", "dst"]))
    assert S.num_vertices == len(chosen)


def test_simplify_of_merged_edges_keeps_how_they_were_merged():
    frame = edges_of().drop(columns="note")
    G = graph_of(frame, repeats="sum")
    assert dg.simplify(G, loops="keep", repeats="min") is G
    right = graph_of(frame, repeats="sum", loops="drop")
    np.testing.assert_allclose(listed(dg.simplify(G).edges.compute()), listed(right.edges.compute()))


@pytest.mark.parametrize("options", [{"repeats": "mean"}, {"loops": True}, {"combine_edges": "sum"}])
def test_bad_simplify(options):
    with pytest.raises(errors.OptionError, match=next(iter(options))):
        dg.simplify(graph_of(edges_of()), **options)


# -- everywhere --------------------------------------------------------------------------------------------------------


def test_cut_graphs_can_be_used_like_others(tmp_path):
    frame = edges_of(name=text)
    H = dg.largest_component(dg.reverse(graph_of(frame, built=True)))
    assert dg.to_networkx(H).number_of_edges() == H.num_edges
    assert H.validate().counts.edges == H.num_edges and H.validate().counts.isolated == 0
    assert H.estimate("pagerank", workers=2, memory="1 GiB").policy in ("outgoing", "incoming", "cartesian", "hybrid")
    for path in ("edges.csv", "edges.parquet", "folder.parquet/"):
        dg.write_edges(H, f"{tmp_path}/{path}")
        again = dg.read_edges(f"{tmp_path}/{path}")
        assert (again.num_vertices, again.num_edges) == (H.num_vertices, H.num_edges)
    assert dg.core_number(H, engine="bsp").compute().equals(dg.core_number(H).compute())


@pytest.mark.parametrize(
    ("theirs", "ours"), [("subgraph", "subgraph"), ("induced_subgraph", "subgraph"), ("to_simple", "simplify")]
)
def test_methods_of_other_libraries_lead_to_functions(theirs, ours):
    with pytest.raises(AttributeError, match=rf"it is a function, dgraph\.{ours}\(G\)"):
        getattr(dg.Graph.from_edges({"src": [0], "dst": [1]}), theirs)


def test_cut_graphs_keep_the_memory_limit():
    G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 0]}, memory="1 GiB")
    for made in (
        dg.subgraph(G, [0]),
        dg.reverse(G),
        dg.simplify(G),
        dg.filter_edges(G, lambda edges: edges["src"] > 0),
    ):
        assert made.memory == G.memory


def test_cuts_on_a_cluster(client):
    frame = edges_of(name=text)
    for built in (False, True):
        G = graph_of(frame, 2, built, client=client, vertices=vertices_of(text))
        R, S = dg.reverse(G), dg.simplify(G, repeats="sum")
        assert listed(R.edges.compute()) == listed(frame.assign(src=frame["dst"], dst=frame["src"]))
        assert S.num_edges == graph_of(frame, repeats="sum", loops="drop").num_edges
        near = dg.ego(G, text(0), direction="in")
        assert near.client is client and ids_of(near) == ids_of(dg.ego(graph_of(frame), text(0), direction="in"))
        assert ids_of(dg.largest_component(G)) == ids_of(dg.largest_component(graph_of(frame)))
