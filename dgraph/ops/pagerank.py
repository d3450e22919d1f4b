"""PageRank (Brin and Page, 1998) by power iteration; every listed edge counts, alike or in proportion to its weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy import float64, inf

from dgraph.checkpoint.checkpoint import for_part
from dgraph.errors import OptionError, WeightError
from dgraph.graph import Graph
from dgraph.ops import residuals
from dgraph.ops.power_iteration import BY_BLOCK, PROGRAMS, SEVERAL
from dgraph.options import AUTO, by_vertex, check_flag, check_limits, is_number, refuse_columns
from dgraph.plan import DESCENT, UNCOUNTED, refuse_uncounted
from dgraph.programs.monoid import MAX, MIN, SUM
from dgraph.programs.program import Global, Message, Result, State, VertexProgram
from dgraph.runs.early_end_warnings import warn_unsettled
from dgraph.runs.execution import run
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_keywords import RunKeywords
from dgraph.solvers.ranks.pagerank import change_within, strengths
from dgraph.solvers.solver import Solver


class Strength(VertexProgram):
    """The sum of the weights of a vertex's out-edges."""

    operation = "pagerank"
    kind = "synchronous"
    along = "in"
    added = State(float64)
    least = State(float64, start=inf)
    weights = Message(float64, SUM)
    weight_of_all = Message(float64, MIN)
    solver = Solver(strengths, orders=("incoming",))

    def send(weight):
        return weight, weight

    def apply(weights, weight_of_all):
        return weights, weight_of_all

    def stop(round):
        return round >= 1

    @Global(float64, MIN)
    def lowest(least):
        return least

    @Global(float64, MAX)
    def highest(added):
        return added

    @Result(float64)
    def strength(added):
        return added


@operation
def pagerank(
    graph: Graph,
    *,
    alpha: float = 0.85,
    max_iter: int = 100,
    tol: float | None = 1e-6,
    personalization: Mapping[Any, float] | Sequence[Any] | Any | None = None,
    weighted: bool = False,
    dangling: str | Mapping[Any, float] | Any | None = None,
    dtype: str = "float64",
    **options: Any,
) -> RunResult:
    """PageRank, how often a surfer comes to each vertex who follows edges and now and then jumps anywhere: the column
    `pagerank`, which sums to 1.

    alpha:    what a step along an edge leaves of a score: the probability of following one; else the surfer jumps.
    max_iter: iterations at most; ranks that have not settled to `tol` by then are given with a warning.
    tol:      the accuracy at which iterations end: all ranks together are within this of the fixed point, as how much
              they change tells (docs/semantics.md); with 0 or None, `max_iter` is the number of iterations.
    personalization: where to jump, as {vertex: weight}, a Series of weights by vertex, or a frame of vertices and
              weights; by default everywhere alike. With a list of these, the column holds a vector for each vertex:
              its rank for each of them, all found in one run; engine="bulk_async" and "block_descent" take a run for
              each.
    weighted: weights count: edges are followed in proportion to them, instead of all alike.
    dangling: where those go who come to a vertex without out-edges: "uniform", anywhere; "personalization", where one
              jumps; weights of vertices, as there; "none": nowhere, and ranks sum to less than 1. By default, as jumps.
    dtype:    "float64", or "float32": half the memory, and faster.
    Other options are those of `dgraph.run`.
    """
    if not (is_number(alpha) and 0 <= alpha <= 1):
        raise OptionError(f"alpha={alpha!r} is a probability: from 0 to 1")
    check_limits(max_iter, tol)
    refuse_columns(options, "say where to jump with personalization=")
    if not isinstance(dtype, str | np.dtype) or dtype not in ("float64", "float32"):
        raise OptionError(f'dtype={dtype!r} is not known; choose "float64" or "float32"')
    weighted, several = check_flag("weighted", weighted), isinstance(personalization, list | tuple)
    jumps = [_jumps(graph, one, dangling) for one in (personalization if several else [personalization])]  # type: ignore[union-attr]
    if not jumps:
        raise OptionError("personalization=[]: give at least one {vertex: weight}")
    values = {"alpha": alpha, "kept": 0.0 if isinstance(dangling, str) and dangling == "none" else 1.0}
    limits = {"tol": change_within(tol or 0.0, alpha), "max_iter": max_iter}
    shared = {"strength": _strength(graph, options)} if weighted else {}
    engine = options.get("engine", AUTO)
    by_block = engine == DESCENT
    freely = RunKeywords(**options).sends_changes(graph) and not (by_block and graph.num_parts == 1)
    if engine in UNCOUNTED and (what := _no_end(tol, alpha, dtype if freely else None)):
        refuse_uncounted(engine, f"it ends when ranks are within tol of the fixed point, and {what}")
    if several and engine not in UNCOUNTED:
        program = _single(SEVERAL[weighted]) if dtype == "float32" else SEVERAL[weighted]
        columns = _together(graph, jumps) | shared
        found = run(graph, program(**values, **limits, several=len(jumps)), columns=columns, **options)
    else:
        results = []
        for part, columns in enumerate(jumps):
            programs: Any = residuals.PROGRAMS if freely else BY_BLOCK if by_block else PROGRAMS
            program = programs[weighted, bool(columns)]
            program = _single(program) if dtype == "float32" else program
            how = for_part(options, part) if several else options
            if freely:
                results.append(residuals.ranks(graph, program, columns | shared, tol=tol or 0.0, **values, **how))
            else:
                results.append(run(graph, program(**values, **limits), columns=columns | shared, **how))
        longest = max(results, key=lambda result: result.rounds)
        found = results[0].map(_side_by_side, *results[1:]).after(longest) if several else longest
    if not freely:
        limit = limits["tol"] * found.totals.get("mass", 1.0)
        warn_unsettled(found, max_iter, found.totals["change"], limit, max_iter, tol)
    return found


