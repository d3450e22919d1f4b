"""Options that are values: the repr makes them again; wrong fields, and pairs that exclude each other, are refused with
the remedy."""

import inspect
import pickle
import re
from copy import deepcopy
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import numpy as np
import pytest

import dgraph as dg
from dgraph import arguments, keywords
from dgraph.errors import DeviceError, OptionError
from dgraph.options import DEFAULT_CACHE, SWITCHES
from dgraph.runs.run_options import RunOptions
from dgraph.testing.stand_in import StandIn

TYPES = (dg.Gas, dg.Bsp, dg.BulkAsync, dg.BlockDescent, dg.Optimizations, dg.Cuda, dg.Daemons, dg.Checkpoint)
FORMATS = (dg.Text, dg.Parquet)
OF_FACTORS = (dg.Gradient, dg.LeastSquares, dg.HeldOut)
ROUNDS = (dg.Gas, dg.Bsp)
NEEDED = {dg.Daemons: ("own process",)}  # what a value cannot be made without
ALL_OFF = dict.fromkeys(SWITCHES, False)
VALUES = [
    *(made(*NEEDED.get(made, ())) for made in (*TYPES, *FORMATS, *OF_FACTORS)),
    *(made(max_rounds=3, local_rounds=1, direction="pull", deterministic=True, rebalance=True) for made in ROUNDS),
    *(made(direction="push", optimizations=dg.Optimizations(**ALL_OFF)) for made in ROUNDS),
    dg.BulkAsync(local_rounds=4, direction="push", optimizations=dg.Optimizations(lazy_upload=False)),
    dg.BlockDescent(block_size=64, order="cyclic", mode="bsp", operator="pull_push"),
    dg.Optimizations(**ALL_OFF),
    *(dg.Cuda(memory="8 GiB", block=64), dg.Cuda(block=None)),
    *(dg.Daemons("own process", block=None), dg.Daemons(["in process", "own process"], block=64, cache=0)),
    *(dg.Daemons({0: ["cuda", "in process"], 1: "cuda own process"}), dg.Daemons({})),
    *(dg.Text(delimiter=";", header=False, lazy=True, block_size=64), dg.Parquet(lazy=False)),
    *(dg.Gradient(learning_rate=0.5), dg.HeldOut(patience=5)),
    *(dg.Checkpoint("a/folder", every=None, seconds=0.5), dg.Checkpoint("s3://bucket/run"), dg.Checkpoint(every=3)),
]
KINDS = "choose one of 'in process', 'own process', 'cuda', 'cuda own process'"
BYTES = 'must be a number of bytes >= {}, such as 4096 or "4 GiB"'


@pytest.fixture(scope="module")
def graph():
    return dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})


@pytest.fixture(scope="module")
def halves():
    return dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}, parts=2)


# -- what every value can do -------------------------------------------------------------------------------------------


def test_every_option_value_is_public_and_tested():
    assert set(arguments.VALUES) == {*TYPES, *FORMATS, *OF_FACTORS}
    assert all(getattr(dg, made.__name__) is made for made in arguments.VALUES)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_equals_what_its_repr_its_pickle_and_its_copies_make(value):
    for again in (
        eval(repr(value), {"dg": dg}),
        pickle.loads(pickle.dumps(value)),
        deepcopy(value),
        replace(value),
        type(value)(**{one.name: getattr(value, one.name) for one in fields(value)}),
    ):
        assert again == value and type(again) is type(value) and repr(again) == repr(value)
    others = [one for one in VALUES if one is not value]
    assert value not in others


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_has_a_hash_unless_it_is_made_from_a_mapping(value):
    if isinstance(value, dg.Daemons) and isinstance(value.kinds, dict):
        with pytest.raises(TypeError):
            hash(value)
    else:
        assert hash(value) == hash(deepcopy(value))


@pytest.mark.parametrize("value", [one for one in VALUES if fields(one)], ids=repr)
def test_a_value_does_not_change(value):
    with pytest.raises(FrozenInstanceError):
        setattr(value, fields(value)[0].name, None)


