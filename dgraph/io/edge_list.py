"""What a reader passes to `Graph.from_edges`: an edge table, and the file's metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dgraph.arguments import AUTO, is_default
from dgraph.building.graph_frames import compute_frames
from dgraph.errors import ColumnError, OptionError, WeightError
from dgraph.frames.sources import UNWEIGHTED_BY_CHOICE, NoWeight, auto_weight
from dgraph.graph import Graph
from dgraph.phrases.phrases import format_option, warn


@dataclass(frozen=True)
class EdgeList:
    """Edges, the names of their source, destination and weight columns, and the file's other metadata."""

    edges: Any  # a pyarrow.Table, or a pandas or Dask DataFrame
    source: str
    destination: str
    weight: str | None = None
    directed: bool | None = None  # None: the file does not say
    vertices: Any = None  # a range of ids, or a table whose first column lists ids; may include isolated vertices
    unweighted: NoWeight = UNWEIGHTED_BY_CHOICE  # if there is no weight: the columns that may have been meant

    def graph(self, directed: bool | None = None, vertices: Any = None, **options: Any) -> Graph:
        """Build the graph of these edges with `Graph.from_edges`, which gets the further options."""
        return Graph.from_edges(
            self.edges,
            source=self.source,
            destination=self.destination,
            weight=self.unweighted if self.weight is None else self.weight,  # type: ignore[arg-type]
            directed=self.directed is not False if directed is None else directed,
            vertices=self.vertices if vertices is None else vertices,
            **options,
        )


def edge_list_of(graph: Graph) -> EdgeList:
    """All edges and vertices of a graph, as frames in this process."""
    edges, vertices = compute_frames(graph)
    given = graph.input_edges.edges
    return EdgeList(edges, given.source, given.destination, graph.weight, graph.directed, vertices)


def find_column(path: Any, known: Sequence[str], what: str, column: Any, remedy: str | None = None) -> str:
    """The name of the column that the option `what` gives by name or position."""
    if column in known and isinstance(column, str):
        return column
    if isinstance(column, bool) or not isinstance(column, str | int):
        raise ColumnError(f"{path}: {format_option(what, column)} must be the name of a column or its position")
    if isinstance(column, str):
        remedy = remedy or f"its columns are {', '.join(known)}"
        raise ColumnError(f"{path}: {what}={column!r}, but there is no such column ({remedy})")
    if not -len(known) <= column < len(known):
        raise ColumnError(f"{path}: {what}={column}, but there are only {len(known)} columns (0 is the first)")
    return known[column]


def choose_columns(
    path: Any,
    known: Sequence[str],
    find: Callable[[str, Any], str] | None = None,
    *,
    source: Any = None,
    destination: Any = None,
    weight: Any,
    columns: Any,
    numeric: Callable[[str], bool] = lambda name: False,
) -> tuple[list[str], str | None, NoWeight]:
    """(The columns to read, the weight, the columns that may have been meant if there is none); the source, the
    destination and the weight come first.

    `find` maps an option and its value to a column, by default as `find_column` does. By default, the ends are the
    first two columns. `numeric` says whether a column holds numbers: weight="auto" takes such a column if it is called
    `weight`.
    """
    find = find or partial(find_column, path, known)
    ends = {"source": source, "destination": destination}
    named = {what: find(what, column) for what, column in ends.items() if column is not None}
    free = iter(name for name in known if name not in named.values())
    start, end = (named[what] if what in named else next(free) for what in ends)
    if start == end:
        raise OptionError(f"{path}: source and destination are both column {start!r}; name two columns")
    auto = is_default(weight, AUTO)
    if auto:
        weight = auto_weight(known, (start, end), numeric)
    label = None if weight is None else find("weight", weight)
    if label in (start, end):
        raise OptionError(f"{path}: weight={weight!r} is an id column (name the column that holds the weights)")
    if is_default(columns, "all"):
        others = list(known)
    elif isinstance(columns, str):
        raise OptionError(f'columns={columns!r} must be a list of columns or "all"')
    else:
        others = [find("columns", column) for column in columns or ()]
    instead = [name for name in known if name not in (start, end) and numeric(name)] if auto else []
    return list(dict.fromkeys([start, end, *([] if label is None else [label]), *others])), label, NoWeight(instead)


def keep_weight(path: Any, weight: Any, weighted: bool, problem: str) -> bool:
    """Whether to keep the weight of a file; a WeightError if the caller requests one and the file has none."""
    if not weighted and not (weight is None or is_default(weight, AUTO)):
        raise WeightError(f"{path}: {problem} (leave weight= out)")
    return weighted and weight is not None


def warn_of_other_ends(names: Sequence[str], chosen: tuple[str, str]) -> None:
    """Warn if the first two columns are taken as the ends of edges although other columns are named like ends."""
    lower = {name.lower(): name for name in names}
    for pair in (("src", "dst"), ("source", "destination"), ("source", "target"), ("from", "to")):
        if all(name in lower for name in pair) and {lower[name] for name in pair} != set(chosen):
            start, end = (lower[name] for name in pair)
            warn(
                f"edges are read from the first two columns, {chosen[0]!r} and {chosen[1]!r}, although there are "
                f"columns {start!r} and {end!r}; choose with source= and destination="
            )
            return
