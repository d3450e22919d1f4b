"""Versions are complete whatever becomes of their writers, and neither writers nor readers are misled."""

import json
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest
from changed import check_alike, frame_of, rows_of

import dgraph as dg
from dgraph.building import whole_folder
from dgraph.errors import OptionError, StorageError
from dgraph.partition import store
from dgraph.partition.manifest import manifest_text

ROWS = [(0, 1, 3), (1, 2, 5), (2, 0, 4), (0, 1, 7), (3, 3, 1), (4, 1, 2)]
MORE = [(5, 0, 1), (6, 5, 2)]

# Appends a version to a saved graph, or merges its versions, and is killed in the k-th call of a function.
KILLED = """
import os, signal, sys
from itertools import count
from pathlib import Path
import pandas as pd
import dgraph as dg
from dgraph.building import whole_folder
from dgraph.changes import versions
from dgraph.partition import store
HOMES = {"flush": store, "_replace_manifest": versions, "exchange": whole_folder}

def killed(folder, what, name, at, when):
    G = dg.open_graph(folder).updated(added=pd.read_pickle(Path(folder).parent / "more.pickle"), vertices=[9])
    function, calls = getattr(HOMES[name], name), count(1)
    def until(*arguments, **options):
        number = next(calls)
        if number == at and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = function(*arguments, **options)
        if number == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer
    setattr(HOMES[name], name, until)
    G.save(folder, results={"names": dg.wcc(G)}) if what == "append" else dg.compact(folder)

for line in sys.stdin:
    folder, what, name, at, when = line.split()
    if (child := os.fork()) == 0:
        killed(folder, what, name, int(at), when)
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
POINTS = [("append", "flush", at, when) for at in (1, 2, 4) for when in ("before", "after")]
POINTS += [("append", "_replace_manifest", 1, when) for when in ("before", "after")]
POINTS += [("compact", "flush", 3, "after")] + [("compact", "exchange", 1, when) for when in ("before", "after")]


def saved(folder):
    """A saved graph with two versions, in memory."""
    G = dg.Graph.from_edges(frame_of(ROWS), weight="w")
    G.save(folder)
    H = G.updated(added=frame_of([(2, 4, 6)]), removed={"src": [1], "dst": [2]})
    H.save(folder)
    return H


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_killed_writer_leaves_the_last_complete_version(tmp_path):
    folders = []
    for number in range(len(POINTS)):
        (tmp_path / str(number)).mkdir()
        frame_of(MORE).to_pickle(tmp_path / str(number) / "more.pickle")
        folders.append(tmp_path / str(number) / "g")
        H = saved(folders[-1])
    more = H.updated(added=frame_of(MORE), vertices=[9])
    asked = "\n".join(" ".join(map(str, (folder, *point))) for folder, point in zip(folders, POINTS, strict=True))
    done = subprocess.run([sys.executable, "-c", KILLED], input=asked, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(-signal.SIGKILL)] * len(POINTS), done.stderr
    for folder, (what, name, _, when) in zip(folders, POINTS, strict=True):
        found, is_new = dg.open_graph(folder), (name, when) == ("_replace_manifest", "after")
        assert found.version == (2 if is_new else 1)
        assert rows_of(found.edges.compute()) == rows_of((more if is_new else H).edges.compute())
        pd.testing.assert_frame_equal(dg.wcc(found).compute(), dg.wcc(more if is_new else H).compute())
        if what == "append" and not is_new:
            assert [one for one in names(folder) if one.startswith(("v2.", "manifest.next"))]
        last = found.updated(added=frame_of([(1, 1, 1)]))
        last.save(folder)
        assert names(folder.parent) == ["g", "more.pickle"]
        assert rows_of(dg.open_graph(folder).edges.compute()) == rows_of(last.edges.compute())
        assert dg.open_graph(folder).validate().blocks == len(names(folder)) - 1, "nothing else is left"


def test_the_second_of_two_writers_is_refused(tmp_path):
    saved(tmp_path / "g")
    graphs = [dg.open_graph(tmp_path / "g").updated(added=frame_of([(number, 7, 1)])) for number in range(6)]

    def append(graph):
        try:
            graph.save(tmp_path / "g")
        except StorageError as error:
            return str(error)
        return None

    with ThreadPoolExecutor(len(graphs)) as writers:
        told = list(writers.map(append, graphs))
    assert told.count(None) == 1
    for one in filter(None, told):
        assert "this graph was made from version 1, and there is version 2 now; open that one with" in one
    winner = graphs[told.index(None)]
    check_alike(dg.open_graph(tmp_path / "g"), winner)
    assert rows_of(graphs[0].edges.compute()), "the others stay as they were"
    assert names(tmp_path) == ["g"]
    again = dg.open_graph(tmp_path / "g").updated(added=frame_of([(0, 7, 1)]))
    again.save(tmp_path / "g")
    assert (winner.version, again.version) == (2, 3)


def test_damaged_changes_are_found_and_earlier_versions_stay(tmp_path):
    folder = tmp_path / "g"
    H = saved(folder)
    H.updated(added=frame_of(MORE), removed=frame_of(ROWS[:1])).save(folder)
    blocks = sorted(folder.glob("v2.*"))
    assert [block.name for block in blocks] == ["v2.edges.arrow", "v2.gone.arrow", "v2.ids.arrow"]
    for block in blocks:
        good = block.read_bytes()
        place = len(good) // 2
        block.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        for reads in (lambda graph: graph.validate(), dg.wcc, lambda graph: graph.edges.compute()):
            with pytest.raises(StorageError, match=f"{block.name}: wrong checksum"):
                reads(dg.open_graph(folder))
        block.write_bytes(good[:-1])
        with pytest.raises(StorageError, match=rf"{block.name}: has \d+ bytes instead of \d+"):
            dg.open_graph(folder)
        block.unlink()
        with pytest.raises(StorageError, match=f"{block.name}: this block of the saved graph is missing"):
            dg.open_graph(folder)
        with pytest.raises(StorageError, match=f"{block.name}: this block of the saved graph is missing"):
            dg.compact(folder)
        check_alike(dg.open_graph(folder, version=1), H)
        block.write_bytes(good)
    assert dg.open_graph(folder).num_edges == H.num_edges + 1


def test_invalid_entries_of_versions_are_refused(tmp_path):
    folder = tmp_path / "g"
    saved(folder)
    path = folder / "manifest.json"
    good = json.loads(path.read_text())["content"]
    entry = good["versions"][0]
    for wrong in (
        {"versions": 7},
        {"versions": [{**entry, "blocks": {"../v1.edges.arrow": {"bytes": 1, "checksum": ""}}}]},
        {"versions": [{**entry, "identity": None}]},
        {"versions": [{**entry, "added": -1}]},
        {"versions": [{**entry, "columns": {"w": {"nullable": "object"}}}]},
        {"origin": {"number": -3, "root": "", "identity": ""}},
        {"rules": {"loops": "some", "repeats": "keep", "symmetrize": False}},
    ):
        path.write_text(manifest_text("dgraph graph", 3, {**good, **wrong}))
        with pytest.raises(StorageError, match=f"{next(iter(wrong))}=.* is not valid"):
            dg.open_graph(folder)
    for wrong in ({"vertices": 5}, {"columns": {}}, {"columns": {**entry["columns"], "x": {"numpy": "<i8"}}}):
        path.write_text(manifest_text("dgraph graph", 3, {**good, "versions": [{**entry, **wrong}]}))
        with pytest.raises(StorageError, match="its blocks do not match"):
            dg.wcc(dg.open_graph(folder))


def test_a_failed_save_leaves_the_versions_as_they_were(tmp_path, monkeypatch):
    folder = tmp_path / "g"
    H = saved(folder)
    K = H.updated(added=frame_of(MORE), removed=frame_of(ROWS[:1]))
    near = dg.sssp(K, 0)
    before, flush = names(folder), store.flush
    for at in range(1, 8):
        calls = []

        def full_disk(file, calls=calls, at=at):
            calls.append(file)
            if len(calls) == at:
                raise OSError(28, "No space left on device")
            flush(file)

        monkeypatch.setattr(store, "flush", full_disk)
        with pytest.raises(StorageError, match="No space left"):
            K.save(folder, results={"near": near})
        assert (names(folder), names(tmp_path)) == (before, ["g"])
        assert (K.version, dg.open_graph(folder).version) == (None, 1)
        with pytest.raises(StorageError, match="No space left"):
            calls.clear()
            dg.compact(folder)
        assert (names(folder), names(tmp_path)) == (before, ["g"])
    monkeypatch.setattr(store, "flush", flush)
    K.save(folder, results={"near": near})
    check_alike(dg.open_graph(folder), K)


def test_readers_of_earlier_versions_are_told_once_these_are_merged(tmp_path):
    folder = tmp_path / "g"
    H = saved(folder)
    first, last, unread = dg.open_graph(folder, version=0), dg.open_graph(folder), dg.open_graph(folder, version=0)
    before = [dg.wcc(graph).compute() for graph in (first, last)]
    dg.compact(folder)
    with pytest.raises(OptionError, match=r"version=0 is not in .*, which has only version 1"):
        dg.open_graph(folder, version=0)
    for graph, answer in zip((first, last), before, strict=True):
        pd.testing.assert_frame_equal(dg.wcc(graph).compute(), answer)  # from the blocks that it has mapped
    with pytest.raises(StorageError, match=r"another graph was saved there.*open it again with dgraph.open_graph"):
        dg.wcc(unread)
    compacted = dg.open_graph(folder)
    assert compacted.changes is None
    check_alike(compacted, H)
    last.updated(added=frame_of(MORE)).save(folder)  # the merged version is the one that it was made from
    check_alike(dg.open_graph(folder), H.updated(added=frame_of(MORE)))


def test_compacting_twice_or_nothing_changes_nothing(tmp_path):
    folder = tmp_path / "g"
    saved(folder)
    dg.compact(folder)
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    dg.compact(folder)
    assert before == {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    (folder / "notes.txt").write_text("ours")
    dg.open_graph(folder).updated(vertices=[11]).save(folder)
    with pytest.raises(OptionError, match=r"compact\(\) would also remove 'notes.txt'"):
        dg.compact(folder)
    assert (folder / "notes.txt").read_text() == "ours"
    for wrong, error in ((tmp_path / "nowhere", StorageError), (None, OptionError)):
        with pytest.raises(error, match=r"is not a saved graph|expected the path of a folder"):
            dg.compact(wrong)
    assert names(tmp_path) == ["g"]


def test_a_writer_waits_while_versions_are_merged(tmp_path, monkeypatch):
    folder, put = tmp_path / "g", whole_folder.put
    H = saved(folder)
    K = H.updated(added=frame_of(MORE))
    merged, goes_on = threading.Event(), threading.Event()

    def slow(*arguments, **options):
        merged.set()
        assert goes_on.wait(60)
        put(*arguments, **options)

    monkeypatch.setattr(whole_folder, "put", slow)
    with ThreadPoolExecutor(2) as pool:
        merging = pool.submit(dg.compact, folder)
        assert merged.wait(60)
        saving = pool.submit(K.save, folder)
        goes_on.set()
        merging.result(), saving.result()
    with pytest.raises(OptionError, match="which has the versions 1 to 2"):
        dg.open_graph(folder, version=0)
    check_alike(dg.open_graph(folder), K)


def test_a_graph_is_opened_while_versions_are_saved_and_merged(tmp_path):
    folder, over = tmp_path / "g", threading.Event()
    graph = saved(folder)
    sizes = {1: graph.num_edges}

    def write():
        nonlocal graph
        for number in range(2, 26):
            graph = graph.updated(added=frame_of([(number, 0, 1)] * number))
            sizes[number] = graph.num_edges
            graph.save(folder)
            if number % 5 == 0:
                dg.compact(folder)
        over.set()

    writer = threading.Thread(target=write)
    writer.start()
    opened = []
    while not over.is_set():
        found = dg.open_graph(folder)
        opened.append((found.version, found.num_edges))
    writer.join()
    assert all(sizes[version] == edges for version, edges in opened)
    assert opened == sorted(opened) and dg.open_graph(folder).version == 25
