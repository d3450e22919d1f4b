"""Finishes a run of very many rounds on one worker, with the program's own solver. The solver may need no rounds, and a
round of a small graph takes less time than an exchange. On a long path with randomly placed vertices, every other edge
leads to another partition, and each of these edges costs a round of all workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from dgraph.arguments import AUTO
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.errors import RoomError
from dgraph.estimates.footprints import footprint_of
from dgraph.estimates.memory_check import check_build_memory
from dgraph.exchange.mail import Token
from dgraph.partition.policies import PartitionOptions
from dgraph.programs.analysis import analyse
from dgraph.programs.program import VertexProgram
from dgraph.runs.choice import could_use_solver
from dgraph.runs.result import RunResult
from dgraph.runs.result_column import ResultColumn
from dgraph.runs.run_options import RunOptions
from dgraph.runs.solver_run import solve
from dgraph.supersteps.steps import is_done

# A run is gathered after FEWEST_STEPS steps, and one more for every EDGES_A_STEP edges, or after each worker has read
# all edges MOST_LOOKS times, since gathering takes about as long. On a graph that was gathered before, it takes
# FEWER_ONCE_DONE times fewer steps; a program that was gathered before takes none.
FEWEST_STEPS, EDGES_A_STEP, MOST_LOOKS, FEWER_ONCE_DONE = 40, 1 << 16, 8, 4
SMALL_GRAPH = 1 << 21  # edges that a thread reads in less time than an almost empty step takes

_one_partition_graphs: WeakKeyDictionary[PartitionedGraph, PartitionedGraph] = WeakKeyDictionary()
_programs_of_many_rounds: WeakKeyDictionary[PartitionedGraph, set[type[VertexProgram]]] = WeakKeyDictionary()


class OneWorkerFinish:
    """Decides whether and when a run is gathered on one worker."""

    def __init__(
        self, graph: PartitionedGraph, program: VertexProgram, options: RunOptions, columns: Mapping[str, Any]
    ):
        self.graph, self.program, self.options, self.columns = graph, program, options, columns
        reads_results = any(isinstance(column, ResultColumn) for column in columns.values())
        analysis = analyse(program)
        as_many_rounds = analysis.synchronous and analysis.stop is not None  # whether one worker takes as many rounds
        small = graph.input_edges.num_arcs <= SMALL_GRAPH * graph.workers.threads
        open_to_it = options.engine == AUTO and could_use_solver(graph, program, options)
        self.allowed = (small or not as_many_rounds) and open_to_it and not reads_results

    @property
    def was_due(self) -> bool:
        """Whether an earlier run of the same program was gathered."""
        return self.allowed and type(self.program) in _programs_of_many_rounds.get(self.graph, ())

    def look(self, steps: int, tokens: Sequence[Token]) -> int | None:
        """Called between steps. Returns the number of steps after which to call it again at the latest; 0 if the run
        should stop here and start again on one worker; None if that will not happen."""
        arcs, edges_read = self.graph.input_edges.num_arcs, sum(token.values["edges"] for token in tokens)
        left = (FEWEST_STEPS + arcs // EDGES_A_STEP) // (
            FEWER_ONCE_DONE if self.graph in _one_partition_graphs else 1
        ) - steps
        endless = left <= 0 or edges_read > MOST_LOOKS * len(tokens) * arcs
        if self.allowed and endless and not is_done(tokens):
            try:
                orders = self.program.solver.orders if self.graph.directed else ("out",)
                check_build_memory(
                    as_one_partition(self.graph), "bringing the graph together", footprint_of(orders, ())
                )
            except RoomError:
                self.allowed = False
            else:
                _programs_of_many_rounds.setdefault(self.graph, set()).add(type(self.program))
                return 0
        return max(left, 1) if self.allowed else None

    def solve(self) -> RunResult:
        """The result, computed on one worker. If that worker is lost, the run starts again."""
        result = solve(as_one_partition(self.graph), self.program, self.columns, self.options.random_seed)
        result.report.options["gathered"] = "on one worker, after many rounds"
        return result


def as_one_partition(graph: PartitionedGraph) -> PartitionedGraph:
    """The same graph as one partition, which is cached as long as the graph lives."""
    if graph.num_parts == 1:  # the values of a gathered run are being recomputed
        return graph
    if graph not in _one_partition_graphs:
        _one_partition_graphs[graph] = PartitionedGraph(graph.input_edges.anew(), PartitionOptions(parts=1))
    return _one_partition_graphs[graph]
