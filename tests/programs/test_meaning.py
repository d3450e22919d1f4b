"""What a program's functions say is what Python makes of them; what would be taken for something else is refused."""

import enum
import math
import types

import numpy as np
import pandas as pd
import pytest
from numpy import float64, int64
from one_partition import OnePartition

import dgraph as dg
from dgraph.codegen.kernel_source import generate
from dgraph.errors import ColumnError, UnsentWarning
from dgraph.programs import reference
from dgraph.programs.kernel_names import field_name
from dgraph.programs.monoid import MAX, MIN, SUM
from dgraph.programs.program import EdgeColumn, Global, Parameter, Result, State, VertexColumn, VertexProgram

RING = {"edges": [(0, 1), (1, 2), (2, 0), (2, 3)], "vertices": 4}


class Colour(enum.IntEnum):
    RED = 2


BELOW, HALF, SETTINGS = -3, -0.5, types.SimpleNamespace(step=np.float32(0.25))


class Numbers(VertexProgram):
    """Outer numbers, powers, and a vector that is reached through a module."""

    kind = "synchronous"
    outer = State(float64)
    powers = State(float64)
    large = State(int64)
    pair = State(float64, shape=2)
    square = State(float64)
    merge = SUM

    @staticmethod
    def start(id, component):
        square: float = BELOW**2 + HALF**2
        return square + Colour.RED * SETTINGS.step, 2**-1 + (id + 1) ** -2, 2**63 - 1 - id, id + component, 0

    def send():
        return 1.0

    def apply(outer, powers, large, pair, message):
        while True:
            outer += message
            if outer > 11:
                last = outer
                break
        return last, powers - 2.0**70, large, pair, dg.dot(pair, pair)

    def stop(round):
        return round == 2


def test_arithmetic_in_kernels_matches_python():
    answer, oracle = OnePartition(Numbers(), **RING), reference.run(Numbers(), **RING)
    answer.run()
    for name, values in oracle.results().items():
        assert answer.arrays[field_name(name)].tolist() == [list(v) if isinstance(v, tuple) else v for v in values], (
            name
        )
    assert oracle.results()["square"] == [1.0, 5.0, 13.0, 25.0]


def floor_of(a):
    return math.floor(a)


def apart(a, b):
    return abs(a - b)


class Nearing(VertexProgram):
    """Vectors that near each other; sums over components are made once for each vertex, also of vectors of parameters
    and of global values."""

    kind = "synchronous"
    place = State(float64, shape="aim")
    aim = Parameter(float64, shape=...)
    large = Parameter("uint8", (200, 200, 1), shape=3)
    merge = MIN

    def start(id, component):
        return id * 8.0 + component

    def send(place):
        return place

    def apply(place, message):
        return (place + min(message, 100)) / 2

    @Global(float64, MAX, shape="aim")
    def farthest(place):
        return place

    @Global(float64, SUM)
    def way_to_go(place, aim):
        return dg.total(apart, place, aim)

    @Result(float64)
    def distance(place, aim):
        return dg.total(apart, place, aim)

    @Result(float64, shape="aim")
    def end(place):
        return place

    @Result(float64)
    def rounded(place):
        return dg.total(floor_of, place)

    def stop(farthest, aim, large):
        return dg.total(farthest) < 30 + dg.total(aim) or dg.total(large) != 2 * 200 + 1


def test_sums_over_the_components_of_vectors_are_made_once():
    graph = dg.Graph.from_edges(pd.DataFrame(RING["edges"], columns=["src", "dst"]), parts=2)
    oracle = reference.run(Nearing(aim=[1.0, 2.0, 4.0]), **RING)
    result = dg.run(graph, Nearing(aim=[1.0, 2.0, 4.0]))
    found = result.compute()
    assert result.rounds == oracle.rounds > 2
    assert [list(one) for one in found["end"]] == [list(one) for one in oracle.results()["end"]]
    for name in ("distance", "rounded"):
        assert found[name].tolist() == oracle.results()[name]
    assert found["distance"].tolist() == [np.abs(np.array(end) - [1, 2, 4]).sum() for end in found["end"]]
    assert result.totals["way_to_go"] == found["distance"].sum() == oracle.globals["way_to_go"]


class NeverFar(Nearing):
    """Divides by a sum over a vector, which is 0 in the first rounds."""

    @Global(float64, SUM, shape="aim")
    def rounds_left(round):
        return max(round - 2, 0)

    def stop(rounds_left):
        return 1 / dg.total(rounds_left) < 2


def test_a_stop_that_divides_by_a_sum_of_zeros_goes_on():
    graph = dg.Graph.from_edges(pd.DataFrame(RING["edges"], columns=["src", "dst"]))
    assert dg.run(graph, NeverFar(aim=[1.0, 2.0, 4.0])).rounds == 3


class Angles(VertexProgram):
    """Of whole numbers, too, which CUDA does not take as they are."""

    kind = "synchronous"
    angle = State(float64)
    merge = SUM

    def send(id):
        return math.radians(id)

    def apply(angle, message):
        return math.degrees(message) + math.degrees(1)

    def stop(round):
        return round == 1


def test_angle_functions_match_python_and_are_translated_for_cuda():
    answer, oracle = OnePartition(Angles(), **RING), reference.run(Angles(), **RING)
    assert answer.run()["angle"].tolist() == pytest.approx(oracle.results()["angle"])
    text = generate(Angles, "cuda").text
    assert "math.radians(float64(id))" in text and "math.degrees(float64(1))" in text


STEP = 1.0


def stepped(x):
    return x + STEP


class Constants(VertexProgram):
    kind = "synchronous"
    found = State(float64)
    merge = SUM

    def send():
        return 1.0

    def apply():
        return stepped(SETTINGS.step) + STEP

    def stop(round):
        return round == 1


