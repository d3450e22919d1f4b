"""Bounds: the best message of a round, where messages are ordered. An inbox that holds the bound cannot improve, so a
pull visits only the vertices that do not hold it yet (Beamer, Asanovic and Patterson, 2012)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import phase_name, sent_name
from dgraph.programs.monoid import AND, MAX, MIN, OR
from dgraph.programs.program import Message


def smaller_wins(message: Message) -> bool | None:
    """True if the smaller of two messages wins, False if the larger does, None if their merge is not an order."""
    logical = message.dtype.kind == "b"
    if message.merge is MIN or (logical and message.merge is AND):
        return True
    return False if message.merge is MAX or (logical and message.merge is OR) else None


def is_bounded(phase: PhaseAnalysis) -> bool:
    """Whether the best message of a round is known before messages are sent, which requires messages to be ordered
    scalars, computed once per vertex."""
    return phase.hoisted and all(smaller_wins(m) is not None and m.shape is None for m in phase.messages)


def bound_name(phase: PhaseAnalysis, message: Message) -> str:
    """The name of the bound in kernels."""
    return f"{phase_name(phase, 'best')}_{message.name}"


def best_possible(message: Message) -> Any:
    """The best possible value of an ordered message, which serves as the bound if no tighter one is known."""
    return message.dtype.type((MAX if smaller_wins(message) else MIN).identity(message.dtype))


def compute_bounds(phase: PhaseAnalysis, values: Mapping[str, Any], senders: np.ndarray) -> dict[str, Any]:
    """The best message among these senders, keyed by the names of the bounds."""
    result = {}
    for message in phase.messages:
        some = values[sent_name(phase, message)][senders]
        best = some.min if smaller_wins(message) else some.max
        result[bound_name(phase, message)] = best(initial=message.identity)
    return result
