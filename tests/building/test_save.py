"""A save that fails, or meets another one, leaves a whole graph or none."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from saved import example, rows

import dgraph as dg
from dgraph.building import whole_folder
from dgraph.errors import OptionError, StorageError
from dgraph.partition import store


def test_a_failed_save_leaves_the_folder_as_it_was(tmp_path, monkeypatch):
    graph = example(parts=2)
    graph.save(tmp_path / "g")
    with pytest.raises(OptionError, match="overwrite=True"):
        graph.save(tmp_path / "g")
    write, calls, fails_at = store.write_array, [], []

    def full_disk(*arguments):
        calls.append(arguments)
        if len(calls) in fails_at:
            raise OSError(28, "No space left on device")
        return write(*arguments)

    monkeypatch.setattr(store, "write_array", full_disk)
    before = sorted(path.name for path in (tmp_path / "g").iterdir())
    for k in range(1, 15, 2):
        calls.clear()
        fails_at[:] = [k]
        with pytest.raises(StorageError, match="No space left"):
            graph.save(tmp_path / "g", overwrite=True)
        assert [path.name for path in tmp_path.iterdir()] == ["g"]
        assert sorted(path.name for path in (tmp_path / "g").iterdir()) == before
    fails_at.clear()
    graph.save(tmp_path / "g", overwrite=True)
    assert rows(dg.open_graph(tmp_path / "g")) == rows(graph)
    shutil.rmtree(tmp_path / "g")


def test_files_created_at_the_path_during_a_save_are_kept(tmp_path, monkeypatch):
    folder, write = tmp_path / "g", store.write_array

    def meanwhile(*arguments):
        folder.mkdir(exist_ok=True)
        (folder / "notes.txt").write_text("ours")
        return write(*arguments)

    monkeypatch.setattr(store, "write_array", meanwhile)
    for overwrite, told in ((False, "g already exists; pass another path"), (True, "would also remove 'notes.txt'")):
        shutil.rmtree(folder, ignore_errors=True)
        with pytest.raises(OptionError, match=told):
            example().save(folder, overwrite=overwrite)
        assert (folder / "notes.txt").read_text() == "ours"
        assert list(tmp_path.iterdir()) == [folder]


def test_where_the_new_folder_cannot_be_moved_the_old_one_comes_back(tmp_path, monkeypatch):
    graph, folder, rename = example(), tmp_path / "g", Path.rename
    graph.save(folder)

    def only_the_old(path, target):
        if not (path / "ids.arrow").exists():
            return rename(path, target)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(whole_folder, "exchange", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", only_the_old)
    with pytest.raises(StorageError, match=r"Input/output error.*nothing was changed"):
        example("string").save(folder, overwrite=True)
    assert list(tmp_path.iterdir()) == [folder]
    assert rows(dg.open_graph(folder)) == rows(graph)


def test_one_of_several_concurrent_savers_wins(tmp_path):
    graphs, folder = [example(parts=parts) for parts in (1, 2, 3, 4)], tmp_path / "g"

    def saved(graph, overwrite):
        try:
            graph.save(folder, overwrite=overwrite)
        except (OptionError, StorageError) as error:
            return error
        return None

    with ThreadPoolExecutor(len(graphs)) as savers:
        found = list(savers.map(partial(saved, overwrite=False), graphs))
        assert found.count(None) == 1
        assert len(dg.open_graph(folder).partitions) == found.index(None) + 1
        assert None in savers.map(partial(saved, overwrite=True), graphs * 5)
    assert list(tmp_path.iterdir()) == [folder]
    assert rows(dg.open_graph(folder)) in [rows(graph) for graph in graphs]


def test_only_a_saved_graph_is_replaced(tmp_path):
    graph, folder = example(), tmp_path / "data"
    folder.mkdir()
    graph.save(folder, overwrite=True)  # an empty folder
    graph.save(folder, overwrite=True)
    (folder / "notes.txt").write_text("ours")
    (tmp_path / "edges.npy").write_text("edges")
    for path, named in ((folder, "notes.txt"), (tmp_path, "data"), (tmp_path / "edges.npy", "edges.npy")):
        with pytest.raises(OptionError, match=f"overwrite=True would also remove .*{named}'"):
            graph.save(path, overwrite=True)
    assert (folder / "notes.txt").read_text() == "ours"
    assert (tmp_path / "edges.npy").read_text() == "edges"
    assert rows(dg.open_graph(folder)) == rows(graph)
