"""A graph divided into partitions, on the workers of a Dask cluster or in this process.

Users call its subclass `dgraph.graph.Graph`; code that runs on a graph needs only this class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from dgraph.building import assembly, graph_frames
from dgraph.building.input_edges import InputEdges
from dgraph.building.joined_graphs import JoinedGraphs
from dgraph.building.partition_set import Partitions
from dgraph.cluster.pickling_refusal import NotPicklable
from dgraph.cluster.retry import retry
from dgraph.cluster.shares import shares_of
from dgraph.cluster.workers import Workers, any_lost
from dgraph.errors import ColumnError, OptionError
from dgraph.estimates.footprints import footprint_of
from dgraph.estimates.memory_check import check_build_memory
from dgraph.native.free_memory import within
from dgraph.partition import policies
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.placement import Placement
from dgraph.programs.analysis import WEIGHT, Analysis

if TYPE_CHECKING:
    import dask.dataframe as dd


class PartitionedGraph(NotPicklable):
    """Edges and vertices by number, and the partitions built so far.

    Partitions are built at first use, with only the orders and columns that are needed.
    """

    def __init__(self, input_edges: InputEdges, asked: policies.PartitionOptions, *, as_saved: bool = False):
        """Divide the edges as `asked`. With `as_saved`, use the partitions of a saved graph unchanged."""
        policies.choose_policy(asked.policy, asked.parts or 1)  # refuses unknown policies
        self.input_edges, self.asked = input_edges, asked
        self.built: Partitions | None = None
        self._placement: Placement | None = None
        self.as_saved = as_saved
        self.joins, self.joined = 0, JoinedGraphs()  # how many partitions this graph has joined; what joins its own

    # -- properties ---------------------------------------------------------------------------------------------------

    @cached_property
    def num_vertices(self) -> int:
        """The number of vertices: those that occur in an edge, and those that `vertices=` lists.

        Examples
        --------
        >>> dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]}, vertices=["d"]).num_vertices
        4
        """
        return self.input_edges.num_vertices

    @property
    def num_edges(self) -> int:
        """The number of edges once the rules for loops, repeats and reverses have been applied.

        An undirected edge counts once.

        Examples
        --------
        >>> dg.Graph.from_edges({"src": [0, 0, 1], "dst": [1, 1, 1]}, loops="drop", repeats="first").num_edges
        1
        """
        return self.input_edges.num_edges

    @property
    def directed(self) -> bool:
        """Whether edges have a direction; if not, each edge stands for both directions.

        Examples
        --------
        >>> dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}, directed=False).directed
        False
        """
        return self.input_edges.rules.directed

    @property
    def weight(self) -> str | None:
        """The name of the edge column with weights; None if the graph is unweighted.

        Examples
        --------
        >>> dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2], "km": [3.0, 5.0]}, weight="km").weight
        'km'
        """
        return self.input_edges.edges.weight

    @cached_property
    def edge_columns(self) -> list[str]:
        """The names of all edge columns except the two with ids.

        Examples
        --------
        >>> dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2], "km": [3.0, 5.0], "lanes": [2, 4]}).edge_columns
        ['km', 'lanes']
        """
        return self.input_edges.edges.columns

    @cached_property
    def numbering(self) -> Numbering:
        """The numbering of the vertices, which translates the user's ids into vertex numbers and back.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]})
        >>> G.numbering.find("c"), G.numbering.size
        (2, 3)
        """
        return self.input_edges.numbering

    @property
    def policy(self) -> str:
        """The name of the policy that places vertices and edges; for ``"auto"``, the name of the chosen policy.

        Examples
        --------
        >>> dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}).policy
        'outgoing'
        """
        return self.cut.name

    @cached_property
    def cut(self) -> policies.Policy:
        """The policy that `policy` names.

        Examples
        --------
        >>> dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}).cut.sends_from_masters
        True
        """
        return policies.choose_policy(self.asked.policy, self.num_parts)

    @cached_property
    def num_parts(self) -> int:
        """The number of partitions, built or not.

        Examples
        --------
        >>> dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]}, parts=2).num_parts
        2
        """
        return self.asked.parts or self.input_edges.parts_for(self.asked.policy)

    @property
    def in_runs(self) -> Self:
        """The graph that operations run on: this one, or its edges in fewer partitions if it has very many.

        Examples
        --------
        >>> dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]}, parts=64).in_runs.num_parts
        1
        """
        very_many = (self.asked.parts or 1) >= policies.VERY_MANY and not self.joins
        return self.joined.of(self) if very_many else self

    @property
    def placement(self) -> Placement:
        """The partition that owns each vertex.

        Examples
        --------
        >>> dg.Graph.from_edges({"src": [0, 1, 2, 3], "dst": [1, 2, 3, 0]}, parts=2).placement.owner
        array([0, 0, 1, 1], dtype=uint16)
        """
        if self._placement is None and self.built is None and not self._is_whole:
            self.built = self._spliced()  # vertices stay where they were in the graph that was changed
        return self._placement or self._place([] if self.as_saved or self._is_whole else self.input_edges.by_number())

    @property
    def _is_whole(self) -> bool:
        """Whether the only partition has all vertices in the order of their ids, so that edges need no place."""
        return self.num_parts == 1 and self.cut.by_range

    @property
    def workers(self) -> Workers:
        """The workers that hold the graph, or this process.

        Examples
        --------
        >>> dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}).workers.client is None
        True
        """
        return self.input_edges.workers

    @property
    def client(self) -> Any:
        """The `distributed.Client` whose workers hold the graph; None if it is in this process.

        Returns
        -------
        distributed.Client or None

        Examples
        --------
        >>> dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}).client is None
        True
        """
        return self.workers.client

    @property
    def memory(self) -> int | None:
        """The bytes of memory that each process may use for the graph; None for what the machine or the worker allows.

        Examples
        --------
        >>> dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}, memory="4 GiB").memory
        4294967296
        """
        return self.workers.limit

    @property
    def edges(self) -> dd.DataFrame:
        """The edges as a lazy Dask frame with the user's ids and columns, with a partition for each of the graph.

        Examples
        --------
        >>> dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]}).edges.compute()["dst"].tolist()
        ['b', 'c']
        """
        return graph_frames.edges(self)

    @property
    def vertices(self) -> dd.DataFrame:
        """The vertices as a lazy Dask frame with the user's ids and attributes.

        It has one partition per partition of the graph.

        Examples
        --------
        >>> towns = pd.DataFrame({"id": ["a", "b", "c"], "people": [120, 80, 45]})
        >>> G = dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]}, vertices=towns)
        >>> G.vertices.compute()["people"].tolist()
        [120, 80, 45]
        """
        return graph_frames.with_text_ids(graph_frames.vertices(self), self.input_edges.vertices.id)

    def columns_for(self, analysis: Analysis) -> dict[str, tuple[str, str]]:
        """The name in the graph, and the dtype in kernels, of each edge column that a program reads.

        Parameters
        ----------
        analysis : Analysis
            What the program reads.

        Returns
        -------
        dict
            ``{column of the program: (column of the graph, dtype)}``.

        Raises
        ------
        ColumnError
            If the program reads a column that the graph lacks.

        Examples
        --------
        >>> from dgraph.ops.sssp import ShortestPaths
        >>> from dgraph.programs.analysis import analyse
        >>> G = dg.Graph.from_edges({"src": [0], "dst": [1], "km": [2.5]}, weight="km")
        >>> G.columns_for(analyse(ShortestPaths()))
        {'weight': ('km', 'float64')}
        """
        columns = {}
        for column in analysis.edge_columns:
            name = self.weight if column.name == "weight" and self.weight is not None else column.name
            unweighted = column is WEIGHT and self.weight is None  # no matter which columns the edges have
            if unweighted or name not in self.edge_columns:
                if column.name == "weight":
                    raise self.input_edges.edges.no_weight(f"{analysis.title} needs weights")
                has = ", ".join(map(repr, self.edge_columns)) or "no columns"
                raise ColumnError(f"{analysis.title} reads the edge column {name!r}; the edges have {has}")
            columns[column.name] = name, column.dtype.name
        return columns

    def _client(self) -> Any:
        return self.client

    # -- partitions ----------------------------------------------------------------------------------------------------

    @property
    def partitions(self) -> Partitions:
        """The sequence of partitions built so far; if there are none, they are built with edges by source.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]}, parts=2)
        >>> G.partitions
        <2 partitions by outgoing in this process: edges by source>
        >>> G.partitions.report.frame["edges"].tolist()
        [2, 1]
        """
        return self.built or self.partitioned()

    def partitioned(self, orders: Sequence[str] = ("out",), columns: Sequence[str] = ()) -> Partitions:
        """Build partitions with the given orders of edges and the given columns.

        Existing orders are kept. A second order is made by transposing the first; an order that lacks a column is
        rebuilt.

        Parameters
        ----------
        orders : sequence of str, default ("out",)
            ``"out"`` (edges by source), ``"incoming"`` (edges by destination), or both.
        columns : sequence of str, optional
            Edge columns to keep with each order.

        Returns
        -------
        Partitions

        Raises
        ------
        OptionError
            If an order is not recognised.
        ColumnError
            If the edges lack a column.
        RoomError
            If there is not enough memory, on the workers or in this process.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]}, parts=2)
        >>> G.partitioned(["out", "incoming"]).orders
        ('out', 'incoming')
        """
        orders, columns = ((one,) if isinstance(one, str) else tuple(one) for one in (orders, columns))
        if not orders or not {"out", "incoming"}.issuperset(orders):
            raise OptionError(f"orders={orders!r} must be 'out', 'incoming' or both")
        for name in columns:
            if name not in self.edge_columns:
                present = ", ".join(map(str, self.edge_columns)) or "none"
                raise ColumnError(f"the edges have no column {name!r}; they have {present}")
        with nullcontext() if self.memory is None else within(self.memory):
            return retry(self.client, lambda: self._partitioned(orders, columns), self.forget_lost)

    def forget_lost(self) -> None:
        """Forget what was lost with a worker.

        Lost data is rebuilt from the frames when an operation needs it.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
        >>> G.forget_lost()
        >>> G.num_edges
        2
        """
        self.input_edges.forget_lost()
        self.workers.forget()
        self.joined.forget_lost()
        if self.built is not None and not self.built.all_present:
            self.built = None

    def _partitioned(self, orders: Sequence[str], columns: Sequence[str]) -> Partitions:
        if self.built is None or any_lost(self.built.held):
            self.built = self._opened() if self.as_saved else self._spliced()
        now = self._described([], {}) if self.built is None else self.built
        symmetric = not self.directed and self.num_parts == 1  # then both orders are the same
        missing = _lacking(now.kept, [*orders, *(now.kept if symmetric else ())], columns)
        for order, names in missing.items():
            if now.has_reverse(order, names):
                now = self._without(now, [order])
                scratch = None if symmetric else now.scratch_beyond_memory(names)
                with self.input_edges.stopwatch("transpose"):
                    now = now.transposed(order, names, symmetric=symmetric, sort=self.input_edges.sort, scratch=scratch)
            else:
                streams = self.input_edges.can_stream(names, self.cut, self.num_parts)
                here = self.client is None and self._is_whole
                if not (streams and here):  # this may read the chunks, so it must run before they are freed
                    check_build_memory(self, "building the graph", footprint_of([order], names), holds=not streams)
                now = self._without(now, missing)
                tables = 1 if symmetric else len({*now.kept, *missing})
                held = self._stream(order, names, tables if here else 0) if streams else self._build(order, names)
                now = self._described(held, {order: names}).with_orders_of(now)
            now = self.built = self._described(now.held, now.kept)
        return now

    def _without(self, now: Partitions, orders: Iterable[str]) -> Partitions:
        """The partitions without some orders, so that an order is not in memory twice while it is built again."""
        self.built = (now := now.without(orders)) or None
        return now

    def _spliced(self) -> Partitions | None:
        """The partitions of a graph that was made by changing another one, if that one's can be changed."""
        made = self.input_edges.spliced(self.cut, self.num_parts)
        if made is None:
            return None
        partitions, self._placement = made
        return partitions

    def _opened(self) -> Partitions:
        """The saved partitions, memory-mapped by the workers."""
        saved = self.input_edges.saved
        assert saved is not None
        with self.input_edges.stopwatch("open"):
            held = self.workers.wait(saved.hold(self.workers, self.input_edges.numbering, self.placement))
        return self._described(held, dict.fromkeys(saved.content["orders"], tuple(saved.numbers)))

    def _stream(self, order: str, columns: Sequence[str], tables: int) -> list[Any]:
        """Partitions of edges that are too many to hold: the only one, which will need so many tables, or several."""
        if tables:
            return self.input_edges.built_by_streaming(order, columns, tables)
        edges = self.input_edges
        with edges.stopwatch("place"):
            where = self._placement = self._placement or edges.placed_by_streaming(self.cut, self._shares())
        with edges.stopwatch("partition"):
            return edges.spread_by_streaming(order, columns, where)

    def _build(self, order: str, columns: Sequence[str]) -> list[Any]:
        """Partitions with one order."""
        edges = self.input_edges
        if held := edges.built_on_gpu(order, columns, self._is_whole):
            return held
        (chunks, ends), sort = edges.chunks_to_build(columns), edges.sort
        with edges.stopwatch("place"):
            where, arcs = self._place(ends), edges.rules.arc_options
        with edges.stopwatch("partition"):
            how: dict[str, Any] = {"order": order, "sort": sort, "num_arcs": edges.num_arcs, **arcs}
            held = assembly.build_partitions(self.workers, chunks, edges.numbering, where, **how)
            del chunks, ends  # so that each is freed as soon as it is split
            return self.workers.wait(held)

    def _described(self, held: list[Any], kept: Mapping[str, tuple[str, ...]]) -> Partitions:
        seconds = dict(self.input_edges.stopwatch.seconds)
        return Partitions(held, self.workers, kept, self.cut.name, self.input_edges.num_vertices, seconds)

    def _place(self, chunks: Sequence[Any]) -> Placement:
        if self._placement is None and self.as_saved and self.input_edges.saved is not None:
            self._placement = self.input_edges.saved.placement(self.cut)
        if self._placement is None:
            arcs, shares = self.input_edges.rules.arc_options, self._shares()
            self._placement = assembly.plan_places(self.workers, chunks, self.numbering, self.cut, shares, **arcs)
        return self._placement

    def _shares(self) -> list[float]:
        return shares_of(self.workers, self.asked.capacities, self.num_parts)


def _lacking(kept: Mapping[str, Any], orders: Iterable[str], columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Which of these orders partitions have not kept with these columns, and the columns to build each of them with. If
    both must be built, they get the same columns."""
    needed = {order: tuple(dict.fromkeys([*kept.get(order, ()), *columns])) for order in orders}
    missing = {order: names for order, names in needed.items() if kept.get(order) != names}
    return dict.fromkeys(missing, tuple(dict.fromkeys(chain(*missing.values())))) if len(missing) > 1 else missing
