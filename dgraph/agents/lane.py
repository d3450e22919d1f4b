"""A lane: the path of one partition's blocks through one daemon."""

from __future__ import annotations

import itertools
import os
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dgraph.agents.daemon import ArraySpec, Daemon, WorkspaceSpec, is_pull, is_push
from dgraph.agents.vertex_cache import VertexCache
from dgraph.codegen.message_sums import EXCESS
from dgraph.codegen.neighbourhood_merges import SCRATCH
from dgraph.codegen.recipe import Recipe
from dgraph.codegen.text import COMMON_ARGUMENTS, Argument
from dgraph.options import DaemonKind
from dgraph.pipeline.block_size import CostFit
from dgraph.pipeline.blocks import Block
from dgraph.pipeline.stages import BUFFERS
from dgraph.programs.analysis import Analysis, PhaseAnalysis
from dgraph.programs.kernel_names import field_name, inbox_name, phase_name

LIST_ARRAYS = {"indptr", "neighbours", "senders", "queue", EXCESS, *SCRATCH}
TIME_COLUMNS = ("pipeline", "predicted")
COUNTER_COLUMNS = ("blocks", "skipped_blocks", "moved", "restarts", *TIME_COLUMNS)

Costs = defaultdict[str, CostFit]  # by kernel
_numbers = itertools.count()


class DaemonHandle(NamedTuple):
    """A daemon, and the costs of a program's blocks on it, as measured in all runs."""

    daemon: Daemon
    kind: DaemonKind
    costs: Costs


class Counters:
    """Columns of the report that are added up. The three stages count concurrently, so there is a lock."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(COUNTER_COLUMNS, 0.0)
        self.lock = threading.Lock()

    def add(self, what: str, count: float) -> None:
        with self.lock:
            self.counts[what] += count

    def take_counts(self) -> dict[str, float]:
        """The counts since this was last called."""
        counts, self.counts = self.counts, dict.fromkeys(COUNTER_COLUMNS, 0.0)
        return {what: count if what in TIME_COLUMNS else int(count) for what, count in counts.items()}


class Lane:
    """The arrays of one partition in one daemon. `cache` is the size in bytes of its cache of vertices."""

    def __init__(self, handle: DaemonHandle, recipe: Recipe, vertices: int, cache: int, tally: Counters):
        (self.daemon, self.kind, self.costs), self.recipe, self.tally = handle, recipe, tally
        self.table, self.roles = f"{os.getpid()}-{next(_numbers)}", roles_of(recipe)
        self.cached = frozenset(name for one in self.roles.values() for name in (*one.sources, *one.rows))
        self.cache = VertexCache(min(cache // self._bytes_per_vertex(), vertices), vertices)
        self.uncached = VertexCache(0, vertices) if self.cache.slots else self.cache  # for vertices that must not stay
        self.area = self.edges = 0  # capacity of a buffer: vertices and edges
        self.arrays: Mapping[str, np.ndarray] = {}
        self.lock = threading.Lock()  # held while a block is written

    def make_room(self, blocks: Sequence[Block]) -> None:
        """Have the daemon enlarge its arrays for the longest of these blocks if necessary. Cached vertices stay."""
        edges = max(block.edges for block in blocks)
        area = max(block.edges + block.last - block.first for block in blocks) + 1
        if edges <= self.edges and area <= self.area:
            return
        self.edges, self.area = max(edges, self.edges), max(area, self.area)
        spec = self._workspace(self.cache.slots, self.area, self.edges)
        before, self.arrays = self.arrays, self.daemon.open(self.table, spec)
        for name in self.cached & set(before):
            self.arrays[name][: self.cache.slots] = before[name][: self.cache.slots]

    def base(self, buffer: int) -> int:
        """Where the area of a buffer begins."""
        return self.cache.slots + buffer * self.area

    def count_moved(self, count: int) -> None:
        """Count bytes of vertices that went to the daemon or came from it."""
        self.tally.add("moved", count)

    def close(self) -> None:
        self.arrays = {}
        self.daemon.close_table(self.table)

    def _bytes_per_vertex(self) -> int:
        return sum(spec.nbytes for spec in self._workspace(1, 0, 0).arrays.values())

    def _workspace(self, slots: int, area: int, edges: int) -> WorkspaceSpec:
        """What the daemon must hold: arrays over the cache's slots and the areas of three buffers, and the edges of
        each buffer."""
        recipe, arguments, arrays = self.recipe, dict[str, Argument](), dict[str, ArraySpec]()
        for name in self.roles:
            arguments |= {argument.name: argument for argument in recipe.source.kernels[name] if argument.dims}
        columns = {column for one in self.roles.values() for column in one.edges}
        lengths = {**dict.fromkeys(columns, edges), "neighbours": edges, "senders": area, "queue": area}
        vectors = {field_name(p.name): p.name for p in recipe.analysis.parameters if p.shape is not None}
        places = slots + BUFFERS * area
        for name, argument in arguments.items():
            if name in lengths:
                arrays[name] = ArraySpec(argument.dtype, (BUFFERS, lengths[name]), True)
            elif name not in vectors and name not in SCRATCH:
                shape = (1,) if name == EXCESS else (places, recipe.analysis.width)[: argument.dims]
                arrays[name] = ArraySpec(argument.dtype, shape)
        arrays["indptr"] = ArraySpec(COMMON_ARGUMENTS["indptr"].dtype, (places,))
        constants = {array: recipe.values[name] for array, name in vectors.items()}
        device = self.kind.device
        return WorkspaceSpec(recipe.source_for(device), tuple(self.roles), arrays, constants, device)


@dataclass(frozen=True)
class KernelRoles:
    """What an edge kernel reads and writes, and at which end of an edge: what a block must bring to a daemon and take
    back."""

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
