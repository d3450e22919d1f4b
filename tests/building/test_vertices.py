"""Vertices: those of the edges, isolated ones, and their attributes, with the user's own ids."""

import uuid

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from oracle import check_graph, collect, listed

import dgraph as dg
from dgraph.errors import IdError, InputError

POLICIES = ["outgoing", "cartesian", "metis"]
IDS = {
    "dense": [0, 1, 2, 3],
    "sparse": [-(2**62), 0, 5, 2**62],
    "unsigned": [0, 2**63, 2**64 - 2, 2**64 - 1],
    "string": ["", "a", "é", "😀"],
    "uuid": sorted(uuid.UUID(int=17**k) for k in (0, 3, 11, 30)),
}


def typed(some, ids):
    """A column in the type that all the ids need."""
    unsigned = isinstance(ids[0], int) and max(ids) >= 2**63
    return pd.Series([*some], dtype="uint64" if unsigned else None)


def edges_between(ids, pairs):
    return pd.DataFrame({end: typed((ids[pair[k]] for pair in pairs), ids) for k, end in enumerate(("src", "dst"))})


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", IDS)
def test_vertex_frames_list_the_vertices_that_each_partition_owns(kind, policy):
    ids = IDS[kind]
    frame = edges_between(ids, [(0, 2), (2, 1), (3, 0)])
    graph = dg.Graph.from_edges(frame, parts=3, policy=policy)
    check_graph(graph, listed(frame))
    assert graph.vertices.npartitions == 3
    for one, lazy in zip(collect(graph.partitions), graph.vertices.partitions, strict=True):
        mine = pd.Series([ids[number] for number in one.numbers[: one.num_owned]])
        assert lazy.compute()["id"].tolist() == as_dask_has_them(mine).tolist()
    assert sorted(listed(graph.edges.compute())) == sorted(listed(frame))


def as_dask_has_them(ids):
    """Text, of a type that is not pandas' own, if they are strings or UUIDs."""
    return ids.astype("str").astype("string[pyarrow]") if ids.dtype.kind == "O" else ids


def test_results_join_with_vertices():
    for ids in (["a", "b", "c"], [uuid.UUID(int=17**k) for k in (0, 3, 11)], [1, 2, 3]):
        vertices = pd.DataFrame({"id": ids, "age": [1, 2, 3]})
        graph = dg.Graph.from_edges({"src": ids[:2], "dst": ids[1:]}, vertices=vertices, parts=2)
        joined = dg.bfs(graph, ids[0]).frame.merge(graph.vertices, left_on="vertex", right_on="id").compute()
        assert sorted(zip(joined["age"], joined["distance"], strict=True)) == [(1, 0), (2, 1), (3, 2)]


def test_whole_numbers_stay_whole_where_a_vertex_has_none(tmp_path):
    vertices = pd.DataFrame({"id": [1], "age": [2**60 + 1], "known": [True]})
    graph = dg.Graph.from_edges({"src": [1], "dst": [3]}, vertices=vertices, parts=2)
    graph.save(tmp_path / "g")
    for one in (graph, dg.open_graph(tmp_path / "g")):
        found = one.vertices.compute()
        assert (found["age"][0:1].tolist(), found["known"][0:1].tolist()) == ([2**60 + 1], [True])
        assert found[["age", "known"]].isna().to_numpy().tolist() == [[False] * 2, [True] * 2]
        assert found.dtypes.equals(one.vertices.dtypes)


def in_age(frame):
    """Also with one word for a missing name, which may be None, nan or NA."""
    return frame.sort_values("age").reset_index(drop=True).fillna({"name": "missing"})


EDGES = pd.DataFrame({"src": [1, 1], "dst": [3, 1]})