def test_the_repr_shows_only_what_differs_from_the_defaults():
    assert [repr(made(*NEEDED.get(made, ()))) for made in TYPES] == [
        *("dg.Gas()", "dg.Bsp()", "dg.BulkAsync()", "dg.BlockDescent()", "dg.Optimizations()", "dg.Cuda()"),
        *("dg.Daemons('own process')", "dg.Checkpoint()"),
    ]
    assert repr(dg.BlockDescent(block_size=8, mode="async")) == "dg.BlockDescent(block_size=8)"
    assert repr(dg.Gas(optimizations=dg.Optimizations(lazy_upload=False))) == (
        "dg.Gas(optimizations=dg.Optimizations(lazy_upload=False))"
    )


@pytest.mark.parametrize("made", (*TYPES, *FORMATS))
def test_help_shows_fields_as_keywords_and_the_docstring_lists_them(made):
    shown = inspect.signature(made).parameters.values()
    assert [one.name for one in shown] == [one.name for one in fields(made)]
    by_position = [one.name for one in shown if one.kind is not one.KEYWORD_ONLY]
    assert by_position == {dg.Daemons: ["kinds"], dg.Checkpoint: ["path"]}.get(made, [])
    listed = re.findall(r"^    (\w+) : ", made.__doc__, re.MULTILINE)
    assert listed == [one.name for one in shown]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (dg.Gas(max_rounds=np.int32(3), local_rounds=np.uint8(1)), dg.Gas(max_rounds=3, local_rounds=1)),
        (dg.Bsp(deterministic=np.bool_(True)), dg.Bsp(deterministic=True)),
        (dg.BulkAsync(local_rounds=np.int64(4)), dg.BulkAsync(local_rounds=4)),
        (dg.BlockDescent(block_size=np.int32(8)), dg.BlockDescent(block_size=8)),
        (dg.Optimizations(active_only=np.bool_(False)), dg.Optimizations(active_only=False)),
        (dg.Cuda(memory="4 GiB", block=np.int64(5)), dg.Cuda(memory=4 << 30, block=5)),
        (dg.Cuda(memory=np.int64(5)), dg.Cuda(memory=5)),
        (dg.Daemons("cuda", cache="4 KiB"), dg.Daemons("cuda", cache=4096)),
        (dg.Daemons("cuda", cache="64 MiB"), dg.Daemons("cuda", cache=DEFAULT_CACHE)),
        (dg.Daemons(["cuda"]), dg.Daemons(("cuda",))),
        (dg.Daemons({np.int64(0): ["cuda"]}), dg.Daemons({0: ("cuda",)})),
        (dg.Checkpoint(every=np.int64(7)), dg.Checkpoint(every=7)),
    ],
)
def test_numbers_of_numpy_and_sizes_in_words_become_plain_integers(found, expected):
    assert found == expected and repr(found) == repr(expected)
    for one in fields(found):
        assert type(getattr(found, one.name)) is type(getattr(expected, one.name))


def test_a_user_defined_daemon_is_accepted_as_a_kind():
    kind = StandIn(compute=1e-6)
    value = dg.Daemons([kind, "own process"])
    assert value == pickle.loads(pickle.dumps(value)) and hash(value) == hash(deepcopy(value))
    assert value.kinds == (kind, "own process")


# -- what a value refuses ----------------------------------------------------------------------------------------------

