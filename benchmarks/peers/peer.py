"""The interface of all peers, and the reasons why a peer may not run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from peers.workloads import Workload


class NotRun(Exception):
    """A peer is absent, lacks the operation, or takes too long. Its row says so, and the others continue."""


class TooLong(NotRun):
    """The run was stopped after this many seconds, before it ended."""

    def __init__(self, seconds: float):
        super().__init__(f"not done after {seconds:g} s")
        self.seconds = seconds


class Lacks(NotRun):
    """A peer lacks the operation, so there is nothing to compare and no row."""


def noted(notes: Mapping[str, str], operation: str) -> str:
    """A peer's note on an operation; raises `Lacks` if the peer does not have it."""
    if operation not in notes:
        raise Lacks("has no such operation")
    return notes[operation]


@dataclass(frozen=True)
class Trial:
    """The seconds of the operation alone, its answer as columns for the verifier with matching options, and the peak
    bytes of the operation and its graph, beyond the edges in memory.

    Without columns, the peer does not return its answer and has verified it as well as it can."""

    seconds: float
    answer: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    memory: int | None = None


class Peer(Protocol):
    name: str
    warms_up: bool  # whether its first run is not representative, however long it takes

    def version(self) -> str:
        """The version that is measured; raises NotRun if the peer is absent."""

    def note(self, operation: str) -> str:
        """What the peer computes, and in which precision; raises NotRun if it lacks the operation."""

    def load(self, operation: str, workload: Workload) -> float | None:
        """Prepare the graph for an operation. Returns the seconds from edge arrays in memory, or None if that is not
        comparable."""

    def trial(self, operation: str, workload: Workload) -> Trial:
        """Run the operation once."""

    def release(self) -> None:
        """Release all graphs."""

    def close(self) -> None:
        """End the peer's processes."""
