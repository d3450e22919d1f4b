"""Partitions and proxies: an edge whose other end is owned elsewhere ends at a copy of it, and masters and copies
exchange values."""

from __future__ import annotations

from canvas import box, edge, svg, text, vertex

HERE = {"a": (76, 122), "b": (210, 100), "c": (107, 221), "d": (300, 176)}  # partition 0, where d is a proxy
THERE = {"d": (530, 176), "e": (668, 221), "b": (742, 100)}  # partition 1, where b is a proxy
EDGES = (
    (HERE, "ab"),
    (HERE, "ac"),
    (HERE, "bd"),
    (HERE, "cd"),
    (THERE, "db"),
    (THERE, "be"),
    (THERE, "de"),
    (THERE, "ed"),
)


def picture() -> str:
    parts = [
        box(20, 44, 350, 230, line="first", round_=14),
        box(460, 44, 350, 230, line="second", round_=14),
        text(34, 32, "partition 0 owns a, b and c", "first", bold=True),
        text(474, 32, "partition 1 owns d and e", "second", bold=True),
    ]
    for places, (one, other) in EDGES:
        parts.append(edge(places[one], places[other], bend=14 if {one, other} == {"d", "e"} else 0))
    for places, owned, colour, other in ((HERE, "abc", "first", "second"), (THERE, "de", "second", "first")):
        for name, place in places.items():
            parts.append(vertex(*place, name, colour if name in owned else other, proxy=name not in owned))
    parts += [
        edge(HERE["d"], THERE["d"], "mail", bend=12),
        edge(HERE["b"], THERE["b"], "mail", dash=True, bend=12),
        text(415, 152, "reduce", "mail", "middle", bold=True),
        text(415, 62, "broadcast", "mail", "middle", bold=True),
        text(20, 302, "A dashed circle is a proxy: the copy of a vertex that another partition owns.", "faint"),
        text(
            20,
            324,
            "Proxies gather messages, and reduce them to one for the master. Masters broadcast values.",
            "faint",
        ),
    ]
    title = "Two partitions: edges that leave a partition end at proxies, which exchange values with their masters"
    return svg(830, 342, title, parts)
