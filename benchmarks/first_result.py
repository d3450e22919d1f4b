"""The first result in a new process: `import dgraph`, a small R-MAT graph, one operation, its values in pandas.

It is measured with empty and with filled caches of compiled kernels, from the start of the interpreter to the values.
Python's bytecode is cached, as after an installation with pip. The limits are fixed.

`--before FOLDER` names a checkout of another version, and adds the cost of a call once everything is loaded: the
minimum of 1,500 calls of `wcc` on 64 vertices, alternating between both versions.
"""

from __future__ import annotations

import argparse
import compileall
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from harness import Claim

import dgraph
from dgraph.errors import AnswerError
from dgraph.io.generate import Rmat, Uniform

COLD, WARM = 6.0, 1.0  # seconds
SCALE, FACTOR = 10, 8
CHILD = f"""
import dgraph as dg
graph = dg.rmat(scale={SCALE}, edge_factor={FACTOR}, seed=1, weights=(1, 255))
found = dg.{{call}}.compute()
print("there it is", flush=True)
import sys, numpy
numpy.save(sys.argv[1], found["{{column}}"].to_numpy("float64"))
"""

VERTICES, EDGES, CALLS, SLOWER = 64, 256, 1500, 1.02
CALLING = f"""
import time, dgraph as dg
graph, least = dg.uniform(vertices={VERTICES}, edges={EDGES}, seed=1), 1.0
for _ in range({CALLS}):
    begun = time.perf_counter()
    found = dg.wcc(graph)
    least = min(least, time.perf_counter() - begun)
print(least, *found.compute()["component"])
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("operations", nargs="*", default=list(OPERATIONS), help=f"of {', '.join(OPERATIONS)}")
    options.add_argument(
        "--trials", type=int, default=3, help="with empty caches; with filled ones, three times as many"
    )
    options.add_argument("--before", type=Path, help="a checkout of another version, with which a call is compared")
    given = options.parse_args()
    if given.before is not None:
        compare_calls(given.before.resolve(), 3 * given.trials)
    edges = edges_of_the_graph()
    compileall.compile_dir(str(Path(dgraph.__file__).parent), quiet=1)
    for name in given.operations:
        call, column, verifier = OPERATIONS[name]
        expected, cold, warm = verifier(*edges), [], []
        for _ in range(given.trials):
            with tempfile.TemporaryDirectory() as caches:
                cold.append(first_result(caches, call, column, expected))
                warm += [first_result(caches, call, column, expected) for _ in range(3)]
        for what, seconds, limit in (("empty", cold, COLD), ("filled", warm, WARM)):
            claim = Claim("first_result", f"first result of {name}, caches {what}", f"a limit of {limit:g} s", 1.0)
            claim.record(seconds, [limit] * len(seconds))


def first_result(caches: str, call: str, column: str, expected: np.ndarray) -> float:
    """The seconds from the start of a process to its first line of output, printed once it has the values."""
    answer = Path(caches) / "answer.npy"
    env = {**os.environ, "NUMBA_CACHE_DIR": f"{caches}/numba", "DGRAPH_CACHE": f"{caches}/dgraph"}
    command = [sys.executable, "-c", CHILD.format(call=call, column=column), str(answer)]
    begun = time.perf_counter()
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        elapsed = time.perf_counter() - begun
    if child.returncode or not line or not np.allclose(np.load(answer), expected, rtol=1e-6, atol=1e-9):
        raise AnswerError(f"dg.{call}: the values of a new process are not the verifier's")
    return elapsed


def compare_calls(before: Path, trials: int) -> None:
    seconds: dict[Path, list[float]] = {Path(dgraph.__file__).parents[1]: [], before: []}
    for trial in range(trials):
        for tree in list(seconds)[:: 1 if trial % 2 else -1]:
            seconds[tree].append(least_of_the_calls(tree))
    Claim("first_result", f"a call of wcc on {VERTICES} vertices", "the version before", SLOWER).record(
        *seconds.values()
    )


def least_of_the_calls(tree: Path) -> float:
    """The seconds of the fastest call in a process that imports dgraph from `tree`."""
    env = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(
        [sys.executable, "-c", CALLING], env=env, cwd=tree, capture_output=True, text=True, check=True
    )
    seconds, *labels = done.stdout.split()
    found = Uniform(VERTICES, EDGES, seed=1).build()
    if [float(label) for label in labels] != components(
        VERTICES, found["source"], found["destination"], np.empty(0)
    ).tolist():
        raise AnswerError(f"dg.wcc of {tree}: the values are not the verifier's")
    return float(seconds)


# -- the expected values, computed by other means ----------------------------------------------------------------------


def edges_of_the_graph() -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    found = Rmat(SCALE, FACTOR, seed=1, weights=(1, 255)).build()
    return 1 << SCALE, found["source"], found["destination"], found["weight"]


def pagerank(n: int, source: np.ndarray, destination: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Power iteration on dense vectors."""
    degree = np.bincount(source, minlength=n)
    rank = np.full(n, 1 / n)
    for _ in range(200):
        shares = np.divide(rank, degree, out=np.zeros(n), where=degree > 0)
        gathered = np.bincount(destination, shares[source], minlength=n)
        rank = 0.15 / n + 0.85 * (gathered + rank[degree == 0].sum() / n)
    return rank


def distances(n: int, source: np.ndarray, destination: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """SciPy's Dijkstra on the lightest of repeated edges."""
    order = np.lexsort((weight, destination, source))
    source, destination, weight = source[order], destination[order], weight[order]
    first = np.r_[True, (np.diff(source) != 0) | (np.diff(destination) != 0)]
    matrix = scipy.sparse.csr_matrix((weight[first].astype(float), (source[first], destination[first])), (n, n))
    return scipy.sparse.csgraph.dijkstra(matrix, indices=0)


def hops(n: int, source: np.ndarray, destination: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return distances(n, source, destination, np.ones_like(weight))


def components(n: int, source: np.ndarray, destination: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The smallest vertex of each component that SciPy finds."""
    matrix = scipy.sparse.csr_matrix((np.ones(len(source)), (source, destination)), (n, n))
    labels = scipy.sparse.csgraph.connected_components(matrix, directed=False)[1]
    smallest = np.full(labels.max() + 1, n)
    np.minimum.at(smallest, labels, np.arange(n))
    return smallest[labels].astype(float)


Verifier = Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
OPERATIONS: dict[str, tuple[str, str, Verifier]] = {
    "pagerank": ("pagerank(graph, tol=1e-12, max_iter=200)", "pagerank", pagerank),
    "bfs": ("bfs(graph, 0)", "distance", hops),
    "sssp": ("sssp(graph, 0)", "distance", distances),
    "wcc": ("wcc(graph)", "component", components),
}


if __name__ == "__main__":
    main()
