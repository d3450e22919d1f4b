"""Numba's machine code, cached on disk for later processes. Where it cannot be cached, each process compiles for
itself."""

from __future__ import annotations

import os
import pickle
import stat
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numba.core import caching
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache

from dgraph.errors import OptionError
from dgraph.native.garbage import defer_collection
from dgraph.phrases.phrases import warn

READ_ERRORS = (OSError, EOFError, pickle.UnpicklingError)  # truncated by a full disk, or not readable
REMEDY = (
    "each process compiles them again, which takes seconds; set DGRAPH_CACHE and NUMBA_CACHE_DIR to folders that you "
    "own, on a disk with free space"
)

# Numba 0.61 calls it by the second name.
UserWideCacheLocator: Any = vars(caching).get("UserWideCacheLocator") or vars(caching)["_UserWideCacheLocator"]
problems: list[str] = []  # holds the first problem, the only one that causes a warning
_compiler: Any = njit  # its type annotations lack half of its options


def _without_linear_algebra() -> None:
    """Keep Numba from importing all of SciPy's linear algebra only to see whether it is installed, which takes a tenth
    of a second in each process. Numba still checks for kernels that multiply matrices."""
    try:
        from numba.np import linalg

        check, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    except (ImportError, AttributeError):  # another version of Numba, which checks elsewhere
        return
    try:
        from numba.np import arraymath

        arraymath.ensure_blas = check
    finally:
        linalg.ensure_blas = check


_without_linear_algebra()


def cached_njit(**options: Any) -> Callable[[Callable], Any]:
    """`numba.njit` without the GIL, and with a cache that does not fail if the disk is full or read-only."""

    def compiled(function: Callable) -> Any:
        dispatcher = _compiler(nogil=True, no_cfunc_wrapper=True, **options)(function)
        dispatcher._cache = LazyKernelCache(function)
        dispatcher.compile = defer_collection()(dispatcher.compile)
        dispatcher.kinds = set()  # see `team.compile_for`
        return dispatcher

    return compiled


