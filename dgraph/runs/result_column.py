"""A column of a result, as input to a later run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.building.partitioned_graph import PartitionedGraph
from dgraph.cluster.pickling_refusal import NotPicklable
from dgraph.errors import ColumnError

if TYPE_CHECKING:
    from dgraph.runs.result import RunResult


class ResultColumn(NotPicklable):
    """A column of a result, whose values stay on the workers that computed them."""

    def __init__(self, result: RunResult, name: str):
        self.result, self.name = result, name

    def __repr__(self) -> str:
        return f"<column {self.name!r} of {self.result!r}>"

    def has_vertices_of(self, graph: PartitionedGraph) -> bool:
        """Whether the graph has the same vertices as the result."""
        return has_vertices_of(self.result, graph)

    def is_beside(self, graph: PartitionedGraph) -> bool:
        """Whether each partition of the graph has its share of the column on its own worker."""
        stayed = self.result._is_beside and self.result._options.get("repartitioned", "no") == "no"
        return stayed and self.result._graph() is graph

    @property
    def holds_vertices(self) -> bool:
        """Whether its values are numbers of vertices."""
        return self.name in self.result._vertex_columns

    @property
    def dtype(self) -> np.dtype:
        return self.result._empty.columns[self.name].dtype

    def by_number(self) -> np.ndarray:
        return self.result.by_number(self.name)

    def _client(self) -> Any:
        return self.result._client()


def has_vertices_of(result: RunResult, graph: PartitionedGraph) -> bool:
    one, other = result._numbering, graph.numbering
    return one is other or np.array_equal(one.ids(), other.ids())


def only_column(argument: str, result: RunResult) -> ResultColumn:
    """The only column of a result that was passed as `argument`."""
    names = list(result._empty.columns)
    if len(names) > 1:
        raise ColumnError(
            f"{argument}= is a result with the columns {', '.join(names)}; pass one of them, as "
            f"result.column({names[0]!r})"
        )
    return result.column(names[0])
