"""A graph: a user's edges, partitioned over the workers of a Dask cluster or kept in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from dgraph.building import graph_frames
from dgraph.building.division import Partitioning
from dgraph.building.input_edges import EdgeRules, InputEdges
from dgraph.building.partition_set import Partitions
from dgraph.building.shares import MOST_PARTS, check_capacities
from dgraph.cluster.pickling_refusal import NotPicklable
from dgraph.cluster.retry import retry
from dgraph.cluster.workers import Workers
from dgraph.errors import ColumnError, InputError, OptionError
from dgraph.estimates.footprints import FOOTPRINTS, footprint_of
from dgraph.estimates.memory_check import check_build_memory
from dgraph.frames.any_frame import column_of_numbers, is_lazy
from dgraph.frames.sources import edge_source, vertex_source
from dgraph.options import check_flag, check_integer, known_options
from dgraph.partition import rules
from dgraph.partition.ids.chunk import chunk_of_edges
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.placement import Placement
from dgraph.partition.policies import PartitionOptions, Policy
from dgraph.phrases import ALMOST, format_count, nearest

if TYPE_CHECKING:
    import dask.dataframe as dd

    from dgraph.building.validation import Validation
    from dgraph.estimates.estimate import Estimate


class Graph(NotPicklable):
    """Edges between vertices, whatever the vertices are called.

    Ids are numbered when the graph is made from a frame in memory, so that bad input is refused at once, and at first
    use when the frame is lazy. Partitions are built when they are first asked for, with only what is asked for.
    """

    listed: InputEdges
    division: Partitioning

    def __init__(self, *given: Any, **options: Any):
        raise InputError(
            "Graph() is not called: Graph.from_edges makes one of a frame, dgraph.read_edges of a file, "
            "dgraph.open_graph of a saved graph, dgraph.from_networkx and its like of other libraries' graphs"
        )

    @classmethod
    def of(cls, listed: InputEdges, asked: PartitionOptions, *, as_saved: bool = False) -> Graph:
        """A graph of frames, divided as asked. With `as_saved` the partitions of a saved graph are used as they are."""
        graph = cls.__new__(cls)
        graph.listed, graph.division = listed, Partitioning(listed, asked, as_saved=as_saved)
        return graph

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
        if check_flag("symmetrize", symmetrize) and not directed:
            raise OptionError("symmetrize=True is for directed graphs; an undirected graph has both directions already")
        edges, workers = edge_source(frame, source, destination, weight), Workers.find(client)
        parts = check_integer("parts", parts, 1, MOST_PARTS, or_none=True)
        check_capacities(workers, capacities, parts or len(workers.addresses) or 1)
        kept = EdgeRules(check_flag("directed", directed), loops, repeats, symmetrize)
        listed = InputEdges(edges, vertex_source(vertices), kept, workers)
        graph = cls.of(listed, PartitionOptions(policy, parts, capacities))
        if not is_lazy(edges.frame):
            if workers.client is not None:
                chunk_of_edges(edges.frame, source, destination)  # here, where an error can tell the row
            if weight is not None:
                column_of_numbers(edges.frame, weight, is_weight=True)
            if not is_lazy(listed.vertices.frame):
                listed.number()  # refuses ids that cannot be used, now rather than later
        return graph

    def save(self, path: Any, *, columns: list[str] | None = None, overwrite: bool = False) -> None:
        """Write the graph to a folder, whole or not at all, which `dgraph.open_graph` opens in no time.

        columns: the edge columns to save, numbers all; by default every one. overwrite: replace a saved graph."""
        from dgraph.building.graph_writer import save

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

    @property
    def cut(self) -> Policy:
        """The policy itself."""
        return self.division.cut

    @property
    def num_parts(self) -> int:
        """How many partitions there are, or will be."""
        return self.division.parts

    @property
    def placement(self) -> Placement:
        """Which partition owns which vertices."""
        return self.division.placement

    @property
    def workers(self) -> Workers:
        """Where the graph is: on a cluster's workers, or in this process."""
        return self.listed.workers

    @property
    def client(self) -> Any:
        """The client whose workers hold the graph; None if this process does."""
        return self.workers.client

    @property
    def edges(self) -> dd.DataFrame:
        """The edges as a lazy Dask frame, a partition of it for each partition of the graph."""
        return graph_frames.edges(self)

    @property
    def vertices(self) -> dd.DataFrame:
        """The vertices and their attributes as a lazy Dask frame, a partition of it for each partition of the graph."""
        return graph_frames.joinable(graph_frames.vertices(self), self.listed.vertices.id)

    def _client(self) -> Any:
        return self.client

    if not TYPE_CHECKING:  # who checks types is told by what there is

        def __getattr__(self, name: str) -> NoReturn:
            """The words that other libraries have for it, and operations, which they have as methods."""
            operations = {one.removeprefix("weighted_") for one in FOOTPRINTS} - {"build"}
            ours = {one for one in dir(Graph) if not one.startswith("_")}
            near = "" if name.startswith("_") else nearest(name, sorted(ours | operations), ALMOST)
            remedy = f"it is a function, dgraph.{near}(G)" if near in operations else f"did you mean {near}?"
            raise AttributeError(f"a Graph has no {name!r}{near and f'; {remedy}'}")

    def __repr__(self) -> str:
        parts = f", {format_count(self.num_parts, 'partition')} by {self.policy}" if self.listed.is_read else ""
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
        return self.division.built or self.partitioned()

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

        def admit(order: str, names: Sequence[str]) -> None:
            check_build_memory(self, "building the graph", footprint_of([order], names))

        return retry(self.client, lambda: self.division.partitioned(orders, columns, admit), self.forget_lost)

    def forget_lost(self) -> None:
        """Let go of what went away with a worker; it is made again from the frames."""
        self.listed.forget_lost()
        self.workers.forget()
        self.division.forget_lost()