@pytest.mark.parametrize(
    ("vertices", "all_ids"),
    [
        (None, [1, 3]),
        (0, [1, 3]),
        (3, [0, 1, 2, 3]),
        (np.int64(5), [0, 1, 2, 3, 4]),
        (range(5, 7), [1, 3, 5, 6]),
        (range(5, 5), [1, 3]),
        ([3, 9], [1, 3, 9]),
        ((), [1, 3]),
        (np.array([-4]), [-4, 1, 3]),
        (pd.Series([9, 9], name="x"), [1, 3, 9]),
        (pd.Index([10**15]), [1, 3, 10**15]),
        (pa.array([7]), [1, 3, 7]),
        (pd.DataFrame({"who": [8]}), [1, 3, 8]),
        (pd.DataFrame({"age": [60], "id": [8]}), [1, 3, 8]),
        (pa.table({"id": [8]}), [1, 3, 8]),
        ({"id": [8]}, [1, 3, 8]),
        (dd.from_pandas(pd.DataFrame({"id": [8, 1]}), npartitions=2), [1, 3, 8]),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("parts", [1, 3])
def test_listed_isolated_vertices_belong_to_the_graph(vertices, all_ids, parts):
    graph = dg.Graph.from_edges(EDGES, vertices=vertices, parts=parts)
    assert graph.num_vertices == len(all_ids)
    assert graph.vertices.compute().iloc[:, 0].tolist() == all_ids
    check_graph(graph, listed(EDGES), vertices=all_ids)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", IDS)
def test_vertex_attributes_of_every_type_are_kept(kind, policy):
    ids = IDS[kind]
    vertices = pd.DataFrame(
        {
            "born": pd.to_datetime(["1970-01-01", "2000-01-01", None, "1990-05-05"]),
            "id": typed((ids[k] for k in (2, 0, 3, 1)), ids),
            "name": ["two", "zero", None, "one"],
            "age": [2, 0, 3, 1],
        }
    )
    edges = edges_between(ids, [(0, 2)])
    expected = in_age(vertices)[["id", "born", "name", "age"]]
    expected["id"] = as_dask_has_them(expected["id"])
    graph = dg.Graph.from_edges(edges, vertices=vertices, policy=policy, parts=2)
    back = graph.vertices.compute()
    pd.testing.assert_frame_equal(in_age(back), expected)
    assert graph.vertices.dtypes.to_dict() == back.dtypes.to_dict()
    if kind != "uuid":  # of which Dask's own frames make strings
        lazy = dg.Graph.from_edges(edges, vertices=dd.from_pandas(vertices, npartitions=2), policy=policy, parts=2)
        pd.testing.assert_frame_equal(in_age(lazy.vertices.compute()), expected, check_dtype=False)


@pytest.mark.parametrize("parts", [1, 3])
def test_vertices_that_the_frame_does_not_list_lack_attributes(parts):
    vertices = pd.DataFrame({"id": [3, 9], "age": [30, 90], "name": ["c", "i"], "alive": [True, False]})
    graph = dg.Graph.from_edges(EDGES, vertices=vertices, parts=parts)
    back = graph.vertices.compute()
    assert back["id"].tolist() == [1, 3, 9]
    assert back["age"].isna().tolist() == [True, False, False]
    assert back["age"].tolist()[1:] == [30.0, 90.0]
    assert back["name"].tolist()[1:] == ["c", "i"]
    assert back["alive"].tolist()[1:] == [True, False]
    assert graph.vertices.dtypes.to_dict() == back.dtypes.to_dict()


@pytest.mark.parametrize("parts", [1, 2])
def test_attributes_of_a_vertex_listed_twice_are_refused(parts):
    for ids in ([3, 3], [3, 3, 9], [1, 1]):  # as many as there are vertices, too, so that all might have attributes
        listed = pd.DataFrame({"id": ids, "age": range(len(ids))})
        graph = dg.Graph.from_edges(EDGES, vertices=listed, parts=parts)
        with pytest.raises(InputError, match=rf"lists {ids[0]} more than once"):
            graph.vertices.compute()


@pytest.mark.parametrize("vertices", [10**20, 2**63, range(-(2**64), 5), range(2**63 - 1, 2**63 + 2)])
def test_ranges_of_vertices_beyond_64_bits_are_refused(vertices):
    with pytest.raises(IdError, match=r"the ids \S+ to \S+ exceed signed 64-bit integers"):
        dg.Graph.from_edges(EDGES, vertices=vertices)