WHOLE = "must be an integer >= 1, or None"
WHOLE_OR_AUTO = 'must be an integer >= 1, or "auto"'
WHOLE_AUTO_OR_NONE = 'must be an integer >= 1, "auto" or None'
WAYS = "choose one of auto, push, pull"
WRONG = [
    *((made, "max_rounds", value, WHOLE) for made in ROUNDS for value in (0, -1, 1.5, True, "auto", "3")),
    *((made, "local_rounds", value, "must be an integer >= 1") for made in ROUNDS for value in (0, 1.0, True, "auto")),
    *((made, "local_rounds", 2, "dg.BulkAsync has it") for made in ROUNDS),
    *((dg.BulkAsync, "local_rounds", value, WHOLE) for value in (0, 1.5, True, "auto")),
    *(
        (made, "direction", value, WAYS)
        for made in (*ROUNDS, dg.BulkAsync)
        for value in ("up", None, 3, "pul", ["pull"])
    ),
    *((made, name, 1, "must be True or False") for made in ROUNDS for name in ("deterministic", "rebalance")),
    *((made, name, "no", "must be True or False") for made in ROUNDS for name in ("deterministic", "rebalance")),
    *((dg.Optimizations, name, value, "must be True or False") for name in SWITCHES for value in (1, "no", None)),
    *(
        (made, "optimizations", value, "must be a dg.Optimizations, such as dg.Optimizations(lazy_upload=False)")
        for made in (*ROUNDS, dg.BulkAsync)
        for value in (None, {"lazy_upload": False}, dg.Optimizations, False)
    ),
    *((dg.BlockDescent, "block_size", value, WHOLE_OR_AUTO) for value in (0, -1, 1.5, True, "big", None)),
    (dg.BlockDescent, "order", "up", "choose one of auto, priority, cyclic"),
    (dg.BlockDescent, "mode", "asynk", "did you mean async? choose one of async, barrier, bsp"),
    (dg.BlockDescent, "operator", "both", "choose one of auto, push, pull, pull_push"),
    *(
        (dg.BlockDescent, name, value, "choose one of ")
        for name in ("order", "mode", "operator")
        for value in (3, None)
    ),
    *((dg.Cuda, "memory", value, BYTES.format(1)) for value in (0, -1, 0.5, True, "8 pounds", "auto")),
    *((made, "block", value, WHOLE_AUTO_OR_NONE) for made in (dg.Cuda, dg.Daemons) for value in (0, 1.5, True, "big")),
    *((dg.Daemons, "cache", value, BYTES.format(0)) for value in (-1, 1.5, True, None, "auto", "8 pounds")),
    *((dg.Text, "delimiter", value, "must be one character (' ' stands for") for value in ("::", "", 5, b",")),
    *((dg.Text, "block_size", value, WHOLE_OR_AUTO) for value in (0, 1.5, True, "big", None)),
    *((made, "lazy", value, "must be True or False") for made in FORMATS for value in (0, "no", "auto")),
    *((dg.Text, "header", value, "must be True or False") for value in (1, "yes")),
    *((dg.Checkpoint, "every", value, WHOLE) for value in (0, 1.5, True, "auto")),
    *((dg.Checkpoint, "seconds", value, "must be a number above zero, or None") for value in (0, -1.0, np.inf, "1")),
]


@pytest.mark.parametrize(("made", "field", "value", "remedy"), WRONG)
def test_a_wrong_field_is_refused_with_its_value_and_what_is_allowed(made, field, value, remedy):
    shown = re.escape(f"{field}={value!r}") if isinstance(value, str | float | int | None) else f"{field}="
    with pytest.raises(OptionError, match=f"^{shown}.* {re.escape(remedy)}"):
        made(*NEEDED.get(made, ()), **{field: value})


@pytest.mark.parametrize("made", (*TYPES, *FORMATS))
def test_every_field_has_a_wrong_value_among_these_tests(made):
    wrong = {field for one, field, _, _ in WRONG if one is made}
    assert wrong == {one.name for one in fields(made)} - {"kinds", "path"}  # which have tests of their own


@pytest.mark.parametrize(
    "kinds", ["gpu", "auto", "", [], ["own process", "gpu"], 3, None, True, {0: "gpu"}, {0: []}, StandIn, dg.Cuda()]
)
def test_unknown_daemons_are_refused_with_the_kinds_that_exist(kinds):
    with pytest.raises(OptionError, match=f"daemons=.* is not known; {KINDS}"):
        dg.Daemons(kinds)


