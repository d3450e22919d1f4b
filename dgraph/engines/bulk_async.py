"""Bulk-asynchronous order (Gluon-Async, Dathathri et al. 2019): a partition takes local rounds at its own pace and
waits for nobody. It sends in bulk, when it has something to tell, and merges mail whenever it comes."""

from __future__ import annotations

from dgraph.engines.free_rounds import FreeRounds
from dgraph.engines.local_methods.contraction import ContractionState
from dgraph.engines.local_methods.diffusion import DiffusionState
from dgraph.engines.local_methods.free_local_rounds import FreeContractionRounds, FreeDiffusionRounds, FreeLocalRounds
from dgraph.engines.local_methods.settlement import SettlementState
from dgraph.engines.rounds import Rounds, Superstep
from dgraph.vertex_state.partition_state import PartitionState

WAYS: dict[type[PartitionState], type[FreeRounds]] = {
    PartitionState: FreeRounds,
    SettlementState: FreeLocalRounds,
    ContractionState: FreeContractionRounds,
    DiffusionState: FreeDiffusionRounds,
}


def bulk_async(rounds: Rounds, local_rounds: int | None) -> Superstep:
    """Run to the end: one superstep, in which workers meet only to find the end; several, where a run begins anew from
    better numbers (`FreeRounds.again`). `local_rounds`: see `FreeRounds`."""
    yield from rounds.begin()
    goes_on = True
    while goes_on:
        free = WAYS[type(rounds.states[0])](rounds, local_rounds)
        free.to_the_end()
        yield from rounds.finish()
        goes_on = free.again()
