"""Checks the options of a verifier, and replaces vertex ids with numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dgraph.arguments import values_by_vertex, vertex_list
from dgraph.errors import IdError, OptionError
from dgraph.phrases.phrases import format_count
from dgraph.testing.verify.edges import Edges

SHARES = {"personalization", "dangling"}  # probabilities of vertices
HINT = "; pass the value with which it ran"
HINTS = {  # where a user finds options that depend on the run
    "mean": """; the result has it as totals["mean"], and `dgraph run factorize --json` prints it""",
    "rmse": "; it is the largest error that you accept, over all ratings",
}


def by_number(
    operation: str, function: Callable[..., None], columns: Sequence[str], edges: Edges, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of `verify`, with vertices as numbers. Unknown options are errors, and so are missing ones."""
    known = {n: p for n, p in inspect.signature(function).parameters.items() if n != "edges" and n not in columns}
    for name in options:
        if name not in known:
            choices = f"its options are {', '.join(known)}" if known else "it has no options"
            raise OptionError(f"{name}= is not an option of the verifier of {operation}; {choices}")
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in options:
            raise OptionError(f"{name}= is missing: the answer of {operation} depends on it{HINTS.get(name, HINT)}")
    values = dict(options)
    if "source" in values:
        values["source"] = _numbers(edges, vertex_list("source", values["source"]))
    if values.get("target") is not None:
        values["target"] = int(_numbers(edges, [values["target"]])[0])
    for name in values.keys() & SHARES:
        value = values[name]
        several = isinstance(value, list | tuple)
        values[name] = [_shares(edges, name, one) for one in value] if several else _shares(edges, name, value)
    return values


def _numbers(edges: Edges, ids: list[Any]) -> np.ndarray:
    """The numbers of vertices from their ids. Raise an IdError for an unknown id."""
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
    """Weights of vertices as probabilities by number. A value that does not list vertices is returned unchanged."""
    if (weights_of := values_by_vertex(name, given)) is None:
        return given
    weights = np.array(list(weights_of.values()), np.float64)
    if not 0 < weights.sum() < np.inf or weights.min() < 0:
        raise OptionError(f"{name}={dict(weights_of)!r}: weights must be >= 0, and at least one must be > 0")
    shares = np.zeros(edges.vertices)
    shares[_numbers(edges, list(weights_of))] = weights / weights.sum()
    return shares
