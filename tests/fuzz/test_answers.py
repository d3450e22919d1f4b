"""Every operation answers as other libraries and plain definitions do, on a few random multigraphs. `make fuzz-answers`
tries many more."""

import inspect
import re
from pathlib import Path

import pytest
from answer_trials import CHECKS, Case, Refused, Trial, Way, cases_of, graph_of, named, problem_of, shrunk
from answers import Vertex, same
from multigraphs import Multigraph

import dgraph as dg

ROOMS = ("ops", "measures", "communities", "subgraphs", "walks", "trees")


def test_every_operation_is_checked():
    stub = (Path(dg.__file__).parent / "__init__.pyi").read_text()
    homes = re.findall(rf"^from dgraph\.(?:{'|'.join(ROOMS)})\.\w+ import ([^(\n]+|\([^)]+\))$", stub, re.MULTILINE)
    names = {name for one in homes for name in re.findall(r"(\w+) as \1", one)}
    assert names == set(CHECKS)
    assert all("graph" in inspect.signature(getattr(dg, name)).parameters for name in names)


@pytest.mark.parametrize("seeds", [range(8), range(8, 16)])
def test_answers_are_those_of_other_libraries(seeds):
    answered = 0
    for seed in seeds:
        with Trial(graph_of(seed)) as trial:
            for case in cases_of(seed, share=0.15):
                problem = trial.problem(case)
                assert problem is None or isinstance(problem, Refused), f"seed {seed}: {problem}\n{case}"
                answered += problem is None
    assert answered > 5 * len(seeds)


def test_a_wrong_answer_is_made_small_and_told(monkeypatch):
    """Of an operation that forgets edges, the smallest graph that shows it has one edge, twice."""
    degrees = dg.degrees
    monkeypatch.setattr(dg, "degrees", lambda graph, **how: degrees(dg.simplify(graph, loops="keep"), **how))
    listed = ((3, 0, 2), (2, 3, 1), (3, 0, 5), (1, 1, 1))
    case = Case(
        Multigraph(4, listed, False, "whole", ("a", "b", "c", "d")), Way("csv", 2), "degrees", {"engine": "gas"}
    )
    problem = problem_of(case)
    small = shrunk(case, problem)
    assert isinstance(problem, AssertionError)
    told = "dg.degrees(dg.Graph.from_edges({'src': [1, 1], 'dst': [0, 0]}, directed=False, weight=None, parts=1, "
    assert str(small).startswith(told), str(small)


def test_options_name_vertices_by_their_ids():
    options = {"source": [Vertex(1), Vertex(0)], "weights": {Vertex(0): 1}, "k": 1}
    same(named(options, ("a", "b")), {"source": ["b", "a"], "weights": {"a": 1}, "k": 1})
