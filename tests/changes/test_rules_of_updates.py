"""Laws of updates, what they refuse, and what they leave alone."""

import uuid
import warnings

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from changed import ListedGraph, check_alike, frame_of, rows_of

import dgraph as dg
from dgraph import errors
from dgraph.changes.batch import Batch, PairRule, net_of, with_batch

ROWS = [(0, 1, 3), (1, 2, 5), (2, 0, 4), (0, 1, 7), (3, 3, 1), (4, 1, 2)]


def graph_of(rows=ROWS, built=True, **options):
    G = dg.Graph.from_edges(frame_of(rows), weight="w", **options)
    if built:
        G.partitioned(("out", "incoming"), ("w",))
    return G


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("built", [True, False])
def test_adding_and_removing_the_same_edges_changes_nothing(directed, built):
    G = graph_of(directed=directed, built=built)
    more = frame_of([(0, 1, 9), (2, 4, 9), (1, 0, 8), (0, 1, 9)])
    check_alike(G.updated(added=more).updated(removed=more), G)


def test_batches_of_different_edges_commute():
    G = graph_of()
    first, second = frame_of([(0, 4, 1), (9, 1, 2)]), frame_of([(4, 4, 1), (5, 9, 2)])
    one, other = (G.updated(added=a).updated(added=b) for a, b in ((first, second), (second, first)))
    check_alike(one, other)


def test_one_update_removes_before_it_adds():
    G = graph_of()
    H = G.updated(added=frame_of([(1, 2, 50)]), removed={"src": [1], "dst": [2]})
    assert (1, 2, 50, "1>2") in rows_of(H.edges.compute()) and H.num_edges == G.num_edges
    assert dg.sssp(H, 1).compute()["distance"].tolist()[2] == 50


def test_the_last_of_several_edges_is_removed():
    H = graph_of().updated(removed={"src": [0], "dst": [1]})
    assert [row[2] for row in rows_of(H.edges.compute()) if row[:2] == (0, 1)] == [3]
    assert dg.sssp(H, 0).compute()["distance"].tolist()[1] == 3


def test_the_last_of_several_undirected_edges_is_removed_whichever_way_it_was_listed():
    for last in ((0, 1, 9), (1, 0, 9)):
        for first in ((0, 1, 2), (1, 0, 2)):
            G = graph_of([first, last], directed=False)
            H = G.updated(removed={"src": [0], "dst": [1]})
            check_alike(H, graph_of([first], directed=False))
            assert "listed last" in H.changes.merging


@pytest.mark.parametrize("repeats", ["first", "sum", "min", "max"])
def test_a_merged_edge_goes_whole(repeats):
    H = graph_of(repeats=repeats).updated(removed={"src": [0, 0], "dst": [1, 1]})
    assert (H.changes.removed, H.changes.missing) == (1, 0)
    assert not [row for row in rows_of(H.edges.compute()) if row[:2] == (0, 1)]


def test_edges_that_are_not_there_are_counted_and_named():
    less = {"src": [0, 7, 0, 0, 0, 3], "dst": [1, 1, 4, 1, 1, 3]}
    with pytest.warns(errors.MissingEdgesWarning, match=r"3 edges to remove are not .* row 1, from 7 to 1"):
        H = graph_of().updated(removed=less)
    assert H.changes.missing == 3 and H.changes.removed == 3
    with pytest.warns(errors.MissingEdgesWarning, match="1 edge to remove is not"):
        graph_of(loops="drop").updated(removed={"src": [3], "dst": [3]})


def test_the_report_tells_what_merging_cost():
    G = graph_of()
    H = G.updated(added=frame_of([(9, 0, 1)]), vertices=[11])
    assert repr(H.changes) == "<1 edge added, 0 removed, 2 new vertices; not merged yet>"
    dg.pagerank(H)
    assert H.changes.merging.startswith("merged in ") and G.changes is None


def test_the_old_graph_stays_and_shares_its_partition():
    G = graph_of()
    before, arrays = rows_of(G.edges.compute()), [one.copy() for one in (G.partitions[0].out.neighbours,)]
    answer = dg.wcc(G).compute()
    H = G.updated(added=frame_of([(8, 9, 1)]), removed=frame_of([(1, 2, 0)]))
    assert H.input_edges.history.base.partition is G.partitions[0]
    dg.wcc(H)
    assert H.input_edges.history.base.partition is None  # what is merged holds no other graph
    assert rows_of(G.edges.compute()) == before and np.array_equal(G.partitions[0].out.neighbours, arrays[0])
    pd.testing.assert_frame_equal(dg.wcc(G).compute(), answer)


