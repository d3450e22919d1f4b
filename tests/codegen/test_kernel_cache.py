"""Kernels on disk: in a folder that nobody else may write to, as they were generated, and as they were read."""

import gc
import importlib
import os
import sys
from contextlib import nullcontext
from pathlib import Path

import programs
import pytest

from dgraph.codegen import compiler
from dgraph.codegen.kernel_source import generate
from dgraph.errors import OptionError
from dgraph.native import machine_code
from dgraph.native.garbage import defer_collection


def test_the_cache_is_private(tmp_path, monkeypatch):
    folder = tmp_path / "kernels"
    monkeypatch.setenv("DGRAPH_CACHE", str(folder))
    assert machine_code.cache_folder() == folder and folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with pytest.raises(OptionError, match="is writable by other users"):
        machine_code.cache_folder()
    link = tmp_path / "link"
    link.symlink_to(folder)
    monkeypatch.setenv("DGRAPH_CACHE", str(link))
    with pytest.raises(OptionError, match="a link"):
        machine_code.cache_folder()
    if os.getuid() == 0:
        folder.chmod(0o700)
        os.chown(folder, 12345, 12345)
        monkeypatch.setenv("DGRAPH_CACHE", str(folder))
        with pytest.raises(OptionError, match="belongs to user 12345"):
            machine_code.cache_folder()


def test_a_spoiled_file_in_the_cache_is_written_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("DGRAPH_CACHE", str(tmp_path / "kernels"))
    compiler.forget_kernels()
    source = generate(programs.PageRank)
    path = compiler._write(source)
    path.write_text("raise SystemExit")
    assert compiler._write(source).read_text() == source.text
    assert not list(path.parent.glob(".new-*"))
    compiler.forget_kernels()


def test_a_file_that_was_changed_since_it_was_read_is_not_kept(tmp_path, monkeypatch):
    """Machine code of what was read would be taken for that of what stands there now."""
    (tmp_path / "changing.py").write_text("def f(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import changing

    early = machine_code.cached_njit()(changing.f)
    (tmp_path / "changing.py").write_text("def f(x):\n    return x + 1000\n")
    assert early(1) == 2
    assert not list(tmp_path.rglob("*.nbi"))


@pytest.mark.parametrize("kind", ["int", "np.int64"])
def test_a_kernel_is_recompiled_if_anything_compiled_into_it_changes(tmp_path, monkeypatch, kind):
    """A kernel is compiled anew when, in another file, its part has changed, or a number that it names."""
    text = "from the_number import N\nfrom the_part import part\n\ndef f(x):\n    return part(x) + N\n"
    (tmp_path / "the_kernel.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    text = "from dgraph.native.machine_code import part_of_kernels\n\n@part_of_kernels()\ndef part(x):\n"
    for added, number, hits in ((1, 0, 0), (1, 0, 1), (1000, 0, 0), (1000, 0, 1), (1000, 7, 0)):
        if not hits:
            (tmp_path / "the_part.py").write_text(f"{text}    return x + {added}\n")
            (tmp_path / "the_number.py").write_text(f"import numpy as np\nN = {kind}({number})\n")
        for name in ("the_kernel", "the_part", "the_number"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        kernel = machine_code.cached_njit()(importlib.import_module("the_kernel").f)
        assert kernel(1) == 1 + added + number
        assert sum(kernel.stats.cache_hits.values()) == hits


def test_machine_code_for_a_class_that_has_another_name_now_is_compiled_anew(tmp_path, monkeypatch):
    """As where a newer version is installed in the place of an older one."""
    text = "from typing import NamedTuple\n\nclass {0}(NamedTuple):\n    x: int\n\ndef f(y):\n    return y.x + 1\n"
    monkeypatch.setattr(machine_code, "problems", [])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("Before", "After"):
        (tmp_path / "renamed.py").write_text(text.format(name))
        sys.modules.pop("renamed", None)
        importlib.invalidate_caches()
        module = importlib.import_module("renamed")
        assert machine_code.cached_njit()(module.f)(getattr(module, name)(1)) == 2
    assert not machine_code.problems


def test_machine_code_is_not_taken_from_a_folder_that_others_may_write(tmp_path, monkeypatch):
    """Where NUMBA_CACHE_DIR says, that of functions of ours lies in a folder for each of their files."""
    (tmp_path / "ours_too.py").write_text("def f(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(machine_code, "problems", [])
    import ours_too

    calls = [machine_code.cached_njit()(ours_too.f) for _ in range(3)]
    assert [one(1) for one in calls[:2]] == [2, 2]
    assert calls[1].stats.cache_hits
    Path(calls[0]._cache.cache_path).chmod(0o777)
    with pytest.warns(UserWarning, match=r"cache\S* is writable by other users"):
        assert calls[2](1) == 2
    assert not calls[2].stats.cache_hits


@pytest.mark.parametrize("place", ["ours", "none"])
def test_unwritable_cache_folders_fall_back_or_warn(tmp_path, monkeypatch, place):
    """As in a container: the folder of generated kernels has it, and without any each process compiles, and says so."""
    (tmp_path / "ours_also.py").write_text("def f(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("DGRAPH_CACHE", str(tmp_path / "kernels") if place == "ours" else "/proc/none/kernels")
    monkeypatch.setattr(machine_code.CacheLocators, "_locator_classes", [machine_code.FallbackLocator])
    monkeypatch.setattr(machine_code, "problems", [])
    import ours_also

    calls = [machine_code.cached_njit()(ours_also.f) for _ in range(2)]
    with nullcontext() if place == "ours" else pytest.warns(UserWarning, match="cannot be cached"):
        assert [one(1) for one in calls] == [2, 2]
    assert bool(calls[1].stats.cache_hits) == (place == "ours") == any(tmp_path.rglob("kernels/*/*.nbi"))


def test_no_kernel_relies_on_the_cache_of_numba():
    """Numba's own cache fails the import where no folder can be written."""
    sources = Path(machine_code.__file__).parent.rglob("*.py")
    assert not [file.name for file in sources if "cache=True" in file.read_text()]


def test_garbage_collection_resumes_after_the_last_deferral():
    assert gc.isenabled()
    first, second = defer_collection(), defer_collection()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()
    gc.disable()
    try:
        with defer_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
