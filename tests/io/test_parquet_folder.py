"""Edges written to a folder of Parquet files, piece by piece, are read again as the same graph."""

import threading
import time
import uuid

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.errors import FileError, OptionError, RoomError
from dgraph.frames.any_frame import is_lazy
from dgraph.io import generated_graphs
from dgraph.io.columnar import parquet_folder
from dgraph.native import free_memory, threads

GENERATORS = {
    "rmat": lambda **more: dg.rmat(scale=6, edge_factor=4, seed=3, weights=(1, 9), **more),
    "uniform": lambda **more: dg.uniform(vertices=90, edges=100, directed=False, **more),
    "grid": lambda **more: dg.grid(rows=9, cols=11, **more),
    "ratings": lambda **more: dg.ratings(users=30, items=20, ratings=200, **more),
}


@pytest.fixture
def short(monkeypatch):
    """Too little memory for all edges of a generated graph, so these are drawn in blocks."""
    monkeypatch.setattr(generated_graphs, "has_room", lambda size: False)
    monkeypatch.setattr(generated_graphs, "BLOCK", 60)


def listed(graph):
    edges = graph.edges.compute()
    return edges.sort_values(list(edges.columns), ignore_index=True)


@pytest.mark.parametrize("name", GENERATORS)
def test_generated_edges_that_do_not_fit_are_drawn_and_written_in_blocks(name, tmp_path, monkeypatch):
    whole = GENERATORS[name]()
    monkeypatch.setattr(generated_graphs, "has_room", lambda size: False)
    monkeypatch.setattr(generated_graphs, "BLOCK", 60)
    drawn = GENERATORS[name]()
    monkeypatch.setattr(parquet_folder, "write_slices", None)  # all edges at once
    dg.write_edges(drawn, f"{tmp_path}/edges/")
    files = sorted(path.name for path in (tmp_path / "edges").iterdir())
    assert len(files) == len(drawn.input_edges.edge_pieces) > 1 and files[0] == "part-00000.parquet"
    assert [path.name for path in tmp_path.iterdir()] == ["edges"]
    again = dg.read_edges(tmp_path / "edges")
    for graph in (drawn, again):
        assert (graph.num_vertices, graph.num_edges) == (whole.num_vertices, whole.num_edges)
        assert (graph.directed, graph.weight) == (whole.directed, whole.weight)
        pd.testing.assert_frame_equal(listed(graph), listed(whole))
    assert parquet_folder.count(tmp_path / "edges") == whole.num_edges


def test_generated_edges_that_must_be_merged_are_drawn_at_once(short):
    for options in ({"repeats": "first"}, {"symmetrize": True}, {"parts": 2}):
        assert not is_lazy(dg.rmat(scale=6, **options).input_edges.edges.frame)
    for options in ({}, {"repeats": "keep", "symmetrize": False, "parts": 1, "policy": "auto"}, {"parts": None}):
        assert is_lazy(dg.rmat(scale=6, **options).input_edges.edges.frame)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("loops", ["keep", "drop"])
def test_the_edges_of_any_graph(lazy, loops, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_folder, "ROWS", 7)
    random = np.random.default_rng(2)
    frame = pd.DataFrame(random.integers(0, 9, (30, 2)), columns=["a", "b"]).assign(km=random.random(30))
    edges = dd.from_pandas(frame, npartitions=4) if lazy else frame
    graph = dg.Graph.from_edges(edges, source="a", destination="b", weight="km", loops=loops)
    dg.write_edges(graph, f"{tmp_path}/edges/")
    again = dg.read_edges(tmp_path / "edges")
    assert (again.input_edges.edges.source, again.weight) == ("a", "km")
    pd.testing.assert_frame_equal(listed(again), listed(graph))
    assert len(list((tmp_path / "edges").iterdir())) > 3


def test_no_edges(tmp_path):
    graph = dg.Graph.from_edges({"src": np.array([], int), "dst": np.array([], int)}, vertices=range(3))
    dg.write_edges(graph, f"{tmp_path}/edges/")
    again = dg.read_edges(tmp_path / "edges")
    assert (again.num_vertices, again.num_edges) == (3, 0)


