"""Turns kernel text into callable kernels, each compiled on first use. Numba's errors become a ProgramError.

Signatures are explicit: passing an array of another dtype is an error and never triggers a second compilation.

Each text is written to a file that is named by its hash, so that machine code is compiled only once. Numba keeps the
machine code next to it, in pickles. The folder is therefore private, and one that other users can write to is refused.
"""

from __future__ import annotations

import importlib.util
import linecache
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numba import types
from numba.core import errors as numba_errors
from numba.np.numpy_support import from_dtype

from dgraph.codegen.kernel_source import Source
from dgraph.codegen.text import Argument
from dgraph.errors import ProgramError
from dgraph.native.machine_code import cache_folder, warn_uncached
from dgraph.programs.syntax import ALLOWED

_loaded: dict[str, Kernels] = {}
_modules: dict[str, ModuleType] = {}
_lock, _import_lock = threading.Lock(), threading.Lock()


class Kernel:
    """A kernel. Call it with positional arguments, or call `run_rows` with arguments by name."""

    def __init__(self, source: Source, name: str):
        self.source, self.name = source, name
        self.arguments = source.kernels[name]
        self.names = tuple(argument.name for argument in self.arguments)
        self._compiled: Callable | None = None
        self._lock = threading.Lock()

    def compile(self) -> Callable:
        """The compiled function, from the cache on disk if possible."""
        with self._lock:
            if self._compiled is None:
                dispatcher = getattr(module_of(self.source), self.name)
                try:
                    dispatcher.compile(tuple(numba_type(one, not one.written) for one in self.arguments))
                except numba_errors.NumbaError as error:
                    raise translate_compiler_error(self.source, self.name, error) from error
                dispatcher.disable_compile()
                self._compiled = dispatcher
        return self._compiled

    def __call__(self, *arguments: Any) -> Any:
        return (self._compiled or self.compile())(*arguments)

    def run_rows(self, lo: int, hi: int, values: Mapping[str, Any]) -> Any:
        """Run the kernel over a range of rows; the other arguments are looked up by name."""
        return self(lo, hi, *(values[name] for name in self.names[2:]))


class Kernels(dict[str, Kernel]):
    """The kernels of a source, by name. They are pickled as the source."""

    def __init__(self, source: Source):
        super().__init__((name, Kernel(source, name)) for name in source.kernels)
        self.source = source

    def __reduce__(self):
        return load, (self.source,)


def load(source: Source) -> Kernels:
    """The kernels of a source, shared by the whole process."""
    with _lock:
        return _loaded.setdefault(source.digest, Kernels(source))


def forget_kernels() -> None:
    """Forget all kernels and their modules, so that this process behaves like a new one (for tests).

    Both must go together, because a module whose kernels are compiled refuses to compile them again."""
    with _lock, _import_lock:
        _loaded.clear()
        for module in _modules.values():
            sys.modules.pop(module.__name__, None)
        _modules.clear()


def module_of(source: Source) -> ModuleType:
    """The module of a source: written to the cache and imported, once per process."""
    with _import_lock:
        if source.digest not in _modules:
            try:
                _modules[source.digest] = _import(_write(source))
            except OSError as error:
                warn_uncached(error)
                _modules[source.digest] = _module_in_memory(source)
        return _modules[source.digest]


def _write(source: Source) -> Path:
    path = cache_folder() / f"{source.name.lower()}_{source.digest}.py"
    with suppress(OSError):
        if path.read_text() == source.text:
            return path  # do not rewrite it: Numba discards its machine code when the file is newer
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-", suffix=".py")
    os.close(descriptor)
    try:
        Path(name).write_text(source.text)
        Path(name).replace(path)  # atomic, so that no other process reads half a file
    except OSError:
        Path(name).unlink()
        raise
    return path


def _module_in_memory(source: Source) -> ModuleType:
    """The module of a source without a file, for when the disk is full or read-only."""
    module = ModuleType(f"dgraph_kernels_{source.name.lower()}_{source.digest}")
    place = f"<{module.__name__}>"
    linecache.cache[place] = len(source.text), None, source.text.splitlines(keepends=True), place
    sys.modules[module.__name__] = module
    exec(compile(source.text, place, "exec"), module.__dict__)
    return module


def _import(path: Path) -> ModuleType:
    name = f"dgraph_kernels_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # always true for a .py file
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def numba_type(argument: Argument, readonly: bool = False) -> Any:
    """The type of an argument in a signature; with `readonly`, read-only arrays are accepted."""
    scalar = from_dtype(np.dtype(argument.dtype))
    return types.Array(scalar, argument.dims, "C", readonly=readonly) if argument.dims else scalar


def translate_compiler_error(source: Source, kernel: str, error: Exception) -> ProgramError:
    """The compiler's error, located in the user's own source."""
    text = str(error)
    lines = [int(number) for number in re.findall(r'File "[^"]*", line (\d+)', text)]
    origin = next((source.origins[line] for line in reversed(lines) if line in source.origins), None)
    where = origin or f"{source.name}, kernel {kernel!r}"
    text = re.sub(r"\x1b\[\d*m|Failed in \w+ mode pipeline \(step: [\w ]+\)", "", text)
    words = " ".join(text.split())
    return ProgramError(f"{where}: incompatible types. Allowed: {ALLOWED}. Numba reports: {words[:400]}")
