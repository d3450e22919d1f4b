"""The verifiers of benchmarks with billions of edges, on a small graph: right answers pass, and wrong ones do not."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

import dgraph as dg
from dgraph.errors import AnswerError
from dgraph.io.generate import Rmat

SCALE = 7
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "large_answers.py"


@pytest.fixture(scope="module")
def verifiers():
    """The module with its kernels as Python, which at this size is faster than to compile them."""
    spec = importlib.util.spec_from_file_location("large_answers", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, value in list(vars(module).items()):
        if hasattr(value, "py_func"):
            setattr(module, name, value.py_func)
    module.BATCH = 1 << 9
    return module


@pytest.fixture(scope="module")
def large(verifiers):
    return verifiers.LargeGraph(SCALE)


def answer(operation, source):
    edges = pd.DataFrame(Rmat(SCALE, seed=1, weights=(1, 255)).build())
    graph = dg.Graph.from_edges(edges, source="source", destination="destination")
    options = {"pagerank": {"max_iter": 10, "tol": 0}, "bfs": {"source": source}, "sssp": {"source": source}}
    return getattr(dg, operation)(graph, **options.get(operation, {})).compute()


def test_generated_edges_are_compared_as_a_whole(verifiers, large, tmp_path):
    dg.write_edges(dg.rmat(scale=SCALE), f"{tmp_path}/edges/")
    verifiers.generate(large, f"{tmp_path}/edges")
    (file,) = (tmp_path / "edges").iterdir()
    edges = pd.read_parquet(file)
    for wrong in edges.iloc[1:], edges.assign(source=edges["source"].iloc[::-1].to_numpy()):
        wrong.to_parquet(file)
        with pytest.raises(AnswerError, match="edges, which are not the 2,048 expected"):
            verifiers.generate(large, f"{tmp_path}/edges")


@pytest.mark.parametrize("operation", ["pagerank", "wcc", "bfs", "sssp", "cdlp", "core_number"])
def test_right_answers_pass_and_wrong_ones_do_not(verifiers, large, tmp_path, operation):
    path, right = tmp_path / "answer.parquet", answer(operation, large.source)
    right.to_parquet(path)
    verifiers.OPERATIONS[operation](large, str(path))
    for column in right.columns[1:]:
        wrong = right.copy()
        row = wrong.index[wrong["vertex"] != large.source][50]
        wrong.loc[row, column] = {"pagerank": 0, "wcc": 126}.get(operation, 1000)
        wrong.to_parquet(path)
        with pytest.raises(AnswerError, match=rf"vertex|to {wrong['vertex'][row]} "):
            verifiers.OPERATIONS[operation](large, str(path))
    right.iloc[1:].to_parquet(path)
    with pytest.raises(AnswerError, match="has no row"):
        verifiers.OPERATIONS[operation](large, str(path))
