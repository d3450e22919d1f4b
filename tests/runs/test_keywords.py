"""The keywords of `run` and of operations: few, the same five everywhere, and those of 0.9 are refused with the call of
today."""

import inspect
import re
from dataclasses import fields

import pytest

import dgraph as dg
from dgraph.arguments import VALUES
from dgraph.errors import OptionError
from dgraph.keywords import HOW
from dgraph.runs.old_keywords import OLD
from dgraph.runs.run_options import RunOptions


@pytest.fixture(scope="module")
def graph():
    return dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})


# -- keywords of 0.9 ---------------------------------------------------------------------------------------------------

OF_BEFORE = {
    **{"block_size": 64, "order": "cyclic", "mode": "bsp", "operator": "pull", "max_rounds": 3, "local_rounds": 1},
    **{"deterministic": True, "rebalance": True, "direction": "pull", "exchange": "graph"},
    **{"vertex_cache": 4096, "memory_budget": 1 << 30, "pipeline_block": 512},
}
SPELLED = re.compile(
    r" (?:is an option|are options) of ((?:an engine|a device|daemons| and )+) since 0\.10: write (.*)$"
)


def spelled_in(refused):
    """The keywords that an error tells to write, evaluated."""
    call = SPELLED.search(str(refused.value))
    return eval(f"dict({call[2]})", {"dg": dg})


def held_by(given):
    """All values of fields of values, however deep."""
    for value in given:
        yield value
        if isinstance(value, tuple(VALUES)):
            yield from held_by(getattr(value, one.name) for one in fields(value))


@pytest.mark.parametrize(
    ("name", "value"), [("cache", "dg.Daemons"), ("memory", "dg.Cuda"), ("every", "dg.Checkpoint")]
)
def test_a_field_passed_as_a_keyword_is_refused_with_the_value_that_has_it(graph, name, value):
    with pytest.raises(OptionError, match=f"^{name}=3: wcc has no such option; (.*; also, )?{value} has it$"):
        dg.wcc(graph, **{name: 3})


@pytest.mark.parametrize("operation", ["pagerank", "wcc", "run"])
@pytest.mark.parametrize("name", OLD)
def test_an_old_keyword_is_refused_with_the_new_spelling(graph, name, operation):
    if operation == "run" and name == "max_rounds":
        return  # it still has that
    passed = OF_BEFORE.get(name, False)
    first = (graph, None) if operation == "run" else (graph,)
    with pytest.raises(OptionError, match=f"^{name}={passed!r} is an option of ") as refused:
        getattr(dg, operation)(*first, **{name: passed})
    found = spelled_in(refused)
    assert found.keys() <= {"engine", "device", "daemons"} and RunOptions(**found)
    assert (passed if name != "exchange" else False) in held_by(found.values())  # it keeps what the user asked for


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"order": "priority", "block_size": 64}, {"engine": dg.BlockDescent(block_size=64, order="priority")}),
        ({"engine": "bsp", "max_rounds": 3, "rebalance": True}, {"engine": dg.Bsp(max_rounds=3, rebalance=True)}),
        ({"engine": dg.Bsp(max_rounds=3), "direction": "pull"}, {"engine": dg.Bsp(max_rounds=3, direction="pull")}),
        ({"local_rounds": 4}, {"engine": dg.BulkAsync(local_rounds=4)}),
        ({"engine": "bulk_async", "local_rounds": 1}, {"engine": dg.BulkAsync(local_rounds=1)}),
        (
            {"lazy_upload": False, "active_only": False, "exchange": "graph"},
            {
                "engine": dg.Gas(
                    optimizations=dg.Optimizations(active_only=False, lazy_upload=False, direct_exchange=False)
                )
            },
        ),
        ({"vertex_cache": 0}, {"daemons": dg.Daemons("own process", cache=0)}),
        ({"daemons": "cuda", "pipeline_block": None}, {"daemons": dg.Daemons("cuda", block=None)}),
        ({"daemons": ["cuda"], "vertex_cache": 5}, {"daemons": dg.Daemons(["cuda"], cache=5)}),
        (
            {"daemons": dg.Daemons("cuda", block=5), "vertex_cache": 5},
            {"daemons": dg.Daemons("cuda", block=5, cache=5)},
        ),
        ({"memory_budget": 5, "pipeline_block": 8}, {"device": dg.Cuda(memory=5, block=8)}),
        (
            {"device": "cuda", "memory_budget": 5, "rebalance": True},
            {"device": dg.Cuda(memory=5), "engine": dg.Gas(rebalance=True)},
        ),
    ],
)
def test_several_old_keywords_are_refused_with_one_new_call(graph, before, now):
    with pytest.raises(OptionError) as refused:
        dg.wcc(graph, **before)
    assert spelled_in(refused) == now
    for name, value in before.items():
        assert (name not in OLD) or f"{name}={value!r}" in str(refused.value)


