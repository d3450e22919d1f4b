"""The plot of a graph: how many vertices have which degree, or a drawing of a small graph.

Degrees are counted on the workers; only the edges of a graph that is small enough to draw come to this process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.arguments import check_choice
from dgraph.display.layout import places
from dgraph.display.plot_style import COLOURS, INK, axes_for, import_matplotlib
from dgraph.display.result_plot import column_to_plot
from dgraph.errors import OptionError
from dgraph.partition import placement
from dgraph.partition.partition import Partition
from dgraph.partition.placement import DegreeTable
from dgraph.phrases.phrases import format_count
from dgraph.phrases.printable import printable

if TYPE_CHECKING:
    from dgraph.graph import Graph
    from dgraph.runs.result import RunResult
    from dgraph.runs.result_column import ResultColumn

AUTO, DEGREES, DRAWING = KINDS = ("auto", "degrees", "drawing")
MOST_VERTICES, MOST_EDGES = 400, 4000  # of a graph that is drawn
NAMED, LONGEST = 40, 12  # vertices that are drawn with their ids, and the characters of these
GROUPS, OTHERS = 6, "#b0b0b0"  # the largest groups, each of which has a colour of its own; the others share one


def plot_graph(graph: Graph, color: RunResult | ResultColumn | None, kind: str, ax: Any) -> Any:
    """Draw a graph; see `Graph.plot`."""
    check_choice("kind", kind, KINDS)
    import_matplotlib("plots")  # before any work is done
    sizes = f"{format_count(graph.num_vertices, 'vertex')} and {format_count(graph.num_edges, 'edge')}"
    small = graph.num_vertices <= MOST_VERTICES and graph.num_edges <= MOST_EDGES
    if kind == DRAWING or (kind == AUTO and color is not None):
        if not small:
            raise OptionError(
                f"the graph has {sizes}; up to {MOST_VERTICES} vertices and {MOST_EDGES:,} edges are drawn. Cut a part "
                'out of it, as with dgraph.ego(G, vertex), or plot kind="degrees"'
            )
    elif kind == DEGREES or not small:
        if color is not None:
            raise OptionError('color= is for drawings; leave it out of kind="degrees"')
        return _plot_degrees(graph, sizes, ax)
    return _plot_drawing(graph, color, sizes, ax)


# -- degrees -----------------------------------------------------------------------------------------------------------


def _plot_degrees(graph: Graph, sizes: str, ax: Any) -> Any:
    workers = graph.workers
    options: dict[str, Any] = {"out": True, "into": True, **graph.input_edges.rules.arc_options}
    chunks = graph.input_edges.by_number()
    tasks = [workers.call(placement.degrees, chunk, graph.num_vertices, **options) for chunk in chunks]
    total = workers.reduce(placement.sum_degrees, tasks)
    (found,) = workers.bring(workers.each(degree_counts, [(total,)]))
    names = ("out-degree", "in-degree") if graph.directed else ("degree",)
    with axes_for(ax) as drawn:
        for name, (degrees, counts), colour, marker in zip(names, found, COLOURS, "ox", strict=False):
            zero = f", {counts[0]:,} have none" if len(degrees) and degrees[0] == 0 else ""
            shown = degrees > 0
            style = {"linestyle": "", "marker": marker, "color": colour, "alpha": 0.75, "label": f"{name}{zero}"}
            drawn.plot(degrees[shown], counts[shown], **style)
        drawn.set(xscale="log", yscale="log", xlabel="degree", ylabel="vertices", title=f"Degrees of {sizes}")
        drawn.legend()
    return drawn


def degree_counts(table: DegreeTable) -> list[tuple[np.ndarray, np.ndarray]]:
    """The different out-degrees and in-degrees, in ascending order, and how many vertices have each."""
    return [np.unique(one, return_counts=True) for one in (table.out, table.into) if one is not None]


# -- a drawing ---------------------------------------------------------------------------------------------------------


def edge_ends(partition: Partition) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of both ends of a partition's edges."""
    rows, numbers = partition.by_source, np.asarray(partition.numbers)
    return numbers[rows.rows()], numbers[rows.neighbours]


