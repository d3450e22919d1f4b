"""What a partition in flight must allocate and send for a program: a value that travels without the program's class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph.analysis import Analysis, PhaseAnalysis
from dgraph.codegen.kernels import kept_states
from dgraph.codegen.text import Argument, inbox, sent
from dgraph.monoid import Merge


@dataclass(frozen=True)
class Array:
    """An array over the vertices of a partition: its dtype, its first value, and its length of vectors (0: scalars)."""

    name: str
    dtype: str
    fill: object
    width: int = 0
    is_vertex: bool = False

    def allocate(self, n: int) -> np.ndarray:
        """The array for n vertices."""
        return np.full((n, self.width) if self.width else n, self.fill, self.dtype)


@dataclass(frozen=True)
class PhaseLayout:
    """The arrays of a phase, and what of them travels."""

    name: str
    along: str
    inboxes: tuple[Array, ...]  # filled with the merge's identity
    merges: tuple[Merge, ...]  # one an inbox
    sent: tuple[Array, ...]  # empty if a message is computed once an edge
    broadcast: tuple[str, ...]  # arrays: master to proxies with out-edges, for vertices that send
    target_broadcast: tuple[str, ...]  # arrays: master to proxies with in-edges, before `pull`
    combines: bool  # else every vertex needs its whole neighbourhood here
    idempotent: bool  # inboxes are never emptied

    def kernel(self, name: str) -> str:
        """The name of one of the phase's kernels: `layout.kernel("pull")`."""
        return f"{self.name}_{name}" if self.name else name


@dataclass(frozen=True)
class ProgramLayout:
    """All of it."""

    name: str
    synchronous: bool
    states: tuple[Array, ...]
    before: tuple[Array, ...]  # `rank_before` is a copy of `rank` from before the round
    phases: tuple[PhaseLayout, ...]
    edge_columns: tuple[Array, ...]
    vertex_columns: tuple[Array, ...]  # filled where the graph has none
    parameters: tuple[Argument, ...]
    globals: dict[str, Merge]  # those that rounds read, in the order in which `fold` returns them
    last_globals: dict[str, Merge]  # those for results alone: `conclude`
    identities: dict[str, object]  # of all global values
    results: tuple[Array, ...]  # for `finish`; empty: the states are the answer
    columns: tuple[str, ...]  # of the answer
    send_reads_global: bool  # then GAS order cannot send before the fold of the same superstep


def layout_of(analysis: Analysis) -> ProgramLayout:
    """The layout of a program."""
    kept, each = kept_states(analysis), analysis.globals_each_round

    def array(name: str, field, fill: object, vector: bool | None = None) -> Array:
        width = analysis.width if (field.shape is not None if vector is None else vector) else 0
        return Array(name, field.dtype.name, fill, width, field.is_vertex)

    states = tuple(array(state.name, state, state.start) for state in analysis.states if state.name in kept)
    by_name = {state.name: state for state in analysis.states}
    merges = {name: field.merge for name, (field, _) in analysis.globals.items()}
    results = tuple(array(f"result_{n}", field, 0, reads.vector) for n, (field, reads) in analysis.results.items())
    plain = tuple(state.name for state in analysis.plain)
    return ProgramLayout(
        name=analysis.name,
        synchronous=analysis.synchronous,
        states=states,
        before=tuple(array(f"{name}_before", by_name[name], by_name[name].start) for name in analysis.before),
        phases=tuple(_phase(phase, array) for phase in analysis.phases),
        edge_columns=tuple(array(column.name, column, 0) for column in analysis.edge_columns),
        vertex_columns=tuple(array(column.name, column, column.missing) for column in analysis.vertex_columns),
        parameters=tuple(Argument(p.name, p.dtype.name, int(p.shape is not None)) for p in analysis.parameters),
        globals={name: merges[name] for name in each},
        last_globals={name: merge for name, merge in merges.items() if name not in each},
        identities={name: field.identity for name, (field, _) in analysis.globals.items()},
        results=results,
        columns=tuple(analysis.results) or plain,
        send_reads_global=analysis.send_reads_global,
    )


def _phase(phase: PhaseAnalysis, array) -> PhaseLayout:
    messages = phase.messages
    sends = tuple(array(sent(phase, m), m, m.identity) for m in messages) if phase.hoisted else ()
    return PhaseLayout(
        name=phase.name,
        along=phase.along,
        inboxes=tuple(array(inbox(phase, m), m, m.identity) for m in messages),
        merges=tuple(m.merge for m in messages),
        sent=sends,
        broadcast=tuple(s.name for s in sends) or phase.broadcast,
        target_broadcast=phase.target_broadcast,
        combines=phase.combines,
        idempotent=phase.idempotent,
    )
