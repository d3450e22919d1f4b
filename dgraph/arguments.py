"""Checks of the options that users pass, and the common base of all classes of options.

NumPy's numbers count as numbers, and each error names the value and what is allowed.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import MISSING, dataclass, field, fields
from functools import wraps
from reprlib import repr as short
from typing import Any, ParamSpec, TypeVar, dataclass_transform

import numpy as np

from dgraph.errors import InputError, OptionError
from dgraph.native.free_memory import parse_bytes, within
from dgraph.phrases.phrases import format_option
from dgraph.phrases.suggestions import ALIKE, CLOSE_MATCH, choices, opposite, suggestion

AUTO = "auto"
# Options of a graph, which no operation takes.
GRAPH_OPTIONS = (
    *("weight", "directed", "vertices", "loops", "repeats", "symmetrize"),
    *("policy", "parts", "capacities", "memory", "client"),
)
P = ParamSpec("P")
R = TypeVar("R")


def known_options(
    *more: Callable[..., Any],
    by_engine: Mapping[str, Callable[..., Any]] = {},
    old: Callable[[Collection[str], dict[str, Any]], None] | None = None,
    runs: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function that also takes the options of the functions `more`, so that it rejects unknown options and
    suggests the nearest known name. If the user chooses an engine listed in `by_engine`, that function is called
    instead. `old` rejects options that are now written differently. A function that `runs` gets its graph in as many
    partitions as are worthwhile."""

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        own = list(inspect.signature(function).parameters.values())
        parameters = [*own, *(one for each in more for one in inspect.signature(each).parameters.values())]
        known = list(dict.fromkeys(one.name for one in parameters if one.kind is not one.VAR_KEYWORD))
        named = [one.name for one in own if one.kind is one.KEYWORD_ONLY]
        most = sum(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in own)
        of_graph = "graph" in known and not (own and own[0].name == "graph" and own[0].annotation == "Any")
        many = any(one.kind is one.VAR_POSITIONAL for one in own)
        title = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

        @wraps(function)
        def checked(*positional: P.args, **options: P.kwargs) -> R:
            if of_graph and positional and not hasattr(type(positional[0]), "num_vertices"):
                raise InputError(
                    f"{title} expects a dgraph.Graph, got {_class_of(positional[0])}; make one with "
                    "Graph.from_edges (frames), dgraph.read_edges (files), or dgraph.from_networkx and the like"
                )
            if len(positional) > most and named and not many:
                extra = short(positional[most])
                raise OptionError(
                    f"{title} takes {extra} only as a keyword argument: write one of {', '.join(named)} before it"
                )
            for name, value in options.items():
                if name not in known:
                    if old is not None:
                        old(known, options)
                    raise OptionError(_unknown(title, known, name, value))
            engine = options.get("engine")
            chosen = by_engine.get(engine, function) if isinstance(engine, str) else function
            graph: Any = positional[0] if positional else options.get("graph")
            if runs and graph is not None and options.get("daemons") is None:  # which may be named worker by worker
                graph = graph.in_runs
                if positional:
                    positional = (graph, *positional[1:])  # type: ignore[assignment]
                else:
                    options["graph"] = graph
            limit = getattr(graph, "memory", None) if of_graph else None
            with nullcontext() if limit is None else within(limit):
                return chosen(*positional, **options)

        return checked

    return decorated


def known_fields(cls: type[R]) -> type[R]:
    """Decorate a class, so that its constructor rejects unknown options in the same way."""
    setattr(cls, "__init__", known_options()(cls.__init__))  # noqa: B010  (mypy allows no assignment to a method)
    return cls


def _class_of(value: Any) -> str:
    """The class of a value, and its package, because graphs of other libraries are called Graph too."""
    kind, package = type(value), type(value).__module__.partition(".")[0]
    return kind.__name__ if package == "builtins" else f"{package}.{kind.__name__}"


def _unknown(function: str, known: list[str], name: str, value: Any) -> str:
    """The error text about an option that a function does not have."""
    named = [one for one in known if one not in ("self", "cls", "frame", "graph", "program")]
    of_graph = "graph" in known and name in GRAPH_OPTIONS
    near = opposite(function, name, value)
    near = near or suggestion(name, named, CLOSE_MATCH if of_graph else ALIKE, said="did you mean {}=?".format)
    if not near and "daemons" in known:  # true for functions that run a program
        near = _values_with(name, [one for one in VALUES if one.__module__ == "dgraph.options"])
        if near and of_graph:
            near = f"set it when you make the graph: Graph.from_edges(frame, {name}=...); also, {near}"
    if of_graph:
        remedy = near or f"set it when you make the graph: Graph.from_edges(frame, {name}=...)"
    else:
        remedy = near or (f"its options are {', '.join(named)}" if named else "it has none")
    return f"{format_option(name, value)}: {function} has no such option; {remedy}"


