"""Induced subgraphs: against NetworkX, in every form in which vertices are chosen, and bad input."""

import uuid

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from edges_to_cut import SIZE, edges_of, listed, text, vertices_of

import dgraph as dg
from dgraph import errors


def sparse(number: int) -> int:
    return number * 10**12 - 5 * 10**12


def small_uuid(number: int) -> uuid.UUID:
    return uuid.UUID(int=number * 10**30 + 1)


def expected(frame: pd.DataFrame, chosen: set) -> pd.DataFrame:
    return frame[frame["src"].isin(chosen) & frame["dst"].isin(chosen)]


@pytest.mark.parametrize("name", [int, text, sparse, small_uuid])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("built", [True, False])
def test_subgraph_has_the_edges_between_chosen_vertices(name, directed, parts, built):
    frame = edges_of(name=name)
    G = dg.Graph.from_edges(frame, weight="km", vertices=vertices_of(name), directed=directed, parts=parts)
    if built:
        G.partitioned(["out", "incoming"], ["km"])
    chosen = [name(number) for number in range(0, SIZE, 3)]
    H = dg.subgraph(G, chosen)
    right = expected(frame, set(chosen))
    assert (H.directed, H.weight, H.edge_columns) == (directed, "km", ["km", "note"])
    assert (H.num_parts, H.policy, H.num_vertices, H.num_edges) == (parts, G.policy, len(chosen), len(right))
    assert listed(H.edges.compute()) == listed(right)
    table = H.vertices.compute().sort_values("size")
    assert table["id"].tolist() == [str(one) if name is small_uuid else one for one in chosen]
    assert table["size"].tolist() == list(range(0, SIZE * 10, 30)) and table["even"].dtype == bool
    fresh = dg.Graph.from_edges(right, weight="km", vertices=chosen, directed=directed)
    for run in (dg.wcc, dg.degrees, lambda graph: dg.sssp(graph, chosen[1]), dg.pagerank):
        pd.testing.assert_frame_equal(run(H).compute(), run(fresh).compute())


RULES = [
    {"repeats": "sum"},
    {"repeats": "first", "loops": "drop"},
    {"symmetrize": True},
    {"directed": False, "repeats": "sum"},
    {"directed": False, "loops": "drop"},
]


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("built", [True, False])
@pytest.mark.parametrize("parts", [1, 3])
def test_rules_of_the_graph_still_hold(rules, built, parts):
    frame = edges_of().drop(columns="note")
    G = dg.Graph.from_edges(frame, weight="km", parts=parts, **rules)
    if built:
        G.partitioned()
    chosen = set(range(0, 30, 2))
    edges = G.edges.compute()
    H = dg.subgraph(G, sorted(chosen))
    right = expected(edges, chosen)
    assert H.num_edges == len(right)
    assert [row[:2] for row in listed(H.edges.compute())] == [row[:2] for row in listed(right)]
    assert H.edges.compute()["km"].sum() == pytest.approx(right["km"].sum())
    loops = 0 if G.directed else (right["src"] == right["dst"]).sum()  # each counts once
    assert dg.degrees(H).compute()["degree"].sum() == 2 * len(right) - loops


def test_subgraphs_of_subgraphs():
    frame = edges_of(name=text)
    for built in (False, True):
        G = dg.Graph.from_edges(frame, vertices=vertices_of(text))
        H = dg.subgraph(G, [text(number) for number in range(0, SIZE, 2)])
        if built:
            H.partitioned()
        inner = dg.subgraph(H, [text(number) for number in range(0, SIZE, 6)])
        assert listed(inner.edges.compute()) == listed(expected(frame, {text(n) for n in range(0, SIZE, 6)}))
        assert sorted(inner.vertices.compute()["size"]) == list(range(0, SIZE * 10, 60))
        fresh = dg.Graph.from_edges(expected(frame, {text(n) for n in range(0, SIZE, 6)}), vertices=ids_of(inner))
        pd.testing.assert_frame_equal(dg.core_number(inner).compute(), dg.core_number(fresh).compute())


def test_isolated_vertices_stay_in_graphs_made_from_subgraphs():
    H = dg.subgraph(dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}, parts=2), [0, 2])
    assert dg.core_number(H, engine="bsp").compute()["vertex"].tolist() == [0, 2]
    assert dg.subgraph(H, [2]).vertices.compute()["id"].tolist() == [2]


