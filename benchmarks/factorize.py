"""Collaborative filtering on generated ratings with known noise, and on real ones.

    .venv/bin/python benchmarks/factorize.py [--users 2000] [--items 1000] [--ratings 1000000] [--data FOLDER]

The defaults are compared with the noise of generated ratings, and with errors that other programs reach on real ones.
Epochs from the newest factors are compared with those from the factors of the epoch before, and least squares with
NumPy.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import Claim, parser_of

import dgraph as dg
from dgraph.errors import OptionError
from dgraph.testing.verify import verify

NOISE, RANK = 0.5, 8
WEAK, STRONG = 0.005, 0.12  # regularization that suits generated ratings, and real ones
MOST_EPOCHS, NEAR = 100, 1.01
RATES = (None, 0.25, 0.5, 1.0)  # each side uses its best; None lets each vertex choose
REAL = "ml-latest-small/ratings.csv.xz"
SEEDS, MOST, MOST_OF_50 = 10, 0.865, 0.853  # of the real ratings' test: seeds, and the errors allowed
ENDS = {"source": "user", "destination": "item", "weight": "rating"}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--users", type=int, default=2000)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--ratings", type=int, default=1_000_000)
    parser.add_argument("--data", type=Path, help="the folder of real graphs")
    given = parser.parse_args()
    if given.data is not None:
        on_real_ratings(pd.read_csv(given.data / REAL))
    on_generated_ratings(given)


def on_generated_ratings(given: argparse.Namespace) -> None:
    size = f"{given.ratings:,} ratings"
    sizes = {"users": given.users, "items": given.items, "ratings": given.ratings}
    graph = dg.ratings(**sizes, rank=RANK, noise=NOISE, seed=1, parts=1)
    result = dg.factorize(graph, rank=RANK)
    verify("factorize", graph, result, mean=result.totals["mean"], rmse=1.02 * NOISE)
    held = result.totals["held_out"]
    Claim("factorize", f"held-out error at the defaults, {size}", "the noise", 1.02, "").record([held], [NOISE])
    compare_orders(graph, size, WEAK)
    how = {"rank": RANK, "regularization": WEAK, "biases": False, "test": 0.0, "epochs": 15, "stop": None}
    solved = dg.factorize(graph, **how)
    error, expected = float(solved.report["rmse"].iloc[-1]), least_squares(graph, 15)
    Claim("factorize", f"error of alternating least squares, {size}", "NumPy", 1.005, "").record([error], [expected])


def compare_orders(graph: dg.Graph, what: str, regularization: float) -> None:
    """Epochs of gradient steps, and of least squares, until the held-out error is near the final one."""
    how = {"rank": RANK, "regularization": regularization, "epochs": MOST_EPOCHS, "stop": None}
    for update in ("gradient", "least_squares"):
        limit = NEAR * float(dg.factorize(graph, update=update, **how).report["held_out"].iloc[-1])
        newest, at_once = (fewest_epochs(graph, limit, update, mode, how) for mode in ("async", "bsp"))
        title = f"epochs of {update} to within {NEAR - 1:.0%} of the final held-out error, {what}"
        most = 1 / 3 if update == "gradient" else None
        Claim("factorize", title, "all vertices at once", most, "").record([newest], [at_once])


def fewest_epochs(graph: dg.Graph, limit: float, update: str, mode: Any, how: dict[str, Any]) -> int:
    """Epochs until the held-out error is below a limit, at the best learning rate; `MOST_EPOCHS` if it never is."""
    updates = ["least_squares"] if update == "least_squares" else [dg.Gradient(learning_rate=rate) for rate in RATES]
    found = [MOST_EPOCHS]
    for one in updates:
        try:
            report = dg.factorize(graph, update=one, engine=dg.BlockDescent(mode=mode), **how).report
        except OptionError:  # the learning rate is too large
            continue
        below = np.flatnonzero(report["held_out"] < limit)
        found += [int(below[0]) + 1] if len(below) else []
    return min(found)


def least_squares(graph: dg.Graph, epochs: int) -> float:
    """Alternating least squares in NumPy: users, then items, repeatedly; the error on all ratings."""
    edges = graph.edges.compute()
    u, v, values = (edges[name].to_numpy() for name in edges.columns[:3])
    values = values - values.mean()
    penalty = WEAK * values.std()
    factors = np.random.default_rng(1).normal(0, 0.3, (graph.num_vertices, RANK))
    for _ in range(epochs):
        for own, other in ((u, v), (v, u)):
            order = np.argsort(own, kind="stable")
            vertices, starts = np.unique(own[order], return_index=True)
            for vertex, rows in zip(vertices, np.split(order, starts[1:]), strict=True):
                near = factors[other[rows]]
                held = penalty * (len(rows) + 30) * np.eye(RANK)
                factors[vertex] = np.linalg.solve(near.T @ near + held, near.T @ values[rows])
    return float(np.sqrt(np.mean((values - np.einsum("ij,ij->i", factors[u], factors[v])) ** 2)))


# -- real ratings ------------------------------------------------------------------------------------------------------


def on_real_ratings(frame: pd.DataFrame) -> None:
    """Learn from the ratings that are not in the test; what is held out to choose the epoch is among these."""
    row = np.arange(len(frame), dtype=np.uint64)
    test = row * np.uint64(2654435761) % np.uint64(2**32) / 2**32 < 0.2
    ids = {"user": "u" + frame["userId"].astype(str), "item": "i" + frame["movieId"].astype(str)}
    ratings = pd.DataFrame({**ids, "rating": frame["rating"]})
    graph = dg.Graph.from_edges(ratings[~test], **ENDS, parts=1)
    for update in ("gradient", "least_squares"):
        for rank, most in ((8, MOST), (50, MOST_OF_50)):
            results = [dg.factorize(graph, update=update, rank=rank, random_seed=seed) for seed in range(SEEDS)]
            for one in results:
                verify("factorize", graph, one, mean=one.totals["mean"], rmse=one.totals["held_out"])
            worst = max(error_on(ratings[test], one) for one in results)
            title = f"worst test error of {SEEDS} seeds, MovieLens 100 k, {update}, rank {rank}"
            Claim("factorize", title, "the error allowed", 1.0, "").record([worst], [most])
    compare_orders(graph, "MovieLens 100 k", STRONG)


def error_on(test: pd.DataFrame, result: Any) -> float:
    """The root mean square error; a user or item without ratings to learn from counts as the mean."""
    found = result.compute().set_index("vertex")
    vectors, biases = np.stack(found["factors"].to_numpy()), found["bias"].to_numpy()
    predicted, products = np.full(len(test), result.totals["mean"]), 1.0
    for name in ("user", "item"):
        place = found.index.get_indexer(test[name])
        known = place >= 0
        predicted += np.where(known, biases[place], 0.0)
        products = products * np.where(known[:, None], vectors[place], 0.0)
    return float(np.sqrt(np.mean((test["rating"] - predicted - products.sum(1)) ** 2)))


if __name__ == "__main__":
    main()
