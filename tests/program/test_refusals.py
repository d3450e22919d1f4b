"""What Python would find out when a program's functions run is refused before, and so are names that hide something."""

import functools
import types

import numpy as np
import programs
import pytest
from numpy import float64, int64

import dgraph as dg
from dgraph.codegen.source import generate
from dgraph.errors import ProgramError
from dgraph.monoid import MIN, SUM
from dgraph.program import Message, Phase, State, VertexProgram

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


def absent(level):
    return level + SETTINGS.stride


def nothing(level):
    return None


def where(level):
    return np.where(level > 0, 1, 0)


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
