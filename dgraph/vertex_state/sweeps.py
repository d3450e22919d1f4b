"""Gauss-Seidel sweeps: rows fire one after the other and send immediately, so that later rows fire with what earlier
ones have just sent. Sums converge with about half as many edge traversals."""

from __future__ import annotations

from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import before_name, field_name, phase_name
from dgraph.vertex_state.partition_state import PartitionState


def can_sweep(state: PartitionState) -> bool:
    """Whether a sweep can replace firing and sending: messages are added up, are the same along all edges of a vertex,
    and only one thread works on the partition. (Several threads are faster if all vertices fire before any sends.)"""
    phase = state.analysis.phases[0]
    able = phase_name(phase, "sweep") in state.recipe.source.kernels and state.agent.one_thread
    by_default = state.round_options.direction == "auto" and state.round_options.active_only
    return able and by_default and len(state.edges.senders(phase.along)) == 1


def sweep(state: PartitionState, phase: PhaseAnalysis) -> None:
    """Sweep once over all rows. Call `broadcast` afterwards to update proxies, and then `forget_sent`."""
    for name in state.analysis.before:
        state.arrays.copy(state.values[before_name(name)], state.values[field_name(name)])
    (side,) = state.edges.senders(phase.along)
    values = {**state.values, **state.edges.arguments(side), "queue": state.frontier.spare}
    fired, count, work = state.agent.once(phase_name(phase, "sweep"), state.n, values)
    state.total["fired"] += int(fired)
    state.total["edges"] += int(work)
    state.frontier.send(state.arrays.first(state.frontier.spare, count))
    state.frontier.queued, state.frontier.scan, state.pulled = 0, True, False
