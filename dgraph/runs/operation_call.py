"""What a result answers, so that a later call can go on from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.runs.result import RunResult


@dataclass(frozen=True, eq=False)
class OperationCall:
    """What a result answers: an operation with arguments, of a graph that updates may change. `lowest` is a weight that
    no edge is below, if the operation reads weights."""

    operation: str
    arguments: Mapping[str, Any]
    version: object
    root: object  # the graph that updates started from
    lowest: float = 1.0

    @classmethod
    def of(cls, graph: PartitionedGraph, operation: str, arguments: Mapping[str, Any]) -> Self:
        edges = graph.input_edges
        return cls(operation, arguments, edges.version, edges.root)

    def answered_by(self, result: RunResult, why: str = "") -> RunResult:
        """The result, from which later calls can go on. `why` says why it did not go on from an earlier one."""
        result._answers = self
        if why:
            result._options["previous"] = f"computed anew: {why}"
        return result
