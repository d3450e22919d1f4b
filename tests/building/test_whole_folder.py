"""A saved graph is complete whatever becomes of its writer, and whoever has it open is not misled."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.building import whole_folder
from dgraph.errors import OptionError, StorageError

RNG = np.random.default_rng(5)
FRAME = pd.DataFrame({"src": RNG.integers(0, 40, 300), "dst": RNG.integers(0, 40, 300), "cost": np.arange(300) / 2})
FRAME["note"] = [f"n{row}" for row in range(300)]

# Saves a graph, and is killed in the k-th call of a function; a process for each, forked before there are threads.
KILLED = """
import os, signal, sys
from itertools import count
from pathlib import Path
import pandas as pd
import dgraph as dg
from dgraph.building import whole_folder
from dgraph.partition import store
PLACES = {"flush": store, "exchange": whole_folder, "put": whole_folder, "_release": whole_folder}

def killed(folder, name, at, when):
    function, calls = getattr(PLACES[name], name), count(1)
    def until(*arguments, **options):
        number = next(calls)
        if number == at and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = function(*arguments, **options)
        if number == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer
    setattr(PLACES[name], name, until)
    frame = pd.read_pickle(Path(folder).parent / "frame.pickle")
    dg.Graph.from_edges(frame, weight="cost", parts=2).save(folder, overwrite=True)

for folder, name, at, when in [line.split() for line in sys.stdin]:
    if (child := os.fork()) == 0:
        killed(folder, name, int(at), when)
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
POINTS = [("flush", 1, "before"), ("flush", 9, "after"), ("flush", 17, "after"), ("flush", 19, "before")]
POINTS += [("exchange", 1, "before"), ("exchange", 1, "after"), ("put", 1, "after"), ("_release", 1, "before")]


def edges(graph):
    return graph.edges.compute().sort_values("cost", ignore_index=True)


def test_leftovers_of_a_killed_writer_are_removed_by_the_next_save(tmp_path):
    """Killed in the middle of the blocks, before and after the exchange: the folder is the old graph or the new one."""
    graph, other = (dg.Graph.from_edges(frame, weight="cost", parts=2) for frame in (FRAME, FRAME[:100]))
    folders = []
    for number in range(len(POINTS)):
        (tmp_path / str(number)).mkdir()
        FRAME[:200].to_pickle(tmp_path / str(number) / "frame.pickle")
        folders.append(tmp_path / str(number) / "g")
        graph.save(folders[-1])
    asked = "\n".join(f"{folder} {name} {at} {when}" for folder, (name, at, when) in zip(folders, POINTS, strict=True))
    done = subprocess.run([sys.executable, "-c", KILLED], input=asked, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(-signal.SIGKILL)] * len(POINTS), done.stderr
    for folder, (name, _, when) in zip(folders, POINTS, strict=True):
        assert len(list(folder.parent.iterdir())) > 2, "the writer has left something"
        is_new = name in ("put", "_release") or (name, when) == ("exchange", "after")
        pd.testing.assert_frame_equal(edges(dg.open_graph(folder)), FRAME[:200] if is_new else FRAME)
        other.save(folder, overwrite=True)
        assert sorted(path.name for path in folder.parent.iterdir()) == ["frame.pickle", "g"]
        pd.testing.assert_frame_equal(edges(dg.open_graph(folder)), FRAME[:100])


def test_without_an_exchange_the_old_graph_is_put_back(tmp_path, monkeypatch):
    """As on file systems that cannot exchange folders: the writer was killed between two renames."""
    folder, graph = tmp_path / "g", dg.Graph.from_edges(FRAME)
    graph.save(folder)
    monkeypatch.setattr(whole_folder, "exchange", lambda one, other: False)
    graph.save(folder, overwrite=True)
    assert list(tmp_path.iterdir()) == [folder]
    folder.rename(tmp_path / f".g.{'0' * 32}.old")
    (tmp_path / f".g.{'0' * 32}").mkdir()
    with pytest.raises(OptionError, match="already exists"):
        graph.save(folder)
    assert list(tmp_path.iterdir()) == [folder]
    pd.testing.assert_frame_equal(edges(dg.open_graph(folder)), FRAME)


def test_living_writers_keep_what_they_have_written(tmp_path):
    folder, graph = tmp_path / "g", dg.Graph.from_edges(FRAME)
    with whole_folder.beside(folder) as other:
        (other / "block").write_text("half")
        graph.save(folder)
        assert (other / "block").exists()
        whole_folder.put(other, folder, replaces=True)
    assert [path.name for path in tmp_path.rglob("*")] == ["g", "block"]