@pytest.mark.parametrize("worker", [-1, True, "0", 0.0, None])
def test_daemons_with_keys_that_are_not_workers_are_refused(worker):
    with pytest.raises(OptionError, match=r"has the key .*, which is not a worker; workers are numbered from 0 up"):
        dg.Daemons({worker: "cuda"})


@pytest.mark.parametrize("path", [3, "", True, b"x", Path])
def test_a_checkpoint_path_of_the_wrong_type_is_refused(path):
    with pytest.raises(OptionError, match="is not a path: pass a folder or a URL"):
        dg.Checkpoint(path)
    assert dg.Checkpoint(Path("a")) == dg.Checkpoint("a")


@pytest.mark.parametrize("made", (*TYPES, *FORMATS))
def test_an_unknown_field_is_refused_with_those_that_exist(made):
    first, named = NEEDED.get(made, ()), [one.name for one in fields(made)]
    with pytest.raises(OptionError, match=f"^dg.{made.__name__} has no option speed=3; its options are "):
        made(*first, speed=3)
    name = named[-1]
    with pytest.raises(OptionError, match=f"^dg.{made.__name__} has no option {name}x=3; did you mean {name}\\?$"):
        made(*first, **{f"{name}x": 3})


@pytest.mark.parametrize("made", (*TYPES, *FORMATS))
def test_a_field_of_another_value_is_refused_with_the_values_that_have_it(made):
    own = [one.name for one in fields(made)]
    for other in TYPES if made in TYPES else FORMATS:
        for name in [one.name for one in fields(other) if one.name not in own]:
            said = rf"^dg\.{made.__name__} has no option {name}=.*dg\.{other.__name__}\b.* (has|have) it$"
            with pytest.raises(OptionError, match=said):
                made(*NEEDED.get(made, ()), **{name: 1})


@pytest.mark.parametrize("made", (*TYPES, *FORMATS))
def test_a_positional_argument_is_refused_with_the_names(made):
    allowed = sum(not one.kw_only for one in fields(made))
    with pytest.raises(
        OptionError,
        match=f"^dg.{made.__name__} takes 'pull' only as a keyword .* one of .*{fields(made)[-1].name}",
    ):
        made(*["in process"] * allowed, "pull")


def test_a_gpu_daemon_without_a_gpu_is_refused(halves):
    for kinds in ("cuda", "cuda own process", {1: ["in process", "cuda"]}):
        with pytest.raises(
            DeviceError, match=r"^daemons='cuda' is not available here: .* leave \"cuda\" out of daemons="
        ):
            dg.wcc(halves, daemons=dg.Daemons(kinds))


@pytest.mark.parametrize("device", [["cuda", "cpu"], {0: "cuda"}])
def test_a_device_per_worker_is_refused_with_a_hint_to_daemons(graph, device):
    with pytest.raises(OptionError, match=r"^device=.* is not known; .*; what each worker uses is daemons=dg.Daemons"):
        dg.wcc(graph, device=device)


def test_daemons_without_kinds_are_refused():
    with pytest.raises(OptionError, match=r"^dg.Daemons needs kinds=, which has no default"):
        dg.Daemons(block=3)


@pytest.mark.parametrize("made", ROUNDS)
def test_fields_of_one_value_that_exclude_each_other_are_refused(made):
    with pytest.raises(
        OptionError, match=r"deterministic=True and direction='push' are mutually exclusive.*Leave one out"
    ):
        made(deterministic=True, direction="push")
    with pytest.raises(OptionError, match="every=None and seconds=None: set one of them"):
        dg.Checkpoint(every=None)


@pytest.mark.parametrize("name", SWITCHES)
def test_the_asynchronous_engine_has_no_switches_of_common_rounds(name):
    off = dg.Optimizations(**{name: False})
    if name in ("lazy_upload", "drop_weights", "direct_exchange"):
        assert dg.BulkAsync(optimizations=off).optimizations == off
    else:
        with pytest.raises(OptionError, match=rf"^{name}=False is not available in dg\.BulkAsync.*dg\.Gas and dg\.Bsp"):
            dg.BulkAsync(optimizations=off)


