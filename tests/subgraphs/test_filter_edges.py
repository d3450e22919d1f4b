"""Edges that a function keeps."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from edges_to_cut import SIZE, edges_of, listed, text, vertices_of

import dgraph as dg
from dgraph import errors


def short(edges: pd.DataFrame) -> pd.Series:
    return edges["km"] < 0.5


@pytest.mark.parametrize("name", [int, text])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("lazily", [True, False])
def test_kept_edges_and_all_vertices_stay(name, directed, parts, lazily):
    frame = edges_of(name=name)
    given = dd.from_pandas(frame, npartitions=3) if lazily else frame
    G = dg.Graph.from_edges(given, weight="km", directed=directed, parts=parts, vertices=vertices_of(name))
    F, right = dg.filter_edges(G, short), frame[frame["km"] < 0.5]
    assert (F.num_vertices, F.num_edges, F.num_parts, F.weight) == (SIZE, len(right), parts, "km")
    assert listed(F.edges.compute()) == listed(right)
    assert sorted(F.vertices.compute()["size"]) == list(range(0, SIZE * 10, 10))
    fresh = dg.Graph.from_edges(right, weight="km", directed=directed, vertices=vertices_of(name))
    for run in (dg.degrees, dg.wcc, lambda graph: dg.sssp(graph, name(5))):
        pd.testing.assert_frame_equal(run(F).compute(), run(fresh).compute())
    chosen = [name(number) for number in range(0, SIZE, 2)]
    assert dg.subgraph(F, chosen).num_edges == (right["src"].isin(chosen) & right["dst"].isin(chosen)).sum()


@pytest.mark.parametrize(
    "rules", [{"loops": "drop"}, {"repeats": "sum"}, {"repeats": "first", "directed": False}, {"symmetrize": True}]
)
@pytest.mark.parametrize("parts", [1, 3])
def test_functions_see_the_edges_after_the_rules(rules, parts):
    G = dg.Graph.from_edges(edges_of().drop(columns="note"), weight="km", parts=parts, vertices=SIZE, **rules)
    seen = []

    def kept(edges):
        seen.append(edges.copy())
        return (edges["km"] < 0.5).to_numpy()

    F, edges = dg.filter_edges(G, kept), G.edges.compute()
    np.testing.assert_allclose(listed(pd.concat(seen)), listed(edges))
    np.testing.assert_allclose(listed(F.edges.compute()), listed(edges[edges["km"] < 0.5]))
    assert (F.num_vertices, F.num_edges) == (SIZE, (edges["km"] < 0.5).sum())
    assert dg.degrees(F).compute()["degree"].sum() == 2 * F.num_edges - (
        0 if G.directed else int((F.edges.compute().eval("src == dst")).sum())
    )


@pytest.mark.parametrize(
    "kept",
    [
        lambda edges: edges["km"].to_numpy() < 0.5,
        lambda edges: (edges["km"] < 0.5).astype("boolean"),
        lambda edges: pd.array(edges["km"] < 0.5, "boolean"),
        lambda edges: edges.assign(src=0)["km"] < 0.5,
    ],
)
@pytest.mark.parametrize(
    "convert", [lambda frame: frame, lambda frame: pa.table(frame), lambda frame: frame.to_dict("list")]
)
def test_forms_of_answers_and_frames(kept, convert):
    frame = edges_of().drop(columns="note")
    given = convert(frame)
    given = {name: np.asarray(values) for name, values in given.items()} if isinstance(given, dict) else given
    G = dg.Graph.from_edges(given, weight="km")
    assert listed(dg.filter_edges(G, kept).edges.compute()) == listed(frame[frame["km"] < 0.5])
    assert listed(G.edges.compute()) == listed(frame)


def test_all_or_no_edges():
    G = dg.Graph.from_edges(edges_of(), weight="km")
    assert dg.filter_edges(G, lambda edges: edges["km"] >= 0).num_edges == G.num_edges
    F = dg.filter_edges(G, lambda edges: edges["km"] > 9)
    assert (F.num_vertices, F.num_edges) == (G.num_vertices, 0)
    assert dg.wcc(F).compute()["component"].nunique() == F.num_vertices


@pytest.mark.parametrize("parts", [1, 3])
def test_functions_are_not_called_for_pieces_without_edges(parts):
    frame, sizes = edges_of().drop(columns="note"), []
    given = dd.concat([dd.from_pandas(frame[:0], npartitions=1), dd.from_pandas(frame, npartitions=2)])
    for graph in (
        dg.Graph.from_edges(given, parts=parts),
        dg.Graph.from_edges({"src": [0, 0], "dst": [0, 0]}, loops="drop", parts=parts),
        dg.Graph.from_edges({"src": [0, 0], "dst": [1, 1]}, vertices=9, repeats="first", parts=parts),
    ):
        F = dg.filter_edges(graph, lambda edges: sizes.append(len(edges)) or edges["src"] >= edges["src"].min())
        assert F.num_edges == graph.num_edges
    assert len(sizes) == 3 and min(sizes) > 0


@pytest.mark.parametrize("parts", [1, 3])
def test_added_reverses_stay_behind_listed_edges(parts):
    G = dg.Graph.from_edges(
        {"src": [0, 1, 0, 2], "dst": [1, 0, 1, 0], "km": [1, 2, 3, 4]}, weight="km", symmetrize=True, parts=parts
    )
    F = dg.filter_edges(G, lambda edges: edges["km"] > 0)
    assert listed(dg.simplify(F).edges.compute()) == listed(dg.simplify(G).edges.compute())


def test_merged_edges_are_not_held_beside_the_new_graph():
    F = dg.filter_edges(dg.Graph.from_edges(edges_of(), repeats="first"), short)
    assert F.input_edges._whole._edge_pieces is None
    assert F.edges.compute()["km"].max() < 0.5


def test_a_lack_of_memory_in_the_function_is_reported_as_such():
    def greedy(edges):
        raise MemoryError("a table")

    with pytest.raises(errors.RoomError, match="a table"):
        dg.filter_edges(dg.Graph.from_edges(edges_of()), greedy)


def named(edges):
    return edges["miles"] > 3


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        ("km < 3", errors.OptionError, "must be a function"),
        (named, errors.InputError, "function named failed on a frame of 160 edges with KeyError: 'miles'.*'km'"),
        (lambda edges: True, errors.InputError, "returned a bool"),
        (lambda edges: [True] * len(edges), errors.InputError, "returned a list"),
        (lambda edges: edges["km"], errors.InputError, "values of type float64"),
        (lambda edges: edges["km"].to_numpy()[:3] > 0, errors.InputError, r"shape \(3,\) for 160 edges"),
        (lambda edges: (edges["km"] > 0)[::-1], errors.InputError, "index is not that of the frame"),
        (lambda edges: edges[["km"]] > 0, errors.InputError, "returned a DataFrame"),
        (
            lambda edges: pd.Series([None, *[True] * (len(edges) - 1)], dtype="boolean"),
            errors.InputError,
            "missing value for row 0",
        ),
    ],
)
def test_bad_functions(function, error, words):
    with pytest.raises(error, match=words):
        dg.filter_edges(dg.Graph.from_edges(edges_of(), weight="km"), function)


def test_functions_cannot_change_the_edges():
    frame = edges_of()
    G = dg.Graph.from_edges(frame, weight="km")

    def greedy(edges):
        edges["km"] = 0.0
        del edges["note"]
        return edges["src"] > 3

    assert listed(dg.filter_edges(G, greedy).edges.compute()) == listed(frame[frame["src"] > 3])
    assert frame["km"].max() > 0


def test_saved_graphs(tmp_path):
    frame = edges_of(name=text)
    dg.Graph.from_edges(frame, weight="km", parts=2).save(tmp_path / "saved")
    F = dg.filter_edges(dg.open_graph(tmp_path / "saved"), short)
    assert listed(F.edges.compute()) == listed(frame[frame["km"] < 0.5])


def test_workers_call_the_function(client):
    frame = edges_of(name=text)
    G = dg.Graph.from_edges(frame, weight="km", vertices=vertices_of(text), parts=2, client=client)
    for graph in (G, dg.simplify(G)):
        edges, F = graph.edges.compute(), dg.filter_edges(graph, lambda edges: edges["km"] < 0.5)
        assert listed(F.edges.compute()) == listed(edges[edges["km"] < 0.5])
        assert dg.wcc(F).compute()["vertex"].tolist() == sorted(text(number) for number in range(SIZE))
    with pytest.raises(errors.InputError, match="KeyError: 'miles'"):
        dg.filter_edges(G, lambda edges: edges["miles"] > 3)
