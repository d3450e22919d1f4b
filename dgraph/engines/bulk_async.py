"""Bulk-asynchronous order (Gluon-Async, Dathathri et al. 2019): a partition takes local rounds at its own pace and
waits for nobody. Mail is sent in bulk, only when there is any, and merged in whenever it comes."""

from __future__ import annotations

from dgraph.engines.free_rounds import FreeRounds
from dgraph.engines.free_settling import FreeContracting, FreeDiffusing, FreeSettling
from dgraph.engines.rounds import Rounds, Superstep
from dgraph.states.contracting import Contracting
from dgraph.states.diffusing import Diffusing
from dgraph.states.settling import Settling
from dgraph.states.state import State

WAYS: dict[type[State], type[FreeRounds]] = {
    State: FreeRounds,
    Settling: FreeSettling,
    Contracting: FreeContracting,
    Diffusing: FreeDiffusing,
}


def bulk_async(rounds: Rounds, local_rounds: int | None = None) -> Superstep:
    """All of it is one superstep, in which workers tell each other only of the end; or a few, where they begin anew
    from better numbers. A partition takes so many steps before others hear of it; None: as many as suit the program."""
    yield from rounds.begin()
    goes_on = True
    while goes_on:
        free = WAYS[type(rounds.states[0])](rounds, local_rounds)
        free.to_the_end()
        yield from rounds.finish()
        goes_on = free.again()
