"""What notebooks and plots show of a result."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dgraph.arguments import known_options
from dgraph.cluster.pickling_refusal import NotPicklable
from dgraph.cluster.retry import retry
from dgraph.runs.worker_results import VertexValues, WorkerResults, table

if TYPE_CHECKING:
    from dgraph.cluster.workers import Workers
    from dgraph.partition.ids.numbering import Numbering


class ResultDisplay(NotPicklable):
    """The part of a `RunResult` that shows it, in notebooks and as a plot."""

    rounds: int
    totals: dict[str, Any]
    _workers: Workers
    _numbering: Numbering
    _held: WorkerResults
    _empty: VertexValues
    _vertex_columns: Sequence[str]
    _missing: set[str]
    _rows: list[dict[str, Any]]
    _options: dict[str, Any]

    @abstractmethod
    def _available(self) -> WorkerResults:
        """The values on the workers, recomputed first if some were lost with a worker."""

    def _repr_html_(self) -> str:
        from dgraph.display.cards import FEW, result_card

        return result_card(self, self._first_rows(FEW))

    @known_options()
    def plot(self, column: str | None = None, *, kind: str = "auto", ax: Any = None) -> Any:
        """Plot a column with Matplotlib, which comes with the extra ``plots``.

        The workers count the values that they hold, so no values are gathered.

        Parameters
        ----------
        column : str, optional
            The column; the first by default.
        kind : {"auto", "histogram", "rank"}, default "auto"
            ``"histogram"`` shows how many vertices have which value. ``"rank"`` shows the values from the largest to
            the smallest, on logarithmic axes. ``"auto"`` chooses a histogram for distances and for few different
            counts, and ranks for centralities. Columns of vertices, such as components and communities, are always
            shown as the sizes of their groups, by rank.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If Matplotlib is not installed, an option has a value that is not allowed, or there is nothing to plot.
        ColumnError
            If the result has no such column, or the column holds vectors.

        Examples
        --------
        >>> result = dg.pagerank(dg.rmat(scale=8, edge_factor=8, seed=1))
        >>> result.plot().get_xlabel()
        'rank of the vertex'
        """
        from dgraph.display.result_plot import plot_result

        return plot_result(self, column, kind, ax)

    def _of_parts(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call `function` with the `WorkerResult` of each partition, the partition and the arguments, on its worker."""

        def work() -> list[Any]:
            held = self._available()
            return self._workers.bring(
                self._workers.each(function, [(held.of(part), part, *arguments) for part in held.homes])
            )

        return retry(self._workers.client, work, self._workers.forget)

    def _group_sizes(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The sizes of the groups that a column of vertices names, and how many groups have each. Labels are divided
        among as many tasks as there are partitions."""
        from dgraph.display.column_counts import group_sizes, label_counts, sum_of_sizes

        workers = self._workers

        def work() -> list[Any]:
            held = self._available()
            slots = len(held.homes)
            counted = workers.each(label_counts, [(held.of(part), part, name, slots) for part in held.homes])
            pieces = [[workers.item(one, slot) for one in counted] for slot in range(slots)]
            return workers.bring(workers.each(group_sizes, [(one, self._numbering.size) for one in pieces]))

        return sum_of_sizes(retry(workers.client, work, workers.forget))

    def _first_rows(self, count: int) -> pd.DataFrame | None:
        """The first rows of the first partition, if their values are in this process."""
        if self._workers.client is not None:
            return None
        part = min(self._held.homes)
        numbers, columns = self._held.of(part).parts[part]
        some = VertexValues(numbers[:count], {name: values[:count] for name, values in columns.items()})
        return table(some, self._numbering, self._vertex_columns, self._missing)
