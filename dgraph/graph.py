"""A graph: the user's edges, partitioned over the workers of a Dask cluster or kept in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from dgraph.arguments import check_flag, check_integer, known_options
from dgraph.building.container_refusal import ContainerRefusal
from dgraph.building.graph_display import GraphDisplay
from dgraph.building.input_edges import EdgeRules, InputEdges
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.cluster.retry import retry
from dgraph.cluster.shares import MOST_PARTS, check_capacities
from dgraph.cluster.workers import Workers
from dgraph.errors import InputError, OptionError
from dgraph.estimates.footprints import OPERATIONS
from dgraph.frames.any_frame import is_lazy, numeric_column
from dgraph.frames.sources import edge_source, vertex_source
from dgraph.partition import rules
from dgraph.partition.ids.chunk import chunk_of_edges
from dgraph.partition.policies import PartitionOptions, is_saved_function
from dgraph.phrases.phrases import format_count
from dgraph.phrases.suggestions import CLOSE_MATCH, CUTS, suggestion

if TYPE_CHECKING:
    from dgraph.building.validation import Validation
    from dgraph.changes.update_report import UpdateReport
    from dgraph.estimates.estimate import Estimate
    from dgraph.runs.result import RunResult


class Graph(GraphDisplay, ContainerRefusal):
    """A graph with the user's own vertex ids.

    Make one with `Graph.from_edges` (frames), `dgraph.read_edges` (files), `dgraph.open_graph` (saved graphs), a
    generator such as `dgraph.rmat`, or a converter such as `dgraph.from_networkx`.

    Frames in memory are checked when the graph is made, lazy frames at first use. Partitions are built when an
    operation first needs them, with only the columns that it reads.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": ["ann", "bob"], "dst": ["bob", "cat"]})
    >>> G.num_vertices, G.num_edges
    (3, 2)
    """

    __networkx_backend__ = "dgraph"  # functions of NetworkX take it, and run in dgraph

    def __init__(self, *given: Any, **options: Any):
        raise InputError(
            "Graph() cannot be called: make a graph with Graph.from_edges (frames), dgraph.read_edges (files), "
            "dgraph.open_graph (saved graphs), or dgraph.from_networkx and the like (graphs of other libraries)"
        )

    @classmethod
    def of(cls, input_edges: InputEdges, asked: PartitionOptions, *, as_saved: bool = False) -> Graph:
        """Make a graph from checked input, as `from_edges` and `dgraph.open_graph` do.

        Parameters
        ----------
        input_edges : InputEdges
            The checked edges and vertices.
        asked : PartitionOptions
            The policy, the number of partitions, and the capacities of the workers.
        as_saved : bool, default False
            Use the partitions of a saved graph unchanged.

        Returns
        -------
        Graph

        Raises
        ------
        OptionError
            If the policy is not recognised.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
        >>> dg.Graph.of(G.input_edges, G.asked._replace(parts=2)).num_parts
        2
        """
        graph = cls.__new__(cls)
        PartitionedGraph.__init__(graph, input_edges, asked, as_saved=as_saved)
        return graph

    @classmethod
    @known_options()
    def from_edges(
        cls,
        frame: Any,
        *,
        source: str = "src",
        destination: str = "dst",
        weight: str | None = "auto",
        directed: bool = True,
        vertices: Any = None,
        loops: str = "keep",
        repeats: str = "keep",
        symmetrize: bool = False,
        policy: Any = "auto",
        parts: int | None = None,
        capacities: Any = None,
        memory: int | str | None = None,
        client: Any = None,
    ) -> Graph:
        """Make a graph from a frame with one row per edge.

        Parameters
        ----------
        frame : frame or dict of arrays
            The edges: a frame of pandas, Dask, Polars, Arrow or cuDF (experimental), or a dict of arrays.
        source, destination : str, default "src" and "dst"
            Columns with the ids of the edges' ends: integers, strings or UUIDs.
        weight : str or None, default "auto"
            Column with the edges' weights. ``"auto"`` uses a numeric column called ``weight``, if there is one; None
            makes an unweighted graph.
        directed : bool, default True
            If False, each listed edge represents both directions; a self loop still counts once.
        vertices : frame, int or range, optional
            Vertices, including those without edges: a frame whose column ``id`` (or first column) lists their ids, with
            attributes in the other columns; n for the ids 0 to n - 1; or a range of ids.
        loops : {"keep", "drop"}, default "keep"
            Whether to keep edges from a vertex to itself.
        repeats : {"keep", "first", "sum", "min", "max"}, default "keep"
            What to do with edges that have the same ends: keep all, keep the first, or merge them into one with the
            sum, minimum or maximum of their values.
        symmetrize : bool, default False
            Add the reverse of every edge to a directed graph, before `repeats` is applied.
        policy : str or callable, default "auto"
            Which partition owns a vertex and holds an edge: ``"outgoing"``, ``"incoming"``, ``"cartesian"``,
            ``"hybrid"``, ``"metis"``, ``"auto"``, or a function of (ids, parts) or (source, destination, parts).
        parts : int, optional
            Number of partitions. By default one per worker, or several if a worker is short of memory. If you ask for
            eight or more, and four or more per worker, operations join them to one per worker where memory allows.
        capacities : mapping, sequence or "measure", optional
            Relative speeds of the workers, or ``"measure"``. By default they count as equal, unless the workers differ:
            then they are measured.
        memory : int or str, optional
            Bytes of memory that each process may use, such as ``"6 GiB"``; by default what the machine, its control
            group or the Dask worker allows. In this process, edges that do not fit are kept in files of the scratch
            folder. What certainly cannot be done within the limit is refused before it is begun.
        client : distributed.Client, optional
            The cluster to use; by default that of the current client, or this process if there is none.

        Returns
        -------
        Graph

        Raises
        ------
        OptionError
            If an option has a value that is not allowed.
        InputError
            If `frame` or `vertices` is of an unsupported type.
        ColumnError
            If a column is missing, repeated, or of an unsupported type.
        IdError
            If an id is missing, beyond 64 bits, or not an integer, a string or a UUID.
        WeightError
            If a weight is missing or not a number.
        RoomError
            If there is not enough memory, on the workers or in this process.

        Examples
        --------
        >>> calls = pd.DataFrame({"who": ["ann", "ann", "bob"], "whom": ["bob", "cat", "cat"], "minutes": [3, 1, 4]})
        >>> G = dg.Graph.from_edges(calls, source="who", destination="whom", weight="minutes", parts=1)
        >>> G
        <Graph: directed, 3 vertices, 3 edges, 1 partition by outgoing, weight='minutes'>
        """
        rules.check_rules(loops, repeats)
        if check_flag("symmetrize", symmetrize) and not directed:
            raise OptionError(
                "symmetrize=True is only for directed graphs; an undirected graph already has both directions"
            )
        edges, workers = edge_source(frame, source, destination, weight), Workers.find(client, memory)
        parts = check_integer("parts", parts, 1, MOST_PARTS, or_none=True)
        check_capacities(workers, capacities, parts or len(workers.addresses) or 1)
        kept = EdgeRules(check_flag("directed", directed), loops, repeats, symmetrize)
        input_edges = InputEdges(edges, vertex_source(vertices), kept, workers)
        graph = cls.of(input_edges, PartitionOptions(policy, parts, capacities))
        if not is_lazy(edges.frame):
            if workers.client is not None:
                chunk_of_edges(edges.frame, source, destination)  # check ids here, where an error can name the row
            if edges.weight is not None:
                numeric_column(edges.frame, edges.weight, is_weight=True)
            if not is_lazy(input_edges.vertices.frame):
                input_edges.number()  # check ids now rather than later
        return graph

    @known_options()
    def updated(self, added: Any = None, removed: Any = None, *, vertices: Any = None) -> Graph:
        """The graph after some edges are removed and others are then added. This graph stays as it is.

        The rules of the graph for loops, repeated edges and reverses hold for all edges together: all operations give
        the answers of a graph that is rebuilt from the changed list of edges. The cost follows the changes: the
        partitions of this graph are shared until an operation needs its own; then each partition merges its part of
        the changes, on the worker that holds it.

        Parameters
        ----------
        added : frame or dict of arrays, optional
            Edges to add, in a frame with the columns of the graph's edges. Ids that are not in the graph become
            vertices.
        removed : frame or dict of arrays, optional
            Edges to remove, as a frame with the two columns of ids; other columns are ignored. If the graph keeps
            repeated edges, each row removes one edge: of several with the same ends, the one that was listed last. If
            it merges them, the merged edge is removed. Vertices stay. A `MissingEdgesWarning` names the first edge
            that is not there; `changes` of the new graph tells how many.
        vertices : frame, int or range, optional
            Vertices to add, as in `from_edges`.

        Returns
        -------
        Graph
            The policy, the number of partitions and the memory are those of this graph.

        Raises
        ------
        InputError
            If the graph is made from cuDF frames (experimental), or a frame is of an unsupported type.
        ColumnError
            If a column of `added` or `vertices` is missing, unknown, or of another type than in the graph.
        IdError
            If ids are of another kind than in the graph, or beyond the type of its ids.
        WeightError
            If a weight is missing or not a number.
        OptionError
            If nothing is given.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": ["ann", "bob"], "dst": ["bob", "cat"], "km": [3, 5]}, weight="km")
        >>> H = G.updated(added={"src": ["cat"], "dst": ["dan"], "km": [2]}, removed={"src": ["ann"], "dst": ["bob"]})
        >>> H.edges.compute()
           src  dst  km
        0  bob  cat   5
        1  cat  dan   2
        >>> H.changes
        <1 edge added, 1 removed, 1 new vertex; not merged yet>
        """
        from dgraph.changes.update import updated

        edges, due = retry(self.client, lambda: updated(self, added, removed, vertices), self.forget_lost)
        asked = self.asked._replace(parts=self.num_parts)
        made = Graph.of(edges, asked._replace(policy="auto") if is_saved_function(asked.policy) else asked)
        if due:
            made.partitioned(due)  # the changes are so many that they would slow down later ones
        return made

    @property
    def changes(self) -> UpdateReport | None:
        """What the update that made this graph changed; None if it was not made by `updated`.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
        >>> G.updated(removed={"src": [0], "dst": [1]}).changes.removed
        1
        """
        return self.input_edges.changes

    @property
    def version(self) -> int | None:
        """The number of the saved version that this graph is; None if it is not saved as it is.

        Examples
        --------
        >>> dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}).version is None
        True
        """
        return self.input_edges.places[-1].number if self.input_edges.is_saved else None

    @known_options()
    def save(
        self,
        path: Any,
        *,
        columns: list[str] | None = None,
        results: Mapping[str, RunResult] | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the graph to a folder, which `dgraph.open_graph` opens instantly (memory-mapped).

        The folder appears complete or not at all. Columns of edges and vertices keep their pandas dtypes: numbers,
        text, categories, times, booleans, and objects such as decimals and dates. If `updated` made the graph from the
        one that is saved there, the changes are appended as a new version, at a cost that follows the changes. If the
        graph itself is saved there, as the newest version, `results` are added to those that this version has.

        Parameters
        ----------
        path : path
            The folder.
        columns : list of str, optional
            Edge columns to save; all by default.
        results : mapping of str to RunResult, optional
            Results to save with the graph, by name; the opened graph has them as `Graph.results`.
        overwrite : bool, default False
            Replace a graph that was saved there before, with all its versions.

        Raises
        ------
        ColumnError
            If a column does not exist, or has a type that cannot be restored exactly, such as lists.
        OptionError
            If the folder exists and `overwrite` is False, or it holds other files, or `results` are of another graph or
            have names that the saved version has already.
        StorageError
            If the folder cannot be written, or has a later version than the one that the graph was made from. Its
            previous contents are kept.

        Examples
        --------
        >>> import tempfile
        >>> G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2], "note": ["a", "b"]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     G.save(f"{folder}/edges.dgraph", results={"hops": dg.bfs(G, 0)})
        ...     H = dg.open_graph(f"{folder}/edges.dgraph")
        ...     H.results["hops"].compute()
           vertex  distance  predecessor
        0       0       0.0         <NA>
        1       1       1.0            0
        2       2       2.0            1
        """
        from dgraph.changes.versions import save
        from dgraph.runs.saved_results import to_save

        save(self, path, columns=columns, overwrite=overwrite, results=to_save(self, results))

    def is_directed(self) -> bool:
        """Whether edges have a direction, as functions of NetworkX ask.

        Returns
        -------
        bool

        Examples
        --------
        >>> dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}).is_directed()
        True
        """
        return self.directed

    def is_multigraph(self) -> bool:
        """False, as functions of NetworkX ask: edges may repeat, but have no keys.

        Returns
        -------
        bool

        Examples
        --------
        >>> dg.Graph.from_edges({"src": [0, 0], "dst": [1, 1]}).is_multigraph()
        False
        """
        return False

    @property
    def results(self) -> Mapping[str, RunResult]:
        """The results that were saved with an opened graph, by name; empty for other graphs.

        A result is opened when it is looked up. It behaves like the result of a run: its columns can be used as input
        to later runs.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.mkdtemp() + "/saved"
        >>> G = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]})
        >>> G.save(folder, results={"ranks": dg.pagerank(G)})
        >>> dg.open_graph(folder).results
        <saved results: 'ranks'>
        >>> dg.open_graph(folder).results["ranks"].by_number("pagerank").sum()
        np.float64(1.0)
        """
        from dgraph.runs.saved_results import SavedResults

        return SavedResults(self)

    if not TYPE_CHECKING:  # type checkers report unknown attributes themselves

        def __getattr__(self, name: str) -> NoReturn:
            """Suggest a name for attributes of other libraries' graphs, which have operations as methods."""
            ours, functions = {one for one in dir(Graph) if not one.startswith("_")}, {*OPERATIONS, *CUTS}

            def said(near: str) -> str:
                return f"it is a function, dgraph.{near}(G)" if near in functions else f"did you mean {near}?"

            known = sorted(ours | functions)
            more = "" if name.startswith("_") else suggestion(name, known, CLOSE_MATCH, said=said, operations=True)
            raise AttributeError(f"a Graph has no {name!r}{more and f'; {more}'}")

    def __repr__(self) -> str:
        parts = f", {format_count(self.num_parts, 'partition')} by {self.policy}" if self.input_edges.is_read else ""
        weight = f", weight={self.weight!r}" if self.weight is not None else ""
        return f"<Graph: {self.input_edges}{parts}{weight}>"

    @known_options()
    def validate(self) -> Validation:
        """Count unusual edges, vertices and weights, and say how each operation treats them.

        Counts self loops, repeated edges, isolated and dangling vertices, and missing or negative weights. Also
        verifies every block of a graph that was opened from disk.

        Returns
        -------
        Validation
            ``counts``, the graph's own ``rules``, and remarks on ``operations``; its repr lists them all.

        Raises
        ------
        StorageError
            If a block of a saved graph is damaged.
        IdError
            If an id of a lazy frame is missing, or of an unsupported type.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": [0, 1, 1], "dst": [0, 2, 2]})
        >>> counts = G.validate().counts
        >>> counts.loops, counts.repeats
        (1, 1)
        """
        from dgraph.building.validation import validate

        return validate(self)

    @known_options()
    def estimate(
        self,
        op: str = "build",
        *,
        workers: int | None = None,
        memory: int | str | None = None,
        quick: bool = False,
        rank: int | None = None,
    ) -> Estimate:
        """Estimate memory per worker and bytes exchanged per round, for every policy, before any work is done.

        The ids of a lazy source are read once, to count the edges and, within a few percent, the vertices.

        Parameters
        ----------
        op : str, default "build"
            The operation to run, such as ``"pagerank"``, ``"weighted_pagerank"`` or ``"sketched_closeness"``, or
            ``"build"`` for the partitions alone.
        workers : int, optional
            Number of workers. By default the graph's `parts`, or the number of workers that it has now.
        memory : int or str, optional
            Memory of each worker, such as ``"4 GiB"``; by default the `memory` of the graph. Policies that need more do
            not fit.
        quick : bool, default False
            Read only a few pieces of a lazy source. The number of vertices may then be far off, for example if the
            source is sorted.
        rank : int, optional
            Length of the factor vectors of ``"factorize"``, by default 8; other operations have none.

        Returns
        -------
        Estimate
            ``frame`` has one row per policy, and ``policy`` is the name of the best policy.

        Raises
        ------
        OptionError
            If the operation is not known, `workers`, `memory` or `rank` is not a number above zero, `quick` is not a
            flag, or an operation without factors has a `rank`.

        Examples
        --------
        >>> G = dg.rmat(scale=8, edge_factor=8, seed=1)
        >>> G.estimate("pagerank", workers=4, memory="4 GiB").policy
        'cartesian'
        """
        from dgraph.estimates.estimate import estimate

        return estimate(self, op, workers, memory, quick, rank)
