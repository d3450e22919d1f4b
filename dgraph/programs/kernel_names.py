"""The names of a program's fields and messages in kernels.

Their prefixes are unique in a kernel, so a field may have any name that `VertexProgram` itself does not use.

    field_dist      a declared field: a state, column, parameter or global value
    before_rank     a state before the round
    inbox_message   merged messages; `sent_message` is what vertices send, `best_message` the best of a round
    send, apply     functions; in a phase Propose `send_propose`, with `inbox_propose_message`
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from dgraph.programs.monoid import Merge

FIELD = "field_"
ORDINAL = "ordinal"  # the array that distinguishes edges between the same two vertices
FUNCTIONS = ("start", "seed", "send", "apply", "stop")


class HasName(Protocol):
    """A field or a phase. If a program declares no phases, its only phase has an empty name."""

    @property
    def name(self) -> str: ...


def field_name(name: str) -> str:
    """The name of a declared field in kernels, where it is an array or a number."""
    return FIELD + name


def before_name(name: str) -> str:
    """The name of the copy of a state from before the round."""
    return f"before_{name}"


def by_name(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields among the arguments of kernels, by their names in the program."""
    return {name.removeprefix(FIELD): value for name, value in values.items() if name.startswith(FIELD)}


def phase_name(phase: HasName, name: str) -> str:
    """The name of a phase's function or kernel, followed by the phase's name if it has one."""
    return f"{name}_{phase.name}" if phase.name else name


def inbox_name(phase: HasName, message: HasName) -> str:
    """The name of the array of merged messages."""
    return f"{phase_name(phase, 'inbox')}_{message.name}"


def sent_name(phase: HasName, message: HasName) -> str:
    """The name of the array of messages that vertices send, if these are the same along all edges."""
    return f"{phase_name(phase, 'sent')}_{message.name}"


def incoming_name(array: str) -> str:
    """The name of messages from another partition for an inbox."""
    return f"incoming_{array}"


def merge_name(merge: Merge) -> str:
    """The name of a merge's function."""
    return f"merge_{merge.name.lower()}"
