"""What a program reads and communicates follows from its functions; what cannot run is refused where it is written."""

import math
import pickle
import re

import numpy as np
import programs
import pytest
from numpy import float64, inf, int64

import dgraph as dg
from dgraph.codegen.compiler import load
from dgraph.codegen.kernel_source import example_of, generate
from dgraph.codegen.recipe import recipe_of
from dgraph.errors import OptionError, ProgramError
from dgraph.programs.analysis import analyse
from dgraph.programs.monoid import CHOOSE, MIN, SUM, Monoid
from dgraph.programs.program import EdgeColumn, Global, Message, Parameter, Phase, State, VertexProgram, vertex


def found(program):
    """The analysis of a program with placeholders for its parameters."""
    return analyse(example_of(program))


def test_weights_are_kept_only_where_they_are_read():
    assert [column.name for column in found(programs.ShortestPaths).edge_columns] == ["weight"]
    assert not found(programs.BreadthFirst).edge_columns
    assert [column.name for column in found(programs.Factorize).edge_columns] == ["rating"]


def test_the_broadcast_is_one_value_if_the_message_depends_only_on_the_vertex():
    assert found(programs.PageRank).phases[0].broadcast == ("sent_message",)
    assert found(programs.ShortestPaths).phases[0].broadcast == ("field_dist",)
    assert found(programs.Factorize).phases[0].target_broadcast == ("field_factors",)
    assert not found(programs.CommunityDetection).phases[0].combines


def test_globals_that_no_round_reads_are_folded_at_the_end():
    assert found(programs.PageRank).globals_each_round == ("dangling", "change")
    assert found(programs.Residuals).globals_each_round == ()
    assert found(programs.PageRank).before == ("rank",)


def test_other_values_of_parameters_need_no_new_kernels():
    one, other = (generate(programs.KCore(k=k)) for k in (3, 4))
    assert one.digest == other.digest
    assert load(one) is load(other) is load(generate(programs.KCore(k=5)))


@pytest.mark.parametrize(
    "program",
    [p for p in vars(programs).values() if isinstance(p, type) and VertexProgram in p.__mro__[1:]],
    ids=lambda program: program.__name__,
)
def test_explain_prints_messages_and_valid_kernels(program):
    text = dg.explain(program, kernels=True)
    assert "  sent  " in text and "def pull(" in text.replace("pull_ask", "pull")
    compile(generate(program).text, "kernels", "exec")


def test_kernels_travel_without_the_class():
    kernels = load(generate(programs.PageRank()))
    assert pickle.loads(pickle.dumps(kernels)) is kernels
    recipe = recipe_of(programs.PageRank())
    assert recipe.should_stop({"change": 1.0, "tol": 0.5, "round": 3, "max_iter": 3})
    assert not recipe.should_stop({"change": 1.0, "tol": 0.5, "round": 2, "max_iter": 3})


def test_explain_says_what_is_chosen():
    assert "no function reads one" in dg.explain(programs.BreadthFirst)
    assert "an incoming cut" in dg.explain(programs.CommunityDetection)
    assert "merged    message by MIN; at proxies, then at the master" in dg.explain("wcc")
    assert dg.explain("label-propagation") == dg.explain("label_propagation")
    with pytest.raises(
        OptionError, match=r"program='girvan_newman' is not known; dgraph does not have girvan_newman; .*to_networkx"
    ):
        dg.explain("girvan_newman")
    with pytest.raises(OptionError, match="abacus"):
        dg.explain(programs.PageRank, target="abacus")


def test_explain_prints_kernels_on_request():
    assert "def pull(" not in dg.explain(programs.PageRank) + dg.explain(programs.PageRank, target="cpu", kernels=False)
    for options in ({"target": "cpu"}, {"kernels": True}):
        assert "def pull(" in dg.explain(programs.PageRank, **options)


def spoiled(**functions):
    """ShortestPaths with other functions."""
    return type("Spoiled", (programs.ShortestPaths,), functions)


def numpy_send(dist, weight):
    return np.sqrt(dist) + weight


def list_send(dist, weight):
    return sum([dist, weight])


def index_send(dist, weight):
    return dist[0] + weight


def text_send(dist, weight):
    print("sending")  # noqa: T201
    return dist + weight


def unknown_send(dist, weight):
    return dist + length  # noqa: F821


def undeclared_send(dist, colour):
    return dist + colour


def nothing_send(dist, weight):  # noqa: RET503
    if dist < 3:
        return weight


def two_send(dist, weight):
    return dist, weight


def defaults_send(dist, weight=1):
    return dist + weight


def state_seed(id, target_dist):
    return target_dist


def state_send(dist, target_dist):
    return target_dist


def keyword_send(dist, weight):
    return math.pow(dist, y=weight)


