"""The idea: messages merge on their way into a vertex's inbox; firing folds the inbox into the state, and sends."""

from __future__ import annotations

from canvas import arrow, box, svg, text, vertex

MESSAGES = (0.2, 0.1, 0.3)
ALPHA, BASE = 0.85, 0.15
ROWS = (52, 120, 188)


def picture() -> str:
    inbox = sum(MESSAGES)
    state = BASE + ALPHA * inbox
    parts = []
    for y, sent in zip(ROWS, MESSAGES, strict=True):
        parts += [vertex(50, y, "", "second"), arrow(70, y, 186, 120 + (y - 120) * 0.25, "mail")]
        parts.append(text(122, y + (120 - y) * 0.36 - 8, f"{sent:g}", "mail", "middle"))
    parts += [
        box(190, 86, 130, 68),
        text(255, 78, "merge", "mail", "middle", bold=True),
        text(255, 112, "inbox", "faint", "middle", 12),
        text(255, 136, f"{' + '.join(f'{one:g}' for one in MESSAGES)} = {inbox:.1f}", "ink", "middle", 12),
        arrow(322, 120, 396, 120),
        text(358, 108, "apply", "ink", "middle", bold=True),
        box(400, 76, 190, 88, line="first", round_=22),
        text(495, 106, "state of the vertex", "faint", "middle", 12),
        text(495, 134, f"{BASE:g} + {ALPHA:g} × {inbox:.1f} = {state:.2f}", "ink", "middle"),
    ]
    for y in ROWS:
        parts += [arrow(592, 120 + (y - 120) * 0.3, 720, y, "mail"), vertex(741, y, "", "second")]
    parts += [
        text(652, 62, "send", "mail", "middle", bold=True),
        text(395, 232, "The engine decides who fires next, and when messages cross partitions.", "faint", "middle"),
    ]
    title = (
        "Messages merge into the inbox of a vertex; apply folds it into the state; send passes messages on along edges"
    )
    return svg(790, 250, title, parts)
