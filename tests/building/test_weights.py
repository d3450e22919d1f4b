"""One rule for weights: a numeric column called `weight` is the weight unless the user says otherwise, and `sssp`
without weights names the columns that may have been meant."""

import warnings
from decimal import Decimal

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dgraph as dg
from dgraph.errors import ColumnError, UnweightedWarning, WeightError

ROADS = pd.DataFrame({"src": [1, 2], "dst": [2, 3], "weight": [5, 7], "km": [2.0, 3.5]})
PLAIN = ROADS[["src", "dst"]]
NUMBERS = {
    "int64": ROADS["weight"],
    "float32": ROADS["weight"].astype("float32"),
    "nullable": ROADS["weight"].astype("Int64"),
    "objects": ROADS["weight"].astype(object),
    "decimals": [Decimal(5), Decimal(7)],
}
OTHERS = {
    "text": ["5", "7"],
    "booleans": [True, False],
    "categories": pd.Categorical([5, 7]),
    "dates": pd.to_datetime(["2026-01-05", "2026-01-07"]),
}


def distances(graph):
    return dg.sssp(graph, 1).compute()["distance"].tolist()


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("door", [pd.DataFrame, pa.Table.from_pandas, dict])
def test_a_numeric_column_called_weight_is_the_weight(kind, door):
    graph = dg.Graph.from_edges(door(PLAIN.assign(weight=NUMBERS[kind])), parts=1)
    assert repr(graph).endswith(", weight='weight'>")
    assert distances(graph) == [0, 5, 12]


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize(
    "door", [pd.DataFrame, pa.Table.from_pandas, lambda frame: dd.from_pandas(frame, npartitions=2)]
)
def test_a_column_called_weight_that_is_not_numeric_is_passed_over_with_a_warning(kind, door):
    frame = door(PLAIN.assign(weight=OTHERS[kind]))
    with pytest.warns(UnweightedWarning, match="the column 'weight' is not numeric: convert it") as told:
        graph = dg.Graph.from_edges(frame)
    assert told[0].filename == __file__
    assert graph.weight is None
    assert distances(graph) == [0, 1, 2]


def test_dask_frames_follow_the_rule_and_stay_unread():
    graph = dg.Graph.from_edges(dd.from_pandas(ROADS, npartitions=2))
    assert repr(graph) == "<Graph: directed, not read yet, weight='weight'>"
    assert distances(graph) == [0, 5, 12]


def test_sssp_without_weights_names_numeric_columns():
    graph = dg.Graph.from_edges(ROADS.drop(columns="weight").assign(name=["a", "b"]))
    with pytest.warns(
        UnweightedWarning, match=r"sssp counts edges.* its column 'km' is numeric: .*weight='km'"
    ) as told:
        assert distances(graph) == [0, 1, 2]
    assert told[0].filename == __file__
    assert "the graph has no weights; its column 'km' is numeric" in repr(graph.validate())
    with pytest.raises(ColumnError, match=r"pagerank needs weights.* its column 'km' is numeric: .*weight='km'"):
        dg.pagerank(graph, weighted=True)


def test_an_explicit_choice_of_weight_gives_no_warning():
    for weight, expected in ((None, [0, 1, 2]), ("km", [0, 2, 5.5]), ("weight", [0, 5, 12])):
        graph = dg.Graph.from_edges(ROADS, weight=weight)
        assert graph.weight == weight
        assert distances(graph) == expected
    assert distances(dg.Graph.from_edges(PLAIN)) == [0, 1, 2]
    assert (
        dg.Graph.from_edges(ROADS.rename(columns={"weight": "dst", "dst": "weight"}), destination="weight").weight
        is None
    )


class Nearest(dg.VertexProgram):
    """Reads `weight`, which it does not declare."""

    length = dg.State(float, start=np.inf)
    merge = dg.MIN

    def seed(id):
        return 0.0 if id == 0 else np.inf

    def send(length, weight):
        return length + weight

    def apply(length, message):
        return min(length, message)


@pytest.mark.parametrize("engine", ["auto", "gas", "bulk_async"])
def test_a_graph_made_without_weights_has_none_even_if_a_column_is_called_weight(engine):
    graph = dg.Graph.from_edges(ROADS, weight=None)
    with pytest.raises(ColumnError, match="pagerank needs weights, but the graph has none"):
        dg.pagerank(graph, weighted=True, engine=engine)
    with pytest.raises(ColumnError, match="Nearest needs weights, but the graph has none"):
        dg.run(graph, Nearest(), engine=engine)


