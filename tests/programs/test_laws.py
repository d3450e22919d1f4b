"""Every program obeys its laws, and programs known to be bad do not."""

import programs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy import float64, inf

import dgraph as dg
from dgraph.errors import OptionError, ProgramError
from dgraph.programs import laws, reference
from dgraph.programs.analysis import analyse
from dgraph.programs.law_trials import try_laws
from dgraph.programs.monoid import H_INDEX, HEAVIEST, MAX, MIN, MONOIDS, MOST_FREQUENT, NEIGHBOURHOODS, SUM, Monoid
from dgraph.programs.program import Delta, Global, Message, Parameter, State, VertexProgram
from dgraph.runs import law_checks

ACCUMULATIVE = [
    programs.ShortestPaths(source=3),
    programs.ManySources(source=[3, 5]),
    programs.BreadthFirst(source=3),
    programs.Components(),
    programs.Residuals(least=0.0),
    programs.Katz(tol=0.0),
    programs.KCore(k=3),
]
small = st.floats(0, 100, allow_subnormal=False)


@pytest.mark.parametrize("merge", MONOIDS, ids=repr)
@given(a=small, b=small, c=small)
@settings(max_examples=50, deadline=None)
def test_built_in_merges_obey_the_laws(merge, a, b, c):
    if merge.name in ("AND", "OR"):
        a, b, c = a > 50, b > 50, c > 50
        laws.check_merge(merge, a, b, c, merge.identity(bool))
    else:
        laws.check_merge(merge, a, b, c)


@pytest.mark.parametrize(
    ("merge", "messages", "expected"),
    [
        (MOST_FREQUENT, ([5, 3, 3, 5, 9], 0), 3),
        (HEAVIEST, ([5, 3, 3, 9], 0, [4, 1, 3, 2]), (3, 4)),
        (H_INDEX, ([3, 0, 3, 1], 0), 2),
    ],
    ids=str,
)
def test_of_equal_messages_the_smallest_counts(merge, messages, expected):
    assert merge.meaning(*messages) == expected


@pytest.mark.parametrize("merge", NEIGHBOURHOODS, ids=repr)
@given(values=st.lists(st.integers(0, 5), min_size=3, max_size=3))
@settings(max_examples=50, deadline=None)
def test_neighbourhood_merges_ignore_the_order(merge, values):
    laws.check_merge(merge, *values)


@pytest.mark.parametrize("program", ACCUMULATIVE, ids=lambda program: type(program).__name__)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_accumulative_programs_obey_the_laws(program, data):
    (field,) = program.phases[0].messages
    value = st.integers(0, 6) if field.dtype.kind == "i" else small
    values = value if field.shape is None else st.tuples(*[value] * program.vector_length)
    message = st.fixed_dictionaries({field.name: values})
    history, first, second = data.draw(st.lists(message, max_size=3)), data.draw(message), data.draw(message)
    laws.check_silence(program, history)
    laws.check_grouping(program, history, first, second)


def test_check_program_accepts_good_programs_within_the_tolerance():
    for program in [*ACCUMULATIVE, programs.PageRank(), programs.Matching(), programs.CommunityDetection()]:
        laws.check_program(program)
    with pytest.raises(ProgramError, match="both at once"):
        laws.check_program(programs.Residuals(least=0.7))  # what is held back is off by as much
    laws.check_program(programs.Residuals(least=0.7), tolerance=0.7)


class Averages(VertexProgram):
    """The mean of what it holds and hears: which depends on the order."""

    mean = State(float64)
    merge = SUM

    def seed(id):
        return 1.0

    def send(mean):
        return mean

    def apply(mean, message):
        return (mean + message) / 2


class SendsTotals(VertexProgram):
    """Sends all it holds, not what is new: twice as often for messages that come one by one."""

    total = State(float64)
    merge = SUM

    def seed(id):
        return 1.0

    def send(total):
        return total

    def apply(total, message):
        return total + message


class CountsFirings(VertexProgram):
    """Counts how often it fires: that is the engine's choice."""

    best = State(float64, start=inf)
    fired = State(float64)
    merge = MIN

    def seed(id):
        return 1.0

    def send(best):
        return best

    def apply(best, fired, message):
        return min(best, message), fired + 1


class AnswersSilence(VertexProgram):
    """Changes without a message."""

    total = State(float64)
    gain = Delta(float64)
    merge = SUM

    def seed(id):
        return 1.0

    def send(gain):
        return gain

    def apply(total, message):
        return total + message + 1, message + 1