def part_of_kernels(**options: Any) -> Callable[[Callable], Any]:
    """`numba.njit` for functions that only kernels can call, not Python. They are compiled into their callers, and
    cached there."""
    return _compiler(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


# For parts that return no array. An undocumented option of Numba turns reference counting off: the threads of a team
# pass the same arrays around, and would otherwise all write to the same counters.
scalar_part = part_of_kernels(_nrt=False)
# For parts that run for every edge, or for every few waiting vertices, so that LLVM inlines them. A call passes all
# fields of each array; for tables of ten arrays, that takes longer than many a step on a path. (Numba's own
# inline="always" takes four times as long to compile.)
inlined = part_of_kernels(_nrt=False, forceinline=True)


class FallbackLocator(UserWideCacheLocator):
    """Numba's last resort, for when neither the source's folder nor the user's cache folder is writable."""

    def __init__(self, function: Callable, file: str):
        super().__init__(function, file)
        self._cache_path = str(cache_folder() / self.get_suitable_cache_subpath(file))


class CacheLocators(CompileResultCacheImpl):
    _locator_classes = [*CompileResultCacheImpl._locator_classes, FallbackLocator]  # noqa: RUF012 as Numba has it


class KernelCache(FunctionCache):
    _impl_class = CacheLocators


class LazyKernelCache(NullCache):
    """The cache of one function's machine code. It looks for its folder when it is first used, and warns once per
    process if nothing can be cached."""

    def __init__(self, function: Callable):
        self._function, self._stamp = function, _stamp_of(function.__code__.co_filename)

    @cached_property
    def _files(self) -> Any:
        if _stamp_of(self._function.__code__.co_filename) != self._stamp:  # the file has changed since it was imported
            return NullCache()
        try:
            files = KernelCache(self._function)
        except (RuntimeError, OSError) as error:  # no writable folder
            warn_uncached(error)
            return NullCache()
        folder = Path(files.cache_path)
        with_source = folder.parent == Path(self._function.__code__.co_filename).parent  # then as safe as the source
        if not with_source and (why := distrusted(folder, stat.S_IWOTH)):
            warn_uncached(OSError(f"{folder} {why}"))
            return NullCache()
        # Numba checks only the function's own file, but callees and named constants are compiled into it as well.
        parts = _compiled_into(self._function)
        called = sorted({part.__code__.co_filename for part in parts})
        stamps = [(Path(name).name, *(_stamp_of(name) or ())) for name in called]
        numbers = sorted(set().union(*map(_numbers_in, parts)))
        # The stamps become part of the version, which Numba compares before it unpickles types, whose classes may no
        # longer exist.
        files._cache_file._version = (files._cache_file._version, *stamps, *numbers)
        return files

    @property
    def cache_path(self) -> str | None:
        return self._files.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return _warn_on_read_error(self._files.load_overload, sig, target_context)

    def save_overload(self, sig: Any, cres: Any) -> None:
        _warn_on_read_error(self._files.save_overload, sig, cres)


def cache_folder() -> Path:
    """The folder of generated sources, and of machine code that has no other place: DGRAPH_CACHE, else the user's cache
    folder, else a private temporary folder."""
    chosen = os.environ.get("DGRAPH_CACHE")
    if chosen:
        return _private(Path(chosen))
    home = os.environ.get("XDG_CACHE_HOME")
    try:
        return _private((Path(home) if home else Path.home() / ".cache") / "dgraph" / "kernels")
    except (OSError, RuntimeError):  # no home, or not writable
        user = os.getuid() if hasattr(os, "getuid") else 0
        return _private(Path(tempfile.gettempdir()) / f"dgraph-kernels-{user}")


def _private(folder: Path) -> Path:
    """Create the folder, readable by this user only. Refuse one that other users own or can write to."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if why := distrusted(folder):
        raise OptionError(f"the kernel cache {folder} {why}; set DGRAPH_CACHE to a folder that only you can write to")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} is not writable")
    return folder


def distrusted(folder: Path, others: int = stat.S_IWGRP | stat.S_IWOTH) -> str:
    """The reason why other users could put machine code, which is run unchecked, into a folder; "" if they cannot.
    Numba's own folders may be group-writable, depending on the user's umask, so callers choose the mode bits."""
    if os.name != "posix" or not os.path.lexists(folder):
        return ""
    status, me = folder.lstat(), os.getuid()
    if not stat.S_ISDIR(status.st_mode):
        return "is a link or a file, not a folder"
    if status.st_uid != me:
        return f"belongs to user {status.st_uid}, not to you"
    return "is writable by other users (run chmod 700 on it)" if status.st_mode & others else ""


def _compiled_into(function: Any) -> set[Any]:
    """A function, and all compiled functions that it calls, directly or not."""
    functions, waiting = {function}, [function]
    while waiting:
        caller = waiting.pop()
        called = {getattr(caller.__globals__.get(name), "py_func", None) for name in caller.__code__.co_names} - {None}
        waiting += called - functions
        functions |= called
    return functions


def _numbers_in(function: Any) -> set[tuple[str, str]]:
    """The numbers that a function reads by name, including imported ones: they are compiled into it."""
    named = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    return {(name, repr(value)) for name, value in named.items() if isinstance(value, int | float | np.generic)}


def _stamp_of(name: str) -> tuple[int, int] | None:
    """The modification time and size of a source file; None if there is none."""
    try:
        status = Path(name).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _warn_on_read_error(action: Callable, *arguments: Any) -> Any:
    try:
        return action(*arguments)
    except READ_ERRORS as error:
        warn_uncached(error)
        return None


def warn_uncached(error: BaseException) -> None:
    """Warn once per process."""
    if not problems:
        problems.append(str(error))
        warn(f"compiled kernels cannot be cached ({error}): {REMEDY}")