def test_rows_are_those_of_a_graph_that_is_built_anew():
    rng = np.random.default_rng(1)
    rows = [tuple(row) for row in rng.integers(0, 300, (4000, 3)).tolist()]
    more = [tuple(row) for row in rng.integers(-20, 320, (60, 3)).tolist()]
    listed = ListedGraph(rows).updated(more, rows[100:140], [])
    G = graph_of(rows)
    H = G.updated(frame_of(more), frame_of(rows[100:140])).partitioned(("out",), ("w",))[0]
    fresh = listed.graph().partitioned(("out",), ("w",))[0]
    for side in ("indptr", "neighbours"):
        np.testing.assert_array_equal(getattr(H.out, side), getattr(fresh.out, side))
    np.testing.assert_array_equal(H.out.columns["w"], fresh.out.columns["w"])


@pytest.mark.parametrize("convert", [pa.table, lambda frame: frame.to_dict("list"), lambda one: dd.from_pandas(one, 2)])
def test_frames_of_every_kind(convert):
    more, less = frame_of([(5, 0, 2), (0, 5, 1)]), frame_of([(1, 2, 0)])
    given = [convert(one) for one in (more, less[["src", "dst"]])]
    given = [{k: np.asarray(v) for k, v in one.items()} if isinstance(one, dict) else one for one in given]
    check_alike(graph_of().updated(*given), graph_of().updated(more, less))


def test_ids_of_every_kind():
    for ids in ([uuid.UUID(int=k) for k in range(9)], [f"v{k}" for k in range(9)], [10**k for k in range(9)]):
        G = dg.Graph.from_edges({"src": ids[2:5], "dst": ids[3:6]})
        G.partitioned()
        H = G.updated({"src": [ids[0], ids[4]], "dst": [ids[2], ids[8]]}, {"src": [ids[3]], "dst": [ids[4]]})
        fresh = dg.Graph.from_edges({"src": [ids[2], ids[4], ids[0], ids[4]], "dst": [ids[3], ids[5], ids[2], ids[8]]})
        pd.testing.assert_frame_equal(dg.wcc(H).compute(), dg.wcc(fresh).compute())


def test_an_empty_graph_takes_the_ids_of_the_first_batch():
    G = dg.Graph.from_edges(pd.DataFrame({"src": [], "dst": []}))
    H = G.updated({"src": ["a"], "dst": ["b"]})
    assert H.changes.vertices == 2 and dg.bfs(H, "a").compute()["distance"].tolist() == [0, 1]
    with pytest.warns(errors.MissingEdgesWarning, match="row 0, from 'a' to 'b'"):
        assert G.updated(removed={"src": ["a"], "dst": ["b"]}).num_vertices == 0


def test_vertices_with_attributes():
    towns = pd.DataFrame({"id": [0, 1, 2, 3, 4], "people": [5, 6, 7, 8, 9]})
    G = graph_of(vertices=towns)
    H = G.updated(vertices=pd.DataFrame({"id": [9], "people": [1]}), added=frame_of([(7, 9, 1)]))
    found = H.vertices.compute().set_index("id")["people"]
    assert found.loc[9] == 1 and pd.isna(found.loc[7]) and found.loc[0] == 5
    with pytest.raises(errors.ColumnError, match=r"vertices=: .*'people'.*'size'"):
        G.updated(vertices=pd.DataFrame({"id": [9], "size": [1]}))
    with pytest.raises(errors.InputError, match="more than once"):
        G.updated(vertices=pd.DataFrame({"id": [1], "people": [1]})).vertices.compute()


@pytest.mark.parametrize(
    ("error", "message", "given"),
    [
        (errors.OptionError, "needs added=, removed= or vertices=", {}),
        (errors.ColumnError, "added=: there is no column 'note'", {"added": {"src": [1], "dst": [2], "w": [1]}}),
        (errors.ColumnError, "added=: the edges have no column 'w'", {"added": {"src": [1], "dst": [2]}}),
        (errors.ColumnError, "added=: column 'x' is unknown", {"added": frame_of([(0, 1, 1)]).assign(x=1)}),
        (errors.ColumnError, "removed=: the edges have no column 'dst'.*Rename", {"removed": {"src": [1]}}),
        (errors.ColumnError, "type int64 in the graph.*2.5", {"added": frame_of([(0, 1, 1)]).assign(w=2.5)}),
        (errors.WeightError, "weight is missing", {"added": frame_of([(0, 1, 1)]).assign(w=np.nan)}),
        (errors.IdError, "added=: .*string", {"added": frame_of([(0, 1, 1)]).assign(src="a", dst="b")}),
        (errors.IdError, "removed=: .*string", {"removed": {"src": ["a"], "dst": ["b"]}}),
        (errors.IdError, "vertices=: .*string", {"vertices": ["a"]}),
        (errors.IdError, "removed=: .*missing", {"removed": {"src": [np.nan], "dst": [1]}}),
        (errors.InputError, "cannot be read", {"added": 3}),
    ],
)
def test_bad_input_is_refused_and_the_graph_stays(error, message, given):
    G = graph_of()
    before = rows_of(G.edges.compute())
    with pytest.raises(error, match=message):
        G.updated(**given)
    assert rows_of(G.edges.compute()) == before


