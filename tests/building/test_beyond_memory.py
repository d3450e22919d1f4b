"""Edges that memory has no room for are sorted in the scratch folder, and operations give the same answers."""

import errno
import os
import shutil
import tempfile
from collections import namedtuple

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.building import edge_room, input_edges
from dgraph.errors import RoomError, StorageError
from dgraph.native import free_memory
from dgraph.partition import external_sort, scratch
from dgraph.partition.scratch import is_in_memory, usual_folder
from dgraph.solvers.paths import breadth_first
from dgraph.solvers.ranks import gather
from dgraph.solvers.subgraphs import cores
from dgraph.tables import edge_tables

OPERATIONS = {
    "bfs": lambda graph: dg.bfs(graph, 3),
    "cdlp": lambda graph: dg.cdlp(graph, max_iter=5),
    "core_number": dg.core_number,
    "hits": dg.hits,
    "katz": lambda graph: dg.katz(graph, alpha=0.01),
    "lcc": dg.lcc,
    "pagerank": dg.pagerank,
    "scc": dg.scc,
    "sssp": lambda graph: dg.sssp(graph, 3),
    "wcc": dg.wcc,
}


@pytest.fixture
def frame():
    random = np.random.default_rng(5)
    edges = pd.DataFrame(random.integers(-4, 300, (2000, 2)), columns=["src", "dst"])
    edges.loc[::50, "dst"] = edges["src"][::50]
    return edges.assign(weight=random.integers(1, 9, 2000), length=random.random(2000))


@pytest.fixture
def short(monkeypatch, tmp_path):
    """A scratch folder, and too little memory for any edges."""
    monkeypatch.setattr(input_edges, "HELD_SHARE", 1 << 60)
    monkeypatch.setattr(external_sort, "SLICE", 300)
    monkeypatch.setattr(scratch, "LONGEST", 1000)
    monkeypatch.setattr(edge_tables, "MOST_COUNTED", 10)
    for module in (edge_room, gather, breadth_first, cores):
        monkeypatch.setattr(module, "has_room", lambda size: False)
    with dask.config.set({"temporary-directory": str(tmp_path)}):
        yield tmp_path


def streamed(frame, **options):
    return dg.Graph.from_edges(dd.from_pandas(frame, npartitions=7), weight="weight", **options)


def tables(graph, orders, columns=()):
    (partition,) = graph.partitioned(orders, columns)
    return [getattr(partition, order) for order in orders]


def is_mapped(array):
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return not isinstance(array, np.ndarray)


@pytest.mark.parametrize("rules", [{}, {"directed": False}, {"loops": "drop"}, {"vertices": range(-9, 400)}], ids=str)
@pytest.mark.parametrize("orders", [("out",), ("incoming",), ("out", "incoming")], ids="+".join)
@pytest.mark.parametrize("columns", [(), ("weight",), ("length", "weight")], ids="+".join)
def test_tables_on_disk_are_those_in_memory(frame, short, rules, orders, columns, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(input_edges, "HELD_SHARE", 16)
        here = tables(streamed(frame, **rules), orders[:1], columns)
    here += [here[0].transposed()] * (len(orders) - 1) if rules.get("directed", True) else here * (len(orders) - 1)
    there = tables(streamed(frame, **rules), orders, columns)
    for one, other in zip(here, there, strict=True):
        assert is_mapped(other.neighbours) and not is_mapped(one.neighbours)
        for name in ("indptr", "neighbours"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), strict=True)
        assert one.columns.keys() == other.columns.keys() == set(columns)
        for name in columns:
            np.testing.assert_array_equal(one.columns[name], other.columns[name])
    assert not list(short.iterdir()), "files without names leave nothing behind"


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("directed", [True, False])
def test_answers_are_those_of_edges_in_memory(frame, short, operation, directed):
    run = OPERATIONS[operation]
    here, there = (
        run(make(frame, directed=directed)).compute()
        for make in (lambda *a, **b: dg.Graph.from_edges(*a, weight="weight", **b), streamed)
    )
    pd.testing.assert_frame_equal(here, there, check_exact=operation not in ("pagerank", "katz", "hits"))


def test_the_second_order_of_a_graph_in_memory_goes_to_disk(frame, short):
    out, incoming = tables(dg.Graph.from_edges(frame), ("out", "incoming"))
    assert not is_mapped(out.neighbours) and is_mapped(incoming.neighbours)
    np.testing.assert_array_equal(out.transposed().neighbours, incoming.neighbours)


