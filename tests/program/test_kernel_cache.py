"""Kernels on disk: in a folder that nobody else may write to, and as they were generated."""

import os

import programs
import pytest

from dgraph.codegen import cache
from dgraph.codegen.source import generate
from dgraph.errors import OptionError


def test_the_cache_is_private(tmp_path, monkeypatch):
    folder = tmp_path / "kernels"
    monkeypatch.setenv("DGRAPH_CACHE", str(folder))
    assert cache.cache_folder() == folder and folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with pytest.raises(OptionError, match="others may write"):
        cache.cache_folder()
    link = tmp_path / "link"
    link.symlink_to(folder)
    monkeypatch.setenv("DGRAPH_CACHE", str(link))
    with pytest.raises(OptionError, match="a link"):
        cache.cache_folder()
    if os.getuid() == 0:
        folder.chmod(0o700)
        os.chown(folder, 12345, 12345)
        monkeypatch.setenv("DGRAPH_CACHE", str(folder))
        with pytest.raises(OptionError, match="belongs to user 12345"):
            cache.cache_folder()


def test_a_spoiled_file_in_the_cache_is_written_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("DGRAPH_CACHE", str(tmp_path / "kernels"))
    cache.forget()
    source = generate(programs.PageRank)
    path = cache._written(source)
    path.write_text("raise SystemExit")
    assert cache._written(source).read_text() == source.text
    assert not list(path.parent.glob(".new-*"))
    cache.forget()
