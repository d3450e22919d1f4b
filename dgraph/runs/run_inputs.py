"""What a run takes from a graph: columns of edges, partitions that hold these, parameters with vertices by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dgraph.errors import ColumnError
from dgraph.graph import Graph
from dgraph.plan import Plan
from dgraph.programs.analysis import Analysis
from dgraph.programs.program import Delta, Parameter, VertexProgram
from dgraph.runs.repartition import needs_neighbourhoods, neighbourhoods, will_turn


def edge_columns_of(graph: Graph, analysis: Analysis) -> dict[str, tuple[str, str]]:
    """For each edge column that the program reads: the graph's name of it, and the dtype that kernels want."""
    columns = {}
    for column in analysis.edge_columns:
        name = graph.weight if column.name == "weight" and graph.weight is not None else column.name
        if name not in graph.edge_columns:
            how = " (name the column of weights with weight= when the graph is made)"
            remedy = how if column.name == "weight" else ""
            has = ", ".join(map(repr, graph.edge_columns)) or "no columns"
            raise ColumnError(f"{analysis.title} reads the edge column {name!r}; the edges have {has}{remedy}")
        columns[column.name] = name, column.dtype.name
    return columns


def partitions_for(
    graph: Graph, analysis: Analysis, plan: Plan
) -> tuple[Sequence[Any], dict[str, tuple[str, str]], Plan]:
    """Partitions with what the program reads; cut anew if it merges whole neighbourhoods."""
    columns = edge_columns_of(graph, analysis)
    kept = tuple(name for name, _ in columns.values())
    if not plan.drop_weights and graph.weight is not None:
        kept = tuple(dict.fromkeys([*kept, graph.weight]))
    orders = plan.orders(analysis, graph.directed)
    anew, twice = needs_neighbourhoods(graph, analysis, gathers=plan.blocks is not None and plan.blocks.gathers)
    in_order = plan.switches.deterministic
    if not anew and not in_order:
        return graph.partitioned(orders, kept).held, columns, plan
    how = "to an incoming cut" + (" with every edge at both of its ends" if twice else "")
    how = "" if will_turn(graph, in_order=in_order) else how
    found = neighbourhoods(graph, kept, orders, twice=twice, in_order=in_order)
    return found, columns, replace(plan, switches=replace(plan.switches, whole=True, twice=twice), repartitioned=how)


def parameters_of(graph: Graph, program: VertexProgram) -> dict[str, Any]:
    """The values of a program's parameters, vertices by their number."""
    values = dict(program.values)
    for parameter in program.of(Parameter):
        if parameter.is_vertex:
            given = values[parameter.name]
            if parameter.shape is None:
                values[parameter.name] = graph.numbering.find(given)
            else:
                values[parameter.name] = np.array([graph.numbering.find(one) for one in given], np.int64)
    return values


def vertex_columns_of(analysis: Analysis) -> list[str]:
    """The columns of the answer that hold vertices."""
    if analysis.results:
        return [name for name, (field, _) in analysis.results.items() if field.is_vertex]
    return [state.name for state in analysis.states if state.is_vertex and not isinstance(state, Delta)]
