"""What the modules `answers_of_*` share, which say what every operation must answer. They are written from
docs/semantics.md, by other libraries or by plain definitions, and know nothing of how dgraph computes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from multigraphs import Multigraph

from dgraph.errors import DgraphError, OptionError


class Vertex(int):
    """A vertex in the options of an operation, by number."""


class Check(NamedTuple):
    """How an operation is tried: options for a graph, or None if it does not suit; and the check of its answer, which
    calls it without arguments."""

    draw: Callable[[Multigraph, random.Random], dict[str, Any] | None]
    check: Callable[..., None]


CHECKS: dict[str, Check] = {}


def operation(draw: Callable[[Multigraph, random.Random], dict[str, Any] | None] = lambda graph, rng: {}):
    """Registers the check of the operation of the same name."""

    def register(check: Callable[..., None]) -> Callable[..., None]:
        CHECKS[check.__name__] = Check(draw, check)
        return check

    return register


def some(rng: random.Random, share: float = 0.5, **options: Any) -> dict[str, Any]:
    """Some of these options; a function draws its value."""
    return {name: one() if callable(one) else one for name, one in options.items() if rng.random() < share}


def weighted(graph: Multigraph, rng: random.Random, *kinds: str) -> dict[str, Any]:
    """Perhaps the option `weighted=True`, if the weights are of these kinds."""
    return {"weighted": True} if graph.kind in (kinds or NOT_NEGATIVE) and rng.random() < 0.6 else {}


POSITIVE = ("whole", "quarters")
NOT_NEGATIVE = (*POSITIVE, "some 0")


def vertex(graph: Multigraph, rng: random.Random) -> Vertex:
    return Vertex(rng.randrange(graph.n))


def vertices(graph: Multigraph, rng: random.Random, most: int = 3) -> list[Vertex]:
    return [Vertex(u) for u in rng.sample(range(graph.n), rng.randrange(1, min(graph.n, most) + 1))]


# -- answers -----------------------------------------------------------------------------------------------------------


def columns(graph: Multigraph, result: Any, *names: str, some_vertices: bool = False) -> list[Any]:
    """Columns of an answer with a row for each vertex, in order; one list for each name."""
    table = result.compute()
    assert table.columns.tolist() == ["vertex", *names], table.columns.tolist()
    if some_vertices:
        return [numbers(graph, table["vertex"]), *(table[name].tolist() for name in names)]
    assert table["vertex"].tolist() == list(graph.ids), table["vertex"].tolist()
    return [table[name].tolist() for name in names]


def numbers(graph: Multigraph, ids: Any) -> list[int | None]:
    """The numbers of vertices, None if there is none."""
    number = {one: u for u, one in enumerate(graph.ids)}
    return [None if pd.isna(one) else number[one] for one in ids]


def rows(graph: Multigraph, frame: Any, *more: str) -> list[tuple]:
    """The edges of a frame, by number, each with its weight if there is one, and with more columns."""
    table = frame.compute() if hasattr(frame, "compute") else frame
    ends = [numbers(graph, table[table.columns[end]]) for end in (0, 1)]
    weights = table["weight"].tolist() if graph.weighted else [None] * len(table)
    return list(zip(*ends, weights, *(table[name].tolist() for name in more), strict=True))


def turned(graph: Multigraph, edges: list[tuple]) -> list[tuple]:
    """Edges in an order that does not depend on how they were listed, and not on ends of undirected edges."""
    found = [edge if graph.directed or edge[0] <= edge[1] else (edge[1], edge[0], *edge[2:]) for edge in edges]
    return sorted(found, key=lambda edge: tuple((value is None, 0 if value is None else value) for value in edge))


def same(found: Any, expected: Any, what: str = "") -> None:
    """Exactly the same."""
    assert found == expected, f"{what}: {found}, not {expected}"


def close(found: Any, expected: Any, rtol: float = 1e-9, atol: float = 1e-12, what: str = "") -> None:
    """The same up to rounding, or to an accuracy."""
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol, atol, err_msg=what)


def refused(call: Callable[[], Any], kind: type[DgraphError], text: str) -> None:
    """Not answered, with an error of this kind. That an engine does not take the operation says nothing."""
    try:
        result = call()
        if hasattr(result, "compute"):
            result.compute()
    except kind as error:
        if isinstance(error, OptionError) and kind is not OptionError:
            raise
        assert text in str(error), f"{error} does not say {text!r}"
    else:
        raise AssertionError(f"{result} in place of an error that says {text!r}")
