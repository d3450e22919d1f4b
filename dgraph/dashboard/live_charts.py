"""The charts of the live page, drawn by Bokeh."""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from bokeh.layouts import column, row
from bokeh.models import ColumnDataSource, Div, GlobalInlineStyleSheet, InlineStyleSheet, NumeralTickFormatter, Select
from bokeh.plotting import figure
from bokeh.transform import dodge

from dgraph.dashboard.live_history import LiveHistory, LiveRun, LiveSample
from dgraph.phrases.printable import printable

EVERY = 500  # milliseconds between updates
NARROW, WIDE, TALL = 320, 420, 200  # of a chart, in pixels; the narrowest fit on a phone
LONGEST = 60  # characters of a reason in the table
COLOUR, OTHER, TEXT = "#2f8fc9", "#d9822b", "#7a858f"  # which read well on light and dark pages
LINE = "rgba(128, 128, 128, 0.25)"
COUNT, BYTES = NumeralTickFormatter(format="0.[0] a"), NumeralTickFormatter(format="0.[0] b")
HEADS = ("run", "what", "state", "supersteps", "seconds", "fired", "edges read", "bytes sent")
NEWEST = "the newest"
STYLE = "th, td { padding-right: 2em; text-align: left; white-space: nowrap }"
PAGE_STYLE = """
:root { color-scheme: light dark }
body { margin: 0.7rem; background: Canvas; color: CanvasText; font: 14px/1.5 system-ui, sans-serif }
"""
FOLLOWS_PAGE = """
:host { color: CanvasText; max-width: 100%; overflow-x: auto; font: inherit }
.bk-input { background-color: Canvas; color: CanvasText }
"""
WRAPS = ":host { flex-wrap: wrap; gap: 8px }"  # as many charts side by side as there is room for
IDLE_PAGE = "No run has begun on this cluster yet. Runs of dgraph appear here while they go on, and stay for a while."


def fill(doc: Any, history: LiveHistory, scheduler: Any) -> None:
    """Put the charts on a page, which asks for news as long as it is open."""
    page = LivePage(history, scheduler)
    page.update()
    known = weakref.ref(page)
    doc.title = "dgraph: runs"
    doc.add_root(page.root)
    doc.add_periodic_callback(lambda: _update(known), EVERY)
    doc.on_session_destroyed(lambda _: page.close())  # holds the page as long as somebody looks at it


def _update(known: weakref.ref[LivePage]) -> None:
    if (page := known()) is not None:
        page.update()