# -- values as options of a call ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["wcc", "run"])
@pytest.mark.parametrize("option", ["engine", "device", "daemons", "checkpoint"])
def test_options_refuse_values_of_the_wrong_type(graph, option, operation):
    right = {"engine": (*ROUNDS, dg.BulkAsync, dg.BlockDescent), "device": (dg.Cuda,), "daemons": (dg.Daemons,)}
    right |= {"checkpoint": (dg.Checkpoint,)}
    first = (graph, None) if operation == "run" else (graph,)
    wrong = [one for one in VALUES if not isinstance(one, right[option])]
    for value in (3, {"direction": "pull"}, *TYPES, *wrong):
        with pytest.raises(OptionError, match=f"{option}="):
            getattr(dg, operation)(*first, **{option: value})


@pytest.mark.parametrize("made", [*ROUNDS, dg.BulkAsync, dg.BlockDescent, dg.Cuda, dg.Daemons])
def test_a_class_in_place_of_a_value_is_refused_with_the_call_to_write(graph, made):
    option = {dg.Cuda: "device", dg.Daemons: "daemons"}.get(made, "engine")
    with pytest.raises(
        OptionError, match=rf"^{option}=dg\.{made.__name__} is a class; write dg\.{made.__name__}\(.*\) or '\w+"
    ):
        dg.wcc(graph, **{option: made})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, {"engine": name, "made": made}) for name, made in keywords.ENGINE_VALUES.items()),
        ("own process", {"daemons": "own process", "made": lambda: dg.Daemons("own process")}),
        ("mapping", {"daemons": {0: "own process"}, "made": lambda: dg.Daemons({0: "own process"})}),
        ("cuda", {"device": "cuda", "made": dg.Cuda}),
        ("path", {"checkpoint": "a/folder", "made": lambda: dg.Checkpoint("a/folder")}),
    ],
)
def test_a_short_form_equals_its_value(name, value):
    made = value.pop("made")
    ((option, _),) = value.items()
    assert RunOptions(**value) == RunOptions(**{option: made()})
    assert getattr(RunOptions(**value), option) == made()


@pytest.mark.parametrize("word", ["auto", "in process"])
def test_words_that_meant_no_daemons_in_0_9_are_refused(graph, word):
    with pytest.raises(OptionError, match=rf"^daemons='{word}' meant no daemons before 0.10: leave it out"):
        dg.wcc(graph, daemons=word)


def test_a_result_tells_its_options(graph, halves):
    engine = dg.Gas(direction="pull", max_rounds=3)
    result = dg.wcc(halves, engine=engine, device="cpu")
    assert result.options.engine == engine
    assert repr(result.options) == "engine=dg.Gas(max_rounds=3, direction='pull'), device='cpu'"
    assert repr(dg.wcc(graph).options) == "engine='local', device='cpu'"
    assert repr(dg.wcc(halves, daemons="own process").options) == (
        "engine=dg.Gas(), device='cpu', daemons=dg.Daemons('own process')"
    )


# -- options that exclude each other -----------------------------------------------------------------------------------

EXCLUSIVE = [
    ({"daemons": "cuda"}, {"device": "cuda"}),
    ({"daemons": "own process"}, {"device": dg.Cuda(memory="4 GiB")}),
    ({"daemons": "own process"}, {"checkpoint": "a/folder"}),
    ({"daemons": dg.Daemons({0: "in process"})}, {"checkpoint": dg.Checkpoint(every=3)}),
    ({"engine": "local"}, {"daemons": "own process"}),
    ({"engine": "local"}, {"checkpoint": "a/folder"}),
    ({"engine": "local"}, {"device": "cuda"}),
    ({"engine": dg.Gas(deterministic=True)}, {"device": "cuda"}),
    ({"engine": dg.Bsp(deterministic=True)}, {"device": dg.Cuda(block=64)}),
    *(
        ({"engine": dg.BlockDescent(mode=mode)}, {"daemons": dg.Daemons("cuda", block=64)})
        for mode in ("async", "barrier")
    ),
    ({"engine": "cugraph"}, {"daemons": "own process"}),
    ({"engine": "cugraph"}, {"checkpoint": "a/folder"}),
    ({"engine": "cugraph"}, {"device": "cpu"}),
]


