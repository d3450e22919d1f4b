"""Numba's machine code, kept on disk for the next process; where that cannot be, each process compiles for itself."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

from numba import njit

UNREADABLE = (OSError, EOFError, pickle.UnpicklingError)  # torn by a full disk, or not to be read
REMEDY = "each process compiles anew, which takes seconds; set DGRAPH_CACHE and NUMBA_CACHE_DIR to folders with space"

problems: list[str] = []  # told of once a process


def _without_linear_algebra() -> None:
    """Numba would import all of SciPy's linear algebra, a tenth of a second in each process, only to see that it is
    there. It is, and who multiplies matrices in a kernel has Numba look again."""
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


def kept(**options: Any) -> Callable[[Callable], Any]:
    """`numba.njit`, without the GIL and with a cache that fails nothing: neither a full disk, nor a read-only one."""

    def compiled(function: Callable) -> Any:
        dispatcher = njit(nogil=True, **options)(function)
        try:
            dispatcher.enable_caching()
        except RuntimeError:  # no folder can be written
            return dispatcher
        cache = dispatcher._cache
        cache.load_overload, cache.save_overload = _harmless(cache.load_overload), _harmless(cache.save_overload)
        return dispatcher

    return compiled


def _harmless(action: Callable) -> Callable:
    """The same, but a disk that does not take part is only told of, once a process."""

    def attempt(*arguments: Any) -> Any:
        try:
            return action(*arguments)
        except UNREADABLE as error:
            told(error)
            return None

    return attempt


def told(error: BaseException) -> None:
    if not problems:
        problems.append(str(error))
        warnings.warn(f"machine code cannot be kept ({error}): {REMEDY}", stacklevel=2)