@pytest.mark.parametrize(
    "before",
    [{"direction": "auto"}, {"lazy_upload": True}, {"exchange": "workers"}, {"vertex_cache": "auto"}, {"order": None}],
)
def test_an_old_keyword_with_the_default_value_is_to_be_left_out(graph, before):
    with pytest.raises(OptionError, match=r" is an option of 0\.9, with the value .* default: leave it out$"):
        dg.wcc(graph, **before)


def test_operations_without_a_program_list_their_options_in_errors(graph):
    for operation in ("triangles", "lcc"):
        with pytest.raises(
            OptionError, match=f"{operation} has no such option; its options are (previous, )?engine, device$"
        ):
            getattr(dg, operation)(graph, max_rounds=3)


# -- few keywords ------------------------------------------------------------------------------------------------------

WITHOUT_PROGRAM = {  # those of the five that they take, with fewer choices
    "triangles": ["engine", "device"],
    "betweenness": ["engine", "device"],
    "closeness": ["engine", "device"],
    "harmonic": ["engine", "device"],
    "eccentricity": ["engine", "device"],
    "fast_rp": ["engine", "device"],
    "lcc": ["engine", "device"],
    "factorize": ["engine", "device", "checkpoint", "progress"],
    "leiden": ["engine", "device", "checkpoint", "progress"],
    "louvain": ["engine", "device", "checkpoint", "progress"],
}

OWN = {  # their own parameters, which are called like fields of engines
    "run": {"max_rounds"},
    "leiden": {"deterministic"},
    "louvain": {"deterministic"},
    "eigenvector": {"direction"},
    "closeness": {"direction"},
    "harmonic": {"direction"},
}


@pytest.mark.parametrize("name", ["run", *dg.ALL_OPERATIONS])
def test_a_function_has_few_keywords_and_names_them_all(name):
    parameters = inspect.signature(getattr(dg, name)).parameters
    kinds = [one.kind for one in parameters.values()]
    assert inspect.Parameter.VAR_KEYWORD not in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds
    optional = [one.name for one in parameters.values() if one.default is not one.empty]
    assert len(optional) <= 12 + ("previous" in optional)
    by_position = [one.name for one in parameters.values() if one.kind is not one.KEYWORD_ONLY]
    assert set(by_position) - {"graph", "program"} <= {"source", "k"}
    assert not set(OLD) & set(optional) - OWN.get(name, set())


@pytest.mark.parametrize("name", [one for one in ("run", *dg.OPERATIONS) if one not in WITHOUT_PROGRAM])
def test_the_five_run_options_are_the_same_in_every_operation(name):
    def said(function):
        parameters = inspect.signature(function).parameters
        return {one: (parameters[one].annotation, parameters[one].default, parameters[one].kind) for one in HOW}

    assert said(getattr(dg, name)) == said(dg.run)
    order = [one for one in inspect.signature(getattr(dg, name)).parameters if one in HOW]
    assert tuple(order) == HOW


@pytest.mark.parametrize("name", WITHOUT_PROGRAM)
def test_operations_without_a_program_take_few_run_options(name):
    named = [one for one in inspect.signature(getattr(dg, name)).parameters if one in HOW]
    assert named == WITHOUT_PROGRAM[name]


def test_options_of_a_run_are_the_parameters_of_run():
    takes = {one.name: one.default for one in inspect.signature(dg.run).parameters.values()}
    assert {name: takes.get(name) for name in (*HOW, "random_seed")} == {
        name: value for name, value in vars(RunOptions()).items() if name != "part"
    }
