"""What notebooks show of a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from dgraph.cluster.pickling_refusal import NotPicklable
from dgraph.runs.worker_results import VertexValues, WorkerResults, table

if TYPE_CHECKING:
    from dgraph.cluster.workers import Workers
    from dgraph.partition.ids.numbering import Numbering


class ResultDisplay(NotPicklable):
    """The part of a `RunResult` that notebooks show."""

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

    def _repr_html_(self) -> str:
        from dgraph.display.cards import FEW, result_card

        return result_card(self, self._first_rows(FEW))

    def _first_rows(self, count: int) -> pd.DataFrame | None:
        """The first rows of the first partition, if their values are in this process."""
        if self._workers.client is not None:
            return None
        part = min(self._held.homes)
        numbers, columns = self._held.of(part).parts[part]
        some = VertexValues(numbers[:count], {name: values[:count] for name, values in columns.items()})
        return table(some, self._numbering, self._vertex_columns, self._missing)
