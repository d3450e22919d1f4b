"""What a program calls fields, merges and helpers is taken for nothing else in kernels, nor one of them for another."""

import ast
import math

import programs
import pytest
from numpy import int64
from one_partition import OnePartition

from dgraph.codegen.kernel_source import generate
from dgraph.codegen.recipe import recipe_of
from dgraph.errors import OptionError, ProgramError
from dgraph.programs import reference
from dgraph.programs.kernel_names import field_name
from dgraph.programs.monoid import MAX, SUM, Monoid
from dgraph.programs.program import EdgeColumn, Global, Message, Parameter, State, VertexColumn, VertexProgram

ROLES = ("field", "before", "inbox", "sent", "incoming", "best", "result", "new", "from", "total", "fold", "merged")
ROLES += ("first", "old", "partial", "tile", "_by", "_told", "_in_field")  # what names of a program's own begin with


@pytest.mark.parametrize("program", programs.EXAMPLES, ids=lambda program: type(program).__name__)
def test_generated_names_do_not_clash_with_names_of_a_program(program):
    fields = {"weight", *program.fields, *(message.name for phase in program.phases for message in phase.messages)}
    for target, operator in (("cpu", None), ("cpu", "push"), ("cpu", "pull"), ("cpu", "pull_push"), ("cuda", None)):
        for one in ast.parse(recipe_of(program, target, operator, ()).source.text).body:
            if isinstance(one, ast.FunctionDef) and any("kernel" in ast.unparse(mark) for mark in one.decorator_list):
                names = {argument.arg for argument in one.args.args}
                names |= {name.id for name in ast.walk(one) if isinstance(name, ast.Name)}
                theirs = {name for name in names if name.startswith(tuple(f"{role}_" for role in ROLES))}
                assert not {name for name in theirs if not name.endswith(tuple(fields))}, one.name
                assert not (names - theirs) & fields - {"round", "vertices", "degree"}, one.name


class Rank(VertexProgram):
    """Names of what kernels have, of Python's own, and of what every vertex has: what is declared counts."""

    kind = "synchronous"
    count = State(float)
    size = State(int64)
    message = State(float)
    degree = State(float)
    math = Message(float, SUM)
    fold = Message(float, SUM)
    float64 = Parameter(float, 0.5)
    round = Parameter(int64, 4)
    lo = Parameter(int64, 2)
    v = EdgeColumn(float)
    id = VertexColumn(float)
    __hidden = State(int64)

    def start(id, lo):
        u = id + lo
        return u, 3, 2 * u, id, 7

    def send(v, count, degree, target_degree, target_id):
        return v * count + degree * target_degree, target_id + v

    def apply(count, math, fold, float64, lo, __hidden):
        bool, dot_0 = math * float64, fold
        return bool + count / lo, __hidden, dot_0, bool + 1.5, 1 + __hidden

    @Global(int64, SUM)
    def one(count_before, size):
        return size if count_before < 1e9 else -1

    @Global(float, MAX)
    def edges(message):
        return message

    def stop(one, round, edges):
        return one >= 9 * round or edges > 1e9


def test_a_field_may_have_any_name_that_python_admits():
    edges, ids = [(0, 1), (1, 2), (2, 0), (0, 2), (2, 3), (3, 3)], [0.5, 1.5, 2.0, 0.25]
    graph = {"columns": {"v": [0.5, 1.0, 0.25, 2.0, 1.0, 0.125]}, "vertex_columns": {"id": ids}}
    oracle = reference.run(Rank(), edges, 4, **graph)
    for direction in ("pull", "push"):
        answer = OnePartition(Rank(), edges, 4, **graph)
        answer.run(direction)
        assert answer.round == oracle.rounds > 1
        for name, values in oracle.results().items():
            assert answer.arrays[field_name(name)].tolist() == values, name


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


def test_each_function_calls_the_helpers_in_its_own_scope():
    graph = {"edges": [(0, 1), (1, 2), (2, 0), (0, 2)], "vertices": 3, "random_seed": 5}
    answer = OnePartition(Named(), **graph)
    answer.run("pull")
    for name, values in reference.run(Named(), **graph).results().items():
        assert answer.arrays[field_name(name)].tolist() == values


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def test_a_recursive_helper_is_refused():
    class Parity(programs.LargestNearby):
        def start(id):
            return even(id)

    with pytest.raises(ProgramError, match="`even`: a recursive function cannot run on every device"):
        generate(Parity)


@pytest.mark.parametrize("names", [("CLOSEST", "closest"), ("MIN", "CLOSEST"), ("BY SIZE", "CLOSEST")])
def test_duplicate_and_invalid_merge_names_are_refused(names):
    merges = [Monoid(name, min, lambda dtype: 10**9) for name in names]
    with pytest.raises(ProgramError, match=r"two merges are named|must be an identifier"):

        class Named(programs.LargestNearby):
            message = Message(int64, merges[0])
            other = Message(int64, merges[1])


@pytest.mark.parametrize("name", ["of", "solver", "kind", "title", "send", "__init__"])
def test_fields_named_like_class_attributes_are_refused(name):
    with pytest.raises(ProgramError, match=f"{name!r} is an? (attribute|function) of every VertexProgram"):
        type("Named", (VertexProgram,), {name: State(int64), "merge": SUM})


def test_whole_numbers_have_no_infinity():
    class Unreached(programs.BreadthFirst):
        def seed(id, source):
            return 0 if id == source else math.inf

    with pytest.raises(ProgramError, match="declared as int64, which has no infinity"):
        generate(Unreached)
    with pytest.raises(OptionError, match="start=inf: expected an int64"):
        State(int64, start=math.inf)


def test_an_unsupported_math_function_is_refused_with_those_available():
    class Drawn(programs.BreadthFirst):
        def send(level):
            return math.trunc(level)

    with pytest.raises(ProgramError, match=r"'trunc' cannot run on every device\. Available from math: sqrt"):
        generate(Drawn)
