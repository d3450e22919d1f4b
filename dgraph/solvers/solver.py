"""A local solver: an operation's own algorithm for a graph that is one partition, from the first round to the last in
one compiled call. A program names its solver; the answer is that of the program's rounds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dgraph.agents.edge_tables import EdgeTables

SOON = 8  # of what a partition does before others hear of it, so much less where nobody has yet


@dataclass(frozen=True)
class Problem:
    """What a solver is given; a local id is a vertex's number, because nothing is elsewhere."""

    edges: EdgeTables
    values: dict[str, Any]  # the program's parameters, vertices by number
    columns: dict[str, np.ndarray]  # the vertex columns that were given, by number
    threads: int

    @property
    def vertices(self) -> int:
        return self.edges.partition.num_owned


@dataclass(frozen=True)
class Solved:
    """The columns of the answer, by number; where they hold vertices, a number that no vertex has is none."""

    values: dict[str, np.ndarray]
    rounds: int = 1
    edges: int = 0  # looked at
    totals: dict[str, Any] = field(default_factory=dict)  # the last values of the program's Globals


@dataclass
class Unsettled:
    """A partition of several in a round of a program whose messages merge like minima, with news to pass on here."""

    edges: EdgeTables
    values: dict[str, Any]  # the program's parameters, and arrays by local id, `number` among them if it is read
    best: np.ndarray  # of each local vertex, owned or proxy, the best message that it has had
    beside: np.ndarray  # what is kept beside it, see `Settle`; empty if nothing is
    frontier: np.ndarray  # local ids: who has a better one than its neighbours here know
    improved: np.ndarray  # a flag for each local vertex, down in the beginning
    unheard: bool  # whether it has not told others anything yet: they may be waiting for a beginning
    kept: dict[Any, Any]  # what is kept from one call to the next


@dataclass(frozen=True)
class Settle:
    """`take` has one partition of several at its local fixed point: it improves `best` until along no edge here any
    message would, and raises the flag of all whose best it improved (of the frontier's, it may raise any). It returns
    at how many edges it was looked, and whose news it has left for the next round: there it must have done some work.
    `beside` names a state that it keeps beside `best`, whole numbers that travel with it to masters: of equal messages
    the one with the smallest counts. `bound` names a global value: messages that are
    worse `apply` leaves out, and so may it.
    """

    take: Callable[[Unsettled], tuple[int, np.ndarray]]
    beside: str | None = None
    bound: str | None = None


@dataclass(frozen=True)
class Contract:
    """For programs that find the smallest vertex of each component. `unite` says with which smallest local id the edges
    of a partition join each local vertex, owned or proxy, and at how many edges it looked."""

    unite: Callable[[EdgeTables], tuple[np.ndarray, int]]


@dataclass(frozen=True)
class Diffuse:
    """For programs in which vertices pass on, along their out-edges, a part of all that they are given: by what names
    they call that, and how often a run begins anew, from as many times what was found as leaves a sum of nothing."""

    factor: str  # the part
    passed: str  # states: what was passed on,
    held: str  # and what was not
    strength: str  # the sum of the weights by which it is divided, if edges are not alike
    least: str  # how much may be held back for each edge in the last stage;
    falls: str  # so many times more in the one before
    stages: str
    given: str  # global values, of those who have somebody to send to: what all are given,
    surplus: str  # and what all hold; and of everybody,
    mass: str  # what all have
    most: float  # times as much as was found

    # what a partition keeps of each local vertex and edge, besides (see `diffusion.py`): nine numbers, and a layout
    vertex_bytes: ClassVar[int] = 72
    edge_bytes: ClassVar[int] = 4


@dataclass(frozen=True)
class Solver:
    """`orders`: those of a directed graph's edges that are read; rows of an undirected one have both directions.
    `settle`: what partitions of several do. `looks`: as often as it would have to look at each vertex and
    edge to take as long as it does, about: threads are started for much work only. A `max_iter` may allow more."""

    solve: Callable[[Problem], Solved]
    orders: tuple[str, ...] = ("out",)
    settle: Settle | Contract | None = None
    looks: int = 1

    def row(self, problem: Problem) -> tuple[Solved, dict[str, Any]]:
        """The answer, and the row of the report: all of the run is one superstep."""
        begun = time.perf_counter()
        solved = self.solve(problem)
        row = {
            "superstep": 1,
            "partition": problem.edges.partition.index,
            "fired": problem.vertices,
            "edges": solved.edges,
            "messages": 0,
            "bytes": 0,
            "skipped": False,
            "direction": "local",
            "device": "cpu",
            "busy": time.perf_counter() - begun,
            "idle": 0.0,
        }
        return solved, row
