"""Sweeps: rows fire one after the other and send at once, so that later rows fire with what earlier ones have just sent
(Gauss and Seidel's order). Sums come near their fixed point in about half as many looks at the edges."""

from __future__ import annotations

from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import before, key, name_in
from dgraph.vertex_state.partition_state import PartitionState


def can_sweep(state: PartitionState) -> bool:
    """Whether a sweep may take the place of firing and sending: messages add up, are the same along all edges of a
    vertex, and one thread has the partition to itself. (Several threads are quicker when all vertices fire before any
    sends.)"""
    phase = state.analysis.phases[0]
    able = name_in(phase, "sweep") in state.recipe.source.kernels and state.agent.one_thread
    usual = state.switches.direction == "auto" and state.switches.active_only
    return able and usual and len(state.edges.senders(phase.along)) == 1


def sweep(state: PartitionState, phase: PhaseAnalysis) -> None:
    """Sweep once over all rows. Call `broadcast` afterwards to tell proxies, and then `forget_sent`."""
    for name in state.analysis.before:
        state.arrays.copy(state.values[before(name)], state.values[key(name)])
    (side,) = state.edges.senders(phase.along)
    values = {**state.values, **state.edges.arguments(side), "queue": state.frontier.spare}
    fired, count, work = state.agent.once(name_in(phase, "sweep"), state.n, values)
    state.total["fired"] += int(fired)
    state.total["edges"] += int(work)
    state.frontier.send(state.arrays.first(state.frontier.spare, count))
    state.frontier.queued, state.frontier.scan, state.pulled = 0, True, False
