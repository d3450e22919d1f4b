"""The pieces of what notebooks show: a card with a title, facts, tables, sparklines and lines of code to go on with.

Colours are those of the page, made fainter, so that a card reads well on light and dark pages. All text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from dgraph.phrases.phrases import format_count
from dgraph.phrases.printable import printable

WIDTH, HEIGHT, MARGIN = 180, 30, 2  # of a sparkline, in pixels
POINTS = 90  # of a sparkline at most
LONGEST = 60  # characters of a value in a table
ACCENT = "#2f8fc9"  # reads well on white and on black
STYLE = """
.dgraph-card{display:inline-block;box-sizing:border-box;max-width:100%;overflow-x:auto;padding:.5rem .9rem .6rem;
border:1px solid rgba(128,128,128,.4);border-radius:8px;font:13px/1.55 system-ui,sans-serif;color:inherit}
.dgraph-card :is(table,tbody,thead,tr,th,td){border:0;background:none;color:inherit;font-size:inherit}
.dgraph-card table{display:table;width:auto;margin:.35rem 0;border-collapse:collapse}
.dgraph-card :is(th,td){padding:.05rem 1.3rem .05rem 0;text-align:left;vertical-align:top;white-space:nowrap}
.dgraph-card .facts td{white-space:normal;overflow-wrap:anywhere}
.dgraph-card .n{text-align:right;font-variant-numeric:tabular-nums}
.dgraph-card th{font-weight:normal;opacity:.65}
.dgraph-card thead th{border-bottom:1px solid rgba(128,128,128,.4)}
.dgraph-card .best td{font-weight:600}
.dgraph-card .faint{opacity:.65}
.dgraph-card pre{margin:.2rem 0 0;padding:.35rem .6rem;border:0;border-radius:5px;background:rgba(128,128,128,.13);
color:inherit;font:12px/1.5 ui-monospace,monospace;white-space:pre;overflow-x:auto}
.dgraph-card svg{display:block;margin:.1rem 0 .35rem}
"""


def card(title: str, subtitle: str, pieces: Iterable[str], then: Sequence[str] = ()) -> str:
    """A card. `pieces` are HTML, and `then` lines of Python to go on with."""
    following = ""
    if then:
        following = f'<div class="faint">What to do next</div><pre>{shown(chr(10).join(then), keep=chr(10))}</pre>'
    head = f'<div><b>{shown(title)}</b> <span class="faint">{shown(subtitle)}</span></div>'
    return f'<div class="dgraph-card"><style>{STYLE}</style>{head}{"".join(pieces)}{following}</div>'


def shown(text: object, keep: str = "") -> str:
    """Text that a page shows as it is: without control characters, and escaped."""
    return escape(printable(text, keep))


def facts(rows: Mapping[str, Any]) -> str:
    """Names and values, without those that are None."""
    lines = [f"<tr><th>{shown(n)}</th><td>{shown(_value(v))}</td></tr>" for n, v in rows.items() if v is not None]
    return f'<table class="facts"><tbody>{"".join(lines)}</tbody></table>'


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]], best: int | None = None, more: int = 0) -> str:
    """A small table, with a row that stands out. `more` rows have been left out."""
    numeric = [all(isinstance(row[i], int | float | np.number) for row in rows) for i in range(len(heads))]
    kinds = [' class="n"' if one else "" for one in numeric]  # numbers are aligned at the right
    head = "".join(f"<th{kind}>{shown(name)}</th>" for name, kind in zip(heads, kinds, strict=True))
    lines, emphasis = [], ' class="best"'
    for at, row in enumerate(rows):
        texts = [
            _value("" if not kind and pd.isna(value) is True else value) for value, kind in zip(row, kinds, strict=True)
        ]
        cells = "".join(f"<td{kind}>{shown(_short(text))}</td>" for text, kind in zip(texts, kinds, strict=True))
        lines.append(f"<tr{emphasis if at == best else ''}>{cells}</tr>")
    if more:
        lines.append(f'<tr><td class="faint" colspan="{len(heads)}">and {more:,} more</td></tr>')
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _value(value: Any) -> str:
    if isinstance(value, str):
        text = value
    elif isinstance(value, bool | np.bool_):
        text = "yes" if value else "no"
    elif isinstance(value, int | np.integer):
        text = f"{value:,}"
    elif isinstance(value, float | np.floating):
        text = f"{value:,.0f}" if 1e4 <= abs(float(value)) < np.inf else f"{value:.4g}"
    else:
        text = str(value)
    return text


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def sparkline(values: Any, what: str, step: str) -> str:
    """A line with a number for each step, and the first and the last of them as text; nothing if it would be a point.
    Numbers that fall or rise by orders of magnitude, all above zero, are drawn by their logarithms."""
    given = np.asarray(values)
    line = given[np.isfinite(given)].astype(float)
    if len(line) < 2:
        return ""
    by_log = line.min() > 0 and line.max() > 100 * line.min()
    if len(line) > POINTS:
        line = np.maximum.reduceat(line, np.arange(POINTS) * len(line) // POINTS)
    heights = np.log(line) if by_log else line
    low = heights.min() if by_log else min(0.0, heights.min())
    span = (heights.max() - low) or 1.0
    x = MARGIN + (WIDTH - 2 * MARGIN) * np.arange(len(line)) / (len(line) - 1)
    y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (heights - low) / span
    points = " ".join(f"{one:.1f},{other:.1f}" for one, other in zip(x, y, strict=True))
    base = f"{WIDTH - MARGIN},{HEIGHT} {MARGIN},{HEIGHT}"
    scale = " (log scale)" if by_log else ""
    ends = f"first {_value(given[0])}, last {_value(given[-1])}"
    label = shown(f"{what} in {format_count(len(given), step)}{scale}: {ends}")
    return (
        f'<div class="faint">{label}</div><svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" aria-label="{label}"><polygon points="{points} {base}" fill="{ACCENT}" fill-opacity=".18"/>'
        f'<polyline points="{points}" fill="none" stroke="{ACCENT}" stroke-width="1.5"/></svg>'
    )
