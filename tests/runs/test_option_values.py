"""Options that are values: the repr makes them again; wrong fields and spellings of 0.9 are refused with the remedy."""

import inspect

import numpy as np
import pytest

import dgraph as dg
from dgraph.arguments import MOVED
from dgraph.errors import OptionError

TYPES = {one.__name__: one for one in (dg.BlockDescent, dg.BulkAsync, dg.Daemons, dg.Gpu, dg.Optimisations)}
SWITCHES = ("active_only", "drop_weights", "changed_only", "skip_exchange", "lazy_upload")
VALUES = [
    *(dg.BlockDescent(), dg.BlockDescent(block_size=64, order="cyclic", mode="bsp", operator="push")),
    *(dg.BlockDescent(block_size=None), dg.BlockDescent(block_size=np.int32(8))),
    *(dg.BulkAsync(), dg.BulkAsync(local_rounds=4), dg.BulkAsync(local_rounds=np.int64(4))),
    *(dg.Daemons("own process"), dg.Daemons("own process", block=None), dg.Daemons({0: ["cuda"], 1: "in process"})),
    *(dg.Daemons(["in process", "own process"], block=64, cache=0), dg.Daemons("own process", cache=np.int64(5))),
    *(dg.Gpu(), dg.Gpu(memory_budget=8 << 30)),
    *(dg.Optimisations(), dg.Optimisations(active_only=np.bool_(False))),
    dg.Optimisations(direction="pull", exchange="graph", **dict.fromkeys(SWITCHES, False)),
]
WHOLE = "must be an integer >= 1, or None"
NOT_KNOWN = "is not known; choose one of "


@pytest.fixture(scope="module")
def graph():
    return dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_the_repr_is_a_call_that_makes_the_value_again(value):
    again = eval(repr(value), dict(TYPES))
    assert again == value and type(again) is type(value)


def test_the_repr_shows_only_what_differs_from_the_defaults():
    assert [repr(one()) for one in TYPES.values() if one is not dg.Daemons] == [
        "BlockDescent()",
        "BulkAsync()",
        "Gpu()",
        "Optimisations()",
    ]
    assert repr(dg.Daemons("own process")) == "Daemons('own process')"
    assert repr(dg.BlockDescent(block_size=8, mode="async")) == "BlockDescent(block_size=8)"


@pytest.mark.parametrize(
    ("make", "field", "value", "remedy"),
    [
        *((dg.BlockDescent, "block_size", value, WHOLE) for value in (0, -1, 1.5, True, "big")),
        (dg.BlockDescent, "order", "up", NOT_KNOWN + "priority, cyclic"),
        (dg.BlockDescent, "mode", "sync", r"is not known; did you mean async\? choose one of async, barrier, bsp"),
        (dg.BlockDescent, "operator", "both", NOT_KNOWN + "push, pull, pull_push"),
        *((dg.BlockDescent, field, 3, NOT_KNOWN) for field in ("order", "mode", "operator")),
        *((dg.BulkAsync, "local_rounds", value, WHOLE) for value in (0, 1.5, True, "auto")),
        *((dg.Gpu, "memory_budget", value, WHOLE) for value in (0, -1, 0.5, "8 GB")),
        (dg.Optimisations, "direction", "up", NOT_KNOWN + "auto, push, pull"),
        (dg.Optimisations, "exchange", "mail", NOT_KNOWN + "auto, workers, graph"),
        *((dg.Optimisations, field, "no", "must be True or False") for field in SWITCHES),
        *((dg.Optimisations, field, 1, "must be True or False") for field in SWITCHES),
        *((dg.Daemons, "block", value, 'must be a positive number of edges, "auto", or None') for value in (0, 1.5)),
        *((dg.Daemons, "cache", value, "must be a number of bytes .0 turns the cache off.") for value in (-1, None)),
    ],
)
def test_a_wrong_field_is_refused_with_its_value_and_what_is_allowed(make, field, value, remedy):
    first = ("own process",) if make is dg.Daemons else ()
    with pytest.raises(OptionError, match=f"^{field}={value!r} {remedy}"):
        make(*first, **{field: value})


@pytest.mark.parametrize("kinds", ["gpu", [], ["own process", "gpu"], 3, {0: "gpu"}])
def test_unknown_daemons_are_refused_with_the_kinds_that_exist(kinds):
    with pytest.raises(OptionError, match=r"daemons=.* is not known; choose one of 'in process', 'own process'"):
        dg.Daemons(kinds)


def test_a_block_needs_daemons_that_take_blocks():
    with pytest.raises(OptionError, match=r'block=64 needs daemons .* choose Daemons\("own process", block=64\)'):
        dg.Daemons("in process", block=64)


@pytest.mark.parametrize("field", [name for one in TYPES.values() for name in inspect.signature(one).parameters])
def test_every_field_has_a_wrong_value_among_these_tests(field):
    (mark,) = test_a_wrong_field_is_refused_with_its_value_and_what_is_allowed.pytestmark
    assert field in {name for _, name, _, _ in mark.args[1]} | {"kinds"}  # which has a test of its own


@pytest.mark.parametrize("option", ["engine", "device", "daemons", "optimisations"])
def test_what_is_no_such_value_is_refused(graph, option):
    for value in (3, {"direction": "pull"}, dg.BlockDescent, dg.Gpu() if option != "device" else dg.BulkAsync()):
        with pytest.raises(OptionError, match=f"{option}="):
            dg.wcc(graph, **{option: value})


# -- spellings of 0.9 --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["pagerank", "wcc", "run"])
@pytest.mark.parametrize("name", MOVED)
def test_a_spelling_of_before_gets_one_error_that_shows_the_new_one(graph, name, operation):
    value = {"block_size": 64, "vertex_cache": 4096, "memory_budget": 1 << 30, "direction": "pull", "exchange": "graph"}
    value |= {"order": "cyclic", "mode": "bsp", "operator": "pull"}
    passed = value.get(name, False)
    first = (graph, None) if operation == "run" else (graph,)
    with pytest.raises(OptionError) as error:
        getattr(dg, operation)(*first, **{name: passed})
    said, _, spelling = str(error.value).partition(" is spelled differently since 0.10: write ")
    assert said == f"{name}={passed!r}"
    option, _, call = spelling.partition("=")
    new = eval(call, {"dgraph": dg})
    assert passed in vars(new).values()  # the new spelling is valid, and keeps what the user asked for
    assert option in inspect.signature(dg.run).parameters


def test_every_field_of_a_value_but_the_new_ones_has_a_spelling_of_before():
    fields = {name for one in TYPES.values() for name in inspect.signature(one).parameters}
    assert set(MOVED) == fields - {"kinds", "block", "cache", "local_rounds"} | {"vertex_cache"}


# -- few keywords ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run", "factorize", *dg.OPERATIONS])
def test_no_operation_has_more_than_fourteen_keywords(name):
    kinds = [one.kind for one in inspect.signature(getattr(dg, name)).parameters.values()]
    assert kinds.count(inspect.Parameter.KEYWORD_ONLY) <= 14
