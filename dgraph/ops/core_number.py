"""Core numbers: the largest k for which a vertex is in the k-core; directions, self loops and repeated edges do not
count. By peeling, or in rounds by h-indices (Lü, Zhou, Zhang, Stanley, 2016)."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from numpy import int64

from dgraph.building.input_edges import EdgeRules
from dgraph.graph import Graph
from dgraph.programs.monoid import H_INDEX
from dgraph.programs.program import State, VertexProgram
from dgraph.runs.execution import run
from dgraph.runs.operation import operation
from dgraph.runs.result import RunResult
from dgraph.runs.run_keywords import RunKeywords
from dgraph.solvers.solver import PeelingMethod, Solver
from dgraph.solvers.subgraphs.cores import core_numbers

_simple: WeakKeyDictionary[Graph, Graph] = WeakKeyDictionary()


class CoreNumber(VertexProgram):
    """On a simple graph: over and over, the largest h such that h neighbours say h or more."""

    operation = "core_number"
    kind = "synchronous"
    solver = Solver(core_numbers, ("out", "incoming"), PeelingMethod("core"), looks=2)
    core = State(int64)
    merge = H_INDEX
    along = "both"

    def start(degree):
        return degree

    def send(core):
        return core

    def apply(core, message):
        return min(core, max(message, 0))


@operation
def core_number(graph: Graph, **options: Any) -> RunResult:
    """Core numbers: the column `core` is the largest k for which a vertex is in the k-core, where all have k neighbours
    or more. Directions, loops and repeats do not count. Options are those of `dgraph.run`."""
    program = CoreNumber()
    return run(graph_for_peeling(graph, program, options), program, **options)


def graph_for_peeling(graph: Graph, program: VertexProgram, options: dict[str, Any]) -> Graph:
    """The graph on which to run a program: solvers pass over what does not count, but programs need it removed."""
    return graph if RunKeywords(**options).uses_solver(graph, program) else simple_graph(graph)


def simple_graph(graph: Graph) -> Graph:
    """The same edges without directions, self loops and repeats; kept as long as the graph lives."""
    rules = EdgeRules(directed=False, loops="drop", repeats="first")
    if graph.listed.rules == rules:
        return graph
    if graph not in _simple:
        asked = graph.division.asked._replace(parts=graph.num_parts)
        _simple[graph] = Graph.of(graph.listed.copy_with(rules), asked)
    return _simple[graph]
