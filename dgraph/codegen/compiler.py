"""From text to callable kernels, each compiled when first used; Numba's errors become a ProgramError.

Signatures are explicit: an array of another dtype is an error, and never a second compilation.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numba import types
from numba.core import errors as numba_errors
from numba.np.numpy_support import from_dtype

from dgraph.codegen.kernel_source import Source
from dgraph.codegen.source_cache import module_of
from dgraph.codegen.text import Argument
from dgraph.errors import ProgramError
from dgraph.programs.syntax import ALLOWED

_loaded: dict[str, Kernels] = {}
_lock = threading.Lock()


class Kernel:
    """A kernel: call it with its arguments in order, or with a mapping by name."""

    def __init__(self, source: Source, name: str):
        self.source, self.name = source, name
        self.arguments = source.kernels[name]
        self.names = tuple(argument.name for argument in self.arguments)
        self._compiled: Callable | None = None
        self._lock = threading.Lock()

    def compile(self) -> Callable:
        """Machine code, from the cache if it is there."""
        with self._lock:
            if self._compiled is None:
                dispatcher = getattr(module_of(self.source), self.name)
                try:
                    dispatcher.compile(tuple(numba_type(argument) for argument in self.arguments))
                except numba_errors.NumbaError as error:
                    raise translate_compiler_error(self.source, self.name, error) from error
                dispatcher.disable_compile()
                self._compiled = dispatcher
        return self._compiled

    def __call__(self, *arguments: Any) -> Any:
        return (self._compiled or self.compile())(*arguments)

    def on(self, lo: int, hi: int, values: Mapping[str, Any]) -> Any:
        """Run over a range of rows, the other arguments by name."""
        return self(lo, hi, *(values[name] for name in self.names[2:]))


class Kernels(Mapping[str, Kernel]):
    """The kernels of a source by name; pickles as the source."""

    def __init__(self, source: Source):
        self.source = source
        self._kernels = {name: Kernel(source, name) for name in source.kernels}

    def __getitem__(self, name: str) -> Kernel:
        return self._kernels[name]

    def __iter__(self):
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __reduce__(self):
        return load, (self.source,)


def load(source: Source) -> Kernels:
    """The kernels of a source, one set a process."""
    with _lock:
        return _loaded.setdefault(source.digest, Kernels(source))


def numba_type(argument: Argument) -> Any:
    """The type of an argument in a signature; arrays that a kernel only reads may be read-only."""
    scalar = from_dtype(np.dtype(argument.dtype))
    if not argument.dims:
        return scalar
    return types.Array(scalar, argument.dims, "C", readonly=not argument.written)


def translate_compiler_error(source: Source, kernel: str, error: Exception) -> ProgramError:
    """The compiler's error in terms of the user's own text."""
    text = str(error)
    lines = [int(number) for number in re.findall(r'File "[^"]*", line (\d+)', text)]
    origin = next((source.origins[line] for line in reversed(lines) if line in source.origins), None)
    where = origin or f"{source.name}, kernel {kernel!r}"
    text = re.sub(r"\x1b\[\d*m|Failed in \w+ mode pipeline \(step: [\w ]+\)", "", text)
    words = " ".join(text.split())
    return ProgramError(
        f"{where}: the types of this do not go together. Allowed are {ALLOWED}. Compiler: {words[:400]}"
    )
