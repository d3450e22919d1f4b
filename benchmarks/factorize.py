"""Collaborative filtering on ratings with known noise: by blocks, all at once, and by alternating least squares.

python benchmarks/factorize.py [--users 2000] [--items 1000] [--ratings 1000000]
"""

import numpy as np
from harness import Claim, parser_of

import dgraph as dg
from dgraph.errors import OptionError
from dgraph.testing.verify import verify

NOISE, RANK, PENALTY = 0.5, 8, 0.7
RATES = (None, 0.25, 0.5, 1.0)  # each side uses its best; None chooses a rate for each vertex


def fewest_epochs(graph, limit, **options):
    """Epochs until the held-out error is below a limit, at the best learning rate."""
    found = []
    for rate in RATES:
        try:
            result = dg.factorize(graph, learning_rate=rate, epochs=40, regularization=PENALTY, rank=RANK, **options)
        except OptionError:  # the learning rate is too large
            continue
        below = np.flatnonzero(result.report["held_out"] < limit)
        found += [int(below[0]) + 1] if len(below) else []
    return min(found)


def least_squares(graph, epochs):
    """Alternating least squares in NumPy: users, then items, repeatedly; yields the error on all ratings."""
    edges = graph.edges.compute()
    u, v, values = (edges[name].to_numpy() for name in edges.columns[:3])
    values = values - values.mean()
    draw = np.random.default_rng(1)
    factors = draw.normal(0, 0.3, (graph.num_vertices, RANK))
    for _ in range(epochs):
        for own, other in ((u, v), (v, u)):
            order = np.argsort(own, kind="stable")
            vertices, starts = np.unique(own[order], return_index=True)
            for vertex, rows in zip(vertices, np.split(order, starts[1:]), strict=True):
                near = factors[other[rows]]
                factors[vertex] = np.linalg.solve(near.T @ near + PENALTY * np.eye(RANK), near.T @ values[rows])
    return float(np.sqrt(np.mean((values - np.einsum("ij,ij->i", factors[u], factors[v])) ** 2)))


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--users", type=int, default=2000)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--ratings", type=int, default=1_000_000)
    given = parser.parse_args()
    size = f"{given.ratings:,} ratings"
    sizes = {"users": given.users, "items": given.items, "ratings": given.ratings}
    graph = dg.ratings(**sizes, rank=RANK, noise=NOISE, seed=1, parts=1)
    result = dg.factorize(graph, rank=RANK, regularization=PENALTY, epochs=40)
    verify("factorize", graph, result, mean=result.totals["mean"], rmse=1.02 * NOISE)
    held = float(result.report["held_out"].iloc[-1])
    Claim("factorize", f"held-out error, {size}", "the noise", 1.02, "").record([held], [NOISE])
    limit = 1.02 * held
    blocks, whole = (fewest_epochs(graph, limit, **one) for one in ({}, {"block_size": graph.num_vertices}))
    what = f"epochs to within 2 % of the final held-out error, {size}"
    Claim("factorize", what, "one block of all vertices", 1 / 3, "").record([blocks], [whole])
    solved = dg.factorize(graph, rank=RANK, regularization=PENALTY, epochs=15, test=0.0, update="least_squares")
    verify("factorize", graph, solved, mean=solved.totals["mean"], rmse=1.02 * NOISE)
    error, expected = float(solved.report["rmse"].iloc[-1]), least_squares(graph, 15)
    Claim("factorize", f"error of alternating least squares, {size}", "NumPy", 1.005, "").record([error], [expected])


if __name__ == "__main__":
    main()