def test_isolated_vertices_of_a_frame_are_refused_or_dropped(tmp_path):
    graph = dg.Graph.from_edges({"src": [1], "dst": [5]}, vertices=[1, 5, 9])
    with pytest.raises(dg.errors.InputError, match="isolated"):
        dg.write_edges(graph, f"{tmp_path}/edges/")
    assert not list(tmp_path.iterdir())
    dg.write_edges(graph, f"{tmp_path}/edges/", isolated="drop")
    assert dg.read_edges(tmp_path / "edges").num_vertices == 2


BEGUN = threading.Event()


def read_or_fail(part):
    """The first piece fails while another one is read."""
    if part == 0:
        assert threads.cores() == 1 or BEGUN.wait(20)
        raise ValueError("no more")
    BEGUN.set()
    time.sleep(0.2)
    return pd.DataFrame({"src": [part], "dst": [0]})


def test_a_piece_that_fails_leaves_nothing(tmp_path):
    """Even if another thread writes a piece at that time."""
    meta = pd.DataFrame({"src": [0], "dst": [0]})[:0]
    graph = dg.Graph.from_edges(dd.from_map(read_or_fail, range(9), meta=meta))
    with pytest.raises(ValueError, match="no more"):
        dg.write_edges(graph, f"{tmp_path}/new/edges/")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_is_refused(tmp_path):
    graph = dg.rmat(scale=4)
    (tmp_path / "edges").mkdir()
    dg.write_edges(graph, f"{tmp_path}/edges/")
    with pytest.raises(FileError, match=r"edges/: this is there already \(choose another"):
        dg.write_edges(graph, f"{tmp_path}/edges/")
    with pytest.raises(FileError, match="only local folders"):
        dg.write_edges(graph, "memory://edges/")
    with pytest.raises(OptionError, match="only Parquet is written to a folder"):
        dg.write_edges(graph, f"{tmp_path}/other/", format="csv")
    with pytest.raises(OptionError, match=r"this is a folder of Parquet files \(leave out .csv/"):
        dg.write_edges(graph, f"{tmp_path}/other.csv/")


def test_a_folder_that_somebody_fills_meanwhile_is_kept(tmp_path):
    def read(part):
        (tmp_path / "edges").mkdir(exist_ok=True)
        (tmp_path / "edges" / "theirs").touch()
        return pd.DataFrame({"src": [part], "dst": [0]})

    graph = dg.Graph.from_edges(dd.from_map(read, range(2), meta=pd.DataFrame({"src": [0], "dst": [0]})[:0]))
    with pytest.raises(FileError, match="cannot be written"):
        dg.write_edges(graph, f"{tmp_path}/edges/")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["edges", "edges/theirs"]


@pytest.mark.parametrize("vertices", [range(9), [1, 5, 9]])
def test_isolated_vertices_of_an_opened_graph(vertices, tmp_path):
    dg.Graph.from_edges({"src": [1], "dst": [5]}, vertices=vertices).save(tmp_path / "saved")
    opened = dg.open_graph(tmp_path / "saved")
    if isinstance(vertices, range):
        dg.write_edges(opened, f"{tmp_path}/edges/")
        assert dg.read_edges(tmp_path / "edges").num_vertices == 9
    else:
        with pytest.raises(dg.errors.InputError, match="isolated"):
            dg.write_edges(opened, f"{tmp_path}/edges/")


def test_names_and_ids_that_are_converted(tmp_path):
    frame = pd.DataFrame({0: [uuid.UUID(int=1)], 1: [uuid.UUID(int=2)]})
    graph = dg.Graph.from_edges(dd.from_pandas(frame, npartitions=1), source=0, destination=1)
    dg.write_edges(graph, f"{tmp_path}/edges/")
    assert (
        dg.read_edges(tmp_path / "edges").edges.compute().to_numpy().tolist() == frame.astype(str).to_numpy().tolist()
    )


def test_a_link_to_an_empty_folder(tmp_path):
    (tmp_path / "large").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "large")
    dg.write_edges(dg.rmat(scale=4), f"{tmp_path}/link/")
    assert (tmp_path / "link").is_symlink() and list((tmp_path / "large").iterdir())
    assert parquet_folder.count(f"file://{tmp_path}/link/") == 256


def test_one_file_of_edges_that_do_not_fit_is_refused(short, tmp_path, monkeypatch):
    graph = dg.rmat(scale=6)
    monkeypatch.setattr(free_memory, "free_memory", lambda: 9999)
    with pytest.raises(
        RoomError, match=r"all edges at once need about .* \(write a folder, whose path ends with a slash"
    ):
        dg.write_edges(graph, tmp_path / "edges.csv")
