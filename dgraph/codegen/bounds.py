"""Bounds, where messages have an order: the best message of a round. An inbox that holds it gains nothing more from its
edges, so a pull costs no more than the vertices that do not hold it yet (Beamer, Asanovic and Patterson, 2012)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import name_in, sent
from dgraph.programs.monoid import AND, MAX, MIN, OR
from dgraph.programs.program import Message


def falls(message: Message) -> bool | None:
    """True if the smaller of two messages is better, False if the larger; None if their merge has no order."""
    logical = message.dtype.kind == "b"
    if message.merge is MIN or (logical and message.merge is AND):
        return True
    return False if message.merge is MAX or (logical and message.merge is OR) else None


def bounded(phase: PhaseAnalysis) -> bool:
    """Whether the best message of a round is known before it is sent: it has an order, and is computed once a
    vertex."""
    return phase.hoisted and all(falls(m) is not None and m.shape is None for m in phase.messages)


def bound(phase: PhaseAnalysis, message: Message) -> str:
    """The name of a bound in kernels."""
    return f"{name_in(phase, 'best')}_{message.name}"


def best(message: Message) -> Any:
    """The best message that there could be, where messages have an order: a bound where nobody knows a better one."""
    return message.dtype.type((MAX if falls(message) else MIN).identity(message.dtype))


def bounds(phase: PhaseAnalysis, values: Mapping[str, Any], senders: np.ndarray) -> dict[str, Any]:
    """The best of what the senders send."""
    found = {}
    for message in phase.messages:
        some = values[sent(phase, message)][senders]
        best = some.min if falls(message) else some.max
        found[bound(phase, message)] = best(initial=message.identity)
    return found
