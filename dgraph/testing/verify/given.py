"""Options of an operation as its verifier takes them: checked, and with numbers of vertices in place of their ids."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dgraph.errors import IdError, OptionError
from dgraph.options import by_vertex, vertex_list
from dgraph.phrases import format_count
from dgraph.testing.verify.edges import Edges

SHARES = ("personalization", "dangling")  # probabilities of vertices
WHENCE = {  # where a user finds what only the run itself can tell
    "mean": """; the result has it as totals["mean"], and `dgraph run factorize --json` prints it""",
    "rmse": "; it is the largest error that you take for right, of all ratings",
}


def by_number(
    operation: str, function: Callable[..., None], columns: Sequence[str], edges: Edges, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options that were given to `verify`, with vertices by number. Options that the verifier does not know are
    refused, and so is the lack of one that it needs."""
    known = {n: p for n, p in inspect.signature(function).parameters.items() if n != "edges" and n not in columns}
    for name in options:
        if name not in known:
            there = f"it depends on {', '.join(known)}" if known else "it depends on none"
            raise OptionError(f"{name}= is no option that the answer of {operation} depends on; {there}")
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in options:
            raise OptionError(f"{name}= is missing: the answer of {operation} depends on it{WHENCE.get(name, '')}")
    found = dict(options)
    if "source" in found:
        found["source"] = _numbers(edges, vertex_list("source", found["source"]))
    if found.get("target") is not None:
        found["target"] = int(_numbers(edges, [found["target"]])[0])
    for name in SHARES:
        if name in found:
            several = isinstance(found[name], list | tuple)
            found[name] = (
                [_shares(edges, name, one) for one in found[name]] if several else _shares(edges, name, found[name])
            )
    return found


def _numbers(edges: Edges, ids: list[Any]) -> np.ndarray:
    """The numbers of vertices that are named by id; an IdError if one is no vertex."""
    if edges.ids is not None:
        numbers = edges.ids.get_indexer(ids)
    else:
        numbers = np.array(
            [one if isinstance(one, int | np.integer) and 0 <= one < edges.vertices else -1 for one in ids]
        )
    for one, number in zip(ids, numbers, strict=True):
        if number < 0:
            raise IdError(f"the graph has no vertex {one!r}; it has {format_count(edges.vertices, 'vertex')}")
    return numbers


def _shares(edges: Edges, name: str, given: Any) -> Any:
    """Weights of vertices as probabilities by number; what names no vertices stays as it is."""
    if (named := by_vertex(name, given)) is None:
        return given
    weights = np.array(list(named.values()), np.float64)
    if not 0 < weights.sum() < np.inf or weights.min() < 0:
        raise OptionError(f"{name}={dict(named)!r}: weights are not negative, and one is above zero")
    shares = np.zeros(edges.vertices)
    shares[_numbers(edges, list(named))] = weights / weights.sum()
    return shares
