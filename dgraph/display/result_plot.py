"""The plot of a column of a result: sizes of groups, a histogram of distances and counts, or values by rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.arguments import check_choice
from dgraph.display import column_counts
from dgraph.display.column_counts import Spread
from dgraph.display.plot_style import COLOURS, axes_for, import_matplotlib
from dgraph.errors import ColumnError, OptionError
from dgraph.phrases.phrases import format_count

if TYPE_CHECKING:
    from dgraph.runs.result_display import ResultDisplay

AUTO, HISTOGRAM, RANK = KINDS = ("auto", "histogram", "rank")
AROUND_A_MEAN = ("distance", "eccentricity", "lower", "upper", "lcc")  # whose values do not span orders of magnitude
FEW = 60  # whole numbers, each of which gets a bar of its own
BARS, RANKS = 40, 400  # of a histogram, and points of a plot by rank
DOTS = 50  # points that are drawn as dots, too
EQUAL = 1e-9  # the relative difference of values that are drawn as one
NEAR = 20  # the ratio of the largest to the smallest value up to which an axis has more labels


def plot_result(result: ResultDisplay, column: str | None, kind: str, ax: Any) -> Any:
    """Draw a column of a result; see `RunResult.plot`."""
    check_choice("kind", kind, KINDS)
    import_matplotlib("plots")  # before any work is done
    name = column_to_plot(result, column)
    if name in result._vertex_columns:
        if kind == HISTOGRAM:
            raise OptionError(
                f'kind="histogram": {name!r} holds vertices, whose groups are shown by rank; leave it out'
            )
        sizes, counts = result._group_sizes(name)
        with axes_for(ax) as drawn:
            _draw_groups(drawn, name, sizes, counts)
        return drawn
    spread = column_counts.sum_of_spreads(result._of_parts(column_counts.spread_of, name))
    by_rank = _is_by_rank(name, kind, spread)
    edges = _rank_edges(spread) if by_rank else _bar_edges(spread)
    counts = np.sum(result._of_parts(column_counts.histogram_of, name, edges), axis=0)
    with axes_for(ax) as drawn:
        (_draw_ranks if by_rank else _draw_bars)(drawn, name, spread, edges, counts)
        if result._empty.columns[name].dtype == bool:
            drawn.set_xticks([0, 1], ["False", "True"])
    return drawn


def column_to_plot(result: ResultDisplay, column: str | None) -> str:
    """The column that is asked for, or the first of the result."""
    columns = result._empty.columns
    name = next(iter(columns)) if column is None else column
    if name not in columns:
        raise ColumnError(f"the result has no column {name!r}; it has {', '.join(columns)}")
    if columns[name].ndim > 1:
        raise ColumnError(f"column {name!r} holds vectors, which have no plot; plot one of their elements yourself")
    return name


def _is_by_rank(name: str, kind: str, spread: Spread) -> bool:
    if not spread.finite:
        raise OptionError(f"column {name!r} has no finite values, so there is nothing to plot")
    positive = spread.low >= 0 and spread.high > 0
    if kind == RANK and not positive:
        raise OptionError(f'kind="rank" has logarithmic axes, but column {name!r} has values from {spread.low:g}')
    if kind != AUTO:
        return kind == RANK
    whole_and_few = spread.whole and spread.high - spread.low < FEW
    return positive and not whole_and_few and name not in AROUND_A_MEAN


def _bar_edges(spread: Spread) -> np.ndarray:
    if spread.whole and spread.high - spread.low < FEW:
        return np.arange(spread.low - 0.5, spread.high + 1)
    if spread.high - spread.low <= EQUAL * abs(spread.high):
        return np.sort(np.array([0.99, 1.01]) * spread.high)
    return np.linspace(spread.low, spread.high, BARS + 1)


def _rank_edges(spread: Spread) -> np.ndarray:
    low, high = spread.least_positive, spread.high
    edges = np.geomspace(low, high, RANKS + 1 if high - low > EQUAL * high else 2)
    edges[0], edges[-1] = low, np.nextafter(high, np.inf)
    return edges


def _draw_bars(ax: Any, name: str, spread: Spread, edges: np.ndarray, counts: np.ndarray) -> None:
    middles, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    few = spread.whole and spread.high - spread.low < FEW
    ax.bar(middles, counts, widths * (0.8 if few else 0.96), color=COLOURS[0])
    if few:
        ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel=name, ylabel="vertices", title=_title(name, spread))


def _draw_ranks(ax: Any, name: str, spread: Spread, edges: np.ndarray, counts: np.ndarray) -> None:
    ranks = counts[::-1].cumsum()[::-1]  # the number of values from each edge on
    filled = counts > 0
    _draw_by_rank(ax, ranks[filled], np.minimum(edges[:-1][filled], spread.high))
    zeros = f"; {spread.zeros:,} are 0" if spread.zeros else ""
    ax.set(xlabel="rank of the vertex", ylabel=name, title=_title(name, spread) + zeros)


def _draw_groups(ax: Any, name: str, sizes: np.ndarray, counts: np.ndarray) -> None:
    largest, below = sizes[::-1], counts[::-1].cumsum()
    first = below - counts[::-1] + 1  # the rank of the first group of each size; the last is in `below`
    ranks = np.stack([first, below], axis=1).ravel()
    _draw_by_rank(ax, ranks, np.repeat(largest, 2))
    groups, vertices = int(counts.sum()), int((sizes * counts).sum())
    title = f"{name}: {format_count(vertices, 'vertex')} in {format_count(groups, 'group')}"
    ax.set(xlabel="rank of the group", ylabel="vertices", title=title)


def _draw_by_rank(ax: Any, ranks: np.ndarray, values: np.ndarray) -> None:
    ax.plot(ranks, values, color=COLOURS[0], marker="o" if len(ranks) <= DOTS else None)
    ax.set(xscale="log", yscale="log")
    for axis, shown in ((ax.xaxis, ranks), (ax.yaxis, values)):
        if len(shown) and shown.max() < NEAR * shown.min():  # there may be no power of ten, so label others, too
            axis.set_major_formatter("{x:.4g}")
            axis.set_minor_formatter("{x:.4g}")


def _title(name: str, spread: Spread) -> str:
    others = {"infinite": spread.infinite, "missing": spread.missing}
    noted = ", ".join(f"{count:,} {what}" for what, count in others.items() if count)
    return f"{name} of {format_count(spread.size, 'vertex')}{noted and f' ({noted})'}"