def test_a_link_to_a_saved_graph_stays_a_link(tmp_path):
    link, old, new = tmp_path / "link", FRAME, FRAME[:100]
    dg.Graph.from_edges(old).save(tmp_path / "g")
    link.symlink_to(tmp_path / "g")
    dg.Graph.from_edges(new).save(link, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g", "link"]
    assert link.is_symlink()
    assert dg.open_graph(tmp_path / "g").num_edges == len(new)


def test_an_open_graph_is_told_that_its_folder_was_replaced(tmp_path, client):
    graph = dg.Graph.from_edges(FRAME, weight="cost", parts=2)
    graph.save(tmp_path / "g", results={"ranks": dg.pagerank(graph)})
    mapped, unread = dg.open_graph(tmp_path / "g"), dg.open_graph(tmp_path / "g")
    elsewhere = dg.open_graph(tmp_path / "g", client=client)
    kept, before = dg.open_graph(tmp_path / "g"), dg.pagerank(mapped).compute()
    partitions = kept.partitioned()
    again = dg.open_graph(tmp_path / "g")
    graph.save(tmp_path / "g", overwrite=True, results={"ranks": dg.pagerank(graph)})
    pd.testing.assert_frame_equal(edges(again), FRAME)  # what was saved is the same
    dg.Graph.from_edges(FRAME[:100].assign(src=7), weight="cost").save(tmp_path / "g", overwrite=True)
    pd.testing.assert_frame_equal(dg.pagerank(mapped).compute(), before)
    assert kept.partitioned() is partitions
    for reads in (
        lambda: dg.pagerank(unread),
        lambda: dg.pagerank(elsewhere),
        lambda: unread.results["ranks"],
        lambda: unread.edges.compute(),
        lambda: unread.validate(),
    ):
        with pytest.raises(StorageError, match=r"another graph was saved there.*open it again with dgraph.open_graph"):
            reads()


def test_an_opened_graph_saved_to_its_own_folder_is_still_open(tmp_path):
    """As when results are added to it: all its blocks are written again as they were."""
    graph = dg.Graph.from_edges(FRAME, weight="cost", parts=2)
    graph.partitioned("incoming")
    graph.save(tmp_path / "g")
    found = dg.open_graph(tmp_path / "g")
    found.save(tmp_path / "g", overwrite=True, results={"parts": dg.wcc(graph)})
    assert list(dg.open_graph(tmp_path / "g").results) == ["parts"]
    pd.testing.assert_frame_equal(dg.pagerank(found).compute(), dg.pagerank(graph).compute())
    pd.testing.assert_frame_equal(edges(found), FRAME)


def test_a_graph_is_opened_while_it_is_replaced(tmp_path):
    folder, graphs = tmp_path / "g", [dg.Graph.from_edges(FRAME[:size]) for size in (100, 300)]
    graphs[0].save(folder)
    over = threading.Event()

    def replace():
        for number in range(30):
            graphs[number % 2].save(folder, overwrite=True)
        over.set()

    writer = threading.Thread(target=replace)
    writer.start()
    opened = []
    while not over.is_set():
        opened.append(dg.open_graph(folder).num_edges)
    writer.join()
    assert {*opened} <= {100, 300}


def test_a_failed_save_leaves_no_files_behind(tmp_path):
    """A limit on the size of files, as a full disk; a place where nothing can be written."""
    big = FRAME.loc[np.zeros(3000, int)]
    script = (
        "import resource, sys, pandas as pd, dgraph as dg\n"
        "G = dg.Graph.from_edges(pd.read_pickle(sys.argv[1]))\n"
        "G.partitioned(('out',), ('cost',))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))\n"
        "try:\n    G.save(sys.argv[2])\n"
        "except dg.errors.StorageError as error:\n    print(error)\n"
    )
    big.to_pickle(tmp_path / "frame.pickle")
    target = tmp_path / "made" / "for" / "g"
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "frame.pickle", target], capture_output=True, text=True, check=False
    )
    assert "could not be written" in done.stdout and "nothing was changed" in done.stdout, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["frame.pickle"]
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "g", Path("/proc/nowhere/g"), tmp_path / "made" / ("x" * 300) / "g"):
        with pytest.raises(StorageError, match="g: cannot be written"):
            dg.Graph.from_edges(FRAME).save(place)
    assert not (tmp_path / "made").exists()
