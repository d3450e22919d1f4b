"""What an edge kernel reads and writes, and at which end of an edge: what a block must bring to a daemon and take
back."""

from __future__ import annotations

from dataclasses import dataclass

from dgraph.agents.daemon import ArraySpec, WorkspaceSpec, is_pull, is_push
from dgraph.codegen.message_sums import EXCESS
from dgraph.codegen.neighbourhood_merges import SCRATCH
from dgraph.codegen.recipe import Recipe
from dgraph.codegen.text import COMMON_ARGUMENTS, Argument
from dgraph.pipeline.stages import BUFFERS
from dgraph.programs.analysis import Analysis, PhaseAnalysis
from dgraph.programs.kernel_names import field_name, inbox_name, phase_name

LIST_ARRAYS = {"indptr", "neighbours", "senders", "queue", EXCESS, *SCRATCH}


@dataclass(frozen=True)
class KernelRoles:
    """The arrays of one kernel by their role, and its scalars."""

    phase: PhaseAnalysis
    sources: tuple[str, ...]  # read at the sending end
    rows: tuple[str, ...]  # read or written at the receiving end
    written: tuple[str, ...]
    edges: tuple[str, ...]  # edge columns, and the ordinals of edges
    scalars: tuple[str, ...]
    identities: dict[str, object]  # the initial value of each inbox


def roles_of(recipe: Recipe) -> dict[str, KernelRoles]:
    """The roles of each edge kernel of a program, by name. These kernels run in blocks, on daemons."""
    analysis, result = recipe.analysis, {}
    columns = set(recipe.source.edge_columns)
    vectors = {field_name(parameter.name) for parameter in analysis.parameters if parameter.shape is not None}
    phases = {phase_name(phase, what): phase for phase in analysis.phases for what in ("push", "pull")}
    for name, arguments in recipe.source.kernels.items():
        if not (is_push(name) or is_pull(name)):
            continue
        phase = phases[name]
        arrays = [a for a in arguments if a.dims and a.name not in LIST_ARRAYS | columns | vectors]
        written = {a.name for a in arrays if a.written}
        rows = written | _at_target(analysis, phase)
        sources = ({a.name for a in arrays} - rows) | (_at_source(phase) - written)
        result[name] = KernelRoles(
            phase,
            tuple(a.name for a in arrays if a.name in sources),
            tuple(a.name for a in arrays if a.name in rows),
            tuple(a.name for a in arrays if a.name in written),
            tuple(a.name for a in arguments if a.name in columns),
            tuple(a.name for a in arguments if not a.dims and a.name not in ("lo", "hi", "queued")),
            {inbox_name(phase, message): message.identity for message in phase.messages},
        )
    return result


def _at_source(phase: PhaseAnalysis) -> set[str]:
    """Arrays that are read at the sending vertex."""
    if phase.hoisted:
        return set()
    reads, arrays = phase.send, {"id": "number", "random": "number", "vertex_random": "number", "degree": "degree"}
    return {
        *map(field_name, reads.names_of("state", "column")),
        *(array for name, array in arrays.items() if name in reads),
    }


def _at_target(analysis: Analysis, phase: PhaseAnalysis) -> set[str]:
    """Arrays that are read at the receiving vertex."""
    names = {name.removeprefix("target_") for name in phase.send.names_of("target", "ahead")}
    declared = names & {field.name for field in (*analysis.states, *analysis.columns)}
    arrays = {*map(field_name, declared), *("number" if name == "id" else name for name in names - declared)}
    return arrays | ({"number"} if phase.draws or not phase.combines else set())


def workspace_for(
    recipe: Recipe, device: str, roles: dict[str, KernelRoles], slots: int, area: int, edges: int
) -> WorkspaceSpec:
    """What a daemon must hold: arrays over the cache's slots and the areas of three buffers, and the edges of
    each buffer."""
    arguments: dict[str, Argument] = {}
    for name in roles:
        arguments |= {argument.name: argument for argument in recipe.source.kernels[name] if argument.dims}
    columns = {column for one in roles.values() for column in one.edges}
    vectors = {field_name(p.name): p.name for p in recipe.analysis.parameters if p.shape is not None}
    arrays = {}
    for name, argument in arguments.items():
        if name in columns or name in ("neighbours", "senders", "queue"):
            length = area if name in ("senders", "queue") else edges
            arrays[name] = ArraySpec(argument.dtype, (BUFFERS, length), True)
        elif name not in vectors and name not in SCRATCH:
            arrays[name] = ArraySpec(argument.dtype, (slots + BUFFERS * area, recipe.analysis.width)[: argument.dims])
    arrays["indptr"] = ArraySpec(COMMON_ARGUMENTS["indptr"].dtype, (slots + BUFFERS * area,))
    if EXCESS in arrays:
        arrays[EXCESS] = ArraySpec(COMMON_ARGUMENTS[EXCESS].dtype, (1,))
    constants = {array: recipe.values[name] for array, name in vectors.items()}
    return WorkspaceSpec(recipe.source_for(device), tuple(roles), arrays, constants, device)
