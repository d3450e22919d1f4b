"""Similarity of vertices: the ten most similar to each, against SciPy's product of the matrix of neighbours with its
transpose, by blocks of rows; a million given pairs against igraph and NetworkX; and a large graph in bounded memory.

    .venv/bin/python benchmarks/similarity.py [--scale 16] [--large 20]

SciPy's product alone is timed: without the division, and without the choice of ten. NetworkX gets a hundredth of the
pairs, and a hundredth of the time is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse as sp
from betweenness import igraph_of, ours_of
from harness import Claim, in_new_process, parser_of, rmat_edges, simple, take_turns

import dgraph as dg
from dgraph.bench.resources import resident, restart_peak
from dgraph.errors import AnswerError
from dgraph.testing.verify import Edges

QUARTER, HALF, BY_100 = 1 / 4, 1 / 2, 1 / 100  # the most that ours may take, relative to theirs
BLOCK, PAIRS, TOP, MOST = 1024, 1_000_000, 10, 1000
MEMORY = 8e9
Find = Callable[[], Any]


def main() -> None:
    options = parser_of(__doc__, scale=16, trials=3)
    options.add_argument("--large", type=int, default=20, help="scale of the graph of the last row")
    given = options.parse_args()
    edges = simple(*rmat_edges(given.scale), 1 << given.scale)
    title = f"R-MAT scale {given.scale}"
    graph, matrix = ours_of(edges), matrix_of(edges)
    against_scipy(f"similarity, {title}, top {TOP} of each vertex", graph, matrix, given.trials)
    pairs = np.random.default_rng(1).choice(np.union1d(edges.source, edges.destination), (2, PAIRS))  # with neighbours
    of_pairs(f"similarity, {title}, {PAIRS:,} pairs", edges, graph, matrix, pairs, given.trials)
    large(given.large)


def matrix_of(edges: Edges) -> sp.csr_array:
    both = np.concatenate([edges.source, edges.destination]), np.concatenate([edges.destination, edges.source])
    ones = np.ones(len(both[0]), np.int32)
    return sp.coo_array((ones, both), (edges.vertices, edges.vertices)).tocsr()


def against_scipy(what: str, graph: dg.Graph, matrix: sp.csr_array, trials: int) -> None:
    degrees = np.diff(matrix.indptr)

    def ours() -> pd.DataFrame:
        return dg.similarity(graph, top_k=TOP).compute()

    def theirs() -> int:
        transposed = matrix.T.tocsr()
        return sum((matrix[start : start + BLOCK] @ transposed).nnz for start in range(0, matrix.shape[0], BLOCK))

    def check(found: pd.DataFrame) -> None:
        """The similarities of some vertices, from the product."""
        for v in np.random.default_rng(2).integers(0, matrix.shape[0], 50):
            shared = (matrix[[v]] @ matrix).toarray()[0]
            scores = shared / np.maximum(degrees[v] + degrees - shared, 1)
            scores[v] = 0
            expected = np.sort(scores[scores > 0])[::-1][:TOP]
            if not np.allclose(found["similarity"][found["first"] == v], expected):
                raise AnswerError(f"{what}: the most similar to vertex {v} are others")

    seconds = take_turns({"ours": (ours, check), "theirs": (theirs, lambda one: None)}, trials)
    Claim("similarity", what, "SciPy", QUARTER).record(seconds["ours"], seconds["theirs"])


def of_pairs(what: str, edges: Edges, graph: dg.Graph, matrix: sp.csr_array, pairs: np.ndarray, trials: int) -> None:
    frame = pd.DataFrame({"first": pairs[0], "second": pairs[1]})
    known = shares_of(matrix, pairs)

    def ours() -> np.ndarray:
        return dg.similarity(graph, frame).compute()["similarity"].to_numpy()

    def check(found: np.ndarray) -> None:
        if not np.allclose(found, known[: len(found)]):
            raise AnswerError(
                f"{what}: other values, for example for pair {np.abs(found - known[: len(found)]).argmax()}"
            )

    try:
        peer = igraph_of(edges)
    except ImportError as error:
        Claim("similarity", what, "igraph", HALF).absent(str(error))
    else:
        listed = pairs.T.tolist()
        theirs: Find = lambda: np.array(peer.similarity_jaccard(pairs=listed, loops=False))  # noqa: E731
        seconds = take_turns({"ours": (ours, check), "theirs": (theirs, check)}, trials)
        Claim("similarity", what, "igraph", HALF).record(seconds["ours"], seconds["theirs"])
    slow = nx.Graph()
    slow.add_nodes_from(range(edges.vertices))
    slow.add_edges_from(zip(edges.source.tolist(), edges.destination.tolist(), strict=True))
    some = pairs[:, : PAIRS // 100].T.tolist()

    def theirs_of_some() -> np.ndarray:
        return np.array([score for _, _, score in nx.jaccard_coefficient(slow, some)])

    seconds = take_turns({"ours": (ours, check), "theirs": (theirs_of_some, check)}, trials)
    all_of_theirs = [100 * one for one in seconds["theirs"]]
    Claim("similarity", what, "NetworkX", BY_100).record(seconds["ours"], all_of_theirs)


def shares_of(matrix: sp.csr_array, pairs: np.ndarray) -> np.ndarray:
    """Jaccard similarities by SciPy, in batches."""
    degrees, found = np.diff(matrix.indptr), []
    for start in range(0, pairs.shape[1], 20_000):
        one, other = pairs[:, start : start + 20_000]
        shared = matrix[one].multiply(matrix[other]).sum(axis=1)
        found.append(shared / np.maximum(degrees[one] + degrees[other] - shared, 1))
    return np.concatenate(found)


def large(scale: int) -> None:
    what = f"similarity, R-MAT scale {scale}, top {TOP} of each vertex, max_degree={MOST}, memory"
    found = in_new_process(measure, scale)
    claim = Claim("similarity", what, "8 GB", 1.0, unit="GB", facts={"seconds": found["seconds"]})
    claim.record([found["bytes"] / 1e9], [MEMORY / 1e9])
    print(f"  in {found['seconds']:.1f} s")


def measure(scale: int) -> dict[str, float]:
    """The peak of this process, and the seconds of the search alone."""
    import time
    import warnings

    graph = ours_of(simple(*rmat_edges(scale), 1 << scale))
    restart_peak()
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "max_degree=")
        found = dg.similarity(graph, top_k=TOP, max_degree=MOST).compute()
    seconds = time.perf_counter() - begun
    if not len(found) or not found["similarity"].between(0, 1).all():
        raise AnswerError("similarities are not from 0 to 1")
    return {"bytes": resident("VmHWM"), "seconds": seconds}


if __name__ == "__main__":
    main()
