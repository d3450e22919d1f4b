"""Going on from an earlier answer, or refusing it."""

from __future__ import annotations

from typing import Any

from dgraph.arguments import shown
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.errors import OptionError
from dgraph.programs.program import VertexProgram
from dgraph.runs.operation_call import OperationCall
from dgraph.runs.plan import uses_solver
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions

LEAVE_OUT = "leave it out to compute the whole"


def go_on(
    graph: PartitionedGraph, call: OperationCall, previous: Any, program: VertexProgram, options: RunOptions
) -> tuple[RunResult | None, str]:
    """The answer that an earlier one leads to; or the reason why the whole has to be computed, which is empty if there
    is no earlier one."""
    if previous is None:
        return None, ""
    _check(call, previous)
    if graph.client is not None:
        return None, "the graph is on a cluster"
    if not uses_solver(graph, program, options):
        return None, "the graph has several partitions, or an option asks for rounds"
    from dgraph.runs.repairs import repaired  # kernels that few calls need

    result = repaired(graph, call, previous, options)
    if isinstance(result, str):
        return None, result
    return result, ""


def refuse_with(option: str, value: Any, previous: Any) -> None:
    """Refuse an earlier result together with an option that leaves out values."""
    if previous is not None:
        raise OptionError(f"previous= and {shown(option, value)} are mutually exclusive; leave one out")


def _check(call: OperationCall, previous: Any) -> None:
    """Refuse an earlier result that answers something else."""
    name = call.operation
    if not isinstance(previous, RunResult):
        raise OptionError(f"previous={type(previous).__name__} must be an earlier result of dg.{name}; {LEAVE_OUT}")
    earlier: OperationCall | None = previous._answers
    if earlier is None or earlier.operation != name:
        of = "a result that was saved or made from others" if earlier is None else f"a result of dg.{earlier.operation}"
        raise OptionError(f"previous= is {of}; expected a result of dg.{name} from this process; {LEAVE_OUT}")
    for argument, value in call.arguments.items():
        if (before := earlier.arguments[argument]) != value:
            said = [shown(argument, _plain(one)) for one in (before, value)]
            raise OptionError(f"previous= was found with {said[0]}, and this call has {said[1]}; {LEAVE_OUT}")
    if earlier.root is not call.root:
        raise OptionError(
            f"previous= is a result for another graph, from which G.updated() has not made this one; {LEAVE_OUT}"
        )


def _plain(value: Any) -> Any:
    """An argument as users write it."""
    if not isinstance(value, frozenset):
        return value
    listed = list(value)
    return listed[0] if len(listed) == 1 else listed
