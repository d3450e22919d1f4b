"""Bounds: the best message of a round, where messages have an order. An inbox that holds it already gains nothing from
its edges, so a pull costs no more than the vertices that are still open (Beamer, Asanovic and Patterson, 2012)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.analysis import PhaseAnalysis
from dgraph.monoid import AND, MAX, MIN, OR
from dgraph.names import name_in, sent
from dgraph.program import Message


def falls(message: Message) -> bool | None:
    """Whether a message is better the smaller it is, or the larger; None if its merge takes no side."""
    logical = message.dtype.kind == "b"
    if message.merge is MIN or (logical and message.merge is AND):
        return True
    return False if message.merge is MAX or (logical and message.merge is OR) else None


def bounded(phase: PhaseAnalysis) -> bool:
    """Whether the best message of a round is known before it is sent: computed once a vertex, in an order."""
    return phase.hoisted and all(falls(m) is not None and m.shape is None for m in phase.messages)


def bound(phase: PhaseAnalysis, message: Message) -> str:
    """The kernels' name of a bound."""
    return f"{name_in(phase, 'best')}_{message.name}"


def bounds(phase: PhaseAnalysis, values: Mapping[str, Any], senders: np.ndarray) -> dict[str, Any]:
    """The best of what the senders send."""
    found = {}
    for message in phase.messages:
        some = values[sent(phase, message)][senders]
        best = some.min if falls(message) else some.max
        found[bound(phase, message)] = best(initial=message.identity)
    return found