def check_integer(name: str, value: Any, low: int = 1, high: int | None = None, *, or_none: bool = False) -> Any:
    """Return `value` as a Python int if it is within the bounds, or None where that is allowed."""
    if value is None and or_none:
        return None
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):
        bounds = f">= {low}" if high is None else f"from {low} to {high}"
        raise OptionError(f"{format_option(name, value)} must be an integer {bounds}{', or None' if or_none else ''}")
    return int(value)


def check_integer_or_auto(name: str, value: Any, *, or_none: bool = False) -> Any:
    """Return a positive integer as a Python int, or "auto", or None where that is allowed."""
    if is_default(value, AUTO):
        return AUTO
    if value is None and or_none:
        return None
    try:
        return check_integer(name, value)
    except OptionError as error:
        words = '"auto" or None' if or_none else 'or "auto"'
        raise OptionError(f"{error}, {words}") from None


def check_bytes(name: str, value: Any, low: int) -> int:
    """Return a number of bytes, which may be text such as "4 GiB", as an int."""
    size = parse_bytes(value) if isinstance(value, str) else value
    if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < low:
        raise OptionError(f'{format_option(name, value)} must be a number of bytes >= {low}, such as 4096 or "4 GiB"')
    return int(size)


def check_limits(max_iter: Any, tol: Any) -> None:
    """Check the options that end an iteration: at most `max_iter` rounds, or a change below `tol`."""
    check_integer("max_iter", max_iter)
    if tol is not None and not (is_number(tol) and tol >= 0):
        raise OptionError(f"{format_option('tol', tol)} must be a number >= 0; 0 runs exactly max_iter= rounds")


def change_within(tol: float, alpha: float) -> float:
    """The largest change in the last round that guarantees ranks within `tol` of the fixed point: each round reduces
    the distance by the factor `alpha`. With alpha = 1, `tol` bounds the change itself."""
    return tol * (1 - alpha) / alpha if 0 < alpha < 1 else tol


def is_number(value: Any) -> bool:
    """Whether `value` is a real number of Python or NumPy."""
    return isinstance(value, int | float | np.integer | np.floating)


def check_positive(name: str, value: Any) -> float:
    """Return `value` as a float if it is a finite number above 0."""
    if not is_number(value) or isinstance(value, bool) or not 0 < value < math.inf:
        raise OptionError(f"{format_option(name, value)} must be a finite number > 0")
    return float(value)


def check_flag(name: str, value: Any) -> bool:
    """Return `value` if it is a boolean; a string such as "no" would otherwise count as True."""
    if not isinstance(value, bool | np.bool_):
        raise OptionError(f"{format_option(name, value)} must be True or False")
    return bool(value)


def check_choice(name: str, value: Any, known: Iterable[str], *, operations: bool = False) -> str:
    """Return `value` if it is one of the known values. `operations` says whether these are names of operations."""
    known = list(known)
    if not (isinstance(value, str) and value in known):
        remedy = choices(value if isinstance(value, str) else "", known, operations=operations)
        raise OptionError(f"{format_option(name, value)} is not known; {remedy}")
    return value


def is_default(value: Any, usual: Any) -> bool:
    """Whether a value is the default. Frames, arrays and pandas' NA never are, because their == returns no boolean."""
    return value is usual or (isinstance(value, str | int | float | np.generic) and bool(value == usual))


def vertex_list(name: str, value: Any, *, at_least: int = 1) -> list[Any]:
    """Return one vertex, or a collection of vertices, as a list."""
    if hasattr(value, "columns"):
        raise OptionError(f"{name}= is a table with the columns {list(value.columns)}: pass one of its columns")
    if isinstance(value, np.ndarray):
        value = value.tolist()  # an array without dimensions becomes a single vertex
    value = to_python(value)
    listed = [to_python(one) for one in value] if is_collection(value) else [value]
    if len(listed) < at_least:
        raise OptionError(f"{name}={value!r} is empty: give at least one vertex")
    for one in listed:
        if is_collection(one):
            raise OptionError(
                f"{name}={value!r} contains {one!r}, which is not a vertex: give one flat list of vertices"
            )
    return listed


def is_collection(value: Any) -> bool:
    """Whether a value is a collection of vertices, and not a single one."""
    value = to_python(value)
    return isinstance(value, Iterable) and not isinstance(value, str | bytes) and getattr(value, "ndim", 1) > 0


def to_python(value: Any) -> Any:
    """Convert an Arrow scalar to a Python object; return anything else unchanged."""
    return value.as_py() if hasattr(value, "as_py") else value