def test_ids_beyond_the_type_of_the_graph_are_refused_or_missing():
    G = dg.Graph.from_edges(pd.DataFrame({"src": [0, 1], "dst": [1, 2]}, dtype="int32"))
    with pytest.raises(errors.IdError, match="int32 in the graph"):
        G.updated({"src": [2**40], "dst": [0]})
    with pytest.warns(errors.MissingEdgesWarning):
        assert G.updated(removed={"src": [2**40], "dst": [0]}).num_edges == 2


def test_a_sum_beyond_64_bits_names_the_edge():
    G = graph_of([(5, 7, 2**62), (1, 2, 1)], repeats="sum")
    H = G.updated(added=frame_of([(0, 1, 1), (5, 7, 2**62)]))
    with pytest.raises(errors.WeightError, match="from 5 to 7 exceeds 64 bits"):
        dg.sssp(H, 5)
    assert dg.sssp(G, 1).compute()["distance"].tolist()[1] == 1


def test_negative_weights_are_met_by_the_operation():
    H = graph_of().updated(added=frame_of([(0, 2, -1)]))
    assert dg.sssp(H, 0).compute()["distance"].tolist()[2] == -1
    with pytest.raises(errors.WeightError):
        dg.pagerank(H, weighted=True)


def test_updated_graphs_are_cut_saved_and_validated(tmp_path):
    H = graph_of().updated(frame_of([(0, 2, 6), (8, 8, 1)]), frame_of([(4, 1, 0)]))
    fresh = ListedGraph(ROWS).updated([(0, 2, 6), (8, 8, 1)], [(4, 1, 0)], []).graph()
    H.save(tmp_path / "saved")
    opened = dg.open_graph(tmp_path / "saved")
    check_alike(opened, fresh)
    check_alike(opened.updated(frame_of([(4, 5, 1)])), fresh.updated(frame_of([(4, 5, 1)])))
    assert H.validate().counts == fresh.validate().counts
    for cut in (dg.simplify, dg.reverse, lambda graph: dg.subgraph(graph, [0, 1, 2, 4]), dg.largest_component):
        check_alike(cut(H), cut(fresh))
    check_alike(dg.reverse(H).updated(frame_of([(7, 0, 1)])), dg.reverse(fresh).updated(frame_of([(7, 0, 1)])))


def test_changes_beyond_a_share_are_merged_at_once():
    G = dg.rmat(scale=10, edge_factor=8, seed=1)
    G.partitioned()
    ends = np.random.default_rng(2).integers(0, 1024, (2, 20_000))
    many, few = ({"source": ends[0][:size], "destination": ends[1][:size]} for size in (20_000, 99))
    assert G.updated(many).changes.merging.startswith("merged")
    assert G.updated(few).changes.merging == "not merged yet"


def test_many_updates_keep_few_batches_of_few_bytes():
    rule, rng, batches, sizes = PairRule(True, False, False), np.random.default_rng(3), (), []
    for number in range(300):
        ends = rng.integers(0, 1000, (2, 20)).astype(np.uint32)
        batch = Batch.of(rule, (ends[0], ends[1]), pd.DataFrame({"row": np.full(20, number)}))
        batches = with_batch(batches, batch, rule)
        sizes.append(len(batches))
    net = net_of(batches, rule)
    assert max(sizes) <= 10 and len(net) == 6000 and net.nbytes <= 16 * len(net)
    assert (np.diff(net.frame["row"]) >= 0).all()


def test_a_long_stream_of_updates():
    rng = np.random.default_rng(4)
    G = graph_of([tuple(row) for row in rng.integers(0, 50, (400, 3)).tolist()])
    listed = ListedGraph([tuple(row) for row in frame_of([]).itertuples(index=False)])
    listed = ListedGraph([row[:3] for row in G.edges.compute().itertuples(index=False, name=None)])
    for step in range(60):
        more = [tuple(row) for row in rng.integers(0, 55, (7, 3)).tolist()]
        less = [listed.rows[place] for place in rng.integers(0, len(listed.rows), 6)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.MissingEdgesWarning)
            G, listed = G.updated(frame_of(more), frame_of(less)), listed.updated(more, less, [])
        if step % 20 == 19:
            check_alike(G, listed.graph())


@pytest.mark.parametrize("directed", [True, False])
def test_values_of_edges_that_are_added_again_stay_with_their_edges(directed):
    """Edges that were put into a row are its last ones, whatever their neighbours are."""
    listed = ListedGraph([(5, 8, 1)], [2], directed=directed, repeats="max")
    graph = listed.graph()
    for more in ([(5, 2, 3)], [(5, 8, 1), (5, 2, 6)]):
        graph.partitioned(("out",), ("w",))
        graph, listed = graph.updated(frame_of(more)), listed.updated(more, [], [])
    check_alike(graph, listed.graph())
    assert graph.changes.merging.startswith("merged")
