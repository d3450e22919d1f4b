"""What a run gives back: the values of all vertices as frames, by the user's own ids, and a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import ref

import numpy as np
import pandas as pd

from dgraph.building.graph_frames import result_frame
from dgraph.cluster.pickling_refusal import NotPicklable
from dgraph.cluster.retry import replicate, retry, retry_on_loss
from dgraph.cluster.workers import any_lost, identity
from dgraph.errors import ColumnError, InputError, RunError
from dgraph.graph import Graph
from dgraph.phrases import format_count
from dgraph.runs.result_tables import numbered_table, of_vectors, table
from dgraph.runs.run_report import COLUMNS, RunReport
from dgraph.runs.worker_results import DistributedResult, VertexValues, WorkerResult

if TYPE_CHECKING:
    import dask.dataframe as dd


NO_FRAME = "a result is no frame; result.compute() is one of pandas, result.frame a lazy one of Dask"


class RunResult(NotPicklable):
    """Values stay where they were computed until they are asked for.

    frame     a lazy Dask frame: the column `vertex`, then the values; a row for every vertex
    compute() the same in pandas, sorted by vertex
    report    a row a superstep and partition: fired, edges, messages, bytes, busy, idle, skipped
    column(c) one column, for a later run to read where it is
    rounds    how many there were;  totals: the last values of the program's Globals
    """

    def __init__(
        self,
        graph: Graph,
        found: Sequence[Any],
        vertex_columns: Sequence[str],
        options: dict[str, Any],
        *,
        told: Sequence[WorkerResult] = (),  # what each worker has found, without the values
    ):
        self._whole = True  # whether every vertex is listed
        self._of_cudf = graph.listed.edges.of_cudf
        self._workers, self._numbering, self._graph = graph.workers, graph.numbering, ref(graph)
        self._vertex_columns = list(vertex_columns)
        if not told:
            here, given = self._workers.client is None, [(one,) for one in found]
            told = found if here else self._workers.bring(self._workers.each(WorkerResult.without_values, given))
        self.rounds, self.totals = max(one.rounds for one in told), told[0].totals
        self._missing = set().union(*(one.missing for one in told))
        self._held = DistributedResult(found, {part: i for i, one in enumerate(told) for part in one.parts})
        self._own: list[Any] = []  # the numbering, once there is a frame
        self._empty = next(iter(told[0].without_values().parts.values()))  # of no vertices: the kinds of the columns
        self._follows = False  # whether it was made from columns of another result
        self._work: Callable[[Graph], RunResult] | None = None  # finds the values again, where that can be done
        self._rows = sorted((row for one in told for row in one.rows), key=itemgetter("superstep", "partition"))
        self._options = dict(options)
        ends = [one.found_end_in for one in told if one.found_end_in is not None]
        if ends and self._rows:  # the last that had work was the quickest to learn that it was the last
            self._options["milliseconds to find the end"] = round(min(ends) * 1e3, 3)

    def found_by(self, work: Callable[[Graph], RunResult], before: Sequence[RunResult]) -> RunResult:
        """This result; if a worker leaves with some of its values, `work` finds them again. A long row of results, each
        made from columns of those `before`, is not kept for that."""
        self._follows = bool(before)
        if not any(result._follows and result._work is not None for result in before):
            self._work = work
        return self

    def _there(self) -> DistributedResult:
        """Where the values are; found again, if some went away with a worker."""
        if self._held.lost:
            graph, work = self._graph(), self._work
            if graph is None or work is None:
                why = "its graph is gone" if graph is None else "how is not kept for a long row of results"
                raise RunError(f"a worker left with values of {self!r}, which cannot be found again: {why}; run again")
            graph.forget_lost()
            self._held = retry_on_loss(work)(graph)._held
        return self._held

    def _get(self, tasks: Callable[[], list[Any]]) -> list[Any]:
        """The results of tasks on the values, in this process."""
        return retry(self._workers.client, lambda: self._workers.get(tasks()), self._workers.forget)

    def _piece(self, part: int) -> list[Any]:
        return [self._workers.call(itemgetter(1), self._tasks()[part])]

    @cached_property
    def report(self) -> RunReport:
        """A row a superstep and partition."""
        report = RunReport(pd.DataFrame(self._rows, columns=list(self._rows[0]) if self._rows else list(COLUMNS)))
        if "milliseconds to find the end" in self._options:
            counts = Counter(row["partition"] for row in self._rows).values()
            self._options["local rounds taken"] = f"{min(counts)} to {max(counts)}"
        report.options = self._options
        return report

    @property
    def frame(self) -> dd.DataFrame:
        """Partition p of the frame is that of the run; of dask-cudf, if the graph was made by cuDF. On a cluster its
        values are on two workers, so that one may leave while Dask computes with them. Of a graph whose client is not
        the current one it is computed by `frame.compute(scheduler=client)`, or `client.compute(frame)`."""
        return self._frame(as_cudf=self._of_cudf)

    def to_cudf(self) -> Any:
        """The same as a frame of dask-cudf, whatever the graph was made from."""
        return self._frame(as_cudf=True)

    def _frame(self, *, as_cudf: bool) -> Any:
        meta = table(self._empty, self._numbering, self._vertex_columns, self._missing)
        copied = retry(self._workers.client, partial(self._tasks, on_two=True), self._workers.forget)
        tables = [self._workers.call(itemgetter(1), one) for one in copied]
        kinds, of_vertices = self._empty.columns, self._vertex_columns
        if not as_cudf:
            vectors = [name for name, one in kinds.items() if one.ndim == 2 and name not in of_vertices]
            meta = meta.astype({name: of_vectors(kinds[name]) for name in vectors})
        ids = ["vertex", *(name for name in of_vertices if kinds[name].ndim == 1)]
        return result_frame(self._workers, tables, meta, ids, as_cudf=as_cudf)

    def compute(self) -> pd.DataFrame:
        """Everything here, sorted by vertex."""
        tables = self._get(self._tasks)
        numbers = np.concatenate([number for number, _ in tables])
        frame = tables[0][1] if len(tables) == 1 else pd.concat([one for _, one in tables], ignore_index=True)
        if len(tables) > 1 or (numbers[1:] < numbers[:-1]).any():
            frame = frame.iloc[np.argsort(numbers)].reset_index(drop=True)
        return frame

    def pieces(self) -> Iterator[pd.DataFrame]:
        """The rows of `compute` partition by partition; on a cluster only one of these is here at a time."""
        if self._workers.client is None:
            yield self.compute()
            return
        for part in range(len(self._held.homes)):
            yield self._get(partial(self._piece, part))[0]

    def column(self, name: str) -> ResultColumn:
        """One column, left where it is, for a later run to read."""
        if not self._whole:
            raise ColumnError("this result lists only some vertices, and a later run needs a value for each")
        if name not in self._empty.columns:
            raise ColumnError(f"the result has no column {name!r}; it has {', '.join(self._empty.columns)}")
        return ResultColumn(self, name)

    def by_number(self, name: str) -> np.ndarray:
        """One column in this process, by the numbers of the vertices."""
        if not self._whole:
            raise ColumnError("this result lists only some vertices; take compute(), which names them")

        def tasks() -> list[Any]:
            held = self._there()
            return [self._workers.call(_values, held.of(part), part, name) for part in held.homes]

        found = self._get(tasks)
        values = np.concatenate([value for _, value in found])
        values[np.concatenate([number for number, _ in found])] = values.copy()
        return values

    def after(self, earlier: RunResult) -> RunResult:
        """This result, with the report of another run, whose rounds found the values."""
        self._rows, self._options = earlier._rows, earlier._options
        self.rounds, self.totals = earlier.rounds, earlier.totals
        return self

    def following(self, earlier: RunResult | None) -> RunResult:
        """This result, whose report also has the rounds of the run that it goes on from, if any."""
        if earlier is not None:
            later = [{**row, "superstep": row["superstep"] + earlier.rounds} for row in self._rows]
            self._rows, self.rounds = [*earlier._rows, *later], self.rounds + earlier.rounds
        return self

    def map(self, change: Callable[..., Any], *others: RunResult, whole: bool = True) -> RunResult:
        """The result of `change(numbers, values, *values of the others)`, which gives numbers and values: of each
        partition, where it lies, and of none for their kind. `whole` says whether every vertex is listed still. On a
        cluster nobody waits for that here: who reads the values does."""
        workers, changed = self._workers, copy(self)

        def work() -> DistributedResult:
            held = [one._there() for one in (self, *others)]
            homes = {part: i for i, part in enumerate(held[0].homes)}
            given = [(change, part, *(one.of(part) for one in held)) for part in homes]
            return DistributedResult(workers.each(_changed, given), homes)

        changed._held = retry(workers.client, work, workers.forget)
        changed._empty = VertexValues(*change(*self._empty, *(one._empty.columns for one in others)))
        changed._whole = whole
        if (find := self._work) is not None:
            changed._work = lambda graph: find(graph).map(change, *others, whole=whole)
        return changed

    def _tasks(self, *, on_two: bool = False) -> list[Any]:
        """A task for each partition: its values as a table, with their numbers; `on_two`: from copies on two
        workers."""
        held, workers = self._there(), self._workers
        found, known = held.found, workers.share(self._numbering)
        if on_two:
            if not self._own or any_lost(self._own):  # nobody else reads this one, so it is in one place
                self._own = workers.hold([workers.call(identity, known)])
            *found, known = replicate(workers, [*found, *self._own])
        how = known, self._vertex_columns, self._missing
        return [workers.call(numbered_table, found[held.homes[part]], part, *how) for part in sorted(held.homes)]

    def _client(self) -> Any:
        return self._workers.client

    def __getitem__(self, name: Any) -> NoReturn:
        raise InputError(f"result[{name!r}]: {NO_FRAME}")

    if not TYPE_CHECKING:  # who checks types is told by what there is

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"result.{name}: {NO_FRAME}", name=name, obj=self)

    def __repr__(self) -> str:
        names = ", ".join(self._empty.columns)
        rounds = format_count(self.rounds, "round")
        if "milliseconds to find the end" in self._options:
            took = self._options["milliseconds to find the end"]
            rounds = f"{self.report.options['local rounds taken']} local rounds, their end found in {took:g} ms"
        return f"<result of {rounds}: {names} of {format_count(self._numbering.size, 'vertex')}>"


class ResultColumn(NotPicklable):
    """A column of a result, left where it was computed."""

    def __init__(self, result: RunResult, name: str):
        self.result, self.name = result, name

    def __repr__(self) -> str:
        return f"<column {self.name!r} of {self.result!r}>"

    def is_of(self, graph: Graph) -> bool:
        """Whether the graph has the vertices that the result is of."""
        one, other = self.result._numbering, graph.numbering
        return one is other or np.array_equal(one.ids(), other.ids())

    def lies_with(self, graph: Graph) -> bool:
        """Whether each partition of the graph has its share of the column on its own worker."""
        return self.result._graph() is graph and self.result._options.get("repartitioned", "no") == "no"

    @property
    def held(self) -> DistributedResult:
        """Where its share of each partition is."""
        return self.result._held

    @property
    def dtype(self) -> np.dtype:
        return self.result._empty.columns[self.name].dtype

    def by_number(self) -> np.ndarray:
        return self.result.by_number(self.name)

    def _client(self) -> Any:
        return self.result._client()


def lasting(
    graph: Graph,
    work: Callable[[Graph], RunResult],
    columns: Mapping[str, Any] | None = None,
    later: Callable[[Graph], RunResult] | None = None,
) -> RunResult:
    """The result of `work` on a graph, which is done again if a worker is lost meanwhile. If values of the result are
    lost later, `later` finds them, by default `work` too. Before either, the earlier results that `columns` are of find
    values that they have lost."""
    before = [column.result for column in (columns or {}).values() if isinstance(column, ResultColumn)]

    def after_those(work: Callable[[Graph], RunResult], graph: Graph) -> RunResult:
        for result in before:
            result._there()
        return work(graph)

    found = retry_on_loss(partial(after_those, work))(graph)
    return found.found_by(partial(after_those, later or work), before)


def _changed(change: Callable[..., Any], part: int, found: WorkerResult, *others: WorkerResult) -> WorkerResult:
    changed = VertexValues(*change(*found.parts[part], *(other.parts[part].columns for other in others)))
    return WorkerResult({part: changed}, found.missing, [], found.rounds, found.totals)


def _values(found: WorkerResult, part: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    numbers, columns = found.parts[part]
    return numbers, columns[name]