@pytest.mark.parametrize("policy", ["cartesian", "hybrid", "metis", lambda ids, parts: np.asarray(ids) % parts])
def test_policies_place_the_subgraph(policy):
    G = dg.Graph.from_edges(edges_of(), policy=policy, parts=3)
    H = dg.subgraph(G, range(0, 30, 2))
    assert (H.policy, H.num_parts) == (G.policy, 3)
    assert listed(H.edges.compute()) == listed(expected(edges_of(), set(range(0, 30, 2))))
    assert dg.wcc(H).compute()["vertex"].tolist() == list(range(0, 30, 2))


def ids_of(graph) -> list:
    return sorted(graph.vertices.compute()["id"])


def graph_and_mask(name=text, **options):
    G = dg.Graph.from_edges(edges_of(name=name), vertices=vertices_of(name), **options)
    ids = sorted(name(number) for number in range(SIZE))
    return G, ids, np.array([number % 3 == 0 for number in range(SIZE)])


def forms(ids, mask):
    chosen = [one for one, is_chosen in zip(ids, mask, strict=True) if is_chosen]
    shuffled = np.random.default_rng(2).permutation(SIZE)
    return {
        "list with repeats": [*chosen, *chosen[:3]],
        "tuple": tuple(chosen),
        "set": set(chosen),
        "array": np.array(chosen, object),
        "Series": pd.Series(chosen),
        "Index": pd.Index(chosen),
        "Arrow": pa.array(chosen),
        "chunked Arrow": pa.chunked_array([chosen[:3], chosen[3:]]),
        "categories": pd.Series(chosen).astype("category"),
        "frame": pd.DataFrame({"vertex": chosen, "x": 1}),
        "frame of vertices": pa.table({"id": chosen}),
        "dict": {"vertex": chosen},
        "mask": mask,
        "list of booleans": mask.tolist(),
        "Arrow booleans": pa.array(mask),
        "nullable booleans": pd.Series(mask, dtype="boolean"),
        "objects": pd.Series(mask, dtype=object),
        "Series by row": pd.Series(mask),
        "shuffled Series by row": pd.Series(mask)[shuffled],
        "shuffled Series by vertex": pd.Series(mask, index=ids).iloc[shuffled],
    }


@pytest.mark.parametrize("form", forms(range(SIZE), np.ones(SIZE, bool)))
@pytest.mark.parametrize("name", [text, lambda number: number + 3])
def test_forms_of_vertices(form, name):
    G, ids, mask = graph_and_mask(name)
    H = dg.subgraph(G, forms(ids, mask)[form])
    assert H.vertices.compute()["id"].tolist() == [one for one, is_chosen in zip(ids, mask, strict=True) if is_chosen]


@pytest.mark.parametrize("parts", [1, 3, 16])
def test_results_choose_vertices(parts):
    G, ids, _ = graph_and_mask(parts=parts)
    result = dg.degrees(G)
    table, rows = result.compute(), result.frame
    right = table["vertex"][table["degree"] > 10].tolist()
    assert 0 < len(right) < len(ids)
    for chosen in (
        table["degree"] > 10,
        table.set_index("vertex")["degree"] > 10,
        table.sort_values("degree")["degree"] > 10,
        table[table["degree"] > 10],
        rows["degree"] > 10,
        rows[rows["degree"] > 10],
        (rows["degree"] > 10).compute(),
        rows["vertex"][rows["degree"] > 10],
    ):
        assert dg.subgraph(G, chosen).vertices.compute()["id"].tolist() == right
    cores = dg.k_core(G, 6)
    table = cores.compute()
    for chosen in (cores, cores.column("in_core")):
        assert dg.subgraph(G, chosen).vertices.compute()["id"].tolist() == table["vertex"][table["in_core"]].tolist()


@pytest.mark.parametrize("policy", ["outgoing", "metis"])
def test_vertex_columns_choose_vertices(policy):
    G, *_ = graph_and_mask(parts=2, policy=policy)
    assert sorted(dg.subgraph(G, "even").vertices.compute()["size"]) == list(range(0, SIZE * 10, 20))
    rows = G.vertices
    assert sorted(dg.subgraph(G, rows[rows["even"]]).vertices.compute()["size"]) == list(range(0, SIZE * 10, 20))