@pytest.mark.parametrize(("one", "other"), EXCLUSIVE, ids=repr)
@pytest.mark.parametrize("operation", ["wcc", "run", "pagerank"])
def test_pairs_that_exclude_each_other_are_refused_in_the_call_and_both_are_named(graph, one, other, operation):
    said = [f"{name}={getattr(RunOptions(**{name: value}), name)!r}" for name, value in (one | other).items()]
    first = (graph, None) if operation == "run" else (graph,)
    with pytest.raises(OptionError, match=r"are mutually exclusive: .*Leave one out") as refused:
        getattr(dg, operation)(*first, **one, **other)
    assert all(name in str(refused.value) for name in said), refused.value
    for alone in (one, other):
        RunOptions(**alone)


@pytest.mark.parametrize("block", ["auto", None, 64])
def test_the_block_size_of_daemons_combines_with_block_descent(block):
    daemons = dg.Daemons("own process", block=block)
    assert RunOptions(engine=dg.BlockDescent(mode="bsp"), daemons=daemons).daemons == daemons
    if block != 64:
        assert RunOptions(engine="block_descent", daemons=daemons).daemons == daemons


def test_max_rounds_of_run_goes_into_the_engine(halves):
    from dgraph.ops.wcc import Components

    assert dg.run(halves, Components(), max_rounds=2).options.engine == dg.Gas(max_rounds=2)
    found = dg.run(halves, Components(), max_rounds=2, engine=dg.Bsp(direction="pull"))
    assert found.options.engine == dg.Bsp(max_rounds=2, direction="pull")
    assert dg.run(halves, Components(), max_rounds=2, engine=dg.Bsp(max_rounds=2)).rounds == 2
    conflict = r"^max_rounds=3 conflicts with the max_rounds in engine=dg\.Gas\(max_rounds=2\): set it in one place"
    with pytest.raises(OptionError, match=conflict):
        dg.run(halves, Components(), max_rounds=3, engine=dg.Gas(max_rounds=2))
    for engine in ("local", "cugraph", "bulk_async", dg.BlockDescent(order="priority")):
        with pytest.raises(
            OptionError, match=r"^max_rounds=3 is not available with engine=.* choose dg\.Gas or dg\.Bsp"
        ):
            dg.run(halves, Components(), max_rounds=3, engine=engine)


# -- what a result says of how it was computed -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda G: dg.wcc(G), "engine='local', device='cpu'"),
        (lambda G: dg.wcc(G, engine="bsp"), "engine=dg.Bsp(), device='cpu'"),
        (lambda G: dg.sssp(G, 0, engine=dg.Gas(direction="pull")), "engine=dg.Gas(direction='pull'), device='cpu'"),
        (lambda G: dg.bfs(G, 0, daemons="own process"), "engine=dg.Gas(), device='cpu', daemons=dg.Daemons('own proc"),
        (lambda G: dg.label_propagation(G, random_seed=3), "engine='local', device='cpu', random_seed=3"),
        (lambda G: dg.triangles(G), "engine='auto', device='cpu'"),
        (lambda G: dg.lcc(G, engine="local"), "engine='local', device='cpu'"),
        (lambda G: dg.degrees(G).map(lambda numbers, columns: (numbers, columns)), "engine='local', device='cpu'"),
    ],
)
def test_a_result_says_how_it_was_computed(call, said):
    graph = dg.Graph.from_edges({"src": [0, 1, 2], "dst": [1, 2, 3]})
    assert repr(call(graph).options).startswith(said)


def test_a_result_of_a_fit_says_how_it_was_computed():
    found = dg.factorize(dg.ratings(users=9, items=5, ratings=30, seed=1), rank=2, epochs=1)
    assert repr(found.options) == "engine=dg.BlockDescent(), device='cpu'"
