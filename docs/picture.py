"""Draws the picture of the README, docs/picture.svg: edges come in, vertices fire over partitions, a frame comes out.

python docs/picture.py
"""

from __future__ import annotations

from html import escape
from math import hypot
from pathlib import Path

import pandas as pd

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
COLOURS = ("#2a6f97", "#5a7d2a", "#a4502f")
INK, PALE, LINE, MESSAGE = "#22303c", "#f7f9fb", "#c9d3dc", "#c77d0a"
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
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="Helvetica, Arial, sans-serif" font-size="14">',
        "<title>A frame of edges becomes a graph in partitions; vertices send messages; the result is a frame</title>",
        "<defs>",
        *(_arrow(name, colour) for name, colour in (("inner", INK), ("crossing", MESSAGE), ("flow", INK))),
        "</defs>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="white"/>',
        *_table(24, "edges", "pandas, Parquet, CSV, Dask ...", [("src", "dst"), *CALLS[:FIRST], ("...", "...")]),
        *_table(808, "result", "a frame with your ids", result),
        _flow(188, 238),
        _flow(746, 796),
        *(_partition(place, title, left) for place, (title, (left, _)) in enumerate(PARTITIONS.items())),
        *(_edge(one, other, size, owner[one] != owner[other]) for one, other in CALLS),
        *(_vertex(name, size[name], COLOURS[owner[name]]) for name in PLACES),
        f'<text x="494" y="{HEIGHT - 12}" text-anchor="middle" fill="{MESSAGE}">messages between partitions</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _arrow(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 1 L10 5 L0 9 z" fill="{colour}"/></marker>'
    )


def _table(left: int, title: str, below: str, rows: list[tuple]) -> list[str]:
    """A frame of two columns, whose first row holds their names."""
    lines = [f'<text x="{left}" y="36" font-size="17" font-weight="bold" fill="{INK}">{title}</text>']
    height = ROW * len(rows) + 8
    lines.append(f'<rect x="{left}" y="{TOP}" width="152" height="{height}" rx="5" fill="{PALE}" stroke="{LINE}"/>')
    for number, row in enumerate(rows):
        y = TOP + ROW * (number + 1) - 3
        weight = ' font-weight="bold"' if number == 0 else ""
        for x, value in zip((left + 12, left + 72), row, strict=True):
            lines.append(f'<text x="{x}" y="{y}"{weight} fill="{INK}">{escape(str(value))}</text>')
    lines.append(f'<path d="M{left} {TOP + ROW + 4} h152" stroke="{LINE}"/>')
    lines.append(f'<text x="{left}" y="{HEIGHT - 12}" fill="{INK}">{below}</text>')
    return lines


def _flow(start: int, end: int) -> str:
    return f'<path d="M{start} 150 H{end}" stroke="{INK}" stroke-width="3" marker-end="url(#flow)"/>'


def _partition(place: int, title: str, left: int) -> str:
    return (
        f'<rect x="{left}" y="{TOP - 10}" width="{BOX}" height="{HEIGHT - TOP - 26}" rx="12" fill="{PALE}" '
        f'stroke="{COLOURS[place]}" stroke-width="1.5"/>'
        f'<text x="{left + 6}" y="36" font-size="15" fill="{COLOURS[place]}">{title}</text>'
    )


def _edge(one: str, other: str, size: dict[str, float], crosses: bool) -> str:
    """An arrow from the rim of a vertex to that of another."""
    (x, y), (u, v) = PLACES[one], PLACES[other]
    dx, dy = (u - x) / hypot(u - x, v - y), (v - y) / hypot(u - x, v - y)
    colour, marker = (MESSAGE, "crossing") if crosses else (INK, "inner")
    dash = ' stroke-dasharray="5 3"' if crosses else ""
    start, stop = size[one] + 1, size[other] + 3
    ends = f"M{x + start * dx:.0f} {y + start * dy:.0f} L{u - stop * dx:.0f} {v - stop * dy:.0f}"
    return f'<path d="{ends}" stroke="{colour}" stroke-width="1.6"{dash} marker-end="url(#{marker})"/>'


def _vertex(name: str, radius: float, colour: str) -> str:
    x, y = PLACES[name]
    return (
        f'<circle cx="{x}" cy="{y}" r="{radius:.1f}" fill="{colour}"/>'
        f'<text x="{x}" y="{y + 5}" text-anchor="middle" fill="white">{name}</text>'
    )


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(picture())