def test_masks_with_repeated_labels_are_refused_unless_they_number_rows():
    G = dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]}, parts=2)
    for labels, named in ((["a", "a", "b"], "'a'"), ([1, 0, 0], "0"), ([0, 0, 0], "0")):
        with pytest.raises(errors.IdError, match=f"index has {named} more than once"):
            dg.subgraph(G, pd.Series([True, False, True], index=labels))
    assert dg.subgraph(G, pd.Series([True, False, True], index=[0, 1, 0])).num_vertices == 2


def test_sorted_lazy_masks_keep_their_vertices_or_are_refused():
    G, *_ = graph_and_mask(parts=3)
    rows = dg.degrees(G).frame
    with pytest.raises(errors.IdError, match="more than once"):
        dg.subgraph(G, rows.sort_values("degree")["degree"] > 10)
    small = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 1]}, parts=2)  # its sorted rows have the labels 0, 0
    with pytest.raises(errors.IdError, match="more than once"):
        dg.subgraph(small, dg.degrees(small).frame.sort_values("vertex", ascending=False)["vertex"] > 0)
    G, *_ = graph_and_mask(parts=1)
    table, rows = dg.degrees(G).compute(), dg.degrees(G).frame
    H = dg.subgraph(G, rows.sort_values("degree")["degree"] > 10)
    assert ids_of(H) == table["vertex"][table["degree"] > 10].tolist()


def test_sets_of_booleans_are_refused():
    G = dg.Graph.from_edges({"src": [0], "dst": [1]})
    for given in ({True, False}, frozenset([True, False])):
        with pytest.raises(errors.InputError, match="no order"):
            dg.subgraph(G, given)


def test_rows_of_vertices_with_an_attribute_called_vertex():
    towns = pd.DataFrame({"id": [0, 1, 2], "vertex": [2, 1, 0]})
    G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}, vertices=towns)
    rows = G.vertices
    assert ids_of(dg.subgraph(G, rows[rows["id"] == 0])) == [0]
    assert ids_of(dg.subgraph(G, dg.degrees(G).compute().query("vertex == 0"))) == [0]


def test_lazy_masks_of_unsorted_partitions_are_refused():
    G, *_ = graph_and_mask(parts=2, policy="metis")
    with pytest.raises(errors.ColumnError, match="policy='metis' does not sort"):
        dg.subgraph(G, dg.degrees(G).frame["degree"] > 10)
    chosen = dg.degrees(G).frame.query("degree > 10")
    assert dg.subgraph(G, chosen).num_vertices == len(chosen)


def test_no_vertices_give_the_empty_graph():
    G, ids, _ = graph_and_mask()
    for none in ([], np.array([]), pd.Series([], dtype=str), np.zeros(len(ids), bool)):
        H = dg.subgraph(G, none)
        assert (H.num_vertices, H.num_edges, len(H.edges.compute()), len(H.vertices.compute())) == (0, 0, 0, 0)
        assert list(H.edges.columns) == ["src", "dst", "km", "note"]
        assert len(dg.wcc(H).compute()) == 0
    G.partitioned(["out", "incoming"])
    assert len(dg.pagerank(dg.subgraph(G, [])).compute()) == 0


def test_all_vertices_give_the_same_graph():
    G, ids, _ = graph_and_mask()
    for built in (False, True):
        if built:
            G.partitioned()
        H = dg.subgraph(G, ids)
        assert (H.num_vertices, H.num_edges) == (G.num_vertices, G.num_edges)
        pd.testing.assert_frame_equal(dg.pagerank(H).compute(), dg.pagerank(G).compute())


