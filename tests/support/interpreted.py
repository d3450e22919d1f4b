"""Kernels of programs in plain Python, one thread at a time: a program runs at once rather than after a second of
compilation. Integers wrap and divisions by 0 are infinite, as in machine code, because values are NumPy's."""

import contextlib
import importlib.util
import types
from collections.abc import Iterator
from unittest import mock

import numpy as np

from dgraph.codegen.compiler import Kernel
from dgraph.native import block_queue, team


def exchange(array, index, value):
    old, array[index] = array[index], value
    return old


def add(array, index, value):
    return exchange(array, index, array[index] + value)


def largest(array, index, value):
    return exchange(array, index, max(array[index], value))


def smallest(array, index, value):
    return exchange(array, index, min(array[index], value))


def swap(array, index, old, new):
    found = array[index]
    if found == old:
        array[index] = new
    return found


ATOMIC = {
    "atomic_add": add,
    "atomic_exchange": exchange,
    "atomic_load": lambda array, index: array[index],
    "atomic_max": largest,
    "atomic_min": smallest,
    "compare_and_swap": swap,
    "pass_on": lambda: None,
    "prefetch": lambda array, index: None,
}


def plain(module: types.ModuleType) -> types.ModuleType:
    """The module with all compiled functions replaced by the Python functions that they were compiled from."""
    for name, one in list(vars(module).items()):
        if name in ATOMIC:
            setattr(module, name, ATOMIC[name])
        elif hasattr(one, "py_func"):
            setattr(module, name, one.py_func)
    return module


def copied(module: types.ModuleType) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(f"plain_{module.__name__}", module.__file__)
    ours = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ours)
    return plain(ours)


@contextlib.contextmanager
def interpreted() -> Iterator[None]:
    """While this is open, kernels of programs are not compiled."""
    queue, threads, modules = copied(block_queue), copied(team), {}

    def module_of(source):
        if source.digest not in modules:
            module = types.ModuleType(source.name)
            text = source.text.replace("from numba import njit as kernel_compiler", "kernel_compiler = as_it_is")
            text = text.replace("from dgraph.native.machine_code import cached_njit", "cached_njit = as_it_is")
            module.as_it_is = lambda **options: lambda function: function
            exec(compile(text, f"<{source.name}>", "exec"), vars(module))
            vars(module).update(
                {name: one for name, one in (("_queue", queue), ("_team", threads)) if name in vars(module)}
            )
            modules[source.digest] = plain(module)
        return modules[source.digest]

    def compiled(self):
        function = getattr(module_of(self.source), self.name)
        kinds = [None if one.dims else np.dtype(one.dtype).type for one in self.arguments]

        def call(*arguments):
            with np.errstate(all="ignore"):
                pairs = zip(kinds, arguments, strict=True)
                return function(*(one if kind is None else kind(one) for kind, one in pairs))

        return call

    with mock.patch.object(Kernel, "compile", compiled), mock.patch.object(Kernel, "__call__", _call):
        yield


def _call(self, *arguments):
    if self._compiled is None:
        self._compiled = self.compile()
    return self._compiled(*arguments)
