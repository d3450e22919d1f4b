"""Runs that may never end: limits on how long they may last, and an earlier warning."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dgraph.engines.round_limits import Patience, has_bound, passes_best
from dgraph.errors import EndlessWarning
from dgraph.exchange.mail import Token
from dgraph.phrases.phrases import warn
from dgraph.plan import WITHOUT_COMMON_ROUNDS, Plan
from dgraph.programs.analysis import Analysis, analyse
from dgraph.programs.program import VertexProgram


def patience_for(program: VertexProgram, analysis: Analysis, plan: Plan, vertices: int) -> Patience | None:
    """How long a user's program may run. None if something bounds it, or if it is an operation, which is known to
    end."""
    if program.operation or plan.max_rounds is not None or has_bound(analyse(program).stop):
        return None
    in_rounds = plan.engine not in WITHOUT_COMMON_ROUNDS
    return Patience(analysis.title, vertices, in_rounds, in_rounds and passes_best(analysis))


class Watch:
    """Warns once about a run in rounds that may never end. A run without rounds offers no moment to check it."""

    def __init__(self, patience: Patience | None):
        self.patience, self.begun = patience, time.monotonic()

    def after_chunk(self, tokens: Sequence[Token]) -> None:
        """Called with the tokens of all workers after each chunk of steps."""
        if self.patience is None:
            return
        rounds = max(token.values["round"] for token in tokens)
        if self.patience.doubts(rounds, time.monotonic() - self.begun):
            warn(f"{self.patience.doubt(rounds)}. {self.patience.remedy}", EndlessWarning)
            self.patience = None