@pytest.mark.parametrize(
    ("vertices", "error", "words"),
    [
        (["v00", "nobody"], errors.IdError, "no vertex 'nobody'"),
        (["v00", 7], errors.IdError, "str"),
        ([7], errors.IdError, "7 is not an id of this graph"),
        (["v00", None], errors.IdError, "row 1: the id is missing"),
        ("nobody", errors.ColumnError, r"no such vertex column; .*pass \['nobody'\]"),
        ("size", errors.ColumnError, "not booleans"),
        ([True, False], errors.ColumnError, "mask of 2 values; the graph has 40 vertices"),
        (np.ones((SIZE, 1), bool), errors.OptionError, "the shape"),
        (pd.Series([True] * 39 + [None], dtype="boolean"), errors.ColumnError, "1 missing value.*fillna"),
        (pd.Series([True] * 39 + [None], dtype=object), errors.ColumnError, "1 missing value.*fillna"),
        (pd.Series([True] * 40, index=[f"w{row}" for row in range(40)]), errors.IdError, "neither rows nor vertices"),
        (pd.DataFrame({"node": ["v00"]}), errors.ColumnError, "none of which is `vertex`"),
        (3, errors.InputError, "expected vertices, got int"),
        (None, errors.InputError, "expected vertices, got NoneType"),
    ],
)
def test_bad_vertices(vertices, error, words):
    with pytest.raises(error, match=words):
        dg.subgraph(graph_and_mask()[0], vertices)


@pytest.mark.parametrize("dtype", ["uint32", "int64", "uint64"])
@pytest.mark.parametrize("name", [lambda number: number + 1, lambda number: number * 10**8])
def test_ids_of_other_integer_types(dtype, name):
    frame = edges_of(name=name).astype({"src": dtype, "dst": dtype})
    G = dg.Graph.from_edges(frame)
    present = sorted({*frame["src"].tolist(), *frame["dst"].tolist()})[:9]
    for kind in ("uint32", "int64", "uint64"):
        H = dg.subgraph(G, np.array(present, kind))
        assert H.vertices.compute()["id"].tolist() == present and H.vertices["id"].dtype == dtype
    for wrong in (np.array([-1]), np.array([2**64 - 1], "uint64"), np.array([present[0] - 2**32])):
        with pytest.raises(errors.IdError, match="no vertex"):
            dg.subgraph(G, wrong)


def test_results_for_other_vertices_are_refused():
    G, *_ = graph_and_mask()
    other = dg.k_core(dg.Graph.from_edges({"src": [0], "dst": [1]}), 1)
    with pytest.raises(errors.ColumnError, match="other vertices"):
        dg.subgraph(G, other)
    with pytest.raises(errors.ColumnError, match="pass one of them"):
        dg.subgraph(G, dg.bfs(G, "v00"))


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("name", [int, text])
def test_saved_graphs_and_files(tmp_path, parts, name):
    frame, chosen = edges_of(name=name), [name(number) for number in range(0, SIZE, 3)]
    dg.Graph.from_edges(frame, weight="km", vertices=vertices_of(name), parts=parts).save(tmp_path / "saved")
    right = expected(frame, set(chosen))
    for built in (False, True):
        G = dg.open_graph(tmp_path / "saved")
        if built:
            G.partitioned()
        H = dg.subgraph(G, chosen)
        assert (H.num_vertices, H.num_edges, H.num_parts) == (len(chosen), len(right), parts)
        assert listed(H.edges.compute()) == listed(right)
        H.save(tmp_path / "cut", overwrite=built)
        again = dg.open_graph(tmp_path / "cut")
        assert listed(again.edges.compute()) == listed(right)
        assert sorted(again.vertices.compute()["id"]) == sorted(chosen)
        assert sorted(again.vertices.compute()["size"]) == list(range(0, SIZE * 10, 30))
    frame.to_csv(tmp_path / "edges.csv", index=False)
    G = dg.read_edges(tmp_path / "edges.csv", weight="km", parts=parts)
    present = sorted({*right["src"], *right["dst"]})
    assert listed(dg.subgraph(G, present).edges.compute()) == listed(right.drop(columns="note"))


def test_graph_saved_with_a_policy_of_the_user(tmp_path):
    dg.Graph.from_edges(edges_of(), policy=lambda source, destination, parts: source % parts, parts=2).save(
        tmp_path / "g"
    )
    H = dg.subgraph(dg.open_graph(tmp_path / "g"), range(0, 30, 2))
    assert listed(H.edges.compute()) == listed(expected(edges_of(), set(range(0, 30, 2))))


