"""The first result in a new process: `import dgraph`, a small R-MAT graph, one operation, its values in pandas.

It is measured with empty and with filled caches of compiled kernels, from the start of the interpreter to the values.
Python's bytecode is cached, as after an installation with pip. The limits are fixed.

`--before FOLDER` names a checkout of another version, and adds the cost of a call once everything is loaded: the
minimum of 1,500 calls of `wcc` on 64 vertices, alternating between both versions.
"""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from harness import Claim, parser_of

import dgraph
from dgraph.errors import AnswerError
from dgraph.io.generate import Rmat, Uniform
from dgraph.testing.verify import Edges, verify

COLD, WARM = 6.0, 1.0  # seconds
SCALE, FACTOR = 10, 8
CHILD = f"""
import dgraph as dg
graph = dg.rmat(scale={SCALE}, edge_factor={FACTOR}, seed=1, weights=(1, 255))
found = dg.{{call}}.compute()
print("there it is", flush=True)
import sys, numpy
numpy.save(sys.argv[1], found["{{column}}"].to_numpy())
"""

# The operations: the call, its column of values, and the options of the verifier
OPERATIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "pagerank": ("pagerank(graph, tol=1e-12, max_iter=200)", "pagerank", {"tol": 1e-12, "max_iter": 200}),
    "bfs": ("bfs(graph, 0)", "distance", {"source": 0}),
    "sssp": ("sssp(graph, 0)", "distance", {"source": 0}),
    "wcc": ("wcc(graph)", "component", {}),
}

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
    options = parser_of(__doc__)
    options.add_argument("operations", nargs="*", default=list(OPERATIONS), help=f"of {', '.join(OPERATIONS)}")
    options.add_argument(
        "--trials", type=int, default=3, help="with empty caches; with filled ones, three times as many"
    )
    options.add_argument("--before", type=Path, help="a checkout of another version, with which a call is compared")
    given = options.parse_args()
    if given.before is not None:
        compare_calls(given.before.resolve(), 3 * given.trials)
    drawn = Rmat(SCALE, FACTOR, seed=1, weights=(1, 255)).build()
    edges = Edges(drawn["source"], drawn["destination"], 1 << SCALE, weight=drawn["weight"].astype(float))
    compileall.compile_dir(str(Path(dgraph.__file__).parent), quiet=1)
    for name in given.operations:
        cold, warm = [], []
        for _ in range(given.trials):
            with tempfile.TemporaryDirectory() as caches:
                cold.append(first_result(caches, name, edges))
                warm += [first_result(caches, name, edges) for _ in range(3)]
        for what, seconds, limit in (("empty", cold, COLD), ("filled", warm, WARM)):
            claim = Claim("first_result", f"first result of {name}, caches {what}", f"a limit of {limit:g} s", 1.0)
            claim.record(seconds, [limit] * len(seconds))


def first_result(caches: str, operation: str, edges: Edges) -> float:
    """The seconds from the start of a process to its first line of output, printed once it has the values."""
    answer = Path(caches) / "answer.npy"
    call, column, options = OPERATIONS[operation]
    env = {**os.environ, "NUMBA_CACHE_DIR": f"{caches}/numba", "DGRAPH_CACHE": f"{caches}/dgraph"}
    command = [sys.executable, "-c", CHILD.format(call=call, column=column), str(answer)]
    begun = time.perf_counter()
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        elapsed = time.perf_counter() - begun
    if child.returncode or not line:
        raise AnswerError(f"dg.{call}: a new process ended with {child.returncode}")
    verify(operation, edges, {column: np.load(answer)}, **options)
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
    drawn = Uniform(VERTICES, EDGES, seed=1).build()
    edges = Edges(drawn["source"], drawn["destination"], VERTICES)
    verify("wcc", edges, {"component": np.array(labels, int)})
    return float(seconds)


if __name__ == "__main__":
    main()
