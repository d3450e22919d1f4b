"""Sums of whole numbers that do not fit into their type end a run with an error that names the vertex."""

import pickle

import numpy as np
import pytest

import dgraph as dg
from dgraph.codegen.kernel_source import generate
from dgraph.errors import SumError

HUGE = 5 * 10**18


class Load(dg.VertexProgram):
    """What flows into each vertex, once."""

    load = dg.State(int)
    one = dg.Message(int, dg.SUM)
    kind = "synchronous"

    def send(weight):
        return weight

    def apply(one):
        return one

    def stop(round):
        return round == 1


class Paths(dg.VertexProgram):
    """How many paths lead to each vertex."""

    paths = dg.Delta(int)
    total = dg.State(int)
    source = dg.Parameter(dg.vertex)
    merge = dg.SUM

    def seed(id, source):
        return 1 if id == source else 0

    def send(paths):
        return paths

    def apply(total, message):
        return message, total + message


class Vectors(dg.VertexProgram):
    kind = "synchronous"
    parts = dg.State(int, shape="unit")
    message = dg.Message(int, dg.SUM, shape="unit")
    unit = dg.Parameter(int, shape=2)

    def send(weight, unit):
        return weight * unit

    def apply(message):
        return message

    def stop(round):
        return round == 1


class Short(Load):
    load = dg.State("int32")
    one = dg.Message("int32", dg.SUM)


def add(a, b):
    return a + b


class Wrapping(Load):
    one = dg.Message(int, dg.Monoid("WRAPPING", add, lambda dtype: 0))


def star(weight, **options):
    ends = {"src": ["b", "c", "d"], "dst": ["a", "a", "d"]}
    return dg.Graph.from_edges({**ends, "weight": np.array([weight, weight, 1])}, **options)


def ladder(steps, **options):
    """Two paths from each vertex to the next: twice as many with each step."""
    at = np.arange(steps)
    return dg.Graph.from_edges({"src": np.repeat(at, 2), "dst": np.repeat(at + 1, 2)}, **options)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("engine", ["gas", "bsp"])
@pytest.mark.parametrize("weight", [HUGE, -HUGE])
def test_a_sum_beyond_64_bits_names_its_vertex(engine, parts, weight):
    with pytest.raises(SumError, match=r"Load: the sum of the messages to vertex 'a' .* dgraph.Message\(float"):
        dg.run(star(weight, parts=parts), Load(), engine=engine)
    loads = dg.run(star(weight // 2, parts=parts), Load(), engine=engine).compute()["load"]
    assert loads.tolist() == [weight, 0, 0, 1]


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(
    "engine",
    [dg.Gas(direction="push"), dg.Gas(direction="pull"), dg.Bsp(direction="push"), "bulk_async", "block_descent"],
    ids=str,
)
def test_every_engine_detects_sums_that_overflow(engine, parts):
    counted = dg.run(ladder(62, parts=parts), Paths(source=0), engine=engine).compute()["total"]
    assert counted.tolist() == [2**step for step in range(63)]
    with pytest.raises(SumError, match="vertex 63 "):
        dg.run(ladder(63, parts=parts), Paths(source=0), engine=engine)


@pytest.mark.parametrize("engine", ["gas", "block_descent"])
def test_daemons_in_their_own_processes_detect_sums_that_overflow(engine):
    options = {"engine": engine, "daemons": "own process"}
    assert dg.run(ladder(62, parts=1), Paths(source=0), **options).compute()["total"].iloc[-1] == 2**62
    with pytest.raises(SumError, match="vertex 63 "):
        dg.run(ladder(63, parts=1), Paths(source=0), **options)


def test_an_overflow_in_any_component_of_a_vector_is_detected():
    graph = star(HUGE)
    assert dg.run(graph, Vectors(unit=[0, 0])).compute()["parts"][0].tolist() == [0, 0]
    with pytest.raises(SumError, match="vertex 'a'"):
        dg.run(graph, Vectors(unit=[0, 1]))


def test_sums_of_32_bit_numbers_overflow_at_32_bits():
    assert dg.run(star(2**30 - 1), Short()).compute()["load"][0] == 2**31 - 2
    with pytest.raises(SumError, match="vertex 'a'"):
        dg.run(star(2**30), Short())


def test_a_merge_of_the_user_s_own_may_wrap():
    assert dg.run(star(HUGE), Wrapping()).compute()["load"][0] == 2 * HUGE - 2**64


def test_the_error_can_be_pickled():
    error = pickle.loads(pickle.dumps(SumError("Load", 0, "a")))
    assert (error.program, error.number, error.vertex) == ("Load", 0, "a")


class Neighbours(Load):
    def send(weight):
        return 1 if weight > 0 else 0


def test_counts_need_no_check():
    assert "excess" in generate(Load).text
    assert "excess" not in generate(Neighbours).text
    assert dg.run(star(1), Neighbours()).compute()["load"].tolist() == [2, 0, 0, 1]