def test_frames_of_other_libraries():
    frame, chosen = edges_of().drop(columns="note"), list(range(0, 30, 2))
    import dask.dataframe as dd

    big_endian = {name: frame[name].to_numpy().astype(frame[name].dtype.newbyteorder(">")) for name in frame}
    for given in (
        {name: frame[name].to_numpy() for name in frame},
        big_endian,
        pd.DataFrame(big_endian),
        pa.table(frame),
        dd.from_pandas(frame, npartitions=3),
    ):
        H = dg.subgraph(dg.Graph.from_edges(given, weight="km"), chosen)
        assert listed(H.edges.compute()) == listed(expected(frame, set(chosen)))
        assert dg.sssp(H, 0).compute()["vertex"].tolist() == chosen


def test_edges_beyond_memory(monkeypatch):
    from dgraph.building import input_edges

    monkeypatch.setattr(input_edges, "HELD_SHARE", 1 << 60)
    import dask.dataframe as dd

    frame, chosen = edges_of().drop(columns="note"), list(range(0, 30, 2))
    for built in (False, True):
        G = dg.Graph.from_edges(dd.from_pandas(frame, npartitions=3), weight="km")
        assert G.num_vertices == 30 and G.input_edges.streamed is not None
        if built:
            G.partitioned()
        H = dg.subgraph(G, chosen)
        assert listed(H.edges.compute()) == listed(expected(frame, set(chosen)))
        assert dg.wcc(H).compute()["vertex"].tolist() == chosen


def test_kept_edges_beyond_memory_are_refused(monkeypatch):
    import dask.dataframe as dd

    from dgraph.building import derived_edges, input_edges

    monkeypatch.setattr(input_edges, "HELD_SHARE", 1 << 60)
    G = dg.Graph.from_edges(dd.from_pandas(edges_of(), npartitions=3))
    assert G.num_edges == 160
    for free, what in ((159, "bytes that say"), (200, "edges that are kept")):
        monkeypatch.setattr(derived_edges, "has_room", lambda need, free=free: need <= free)
        monkeypatch.setattr(derived_edges, "refuse_beyond_memory", refuse)
        for cut in (lambda: dg.subgraph(G, range(30)).num_edges, lambda: dg.filter_edges(G, lambda one: one["km"] > 0)):
            with pytest.raises(errors.RoomError, match=f"{what}.*choose fewer edges"):
                cut()


def refuse(what, need, free=None, remedy=""):
    raise errors.RoomError(f"{what}: {remedy}")


def test_networkx_agrees_on_large_random_graphs():
    rng = np.random.default_rng(5)
    ends, mask = rng.integers(0, 9000, (200_000, 2)), rng.random(9000) < 0.4
    G = dg.Graph.from_edges({"src": ends[:, 0], "dst": ends[:, 1], "row": np.arange(200_000)}, vertices=9000)
    right = nx.MultiDiGraph(ends.tolist()).subgraph(np.flatnonzero(mask).tolist())
    for _ in range(2):  # from chunks, then from the partition
        H = dg.subgraph(G, mask)
        degrees = dg.degrees(H).compute().set_index("vertex")
        assert H.num_edges == right.number_of_edges() and len(degrees) == mask.sum()
        assert degrees["out_degree"].to_dict() | dict(right.out_degree()) == degrees["out_degree"].to_dict()
        assert degrees["in_degree"].to_dict() | dict(right.in_degree()) == degrees["in_degree"].to_dict()
        out = H.partitioned(["out", "incoming"], ["row"])[0].out
        assert (mask[ends[out.columns["row"]]]).all()
        G.partitioned(["out", "incoming"], ["row"])


def test_subgraphs_on_a_cluster(client):
    import dask.dataframe as dd

    frame, chosen = edges_of(name=text), [text(number) for number in range(0, SIZE, 3)]
    right = expected(frame, set(chosen))
    for given, parts in ((frame, 1), (dd.from_pandas(frame, npartitions=3), 2)):
        G = dg.Graph.from_edges(given, weight="km", vertices=vertices_of(text), parts=parts, client=client)
        for built in (False, True):
            if built:
                G.partitioned()
            H = dg.subgraph(G, chosen)
            assert H.client is client and H.num_edges == len(right)
            assert listed(H.edges.compute()) == listed(right)
            assert dg.wcc(H).compute()["vertex"].tolist() == sorted(chosen)
        components = dg.wcc(G)
        rows = components.frame
        mask = rows["component"] == components.compute()["component"][0]
        assert dg.subgraph(G, mask).num_vertices == int(mask.sum().compute())
        assert dg.subgraph(G, rows[mask]).num_vertices == int(mask.sum().compute())
