"""Options that users pass, checked in one way: numbers of NumPy count as numbers, and errors name the value and what it
may be."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from dgraph.errors import InputError, OptionError
from dgraph.phrases import ALIKE, ALMOST, format_option, nearest

AUTO = "auto"  # as suits the rest
# what is said of a graph when it is made, and of no operation on it
OF_GRAPHS = (
    "weight",
    "directed",
    "vertices",
    "loops",
    "repeats",
    "symmetrize",
    "policy",
    "parts",
    "capacities",
    "client",
)
P = ParamSpec("P")
R = TypeVar("R")


def known_options(*more: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorates a function that takes the options of `more` as well: other options are refused, with the nearest name
    there is."""

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        every = [one for each in (function, *more) for one in inspect.signature(each).parameters.values()]
        known = list(dict.fromkeys(one.name for one in every if one.kind is not one.VAR_KEYWORD))
        named = [name for name in known if name not in ("cls", "frame", "graph", "program")]

        @wraps(function)
        def checked(*positional: P.args, **options: P.kwargs) -> R:
            if "graph" in known and positional and not hasattr(positional[0], "num_vertices"):
                remedy = (
                    "Graph.from_edges makes one of a frame, dgraph.read_edges of a file, dgraph.from_networkx and its "
                    "like of another library's graph"
                )
                raise InputError(
                    f"{function.__name__} takes a dgraph.Graph, not {type(positional[0]).__name__}; {remedy}"
                )
            for name, value in options.items():
                if name not in known:
                    of_graph = "graph" in known and name in OF_GRAPHS
                    if near := nearest(name, named, ALMOST if of_graph else ALIKE):
                        remedy = f"did you mean {near}=?"
                    elif of_graph:
                        remedy = f"it is said when the graph is made: Graph.from_edges(frame, {name}=...)"
                    else:
                        remedy = f"it has {', '.join(named)}"
                    raise OptionError(f"{format_option(name, value)}: {function.__name__} has no such option; {remedy}")
            return function(*positional, **options)

        return checked

    return decorated


def check_integer(name: str, value: Any, low: int = 1, high: int | None = None, *, or_none: bool = False) -> Any:
    """`value` as a Python int between the bounds, or None where that is allowed."""
    if value is None and or_none:
        return None
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):
        bounds = {0: ", zero or more", 1: " above zero"}.get(low, f" from {low} on")
        bounds = bounds if high is None else f" from {low} to {high}"
        raise OptionError(
            f"{format_option(name, value)} must be a whole number{bounds}{', or None' if or_none else ''}"
        )
    return int(value)


def check_limits(max_iter: Any, tol: Any) -> None:
    """Check the two limits of rounds that come ever nearer to an answer: `max_iter` of them, or a change below
    `tol`."""
    check_integer("max_iter", max_iter)
    if tol is not None and not (is_number(tol) and tol >= 0):
        raise OptionError(f"{format_option('tol', tol)} must be above zero, or 0 for exactly max_iter= rounds")


def is_number(value: Any) -> bool:
    """Whether `value` is a real number, of Python or NumPy."""
    return isinstance(value, int | float | np.integer | np.floating)


def check_flag(name: str, value: Any) -> bool:
    """`value`, which must be True or False: a word would count as True, whatever it says."""
    if not isinstance(value, bool | np.bool_):
        raise OptionError(f"{format_option(name, value)} is a switch: give True or False")
    return bool(value)


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """`value`, which must be one of some words."""
    choices = list(choices)
    if not (isinstance(value, str) and value in choices):
        raise OptionError(f"{format_option(name, value)} is not known; choose one of {', '.join(choices)}")
    return value


def is_default(value: Any, usual: Any) -> bool:
    """Whether a value is the usual one. Frames, arrays and pandas' NA never are: asked by ==, they answer with
    something that is neither true nor false."""
    return value is usual or (isinstance(value, str | int | float | np.generic) and bool(value == usual))


def vertex_list(name: str, value: Any, *, at_least: int = 1) -> list[Any]:
    """One vertex or several, of any collection, as a list."""
    if hasattr(value, "columns"):
        raise OptionError(f"{name}= is a table with the columns {list(value.columns)}: pass one of its columns")
    if isinstance(value, np.ndarray):
        value = value.tolist()  # of no dimensions: a vertex
    value = plain(value)
    found = (
        [plain(one) for one in value] if isinstance(value, Iterable) and not isinstance(value, str | bytes) else [value]
    )
    if len(found) < at_least:
        raise OptionError(f"{name}={value!r} is empty: name a vertex, or several")
    for one in found:
        if isinstance(one, Iterable) and not isinstance(one, str | bytes):
            raise OptionError(f"{name}={value!r} lists {one!r}, which is no vertex: give one list of vertices")
    return found


def plain(value: Any) -> Any:
    """An item of an Arrow array as Python has it, anything else as it is."""
    return value.as_py() if hasattr(value, "as_py") else value


def by_vertex(name: str, values: Any) -> Mapping[Any, Any] | None:
    """{vertex: value} of a mapping, of a Series by its index, or of a frame of vertices and their values; None if it is
    neither."""
    if isinstance(values, Mapping):
        return values
    is_table = hasattr(values, "columns")
    if not (is_table or (hasattr(values, "index") and hasattr(values, "to_dict"))):
        return None
    if hasattr(values, "dask"):
        values = values.compute()
    if hasattr(values, "to_pandas"):
        values = values.to_pandas()
    if is_table and len(values.columns) != 2:
        raise OptionError(f"{name}= is a table with the columns {list(values.columns)}: give two, vertices and values")
    named, each = (values.iloc[:, 0], values.iloc[:, 1]) if is_table else (values.index, values)
    found = dict(zip(named.tolist(), each.tolist(), strict=True))
    if len(found) < len(named):
        twice = named[named.duplicated()].tolist()[0]
        raise OptionError(f"{name}= lists vertex {twice!r} twice: give it one value")
    return found


def refuse_columns(options: dict[str, Any], remedy: str) -> None:
    """Refuse `columns=`, for an operation that gives its program's columns itself."""
    if "columns" in options:
        raise OptionError(f"columns= is for programs of your own, in dgraph.run; {remedy}")
