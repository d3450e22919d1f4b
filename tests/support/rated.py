"""Ratings of few and many users and items, for tests."""

import numpy as np
import pandas as pd

import dgraph as dg

FEW = [("u1", "i1", 1.0), ("u1", "i2", 4.0), ("u2", "i1", 2.0), ("u3", "i2", 5.0)]


def frame_of(rows, **options):
    frame = pd.DataFrame(rows, columns=["user", "item", "rating"])
    return dg.Graph.from_edges(frame, source="user", destination="item", weight="rating", **options)


def drawn(seed, users, items, ratings, *, strength, tails=(0.0, 0.0), noise=0.8, bias=0.4):
    """Users and items that some rate more often than others, and ratings of rank 4 with noise."""
    draw = np.random.default_rng(seed)
    u, v = (
        draw.choice(count, ratings, p=(chance := np.arange(1.0, count + 1) ** -tail) / chance.sum())
        for count, tail in zip((users, items), tails, strict=True)
    )
    u, v = np.unique([u, v], axis=1)
    one, other = (np.sqrt(strength / 2) * draw.normal(size=(count, 4)) for count in (users, items))
    high = bias * draw.normal(size=users), bias * draw.normal(size=items)
    values = (one[u] * other[v]).sum(1) + high[0][u] + high[1][v] + noise * draw.normal(size=len(u))
    return u, v, values, draw


def shapes(name):
    """Ratings as defaults may meet them; their parameters were not used to choose any default."""
    if name == "few items":
        u, v, values, draw = drawn(11, 9000, 24, 90_000, strength=0.5)
    elif name == "long tail":
        u, v, values, draw = drawn(12, 2500, 3500, 70_000, strength=0.6, tails=(0.6, 0.9))
    elif name == "binary":
        u, v, values, draw = drawn(13, 900, 1100, 50_000, strength=0.8, tails=(0.3, 0.5))
        values = (values > 0).astype(float)
    elif name == "very sparse":
        u, v, values, draw = drawn(14, 9000, 5000, 27_000, strength=0.5, tails=(0.2, 0.3))
    elif name == "trend":
        u, v, values, draw = drawn(15, 800, 1500, 60_000, strength=0.4, tails=(0.4, 0.5))
        values = values + draw.normal(size=800)[u] * 0.5 * (draw.random(len(u)) - 0.5)
    else:  # nothing but biases
        u, v, values, draw = drawn(16, 800, 1500, 60_000, strength=0.0)
    frame = pd.DataFrame({"user": u, "item": v + 10**6, "rating": 10 * values})
    test = draw.random(len(frame)) < 0.2
    return frame[~test], frame[test]
