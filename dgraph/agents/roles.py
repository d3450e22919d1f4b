"""What a kernel that crosses edges reads and writes, and at which end of an edge: all that a block must bring and take
back."""

from __future__ import annotations

from dataclasses import dataclass

from dgraph.agents.daemon import BUFFERS, ArraySpec, BufferSpec, over_edges
from dgraph.codegen.neighbourhood_merges import SCRATCH
from dgraph.codegen.recipe import Recipe
from dgraph.codegen.text import FIXED, Argument
from dgraph.programs.analysis import Analysis, PhaseAnalysis
from dgraph.programs.kernel_names import inbox, key, name_in

LISTS = {"indptr", "neighbours", "senders", "queue", *SCRATCH}


@dataclass(frozen=True)
class KernelRoles:
    """The arrays of one kernel by their role, and its scalars."""

    phase: PhaseAnalysis
    sources: tuple[str, ...]  # read at the end that sends
    rows: tuple[str, ...]  # read at the end that is sent to, or written there
    written: tuple[str, ...]
    edges: tuple[str, ...]  # columns
    scalars: tuple[str, ...]
    identities: dict[str, object]  # of the inboxes


def roles_of(recipe: Recipe) -> dict[str, KernelRoles]:
    """The roles of each kernel of a program, by name."""
    analysis, found = recipe.analysis, {}
    columns = {key(column.name) for column in analysis.edge_columns}
    vectors = {key(parameter.name) for parameter in analysis.parameters if parameter.shape is not None}
    phases = {name_in(phase, what): phase for phase in analysis.phases for what in ("push", "pull")}
    for name in over_edges(recipe.source.kernels):
        phase, arguments = phases[name], recipe.source.kernels[name]
        arrays = [a for a in arguments if a.dims and a.name not in LISTS | columns | vectors]
        written = {a.name for a in arrays if a.written}
        rows = written | _at_target(analysis, phase)
        sources = ({a.name for a in arrays} - rows) | (_at_source(phase) - written)
        found[name] = KernelRoles(
            phase,
            tuple(a.name for a in arrays if a.name in sources),
            tuple(a.name for a in arrays if a.name in rows),
            tuple(a.name for a in arrays if a.name in written),
            tuple(a.name for a in arguments if a.name in columns),
            tuple(a.name for a in arguments if not a.dims and a.name not in ("lo", "hi", "queued")),
            {inbox(phase, message): message.identity for message in phase.messages},
        )
    return found


def _at_source(phase: PhaseAnalysis) -> set[str]:
    """Arrays that are read at the vertex that sends."""
    if phase.hoisted:
        return set()
    reads, arrays = phase.send, {"id": "number", "random": "number", "degree": "degree"}
    return {*map(key, reads.of("state", "column")), *(array for name, array in arrays.items() if name in reads)}


def _at_target(analysis: Analysis, phase: PhaseAnalysis) -> set[str]:
    """Arrays that are read at the vertex that is sent to."""
    names = {name.removeprefix("target_") for name in phase.send.of("target", "ahead")}
    declared = names & {field.name for field in (*analysis.states, *analysis.columns)}
    found = {*map(key, declared), *("number" if name == "id" else name for name in names - declared)}
    return found | (set() if phase.combines else {"number"})


def buffer_spec_for(
    recipe: Recipe, device: str, roles: dict[str, KernelRoles], slots: int, area: int, edges: int
) -> BufferSpec:
    """What a daemon must hold: arrays over the cache's slots and over the areas of three buffers, and each buffer's
    edges."""
    asked: dict[str, Argument] = {}
    for name in roles:
        asked |= {argument.name: argument for argument in recipe.source.kernels[name] if argument.dims}
    columns = {column for one in roles.values() for column in one.edges}
    vectors = {key(p.name): p.name for p in recipe.analysis.parameters if p.shape is not None}
    spaces = {}
    for name, argument in asked.items():
        if name in columns or name in ("neighbours", "senders", "queue"):
            length = area if name in ("senders", "queue") else edges
            spaces[name] = ArraySpec(argument.dtype, (BUFFERS, length), True)
        elif name not in vectors and name not in SCRATCH:
            spaces[name] = ArraySpec(argument.dtype, (slots + BUFFERS * area, recipe.analysis.width)[: argument.dims])
    spaces["indptr"] = ArraySpec(FIXED["indptr"].dtype, (slots + BUFFERS * area,))
    constants = {array: recipe.values[name] for array, name in vectors.items()}
    return BufferSpec(recipe.source_for(device), tuple(roles), spaces, constants, device)