def _plot_drawing(graph: Graph, color: RunResult | ResultColumn | None, sizes: str, ax: Any) -> Any:
    column, values, is_group = ("", None, False) if color is None else _values(graph, color)
    ends = graph.workers.bring(graph.workers.each(edge_ends, [(one,) for one in graph.partitioned(("out",)).held]))
    pairs = np.unique(np.concatenate([np.stack(one, axis=1) for one in ends]), axis=0).astype(np.int64)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    if not graph.directed:
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    where = places(pairs[:, 0], pairs[:, 1], graph.num_vertices)
    named = graph.num_vertices <= NAMED
    size = float(np.clip(9000 / max(graph.num_vertices, 1), 14, 260))
    with axes_for(ax, 5.6, 5.0) as drawn:
        _draw_edges(drawn, where, pairs, directed=graph.directed and named, size=size)
        if values is None or is_group:
            colours = COLOURS[0] if values is None else _group_colours(drawn, column, values)
            drawn.scatter(*where.T, s=size, c=colours, edgecolors="white", linewidths=0.8, zorder=3)
        else:
            shown = np.where(np.isfinite(values), values, np.nan)
            dots = drawn.scatter(
                *where.T, s=size, c=shown, cmap="viridis", plotnonfinite=True, edgecolors="white", zorder=3
            )
            dots.cmap = dots.cmap.with_extremes(bad=OTHERS)
            drawn.figure.colorbar(dots, ax=drawn, label=column, shrink=0.7)
        if named:
            for place, name in zip(where, graph.numbering.restored(np.arange(graph.num_vertices)), strict=True):
                text = printable(name)
                text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
                drawn.annotate(
                    text,
                    place,
                    (0, -np.sqrt(size) / 2 - 2),
                    textcoords="offset points",
                    ha="center",
                    va="top",
                    fontsize=8,
                    color=INK,
                    parse_math=False,
                    zorder=4,
                )
        drawn.set(title=sizes, aspect="equal", xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))
        drawn.set_axis_off()
    return drawn


def _values(graph: Graph, color: Any) -> tuple[str, np.ndarray, bool]:
    """The column to colour by, its values, and whether they are vertices, which stand for groups."""
    result, name = getattr(color, "result", color), getattr(color, "name", None)
    if not hasattr(type(result), "by_number"):
        raise OptionError(f"color=<{type(color).__name__}> must be a result of this graph, or result.column(name)")
    one, other = result._numbering, graph.numbering
    if one is not other and not np.array_equal(one.ids(), other.ids()):
        raise OptionError(f"color={color!r} is a result of other vertices; compute it on this graph")
    column = column_to_plot(result, name)
    return column, result.by_number(column), column in result._vertex_columns


def _draw_edges(ax: Any, where: np.ndarray, pairs: np.ndarray, *, directed: bool, size: float) -> None:
    from matplotlib.collections import LineCollection

    if directed:
        gap = np.sqrt(size) / 2 + 1  # points between an arrow and the middle of a vertex
        style = {"arrowstyle": "-|>", "color": "#8a949c", "linewidth": 0.9, "shrinkA": gap, "shrinkB": gap}
        for one, other in pairs:
            ax.annotate("", where[other], where[one], arrowprops=style, zorder=2)
    else:
        ax.add_collection(LineCollection(where[pairs], colors="#8a949c", linewidths=0.7, alpha=0.6, zorder=2))


def _group_colours(ax: Any, column: str, labels: np.ndarray) -> list[str]:
    """The colour of each vertex: one for each of the largest groups, and grey for all others."""
    names, places, counts = np.unique(labels, return_inverse=True, return_counts=True)
    rank = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")[places]
    for at, count in enumerate(np.sort(counts)[::-1][:GROUPS]):
        ax.scatter([], [], c=COLOURS[at], label=f"{count:,}")
    if len(names) > GROUPS:
        ax.scatter([], [], c=OTHERS, label="others")
    ax.legend(title=f"{column} of", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return [COLOURS[one] if one < GROUPS else OTHERS for one in rank]
