"""Results that are made from results: with other values, or with the report of another run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dgraph.cluster.retry import retry
from dgraph.runs.result_display import ResultDisplay
from dgraph.runs.worker_results import VertexValues, WorkerResults, changed_values

if TYPE_CHECKING:
    from dgraph.building.partitioned_graph import PartitionedGraph
    from dgraph.runs.result import RunResult


class ResultChange(ResultDisplay):
    """The part of a `RunResult` that makes others of it."""

    options: Any
    _answers: Any
    _whole: bool
    _trails: Any
    _work: Callable[[PartitionedGraph], RunResult] | None

    @abstractmethod
    def by_number(self, name: str) -> np.ndarray:
        """Fetch one column to this process as an array."""

    def after(self, earlier: RunResult) -> Self:
        """Return this result with the report, rounds and totals of the earlier run that computed its values.

        Parameters
        ----------
        earlier : RunResult
            The result of the earlier run.

        Returns
        -------
        RunResult

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
        >>> dg.wcc(G).after(dg.bfs(G, 0)).rounds
        3
        """
        self._rows, self._options, self.options = earlier._rows, earlier._options, earlier.options
        self.rounds, self.totals = earlier.rounds, earlier.totals
        return self

    def with_rounds_before(self, earlier: RunResult | None) -> Self:
        """Return this result with the rounds of the run that it continues added to its report.

        Parameters
        ----------
        earlier : RunResult or None
            The result of the run that it continues; None changes nothing.

        Returns
        -------
        RunResult

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
        >>> dg.wcc(G).with_rounds_before(dg.bfs(G, 0)).rounds
        4
        """
        if earlier is not None:
            later = [{**row, "superstep": row["superstep"] + earlier.rounds} for row in self._rows]
            self._rows, self.rounds = [*earlier._rows, *later], self.rounds + earlier.rounds
        return self

    def map(self, change: Callable[..., Any], *others: RunResult, whole: bool = True) -> Self:
        """Change the values of each partition on its worker.

        On a cluster this returns immediately, and reading the values waits for them.

        Parameters
        ----------
        change : callable
            Called as ``change(numbers, columns, *columns of the others)`` for each partition, with its vertex numbers
            and dicts of arrays; returns numbers and a dict. It is also called with empty arrays, to find the dtypes.
        *others : RunResult
            Results on the same graph.
        whole : bool, default True
            Whether the new result lists every vertex.

        Returns
        -------
        RunResult
            A new result, with the report of this one.

        Examples
        --------
        >>> G = dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]})
        >>> hops = dg.bfs(G, "a")
        >>> hops.map(lambda numbers, columns: (numbers, {"twice": 2 * columns["distance"]})).compute()
          vertex  twice
        0      a    0.0
        1      b    2.0
        2      c    4.0
        """
        workers, changed = self._workers, copy(self)

        def work() -> WorkerResults:
            held = [self._available(), *(one._available() for one in others)]
            homes = {part: i for i, part in enumerate(held[0].homes)}
            sent = {  # what is on other partitions of the graph
                i: {name: one.by_number(name) for name in one._empty.columns}
                for i, one in enumerate(others, 1)
                if held[i].homes.keys() != homes.keys()
            }
            arguments = [
                (change, part, *(sent[i] if i in sent else one.of(part) for i, one in enumerate(held)))
                for part in homes
            ]
            return WorkerResults(workers.each(changed_values, arguments), homes)

        changed._held = retry(workers.client, work, workers.forget)
        changed._empty = VertexValues(*change(*self._empty, *(one._empty.columns for one in others)))
        changed._whole, changed._trails, changed._answers = whole, None, None
        if (recompute := self._work) is not None:
            changed._work = lambda graph: recompute(graph).map(change, *others, whole=whole)
        return changed