def test_a_scratch_folder_that_cannot_be_used(frame, short):
    with (
        dask.config.set({"temporary-directory": str(short / "missing")}),
        pytest.raises(StorageError, match=r"missing cannot be used \(No such file.* temporary-directory"),
    ):
        streamed(frame).partitioned()


def test_a_scratch_folder_that_is_too_small_is_refused_before_work(frame, short, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(1 << 20, (1 << 20) - 4000, 4000))
    with pytest.raises(StorageError, match=r"2,000 edges need 15.62 kiB of disk in the scratch folder .* 3.91 kiB are"):
        streamed(frame).partitioned()


def test_only_loops_and_none_is_kept(short):
    frame = pd.DataFrame({"src": [0, 1, 2], "dst": [0, 1, 2]})
    graph = dg.Graph.from_edges(dd.from_pandas(frame, npartitions=2), loops="drop")
    assert dg.wcc(graph).compute()["component"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("free", [500, 40_000])
def test_buckets_that_are_too_large_to_be_sorted_together(frame, short, free, monkeypatch):
    star = frame.assign(src=0)
    expected = tables(dg.Graph.from_edges(star, weight="weight"), ("out",), ("weight",))
    monkeypatch.setattr(external_sort, "has_room", lambda size: False)
    monkeypatch.setattr(external_sort, "free_memory", lambda: free)
    (found,) = tables(streamed(star), ("out",), ("weight",))
    np.testing.assert_array_equal(found.neighbours, expected[0].neighbours)
    np.testing.assert_array_equal(found.indptr, expected[0].indptr)
    monkeypatch.setattr(free_memory, "free_memory", lambda: 9999)
    with pytest.raises(RoomError, match=r"2,000 edges of vertices that are sorted together need about"):
        tables(streamed(star), ("out",))


def test_a_build_that_just_fits_needs_no_scratch_folder(frame, short, monkeypatch):
    """Where there is none."""
    monkeypatch.setattr(edge_room, "has_room", lambda size: size < 2000 * 8 + 304 * 40)
    with dask.config.set({"temporary-directory": str(short / "missing")}):
        (table,) = tables(streamed(frame), ("out",))
        assert not is_mapped(table.neighbours)


def test_weights_that_an_operation_has_to_copy(frame, short, monkeypatch):
    """As floats, since they are integers."""
    graph = streamed(frame)
    assert len(dg.pagerank(graph).compute()) == 304
    graph.partitioned(("incoming",), ("weight",))
    monkeypatch.setattr(edge_tables, "has_room", lambda size: False)
    monkeypatch.setattr(free_memory, "free_memory", lambda: 9999)
    with pytest.raises(RoomError, match=r"the values of edge column 'weight' as float64 need about 15.62 kiB"):
        dg.pagerank(graph, weighted=True)


def test_addresses_that_are_limited(frame, short, monkeypatch):
    monkeypatch.setattr(edge_room, "address_space", lambda: 4000)
    with pytest.raises(RoomError, match=r"addresses for the edges of a graph .* but only 3.91 kiB are free"):
        streamed(frame).partitioned()


@pytest.mark.skipif(not is_in_memory("/dev/shm"), reason="needs a folder in memory")
def test_a_scratch_folder_in_memory(frame, short, monkeypatch):
    with (
        dask.config.set({"temporary-directory": "/dev/shm"}),
        pytest.raises(StorageError, match=r"the scratch folder /dev/shm is itself in memory"),
    ):
        streamed(frame).partitioned()
    monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")
    assert usual_folder() == "/var/tmp"
    monkeypatch.setattr(tempfile, "tempdir", "/usr")
    assert usual_folder() == "/usr"


def test_a_disk_that_fills_up(frame, short, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(StorageError, match=rf"the scratch folder {short} is full; choose another folder"):
        streamed(frame).partitioned()
    assert not list(short.iterdir())


def test_vertices_beyond_memory_are_refused(frame, short, monkeypatch):
    graph = streamed(frame)
    assert graph.num_vertices
    monkeypatch.setattr(free_memory, "free_memory", lambda: 999)
    with pytest.raises(RoomError, match=r"the vertices of a graph of 304 vertices and 2,000 edges need about .* kiB"):
        graph.partitioned()
