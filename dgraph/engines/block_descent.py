"""Block coordinate descent (GraphABCD, Yang et al. 2020): each iteration updates one block of vertices from the newest
values of all others. Each partition has a queue that determines the next block; changes that concern other partitions
travel in bulk."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from dgraph.engines.bsp import bsp
from dgraph.engines.descent.block_options import BlockOptions
from dgraph.engines.descent.descent_state import DescentState
from dgraph.engines.free_rounds import FreeRounds
from dgraph.engines.rounds import Rounds, Superstep
from dgraph.vertex_state.partition_state import PartitionState


def block_descent(rounds: Rounds, blocks: BlockOptions) -> Superstep:
    """Run to the end. Where changes merge in any order (`blocks.free`), partitions never wait, and termination is
    detected as in `bulk_async`; otherwise they wait for each other after every epoch."""
    if blocks.mode == "bsp":  # every round updates all blocks from the values of the round before
        yield from bsp(rounds)
        return
    yield from rounds.begin()
    senders, _ = rounds.sides(rounds.phase)
    resumed = rounds.round > 0
    descents = [DescentState(state, rounds.phase, blocks, senders, resumed) for state in rounds.states]
    rounds.seeded = False  # the descent states have taken in the messages of the seed
    if blocks.free:
        FreeDescentRounds(rounds, descents).to_the_end()
    else:
        yield from _together(rounds, descents)
    yield from rounds.finish()


class FreeDescentRounds(FreeRounds):
    """Local rounds without a common clock, each of which is an epoch of the partition's blocks."""

    def __init__(self, rounds: Rounds, descents: Sequence[DescentState]):
        self.descents = {descent.state.partition.index: descent for descent in descents}
        super().__init__(rounds)

    def waiting(self, state: PartitionState) -> int:
        return self._of(state).waiting

    def hear(self, state: PartitionState) -> None:
        self._of(state).hear(self.senders, self.targets)

    def advance(self, state: PartitionState) -> int:
        self.exchange.check()
        descent = self._of(state)
        descent.epoch(1)
        descent.tell(self.senders, self.targets)
        return 1

    def pass_on(self, state: PartitionState) -> None:
        self._of(state).tell(self.senders, self.targets, everything=True)

    def fire(self, state: PartitionState) -> None:
        """Prepare for a checkpoint. No vertex fires; `DescentState.halt` lists the vertices with a waiting message."""
        self._of(state).halt()

    def send(self, state: PartitionState) -> None:
        """Do nothing, because vertices that have something to send wait in the queue."""

    def columns(self, state: PartitionState) -> dict:
        return self._of(state).columns()

    def _of(self, state: PartitionState) -> DescentState:
        return self.descents[state.partition.index]


def _together(rounds: Rounds, descents: Sequence[DescentState]) -> Superstep:
    """Run epochs, each as much work as one pass over all edges, after which partitions wait for each other. A
    synchronous program decides after an epoch whether to stop. Because the epoch may have visited few blocks, a sweep
    over all blocks must confirm the decision. The sweep counts as part of the epoch, since a condition such as
    `round == 100` is not true twice."""
    synchronous = rounds.analysis.synchronous
    sides = rounds.sides(rounds.phase)
    if rounds.several and synchronous:  # proxies start from the values of their masters
        rounds.log.each(descents, lambda one: one.tell(*sides))
        yield from rounds.share()
    sweep, confirms = synchronous, False
    while not rounds.done:
        if rounds.several:
            rounds.log.each(descents, lambda one: one.hear(*sides))
        yield from _pause(rounds, descents)
        rounds.log.each(descents, partial(DescentState.epoch, number=rounds.round + 1, sweep=sweep))
        before = rounds.buffers_sent
        rounds.log.each(descents, lambda one: one.tell(*sides))
        rounds.waiting = rounds.buffers_sent - before + sum(descent.waiting for descent in descents)
        for descent in descents:
            descent.state.changed = [rounds.waiting]
        rounds.count_round()
        rounds.fold()
        rounds.log.close(rounds.round, [descent.columns() for descent in descents])
        yield from rounds.share() if rounds.several else rounds.agree(wait=True)
        rounds.done |= confirms and rounds.globals.stop(rounds.round - 1)
        confirms = rounds.done and synchronous and not sweep
        if confirms:
            rounds.done, sweep = False, True
        else:
            sweep = synchronous and descents[0].must_sweep(rounds.globals.values)


def _pause(rounds: Rounds, descents: Sequence[DescentState]) -> Superstep:
    """Make a checkpoint if one is due. First send everything, then send what proxies gathered as a result."""
    if not rounds.is_due():
        return
    if rounds.several:
        sides = rounds.sides(rounds.phase)
        for _ in range(2):
            rounds.log.each(descents, lambda one: one.tell(*sides, everything=True))
            yield from rounds.share()
            rounds.log.each(descents, lambda one: one.hear(*sides))
    rounds.log.each(descents, lambda one: one.halt())
    rounds.act()
