"""A lane: the way of one partition's blocks through one daemon."""

from __future__ import annotations

import itertools
import os
import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dgraph.agents.daemon import Daemon
from dgraph.agents.daemon_settings import DaemonKind
from dgraph.agents.roles import buffer_spec_for, roles_of
from dgraph.agents.vertex_cache import VertexCache
from dgraph.codegen.recipe import Recipe
from dgraph.pipeline.block_size import BlockTimings
from dgraph.pipeline.blocks import Block

_numbers = itertools.count()

SECONDS = ("pipeline", "predicted")
COUNTED = ("blocks", "skipped_blocks", "moved", "restarts", *SECONDS)

Costs = defaultdict[str, BlockTimings]  # of each kernel


class DaemonHandle(NamedTuple):
    """A daemon as an agent hands it out, with the measured costs of a program's blocks there, in all runs."""

    daemon: Daemon
    kind: DaemonKind
    costs: Costs

    @property
    def device(self) -> str:
        return self.kind.device


class Counters:
    """Columns of the report that add up. The three stages count at the same time, under a lock."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(COUNTED, 0.0)
        self.lock = threading.Lock()

    def add(self, what: str, count: float) -> None:
        with self.lock:
            self.counts[what] += count

    def taken(self) -> dict[str, float]:
        """The counts since this was last called."""
        counts, self.counts = self.counts, dict.fromkeys(COUNTED, 0.0)
        return {what: count if what in SECONDS else int(count) for what, count in counts.items()}


class Lane:
    """What a daemon holds of a partition. `cache`: bytes of vertices that stay there between blocks."""

    def __init__(self, plug: DaemonHandle, recipe: Recipe, vertices: int, cache: int, tally: Counters):
        (self.daemon, self.kind, self.costs), self.recipe, self.tally = plug, recipe, tally
        self.device = plug.device
        self.table, self.roles = f"{os.getpid()}-{next(_numbers)}", roles_of(recipe)
        self.cached = frozenset(name for one in self.roles.values() for name in (*one.sources, *one.rows))
        self.cache = VertexCache(min(cache // self._bytes_a_vertex(), vertices), vertices)
        self.plain = VertexCache(0, vertices) if self.cache.slots else self.cache  # for what must not stay
        self.area = self.edges = 0  # room of a block: vertices and edges
        self.arrays: dict[str, np.ndarray] = {}
        self.lock = threading.Lock()  # who writes blocks

    def make_room(self, blocks: Sequence[Block]) -> None:
        """Have the daemon make room for the longest of these blocks, unless it has. What is cached stays."""
        edges = max(block.edges for block in blocks)
        area = max(block.edges + block.last - block.first for block in blocks) + 1
        if edges <= self.edges and area <= self.area:
            return
        self.edges, self.area = max(edges, self.edges), max(area, self.area)
        room = buffer_spec_for(self.recipe, self.device, self.roles, self.cache.slots, self.area, self.edges)
        before, self.arrays = self.arrays, self.daemon.open(self.table, room)
        for name in self.cached & set(before):
            self.arrays[name][: self.cache.slots] = before[name][: self.cache.slots]

    def base(self, buffer: int) -> int:
        """Where the area of a buffer begins."""
        return self.cache.slots + buffer * self.area

    def moved(self, count: int) -> None:
        """Count bytes of vertices that went to the daemon or came from it."""
        self.tally.add("moved", count)

    def close(self) -> None:
        self.arrays = {}
        self.daemon.shut(self.table)

    def _bytes_a_vertex(self) -> int:
        spaces = buffer_spec_for(self.recipe, self.device, self.roles, 1, 0, 0).spaces.values()
        return sum(int(np.prod(space.shape)) * np.dtype(space.dtype).itemsize for space in spaces)