def cast_to(dtype: np.dtype, name: str, value: Any, *, is_vertex: bool = False, is_vector: bool = False) -> Any:
    """Convert `value` to a dtype; with `is_vertex`, return ids that the graph will number as they are. Raise an
    OptionError if the conversion would change the value, or if it is not a scalar (with `is_vector`, not a vector)."""
    if type(value) in (int, float) and not is_vector and dtype == type(value) and abs(value) < 2**63:  # noqa: E721
        return value  # ten times faster than the general case
    value = to_python(value)
    array = np.asarray(value)
    ids = "uUOf" if is_vector else "uUO"  # NumPy makes floats of ids on both sides of 2^63
    if is_vertex and array.dtype.kind in ids and array.ndim == is_vector:
        return np.asarray(value, object) if is_vector else value
    try:
        with np.errstate(invalid="ignore"):  # casting NaN to an integer changes it, which is detected below
            cast = array.astype(dtype)
        same = bool(np.all((cast == array) | (cast != cast))) or dtype.kind == "f"
        same &= array.dtype.kind == "i" or not is_vertex  # booleans and floats are not ids
    except (TypeError, ValueError, OverflowError):
        same = False
    if not same or array.ndim != is_vector:
        one = "vertex" if is_vertex else dtype.name
        kind = f"vector of {'vertices' if is_vertex else one}" if is_vector else one
        raise OptionError(f"{name}={value!r}: expected {'an' if kind[0] == 'i' else 'a'} {kind}")
    return cast if is_vector else cast.item()


def wrap_integer(value: Any, dtype: np.dtype) -> Any:
    """An integer wrapped around to fit its type, as in kernels; other values unchanged."""
    if dtype.kind not in "iu":
        return value
    span = 1 << (8 * dtype.itemsize)
    low = span // 2 if dtype.kind == "i" else 0
    return (int(value) + low) % span - low


def values_by_vertex(name: str, values: Any) -> Mapping[Any, Any] | None:
    """Return {vertex: value} from a mapping, a Series (by its index), or a frame with two columns; otherwise None."""
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
    ids, each = (values.iloc[:, 0], values.iloc[:, 1]) if is_table else (values.index, values)
    mapping = dict(zip(ids.tolist(), each.tolist(), strict=True))
    if len(mapping) < len(ids):
        raise OptionError(
            f"{name}= lists vertex {ids[ids.duplicated()].tolist()[0]!r} more than once: give each vertex one value"
        )
    return mapping


VALUES: list[Any] = []  # all classes of options


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def value(cls: type[R]) -> type[R]:
    """Decorate a class of options. It becomes a frozen dataclass whose fields are keywords, whose repr can be pasted,
    and which raises an OptionError for a wrong call. `help` shows its fields as keywords."""
    made = dataclass(frozen=True, kw_only=True, repr=False)(cls)
    fill, signature = made.__init__, inspect.signature(made)

    def __init__(self: Any, *positional: Any, **given: Any) -> None:
        named = [one.name for one in fields(self)]
        allowed = [one.name for one in fields(self) if not one.kw_only]
        if len(positional) > len(allowed):
            extra = positional[len(allowed)]
            raise OptionError(
                f"dg.{cls.__name__} takes {extra!r} only as a keyword argument: write one of {', '.join(named)} before "
                "it"
            )
        given = {**dict(zip(allowed, positional, strict=False)), **given}
        for name, passed in given.items():
            if name not in named:
                raise OptionError(f"dg.{cls.__name__} has no option {shown(name, passed)}; {_remedy(cls, name)}")
        for one in fields(self):
            if one.default is MISSING and one.name not in given:
                raise OptionError(f"dg.{cls.__name__} needs {one.name}=, which has no default")
        fill(self, **given)

    setattr(made, "__init__", __init__)  # noqa: B010  (mypy allows no assignment to a method)
    setattr(made, "__repr__", _call)  # noqa: B010
    setattr(made, "__signature__", signature.replace(return_annotation=signature.empty))  # noqa: B010
    VALUES.append(made)
    return made


def _call(self: Any) -> str:
    """The call that makes this value, with all non-default fields. It can be pasted after `import dgraph as dg`."""
    said = [
        f"{one.name}={held!r}" if one.kw_only else repr(held)
        for one in fields(self)
        if (held := getattr(self, one.name)) != one.default
    ]
    return f"dg.{type(self).__name__}({', '.join(said)})"


def _remedy(cls: Any, name: str) -> str:
    """The suggested replacement for an option that a value does not have."""
    named = [one.name for one in fields(cls)]
    if having := _values_with(name, [one for one in VALUES if one.__module__ == cls.__module__]):
        return having
    return suggestion(name, named) or f"its options are {', '.join(named)}"


def _values_with(name: str, values: Iterable[Any]) -> str:
    """Text that names the classes of options that have a field of this name, or "" if none has."""
    found = [f"dg.{one.__name__}" for one in values if name in [each.name for each in fields(one)]]
    return f"{', '.join(found[:-1])} and {found[-1]} have it" if found[1:] else f"{found[0]} has it" if found else ""


def shown(name: str, given: Any) -> str:
    """An argument as the user wrote it."""
    return f"{name}={given!r}" if isinstance(given, tuple(VALUES)) else format_option(name, given)


def assign(self: Any, name: str, normal: Any) -> None:
    """Set a field of a frozen value while it is made."""
    object.__setattr__(self, name, normal)
