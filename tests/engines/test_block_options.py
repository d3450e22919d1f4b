"""What may be asked of block descent: refused with a clear error, or done and reported; graphs with little to do."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import BY_BLOCK, PROGRAMS, graph_for
from test_block_descent import Halved

import dgraph as dg
from dgraph.errors import OptionError
from dgraph.programs.monoid import MIN, SUM
from dgraph.programs.program import Global, Message, Parameter, State, VertexProgram


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in BY_BLOCK])
def test_a_program_that_cannot_run_by_block_is_refused(name):
    with pytest.raises(OptionError, match=r"engine='block_descent' cannot run .*; choose one of bsp, gas"):
        dg.run(graph_for(name), PROGRAMS[name], engine="block_descent")


@pytest.mark.parametrize(
    ("name", "asked", "message"),
    [
        ("Components", {"max_rounds": 3}, "max_rounds=3 is not available with"),
        ("Katz", {"engine": dg.BlockDescent(operator="pull")}, 'choose operator="push"'),
        (
            *("PageRank", {"engine": dg.BlockDescent(order="priority")}),
            'order="priority" has no effect when PageRank gathers',
        ),
    ],
)
def test_contradictory_options_are_refused(name, asked, message):
    with pytest.raises(OptionError, match=message):
        dg.run(graph_for(name), PROGRAMS[name], **{"engine": "block_descent", **asked})


def test_a_number_of_rounds_is_refused():
    for operation in (dg.pagerank, dg.katz):
        with pytest.raises(OptionError, match="runs a fixed number of rounds"):
            operation(dg.rmat(scale=5, seed=1, parts=1), tol=None, engine="block_descent")


def test_a_tolerance_below_the_precision_of_the_type_is_refused():
    graph = dg.rmat(scale=6, seed=3, parts=2)
    for dtype, tol, least in (("float64", 1e-17, "2.2e-16"), ("float32", 1e-9, "1.2e-07")):
        for engine in ("bulk_async", dg.BlockDescent(operator="push")):
            with pytest.raises(OptionError, match=f"tol={tol!r} is below .* {dtype}: give at least {least}"):
                dg.pagerank(graph, tol=tol, dtype=dtype, engine=engine)
    assert dg.pagerank(graph, tol=3e-16, engine="bulk_async").compute()["pagerank"].sum() == pytest.approx(1)


class Doubled(VertexProgram):
    """A fixed point in which a parameter that is called `relaxation`, and is 1, is what the user means by it."""

    operation = "doubled"
    kind = "synchronous"
    value = State(float, start=1.0)
    merge = SUM
    relaxation = Parameter(float, 1.0)

    def send(value, degree):
        return value / degree

    def apply(message, relaxation):
        return relaxation + 0.9 * message

    @Global(float, SUM)
    def change(value, value_before):
        return abs(value - value_before)

    def stop(change):
        return change < 1e-9


def test_a_parameter_of_any_name_keeps_its_value():
    graph = dg.grid(rows=40, cols=40, seed=1, parts=1)
    found = dg.run(graph, Doubled(), engine="block_descent").by_number("value")
    np.testing.assert_allclose(found, dg.run(graph, Doubled(), engine="bsp").by_number("value"), rtol=1e-6)


class Grown(Halved):
    """What is infinite spreads along the edges."""

    def apply(message, id):
        return np.inf if id == 0 else 1 + 0.5 * message


def test_differences_of_infinite_values_are_refused():
    frame = pd.DataFrame({"src": range(40), "dst": [*range(1, 40), 0]})
    graph = dg.Graph.from_edges(frame, parts=1)
    pulled = dg.run(graph, Grown(), engine=dg.BlockDescent(operator="pull"))
    assert np.isinf(pulled.by_number("value")).all()
    with pytest.raises(OptionError, match=r"vertices of Grown sent an infinite value or NaN; choose .*pull"):
        dg.run(graph, Grown(), engine=dg.BlockDescent(operator="push"))


class Vectors(VertexProgram):
    value = State(float, start=1.0, shape=2)
    merge = MIN

    def seed(id):
        return 1.0 * id

    def send(value):
        return value

    def apply(value, message):
        return min(value, message)


class TwoMessages(VertexProgram):
    kind = "synchronous"
    value = State(float)
    least, most = Message(float, MIN), Message(float, SUM)

    def send(value):
        return value, value

    def apply(least, most):
        return min(least, most)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (Vectors(), "holds vectors"),
        (TwoMessages(), "sends messages of several fields"),
    ],
)
def test_a_refusal_names_the_option_at_fault(program, why):
    with pytest.raises(OptionError, match=why):
        dg.run(dg.rmat(scale=5, seed=1, parts=1), program, engine="block_descent")


def test_errors_name_the_operation_that_was_called():
    graph = dg.rmat(scale=5, seed=1, weights=(1, 5), parts=1)
    with pytest.raises(OptionError, match="cannot run core_number, which merges whole neighbourhoods"):
        dg.core_number(graph, engine="block_descent")
    with pytest.raises(OptionError, match=r"but doubled is synchronous.*; choose pull or pull_push"):
        dg.run(dg.rmat(scale=5, seed=1, parts=2), Doubled(), engine=dg.BlockDescent(operator="push"))


@pytest.mark.parametrize("parts", [1, 3])
def test_the_report_tells_what_was_done(parts):
    graph = dg.rmat(scale=6, seed=1, parts=parts)
    engine = dg.BlockDescent(mode="bsp", order="cyclic", block_size=4, operator="pull")
    rounds = dg.wcc(graph, engine=engine).report.options
    assert rounds["mode"] == "bsp"
    assert rounds["block size"] == "all vertices"
    assert not {"order", "operator"} & set(rounds)
    mode = dg.pagerank(graph, engine=dg.BlockDescent(operator="pull")).report.options["mode"]
    assert mode == ("async" if parts == 1 else "async, but partitions wait after each epoch")
    assert dg.wcc(graph, engine="block_descent").report.options["mode"] == "async"
    taken = dg.wcc(graph, engine=dg.BlockDescent(block_size=100, order="priority")).report.options
    assert (taken["order"], taken["block size"]) == ("priority", 128)


@pytest.mark.parametrize("mode", ["async", "barrier", "bsp"])
def test_ranks_by_pushing_match_bsp_in_every_mode(mode):
    graph = dg.rmat(scale=7, seed=1, weights=(1, 9), parts=2)
    options, engine = {"tol": 1e-12, "weighted": True}, dg.BlockDescent(mode=mode, operator="push")
    found = dg.pagerank(graph, engine=engine, **options).by_number("pagerank")
    np.testing.assert_allclose(found, dg.pagerank(graph, engine="bsp", **options).by_number("pagerank"), atol=1e-11)


@pytest.mark.parametrize("operator", ["push", "pull"])
@pytest.mark.parametrize("asked", [{"alpha": 1}, {"tol": 0}])
def test_pagerank_without_a_stopping_rule_is_refused(operator, asked):
    with pytest.raises(OptionError, match=r"ends when the ranks .* tol.*; choose one of bsp, gas"):
        dg.pagerank(dg.rmat(scale=5, seed=1, parts=1), engine=dg.BlockDescent(operator=operator), **asked)


GRAPHS = {  # edges, vertices
    "empty": ([], []),
    "a vertex": ([], [5]),
    "isolated vertices": ([], [5, 6, 7]),
    "a loop": ([(3, 3)], [1]),
    "repeats": ([(1, 2), (1, 2), (2, 3), (3, 3)], [9]),
}


@pytest.mark.parametrize(("name", "parts"), list(product(GRAPHS, (1, 3))))
def test_tiny_graphs_give_the_answers_of_bsp(name, parts):
    edges, more = GRAPHS[name]
    frame = pd.DataFrame(edges, columns=["src", "dst"], dtype=np.int64)
    vertices = pd.DataFrame({"id": np.array(more, np.int64)})
    graph = dg.Graph.from_edges(frame, vertices=vertices, parts=parts)
    operations = {"pagerank": [{}, {"engine": dg.BlockDescent(operator="pull")}], "wcc": [{}], "katz": [{}]}
    if more:
        operations |= {"bfs": [{"source": more[-1]}], "sssp": [{"source": more[-1]}]}
        operations["pagerank"] += [{"personalization": {more[-1]: 1.0}}]
    for operation, several in operations.items():
        for options in several:
            result = getattr(dg, operation)(graph, **{"engine": "block_descent", **options})
            assert "round" in repr(result)
            assert len(result.report) or not graph.num_vertices
            expected = getattr(dg, operation)(graph, **{**options, "engine": "bsp"}).compute()
            pd.testing.assert_frame_equal(result.compute(), expected, rtol=1e-4)
