"""A lane: the path of one partition's blocks through one daemon."""

from __future__ import annotations

import itertools
import os
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dgraph.agents.daemon import Daemon
from dgraph.agents.roles import roles_of, workspace_for
from dgraph.agents.vertex_cache import VertexCache
from dgraph.codegen.recipe import Recipe
from dgraph.options import DaemonKind
from dgraph.pipeline.block_size import CostFit
from dgraph.pipeline.blocks import Block

_numbers = itertools.count()

TIME_COLUMNS = ("pipeline", "predicted")
COUNTER_COLUMNS = ("blocks", "skipped_blocks", "moved", "restarts", *TIME_COLUMNS)

Costs = defaultdict[str, CostFit]  # by kernel


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
        spec = workspace_for(self.recipe, self.kind.device, self.roles, self.cache.slots, self.area, self.edges)
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
        specs = workspace_for(self.recipe, self.kind.device, self.roles, 1, 0, 0).arrays
        return sum(spec.nbytes for spec in specs.values())
