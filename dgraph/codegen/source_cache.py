"""The folder of generated sources: one file per text, named by its hash, so that machine code is compiled only once.

Numba keeps the machine code next to it, in pickles. The folder is therefore private, and a folder that other users can
write to is refused.
"""

from __future__ import annotations

import contextlib
import importlib.util
import linecache
import os
import sys
import tempfile
import threading
from pathlib import Path
from types import ModuleType

from dgraph.codegen.kernel_source import Source
from dgraph.native.machine_code import cache_folder, warn_uncached

_modules: dict[str, ModuleType] = {}
_lock = threading.Lock()


def module_of(source: Source) -> ModuleType:
    """The module of a source: written to the cache and imported, once per process."""
    with _lock:
        if source.digest not in _modules:
            try:
                _modules[source.digest] = _import(_write(source))
            except OSError as error:
                warn_uncached(error)
                _modules[source.digest] = _module_in_memory(source)
        return _modules[source.digest]


def _write(source: Source) -> Path:
    path = cache_folder() / f"{source.name.lower()}_{source.digest}.py"
    with contextlib.suppress(OSError):
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


def forget_modules() -> None:
    """Forget the modules of this process, so that it behaves like a new one (for tests)."""
    with _lock:
        for module in _modules.values():
            sys.modules.pop(module.__name__, None)
        _modules.clear()
