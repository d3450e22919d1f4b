"""What `loops=`, `repeats=` and `symmetrize=` leave of listed edges, in plain Python."""

import pandas as pd

RULES = [  # (directed, the options of a graph)
    (True, {"repeats": "first"}),
    (True, {"symmetrize": True}),
    (True, {"symmetrize": True, "repeats": "first", "loops": "drop"}),
    (False, {"repeats": "first"}),
    (False, {"repeats": "first", "loops": "drop"}),
]


def ruled(
    edges: pd.DataFrame, *, directed: bool, loops: str = "keep", repeats: str = "keep", symmetrize: bool = False
) -> list[tuple]:
    """The edges that a graph with these options has. A loop is its own reverse."""
    pairs = [(u, v) for u, v in edges.iloc[:, :2].itertuples(index=False) if loops == "keep" or u != v]
    if symmetrize:
        pairs = [pair for u, v in pairs for pair in ([(u, v), (v, u)] if u != v else [(u, v)])]
    if repeats == "keep":
        return pairs
    return list({(u, v) if directed else (min(u, v), max(u, v)): (u, v) for u, v in pairs}.values())
