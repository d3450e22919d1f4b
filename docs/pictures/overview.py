"""The picture of the README: edges come in, vertices fire over partitions, a frame comes out."""

from __future__ import annotations

from math import hypot

import pandas as pd
from canvas import box, svg, text

import dgraph as dg

CALLS = (
    *(("ann", "bob"), ("bob", "cat"), ("ann", "cat"), ("dan", "cat"), ("eve", "dan"), ("fay", "eve")),
    *(("fay", "cat"), ("gus", "fay"), ("hal", "gus"), ("ivy", "hal"), ("ivy", "fay"), ("cat", "ann")),
)
PLACES = {  # the middle of each vertex
    **{"ann": (328, 100), "bob": (290, 214), "cat": (366, 190)},
    **{"dan": (466, 106), "eve": (462, 224), "fay": (532, 176)},
    **{"gus": (620, 106), "hal": (690, 156), "ivy": (632, 224)},
}
PARTITIONS = {  # the left side of each, and its vertices
    "partition 0": (252, ("ann", "bob", "cat")),
    "partition 1": (418, ("dan", "eve", "fay")),
    "partition 2": (584, ("gus", "hal", "ivy")),
}
COLOURS = ("first", "second", "third")
WIDTH, HEIGHT, TOP, ROW, BOX = 990, 300, 62, 22, 152
FIRST, LAST = 5, 5  # rows that the tables show


def picture() -> str:
    frame = pd.DataFrame(CALLS, columns=["src", "dst"])
    ranks = dg.pagerank(dg.Graph.from_edges(frame)).compute()
    size = {name: 15 + 22 * rank for name, rank in ranks.itertuples(index=False)}
    first = ranks.nlargest(LAST, "pagerank").itertuples(index=False)
    result = [("vertex", "pagerank"), *((name, f"{rank:.3f}") for name, rank in first)]
    owner = {name: place for place, (_, names) in enumerate(PARTITIONS.values()) for name in names}
    parts = [
        *_table(24, "edges", "pandas, Parquet, CSV, Dask ...", [("src", "dst"), *CALLS[:FIRST], ("...", "...")]),
        *_table(808, "result", "a frame with your ids", result),
        _flow(188, 238),
        _flow(746, 796),
        *(line for name in PARTITIONS for line in _partition(name)),
        *(_edge(one, other, size, owner[one] != owner[other]) for one, other in CALLS),
        *(line for name in PLACES for line in _vertex(name, size[name], COLOURS[owner[name]])),
        text(494, HEIGHT - 12, "messages between partitions", "mail", "middle"),
    ]
    title = "A frame of edges becomes a graph in partitions; vertices send messages; the result is a frame"
    return svg(WIDTH, HEIGHT, title, parts)


def _table(left: int, title: str, below: str, rows: list[tuple]) -> list[str]:
    """A frame of two columns, whose first row holds their names."""
    lines = [text(left, 36, title, size=17, bold=True), box(left, TOP, 152, ROW * len(rows) + 8, round_=5)]
    for number, row in enumerate(rows):
        y = TOP + ROW * (number + 1) - 3
        for x, value in zip((left + 12, left + 72), row, strict=True):
            lines.append(text(x, y, str(value), bold=number == 0))
    lines.append(f'<path d="M{left} {TOP + ROW + 4} h152" stroke="var(--line)"/>')
    lines.append(text(left, HEIGHT - 12, below))
    return lines


def _flow(start: int, end: int) -> str:
    return f'<path d="M{start} 150 H{end}" stroke="var(--ink)" stroke-width="3" marker-end="url(#ink)"/>'


def _partition(name: str) -> list[str]:
    colour, left = COLOURS[list(PARTITIONS).index(name)], PARTITIONS[name][0]
    frame = box(left, TOP - 10, BOX, HEIGHT - TOP - 26, line=colour, round_=12)
    return [frame, text(left + 6, 36, name, colour, size=15)]


def _edge(one: str, other: str, size: dict[str, float], crosses: bool) -> str:
    """An arrow from the rim of a vertex to that of another."""
    (x, y), (u, v) = PLACES[one], PLACES[other]
    dx, dy = (u - x) / hypot(u - x, v - y), (v - y) / hypot(u - x, v - y)
    colour = "mail" if crosses else "ink"
    dash = ' stroke-dasharray="5 3"' if crosses else ""
    start, stop = size[one] + 1, size[other] + 3
    ends = f"M{x + start * dx:.0f} {y + start * dy:.0f} L{u - stop * dx:.0f} {v - stop * dy:.0f}"
    return f'<path d="{ends}" stroke="var(--{colour})" stroke-width="1.6"{dash} marker-end="url(#{colour})"/>'


def _vertex(name: str, radius: float, colour: str) -> list[str]:
    """A vertex, the larger the higher its rank."""
    x, y = PLACES[name]
    return [
        f'<circle cx="{x}" cy="{y}" r="{radius:.1f}" fill="var(--{colour})"/>',
        text(x, y + 5, name, "on", "middle"),
    ]
