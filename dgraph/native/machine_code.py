"""Numba's machine code, kept on disk for the next process. Where that is impossible, each process compiles for
itself."""

from __future__ import annotations

import os
import pickle
import stat
import tempfile
import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, UserWideCacheLocator

from dgraph.errors import OptionError
from dgraph.native.garbage import defer_collection

UNREADABLE = (OSError, EOFError, pickle.UnpicklingError)  # torn by a full disk, or not to be read
REMEDY = (
    "each process compiles anew, which takes seconds; set DGRAPH_CACHE and NUMBA_CACHE_DIR to folders of your own with "
    "space"
)

problems: list[str] = []  # told of once a process
_compiler: Any = njit  # whose annotations know half of its options


def _without_linear_algebra() -> None:
    """Keep Numba from importing all of SciPy's linear algebra, a tenth of a second in each process, only to see whether
    it is there. A kernel that multiplies matrices still has Numba look."""
    try:
        from numba.np import linalg

        check, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    except (ImportError, AttributeError):  # a Numba that looks elsewhere: it may
        return
    try:
        from numba.np import arraymath

        arraymath.ensure_blas = check
    finally:
        linalg.ensure_blas = check


_without_linear_algebra()


def cached_njit(**options: Any) -> Callable[[Callable], Any]:
    """`numba.njit` without the GIL, and with a cache that never fails: neither because the disk is full, nor
    read-only."""

    def compiled(function: Callable) -> Any:
        dispatcher = _compiler(nogil=True, no_cfunc_wrapper=True, **options)(function)
        dispatcher._cache = KernelCache(function)
        dispatcher.compile = defer_collection()(dispatcher.compile)
        return dispatcher

    return compiled


def part_of_kernels(**options: Any) -> Callable[[Callable], Any]:
    """The same for functions that only kernels call, and Python cannot: they are compiled into their callers, and kept
    there."""
    return _compiler(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


# For parts that return no array. An option of Numba that is not public leaves out its counts of who refers to an array:
# the threads of a team pass on the same arrays, and would all write to the same counts.
scalar_part = part_of_kernels(_nrt=False)
# The same for what happens at every edge, or for every few vertices that wait: LLVM writes it out in its callers. A
# call hands over all that arrays are made of: for tables of ten that takes longer than many a step on a path. (Numba
# writes out, too, by inline="always", and takes four times as long to compile that.)
inlined = part_of_kernels(_nrt=False, forceinline=True)


class FallbackLocator(UserWideCacheLocator):
    """Numba's last resort, where neither beside the source nor in the user's folder can anything be written."""

    def __init__(self, function: Callable, file: str):
        super().__init__(function, file)
        self._cache_path = str(cache_folder() / self.get_suitable_cache_subpath(file))


class CacheLocators(CompileResultCacheImpl):
    _locator_classes = [*CompileResultCacheImpl._locator_classes, FallbackLocator]  # noqa: RUF012 as Numba has it


class CompiledFunctionCache(FunctionCache):
    _impl_class = CacheLocators


class KernelCache(NullCache):
    """The cache of one function's machine code. Its folder is looked for when it is first used; a disk that cannot keep
    it is a warning, once a process."""

    def __init__(self, function: Callable):
        self._function, self._stamp = function, _stamp(function)

    @cached_property
    def _files(self) -> Any:
        if _stamp(self._function) != self._stamp:  # what is compiled is not what stands there now
            return NullCache()
        try:
            files = CompiledFunctionCache(self._function)
        except (RuntimeError, OSError) as error:  # no folder can be written
            warn_once(error)
            return NullCache()
        folder = Path(files.cache_path)
        beside = folder.parent == Path(self._function.__code__.co_filename).parent  # of the source: as safe as that
        if not beside and (why := distrusted(folder, stat.S_IWOTH)):
            warn_once(OSError(f"{folder} {why}"))
            return NullCache()
        # Numba looks at the own file alone, but what a function calls, and numbers that it names, are compiled into it.
        parts = _compiled_into(self._function)
        called = sorted({part.__code__.co_filename for part in parts})
        stamps = [(Path(name).name, *(_stamp_of(name) or ())) for name in called]
        numbers = sorted(set().union(*map(_numbers_in, parts)))
        # As its version, for that is compared before types are read, which may be of classes that are no longer there.
        files._cache_file._version = (files._cache_file._version, *stamps, *numbers)
        return files

    @property
    def cache_path(self) -> str | None:
        return self._files.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return _harmless(self._files.load_overload, sig, target_context)

    def save_overload(self, sig: Any, cres: Any) -> None:
        _harmless(self._files.save_overload, sig, cres)


def cache_folder() -> Path:
    """Where generated sources are kept, and machine code that has no other place: DGRAPH_CACHE, else the user's cache
    folder, else a private temporary one."""
    chosen = os.environ.get("DGRAPH_CACHE")
    if chosen:
        return _private(Path(chosen))
    home = os.environ.get("XDG_CACHE_HOME")
    try:
        return _private((Path(home) if home else Path.home() / ".cache") / "dgraph" / "kernels")
    except (OSError, RuntimeError):  # no home, or one that cannot be written
        return _private(Path(tempfile.gettempdir()) / f"dgraph-kernels-{_user()}")


def _private(folder: Path) -> Path:
    """Make the folder, readable by this user alone; refuse one that others own or may write."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if why := distrusted(folder):
        raise OptionError(f"the cache of kernels {folder} {why}: set DGRAPH_CACHE to a folder of your own")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} cannot be written")
    return folder


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def distrusted(folder: Path, others: int = stat.S_IWGRP | stat.S_IWOTH) -> str:
    """Why others could put machine code into a folder, whose code is run as it is; "" if they cannot. (Numba makes
    folders that a group may write, where the user's own setting is such.)"""
    if os.name != "posix" or not os.path.lexists(folder):
        return ""
    status, me = folder.lstat(), os.getuid()
    if not stat.S_ISDIR(status.st_mode):
        return "is a link or a file, not a folder"
    if status.st_uid != me:
        return f"belongs to user {status.st_uid}, not to you"
    return "can be written by others (chmod 700 it)" if status.st_mode & others else ""


def _compiled_into(function: Any) -> set[Any]:
    """A function, and all compiled functions that it calls, directly or not."""
    found, waiting = {function}, [function]
    while waiting:
        caller = waiting.pop()
        called = {getattr(caller.__globals__.get(name), "py_func", None) for name in caller.__code__.co_names}
        waiting += called - found - {None}
        found |= called - {None}
    return found


def _numbers_in(function: Any) -> set[tuple[str, str]]:
    """The numbers that a function reads by name, from whatever file: they are compiled into it."""
    found = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    return {(name, repr(value)) for name, value in found.items() if isinstance(value, int | float | np.generic)}


def _stamp(function: Callable) -> tuple[int, int] | None:
    """Time and size of the file that a function comes from."""
    return _stamp_of(function.__code__.co_filename)


def _stamp_of(name: str) -> tuple[int, int] | None:
    try:
        found = Path(name).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _harmless(action: Callable, *arguments: Any) -> Any:
    try:
        return action(*arguments)
    except UNREADABLE as error:
        warn_once(error)
        return None


def warn_once(error: BaseException) -> None:
    """Warn, once a process."""
    if not problems:
        problems.append(str(error))
        warnings.warn(f"machine code cannot be kept ({error}): {REMEDY}", stacklevel=2)
