"""A graph: edges of the user's, partitioned over the workers of a Dask cluster or kept in this process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph import assembly, frames
from dgraph.errors import ColumnError, OptionError
from dgraph.partition import chunk as chunks_of
from dgraph.partition import policies, rules
from dgraph.partition import source as sources
from dgraph.partition.numbering import Numbering
from dgraph.partition.placement import Placement
from dgraph.partitions import Partitions
from dgraph.report import Stopwatch
from dgraph.workers import Workers

if TYPE_CHECKING:
    import dask.dataframe as dd

    from dgraph.estimate import Estimate
    from dgraph.saved import Saved
    from dgraph.validation import Validation


BYTES_TO_SORT = 32  # an edge, while its partition is put together: its ends by number, by local id, and in place


class Graph:
    """Edges between vertices, whatever the vertices are called.

    Ids are numbered when the graph is made from a frame in memory, so that bad input is refused at once, and at first
    use when the frame is lazy. Partitions are built when they are first asked for, with only what is asked for: edges
    by source, by destination or both, and those edge columns that somebody reads.
    """

    def __init__(
        self,
        edges: sources.EdgeSource,
        vertices: sources.VertexSource,
        *,
        directed: bool = True,
        loops: str = "keep",
        repeats: str = "keep",
        symmetrize: bool = False,
        policy: Any = "auto",
        parts: int | None = None,
        capacities: Any = None,
        workers: Workers | None = None,
    ):
        self.directed = directed
        self.loops, self.repeats, self.symmetrize = loops, repeats, symmetrize
        self._edges, self._vertices = edges, vertices
        policies.choose(policy, parts or 1)  # refuses what is no policy
        self._asked = policy, parts, capacities
        self._workers = workers or Workers()
        self._watch = Stopwatch()
        self._numbering: Numbering | None = None
        self._rows: list[int] = []
        self._fresh: list[Any] | None = None  # the chunks by number, kept from the numbering until the first build
        self._placement: Placement | None = None
        self._partitions: Partitions | None = None
        self._saved: Saved | None = None
        self._as_saved = False

    @classmethod
    def from_edges(
        cls,
        frame: Any,
        *,
        source: str = "src",
        destination: str = "dst",
        weight: str | None = None,
        directed: bool = True,
        vertices: Any = None,
        loops: str = "keep",
        repeats: str = "keep",
        symmetrize: bool = False,
        policy: Any = "auto",
        parts: int | None = None,
        capacities: Any = None,
        client: Any = None,
    ) -> Graph:
        """A graph from a pandas, Dask, Arrow or cuDF frame, or a dict of arrays, with a row for each edge.

        source, destination: the columns that hold the ids of an edge's ends: whole numbers, strings or UUIDs.
        weight:     the column that algorithms read as the edge's weight.
        directed:   with False each listed edge stands for both directions; a self loop for one.
        vertices:   vertices that no edge need name: a frame whose column `id` (or first column) lists their ids, other
                    columns being attributes; a number n or a range, for the ids 0..n-1 or of the range.
        loops:      "keep" edges from a vertex to itself, or "drop" them.
        repeats:    "keep" every listed edge, or make those with the same ends one: the "first", or with the "sum", the
                    "min" or the "max" of their values.
        symmetrize: add the reverse of every edge to a directed graph (before `repeats` is applied).
        policy:     which partition owns a vertex and holds an edge: "outgoing", "incoming", "cartesian", "hybrid",
                    "metis", "auto", or a function of (ids, parts) or (source, destination, parts).
        parts:      how many partitions; by default one for each worker, or several if a worker's memory is short.
        capacities: how fast the workers are: None if equal, a number for each {worker: number}, or "measure".
        client:     a distributed.Client; by default the current one, or this process if there is none.
        """
        rules.check(loops, repeats)
        if symmetrize and not directed:
            raise OptionError("symmetrize=True is for directed graphs; an undirected graph has both directions already")
        edges = sources.edge_source(frame, source, destination, weight)
        workers = Workers.find(client)
        if parts is not None:
            if not isinstance(parts, int | np.integer) or isinstance(parts, bool) or not 1 <= parts < 2**16:
                raise OptionError(f"parts={parts!r} must be a whole number from 1 to 65535")
            parts = int(parts)
            workers.shares(capacities, parts, check_only=True)
        graph = cls(
            edges,
            sources.vertex_source(vertices),
            directed=directed,
            loops=loops,
            repeats=repeats,
            symmetrize=symmetrize,
            policy=policy,
            parts=parts,
            capacities=capacities,
            workers=workers,
        )
        if not sources.is_lazy(edges.frame):
            if weight is not None:
                chunks_of.values(edges.frame, weight, is_weight=True)
            if not sources.is_lazy(graph._vertices.frame):
                graph.number()  # refuses ids that cannot be used, now rather than later
        return graph

    def restore(self, saved: Saved, *, as_saved: bool) -> None:
        """Take over what a saved graph knows of itself, and its partitions if they are to be used as they are."""
        self._saved = saved
        self._as_saved = as_saved
        self._rows = saved.content["edges"]
        self.__dict__["num_edges"] = saved.content["num_edges"]  # the cached property

    def save(self, path: Any, *, columns: list[str] | None = None, overwrite: bool = False) -> None:
        """Write the graph to a folder, from which `dgraph.open_graph` opens it in no time. The folder is whole or not
        there: everything is written beside it first. `columns` are the edge columns to save, all of them by default."""
        from dgraph.saved import save

        save(self, path, columns=columns, overwrite=overwrite)

    # -- what there is -------------------------------------------------------------------------------------------------

    @property
    def num_vertices(self) -> int:
        return self.numbering.size if self._saved is None else self._saved.content["num_vertices"]

    @cached_property
    def num_edges(self) -> int:
        """Edges as listed, after the rules for loops, repeats and reverses; an undirected edge counts once."""
        if self.repeats != "keep":
            merged = self.by_number()
            return sum(self._workers.get([self._workers.call(len, chunk) for chunk in merged]))
        listed = self.num_listed
        loops = self.num_loops if self.symmetrize or self.loops == "drop" else 0
        other = listed - loops
        return (2 * other if self.symmetrize else other) + (loops if self.loops == "keep" else 0)

    @property
    def num_listed(self) -> int:
        """Edges as listed, before any rule."""
        self.number()
        return sum(self._rows)

    @cached_property
    def num_loops(self) -> int:
        """Edges from a vertex to itself among those listed."""
        return sum(
            self._workers.get([self._workers.call(rules.count_loops, chunk) for chunk in self._listed_by_number()])
        )

    @property
    def weight(self) -> str | None:
        """The name of the weight column."""
        return self._edges.weight

    @property
    def edge_columns(self) -> list[str]:
        """The names of the edge columns beside the ends."""
        return self._edges.columns

    @property
    def policy(self) -> str:
        return self._policy.name

    @cached_property
    def _policy(self) -> policies.Policy:
        return policies.choose(self._asked[0], self.num_parts)

    @cached_property
    def num_parts(self) -> int:
        """How many partitions there are, or will be."""
        arcs = 1 if self._asked[1] else self.num_listed * (1 if self.directed and not self.symmetrize else 2)
        return self._asked[1] or self._workers.parts_for(arcs * BYTES_TO_SORT)

    @property
    def client(self) -> Any:
        """The client whose workers hold the graph; None if this process does."""
        return self._workers.client

    @property
    def edges(self) -> dd.DataFrame:
        """The edges as a lazy Dask frame, a partition of it for each partition of the graph."""
        return frames.edges(self)

    @property
    def vertices(self) -> dd.DataFrame:
        """The vertices and their attributes as a lazy Dask frame, a partition of it for each partition of the graph."""
        return frames.vertices(self)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        if self._numbering is None and self._saved is None:
            return f"<Graph: {kind}, not read yet>"
        size = f"{self.num_vertices:,} vertices, {self.num_edges:,} edges"
        return f"<Graph: {kind}, {size}, {self.num_parts} partition{'s' * (self.num_parts != 1)} by {self.policy}>"

    def validate(self) -> Validation:
        """Count what can surprise: loops, repeats, isolated and dangling vertices, missing or negative weights. Say
        what each operation does with it, and check every block of a graph that was opened from disk."""
        from dgraph.validation import validate

        return validate(self)

    def estimate(self, op: str = "build", *, workers: int | None = None, memory: int | str | None = None) -> Estimate:
        """Memory of each worker and bytes exchanged in a round, for every policy, before any work is done.

        op:      the operation to be run, or "build" for the partitions alone.
        workers: how many workers there will be; by default those there are.
        memory:  what each worker may use ("4 GiB"); policies that need more do not fit.
        """
        from dgraph.estimate import estimate

        return estimate(self, op, workers or self._asked[1] or len(self._workers.addresses) or 1, memory)

    # -- partitions ----------------------------------------------------------------------------------------------------

    @property
    def partitions(self) -> Partitions:
        """The partitions as they are now; built, with edges by source, if there are none yet."""
        return self._partitions or self.partitioned()

    def partitioned(self, orders: Sequence[str] = ("out",), columns: Sequence[str] = ()) -> Partitions:
        """Partitions with edges in the orders "out" (by source) or "incoming" (by destination), and some columns.

        What is there is kept: a second order is the first, transposed where it stands; a new column builds anew.
        """
        if not orders or any(order not in ("out", "incoming") for order in orders):
            raise OptionError(f"orders={orders!r}: choose 'out', 'incoming' or both")
        for name in columns:
            if name not in self.edge_columns:
                raise ColumnError(
                    f"the edges have no column {name!r}; they have {', '.join(self.edge_columns) or 'none'}"
                )
        now = self._partitions or (self._opened() if self._as_saved else None)
        if now is None or now.lost or not set(columns) <= set(now.columns):
            orders = tuple(dict.fromkeys([*orders, *(now.orders if now else ())]))
            now = self._build(orders[0], tuple(dict.fromkeys([*(now.columns if now else ()), *columns])))
        missing = [order for order in dict.fromkeys(orders) if order not in now.orders]
        self._partitions = self._transposed(now, missing[0]) if missing else now
        return self._partitions

    def _opened(self) -> Partitions:
        """The saved partitions, mapped from disk by the workers."""
        assert self._saved is not None
        with self._watch("open"):
            known, where = self._workers.share(self.numbering), self._workers.share(self.placement)
            tasks = [
                self._workers.call(
                    self._saved.partition, part, known, where, on=self._workers.host(part, self.num_parts)
                )
                for part in range(self.num_parts)
            ]
            held = self._workers.wait(self._workers.hold(tasks))
        return self._described(held, tuple(self._saved.content["orders"]), self._saved.content["columns"])

    def _build(self, order: str, columns: Sequence[str]) -> Partitions:
        chunks = self.by_number(columns)
        with self._watch("place"):
            where = self._place(chunks)
        with self._watch("partition"):
            held = assembly.partition(
                self._workers,
                chunks,
                self.numbering,
                where,
                order=order,
                mirror=not self.directed,
                skip_loops=self._skips,
            )
            self._fresh = None
            self._workers.wait(held)
        return self._described(held, (order,), columns)

    def _transposed(self, now: Partitions, order: str) -> Partitions:
        symmetric = not self.directed and self.num_parts == 1
        options: dict[str, Any] = {"symmetric": symmetric, "workers": self._workers.threads}
        with self._watch("transpose"):
            tasks = [self._workers.call(_with_order, one, order, **options) for one in now.held]
            held = self._workers.wait(self._workers.hold(tasks))
        return self._described(held, (*now.orders, order), now.columns)

    def _described(self, held: list[Any], orders: tuple[str, ...], columns: Sequence[str]) -> Partitions:
        sizes = self.policy, self.num_vertices, dict(self._watch.seconds)
        return Partitions(held, self._workers, orders, tuple(columns), *sizes)

    @property
    def placement(self) -> Placement:
        """Who owns which vertices."""
        return self._placement or self._place([] if self._as_saved else self.by_number())

    def _place(self, chunks: Sequence[Any]) -> Placement:
        if self._placement is None and self._saved is not None and self._as_saved:
            self._placement = self._saved.placement(self._policy)
        if self._placement is None:
            shares = self._workers.shares(self._asked[2], self.num_parts)
            rules_of: dict[str, Any] = {"mirror": not self.directed, "skip_loops": self._skips}
            self._placement = assembly.plan_places(
                self._workers, chunks, self.numbering, self._policy, shares, **rules_of
            )
        return self._placement

    # -- numbers -------------------------------------------------------------------------------------------------------

    @property
    def numbering(self) -> Numbering:
        """The user's ids to numbers and back."""
        return self._numbering or self.number()

    def number(self) -> Numbering:
        """Read the ids and number them, unless that is done."""
        if self._numbering is None and self._saved is not None:
            self._numbering = self._saved.numbering()
        if self._numbering is None:
            with self._watch("number"):
                listed, vertices = (
                    self._vertices.listed,
                    [self._workers.call(_vertex_ids, p, self._vertices.id) for p in self.vertex_pieces],
                )
                chunks = self._workers.hold(self._id_chunks())
                self._numbering, self._fresh, self._rows = assembly.number(self._workers, chunks, vertices, listed)
        return self._numbering

    def by_number(self, columns: Sequence[str] = (), *, origin: bool = False) -> list[Any]:
        """The graph's edges by number, in chunks, with some columns; with `origin` also which listed edge each one is.

        All rules are applied but `loops` when repeats are kept, which is left to whoever reads the chunks.
        """
        chunks = self._listed_by_number()
        if columns or origin:
            starts = np.concatenate([[0], np.cumsum(self._rows)])
            chunks = [
                self._workers.call(
                    _with_columns, chunk, piece, tuple(columns), int(start) if origin else None, self.weight
                )
                for chunk, piece, start in zip(chunks, self.edge_pieces, starts, strict=False)
            ]
        if self.symmetrize:
            chunks = [*chunks, *(self._workers.call(rules.reverses, chunk) for chunk in chunks)]
        if self.repeats != "keep":
            chunks = assembly.merge_repeats(
                self._workers,
                chunks,
                self.num_vertices,
                repeats=self.repeats,
                directed=self.directed,
                skip_loops=self._skips,
            )
        return chunks

    def _listed_by_number(self) -> list[Any]:
        known = self.numbering
        if self._fresh is not None:
            return self._fresh
        shared = self._workers.share(known)
        in_place = self._workers.client is None
        return self._workers.hold(
            [self._workers.call(assembly.number_again, chunk, shared, in_place) for chunk in self._id_chunks()]
        )

    def _id_chunks(self) -> list[Any]:
        ends = self._edges.source, self._edges.destination
        return [self._workers.call(_edge_ids, piece, *ends) for piece in self.edge_pieces]

    @property
    def _skips(self) -> bool:
        return self.loops == "drop"

    @cached_property
    def edge_pieces(self) -> list[Any]:
        """The frame of edges, in pieces that tasks read."""
        return self._workers.pieces(self._edges.frame, self._asked[1] or 1)

    @cached_property
    def vertex_pieces(self) -> list[Any]:
        """The frame of vertices, likewise."""
        return [] if self._vertices.frame is None else self._workers.pieces(self._vertices.frame, 1)


def _edge_ids(piece: Any, source: str, destination: str) -> chunks_of.Chunk:
    return chunks_of.take(chunks_of.local(piece), source, destination)


def _vertex_ids(piece: Any, name: str) -> chunks_of.Chunk:
    return chunks_of.take_vertices(chunks_of.local(piece), name)


def _with_columns(chunk: Any, piece: Any, columns: Sequence[str], start: int | None, weight: str | None) -> Any:
    frame = chunks_of.local(piece)
    found = {name: chunks_of.values(frame, name, is_weight=name == weight) for name in columns}
    if start is not None:
        found[rules.ROW] = np.arange(start, start + len(chunk))
        found[rules.FLIPPED] = np.zeros(len(chunk), bool)
    return assembly.with_columns(chunk, found)


def _with_order(partition: Any, order: str, **options: Any) -> Any:
    return partition.with_orders([order], **options)
