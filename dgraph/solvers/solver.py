"""Algorithms that an operation may provide to replace rounds of single steps, with the same results. A *solver* does
all the work if the graph has one partition. A *local method* takes each of several partitions as far as it can go on
its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dgraph.tables.edge_tables import EdgeTables

FIRST_SEND_FACTOR = 8  # a partition that has not sent anything yet does so after an eighth of the usual work


@dataclass(frozen=True)
class Problem:
    """The input of a solver: a graph of one partition, so local ids are vertex numbers."""

    edges: EdgeTables
    values: dict[str, Any]  # the program's parameters; vertices are given by number
    columns: dict[str, np.ndarray]  # vertex columns, by vertex number
    threads: int

    @property
    def vertices(self) -> int:
        return self.edges.partition.num_owned


class CsrArrays(NamedTuple):
    """The arrays of an Adjacency, for kernels."""

    indptr: np.ndarray
    neighbours: np.ndarray


@dataclass(frozen=True)
class Solution:
    """The output of a solver: columns by vertex number. In a column of vertices, a number that is not a vertex means
    none."""

    values: dict[str, np.ndarray]
    rounds: int = 1
    edges: int = 0  # edges read
    totals: dict[str, Any] = field(default_factory=dict)  # the last values of the program's Globals


class LocalMethod:
    """The description of a local method: a subclass for each file of `engines/local_methods/`."""

    state: ClassVar[type]  # the LocalState that runs it
    in_rounds: ClassVar[bool] = False  # whether the program has to run in rounds even if it does not count them
    finds_messages: ClassVar[bool] = False  # whether it ends with each vertex's last message, applied by `settled`

    def memory(self, edge_columns: int) -> tuple[int, int]:
        """Bytes that a partition needs for each local vertex and for each edge, in addition to its tables."""
        return 0, 0


@dataclass
class SettleProblem:
    """The input of `SettlementMethod.take`: one of several partitions, and the vertices whose neighbours do not know
    their best message yet."""

    edges: EdgeTables
    values: dict[str, Any]  # the program's fields: arrays by local id, and numbers
    best: np.ndarray  # for each local vertex, owned or proxy, the best message that it has received
    companion: np.ndarray  # the state `SettlementMethod.companion` of each local vertex; empty if there is none
    frontier: np.ndarray  # local ids of the vertices whose best message their neighbours here do not know yet
    improved: np.ndarray  # a flag for each local vertex, all False before the call
    has_not_sent: bool  # whether this partition has not sent anything yet: until it does, others may have nothing to do
    scratch: dict[Any, Any]  # memory that is kept from one call to the next


@dataclass(frozen=True)
class Solver:
    """A program's own algorithm. `solve` runs if the graph has one partition, `local_method` on each of several."""

    solve: Callable[[Problem], Solution]
    orders: tuple[str, ...] = ("out",)  # needed for a directed graph; rows of an undirected one have both directions
    local_method: LocalMethod | None = None
    reads_per_edge: int = 1  # about how often each vertex and edge is read: threads pay off only for much work
    enough: tuple[str, ...] = ()  # orders that do if edges are too many to hold twice, though `orders` are faster