def test_constants_and_helpers_are_what_they_are_when_a_run_begins(monkeypatch):
    G = dg.Graph.from_edges(pd.DataFrame({"src": [0], "dst": [1]}))

    def found():
        return dg.run(G, Constants()).compute()["found"].tolist()

    assert found() == [2.25, 2.25]
    monkeypatch.setitem(globals(), "STEP", 3.0)
    assert found() == [6.25, 6.25]
    monkeypatch.setattr(SETTINGS, "step", 1)
    assert found() == [7, 7]
    monkeypatch.setitem(globals(), "stepped", lately)
    assert found() == [5, 5]


def lately(x):
    return 2 * x


class Lowest(VertexProgram):
    low = State(float64, start=math.inf)
    merge = MIN

    def seed(id):
        return math.nan if id == 1 else id + 1

    def send(low):
        return low

    def apply(low, message):
        return min(low, message)


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_nan_is_never_the_smallest_message(direction):
    G = dg.Graph.from_edges(pd.DataFrame(RING["edges"], columns=["src", "dst"]), parts=2)
    for engine in (dg.Bsp(direction=direction), dg.BlockDescent(operator=direction)):
        assert dg.run(G, Lowest(), engine=engine).compute()["low"].tolist() == [1, 1, 1, 1]


class Shrinking(VertexProgram):
    """Nobody leads to vertex 0, which becomes no number, and so do all others in the end."""

    kind = "synchronous"
    part = State(float64, start=1)
    merge = SUM

    def send(part):
        return part / 2

    def apply(message):
        return message if message > 0 else math.nan


@pytest.mark.parametrize("engine", ["bsp", "block_descent"])
def test_a_run_ends_if_all_values_are_nan(engine):
    edges = [(0, 1), (1, 2), (0, 2)]
    found = dg.run(
        dg.Graph.from_edges(pd.DataFrame(edges, columns=["src", "dst"]), parts=2), Shrinking(), engine=engine
    )
    assert np.isnan(found.compute()["part"]).all()
    assert engine != "bsp" or found.rounds == reference.run(Shrinking(), edges, 3).rounds


class StepReport(Lowest):
    def start(id):
        return id

    def seed(id):
        return id


class Forgotten(Lowest):
    low = State(float64)  # starts at 0


class Alone(Lowest):
    def seed(id):
        return 1.0 if id == 3 else math.inf


class AloneFromTheStart(Alone):
    def start(id):
        return 2.0 if id == 3 else math.inf


@pytest.mark.parametrize("engine", ["bsp", "gas", "bulk_async", dg.BlockDescent(operator="push")], ids=str)
def test_a_program_that_sends_nothing_is_warned_of(engine):
    G = dg.Graph.from_edges(pd.DataFrame(RING["edges"], columns=["src", "dst"]), parts=2)
    for program in (StepReport(), Forgotten()):
        with pytest.warns(UnsentWarning, match=f"{type(program).__name__}: nothing was sent.*such as inf") as told:
            found = dg.run(G, program, engine=engine)
        assert told[0].filename == __file__
        assert found.report["fired"].any() and not found.report[["senders", "edges"]].any(axis=None)
    for program in (Alone(), AloneFromTheStart()):  # vertex 3 has said something, though nobody could hear it
        found = dg.run(G, program, engine=engine)
        assert found.report[["fired", "senders", "edges"]].sum().tolist() == [1, 1, 0]
    reached = dg.run(G, Lowest(), engine=engine).report
    assert (reached["senders"] <= reached["fired"]).all() and reached["senders"].sum() >= RING["vertices"]


class Lifted(Lowest):
    height = VertexColumn(float64)

    def seed(height):
        return height


def test_a_missing_vertex_column_is_an_error_that_names_similar_columns():
    G = dg.Graph.from_edges(
        pd.DataFrame(RING["edges"], columns=["src", "dst"]), vertices=pd.DataFrame({"id": [0], "hight": [2.0]})
    )
    with pytest.raises(ColumnError, match=r"Lifted reads the vertex column 'height'; the vertices have 'hight'. Pass"):
        dg.run(G, Lifted())
    assert dg.run(G, Lifted(), columns={"height": {0: 1.0}}).compute()["low"].tolist() == [0, 0, 0, 0]


def send_km(km):
    return km


def send_tons(tons):
    return tons


def send_lack(lack):
    return lack


SENDS = {"km": send_km, "tons": send_tons, "lack": send_lack}


@pytest.mark.parametrize(
    ("column", "dtype", "value"),
    [("km", int, 2.5), ("km", bool, 2.5), ("tons", "int32", 2**40), ("tons", bool, 2**40), ("lack", int, "nan")],
)
def test_edge_column_values_that_the_declared_type_cannot_hold_are_refused(column, dtype, value):
    edges = pd.DataFrame({"src": [0, 1], "dst": [1, 0], "km": [1, 2.5], "tons": [2**40, 1], "lack": [0, math.nan]})
    G = dg.Graph.from_edges(edges, parts=1)
    with pytest.raises(ColumnError, match=rf"edge column '{column}' has the value {value}, which \w+ cannot represent"):
        dg.run(G, type("Sums", (Constants,), {column: EdgeColumn(dtype), "send": SENDS[column]})())


@pytest.mark.parametrize("dtype", [int, float, "float32"])
def test_a_program_redefined_with_another_type_is_recompiled(dtype):
    """The text of its kernels is the same."""

    class Again(Constants):
        step = Parameter(dtype, 3 if dtype is int else 2.5)

        def apply(step):
            return step

    G = dg.Graph.from_edges(pd.DataFrame({"src": [0], "dst": [1]}))
    assert dg.run(G, Again()).compute()["found"].tolist() == [Again().values["step"]] * 2
