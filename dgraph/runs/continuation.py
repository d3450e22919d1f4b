"""Going on from an earlier answer, or refusing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np

from dgraph.arguments import AUTO, shown
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.devices.probe import CPU
from dgraph.errors import OptionError
from dgraph.programs.program import VertexProgram
from dgraph.runs.operation_call import OperationCall
from dgraph.runs.plan import could_use_solver, device_on, uses_solver
from dgraph.runs.result import RunResult
from dgraph.runs.run_options import RunOptions

MOST_SHOWN = 4  # sources
LEAVE_OUT = "leave it out to compute the whole"


def go_on(
    graph: PartitionedGraph,
    call: OperationCall,
    previous: Any,
    program: VertexProgram | None,
    options: RunOptions,
    columns: Mapping[str, np.ndarray] = MappingProxyType({}),
    run_from: Callable[[np.ndarray], RunResult] | None = None,
) -> tuple[RunResult | None, str]:
    """The answer that an earlier one leads to; or the reason why the whole has to be computed, which is empty if there
    is no earlier one. `program` is None if none runs, and the options were checked. `columns` are the vertex columns
    that it reads, by number; `run_from` runs PageRank in rounds, from known ranks by number."""
    if previous is None:
        return None, ""
    _check(call, previous)
    if program is not None and not _suits(graph, program, options):
        return None, "an option asks for rounds, or for a GPU (experimental)"
    from dgraph.runs.repairs import repaired  # kernels that few calls need

    result = repaired(graph, call, previous, program, options, columns, run_from)
    if isinstance(result, str):
        return None, result
    return result, ""


def _suits(graph: PartitionedGraph, program: VertexProgram, options: RunOptions) -> bool:
    """Whether options leave open that no rounds are run."""
    if graph.num_parts == 1:
        return uses_solver(graph, program, options)
    return options.engine == AUTO and could_use_solver(program, options) and device_on(graph, options) == CPU


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
    if earlier is None:
        raise OptionError(
            f"previous= is not a whole result of dg.{name}; results of other operations, of calls with target=, "
            f"per_source=True or predecessors=False, and those made from results do not have all that is needed; "
            f"{LEAVE_OUT}"
        )
    if earlier.operation != name:
        raise OptionError(f"previous= is a result of dg.{earlier.operation}; expected one of dg.{name}; {LEAVE_OUT}")
    for argument, value in call.arguments.items():
        if (before := earlier.arguments.get(argument)) != value:
            said = [_said(argument, one) for one in (before, value)]
            raise OptionError(f"previous= was found with {said[0]}, and this call has {said[1]}; {LEAVE_OUT}")
    if earlier.root is not call.root:
        raise OptionError(
            f"previous= is a result for another graph, from which G.updated() has not made this one; {LEAVE_OUT}"
        )


def _said(argument: str, value: Any) -> str:
    """An argument as users write it; of many items, a few."""
    if not isinstance(value, frozenset):
        return shown(argument, value)
    few = list(islice(value, MOST_SHOWN))
    more = f" and {len(value) - len(few):,} more" if len(value) > len(few) else ""
    return shown(argument, few if len(value) > 1 else few[0]) + more
