"""A graph before partitioning: the user's frames, the numbering of their ids, and the rules for edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.building import assembly, numbering_tasks
from dgraph.building.build_report import Stopwatch
from dgraph.building.edge_room import scratch_beyond_memory, where_on_disk
from dgraph.building.edge_stream import EdgeStream, NumberedEdges
from dgraph.building.frame_pieces import (
    PieceReader,
    add_columns,
    edge_ids,
    enumerate_pieces,
    narrow_columns,
    vertex_ids,
)
from dgraph.building.gpu_build import DeviceEdges
from dgraph.cluster.retry import retry
from dgraph.cluster.tasks import are_independent
from dgraph.cluster.workers import Workers, any_lost, homes_of
from dgraph.devices import distinct_ids, sorted_rows
from dgraph.estimates.memory_check import check_frame_memory
from dgraph.frames.any_frame import is_lazy, is_numeric
from dgraph.frames.sources import EdgeSource, VertexSource
from dgraph.native.free_memory import free_memory, has_room, within
from dgraph.partition import adjacency, rules
from dgraph.partition.adjacency import SortFunction
from dgraph.partition.ids import id_tables
from dgraph.partition.ids.chunk import Chunk
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.partition import Partition
from dgraph.partition.placement import Placement
from dgraph.partition.policies import PartitionOptions, Policy, choose_policy
from dgraph.partition.proxies import MOST_LOCAL_IDS, check_local_ids
from dgraph.phrases.phrases import format_count

if TYPE_CHECKING:
    from dgraph.building.partition_set import Partitions
    from dgraph.building.saved_graph import SavedGraph, SavedVersion

BYTES_TO_SORT = 32  # bytes per edge while a partition is assembled: its ends by number, by local id, and sorted
MEMORY_SHARE = 6  # sorting a partition's edges may use 1 / MEMORY_SHARE of a worker's memory
BYTES_TO_STREAM = 10  # bytes per edge while a partition is sorted from the disk, and a margin
HELD_BYTES = 64  # of an edge, on the workers that build partitions of edges that they hold
HELD_SHARE = 16  # edges of a lazy frame that take less than this fraction of the free memory are held
NUMBERS = [np.dtype(code) for code in "?bBhHiIlLfd"]  # the types of columns that kernels take as they are


@dataclass(frozen=True)
class EdgeRules:
    """Which of the listed edges are in the graph; see `Graph.from_edges`."""

    directed: bool = True
    loops: str = "keep"
    repeats: str = "keep"
    symmetrize: bool = False

    @property
    def skip_loops(self) -> bool:
        return self.loops == "drop"

    @property
    def arc_options(self) -> dict[str, bool]:
        """How edges become arcs: whether each gets a reverse, and whether loops are skipped."""
        return {"mirror": not self.directed, "skip_loops": self.skip_loops}


class InputEdges:
    """Edges and vertices as the user listed them. They are read and numbered at first use."""

    changes: Any = None  # the report of the update that made them, if one did
    history: Any = None  # and what has become of the listed edges

    def __init__(
        self,
        edges: EdgeSource,
        vertices: VertexSource,
        rules: EdgeRules,
        workers: Workers,
        saved: SavedGraph | None = None,  # has all ids, including those that no frame lists
    ):
        self.edges, self.vertices, self.rules = edges, vertices, rules
        self.workers, self.saved, self.stopwatch = workers, saved, Stopwatch()
        self.version: object = object()  # these edges
        self.root = self.version  # and those that they were made from by updates
        self.later_rules = rules  # which edges of later updates are in the graph
        self.opened = saved  # what they were opened as
        self.lists_all_vertices = saved is not None  # whether the frame of vertices has those without attributes, too
        self._places: tuple[SavedVersion, ...] = ()
        self.rows: list[int] = saved.content["edges"] if saved else []  # the rows of each piece of the edge frame
        self.fresh: list[Any] | None = None  # the numbered chunks, kept from numbering until the first build
        self._lent, self._lending = False, Lock()  # whether anything besides the build may still read `fresh`
        self.device_edges: DeviceEdges | None = None  # the edges on a GPU, kept until the first build
        self.streamed: NumberedEdges | None = None  # what is known of edges that are too many to hold
        if saved and rules == EdgeRules(directed=saved.content["directed"]):
            self.num_edges = saved.content["num_edges"]
        self._numbering: Numbering | None = None
        self._readers: dict[tuple[str, ...], PieceReader] = {}  # of all pieces, with some columns
        self._edge_pieces: list[Any] | None = None
        self._slices = 0  # the number of edge pieces, which stays the same if they are sent again
        self._vertex_pieces: list[Any] | None = None

    def anew(self, rules: EdgeRules | None = None) -> InputEdges:
        """The same frames as the input of another graph, with other rules if given."""
        other = InputEdges(self.edges, self.vertices, rules or self.rules, self.workers, self.saved)
        if self._numbering is not None and self.streamed is None:
            other.rows = self.rows
            return other.numbered_as(self)
        return other

    @property
    def places(self) -> tuple[SavedVersion, ...]:
        """The versions of saved graphs that these edges are."""
        return self._places

    @property
    def is_saved(self) -> bool:
        """Whether they are a version of a saved graph."""
        return bool(self.places)

    def saved_as(self, version: SavedVersion) -> None:
        """Note that they have been saved."""
        self._places = (*(one for one in self._places if one.root != version.root), version)

    def numbered_as(self, other: InputEdges) -> InputEdges:
        """These edges, whose vertices have the numbers that they have in another graph."""
        self._numbering = other.numbering
        return self

    # -- sizes --------------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        kind = "directed" if self.rules.directed else "undirected"
        if not self.is_read:
            return f"{kind}, not read yet"
        return f"{kind}, {format_count(self.num_vertices, 'vertex')}, {format_count(self.num_edges, 'edge')}"

    @property
    def is_read(self) -> bool:
        return self._numbering is not None or self.saved is not None

    @property
    def num_vertices(self) -> int:
        return self.numbering.size if self.saved is None else self.saved.content["num_vertices"]

    @property
    def num_input_edges(self) -> int:
        """The number of listed edges, before any rule."""
        self.number()
        return sum(self.rows)

    @cached_property
    def num_arcs(self) -> int:
        """The approximate number of arcs in the partitions, before repeats are merged."""
        return self.num_input_edges * (1 + (not self.rules.directed or self.rules.symmetrize))

    def parts_for(self, policy: Any) -> int:
        """The number of partitions that the workers have memory for while each builds one at a time."""
        if self.workers.client is None:
            return 1
        streams = self.can_stream((), choose_policy(policy, 2), 2)
        return self.workers.parts_for(self.num_arcs, BYTES_TO_STREAM if streams else BYTES_TO_SORT * MEMORY_SHARE)

    def has_room_for(self, asked: PartitionOptions) -> bool:
        """Whether there is memory to build one partition for each worker, and local ids and places for what it holds.
        A GPU may have room for a part of it only."""
        parts = asked.parts or 1
        if self.workers.with_cuda() or self.num_vertices > MOST_LOCAL_IDS or self.num_arcs // parts > MOST_LOCAL_IDS:
            return False
        if self.workers.client is None:
            with within(self.workers.limit):
                return has_room(BYTES_TO_SORT * self.num_arcs)
        return self.parts_for(asked.policy) <= parts

    @cached_property
    def num_loops(self) -> int:
        """The number of self loops among the listed edges."""
        return sum(self.workers.get([self.workers.call(rules.count_loops, chunk) for chunk in self.as_listed()]))

    @cached_property
    def num_edges(self) -> int:
        """The number of edges after the rules; an undirected edge counts once."""
        if self.rules.repeats != "keep":
            return sum(self.workers.get([self.workers.call(len, chunk) for chunk in self.by_number()]))
        loops = self.num_loops if self.rules.symmetrize or self.rules.skip_loops else 0
        others = self.num_input_edges - loops
        return (2 * others if self.rules.symmetrize else others) + (0 if self.rules.skip_loops else loops)

    @property
    def edges_if_counted(self) -> int | None:
        """The number of edges if it is known, or follows from counts that are; else None."""
        counted, rules = vars(self), self.rules
        if "num_edges" in counted:
            return self.num_edges
        if self._numbering is None or rules.repeats != "keep":
            return None
        needs_loops = rules.symmetrize or rules.skip_loops
        return None if needs_loops and "num_loops" not in counted else self.num_edges

    # -- the edges by number -------------------------------------------------------------------------------------------

    @property
    def numbering(self) -> Numbering:
        """Translates the user's ids into vertex numbers and back."""
        return self._numbering or self.number()

    def number(self) -> Numbering:
        """Read and number the ids, unless this is already done."""
        with within(self.workers.limit):
            return retry(self.workers.client, self._number, self.forget_lost)

    def _number(self) -> Numbering:
        if self._numbering is None and self.saved is not None:
            self._numbering = self.saved.numbering()
        if self._numbering is None:
            with self.stopwatch("number"):
                on_gpu = DeviceEdges.of(self)
                if on_gpu is not None and (numbering := on_gpu.number(self.vertices.id_range)) is not None:
                    self._numbering, self.device_edges, self.rows = numbering, on_gpu, on_gpu.rows
                    return numbering
                vertices = [
                    self.workers.call(vertex_ids, piece, self.vertices.id, number)
                    for number, piece in enumerate_pieces(self.vertices.frame, self.vertex_pieces)
                ]
                if (numbered := self._numbered_in_passes(vertices)) is not None:
                    self._numbering, self.fresh, self.rows = numbered.numbering, numbered.chunks, numbered.rows
                    self.num_loops = numbered.loops
                    self.streamed = numbered if numbered.chunks is None else None
                    return numbered.numbering
                alone = self.workers.client is not None and is_lazy(self.edges.frame)
                self._numbering, self.fresh, self.rows = numbering_tasks.number_chunks(
                    self.workers, self.id_chunks(), vertices, self.vertices.id_range, self.id_coder, alone
                )
        return self._numbering

    def by_number(self, columns: Sequence[str] = (), *, origin: bool = False) -> list[Any]:
        """The graph's edges by number, in chunks, with some columns; with `origin`, also the listed edge of each.

        All rules are applied, except that loops stay if repeats are kept; the reader must then skip them.
        """
        return self.by_rules(self.with_columns(self.as_listed(), columns, origin=origin))

    def chunks_to_build(self, columns: Sequence[str]) -> tuple[list[Any], list[Any]]:
        """Return the edges to build partitions from, and the same edges to place vertices by. The latter have no
        columns, since a lazy frame would be read a second time for them; merging repeats reads every column once
        anyway."""
        listed = self.as_listed(to_build=True)
        chunks = self.by_rules(self.with_columns(listed, columns))
        return chunks, chunks if self.rules.repeats != "keep" else self.by_rules(listed)

    def with_columns(self, chunks: list[Any], columns: Sequence[str], *, origin: bool = False) -> list[Any]:
        """Listed chunks with some columns added: tasks that read them from the frame."""
        if not (columns or origin):
            return chunks
        starts = list(accumulate(self.rows, initial=0))[:-1]
        pieces = enumerate_pieces(self.edges.frame, self.pieces_with(columns))
        numbering = self.workers.share(self.numbering) if is_lazy(self.edges.frame) else None
        how = tuple(columns), (self.edges.source, self.edges.destination, self.edges.weight), numbering
        return [
            self.workers.call(add_columns, chunk, piece, *how, start if origin else None, number, on=on)
            for chunk, (number, piece), start, on in zip(chunks, pieces, starts, self.homes(), strict=True)
        ]

    def by_rules(self, chunks: list[Any]) -> list[Any]:
        """The listed edges after the rules; loops stay, unless repeats are merged."""
        if self.rules.symmetrize:
            chunks = [*chunks, *(self.workers.call(rules.reverses, chunk) for chunk in chunks)]
        if self.rules.repeats != "keep":
            chunks = assembly.merge_repeats(self.workers, chunks, self.numbering, self.rules)
        return chunks

    def built_on_gpu(self, order: str, columns: Sequence[str], whole: bool) -> list[Partition]:
        """The only partition of the graph, built on the GPU that has the edges (experimental). An empty list if no GPU
        has them, if it lacks memory to sort them, or if there are several partitions. Frees the edges in any case."""
        numbering = self.numbering
        on_gpu, self.device_edges = self.device_edges, None
        if on_gpu is None or not whole:
            return []
        with self.stopwatch("partition"):
            table = on_gpu.adjacency(numbering, columns, self.edges.weight, order=order, rules=self.rules)
        if on_gpu.num_edges is not None:
            self.num_edges = on_gpu.num_edges
        return [] if table is None else [Partition.of_whole_graph(table, order, numbering.ids())]

    def _numbered_in_passes(self, vertices: Sequence[Any]) -> NumberedEdges | None:
        """The numbering of a lazy frame that is read here, piece by piece, with the edges if they are few; None if its
        ids are not integers that a bitmap can number."""
        if not is_lazy(self.edges.frame) or self.of_gpus:
            return None
        if not all(is_numeric(self.edges.frame, end) for end in (self.edges.source, self.edges.destination)):
            return None
        if self.workers.client is not None:
            if self._merges or not self._exceeds_workers():
                return None
            return self._spread().number(vertices, self.vertices.id_range, (self.workers.memory or 0) // HELD_SHARE)
        listed = self.workers.get(vertices)
        budget = free_memory() // HELD_SHARE
        self.stopwatch.expect("numbering ids", len(self.edge_pieces))
        return EdgeStream(self._read, len(self.edge_pieces)).number(listed, self.vertices.id_range, budget)

    def _exceeds_workers(self) -> bool:
        """Whether the workers would have to keep much of a lazy frame on disk while they build, told from one piece.
        False also if they hold the frame already, or if its pieces are not computed one by one."""
        limit, pieces = self.workers.memory, self.pieces_with()
        if limit is None or len(pieces) < 2 or not are_independent(pieces):
            return False
        (rows,) = self.workers.get([self.workers.call(len, pieces[len(pieces) // 2])])
        return rows * len(pieces) * HELD_BYTES > limit * len(self.workers.addresses)

    def _spread(self) -> Any:
        """The stream of pieces for several workers or partitions."""
        from dgraph.building.spread_stream import SpreadStream

        return SpreadStream(self.workers, self._piece_readers, self.stopwatch)

    def spliced(self, policy: Policy, parts: int) -> tuple[Partitions, Placement | None] | None:
        """The partitions of the graph, made of those of the graph that was changed; None if there are none."""
        return None

    @property
    def _merges(self) -> bool:
        return self.rules.repeats != "keep" or self.rules.symmetrize

    def can_stream(self, columns: Sequence[str], policy: Policy, parts: int) -> bool:
        """Whether this graph's edges are too many to hold, and so many partitions of this policy can be built without
        holding them: no edges must be merged, no column may have missing values, and vertices are placed by range."""
        self.number()
        if self.streamed is None or self._merges or not policy.by_range:
            return False
        here = self.workers.client is None
        if parts > 1 and (policy.edges is not None or (here and has_room(BYTES_TO_SORT * self.num_arcs))):
            return False
        types = [self.edges.frame._meta[name].dtype for name in columns]
        return all(isinstance(one, np.dtype) and one in NUMBERS for one in types)

    def placed_by_streaming(self, policy: Policy, shares: Sequence[float]) -> Placement:
        """The masters of such a graph."""
        return self._spread().placement(self.streamed, policy, shares, **self.rules.arc_options)

    def spread_by_streaming(self, order: str, columns: Sequence[str], where: Placement) -> list[Any]:
        """The partitions of such a graph, held."""
        types = {name: self.edges.frame._meta[name].dtype for name in columns}
        halves = self._spread().halves(self.streamed, where, order, types, **self.rules.arc_options)
        return self.workers.wait(assembly.with_requests(self.workers, halves))

    def built_by_streaming(self, order: str, columns: Sequence[str], tables: int) -> list[Partition]:
        """The only partition of such a graph, which will need so many tables of edges."""
        check_local_ids(0, 1, self.num_vertices)
        types = {name: self.edges.frame._meta[name].dtype for name in columns}
        width = sum(dtype.itemsize for dtype in types.values())
        scratch = scratch_beyond_memory(self.num_arcs, self.num_vertices, width, tables)
        with self.stopwatch("partition"):
            self.stopwatch.expect(f"sorting edges{where_on_disk(scratch)}", 2 * len(self.edge_pieces))
            stream = EdgeStream(self._read, len(self.edge_pieces))
            assert self.streamed is not None, "can_stream was asked"
            how: dict[str, Any] = {"weight": self.edges.weight, "scratch": scratch, **self.rules.arc_options}
            table = stream.adjacency(self.streamed, order, types, **how)
        return [Partition.of_whole_graph(table, order, self.numbering.ids())]

    def _read(self, number: int, columns: tuple[str, ...]) -> tuple[Chunk, dict[str, np.ndarray]]:
        """The ids and some columns of a piece of a lazy frame, in the thread that calls this."""
        if columns not in self._readers:
            (self._readers[columns],) = self._piece_readers(columns, 1)
        found = self._readers[columns].read(number)
        self.stopwatch.read(len(found[0]))
        return found

    def _piece_readers(self, columns: Sequence[str], shares: int) -> list[PieceReader]:
        """Readers of some columns, each of a share of the pieces."""
        pieces = self.pieces_with(columns)
        numbers = range(len(pieces))
        cuts = [len(pieces) * share // shares for share in range(shares + 1)]
        return [PieceReader(pieces, numbers[a:z], self.edges, columns) for a, z in pairwise(cuts)]

    @property
    def sort(self) -> SortFunction:
        """The function that sorts edges: on the GPUs of the workers that build (experimental) if the edges come from a
        GPU, else on CPUs."""
        return sorted_rows.build if self.of_gpus else adjacency.build

    @property
    def id_coder(self) -> Any:
        """The module that finds distinct ids, on GPUs or CPUs like `sort`."""
        return distinct_ids if self.of_gpus else id_tables

    @property
    def of_gpus(self) -> bool:
        return self.edges.of_cudf or self.edges.on_device

    def as_listed(self, chosen: Sequence[int] | None = None, *, to_build: bool = False) -> list[Any]:
        """Chunks of edges by number, before any rule: all of them, or those of the chosen pieces. With `to_build`, the
        caller owns the chunks, and they are not kept here; they may be freed unless something else still reads them."""
        self.number()
        with self._lending:
            if self.fresh is not None and any_lost(self.fresh):
                self.fresh = None
            fresh, lent = self.fresh, self._lent
            if to_build:
                self.fresh = None
            self._lent = not to_build
        chunks = fresh if fresh is not None else self.id_chunks()
        chunks = chunks if chosen is None else [chunks[piece] for piece in chosen]
        if fresh is not None:
            ours = to_build and not lent and self.workers.client is None
            return [replace(chunk, exclusive=True) for chunk in chunks] if ours else chunks
        return self.workers.hold(self._renumbered(chunks))

    def to_read(self) -> list[Any]:
        """Like `as_listed`, but edges that are not held now become tasks, so that they need never be held at once."""
        return self._renumbered(self.id_chunks()) if self.fresh is None else self.as_listed()

    def _renumbered(self, chunks: list[Any]) -> list[Any]:
        """Tasks that number chunks with the user's ids."""
        shared = self.workers.share(self.numbering)
        how = shared, self.workers.client is None, self.id_coder.encode, is_lazy(self.edges.frame)
        return [self.workers.call(numbering_tasks.renumber_chunk, chunk, *how) for chunk in chunks]

    def id_chunks(self) -> list[Any]:
        ends = self.edges.source, self.edges.destination
        pieces = enumerate_pieces(self.edges.frame, self.pieces_with())
        return [
            self.workers.call(edge_ids, piece, *ends, number, on=on)
            for (number, piece), on in zip(pieces, self.homes(), strict=True)
        ]

    def pieces_with(self, columns: Sequence[str] = ()) -> list[Any]:
        """The pieces of the edge frame with ids and some columns, and perhaps other columns."""
        some = narrow_columns(self.edges.frame, [self.edges.source, self.edges.destination, *columns])
        return some if some is not None and len(some) == len(self.edge_pieces) else self.edge_pieces

    @property
    def edge_pieces(self) -> list[Any]:
        """The frame of edges, in pieces that tasks read."""
        if self._edge_pieces is None or any_lost(self._edge_pieces):
            self._edge_pieces = self._sent(self.edges.frame, "edges", self._slices)
            self._slices = len(self._edge_pieces)
        return self._edge_pieces

    def homes(self) -> list[str | None]:
        """The worker that holds each piece of the frame of edges, if it was sent there. Tasks that read the piece run
        there, since Dask copies it to a worker that has less to do, and may then drop the first copy."""
        held = self.edge_pieces
        sent = self.workers.client is not None and not is_lazy(self.edges.frame)
        return list(homes_of(self.workers.client, held)) if sent else [None] * len(held)

    @property
    def vertex_pieces(self) -> list[Any]:
        """The frame of vertices, in pieces that tasks read."""
        if self._vertex_pieces is None or any_lost(self._vertex_pieces):
            self._vertex_pieces = [] if self.vertices.frame is None else self._sent(self.vertices.frame, "vertices")
        return self._vertex_pieces

    def _sent(self, frame: Any, what: str, slices: int = 0) -> list[Any]:
        if self.workers.client is not None and not is_lazy(frame):
            check_frame_memory(self.workers, frame, what)
        return self.workers.pieces(frame, slices)

    def forget_lost(self) -> None:
        """Forget the workers' copies of the frames, so that these are sent or read again."""
        self.fresh = self._edge_pieces = self._vertex_pieces = None
