"""While a graph is built, `progress=` tells what is done, and how much of it. An error of the listener ends it."""

import threading
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.building import input_edges
from dgraph.native import threads
from dgraph.runs import progress
from dgraph.runs.progress import ProgressLine

PIECES = 6


@pytest.fixture
def frame(monkeypatch, tmp_path):
    """A frame whose pieces take a moment to read, and which is read again each time."""
    monkeypatch.setattr(input_edges, "HELD_SHARE", 1 << 60)
    monkeypatch.setattr(input_edges, "HELD_BYTES", 1 << 50)
    monkeypatch.setattr(threads, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(progress, "EVERY", 0)
    edges = pd.DataFrame(np.random.default_rng(1).integers(0, 900, (40_000, 2)), columns=["src", "dst"])

    def slow(piece):
        time.sleep(0.03)
        return piece

    with dask.config.set({"temporary-directory": str(tmp_path)}):
        yield dd.from_pandas(edges, npartitions=PIECES).map_partitions(slow, meta=edges.iloc[:0])


def listener(seen):
    def tell(counts):
        if "building" in counts:
            assert threading.current_thread() is threading.main_thread()
            seen.setdefault(counts["building"], []).append((counts["done"], counts["edges"]))

    return tell


def assert_advances(steps, most=40_000):
    assert steps == sorted(steps) and 0 < steps[-1][0] <= 1 and 0 < steps[-1][1] <= most


def test_passes_over_a_frame_are_told(frame):
    seen = {}
    dg.wcc(dg.Graph.from_edges(frame), progress=listener(seen))
    assert_advances(seen["numbering ids"])
    assert_advances(seen["sorting edges"], 80_000)  # read once to count them, and once to put them into rows


def test_edges_on_their_way_to_workers_are_told(frame, client):
    seen = {}
    dg.wcc(dg.Graph.from_edges(frame, client=client), progress=listener(seen))
    assert_advances(seen["sending edges to their partitions"])


def test_solvers_and_searches_tell_it_on_a_terminal(frame, monkeypatch):
    told = []
    monkeypatch.setattr(ProgressLine, "_overwrite", lambda self, text, done={}: told.append(text))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for run in dg.pagerank, dg.louvain:
        told.clear()
        run(dg.Graph.from_edges(frame))
        assert any("sorting edges, " in text and " M edges)" in text for text in told)


def test_an_error_of_the_listener_ends_the_build_and_nothing_else(frame):
    graph = dg.Graph.from_edges(frame)

    def stop(counts):
        if counts.get("building") == "sorting edges" and counts["done"]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        dg.wcc(graph, progress=stop)
    assert graph.input_edges.stopwatch.listener is None
    assert graph.num_edges == 40_000 and dg.wcc(graph).compute()["component"].max() == 0


def test_threads_are_waited_for_while_the_caller_looks(monkeypatch):
    seen = []

    def work(item):
        time.sleep(0.02)
        if item == 5:
            raise ZeroDivisionError
        return 2 * item

    monkeypatch.setattr(threads, "LOOK_EVERY", 0.001)
    with threads.looking(lambda: seen.append(threading.current_thread())):
        assert threads.parallel_map(work, range(5)) == [0, 2, 4, 6, 8]
        with pytest.raises(ZeroDivisionError):
            threads.parallel_map(work, range(6))
    assert set(seen) == {threading.current_thread()}
    assert threads.parallel_map(work, range(3)) == [0, 2, 4]
