"""Programs that are admitted and seldom written: the answer is the reference's on every engine that takes them, and
there is one."""

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.errors import OptionError, ProgramError
from dgraph.programs import reference
from dgraph.programs.analysis import analyse, engines_for

EDGES = [(0, 1), (1, 2), (2, 3), (3, 3), (0, 2), (4, 3)]
FRAME = pd.DataFrame({"src": [u for u, _ in EDGES], "dst": [v for _, v in EDGES], "w": [2.5, 0.0, 3.0, 4.0, 5.0, 3.0]})
WAYS = [(1, "outgoing"), (3, "incoming"), (3, "outgoing"), (2, "cartesian")]


class WeightOfEdges(dg.VertexProgram):
    """What is sent depends on nothing that a vertex holds."""

    kind = "synchronous"
    total = dg.State(float)
    merge = dg.SUM

    def send(weight):
        return weight

    def apply(message):
        return message


class UsualWeight(dg.VertexProgram):
    """The same, of a whole neighbourhood."""

    kind = "synchronous"
    along = "both"
    usual = dg.State(int)
    merge = dg.MOST_FREQUENT

    def send(weight):
        return int(weight)

    def apply(message):
        return message


class HeavyEdge(dg.VertexProgram):
    """The same, of an accumulative program."""

    reached = dg.State(bool)
    merge = dg.OR

    def seed(id):
        return id == 0

    def send(weight):
        return weight > 1

    def apply(reached, message):
        return reached or message


class LastRound(dg.VertexProgram):
    """Results know the last round, also what it has changed, and along how many edges it sent."""

    kind = "synchronous"
    largest = dg.State(int)

    class First(dg.Phase):
        merge = dg.MAX

        def send(largest):
            return largest

        def apply(largest, message):
            return max(largest, message)

    class Second(dg.Phase):
        merge = dg.MAX
        along = "in"

        def send(largest):
            return largest

        def apply(largest, message):
            return max(largest, message)

    def start(id):
        return id

    @dg.Result(int)
    def told(largest, largest_before, round, degree):
        return 1000 * largest + 100 * (largest - largest_before) + 10 * round + degree


class Chain(dg.VertexProgram):
    """Sums and minima at once; the last who fires has nobody to tell."""

    ways = dg.State(int)
    new = dg.Delta(int)
    nearest = dg.State(float, start=math.inf)
    much, least = dg.Message(int, dg.SUM), dg.Message(float, dg.MIN)

    def seed(id):
        return int(id == 0), 0.0 if id == 0 else math.inf

    def send(new, nearest, weight):
        return new, nearest + weight

    def apply(ways, much, nearest, least):
        return ways + much, much, min(nearest, least)

    @dg.Result(int)
    def found(ways, round):
        return 10 * ways + round


class Again(dg.VertexProgram):
    """A Delta that is the same in every round does not change."""

    kind = "synchronous"
    seen = dg.State(int)
    added = dg.Delta(int)
    merge = dg.SUM

    def send(seen):
        return 1

    def apply(message):
        return message, 5


def expected(program, edges=EDGES, weights=FRAME["w"]):
    return reference.run(program, edges, 5, {"weight": weights.tolist()})


PROGRAMS = (WeightOfEdges, UsualWeight, HeavyEdge, Again)


@pytest.mark.parametrize(("program", "engine"), [(one, e) for one in PROGRAMS for e in engines_for(analyse(one()))])
def test_unusual_programs_match_the_reference(program, engine):
    for parts, policy in WAYS:
        graph = dg.Graph.from_edges(FRAME, weight="w", parts=parts, policy=policy)
        found = dg.run(graph, program(), engine=engine)
        for name, values in expected(program()).results().items():
            assert found.by_number(name).tolist() == values, (parts, policy)


@pytest.mark.parametrize("engine", ["gas", "bsp"])
@pytest.mark.parametrize("program", [LastRound, Chain], ids=lambda one: one.__name__)
def test_results_know_the_last_round(program, engine):
    rows = [row for row, (u, v) in enumerate(EDGES) if u != v]  # without circles
    oracle = expected(program(), [EDGES[row] for row in rows], FRAME["w"][rows])
    for parts, policy in WAYS:
        graph = dg.Graph.from_edges(FRAME.loc[rows], weight="w", parts=parts, policy=policy)
        found = dg.run(graph, program(), engine=engine)
        assert found.rounds == found.report["superstep"].max() == oracle.rounds, (parts, policy)
        for name, values in oracle.results().items():
            assert found.by_number(name).tolist() == values, (parts, policy)


class Sums(dg.VertexProgram):
    """Global values that their types cannot hold."""

    kind = "synchronous"
    held = dg.State(int)
    merge = dg.SUM

    def send(held):
        return held

    def apply(long, short):
        return long % 1000 + short % 1000

    @dg.Global(int, dg.SUM)
    def long(id):
        return 9_000_000_000_000_000_000 - id

    @dg.Global("int32", dg.SUM)
    def short(id):
        return 2_000_000_000 - id

    def stop(round):
        return round == 2


