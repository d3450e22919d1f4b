"""A graph: a user's edges, partitioned over the workers of a Dask cluster or kept in this process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dgraph.building import assembly, frames
from dgraph.building.listed import Listed, Rules
from dgraph.building.partitions import Partitions
from dgraph.building.report import Stopwatch
from dgraph.building.shares import MOST_PARTS, check_capacities, shares_of
from dgraph.errors import ColumnError, OptionError
from dgraph.estimates.footprints import footprint_of
from dgraph.estimates.room import admit_build
from dgraph.options import known_options, switch, whole_number
from dgraph.partition import policies, rules
from dgraph.partition.chunk import chunk_of_edges
from dgraph.partition.frame import column_of_numbers, is_lazy
from dgraph.partition.numbering import Numbering
from dgraph.partition.placement import Placement
from dgraph.partition.source import EdgeSource, VertexSource, edge_source, vertex_source
from dgraph.recovery import retry
from dgraph.staying import Staying
from dgraph.wording import counted
from dgraph.workers import Workers

if TYPE_CHECKING:
    import dask.dataframe as dd

    from dgraph.building.saved import Saved
    from dgraph.building.validation import Validation
    from dgraph.estimates.estimate import Estimate


class Graph(Staying):
    """Edges between vertices, whatever the vertices are called.

    Ids are numbered when the graph is made from a frame in memory, so that bad input is refused at once, and at first
    use when the frame is lazy. Partitions are built when they are first asked for, with only what is asked for.
    """

    def __init__(
        self,
        edges: EdgeSource,
        vertices: VertexSource,
        rules: Rules,
        *,
        policy: Any = "auto",
        parts: int | None = None,
        capacities: Any = None,
        workers: Workers | None = None,
        saved: Saved | None = None,
        as_saved: bool = False,
    ):
        policies.choose(policy, parts or 1)  # refuses what is no policy
        self.asked = policies.AskedParts(policy, parts, capacities)
        self.workers, self.watch = workers or Workers(), Stopwatch()
        self.listed = Listed(edges, vertices, rules, self.workers, self.watch, saved)
        self._placement: Placement | None = None
        self._partitions: Partitions | None = None
        self._as_saved = as_saved  # whether the partitions of a saved graph are to be used as they are

    @classmethod
    @known_options()
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
        capacities: how fast the workers are: {worker: number}, "measure", or None: equal; if unlike, measured.
        client:     a distributed.Client; by default the current one, or this process if there is none.
        """
        rules.check(loops, repeats)
        if switch("symmetrize", symmetrize) and not directed:
            raise OptionError("symmetrize=True is for directed graphs; an undirected graph has both directions already")
        edges, workers = edge_source(frame, source, destination, weight), Workers.find(client)
        parts = whole_number("parts", parts, 1, MOST_PARTS, or_none=True)
        check_capacities(workers, capacities, parts or len(workers.addresses) or 1)
        listed, kept = vertex_source(vertices), Rules(switch("directed", directed), loops, repeats, symmetrize)
        graph = cls(edges, listed, kept, policy=policy, parts=parts, capacities=capacities, workers=workers)
        if not is_lazy(edges.frame):
            if workers.client is not None:
                chunk_of_edges(edges.frame, source, destination)  # here, where an error can tell the row
            if weight is not None:
                column_of_numbers(edges.frame, weight, is_weight=True)
            if not is_lazy(graph.listed.vertices.frame):
                graph.listed.number()  # refuses ids that cannot be used, now rather than later
        return graph

    def save(self, path: Any, *, columns: list[str] | None = None, overwrite: bool = False) -> None:
        """Write the graph to a folder, whole or not at all, which `dgraph.open_graph` opens in no time.

        columns: the edge columns to save, numbers all; by default every one. overwrite: replace a saved graph."""
        from dgraph.building.saving import save

        save(self, path, columns=columns, overwrite=overwrite)

    # -- what there is -------------------------------------------------------------------------------------------------

    @property
    def num_vertices(self) -> int:
        """Vertices that an edge names or that are listed beside them, each once."""
        return self.listed.num_vertices

    @property
    def num_edges(self) -> int:
        """Edges after the rules for loops, repeats and reverses; an undirected edge counts once."""
        return self.listed.num_edges

    @property
    def directed(self) -> bool:
        """Whether an edge leads one way; else each stands for both."""
        return self.listed.rules.directed

    @property
    def weight(self) -> str | None:
        """The name of the weight column."""
        return self.listed.edges.weight

    @property
    def edge_columns(self) -> list[str]:
        """The names of the edge columns beside the ends."""
        return self.listed.edges.columns

    @property
    def numbering(self) -> Numbering:
        """The user's ids to numbers and back."""
        return self.listed.numbering

    @property
    def policy(self) -> str:
        """The name of the policy that says which partition owns a vertex and holds an edge; of "auto" what it chose."""
        return self.cut.name

    @cached_property
    def cut(self) -> policies.Policy:
        """The policy itself, a `Policy`."""
        return policies.choose(self.asked.policy, self.num_parts)

    @cached_property
    def num_parts(self) -> int:
        """How many partitions there are, or will be."""
        return self.asked.parts or self.workers.parts_for(self.listed.num_arcs)

    @property
    def client(self) -> Any:
        """The client whose workers hold the graph; None if this process does."""
        return self.workers.client

    @property
    def edges(self) -> dd.DataFrame:
        """The edges as a lazy Dask frame, a partition of it for each partition of the graph."""
        return frames.edges(self)

    @property
    def vertices(self) -> dd.DataFrame:
        """The vertices and their attributes as a lazy Dask frame, a partition of it for each partition of the graph."""
        return frames.joinable(frames.vertices(self), self.listed.vertices.id)

    def _client(self) -> Any:
        return self.client

    def __repr__(self) -> str:
        parts = f", {counted(self.num_parts, 'partition')} by {self.policy}" if self.listed.is_read else ""
        return f"<Graph: {self.listed}{parts}>"

    def validate(self) -> Validation:
        """Count what can surprise: loops, repeats, isolated and dangling vertices, missing or negative weights. Say
        what each operation does with it, and check every block of a graph that was opened from disk."""
        from dgraph.building.validation import validate

        return validate(self)

    def estimate(self, op: str = "build", *, workers: int | None = None, memory: int | str | None = None) -> Estimate:
        """Memory of each worker and bytes exchanged in a round, for every policy, before any work is done.

        op:      the operation to be run, "weighted_pagerank" say, or "build" for the partitions alone.
        workers: how many workers there will be; by default as many as partitions were asked for, or those there are.
        memory:  what each worker may use ("4 GiB"); policies that need more do not fit.
        """
        from dgraph.estimates.estimate import estimate

        return estimate(self, op, workers, memory)

    # -- partitions ----------------------------------------------------------------------------------------------------

    @property
    def partitions(self) -> Partitions:
        """The partitions as they are now; built, with edges by source, if there are none yet."""
        return self._partitions or self.partitioned()

    def partitioned(self, orders: Sequence[str] = ("out",), columns: Sequence[str] = ()) -> Partitions:
        """Partitions with edges in the orders "out" (by source) or "incoming" (by destination), and some columns.

        What is there is kept: a second order is the first, transposed; one that lacks a column is built anew."""
        orders, columns = ((one,) if isinstance(one, str) else tuple(one) for one in (orders, columns))
        if not orders or not {"out", "incoming"}.issuperset(orders):
            raise OptionError(f"orders={orders!r}: choose 'out', 'incoming' or both")
        for name in columns:
            if name not in self.edge_columns:
                known = ", ".join(map(str, self.edge_columns)) or "none"
                raise ColumnError(f"the edges have no column {name!r}; they have {known}")
        return retry(self.client, lambda: self._with(orders, columns), self.forget_lost)

    def forget_lost(self) -> None:
        """Let go of what went away with a worker; it is made again from the frames."""
        self.listed.forget_lost()
        self.workers.forget()
        if self._partitions is not None and not self._partitions.all_there:
            self._partitions = None

    def _with(self, orders: Sequence[str], columns: Sequence[str]) -> Partitions:
        now = self._partitions or (self._opened() if self._as_saved else None)
        now = self._described([], {}) if now is None or now.lost else now
        symmetric = not self.directed and self.num_parts == 1  # then both orders are one
        missing = now.lacking([*orders, *(now.orders if symmetric else ())], columns)
        for order, names in missing.items():
            if now.has_reverse(order, names):
                now = self._let_go(now, [order])
                with self.watch("transpose"):
                    now = now.transposed(order, names, symmetric=symmetric, sort=self.listed.sort)
            else:
                admit_build(self, "building the graph", footprint_of([order], names))  # which may look at the chunks
                now = self._let_go(now, missing)
                now = self._build(order, names).beside(now)
            now = self._partitions = self._described(now.held, now.kept)
        return now

    def _let_go(self, now: Partitions, orders: Iterable[str]) -> Partitions:
        """The partitions without some orders: what is made anew is not there twice meanwhile."""
        now = now.without(orders)
        self._partitions = now or None
        return now

    def _opened(self) -> Partitions:
        """The saved partitions, mapped from disk by the workers."""
        saved = self.listed.saved
        assert saved is not None
        with self.watch("open"):
            held = self.workers.wait(saved.hold(self.workers, self.numbering, self.placement))
        return self._described(held, dict.fromkeys(saved.content["orders"], tuple(saved.content["columns"])))

    def _build(self, order: str, columns: Sequence[str]) -> Partitions:
        if held := self.listed.built_there(order, columns, self.num_parts == 1 and self.cut.by_range):
            return self._described(held, {order: tuple(columns)})
        (chunks, ends), sort = self.listed.to_build(columns), self.listed.sort
        with self.watch("place"):
            where, arcs = self._place(ends), self.listed.rules.of_arcs
        with self.watch("partition"):
            held = assembly.partition(self.workers, chunks, self.numbering, where, order=order, sort=sort, **arcs)
            del chunks, ends  # each may go as soon as it was split
            self.workers.wait(held)
        return self._described(held, {order: tuple(columns)})

    def _described(self, held: list[Any], kept: Mapping[str, tuple[str, ...]]) -> Partitions:
        return Partitions(held, self.workers, kept, self.policy, self.num_vertices, dict(self.watch.seconds))

    @property
    def placement(self) -> Placement:
        """Which partition owns which vertices."""
        return self._placement or self._place([] if self._as_saved else self.listed.by_number())

    def _place(self, chunks: Sequence[Any]) -> Placement:
        if self._placement is None and self._as_saved and self.listed.saved is not None:
            self._placement = self.listed.saved.placement(self.cut)
        if self._placement is None:
            shares = shares_of(self.workers, self.asked.capacities, self.num_parts)
            arcs = self.listed.rules.of_arcs
            self._placement = assembly.plan_places(self.workers, chunks, self.numbering, self.cut, shares, **arcs)
        return self._placement
