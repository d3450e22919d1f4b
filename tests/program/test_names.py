"""What a program calls fields, merges and helpers is taken for nothing else in kernels, nor one of them for another."""

import ast
import math

import programs
import pytest
from numpy import int64
from one_partition import OnePartition

from dgraph import reference
from dgraph.codegen.recipe import recipe_of
from dgraph.codegen.source import generate
from dgraph.errors import OptionError, ProgramError
from dgraph.monoid import SUM, Monoid
from dgraph.program import Message, State, VertexProgram
from dgraph.reserved import LOCALS, RESERVED


@pytest.mark.parametrize("program", programs.EXAMPLES, ids=lambda program: type(program).__name__)
def test_no_field_has_the_name_of_something_in_a_kernel(program):
    """Those are words that no field may be called, or begin with one, or with an underscore; or end in a function's."""
    functions = ("send", "apply", "start", "seed")
    for target, operator in (("cpu", None), ("cpu", "push"), ("cpu", "pull"), ("cuda", None)):
        for one in ast.parse(recipe_of(program, target, operator, ()).source.text).body:
            if isinstance(one, ast.FunctionDef) and any("kernel" in ast.unparse(mark) for mark in one.decorator_list):
                names = [name for line in one.body for name in ast.walk(line) if isinstance(name, ast.Name)]
                given = {argument.arg for argument in one.args.args}
                own = {name.id for name in names if isinstance(name.ctx, ast.Store) or name.id not in given}
                own -= {*RESERVED, *functions, *program.fields}
                assert not {n for n in own if not n.startswith(("_", *LOCALS)) and not n.endswith(functions)}, one.name


def times(factor):
    def scaled(x):
        return factor * x

    return scaled


double, triple = times(2), times(3)  # two functions of one name


def mix(x):  # as kernels call a function of theirs
    return x


class Named(VertexProgram):
    kind = "synchronous"
    value = State(float)
    drawn = State(float)
    merge = SUM

    def start(random):
        return 1.0, random

    def send(value):
        return double(value)

    def apply(message, random):
        return triple(message), mix(random)

    def stop(round):
        return round == 2


def test_helpers_are_those_that_a_function_sees():
    graph = {"edges": [(0, 1), (1, 2), (2, 0), (0, 2)], "vertices": 3, "random_seed": 5}
    answer = OnePartition(Named(), **graph)
    answer.run("pull")
    for name, values in reference.run(Named(), **graph).results().items():
        assert answer.arrays[name].tolist() == values


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def test_a_helper_that_calls_itself():
    class Parity(programs.LargestNearby):
        def start(id):
            return even(id)

    with pytest.raises(ProgramError, match="`even`: a function that calls itself cannot run on every device"):
        generate(Parity)


@pytest.mark.parametrize("names", [("CLOSEST", "closest"), ("MIN", "CLOSEST"), ("BY SIZE", "CLOSEST")])
def test_names_of_merges(names):
    merges = [Monoid(name, min, lambda dtype: 10**9) for name in names]
    with pytest.raises(ProgramError, match=r"two merges are called|no name for a merge"):

        class Named(programs.LargestNearby):
            message = Message(int64, merges[0])
            other = Message(int64, merges[1])


@pytest.mark.parametrize("name", ["of", "solver", "kind", "title", "ids", "heaviest"])
def test_names_of_the_class_are_no_fields(name):
    with pytest.raises(ProgramError, match=f"{name!r} is taken by the library"):
        type("Named", (VertexProgram,), {name: State(int64), "merge": SUM})


def test_whole_numbers_have_no_infinity():
    class Unreached(programs.BreadthFirst):
        def seed(id, source):
            return 0 if id == source else math.inf

    with pytest.raises(ProgramError, match="declared int64, which has no infinity"):
        generate(Unreached)
    with pytest.raises(OptionError, match="start=inf: expected a int64"):
        State(int64, start=math.inf)


def test_a_function_of_another_module():
    class Drawn(programs.BreadthFirst):
        def send(level):
            return math.trunc(level)

    with pytest.raises(ProgramError, match="a builtin_function_or_method cannot be read in a kernel"):
        generate(Drawn)