@pytest.mark.parametrize("program", [Averages, SendsTotals, CountsFirings, AnswersSilence])
def test_bad_programs_fail(program):
    with pytest.raises(ProgramError, match=program.__name__):
        laws.check_program(program())


def _difference(a, b):
    return a - b


def _mean(a, b):
    return (a + b) / 2


@pytest.mark.parametrize(
    ("merge", "identity"),
    [
        (Monoid("DIFFERENCE", _difference, lambda dtype: 0), 0.0),
        (Monoid("MEAN", _mean, lambda dtype: 0), 0.0),
        (Monoid("MAX_FROM_TEN", MAX.merge, lambda dtype: 10), 10.0),
        (Monoid("SUM_ONCE", SUM.merge, lambda dtype: 0, idempotent=True), 0.0),
    ],
    ids=lambda value: repr(value),
)
def test_bad_merges_fail(merge, identity):
    class Bad(programs.LargestNearby):
        message = Message(float64, merge)

    assert merge.identity(float) == identity
    with pytest.raises(ProgramError, match=f"{merge}"):
        laws.check_program(Bad())


class Threshold(VertexProgram):
    """Infects its neighbours once, when it has heard of two. That it is told so once is what its laws rely on."""

    heard = State(int)
    infected = State(bool)
    message = Message(int, SUM)

    def seed(id):
        return 2 if id == 0 else 0

    def send(infected):
        return 1 if infected else 0

    def apply(heard, message):
        return heard + message, heard + message >= 2


class Toggles(Threshold):
    def seed():
        return 1

    def apply(heard, message):
        return heard + message, (heard + message) % 2 == 1


class SendsLittle(VertexProgram):
    """Nothing above 2, so that it matters whether messages come one by one."""

    total = State(int)
    new = Delta(int)
    merge = SUM

    def seed():
        return 1

    def send(new):
        return new if new < 3 else 0

    def apply(total, message):
        return total + message, message


class KeepsTheLast(VertexProgram):
    level = State(int, start=99)
    merge = MIN

    def seed(id):
        return id

    def send(level):
        return level + 1

    def apply(level, message):
        return message


class SendsMostAtTwo(VertexProgram):
    """What a vertex sends on its way is lost if it goes there at once: only one order of two messages shows it."""

    level = State(int)
    merge = MAX

    def seed(id):
        return id

    def send(level):
        return 4 if level == 2 else 3

    def apply(level, message):
        return max(level, message)


@pytest.mark.parametrize(
    "program",
    [*ACCUMULATIVE, programs.Katz(tol=1e-3), Threshold(), programs.PageRank()],
    ids=lambda p: type(p).__name__,
)
def test_good_programs_pass_the_trial(program):
    try_laws(program, analyse(program))


@pytest.mark.parametrize("program", [Toggles, SendsLittle, SendsMostAtTwo, KeepsTheLast, CountsFirings, AnswersSilence])
def test_run_refuses_what_breaks_a_law(program):
    graph = dg.Graph.from_edges({"src": [0, 0, 1], "dst": [1, 2, 2]})
    with pytest.raises(ProgramError, match=f"{program.__name__}: .*would depend on the engine.*check_laws=False"):
        dg.run(graph, program())
    assert dg.run(graph, program(), check_laws=False).rounds


def test_the_counter_example_says_what_differs():
    with pytest.raises(
        ProgramError, match=r"firing on message=1 and then on message=2 leaves total=4 and sends .*=3, but"
    ):
        try_laws(program := SendsLittle(), analyse(program))


class SendsMoreFromLater(VertexProgram):
    """Adds to each message, so it matters how many are sent. Nothing is sent where the vertex is number 0."""

    total = State(int)
    new = Delta(int)
    vertex = Parameter(dg.vertex)
    merge = SUM

    def seed(vertex):
        return vertex

    def send(new):
        return new + 2

    def apply(total, message):
        return total + message, message


def test_the_trial_passes_another_vertex_than_the_first():
    graph = dg.Graph.from_edges({"src": [0, 0, 1], "dst": [1, 2, 2]})
    with pytest.raises(ProgramError, match="would depend on the engine"):
        dg.run(graph, SendsMoreFromLater(vertex=1))


class HeardLast(VertexProgram):
    """The last round in which something arrived, be it news or not."""

    best = State(int)
    last = State(int)
    merge = MAX

    def seed(id):
        return 9 - id

    def send(best):
        return best

    def apply(best, message, round):
        return max(best, message), round