@pytest.mark.parametrize(
    ("functions", "expression", "remedy"),
    [
        ({"send": numpy_send}, "np.sqrt", "math"),
        ({"send": list_send}, "sum", "Allowed: "),
        ({"send": index_send}, r"dist\[0\]", "an EdgeColumn for those of edges"),
        ({"send": text_send}, "print", "Allowed: "),
        ({"send": unknown_send}, "length", "dist, weight"),
        ({"send": undeclared_send}, "colour", "weight"),
        ({"send": nothing_send}, "returns nothing", "return"),
        ({"send": two_send}, "got 2", "message"),
        ({"send": defaults_send}, "plain names", "dist, weight"),
        ({"seed": state_seed}, "target_dist", "source"),
        ({"send": state_send}, "a State of its target", "Test it in `apply`"),
        ({"send": keyword_send}, "keyword", "Allowed: "),
        ({"send": lambda dist, weight: dist + weight}, "lambda", "def"),
    ],
)
def test_invalid_programs_are_refused(functions, expression, remedy):
    with pytest.raises(ProgramError, match=expression) as caught:
        found(spoiled(**functions))
    assert remedy in str(caught.value) and "test_analysis.py, line" in str(caught.value)


def double(x):
    return 2 * x


def miscalling_send(dist, weight):
    longer = dist + weight
    return double(longer) & weight


def test_the_compilers_error_names_the_users_line():
    kernels = load(generate(example_of(spoiled(send=miscalling_send))))
    with pytest.raises(
        ProgramError, match=r"test_analysis.py, line \d+, in send of Spoiled: `return double_\w+\(longer\) &"
    ):
        kernels["push"].compile()


SCALE = np.float64(3)


class Helped(VertexProgram):
    """Reads constants and calls a function of its own."""

    kind = "synchronous"
    value = State(float64, start=1.0)
    merge = SUM
    rounds = Parameter(int64, 2)

    def send(value):
        return double(value) * SCALE

    def apply(value, message):
        return min(message, inf)

    def stop(round, rounds):
        return round == rounds


def test_generated_kernels_contain_helpers_and_constants():
    text = generate(Helped).text
    (name,) = re.findall(r"def (double_\w+)\(x\)", text)
    assert f"{name}(value) * 3.0" in text and "min(message, math.inf)" in text


def smaller_size(a, b):
    return a if (abs(a) <= abs(b) and a != b) or abs(a) < abs(b) else b


def test_a_user_defined_merge_is_compiled():
    class Closest(programs.LargestNearby):
        message = Message(int64, Monoid("CLOSEST", smaller_size, lambda dtype: 10**9, idempotent=True))

    assert "def merge_closest(a, b)" in generate(Closest).text
    assert load(generate(example_of(Closest)))["pull"].compile()


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"merge": None}, "has no merge"),
        ({"dist": None}, "declares no State"),
        ({"kind": "eager"}, "accumulative"),
        ({"along": "up"}, '"out", "in" or "both"'),
        ({"merge": CHOOSE}, "merges integers"),
        ({"message": State(bool)}, "'message' is both a message and a field"),
        ({"kind": "synchronous"}, "write `start`, not `seed`"),
        ({"Step": type("Step", (Phase,), {"send": double, "apply": double})}, "several phases"),
    ],
)
def test_incomplete_programs_are_refused(members, problem):
    with pytest.raises(ProgramError, match=problem):
        spoiled(**members)


def test_a_program_without_seed_or_send_is_refused():
    with pytest.raises(ProgramError, match="has no `seed`"):

        class Seedless(VertexProgram):
            level = State(int64)
            merge = MIN

            def send(level):
                return level

            def apply(level, message):
                return message

    with pytest.raises(ProgramError, match="no function send"):

        class Sendless(VertexProgram):
            level = State(int64)
            merge = MIN

            def apply(level, message):
                return message


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({}, "needs a value"),
        ({"source": 1.5}, "expected a vertex"),
        ({"source": [1]}, "expected a vertex"),
        ({"source": ["a"]}, "expected a vertex"),
        ({"source": math.nan}, "expected a vertex"),
        ({"source": 1, "alpha": 2}, "no parameter 'alpha'"),
    ],
)
def test_invalid_parameters_are_refused(values, problem):
    with pytest.raises(OptionError, match=problem):
        programs.ShortestPaths(**values)


def test_invalid_types_are_refused():
    with pytest.raises(ProgramError, match="'uint64' is not a type"):
        State("uint64")
    with pytest.raises(ProgramError, match="is not a type for EdgeColumn; choose one of bool"):
        EdgeColumn(vertex)
    with pytest.raises(ProgramError, match="expected a merge"):
        Message(float64, min)
    with pytest.raises(ProgramError, match="cannot fold"):
        Global(float64, CHOOSE)
    assert programs.ManySources(source=[1, 2, 3]).vector_length == 3
    with pytest.raises(OptionError, match="length"):
        programs.ManySources(source=[])
    assert State(vertex).dtype == np.int64
    assert [repr(State(vertex)), repr(Message(float, SUM, shape=3))] == ["State(vertex)", "Message(float64, shape=3)"]
