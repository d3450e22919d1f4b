"""Random edges that tests cut graphs out of, with loops, repeats and isolated vertices."""

import numpy as np
import pandas as pd

SIZE = 40


def edges_of(seed: int = 1, *, count: int = 160, name=int) -> pd.DataFrame:
    """Random edges, with loops and repeats, among the first 30 of 40 vertices."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 30, (count, 2))
    ends[:5, 1] = ends[:5, 0]
    ends[5:12] = ends[12:19]
    labels = np.array([name(number) for number in range(SIZE)])
    texts = np.array([f"edge {row}" for row in range(count)])
    return pd.DataFrame({"src": labels[ends[:, 0]], "dst": labels[ends[:, 1]], "km": rng.random(count), "note": texts})


def vertices_of(name=int) -> pd.DataFrame:
    labels = [name(number) for number in range(SIZE)]
    return pd.DataFrame({"id": labels, "size": np.arange(SIZE) * 10, "even": np.arange(SIZE) % 2 == 0})


def listed(frame: pd.DataFrame) -> list[tuple]:
    return sorted(frame.itertuples(index=False, name=None))


def text(number: int) -> str:
    return f"v{number * 7919 % 100:02}"
