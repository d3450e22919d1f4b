"""Programs that would run for ever end with an error; those that only take long give their answer."""

import pytest

import dgraph as dg
from dgraph.engines import round_limits
from dgraph.errors import EndlessWarning, RunError

LEAST = -(2**63)


class LongestWalk(dg.VertexProgram):
    """Grows for ever where there is a cycle."""

    length = dg.State(int, start=LEAST)
    merge = dg.MAX

    def seed(id):
        return 0 if id == 0 else LEAST

    def send(length):
        return length + 1

    def apply(length, message):
        return max(length, message)


class Oscillation(dg.VertexProgram):
    kind = "synchronous"
    value = dg.State(int)
    merge = dg.MAX

    def start(id):
        return id

    def send(value):
        return value

    def apply(message):
        return message


class Countdown(dg.VertexProgram):
    """Ends, after as many rounds as its parameter says."""

    value = dg.State(int, start=dg.UNREACHED)
    merge = dg.MIN
    first = dg.Parameter(int)

    def seed(id, first):
        return first if id == 0 else dg.UNREACHED

    def send(value):
        return value - 1 if value > 0 else dg.UNREACHED

    def apply(value, message):
        return min(value, message)


class Turning(Oscillation):
    @dg.Global(int, dg.MAX)
    def highest(value):
        return value

    def stop(highest, round):
        return highest < 0 and round > 2


class LateTurning(Turning):
    def stop(highest, round):
        if round < 3:
            return False
        return highest < 0


class NeverTurning(Turning):
    def stop(highest, round):
        return highest < 0 or round == 0


class ShortTurning(Turning):
    def stop(highest, round):
        return (highest < 0 and round > 2) or round == 2000


class BriefTurning(Turning):
    def stop(highest, round):
        if round > 1999:
            return True
        return highest < 0


@pytest.fixture(scope="module")
def cycle():
    return dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]})


@pytest.mark.filterwarnings("ignore::dgraph.errors.EndlessWarning")
@pytest.mark.parametrize(
    ("program", "engine"),
    [
        *((LongestWalk, engine) for engine in ("gas", "bsp", "bulk_async", "block_descent")),
        *(
            (program, engine)
            for program in (Oscillation, Turning, LateTurning, NeverTurning)
            for engine in ("gas", "bsp")
        ),
    ],
)
def test_endless_runs_end_with_an_error(cycle, program, engine, monkeypatch):
    monkeypatch.setattr(round_limits, "FREELY", 20)
    with pytest.raises(RunError, match=f"{program.__name__} has not ended after .* on 3 vertices.*max_rounds="):
        dg.run(cycle, program(), engine=engine)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("program", [ShortTurning, BriefTurning])
def test_many_rounds_give_no_warning_if_stop_bounds_them(cycle, program):
    assert dg.run(cycle, program()).rounds == 2000


def test_endless_partitions_end_with_an_error(monkeypatch):
    monkeypatch.setattr(round_limits, "FREELY", 20)
    cycle = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 0]}, parts=3)
    for engine in "bulk_async", "block_descent":
        with pytest.raises(RunError, match="may never"):
            dg.run(cycle, LongestWalk(), engine=engine)


class TwiceCountdown(dg.VertexProgram):
    """Counts down as Countdown does, and keeps the lowest number twice: of two fields nothing bounds the rounds."""

    value = dg.State(int, start=dg.UNREACHED)
    copy = dg.State(int, start=dg.UNREACHED)
    merge = dg.MIN
    first = dg.Parameter(int)

    def seed(id, first):
        return first if id == 0 else dg.UNREACHED

    def send(value):
        return value - 1 if value > 0 else dg.UNREACHED

    def apply(value, copy, message):
        return min(value, message), min(copy, message)


def test_many_rounds_are_warned_of_and_allowed(cycle):
    with pytest.warns(EndlessWarning, match="max_rounds=") as told:
        assert dg.run(cycle, TwiceCountdown(first=2000)).compute()["value"].tolist() == [2, 1, 0]
    assert len(told) == 1
    assert told[0].filename == __file__
    assert dg.run(cycle, Countdown(first=2000), max_rounds=20_000).rounds == 2001
    assert dg.run(cycle, LongestWalk(), max_rounds=12_000).rounds == 12_000


@pytest.mark.parametrize("engine", ["gas", "bsp"])
@pytest.mark.parametrize("program", [LongestWalk(), Countdown(first=2000)])
def test_endless_improvement_along_a_cycle_ends_with_an_error(cycle, program, engine):
    with pytest.raises(RunError, match=r"has not ended after 5 rounds on 3 vertices.*Pass max_rounds="):
        dg.run(cycle, program, engine=engine)


@pytest.mark.parametrize("engine", ["gas", "bsp"])
@pytest.mark.parametrize("parts", [1, 3, 8])
def test_a_message_may_pass_all_vertices(engine, parts):
    ends = range(40)
    path = dg.Graph.from_edges({"src": list(ends), "dst": [v + 1 for v in ends]}, parts=parts)
    assert dg.run(path, LongestWalk(), engine=engine).compute()["length"].tolist() == list(range(41))