class LivePage:
    """All runs in a table, and below it what the chosen one does."""

    def __init__(self, history: LiveHistory, scheduler: Any):
        self.history, self.scheduler, self.open = history, scheduler, True
        style: Any = {"stylesheets": [InlineStyleSheet(css=FOLLOWS_PAGE)]}
        self.table, self.title = Div(**style), Div(text=IDLE_PAGE, **style)
        self.choice = Select(title="Show", value=NEWEST, options=[NEWEST], width=WIDE // 2, **style)
        self.course = ColumnDataSource(_course([]))
        self.workers = ColumnDataSource({name: [] for name in ("worker", "busy", "memory", "scratch")})
        lines = {
            "fired": ("vertices fired in a superstep", COUNT),
            "edges": ("edges read a second", COUNT),
            "bytes": ("bytes sent a second", BYTES),
            "residual": ("residual, where the engine measures it", COUNT),
        }
        self.lines = {name: self._line(name, *how) for name, how in lines.items()}
        self.bars = [
            self._bars({"busy": COLOUR}, "share of time busy", None),
            self._bars({"memory": COLOUR, "scratch": OTHER}, "memory; on disk (orange)", BYTES),
        ]
        charts = row(*self.lines.values(), *self.bars, sizing_mode="stretch_width")
        charts.stylesheets = [InlineStyleSheet(css=WRAPS)]
        self.shown = [self.choice, charts]  # only once there is something to show
        self.root = column(self.table, self.choice, self.title, charts, sizing_mode="stretch_width")
        self.root.stylesheets = [GlobalInlineStyleSheet(css=PAGE_STYLE)]
        for one in self.shown:
            one.visible = False

    def _line(self, name: str, title: str, how: NumeralTickFormatter) -> Any:
        chart = figure(title=title, width=WIDE, height=TALL, x_axis_label="seconds", toolbar_location=None)
        chart.line("seconds", name, source=self.course, color=COLOUR, line_width=2)
        chart.scatter("seconds", name, source=self.course, color=COLOUR, size=4)
        chart.yaxis.formatter, chart.y_range.start = how.clone(), 0
        return _in_colours_of_page(chart)

    def _bars(self, parts: Mapping[str, str], title: str, how: NumeralTickFormatter | None) -> Any:
        scale = {"x_range": (0, 1)} if how is None else {}
        chart = figure(title=title, width=WIDE, height=TALL, y_range=[], toolbar_location=None, **scale)
        height = 0.8 / len(parts)
        for place, (name, colour) in enumerate(parts.items()):
            shift = height * (place - (len(parts) - 1) / 2)
            y = dodge("worker", shift, range=chart.y_range)
            chart.hbar(y=y, right=name, height=0.9 * height, source=self.workers, color=colour)
        if how is not None:
            chart.xaxis.formatter, chart.xaxis.ticker.desired_num_ticks = how.clone(), 4
            chart.x_range.start = 0
        return _in_colours_of_page(chart)

    def close(self) -> None:
        self.open = False

    def update(self) -> None:
        """Show what has been told by now."""
        runs = list(self.history.newest())
        if not self.open or not runs:
            return
        names = {str(one.number): one for one in runs}
        if self.choice.value not in names:  # it was shown for a long time, and is forgotten
            self.choice.value = NEWEST
        self.choice.options = [NEWEST, *names]
        chosen = names.get(self.choice.value, runs[0])
        self.table.text = _table(runs)
        self.title.text = _headline(chosen)
        self.course.data = course = _course(chosen.samples)
        self.lines["residual"].visible = not all(map(math.isnan, course["residual"]))
        self._show_workers(chosen)
        for one in self.shown:
            one.visible = True

    def _show_workers(self, run: LiveRun) -> None:
        busy, known = run.busy(), self.scheduler.workers
        here = [known.get(one) for one in run.workers]
        names = [f"{printable(one)}{'' if one in known else ' (gone)'}" for one in run.workers]
        for chart in self.bars:
            if list(chart.y_range.factors) != names[::-1]:
                chart.y_range.factors = names[::-1]
        self.workers.data = {
            "worker": names,
            "busy": [busy[one] for one in run.workers],
            "memory": [0 if one is None else one.metrics.get("memory", 0) for one in here],
            "scratch": [0 if one is None else one.metrics.get("spilled_bytes", {}).get("disk", 0) for one in here],
        }


def _in_colours_of_page(chart: Any) -> Any:
    """The chart, without a background of its own."""
    chart.sizing_mode, chart.min_width, chart.max_width = "stretch_width", NARROW, WIDE
    chart.background_fill_color = chart.border_fill_color = chart.outline_line_color = None
    chart.title.text_color = chart.axis.axis_label_text_color = chart.axis.major_label_text_color = TEXT
    chart.axis.axis_line_color = chart.axis.major_tick_line_color = TEXT
    chart.axis.minor_tick_line_color = None
    chart.grid.grid_line_color = LINE
    return chart


def _table(runs: Sequence[LiveRun]) -> str:
    """The table of runs. (Bokeh's own is not drawn again if only the values in its rows change.)"""
    heads = "".join(f"<th>{name}</th>" for name in HEADS)
    return f"<style>{STYLE}</style><table><tr>{heads}</tr>{''.join(map(_row_of, runs))}</table>"


def _row_of(run: LiveRun) -> str:
    now, state = run.sample(), printable(run.state)
    state = state if len(state) <= LONGEST else f"{state[: LONGEST - 3]}..."
    counts = f"{now.superstep:,}", f"{run.seconds:,.2f}", f"{now.fired:,}", f"{now.edges:,}", f"{now.bytes:,}"
    cells = (str(run.number), printable(run.title) or "starts", state, *counts)
    return f"<tr>{''.join(f'<td>{escape(one)}</td>' for one in cells)}</tr>"


def _headline(run: LiveRun) -> str:
    state = escape(printable(run.state))
    return f"<b>Run {run.number}: {escape(printable(run.title)) or 'starts'}</b> on {len(run.workers)} workers, {state}"


def _course(samples: Sequence[LiveSample]) -> dict[str, list[float]]:
    """The lines: what happened from one sample to the next."""
    start = LiveSample(0.0, 0, 0, 0, 0, None)
    found: dict[str, list[float]] = {name: [] for name in ("seconds", "fired", "edges", "bytes", "residual")}
    for before, now in pairwise([start, *samples]):
        seconds = max(now.seconds - before.seconds, 1e-3)
        found["seconds"].append(now.seconds)
        found["fired"].append((now.fired - before.fired) / max(1, now.superstep - before.superstep))
        found["edges"].append((now.edges - before.edges) / seconds)
        found["bytes"].append((now.bytes - before.bytes) / seconds)
        found["residual"].append(float("nan") if now.residual is None else now.residual)
    return found
