"""What the pictures of the pages share: an SVG on a card whose colours follow the page, light or dark."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from math import hypot
from typing import Any

RADIUS = 19  # of a vertex

LIGHT = {
    **{"ink": "#22303c", "faint": "#5d6b76", "card": "#ffffff", "pale": "#f2f6f9", "line": "#b9c6cf"},
    **{"first": "#2a6f97", "second": "#5a7d2a", "third": "#a4502f", "mail": "#b56f00"},
    **{"busy": "#2a6f97", "wait": "#e0a73a", "idle": "#d8e0e6", "on": "#ffffff"},
}
DARK = {
    **{"ink": "#dfe6ec", "faint": "#9aa7b2", "card": "#14181e", "pale": "#1f262e", "line": "#46525d"},
    **{"first": "#5aa5d0", "second": "#8fb85a", "third": "#d98a66", "mail": "#e8a33d"},
    **{"busy": "#5aa5d0", "wait": "#e0a73a", "idle": "#323c46", "on": "#10141a"},
}


def svg(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """A whole picture. `title` says in a sentence what it shows, for those who cannot see it."""
    light, dark = (";".join(f"--{name}:{colour}" for name, colour in one.items()) for one in (LIGHT, DARK))
    heads = "".join(
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 1 L10 5 L0 9 z" fill="var(--{name})"/></marker>'
        for name in ("ink", "mail")
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        'font-family="Helvetica, Arial, sans-serif" font-size="14">',
        f"<title>{escape(title)}</title>",
        f"<style>svg{{{light}}}@media (prefers-color-scheme:dark){{svg{{{dark}}}}}</style>",
        f"<defs>{heads}</defs>",
        f'<rect width="{width}" height="{height}" rx="10" fill="var(--card)"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def text(
    x: float, y: float, what: str, colour: str = "ink", anchor: str = "start", size: int = 14, bold: bool = False
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    at = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}"'
    return f'<text {at}{weight} fill="var(--{colour})">{escape(what)}</text>'


def box(
    x: float, y: float, width: float, height: float, fill: str = "pale", line: str = "line", round_: int = 8
) -> str:
    at = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_}"'
    return f'<rect {at} fill="var(--{fill})" stroke="var(--{line})"/>'


def bar(x: float, y: float, width: float, height: float, colour: str) -> str:
    """A span of a timeline."""
    return f'<rect x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{height:g}" fill="var(--{colour})"/>'


def arrow(x: float, y: float, u: float, v: float, colour: str = "ink", dash: bool = False, bend: float = 0.0) -> str:
    """An arrow from (x, y) to (u, v), bent to its left by so much."""
    middle = f"{(x + u) / 2 + bend * (v - y) / 100:g} {(y + v) / 2 - bend * (u - x) / 100:g}"
    style = ' stroke-dasharray="6 4"' if dash else ""
    path = f"M{x:g} {y:g} Q{middle} {u:g} {v:g}"
    return (
        f'<path d="{path}" fill="none" stroke="var(--{colour})" stroke-width="1.8"{style} marker-end="url(#{colour})"/>'
    )


def edge(one: tuple[float, float], other: tuple[float, float], colour: str = "ink", **style: Any) -> str:
    """An arrow from the rim of a vertex to that of another, which are at these places."""
    (x, y), (u, v) = one, other
    far = hypot(u - x, v - y)
    start, stop = (RADIUS + 2) / far, 1 - (RADIUS + 4) / far
    dx, dy = u - x, v - y
    ends = (round(at, 1) for at in (x + start * dx, y + start * dy, x + stop * dx, y + stop * dy))
    return arrow(*ends, colour, **style)


def vertex(x: float, y: float, name: str, colour: str, proxy: bool = False) -> str:
    """A vertex; a proxy has a dashed rim and no filling."""
    if proxy:
        rim = f'fill="var(--card)" stroke="var(--{colour})" stroke-width="2" stroke-dasharray="4 3"'
    else:
        rim = f'fill="var(--{colour})"'
    label = text(x, y + 5, name, colour if proxy else "on", "middle")
    return f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS}" {rim}/>{label}'