def _no_end(tol: float | None, alpha: float, dtype: str | None) -> str:
    """Why ranks never come within `tol`, or numbers of this type cannot tell; "" if they do."""
    if not tol:
        return f"tol={tol!r} asks for a number of rounds"
    if alpha == 1:
        return "with alpha=1 no change ever fades"
    if dtype and tol < np.finfo(dtype).eps:
        return f"tol={tol!r} is less than ranks in {dtype} can tell: give at least {np.finfo(dtype).eps:.1e}"
    return ""


def _jumps(graph: Graph, personalization: Any, dangling: Any) -> dict[str, Any]:
    """The vertex columns `restart` and `spread`; none if both are uniform."""
    if not (dangling is None or isinstance(dangling, str)):
        spread: Any = _shares("dangling", dangling)
    elif dangling not in (None, "uniform", "personalization", "none"):
        wanted = '"uniform", "personalization", "none", or {vertex: weight}'
        raise OptionError(f"dangling={dangling!r} is not known; choose one of {wanted}")
    elif personalization is None:
        if dangling == "personalization":
            raise OptionError('dangling="personalization" needs one: give personalization={vertex: weight}')
        return {}
    else:
        spread = None
    n = graph.num_vertices
    uniform = np.full(n, 1 / n) if n else np.zeros(0)
    restart = uniform if personalization is None else _shares("personalization", personalization)
    if spread is None:
        spread = uniform if dangling == "uniform" else restart
    return {"restart": restart, "spread": spread}


def _together(graph: Graph, jumps: list[dict[str, Any]]) -> dict[str, Any]:
    """The vertex columns of several personalizations, as columns of vectors."""
    n = graph.num_vertices
    uniform = np.full(n, 1 / max(n, 1))
    together: dict[str, Any] = {}
    for name in ("restart", "spread"):
        columns = [one.get(name, uniform) for one in jumps]
        if all(isinstance(one, Mapping) for one in columns):
            named = dict.fromkeys(vertex for one in columns for vertex in one)
            together[name] = {vertex: [one.get(vertex, 0.0) for one in columns] for vertex in named}
            continue
        together[name] = np.zeros((n, len(columns)))
        for one, column in zip(columns, together[name].T, strict=True):
            if isinstance(one, Mapping):
                column[[graph.numbering.find(vertex) for vertex in one]] = list(one.values())
            else:
                column[:] = one
    return together


def _shares(name: str, given: Any) -> dict[Any, float]:
    """Weights of vertices as probabilities."""
    if (weights := by_vertex(name, given)) is None:
        raise OptionError(f"{name}={short(given)}: give {{vertex: weight}}, or the same as a Series or a frame")
    for vertex, weight in weights.items():
        if not is_number(weight):
            raise OptionError(f"{name}={short(weights)}: the weight of {vertex!r} is {weight!r}, which is no number")
    largest = max(weights.values(), default=0)
    if not (largest > 0 and all(0 <= weight < inf for weight in weights.values())):
        raise OptionError(f"{name}={short(weights)}: weights are finite and not negative, and one is above zero")
    shares = {vertex: weight / largest for vertex, weight in weights.items()}  # whose sum is a number, too
    total = sum(shares.values())
    return {vertex: share / total for vertex, share in shares.items()}


def _strength(graph: Graph, options: dict[str, Any]) -> Any:
    """The vertex column `strength`, left where it was computed."""
    same = {name: options[name] for name in ("engine", "device", "exchange", "deterministic") if name in options}
    if same.get("engine") in UNCOUNTED:  # a sum is no fixed point
        same["engine"] = "gas"
    found = run(graph, Strength(), **same)
    if not (found.totals["lowest"] >= 0 and found.totals["highest"] < inf):
        worst = found.totals["lowest"] if found.totals["lowest"] < 0 else found.totals["highest"]
        raise WeightError(
            f"column {graph.weight!r} holds weights, or sums of a vertex's, of {worst:g}: weighted PageRank needs "
            "finite weights of zero or more"
        )
    return found.column("strength")


@cache
def _single(program: Any) -> Any:
    """The same program with ranks and messages of 32 bits."""
    members: dict[str, Any] = {
        name: type(field)(np.float32, shape=field.shape)  # type: ignore[arg-type]
        for name, field in program.fields.items()
        if isinstance(field, State)
    }
    members["pagerank"] = Result(np.float32)(program.fields["pagerank"].function)
    if program.solver is not None:
        members["solver"] = replace(program.solver, solve=partial(program.solver.solve, dtype=np.float32))
    return type(f"{program.__name__}32", (program,), members)


def _side_by_side(numbers: np.ndarray, *values: dict[str, np.ndarray]) -> Any:
    """The columns `pagerank` of several results as vectors."""
    return numbers, {"pagerank": np.stack([one["pagerank"] for one in values], axis=1)}
