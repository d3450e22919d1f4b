"""Where messages have an order, a pull passes over whoever holds the best one already; no answer changes by that."""

import numpy as np
import pytest
from cases import PROGRAMS
from numpy import int64

import dgraph as dg
from dgraph.codegen.bounds import compute_bounds, is_bounded
from dgraph.programs import reference
from dgraph.programs.analysis import analyse

EDGES = np.random.default_rng(5).integers(0, 60, (180, 2))


class Least(dg.VertexProgram):
    """The smallest vertex from which a path comes in."""

    best = dg.State(int64, start=dg.UNREACHED)
    merge = dg.MIN

    def seed(id):
        return id * 7 % 60

    def send(best):
        return best

    def apply(best, message):
        return min(best, message)


class Largest(Least):
    """And the largest."""

    best = dg.State(int64, start=-1)
    merge = dg.MAX

    def apply(best, message):
        return max(best, message)


class LevelMessage(dg.VertexProgram):
    """Whether a path comes in from 3."""

    yes = dg.State(bool)
    merge = dg.OR

    def seed(id):
        return id == 3

    def send(yes):
        return yes

    def apply(yes, message):
        return yes or message


class Dry(dg.VertexProgram):
    """Whether no path comes in from 3."""

    dry = dg.State(bool, start=True)
    merge = dg.AND

    def seed(id):
        return id != 3

    def send(dry):
        return dry

    def apply(dry, message):
        return dry and message


class Both(dg.VertexProgram):
    """The smallest and the largest: a message with two fields, of which each has its own best."""

    low = dg.State(int64, start=dg.UNREACHED)
    high = dg.State(int64, start=-1)
    least = dg.Message(int64, dg.MIN)
    most = dg.Message(int64, dg.MAX)

    def seed(id):
        return id, id

    def send(low, high):
        return low, high

    def apply(low, high, least, most):
        return min(low, least), max(high, most)


@pytest.mark.parametrize("policy", ["outgoing", "incoming", "cartesian", "hybrid"])
@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.parametrize("program", [Least, Largest, LevelMessage, Dry, Both])
def test_pull_and_push_agree_with_the_reference(program, parts, policy):
    graph = dg.Graph.from_edges({"src": EDGES[:, 0], "dst": EDGES[:, 1]}, vertices=60, parts=parts, policy=policy)
    expected = reference.run(program(), [(int(u), int(v)) for u, v in EDGES], 60).results()
    for direction in ("pull", "push", "auto"):
        for engine in (dg.Gas, dg.Bsp):
            found = dg.run(graph, program(), engine=engine(direction=direction)).compute()
            for column, values in expected.items():
                assert found[column].tolist() == list(values), (direction, engine, column)


@pytest.mark.parametrize("program", [Least, Largest, LevelMessage, Dry, Both])
def test_programs_with_an_order_are_bounded(program):
    (phase,) = analyse(program()).phases
    assert is_bounded(phase)


@pytest.mark.parametrize("name", ["ShortestPaths", "Katz"])
def test_messages_made_at_an_edge_and_sums_are_not_bounded(name):
    (phase,) = analyse(PROGRAMS[name]).phases
    assert not is_bounded(phase)


def test_the_bound_is_the_best_that_is_sent():
    (phase,) = analyse(Both()).phases
    values = {"sent_least": np.array([5, 2, 9]), "sent_most": np.array([5, 2, 9])}
    assert compute_bounds(phase, values, np.array([0, 2], np.uint32)) == {"best_least": 5, "best_most": 9}
    nobody = compute_bounds(phase, values, np.empty(0, np.uint32))
    assert nobody == {"best_least": dg.UNREACHED, "best_most": np.iinfo(np.int64).min}


def test_a_run_with_other_values_needs_no_new_analysis(monkeypatch):
    from dgraph.codegen import recipe
    from dgraph.programs import analysis

    program = PROGRAMS["ShortestPaths"]
    before = recipe.recipe_of(program)
    monkeypatch.setattr(analysis, "_analysed", None)
    monkeypatch.setattr(recipe, "generate", None)
    again = recipe.recipe_of(type(program)(**{**program.values, "source": 5}))
    assert again.source is before.source and again.values["source"] == 5
