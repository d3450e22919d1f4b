"""Vertex columns: of the graph, by vertex, as an array, or from an earlier result, each partition gets its own."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.errors import ColumnError, OptionError

IDS = np.array([3, 5, 8, 13, 21, 34, 55])
RING = pd.DataFrame({"src": IDS, "dst": np.roll(IDS, -1)})


class Shifted(dg.VertexProgram):
    """Every vertex gets what the column holds for the one before it."""

    kind = "synchronous"
    value = dg.State(float)
    message = dg.Message(float, dg.MAX)
    height = dg.VertexColumn(float, missing=-1)

    def send(height):
        return height

    def apply(message):
        return message

    def stop(round):
        return True


def shifted(graph, height, **options):
    return dg.run(graph, Shifted(), columns={"height": height}, **options).compute()["value"].tolist()


def moved(ids, parts):
    return (ids * 7 + 3) % parts


@pytest.mark.parametrize("policy", ["outgoing", "cartesian", moved])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_a_mapping_gives_values_to_some_vertices(parts, policy):
    G = dg.Graph.from_edges(RING, parts=parts, policy=policy)
    assert shifted(G, {55: 1.0, 13: 2.0, 3: 4.0}) == [1, 4, -1, -1, 2, -1, -1]
    assert shifted(G, {}) == [-1] * 7


@pytest.mark.parametrize("parts", [1, 3])
def test_an_array_gives_values_by_vertex_number(parts):
    G = dg.Graph.from_edges(RING, parts=parts, policy=moved)
    whole, fixed = np.arange(7.0), np.arange(7.0)
    fixed.flags.writeable = False
    for height in (whole, np.repeat(whole, 2)[::2], fixed):
        assert shifted(G, height) == [6, 0, 1, 2, 3, 4, 5]
    assert whole.tolist() == fixed.tolist() == list(range(7)), "the caller's array stays as it is"
    with pytest.raises(ColumnError, match=r"has shape \(3,\); expected \(7,\)"):
        shifted(G, np.arange(3.0))


@pytest.mark.parametrize("parts", [1, 3])
def test_a_series_gives_values_by_vertex(parts):
    G = dg.Graph.from_edges(RING, parts=parts, policy=moved)
    assert shifted(G, pd.Series([1.0, 2, 4], index=[55, 13, 3])) == [1, 4, -1, -1, 2, -1, -1]
    with pytest.raises(OptionError, match="vertex 3 more than once"):
        shifted(G, pd.Series([1.0, 2], index=[3, 3]))


class Followed(Shifted):
    """Every vertex gets the vertex that the column names for the one before it."""

    value = dg.State(dg.vertex)
    message = dg.Message(dg.vertex, dg.MAX)
    height = dg.VertexColumn(dg.vertex)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("ids", [IDS, np.array(list("abcdefg"))], ids=["integers", "strings"])
def test_vertices_are_named_by_their_ids(ids, parts):
    named = np.roll(ids, 2)  # what the column says of each
    vertices = pd.DataFrame({"id": ids, "height": named})
    G = dg.Graph.from_edges({"src": ids, "dst": np.roll(ids, -1)}, vertices=vertices, parts=parts)
    for height in (named, pd.Series(named, ids), dict(zip(ids, named, strict=True))):
        found = dg.run(G, Followed(), columns={"height": height}).compute()["value"]
        assert found.tolist() == np.roll(named, 1).tolist()
    assert dg.run(G, Followed()).compute()["value"].tolist() == np.roll(named, 1).tolist()
    none = dg.run(G, Followed(), columns={"height": {ids[0]: ids[3]}}).compute()["value"]
    assert none[1] == ids[3] and none.drop(1).isna().all()


class WholeRange(Shifted):
    value = dg.State(int)
    message = dg.Message(int, dg.MAX)
    height = dg.VertexColumn(int)


def test_values_that_the_declared_type_cannot_hold_are_refused():
    G = dg.Graph.from_edges(RING)
    for height in (np.arange(7) / 2, {3: np.nan}, {3: "x"}, [1] * 7):
        with pytest.raises(ColumnError, match="'height' is "):
            dg.run(G, WholeRange(), columns={"height": height})


@pytest.mark.parametrize("parts", [1, 2])
def test_values_of_an_earlier_result_that_the_declared_type_cannot_hold_are_refused(parts):
    graph = dg.Graph.from_edges(RING, parts=parts)
    hops = dg.bfs(graph, 3).column("distance")
    assert dg.run(graph, WholeRange(), columns={"height": hops}).compute()["value"].tolist() == [6, 0, 1, 2, 3, 4, 5]
    with pytest.raises(ColumnError, match="declared int64, which cannot hold inf"):
        dg.run(graph, WholeRange(), columns={"height": dg.bfs(graph, 3, depth_limit=2).column("distance")})


def test_a_column_of_a_result_for_other_vertices_is_refused():
    G, other = dg.Graph.from_edges(RING), dg.Graph.from_edges(RING + 1)
    with pytest.raises(ColumnError, match="for other vertices"):
        shifted(G, dg.degrees(other).column("degree"))
    assert shifted(G, dg.degrees(dg.Graph.from_edges(RING, parts=2)).column("degree")) == [2] * 7


def test_vertex_attributes_of_the_graph_are_read_as_columns():
    vertices = pd.DataFrame({"id": IDS[::-1], "height": [7.0, np.nan, 5, 4, 3, 2, 1]})
    G = dg.Graph.from_edges(RING, vertices=vertices, parts=3, policy=moved)
    assert dg.run(G, Shifted()).compute()["value"].tolist() == [7, 1, 2, 3, 4, 5, -1]


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_values_of_an_earlier_result_are_read_as_columns(parts, client):
    for where in (None, client):
        G = dg.Graph.from_edges(RING, parts=parts, policy=moved, client=where)
        once = dg.run(G, Shifted(), columns={"height": np.arange(7.0)})
        assert once.column("value").is_beside(G)
        assert shifted(G, once.column("value")) == [5, 6, 0, 1, 2, 3, 4]


def test_values_of_a_result_on_other_partitions_are_moved():
    once = dg.run(dg.Graph.from_edges(RING), Shifted(), columns={"height": np.arange(7.0)})
    G = dg.Graph.from_edges(RING, parts=2, policy=moved)
    assert not once.column("value").is_beside(G)
    assert shifted(G, once.column("value")) == [5, 6, 0, 1, 2, 3, 4]
    with pytest.raises(ColumnError, match="no column 'height'; it has value"):
        once.column("height")


def test_a_column_that_the_program_does_not_read_is_refused():
    with pytest.raises(ColumnError, match="reads no vertex column 'depth'; it reads height"):
        dg.run(dg.Graph.from_edges(RING), Shifted(), columns={"depth": {}})


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's own way to merge, which pandas 3 advises against
def test_a_frame_of_results_joins_with_frames_of_dask(tmp_path):
    names = pd.DataFrame({"name": ["ann", "bob", "eve"], "age": [1, 2, 3]})
    names.to_parquet(tmp_path / "names.parquet")
    G = dg.Graph.from_edges(pd.DataFrame({"src": ["ann", "bob"], "dst": ["eve", "eve"]}), parts=2)
    people = dd.read_parquet(tmp_path / "names.parquet")
    joined = dg.wcc(G).frame.merge(people, left_on="vertex", right_on="name")
    joined.to_parquet(tmp_path / "joined")
    assert sorted(pd.read_parquet(tmp_path / "joined")["age"]) == [1, 2, 3]
