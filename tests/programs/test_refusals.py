"""What Python would find out when a program's functions run is refused before, and so are names that hide something."""

import functools
import importlib
import math
import types
from pathlib import Path

import numpy as np
import programs
import pytest
from numpy import float64, int64

import dgraph as dg
from dgraph.codegen.kernel_source import generate
from dgraph.errors import OptionError, ProgramError
from dgraph.programs import reference
from dgraph.programs.analysis import analyse, engines_for
from dgraph.programs.monoid import MIN, PRODUCT, SUM, Monoid
from dgraph.programs.program import Delta, Message, Parameter, Phase, State, VertexProgram, vertex

SETTINGS = types.SimpleNamespace(step=1)


def unset(level):
    if level > 3:
        found = 1
    return level + found


def maybe_unset(level):
    for i in range(level):
        last = i
    return last


def endless(level):
    while True:
        level += 1
    return level


def too_large(level):
    return level + 2**63


def doubled(function):
    @functools.wraps(function)
    def twice(level):
        return 2 * function(level)

    return twice


@doubled
def decorated(level):
    return level


def attribute(level):
    return level.real


def attribute_free(level):
    return level


def absent(level):
    return level + SETTINGS.stride


def nothing(level):
    return None


def where(level):
    return np.where(level > 0, 1, 0)


def sum_of_two(a, b):
    return a + b


def pair(level):
    return level, level


@functools.lru_cache
def remembered(level):
    return level


def too_few(level):
    return sum_of_two(level)


def two_of_a_helper(level):
    return pair(level)


def remembering(level):
    return remembered(level)


def positional(level, /):
    return level


async def later(level):
    return level


def lost(level):
    level + 1


def one_tuple(level):
    return (level,)


def same_object(level, id):
    return 1 if level is id else 0


def largest_of_one(level):
    return max(level)


def of_an_object(self, level):
    return level


def sum_of_a_number(level):
    return dg.total(level)


def sum_of_too_many(level):
    return dg.total(sum_of_two, level)


def sum_without_a_function(level):
    return dg.total(3, level)


def sum_of_another_function(level):
    return dg.total(math.sqrt, level)


def sum_of_what_changes(largest):
    largest = largest * 2
    return dg.total(largest)


def length_of(a):
    return dg.dot(a, a)


def sum_in_a_helper(level):
    return length_of(level)


