"""What the benchmark knows of any peer, and why one may have nothing to say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from peers.workloads import Workload


class NotRun(Exception):
    """A peer is absent, cannot do this, or takes too long: its row says so, and the others go on."""


class TooLong(NotRun):
    """Given up after so many seconds, which are less than it takes."""

    def __init__(self, seconds: float):
        super().__init__(f"not done after {seconds:g} s")
        self.seconds = seconds


class Lacks(NotRun):
    """A peer that has no such operation: nothing to compare, so no row."""


def noted(notes: Mapping[str, str], operation: str) -> str:
    """What a peer's notes say of an operation that it may not have."""
    if operation not in notes:
        raise Lacks("has no such operation")
    return notes[operation]


@dataclass(frozen=True)
class Trial:
    """Seconds of the operation alone, and its answer: columns for the verifier, with the options that fit them; bytes
    that it and its graph take at the most, beyond the edges in memory.

    Without columns, the peer keeps its answer to itself and has verified it as well as it can."""

    seconds: float
    answer: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    memory: int | None = None


class Peer(Protocol):
    name: str
    warms_up: bool  # whether its first run says little, however long it takes

    def version(self) -> str:
        """What is being measured; raises NotRun where it is absent."""

    def note(self, operation: str) -> str:
        """What it computes, and in which precision; raises NotRun where it has no such operation."""

    def load(self, operation: str, workload: Workload) -> float | None:
        """Make the graph ready for an operation: seconds from edge arrays in memory, None if that is not comparable."""

    def trial(self, operation: str, workload: Workload) -> Trial:
        """Run it once."""

    def release(self) -> None:
        """Let go of all graphs."""

    def close(self) -> None:
        """End its processes."""