def test_whole_global_values_wrap_wherever_they_are_added_up():
    runs = [
        dg.run(dg.Graph.from_edges(FRAME, parts=parts, policy=policy), Sums(), engine="gas") for parts, policy in WAYS
    ]
    for one, other in pairwise(runs):
        assert one.totals == other.totals and one.compute().equals(other.compute())
    long, short = (np.int64([runs[0].totals[name]]).astype(t)[0] for name, t in (("long", "int64"), ("short", "int32")))
    assert (int(long) - (45 * 10**18 - 10)) % 2**64 == 0 and (int(short) - (10 * 10**9 - 10)) % 2**32 == 0


class Doubling(dg.VertexProgram):
    """Who reads what all hold after the last round, and who nothing but that."""

    kind = "synchronous"
    held = dg.State(float, start=1)
    merge = dg.SUM

    def send(held):
        return held

    def apply(held, whole):
        return 2 * held + 0 * whole

    @dg.Global(float, dg.SUM)
    def whole(held):
        return held

    @dg.Global(float, dg.SUM)
    def half(held):
        return held / 2

    @dg.Result(float)
    def share(held, whole, half):
        return held / whole + half

    def stop(round):
        return round == 3


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("engine", [dg.Gas, dg.Bsp])
def test_results_know_the_global_values_after_the_last_round(engine, deterministic):
    for parts, policy in WAYS:
        graph = dg.Graph.from_edges(FRAME, parts=parts, policy=policy)
        found = dg.run(graph, Doubling(), engine=engine(deterministic=deterministic))
        assert found.totals == {"whole": 40.0, "half": 20.0}, (parts, policy)
        assert found.by_number("share").tolist() == [20.2] * 5, (parts, policy)


class Never(dg.VertexProgram):
    """It does not settle, and no share of nothing is small."""

    kind = "synchronous"
    held = dg.State(float)
    merge = dg.SUM

    def send(held):
        return held

    def apply(held):
        return -held

    @dg.Global(float, dg.SUM)
    def change(held, held_before):
        return abs(held - held_before)

    @dg.Global(float, dg.SUM)
    def whole(held):
        return held

    def stop(change, whole, round):
        return change / whole < 0.1 or round == 5


def test_an_error_in_stop_names_the_function_and_its_arguments():
    class Logarithm(Never):
        def stop(change, whole, round):
            return math.log(change * 0) < round

    with pytest.raises(ProgramError, match=r"Logarithm.stop failed for change=.*, round=1: .*; check first that"):
        dg.run(dg.Graph.from_edges(FRAME), Logarithm())


@pytest.mark.parametrize("engine", ["gas", "bsp", "block_descent"])
def test_stop_divides_by_zero_as_kernels_do(engine):
    for parts, policy in WAYS:
        found = dg.run(dg.Graph.from_edges(FRAME, parts=parts, policy=policy), Never(), engine=engine)
        assert found.rounds in ((5, 6) if engine == "block_descent" else (5,))


class Nearness(dg.VertexProgram):
    """Runs in any order, but for what is told of rounds."""

    distance = dg.State(float, start=math.inf)
    merge = dg.MIN

    def seed(id):
        return 0.0 if id == 0 else math.inf

    def send(distance, weight):
        return distance + weight

    def apply(distance, message):
        return min(distance, message)


class TellsTheChange(Nearness):
    @dg.Result(float)
    def told(distance, distance_before):
        return distance_before - distance


class TellsTheRound(Nearness):
    @dg.Result(int)
    def told(round):
        return round


class FoldsDraws(Nearness):
    @dg.Global(float, dg.SUM)
    def told(vertex_random):
        return vertex_random


class FoldsTheChange(Nearness):
    @dg.Global(bool, dg.OR)
    def told(distance, distance_before):
        return distance != distance_before


class SettledTellsTheRound(dg.VertexProgram):
    """The same of a synchronous program, whose fixed point is block descent's too."""

    kind = "synchronous"
    largest = dg.State(int)
    merge = dg.MAX

    def start(id):
        return id

    def send(largest):
        return largest

    def apply(largest, message):
        return max(largest, message)

    @dg.Result(int)
    def told(round):
        return round


@pytest.mark.parametrize("program", [TellsTheChange, TellsTheRound, FoldsDraws, FoldsTheChange, SettledTellsTheRound])
def test_what_results_tell_of_rounds_needs_an_engine_with_rounds(program):
    assert engines_for(analyse(program())) == ("bsp", "gas")
    graph = dg.Graph.from_edges(FRAME, weight="w", parts=2)
    with pytest.raises(OptionError, match="only in rounds that all vertices execute together; choose one of bsp, gas"):
        dg.run(graph, program(), engine="block_descent")