@pytest.mark.parametrize(
    ("send", "problem"),
    [
        (unset, "`found`: 'found' may have no value here. Assign to it first"),
        (maybe_unset, "'last' may have no value here"),
        (endless, "the loop never ends. Add a break or a return"),
        (too_large, "integers have 64 bits. Write a float"),
        (decorated, "from a function without its decorator"),
        (attribute, "numbers have no attributes"),
        (absent, "has no 'stride'"),
        (nothing, "None is not a number. Write the merge's identity"),
        (where, "Write `a if condition else b`"),
        (too_few, r"`sum_of_two\(level\)`: expected 2 arguments, got 1. Its parameters: a, b"),
        (two_of_a_helper, "expected 1 returned value, got 2. It must return message"),
        (remembering, "without its decorator"),
        (positional, r"without defaults, \* or /. Write \(level\)"),
        (later, "a function written with def"),
        (lost, r"`level \+ 1`: its value is not used. Return it"),
        (one_tuple, "a tuple of one value. Remove the comma"),
        (same_object, "`is` compares objects, not numbers. Write =="),
        (largest_of_one, "at least two arguments"),
        (of_an_object, "Functions of a program take no self"),
        (sum_of_a_number, r"dg.total\(level\): 'level' is not a vector. Declare it with a shape"),
        (sum_of_too_many, "sum_of_two must take 1 component and return one number"),
        (sum_without_a_function, "`3`: expected a function or a vector"),
        (sum_of_another_function, "expected a vector or a plain function of yours"),
        (
            sum_of_what_changes,
            "sums 'largest' as it was passed, but the function changes it. Assign to another",
        ),
        (sum_in_a_helper, "dot cannot be called in a helper. Pass its value to the helper"),
        (functools.partial(nothing), "expected a function written with def, got"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_errors_that_python_finds_only_at_run_time_are_refused(send, problem):
    with pytest.raises(ProgramError, match=problem):
        generate(type("Levels", (programs.LargestNearby,), {"level": State(int64), "send": send}))


def test_names_that_would_hide_others_are_refused():
    with pytest.raises(ProgramError, match="the column 'vertex' of the result"):
        type("Named", (programs.ShortestPaths,), {"vertex": State(float64)})
    with pytest.raises(ProgramError, match="'message' is both a message and a field"):
        type("Named", (programs.ShortestPaths,), {"message": State(float64)})
    with pytest.raises(ProgramError, match="'name' is an attribute of every Phase"):
        type("Step", (Phase,), {"name": Message(float64, SUM)})
    steps = {name: type(name, (Phase,), {"send": unset, "apply": unset}) for name in ("Ask", "A_SK")}
    with pytest.raises(ProgramError, match="two phases are named 'ask'"):
        type("Named", (VertexProgram,), {"kind": "synchronous", "low": State(float64), "merge": MIN, **steps})
    with pytest.raises(ProgramError, match=r"SUM needs numbers, not bool: write Message\(int, SUM\)"):
        type("Alive", (programs.ShortestPaths,), {"dist": State(bool), "merge": SUM})
    with pytest.raises(ProgramError, match=r"OR needs bool, not int64"):
        type("Alive", (programs.ShortestPaths,), {"dist": State(int64), "merge": dg.OR})
    with pytest.raises(ProgramError, match="would wrap around at 256: write Global"):
        dg.Global("uint8", SUM)
    for merge, problem in ((PRODUCT, "a product of uint8"), (dg.MOST_FREQUENT, "MOST_FREQUENT merges signed integers")):
        with pytest.raises(ProgramError, match=problem):
            Message("uint8", merge)
    with pytest.raises(ProgramError, match="'flaot' is not a type for State"):
        State("flaot")


def test_a_field_has_one_name_and_vectors_a_length():
    with pytest.raises(ProgramError, match="'near' is already declared as 'largest'"):
        type("Named", (programs.LargestNearby,), {"near": next(iter(programs.LargestNearby.fields.values()))})
    with pytest.raises(OptionError, match="Long: the length of level=True must be an integer >= 1"):
        type("Long", (programs.LargestNearby,), {"level": State(int64, shape=True)})()


def test_a_program_with_its_own_init_is_refused():
    class Begun(programs.LargestNearby):
        def __init__(self, hops):
            self.hops = hops

    with pytest.raises(ProgramError, match="Begun: leave out __init__, and declare a Parameter for each value"):
        dg.run(dg.rmat(scale=3, seed=1), Begun(3))


@pytest.mark.parametrize("identity_of", [0, lambda dtype: "none", lambda dtype: 2.0**70])
def test_a_merge_without_identity_is_refused(identity_of):
    with pytest.raises(ProgramError, match="SMALLER has no identity for int64"):
        Message(int64, Monoid("SMALLER", sum_of_two, identity_of))


def test_a_merge_of_one_value_is_refused():
    class Strange(programs.LargestNearby):
        message = Message(int64, Monoid("STRANGE", attribute_free, lambda dtype: 0))

    with pytest.raises(ProgramError, match=r"in the merge STRANGE: a merge takes two values and returns one"):
        generate(Strange)


def test_a_program_whose_file_changed_since_its_import_is_refused(tmp_path, monkeypatch):
    """Its functions stand elsewhere now: what is in their place must not be taken for them."""
    text = Path(programs.__file__).read_text()
    place = tmp_path / "programs_of_today.py"
    place.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    changed = importlib.import_module(place.stem).LargestNearby
    place.write_text("# a line more\n\n" + text)
    with pytest.raises(ProgramError, match="the file has changed since it was imported"):
        generate(changed)


def test_what_python_allows_means_the_same():
    """Negative powers by `**=`, float() of a comparison and of a word."""

    triangle = [(0, 1), (1, 2), (2, 0)]

    class Shares(VertexProgram):
        kind = "synchronous"
        share = State(float64)
        merge = SUM

        def send(id):
            share = id + 1
            share **= -1
            return min(share + float(id > 1), float("inf"))

        def apply(share, message):
            return message

    graph = dg.Graph.from_edges({"src": [u for u, _ in triangle], "dst": [v for _, v in triangle]})
    found = dg.run(graph, Shares()).compute()["share"].tolist()
    assert found == pytest.approx(reference.run(Shares(), triangle, 3).results()["share"])
    assert found == pytest.approx([4 / 3, 1, 1 / 2])


def test_a_phase_without_its_functions_says_what_to_write():
    with pytest.raises(ProgramError, match=r"P has no function apply. Write def apply\(level, message\): which"):
        type("P", (VertexProgram,), {"level": State(int64), "merge": MIN, "send": lambda level: level})
    with pytest.raises(ProgramError, match=r"no function send and no apply. Write def send\(level\): .*; def apply"):
        type("P", (VertexProgram,), {"level": State(int64), "merge": MIN})


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("sotp", lambda round: True, "stop"),
        ("seeds", lambda: 1, "seed"),
        ("knid", "synchronous", "kind"),
        ("alnog", "in", "along"),
        ("mrege", SUM, "merge"),
    ],
)
@pytest.mark.parametrize("base", [programs.ShortestPaths, Phase])
def test_misspelt_functions_and_options_are_refused(base, name, value, meant):
    with pytest.raises(ProgramError, match=f"P: a program does not use {name!r}; did you mean {meant!r}"):
        type("P", (base,), {name: value})


def test_other_functions_and_constants_of_a_program_are_kept():
    program = type("P", (programs.ShortestPaths,), {"describe": lambda self: "text", "unit": "km", "_sned": len})
    assert program(source=0).describe() == "text"


def test_a_global_without_its_function_is_refused():
    with pytest.raises(
        ProgramError, match=r"P: total is computed by a function; write @Global\(\.\.\.\) above its def"
    ):
        type("P", (programs.ShortestPaths,), {"total": dg.Global(int, SUM)})


def test_a_class_in_place_of_a_program_instance_is_refused():
    with pytest.raises(OptionError, match=r"make an instance: ShortestPaths\(\.\.\.\)"):
        dg.run(dg.grid(rows=2, cols=2), programs.ShortestPaths)


def test_vectors_are_as_long_as_declared():
    class Pair(VertexProgram):
        level = State(int64, shape=2)
        source = Parameter(vertex, shape=2)
        merge = MIN

        def seed(id, source):
            return 0 if id == source else 9

        def send(level):
            return level + 1

        def apply(level, message):
            return min(level, message)

    assert Pair(source=[3, 5]).vector_length == 2
    for source in ([3], [3, 5, 7], ["a", "b", "c"]):
        with pytest.raises(OptionError, match=f"have one length, not .*'source=': {len(source)}"):
            Pair(source=source)


class CountsPaths(VertexProgram):
    """The number of paths that end at a vertex."""

    paths = State(int64)
    new = Delta(int64)
    merge = SUM

    def seed():
        return 1

    def send(new):
        return new

    def apply(paths, message):
        return paths + message, message


def all_of(paths):
    return paths


def all_under_another_name(new, paths):
    share = new
    share = share + paths
    return share


def in_a_condition(new, paths):
    return new if paths < 3 else 0


def the_same(id):
    return 1


@pytest.mark.parametrize("send", [all_of, all_under_another_name, in_a_condition, the_same])
@pytest.mark.parametrize("merge", [SUM, PRODUCT])
def test_programs_that_would_count_messages_twice_are_refused(merge, send):
    program = type("Bad", (CountsPaths,), {"merge": merge, "send": send})()
    with pytest.raises(ProgramError, match=r"(SUM|PRODUCT) would count it again.*new = Delta\(int\).*synchronous"):
        analyse(program)


def test_the_refusal_shows_messages_that_count_twice():
    program = type("Bad", (CountsPaths,), {"send": all_of})()
    told = (
        r"firing on message=1 and then on message=3 leaves paths=5 and sends message=7, but .* sends message=5\. Send"
    )
    with pytest.raises(ProgramError, match=told):
        analyse(program)


def test_constant_fields_may_be_sent_with_a_delta():
    class Weighted(CountsPaths):
        factor = State(int64)

        def start(id):
            return 0, id

        def send(new, factor):
            return new * factor

        def apply(paths, factor, message):
            if message < 0:
                return paths, message, factor
            return paths + message, message, factor

    class OfTwo(CountsPaths):
        nearest = State(int64, start=dg.UNREACHED)
        low = Message(int64, MIN)
        many = Message(int64, SUM)

        def seed(id):
            return id, 1

        def send(new, nearest):
            return nearest, new

        def apply(paths, nearest, low, many):
            return paths + many, many, min(nearest, low)

    for program in Weighted(), OfTwo():
        assert "bulk_async" in engines_for(analyse(program))


def test_programs_that_send_totals_again_run_only_in_rounds():
    class InRounds(CountsPaths):
        def send(paths, round):
            return paths

    assert engines_for(analyse(InRounds())) == ("bsp", "gas")
