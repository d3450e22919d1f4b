"""A run of very many rounds ends on one worker, where the program's own solver needs none, or where a round of a small
graph takes less than an exchange. On a long path whose vertices lie anywhere, every other edge leads to another
partition, and each of these takes a round of all workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

from dgraph.errors import RoomError, RunError
from dgraph.estimates.footprints import footprint_of
from dgraph.estimates.memory_check import check_build_memory
from dgraph.exchange.mail import Token
from dgraph.graph import Graph
from dgraph.options import AUTO
from dgraph.partition.policies import PartitionOptions
from dgraph.plan import LOCAL, Plan
from dgraph.programs.analysis import analyse
from dgraph.programs.program import VertexProgram
from dgraph.runs.result import ResultColumn, RunResult
from dgraph.runs.run_keywords import RunKeywords
from dgraph.runs.solver_run import solve
from dgraph.supersteps.steps import is_done

# A run goes on by itself for so many steps, and one more for every so many edges; and for so many looks of each worker
# at all edges. Bringing the graph together takes about as long. Where that has been done, a run takes fewer steps, and
# one of the same program none.
STEPS, EDGES, LOOKS, DONE = 40, 1 << 16, 8, 4
SMALL = 1 << 21  # edges that a thread looks at in less time than a step takes, however little is to be done in it

_whole: WeakKeyDictionary[Graph, Graph] = WeakKeyDictionary()
_endless: WeakKeyDictionary[Graph, set[type[VertexProgram]]] = WeakKeyDictionary()


class OneWorkerFinish:
    """Decides whether and when a run ends on one worker."""

    def __init__(self, graph: Graph, program: VertexProgram, asked: RunKeywords, plan: Plan):
        self.graph, self.program, self.plan, self.columns = graph, program, plan, asked.columns or {}
        elsewhere = any(isinstance(column, ResultColumn) for column in self.columns.values())
        analysis = analyse(program)
        as_many = analysis.synchronous and analysis.stop is not None  # rounds on one worker
        small = graph.listed.num_arcs <= SMALL * graph.workers.threads
        asks_for_parts = asked.engine != AUTO or asked.rebalance or elsewhere
        self.due = False
        self.may = (small or not as_many) and not asks_for_parts and asked.could_use_solver(graph, program)

    @property
    def was_due(self) -> bool:
        """Whether a run of the same program has ended so."""
        return self.may and type(self.program) in _endless.get(self.graph, ())

    def look(self, steps: int, tokens: Sequence[Token]) -> int | None:
        """Called between steps: stops the run by an error, and sets `due`, when that pays. Returns after how many steps
        it wants to be called again, at the latest."""
        arcs, looked = self.graph.listed.num_arcs, sum(token.values["edges"] for token in tokens)
        left = (STEPS + arcs // EDGES) // (DONE if self.graph in _whole else 1) - steps
        endless = left <= 0 or looked > LOOKS * len(tokens) * arcs
        if self.may and endless and not is_done(tokens):
            try:
                orders = self.program.solver.orders if self.graph.directed else ("out",)
                check_build_memory(
                    as_one_partition(self.graph), "bringing the graph together", footprint_of(orders, ())
                )
            except RoomError:
                self.may = False
            else:
                self.due = True
                _endless.setdefault(self.graph, set()).add(type(self.program))
                raise RunError("the run goes on from the start, on one worker")
        return left if self.may else None

    def solve(self) -> RunResult:
        """The result, from the whole graph on one worker. If that worker is lost, the run begins again."""
        found = solve(as_one_partition(self.graph), self.program, replace(self.plan, engine=LOCAL), self.columns)
        found.report.options["gathered"] = "on one worker, after many rounds"
        return found


def as_one_partition(graph: Graph) -> Graph:
    """The same graph as one partition; kept as long as the graph lives."""
    if graph.num_parts == 1:  # it is one already: the values of a run that was gathered are found again
        return graph
    if graph not in _whole:
        _whole[graph] = Graph.of(graph.listed.copy_with(), PartitionOptions(parts=1))
    return _whole[graph]