def test_a_program_may_declare_a_column_called_weight():
    class NearestByColumn(Nearest):
        weight = dg.EdgeColumn(float)

    graph = dg.Graph.from_edges(ROADS, weight=None)
    assert dg.run(graph, NearestByColumn()).compute()["length"].tolist() == [0, 5, 12]


def test_operations_that_read_no_weights_do_not_mention_them():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = dg.Graph.from_edges(ROADS.drop(columns="weight"))
        dg.pagerank(graph)
        dg.bfs(graph, 1)


def test_a_missing_weight_says_how_to_do_without():
    frame = PLAIN.assign(weight=[5, np.nan])
    with pytest.raises(WeightError, match=r"'weight', row 1: the weight is missing.* weight=None"):
        dg.Graph.from_edges(frame)
    assert distances(dg.Graph.from_edges(frame, weight=None)) == [0, 1, 2]


ROWS = "1,2,5\n2,3,7\n"
ARCS = "p sp 3 2\na 1 2 5\na 2 3 7\n"
MATRIX = "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 5\n2 3 7\n"


@pytest.mark.parametrize("lazy", [False, True])
def test_text_follows_the_rule(tmp_path, lazy):
    path = tmp_path / "roads.csv"
    path.write_text("src,dst,weight\n" + ROWS)
    assert distances(dg.read_edges(path, format=dg.Text(lazy=lazy))) == [0, 5, 12]
    assert distances(dg.read_edges(path, format=dg.Text(lazy=lazy), weight=None)) == [0, 1, 2]
    path.write_text("src,dst,km\n" + ROWS)
    with pytest.warns(UnweightedWarning, match="its column 'km' is numeric"):
        assert distances(dg.read_edges(path, format=dg.Text(lazy=lazy))) == [0, 1, 2]
    path.write_text(ROWS)
    with pytest.warns(UnweightedWarning, match="its column 2 is numeric: make the graph with weight=2"):
        assert distances(dg.read_edges(path, format=dg.Text(lazy=lazy))) == [0, 1, 2]
    path.write_text("src,dst,weight\n1,2,heavy\n2,3,light\n")
    with pytest.warns(UnweightedWarning, match="the column 'weight' is not numeric"):
        assert dg.read_edges(path, format=dg.Text(lazy=lazy)).weight is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.wel", ROWS.replace(",", " ")),
        ("r.gr", ARCS),
        ("r.mtx", MATRIX),
        ("r.konect", "% asym weighted\n" + ROWS.replace(",", " ")),
    ],
)
def test_formats_that_define_a_weight_follow_the_rule(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert distances(dg.read_edges(tmp_path / name)) == [0, 5, 12]
    assert distances(dg.read_edges(tmp_path / name, weight=None)) == [0, 1, 2]


@pytest.mark.parametrize("suffix", ["parquet", "npz"])
def test_columns_of_files_follow_the_rule(tmp_path, suffix):
    def written(frame):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.{suffix}"
        if suffix == "parquet":
            frame.to_parquet(path)
        else:
            arrays = {name: frame[name].to_numpy() for name in frame}
            np.savez(path, source=arrays.pop("src"), destination=arrays.pop("dst"), **arrays)
        return path

    assert distances(dg.read_edges(written(ROADS))) == [0, 5, 12]
    assert distances(dg.read_edges(written(ROADS), weight=None)) == [0, 1, 2]
    with pytest.warns(UnweightedWarning, match="its column 'km' is numeric"):
        assert distances(dg.read_edges(written(ROADS[["src", "dst", "km"]]))) == [0, 1, 2]


def test_saved_graphs_keep_the_choice(tmp_path):
    for weight, expected in (("km", [0, 2, 5.5]), (None, [0, 1, 2])):
        dg.Graph.from_edges(ROADS, weight=weight).save(tmp_path / "g", overwrite=True)
        assert distances(dg.open_graph(tmp_path / "g")) == expected
        assert distances(dg.open_graph(tmp_path / "g", weight="weight")) == [0, 5, 12]
        assert distances(dg.open_graph(tmp_path / "g", weight=None)) == [0, 1, 2]
    dg.Graph.from_edges(ROADS.drop(columns="weight")).save(tmp_path / "g", overwrite=True)
    with pytest.warns(UnweightedWarning, match="its column 'km' is numeric"):
        distances(dg.open_graph(tmp_path / "g"))
