"""A `send` that reads what only its own round knows (the round's number, a random draw, a global value) means the same
under every engine and partitioning as in the reference, although engines compute messages early where they can."""

import numpy as np
import pytest
from numpy import float64, int64

import dgraph as dg
from dgraph.programs import reference

EDGES = np.random.default_rng(0).integers(0, 30, (80, 2))


class Tolls(dg.VertexProgram):
    """The cheapest way from 0, where each edge costs the number of the round in which it is taken."""

    best = dg.State(int64, start=dg.UNREACHED)
    merge = dg.MIN

    def seed(id):
        return 0 if id == 0 else dg.UNREACHED

    def send(best, round):
        return best + round

    def apply(best, message):
        return min(best, message)


class Dice(Tolls):
    """Each edge costs what its source throws."""

    def send(best, random):
        return best + 1 + int(random * 10)


class Fountain(dg.VertexProgram):
    """Three springs feed their neighbours until there is enough in all."""

    total = dg.State(float64)
    gain = dg.Delta(float64)
    merge = dg.SUM

    def seed(id):
        return 1.0 if id < 3 else 0.0

    def send(gain, level, degree):
        return gain / (degree * 2) if level < 5.5 and gain > 1e-9 else 0.0

    def apply(total, message):
        return total + message, message

    @dg.Global(float64, dg.SUM)
    def level(total):
        return total


@pytest.mark.parametrize("engine", ["bsp", "gas"])
@pytest.mark.parametrize("policy", ["outgoing", "cartesian"])
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("program", [Tolls, Dice, Fountain])
def test_sends_that_read_values_of_their_round_agree_with_the_reference(program, parts, policy, engine):
    graph = dg.Graph.from_edges({"src": EDGES[:, 0], "dst": EDGES[:, 1]}, vertices=30, parts=parts, policy=policy)
    (name,) = (field.name for field in program().of(dg.State) if not isinstance(field, dg.Delta))
    expected = reference.run(program(), [(int(u), int(v)) for u, v in EDGES], 30).results()[name]
    found = dg.run(graph, program(), engine=engine).compute()[name]
    assert found.to_numpy() == pytest.approx(np.array(expected), rel=1e-12)
