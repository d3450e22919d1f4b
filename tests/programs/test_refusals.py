"""What Python would find out when a program's functions run is refused before, and so are names that hide something."""

import functools
import importlib
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
from dgraph.programs.monoid import MIN, SUM, Monoid
from dgraph.programs.program import Message, Parameter, Phase, State, VertexProgram, vertex

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


@pytest.mark.parametrize(
    ("send", "problem"),
    [
        (unset, "`found`: 'found' may have no value here. Assign to it before"),
        (maybe_unset, "'last' may have no value here"),
        (endless, "the loop never ends. Leave it by a break or a return"),
        (too_large, "whole numbers have 64 bits. Write a float"),
        (decorated, "of the function's own text, without its decorator"),
        (attribute, "numbers have no attributes"),
        (absent, "there is no 'stride'"),
        (nothing, "None is no number. Say what the merge's identity is"),
        (where, "Take `a if condition else b`"),
        (too_few, r"`sum_of_two\(level\)`: 1 values for 2 parameters. It takes a, b"),
        (two_of_a_helper, "returns 2 of 1 values. It must return message"),
        (remembering, "without its decorator"),
        (positional, r"without defaults, \* or /. Write \(level\)"),
        (later, "written as a function with def"),
        (lost, r"`level \+ 1`: its value goes nowhere. Return it"),
        (one_tuple, "a tuple of one value. Leave out the comma"),
        (same_object, "`is` tells objects apart, not numbers. Take =="),
        (largest_of_one, "of two values or more"),
        (of_an_object, "Functions of a program take no self"),
        (functools.partial(nothing), "which is no function: write it with def"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_python_would_find_out_when_it_runs_is_refused(send, problem):
    with pytest.raises(ProgramError, match=problem):
        generate(type("Levels", (programs.LargestNearby,), {"level": State(int64), "send": send}))


def test_names_that_would_hide_something():
    with pytest.raises(ProgramError, match="the column 'vertex' of the answer"):
        type("Named", (programs.ShortestPaths,), {"vertex": State(float64)})
    with pytest.raises(ProgramError, match="'message' is a message and a field"):
        type("Named", (programs.ShortestPaths,), {"message": State(float64)})
    with pytest.raises(ProgramError, match="'name' is an attribute of every Phase"):
        type("Step", (Phase,), {"name": Message(float64, SUM)})
    steps = {name: type(name, (Phase,), {"send": unset, "apply": unset}) for name in ("Ask", "A_SK")}
    with pytest.raises(ProgramError, match="two phases are 'ask'"):
        type("Named", (VertexProgram,), {"kind": "synchronous", "low": State(float64), "merge": MIN, **steps})
    with pytest.raises(ProgramError, match=r"a bool holds no SUM: say Message\(int, SUM\)"):
        type("Alive", (programs.ShortestPaths,), {"dist": State(bool), "merge": SUM})
    with pytest.raises(ProgramError, match=r"OR is of bools, not of int64"):
        type("Alive", (programs.ShortestPaths,), {"dist": State(int64), "merge": dg.OR})
    with pytest.raises(ProgramError, match="'flaot' is no type for a State"):
        State("flaot")


def test_a_field_has_one_name_and_vectors_a_length():
    with pytest.raises(ProgramError, match="'near' is declared already, as 'largest'"):
        type("Named", (programs.LargestNearby,), {"near": next(iter(programs.LargestNearby.fields.values()))})
    with pytest.raises(OptionError, match="Long: the length of level=True must be a whole number above zero"):
        type("Long", (programs.LargestNearby,), {"level": State(int64, shape=True)})()


def test_a_program_with_an_init_of_its_own():
    class Begun(programs.LargestNearby):
        def __init__(self, hops):
            self.hops = hops

    with pytest.raises(ProgramError, match="Begun: leave out __init__, and declare a Parameter for each value"):
        dg.run(dg.rmat(scale=3, seed=1), Begun(3))


@pytest.mark.parametrize("identity_of", [0, lambda dtype: "none", lambda dtype: 2.0**70])
def test_a_merge_without_identity(identity_of):
    with pytest.raises(ProgramError, match="SMALLER has no identity of int64"):
        Message(int64, Monoid("SMALLER", sum_of_two, identity_of))


def test_a_merge_of_one_value():
    class Strange(programs.LargestNearby):
        message = Message(int64, Monoid("STRANGE", attribute_free, lambda dtype: 0))

    with pytest.raises(ProgramError, match=r"in the merge STRANGE: a merge makes one value of two"):
        generate(Strange)


def test_a_file_that_has_changed_since_it_was_imported(tmp_path, monkeypatch):
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
        with pytest.raises(OptionError, match=f"one length, not .*'source=': {len(source)}"):
            Pair(source=source)
