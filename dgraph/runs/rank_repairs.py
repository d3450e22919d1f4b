"""Ranks that go on from earlier ones: the same rounds as in a new run, fewer of them, and without merging what changed
into the rows of the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.changes.changed_terms import NO_ROWS, ChangedTerms, terms_since
from dgraph.native.team import worthwhile_threads
from dgraph.native.threads import cores
from dgraph.partition.adjacency import Adjacency
from dgraph.partition.partition import Partition
from dgraph.programs.analysis import analyse, parameter_values
from dgraph.programs.program import VertexProgram
from dgraph.runs.earlier_answer import EarlierAnswer, Repair
from dgraph.runs.plan import solver_orders
from dgraph.runs.result import RunResult
from dgraph.solvers.ranks.gather import Terms, layout_of, table_of
from dgraph.solvers.ranks.nearby_ranks import ranks_from
from dgraph.solvers.solver import Problem
from dgraph.tables.edge_tables import EdgeTables, cached_on, weight_sums

NO_LIMIT = "tol=0 asks for a number of rounds from the start"
ANY_ANSWER = "with alpha=1 there may be several answers"
BAD_WEIGHTS = "some weights that were added are negative or not finite"
UNSETTLED = "from the earlier ranks, more than max_iter iterations would be needed"
RunFrom: TypeAlias = Callable[[np.ndarray], RunResult]  # runs PageRank from known ranks
NO_TERMS = ChangedTerms(NO_ROWS, NO_ROWS, np.empty(0))


def repaired_ranks(
    graph: PartitionedGraph, earlier: EarlierAnswer, program: VertexProgram, columns: Mapping[str, np.ndarray]
) -> Repair | str:
    """PageRank from earlier ranks, in the only partition of this process."""
    analysis = analyse(program)
    values: dict[str, Any] = parameter_values(program, graph.numbering.find)
    if why := why_not(values):
        return why
    names = graph.columns_for(analysis)
    weight = names["weight"][0] if "weight" in names else None
    partition, terms = _rows(graph, program, weight)
    n, threads = graph.num_vertices, graph.workers.kernel_threads(1) or cores()
    work = program.solver.reads_per_edge * (partition.num_owned + partition.num_edges)
    edges = EdgeTables(partition, graph.directed, names, worthwhile_threads(threads, work))
    problem = Problem(edges, values, dict(columns), edges.threads)
    layout = layout_of(problem)
    if len(terms.rows) or n > len(layout.rows):
        layout = layout.with_terms(n, Terms(*terms))
    if weight is not None:
        strength = _strength(problem, terms, n)
        if not np.isfinite(strength).all() or (terms.factors < 0).any():
            return BAD_WEIGHTS
        problem.columns["strength"] = strength
    known = known_ranks(earlier, n, evenly=not columns)
    changed = np.unique(np.concatenate([*earlier.touched.ends, earlier.touched.vertices]))
    dtype = program.fields["rank"].dtype
    stuck = earlier.result.totals.get("dangling")
    found = ranks_from(layout, problem, dtype, known, stuck, changed, both_ways=not graph.directed)
    if not found.totals["change"] < values["tol"]:
        return UNSETTLED
    found.values["pagerank"] = np.maximum(found.values["pagerank"], 0)  # edges that went are subtracted
    return Repair(found.values, n * found.rounds, found.edges, rounds=found.rounds, totals=found.totals)


def why_not(values: Mapping[str, Any]) -> str:
    """Why ranks with these parameters do not go on; "" if they do."""
    if not values["tol"] > 0:
        return NO_LIMIT
    return ANY_ANSWER if values["alpha"] == 1 else ""


def ranks_in_rounds(
    graph: PartitionedGraph, earlier: EarlierAnswer, program: VertexProgram, run_from: RunFrom, *, evenly: bool
) -> RunResult | str:
    """PageRank from earlier ranks, in several partitions or on a cluster: in fewer rounds than from the start."""
    values = parameter_values(program, graph.numbering.find)
    if why := why_not(values):
        return why
    result = run_from(known_ranks(earlier, graph.num_vertices, evenly=evenly))
    return result if result.totals["change"] < values["tol"] else UNSETTLED


def known_ranks(earlier: EarlierAnswer, size: int, *, evenly: bool) -> np.ndarray:
    """The earlier ranks of so many vertices; `evenly` says that jumps lead to all, so also to new ones."""
    scale = len(earlier.numbers) / size if earlier.numbers is not None and evenly else 1.0
    return earlier.column("pagerank", lambda _: 1 / size / scale if evenly else 0.0) * scale


def _rows(graph: PartitionedGraph, program: VertexProgram, weight: str | None) -> tuple[Partition, ChangedTerms]:
    """The partition of the graph; or the one that it had before some updates, and what these changed."""
    (order,) = orders = solver_orders(graph, program.solver)
    names, history = (() if weight is None else (weight,)), graph.input_edges.history
    if graph.built is None and history is not None:
        terms, base = terms_since(history, weight, graph.input_edges.rules.skip_loops), history.base.partition
        table = getattr(base, order) if base is not None else None
        if terms is not None and base is not None and table is not None and table.columns.keys() >= set(names):
            return base, terms
    return graph.partitioned(orders, names)[0], NO_TERMS


def _strength(problem: Problem, terms: ChangedTerms, size: int) -> np.ndarray:
    """The sum of the weights of each vertex's out-edges."""
    table: Adjacency = table_of(problem, "out")
    weights, old = problem.edges.column(table, "weight"), problem.vertices

    def summed() -> np.ndarray:
        return weight_sums(table.neighbours, old, weights)

    out = np.concatenate(
        [cached_on(table, ("strength", problem.edges.columns["weight"]), summed), np.zeros(size - old)]
    )
    np.add.at(out, terms.senders, terms.factors)
    return out
