"""Full disks are answered clearly by every writer, and several clients of one cluster do not disturb each other."""

import errno
import resource
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from distributed import Client

import dgraph as dg
from dgraph.checkpoint import keeper
from dgraph.checkpoint.folder import CheckpointFolder
from dgraph.checkpoint.piece import from_bytes
from dgraph.codegen import compiler
from dgraph.errors import DgraphError, StorageError
from dgraph.native import machine_code

FRAME = pd.DataFrame(np.random.default_rng(2).integers(0, 3000, (9000, 2)), columns=["src", "dst"])
SMALL = 4096  # bytes that a file may have


@contextmanager
def full_disk():
    """Files of this process cannot grow beyond a few bytes: writing more fails, as it does where no space is left. Only
    for a moment: what pytest prints may go to a file, too."""
    before, heard = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, heard)


@pytest.mark.parametrize("what", ["graph", "edges.csv", "edges.parquet", "edges.npz", "checkpoint"])
def test_a_full_disk_gives_an_error_and_leaves_no_partial_files(tmp_path, what):
    graph = dg.Graph.from_edges(FRAME, parts=2)

    def write(place) -> None:
        if what == "graph":
            graph.save(place)
        elif what == "checkpoint":
            option = dg.Checkpoint(place, every=1)
            dg.pagerank(graph, max_iter=5, tol=None, engine="gas", checkpoint=option)
        else:
            dg.write_edges(graph, place)

    write(tmp_path / "before" / what)  # compiles what is needed: Numba writes files as well
    place = tmp_path / "there" / what
    with full_disk(), pytest.raises(DgraphError, match=r"cannot be written|could not be written") as found:
        write(place)
    if what == "graph":  # the command line tells it from places that cannot be written at all
        assert found.value.__cause__.errno == errno.EFBIG
    until = time.monotonic() + 10  # another worker may just be giving up
    while (left := torn(place.parent)) and time.monotonic() < until:
        time.sleep(0.01)
    assert not left


def torn(folder: Path) -> list[Path]:
    """All files but whole pieces of a checkpoint: those that a worker writes when the disk has room again."""
    return [path for path in folder.rglob("*") if path.is_file() and not is_whole_piece(path)]


def is_whole_piece(path: Path) -> bool:
    return path.suffix == ".piece" and from_bytes(path.read_bytes(), str(path)).round > 0


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="Linux has a folder that nobody can write to")
def test_writing_to_a_read_only_place_is_an_error_that_names_it():
    graph, option = dg.Graph.from_edges(FRAME, parts=2), dg.Checkpoint("/proc/dgraph", every=1)
    for write in (
        lambda: graph.save("/proc/dgraph"),
        lambda: dg.write_edges(graph, "/proc/dgraph.csv"),
        lambda: dg.pagerank(graph, max_iter=5, tol=None, engine="gas", checkpoint=option),
    ):
        with pytest.raises(DgraphError, match=r"/proc/dgraph.*cannot be written|could not be written"):
            write()


def test_slow_checkpoint_storage_delays_a_run_and_hanging_storage_ends_it(tmp_path, monkeypatch):
    """A file system that does not answer stops a run, with its name; a slow one only delays it."""
    at_work, answered = threading.Event(), CheckpointFolder.write

    def slowly(folder, checkpoint, piece) -> None:
        at_work.wait(0.05)
        answered(folder, checkpoint, piece)

    def never(folder, checkpoint, piece) -> None:
        at_work.wait(30)

    graph, option = dg.Graph.from_edges(FRAME, parts=2), dg.Checkpoint(tmp_path, every=1)
    monkeypatch.setattr(CheckpointFolder, "write", slowly)
    assert dg.pagerank(graph, max_iter=5, tol=None, engine="gas", checkpoint=option).rounds == 5
    monkeypatch.setattr(CheckpointFolder, "write", never)
    monkeypatch.setattr(keeper, "WRITE_TIMEOUT", 0.1)
    with pytest.raises(StorageError, match=f"{tmp_path}.*was not written within"):
        dg.pagerank(graph, max_iter=5, tol=None, engine="gas", checkpoint=option)
    at_work.set()


class Twice(dg.VertexProgram):
    """A program that no other test compiles."""

    total = dg.State(np.float64)
    merge = dg.SUM

    def seed(id):
        return 7.0 * id

    def send(total):
        return 0.0

    def apply(total, message):
        return total + 2.0 * message


@pytest.mark.parametrize("disk", ["full", "not there"])
def test_a_run_warns_if_machine_code_cannot_be_cached(tmp_path, monkeypatch, disk):
    """A run needs no disk space; it warns once that kernels are compiled anew each time."""
    monkeypatch.setenv("DGRAPH_CACHE", str(tmp_path / "kernels") if disk == "full" else "/proc/none/kernels")
    monkeypatch.setattr(machine_code, "problems", [])
    compiler.forget_kernels()
    graph = dg.Graph.from_edges(FRAME)
    with full_disk(), pytest.warns(UserWarning, match="DGRAPH_CACHE"):
        found = dg.run(graph, Twice(), engine="gas").compute()
    assert found["total"].sum() == 14 * sum(range(len(found)))
    compiler.forget_kernels()


def test_a_function_that_a_full_disk_cannot_cache_is_compiled_with_a_warning(tmp_path, monkeypatch):
    (tmp_path / "ours.py").write_text("def f(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(machine_code, "problems", [])
    import ours

    with full_disk(), pytest.warns(UserWarning, match="NUMBA_CACHE_DIR"):
        assert machine_code.cached_njit()(ours.f)(1) == 2
    torn = machine_code.cached_njit()(ours.f)
    assert torn(2) == 3
    for file in tmp_path.rglob("*.nb?"):
        file.write_bytes(b"")
    with pytest.warns(UserWarning, match="cannot be cached"):
        machine_code.problems.clear()
        assert machine_code.cached_njit()(ours.f)(1) == 2


def test_ten_concurrent_clients_get_the_right_answers(client):
    here = dg.Graph.from_edges(FRAME)
    first = int(FRAME["src"].iloc[0])
    works = [
        lambda graph: dg.wcc(graph),
        lambda graph: dg.bfs(graph, first),
        lambda graph: dg.pagerank(graph, max_iter=5, tol=None),
        lambda graph: dg.degrees(graph),
        lambda graph: dg.cdlp(graph, max_iter=3),
    ] * 2
    found: dict[int, pd.DataFrame] = {}

    def work(number: int) -> None:
        with Client(client.scheduler.address, set_as_default=False) as own:
            found[number] = works[number](dg.Graph.from_edges(FRAME, client=own, parts=2)).compute()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for number, one in enumerate(works):
        expected = one(here).compute()
        pd.testing.assert_frame_equal(found[number], expected, rtol=1e-9, check_dtype=False)
