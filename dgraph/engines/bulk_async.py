"""Bulk-asynchronous order (Gluon-Async, Dathathri et al. 2019): a partition takes local rounds at its own pace and
never waits for the others. It sends changes in bulk, and merges mail whenever it arrives."""

from __future__ import annotations

from dgraph.engines.free_rounds import FreeRounds
from dgraph.engines.rounds import Rounds, Superstep
from dgraph.vertex_state.local_state import LocalState


def bulk_async(rounds: Rounds, local_rounds: int | None) -> Superstep:
    """Run to the end in one superstep, in which workers synchronise only to detect termination. A run that restarts
    from better numbers (`FreeRounds.begin_next_stage`) takes several. For `local_rounds`, see `FreeRounds`."""
    yield from rounds.begin()
    state, goes_on = rounds.states[0], True
    free_rounds = state.free_rounds if isinstance(state, LocalState) else FreeRounds
    while goes_on:
        free = free_rounds(rounds, local_rounds)
        free.to_the_end()
        yield from rounds.finish()
        goes_on = free.begin_next_stage()
