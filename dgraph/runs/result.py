"""The result of a run: the values of all vertices as frames, with the user's own ids, and a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, cast
from weakref import ref

import numpy as np
import pandas as pd

from dgraph.building.graph_frames import result_frame
from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.cluster.retry import replicate, retry
from dgraph.cluster.tasks import copy_here
from dgraph.cluster.workers import any_lost
from dgraph.errors import ColumnError, InputError, LostChainError, OptionError
from dgraph.phrases.phrases import format_count
from dgraph.phrases.printable import printable
from dgraph.runs.result_changes import ResultChange
from dgraph.runs.result_column import ResultColumn
from dgraph.runs.result_differences import differences
from dgraph.runs.result_paths import Trails
from dgraph.runs.run_report import RunReport
from dgraph.runs.worker_results import (
    WorkerResult,
    WorkerResults,
    numbered_table,
    numbered_values,
    single_call_row,
    table,
    table_alone,
    vector_dtype,
)

if TYPE_CHECKING:
    import dask.dataframe as dd

NO_FRAME = "a RunResult is not a frame; result.compute() is a pandas frame, and result.frame a lazy Dask frame"


class RunResult(ResultChange):
    """The values of all vertices after a run. They stay on the workers that computed them until something reads them.

    Attributes
    ----------
    rounds : int
        The number of rounds.
    totals : dict
        The last values of the program's `dgraph.Global` fields.
    options : RunOptions
        How the run was called, with "auto" replaced by what was chosen; None for a result of a saved graph.

    Examples
    --------
    >>> dg.bfs(dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]}), "a")
    <result of 3 rounds: distance, predecessor of each of 3 vertices>
    """

    kinds: ClassVar[dict[str, type[RunResult]]] = {}  # classes for the results of one operation, once it is imported

    def __init_subclass__(cls, operation: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if operation:
            cls.kinds[operation] = cls

    def __init__(
        self,
        graph: PartitionedGraph,
        held: Sequence[Any],  # the `WorkerResult` of each worker, as futures on a cluster
        vertex_columns: Sequence[str],
        options: dict[str, Any],
        *,
        summaries: Sequence[WorkerResult] = (),  # the same without values, if the caller has them
    ):
        self._whole = True  # whether every vertex is listed
        self._of_cudf = graph.input_edges.edges.of_cudf
        self._workers, self._numbering, self._graph = graph.workers, graph.numbering, ref(graph)
        self._vertex_columns = list(vertex_columns)
        if not summaries:
            each, here = [(one,) for one in held], self._workers.client is None
            summaries = held if here else self._get(WorkerResult.without_values, lambda: each)
        self.rounds, self.totals = max(one.rounds for one in summaries), summaries[0].totals
        self._missing = set().union(*(one.missing for one in summaries))
        self._held = WorkerResults(held, {part: i for i, one in enumerate(summaries) for part in one.parts})
        # whether each partition's values were computed on its own worker, and not all on one
        self._is_beside = len(self._held.homes) == graph.num_parts
        self._own: list[Any] = []  # a copy of the numbering on a worker, once there is a frame
        self._empty = next(iter(summaries[0].without_values().parts.values()))  # no vertices, but the columns' dtypes
        self._trails: Trails | None = None  # how paths are followed, once somebody asks for one
        self._follows = False  # whether this result was made from columns of another result
        self._work: Callable[[PartitionedGraph], RunResult] | None = None  # recomputes the values, if that is possible
        self._values: dict[str, np.ndarray] | None = None  # by number, if this process has those of workers
        self._rows = sorted((row for one in summaries for row in one.rows), key=itemgetter("superstep", "partition"))
        self._options = dict(options)
        if graph.joins:
            self._options["partitions joined"] = f"{graph.joins} to {graph.num_parts}"
        self.options = self._answers = cast(Any, None)  # the latter is the `OperationCall`, if others can go on from it
        ends = [one.found_end_in for one in summaries if one.found_end_in is not None]
        if ends and self._rows:  # the last worker to have work was the first to learn that nothing followed
            self._options["milliseconds to find the end"] = round(min(ends) * 1e3, 3)

    def _available(self) -> WorkerResults:
        """The values on the workers, recomputed first if some were lost with a worker."""
        if self._held.lost:
            graph, work = self._graph(), self._work
            if graph is None or work is None:
                why = "its graph was deleted" if graph is None else "it belongs to a long chain of results"
                raise LostChainError(
                    f"a worker was lost with part of {self!r}, which cannot be recomputed because {why}; run again"
                )
            graph.forget_lost()
            self._held = retry(graph.client, partial(work, graph), graph.forget_lost)._held
        return self._held

    def _get(self, function: Callable[..., Any], arguments: Callable[[], list[tuple]]) -> list[Any]:
        """Call `function` with each tuple of arguments on the workers, and fetch what it returns."""

        def work() -> list[Any]:
            return self._workers.bring(self._workers.each(function, arguments()))

        return retry(self._workers.client, work, self._workers.forget)

    @cached_property
    def report(self) -> RunReport:
        """What happened in each superstep and partition, as a pandas frame with a row for each; see `RunReport`.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]})
        >>> dg.pagerank(G, tol=0, max_iter=3, engine="bsp").report[["superstep", "partition", "fired", "edges"]]
           superstep  partition  fired  edges
        0          1          0      3      3
        1          2          0      3      3
        2          3          0      3      3
        """
        columns = list(self._rows[0] if self._rows else single_call_row(0, 0, 0.0))
        report = RunReport(pd.DataFrame(self._rows, columns=columns))
        if "milliseconds to find the end" in self._options:
            counts = Counter(row["partition"] for row in self._rows).values()
            self._options["local rounds taken"] = f"{min(counts)} to {max(counts)}"
        report.options = self._options
        return report

    @property
    def frame(self) -> dd.DataFrame:
        """A lazy Dask frame with one row per vertex: ``vertex``, then the values.

        Its partitions are those that the operation ran on. On a cluster, two workers hold each partition, so one may
        leave while Dask computes. If the graph's client is not the current client, call
        ``frame.compute(scheduler=client)`` or ``client.compute(frame)``; without a current client, Dask computes the
        frame in this process.

        Returns
        -------
        dask.dataframe.DataFrame
            A dask-cudf frame (experimental) if the graph was made from cuDF frames.

        Examples
        --------
        >>> result = dg.wcc(dg.rmat(scale=8, edge_factor=8, seed=1))
        >>> int(result.frame["component"].nunique().compute())
        36
        """
        return self._frame(as_cudf=self._of_cudf)

    def to_cudf(self) -> Any:
        """The lazy frame as a dask-cudf frame (experimental), regardless of the frames that the graph was made from.

        Returns
        -------
        dask_cudf.DataFrame
            One row per vertex: ``vertex``, then the values.

        Raises
        ------
        DeviceError
            If no worker has a GPU and cuDF; without a cluster, if this process lacks them.
        """
        return self._frame(as_cudf=True)

    def _frame(self, *, as_cudf: bool) -> Any:
        meta = table(self._empty, self._numbering, self._vertex_columns, self._missing)
        copied = retry(self._workers.client, partial(self._parts, on_two=True), self._workers.forget)
        tables = [self._workers.call(table_alone, *one) for one in copied]
        kinds, of_vertices = self._empty.columns, self._vertex_columns
        if not as_cudf:
            vectors = [name for name, one in kinds.items() if one.ndim == 2 and name not in of_vertices]
            meta = meta.astype({name: vector_dtype(kinds[name]) for name in vectors})
        ids = ["vertex", *(name for name in of_vertices if name in kinds and kinds[name].ndim == 1)]
        return result_frame(self._workers, tables, meta, ids, as_cudf=as_cudf)

    def compute(self) -> pd.DataFrame:
        """Fetch all values to this process.

        Returns
        -------
        pandas.DataFrame
            One row per vertex: ``vertex``, then the values, sorted by vertex.

        Raises
        ------
        RunError
            If values were lost with a worker and cannot be recomputed.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]})
        >>> dg.bfs(G, "a").compute()
          vertex  distance predecessor
        0      a       0.0         NaN
        1      b       1.0           a
        2      c       2.0           b
        """
        tables = self._get(numbered_table, self._parts)
        numbers = np.concatenate([number for number, _ in tables])
        frame = tables[0][1] if len(tables) == 1 else pd.concat([one for _, one in tables], ignore_index=True)
        if len(tables) > 1 or (numbers[1:] < numbers[:-1]).any():
            frame = frame.iloc[np.argsort(numbers)].reset_index(drop=True)
        return frame

    def pieces(self) -> Iterator[pd.DataFrame]:
        """Iterate over the rows of `compute`, one partition at a time, for results too large for this process's memory.

        Yields
        ------
        pandas.DataFrame
            The rows of one partition, or all rows if the graph is in this process.

        Examples
        --------
        >>> result = dg.wcc(dg.rmat(scale=8, edge_factor=8, seed=1))
        >>> sum(len(piece) for piece in result.pieces())
        256
        """
        if self._workers.client is None:
            yield self.compute()
            return
        for part in range(len(self._held.homes)):
            yield self._get(table_alone, partial(self._parts, [part]))[0]

    def column(self, name: str) -> ResultColumn:
        """A column of this result as input to a later run; its values stay on their workers.

        Parameters
        ----------
        name : str
            The name of the column.

        Returns
        -------
        ResultColumn
            A value for `columns` of `dgraph.run`: ``columns={name: result.column(name)}``.

        Raises
        ------
        ColumnError
            If the result has no such column, or lists only some of the vertices.

        Examples
        --------
        >>> class SumOfRanks(dg.VertexProgram):
        ...     kind = "synchronous"
        ...     rank = dg.VertexColumn("float64")
        ...     total = dg.State("float64")
        ...     message = dg.Message("float64", dg.SUM)
        ...     def send(rank):
        ...         return rank
        ...     def apply(message):
        ...         return message
        >>> G = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]})
        >>> ranks = dg.pagerank(G)
        >>> dg.run(G, SumOfRanks(), columns={"rank": ranks.column("pagerank")}).by_number("total").round(3)
        array([0.333, 0.333, 0.333])
        """
        self._check_whole_column(name, "but a later run needs a value for each")
        return ResultColumn(self, name)

    def _check_whole_column(self, name: str, why: str) -> None:
        if not self._whole or name not in self._empty.columns:
            lacks = f"the result has no column {name!r}; it has {', '.join(self._empty.columns)}"
            raise ColumnError(lacks if self._whole else f"this result lists only some vertices, {why}")

    def by_number(self, name: str) -> np.ndarray:
        """Fetch one column to this process as an array.

        Parameters
        ----------
        name : str
            The name of the column.

        Returns
        -------
        numpy.ndarray
            One value per vertex, ordered by the vertices' internal numbers, which is the order of `compute`.

        Raises
        ------
        ColumnError
            If the result has no such column, or lists only some of the vertices.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]})
        >>> dg.bfs(G, "a").by_number("distance")
        array([0., 1., 2.])
        """
        self._check_whole_column(name, "so use compute(), which includes their ids")
        return self._values_of_all(name)

    def _values_of_all(self, name: str) -> np.ndarray:
        """The values of a column, by the numbers of all vertices."""

        def arguments() -> list[tuple]:
            held = self._available()
            return [(held.of(part), part, name) for part in held.homes]

        pairs = self._get(numbered_values, arguments)
        values = np.concatenate([value for _, value in pairs])
        values[np.concatenate([number for number, _ in pairs])] = values.copy()
        return values

    def changes(self, previous: RunResult, *, tolerance: float = 0.0) -> pd.DataFrame:
        """What has changed since an earlier result: the vertices whose values differ, and those that are new or gone.

        Both results may be for any graphs with ids of one kind, such as two versions of a saved graph. The values are
        fetched to this process.

        Parameters
        ----------
        previous : RunResult
            The earlier result, with the same columns.
        tolerance : float, default 0.0
            By how much numbers may differ and still count as unchanged; for ranks, whose last digits always change.

        Returns
        -------
        pandas.DataFrame
            One row per vertex that changed, sorted by vertex: ``vertex``; ``change``, which is ``"changed"``, ``"new"``
            or ``"gone"``; and for each column its value before and after, such as ``component_before`` and
            ``component_after``. A vertex that is new has no values before, and one that is gone has none after.

        Raises
        ------
        OptionError
            If `previous` is not a result, or `tolerance` is below 0.
        ColumnError
            If the results have different columns, or one of them lists only some of the vertices.
        IdError
            If the ids of both graphs are of different kinds.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": ["a", "c"], "dst": ["b", "d"]})
        >>> H = G.updated(added={"src": ["b", "d"], "dst": ["c", "e"]})
        >>> before = dg.wcc(G)
        >>> dg.wcc(H, previous=before).changes(before)
          vertex   change component_before component_after
        0      c  changed                c               a
        1      d  changed                c               a
        2      e      new              NaN               a
        """
        if not isinstance(previous, RunResult):
            raise OptionError(f"previous={type(previous).__name__} must be an earlier result, to compare this one with")
        for one in (previous, self):
            for name in one._empty.columns:
                one._check_whole_column(name, "and changes() compares all of them")
        return differences(previous, self, tolerance)

    def path(self, target: Any) -> Any:
        """The path that `bfs` or `sssp` found to a vertex, or to each of several, along `predecessor`.

        The first call fetches the predecessors to this process, 4 bytes per vertex (8 from 2**31 vertices on).

        Parameters
        ----------
        target : vertex or list of vertices
            Where paths end.

        Returns
        -------
        list or pandas.DataFrame
            The vertices from a source to the target; an empty list if the search has not reached it. For a list of
            targets, each once, a frame of all their paths: ``target``, ``step`` (0 at the source), ``vertex``.

        Raises
        ------
        ColumnError
            If the result has no predecessors.
        IdError
            If a target is not in the graph.

        Examples
        --------
        >>> dg.bfs(dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]}), "a").path("c")
        ['a', 'b', 'c']
        """
        self._trails = self._trails or Trails.of(self)
        return self._trails.path(target)

    def _parts(self, some: Sequence[int] | None = None, *, on_two: bool = False) -> list[tuple]:
        """The arguments of `numbered_table` for all or some partitions; with `on_two`, on two workers each."""
        held, workers = self._available(), self._workers
        results, numbering = held.results, workers.share(self._numbering)
        if on_two:
            if not self._own or any_lost(self._own):  # a copy that only this result reads, on one worker
                self._own = workers.hold([workers.call(copy_here, numbering)])
            *results, numbering = replicate(workers, [*results, *self._own])
        rest = numbering, self._vertex_columns, self._missing
        return [(results[held.homes[part]], part, *rest) for part in some or sorted(held.homes)]

    def _client(self) -> Any:
        return self._workers.client

    def __getitem__(self, name: Any) -> NoReturn:
        raise InputError(f"result[{name!r}]: {NO_FRAME}")

    if not TYPE_CHECKING:  # type checkers would accept any attribute

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"result.{name}: {NO_FRAME}", name=name, obj=self)

    def __repr__(self) -> str:
        names, size = printable(", ".join(self._empty.columns)), self._numbering.size
        each = "" if size == 1 else "each of "
        rounds = format_count(self.rounds, "round")
        if "milliseconds to find the end" in self._options:
            took = self._options["milliseconds to find the end"]
            rounds = f"{self.report.options['local rounds taken']} local rounds, end detected in {took:g} ms"
        return f"<result of {rounds}: {names} of {each}{format_count(size, 'vertex')}>"