class HeardNewsLast(HeardLast):
    """The last round in which something new arrived."""

    def apply(best, last, message, round):
        return max(best, message), round if message > best else last


class CountsUp(HeardLast):
    """Keeps only the last message, on all engines with rounds."""

    def apply(message, round):
        return message, min(round, 1)


def test_run_refuses_what_changes_on_a_message_that_is_not_new():
    graph = dg.Graph.from_edges({"src": [0, 1, 2, 0], "dst": [1, 2, 3, 3]}, parts=2)
    for program in (HeardLast(), CountsUp()):
        with pytest.raises(ProgramError, match="engines do not fire a vertex on a message that changes nothing"):
            dg.run(graph, program)
        assert dg.run(graph, program, check_laws=False).rounds
    expected = reference.run(HeardNewsLast(), [(0, 1), (1, 2), (2, 3), (0, 3)], 4).results()
    for engine in ("gas", "bsp"):
        found = dg.run(graph, HeardNewsLast(), engine=engine).compute()
        assert {name: found[name].tolist() for name in expected} == expected


def _add(a, b):
    return a + b


MEAN = Monoid("MEAN", _mean, lambda dtype: 0)


class Averages(VertexProgram):
    kind = "synchronous"
    level = State(float64)
    merge = MEAN

    def start(id):
        return id

    def send(level):
        return level

    def apply(message):
        return message

    def stop(round):
        return round == 2


class FoldsAverages(Averages):
    merge = MAX

    @Global(float64, MEAN)
    def mean(level):
        return level


@pytest.mark.parametrize("program", [Averages, FoldsAverages])
def test_run_refuses_merges_that_depend_on_the_order(program):
    graph = dg.Graph.from_edges({"src": [0, 1, 2, 3], "dst": [4, 4, 4, 4]}, parts=2)
    with pytest.raises(ProgramError, match=f"{program.__name__}: MEAN is not .* partitions. Correct.*check_laws=False"):
        dg.run(graph, program())
    assert dg.run(graph, program(), check_laws=False).rounds == 2


def test_merges_that_passed_leave_other_laws_to_be_tried(monkeypatch, tmp_path):
    class Adds(Averages):
        merge = Monoid("ADD", _add, lambda dtype: 0)

    monkeypatch.setenv("DGRAPH_CACHE", str(tmp_path))
    monkeypatch.setattr(law_checks, "_passed", set())
    tried = []
    monkeypatch.setattr(law_checks, "_try", tried.append)
    law_checks.try_once(Adds(), one_by_one=False)
    assert not tried
    law_checks.try_once(Adds(), one_by_one=True)
    assert len(tried) == 1


class Hashes(VertexProgram):
    """Adds up hashes, which wrap."""

    total = State(int)
    news = Delta(int)
    message = Message(int, Monoid("WRAPPING", _add, lambda dtype: 0))

    def seed(id):
        return (id + 1) * 6364136223846793005

    def send(news):
        return news * 6364136223846793005

    def apply(total, message):
        return total + message, message


def test_sums_that_wrap_on_purpose_pass_the_trial():
    graph = dg.Graph.from_edges({"src": [0, 0, 1, 1, 2], "dst": [1, 2, 2, 3, 3]}, parts=2)
    totals = [dg.run(graph, Hashes(), engine=one).compute()["total"].tolist() for one in ("gas", "bulk_async")]
    expected = reference.run(Hashes(), [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)], 4).results()["total"]
    assert totals == [expected, expected]


def test_laws_are_tried_once(monkeypatch, tmp_path):
    monkeypatch.setenv("DGRAPH_CACHE", str(tmp_path))
    monkeypatch.setattr(law_checks, "_passed", set())
    tried = []
    monkeypatch.setattr(law_checks, "_try", tried.append)
    for _ in range(2):
        law_checks.try_once(Threshold(), one_by_one=False)
    monkeypatch.setattr(law_checks, "_passed", set())  # as in another process
    law_checks.try_once(Threshold(), one_by_one=False)
    assert len(tried) == 1
    law_checks.try_once(programs.ShortestPaths(source=3), one_by_one=False)
    assert len(tried) == 2


def test_operations_do_not_accept_check_laws():
    with pytest.raises(OptionError, match="wcc has no such option"):
        dg.wcc(dg.Graph.from_edges({"src": [0], "dst": [1]}), check_laws=False)
