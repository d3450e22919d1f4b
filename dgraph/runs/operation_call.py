"""What a result answers, so that a later call can go on from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from uuid import UUID

from dgraph.arguments import to_python
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

    def described(self) -> dict[str, Any] | None:
        """The call as JSON, without the graph, for `of_description`; None if an argument cannot be told."""
        try:
            arguments = {name: _told(value) for name, value in self.arguments.items()}
        except TypeError:
            return None
        return {"operation": self.operation, "arguments": arguments, "lowest": float(self.lowest)}

    @classmethod
    def of_description(cls, graph: PartitionedGraph, said: Mapping[str, Any]) -> Self:
        """The call that `described` has told. Raises a ValueError or the like if it is not one."""
        arguments = {str(name): _meant(value) for name, value in said["arguments"].items()}
        return replace(cls.of(graph, str(said["operation"]), arguments), lowest=float(said["lowest"]))

    def answered_by(self, result: RunResult, why: str = "") -> RunResult:
        """The result, from which later calls can go on. `why` says why it did not go on from an earlier one."""
        result._answers = self
        if why:
            result._options["previous"] = f"computed anew: {why}"
        return result


def _told(value: Any) -> Any:
    """An argument as JSON. Raises a TypeError if that is not possible."""
    if isinstance(value, frozenset):
        return {"set": [_told(one) for one in sorted(value)]}
    if isinstance(value, Mapping):
        return {"shares": [[_told(one), float(share)] for one, share in value.items()]}
    value = to_python(value)
    if isinstance(value, UUID):
        return {"uuid": str(value)}
    if not isinstance(value, str | int | float | None):
        raise TypeError(value)
    return value


def _meant(said: Any) -> Any:
    """The argument that `_told` has told."""
    if not isinstance(said, dict):
        return said
    if "shares" in said:
        return {_meant(one): float(share) for one, share in said["shares"]}
    return UUID(said["uuid"]) if "uuid" in said else frozenset(map(_meant, said["set"]))
