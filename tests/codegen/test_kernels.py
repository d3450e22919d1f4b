"""Generated kernels give what the reference gives, for every program, pushing and pulling."""

import subprocess
import sys

import bytes_and_sums
import draws
import numpy as np
import programs
import pytest
from alike import Alike
from one_partition import OnePartition

from dgraph.codegen.kernel_source import generate
from dgraph.ops.brandes import PathsFromEach
from dgraph.programs import reference

PROGRAMS = [*programs.EXAMPLES, Alike(), *bytes_and_sums.EXAMPLES, *draws.EXAMPLES]
CASES = [(p, way) for p in PROGRAMS for way in ("push", "pull") if p.kind == "accumulative" or way == "pull"]


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def graph(request):
    """A graph with self loops, repeated edges and isolated vertices."""
    rng = np.random.default_rng(5)
    edges = [(int(u), int(v)) for u, v in rng.integers(0, 35, (110, 2)) // [1, 2]]
    restart = np.arange(40) / np.arange(40).sum()
    columns = {"weight": rng.integers(1, 9, 110) / 8, "rating": rng.random(110)}
    return {"edges": edges, "vertices": 40, "columns": columns, "directed": request.param, "random_seed": 11} | {
        "vertex_columns": {"restart": restart}
    }


def test_cuda_adds_vectors_by_atomics():
    """Where many threads write to one inbox."""
    text = generate(PathsFromEach(sources=[0, 1]), "cuda").text
    assert "atomic_add(inbox_message, (v, c), new_message)" in text.partition("def push(")[2].partition("def ")[0]


def test_cuda_reads_an_inbox_once_to_see_whether_a_message_is_news():
    """If it read twice, a flag that another thread sets between would count as news of this one, and be taken back."""
    text = generate(draws.Cascade, "cuda").text.partition("def push(")[2].partition("def ")[0]
    assert "held_message = inbox_message[v]" in text and "!= inbox_message" not in text


@pytest.mark.parametrize(("program", "direction"), CASES, ids=[f"{type(p).__name__}-{way}" for p, way in CASES])
def test_kernels_agree_with_the_reference(program, direction, graph):
    if isinstance(program, programs.Matching):
        graph = graph | {"edges": [(u, 20 + v) for u, v in graph["edges"] if u < 20 > v], "directed": True}
        graph["columns"] = {}
    expected = reference.run(program, **graph)
    partition = OnePartition(program, **graph)
    answer = partition.run(direction)
    last_changes_nothing = 0 if partition.analysis.synchronous else 1
    assert expected.rounds - last_changes_nothing <= partition.round <= expected.rounds
    for name, values in expected.results().items():
        values = np.array(values)
        if values.dtype.kind == "f":
            assert np.allclose(answer[name], values, rtol=1e-5 if isinstance(program, programs.Factorize) else 1e-9)
        else:
            assert np.array_equal(answer[name], values)


def test_a_run_imports_neither_linear_algebra_nor_a_cluster():
    """In a process of its own: a run of ours comes first, and then a kernel of the user's."""
    code = """
import sys
import numpy as np
import dgraph as dg
from numba import njit
dg.wcc(dg.rmat(scale=5, seed=1)).compute()
assert not {"scipy.linalg", "distributed"} & sys.modules.keys()
square, a = njit(lambda a: np.dot(a, a)), np.arange(9.0).reshape(3, 3)
assert (square(a) == a @ a).all() and "scipy.linalg" in sys.modules
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
