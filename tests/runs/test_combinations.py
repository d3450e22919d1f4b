"""Options of `run` together: exactly the combinations that REFUSED lists raise an error, which names an option that is
in the way and what to do; all others run, and their answer is the reference's. Beside the engine, up to two
options differ from their defaults at a time; with DGRAPH_ALL=1 any number of them."""

import os
from dataclasses import fields
from itertools import product

import numpy as np
import pytest
from cases import SEED, edges_for, graph_for
from programs import Components, Katz, PageRank

import dgraph as dg
from dgraph.engines import rebalance_decision
from dgraph.errors import OptionError
from dgraph.keywords import ENGINE_VALUES
from dgraph.programs.reference import Reference

PROGRAMS = {"accumulative": Components(), "of sums": Katz(alpha=0.02), "synchronous": PageRank(alpha=0.3, tol=1e-11)}
ENGINES = ("gas", "bsp", "bulk_async", "block_descent", "local")
ROUNDS = 3
VALUES = {  # the first is the default
    "daemons": [None, "own process"],
    "checkpoint": [None, "a folder"],
    "rebalance": [False, True],
    "skip_exchange": [True, False],
    "deterministic": [False, True],
    "direction": ["auto", "push", "pull"],
    "max_rounds": [None, ROUNDS],
}

OF_ALL = ("daemons", "checkpoint", "max_rounds")  # keywords of `run`; the others are fields of an engine
SWITCHES = ("skip_exchange",)  # of optimizations

# What is refused on every engine, and besides on each: all combinations that contain one of these.
EVERYWHERE = [{"deterministic": True, "direction": "push"}, {"checkpoint": "a folder", "daemons": "own process"}]
REFUSED = {
    "gas": [],
    "bsp": [],
    "bulk_async": [{"max_rounds": ROUNDS}, {"skip_exchange": False}],
    "block_descent": [{"max_rounds": ROUNDS}],
    "local": [{"max_rounds": ROUNDS}, {"checkpoint": "a folder"}, {"daemons": "own process"}],
}
# Programs that an engine cannot run, whatever the options.
NEVER = {("bulk_async", "synchronous"), ("local", "of sums"), ("local", "synchronous")}


def fields_of(engine):
    """What can be written in the value of an engine."""
    named = [one.name for one in fields(ENGINE_VALUES[engine])] if engine in ENGINE_VALUES else []
    return [*named, *(SWITCHES if "optimizations" in named else ())]


def combinations(engine):
    """What is asked beside the engine, of what can be written; first nothing."""
    at_most = len(VALUES) if os.environ.get("DGRAPH_ALL") else 2
    for values in product(*VALUES.values()):
        asked = {name: value for name, value in zip(VALUES, values, strict=True) if value != VALUES[name][0]}
        if len(asked) <= at_most and asked.keys() <= {*OF_ALL, *fields_of(engine)}:
            yield asked


def meant(program, rounds):
    """What the reference says, after so many rounds or at the end."""
    frame = edges_for("any")
    edges = list(zip(frame["src"].tolist(), frame["dst"].tolist(), strict=True))
    reference = Reference(program, edges, 40, {}, {}, True, SEED)
    while not reference.done and reference.rounds != rounds:
        reference.send()
        reference.apply()
    return reference.results()


def is_refused(engine, kind, asked):
    """Whether the lists above say that a run raises an OptionError."""
    listed = any(one.items() <= asked.items() for one in [*EVERYWHERE, *REFUSED[engine]])
    return (engine, kind) in NEVER or listed


def options_of(engine, asked, folder):
    """What is asked, as `run` takes it."""
    values = {name: asked[name] for name in OF_ALL if name in asked}
    if "checkpoint" in asked:
        values["checkpoint"] = dg.Checkpoint(folder, every=2)
    own = {name: value for name, value in asked.items() if name not in (*OF_ALL, *SWITCHES)}
    if off := {name: asked[name] for name in SWITCHES if name in asked}:
        own["optimizations"] = dg.Optimizations(**off)
    return {**values, "engine": ENGINE_VALUES[engine](**own) if own else engine}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", PROGRAMS)
def test_options_together_give_the_right_answer_or_are_refused(kind, engine, tmp_path, monkeypatch):
    for name, value in {"WARMUP_ROUNDS": 0, "MIN_SAVING": -9.0}.items():  # edges move whatever that costs
        monkeypatch.setattr(rebalance_decision, name, value)
    monkeypatch.setattr("dgraph.runs.run_in_rounds.move_cost", lambda graph: -1e9)
    program, graph = PROGRAMS[kind], graph_for("any", parts=1 if engine == "local" else 3)
    expected = {rounds: meant(program, rounds) for rounds in (None, ROUNDS)}
    for number, asked in enumerate(combinations(engine)):

        def run(asked=asked, number=number):
            return dg.run(graph, program, random_seed=SEED, **options_of(engine, asked, tmp_path / str(number)))

        if is_refused(engine, kind, asked):
            with pytest.raises(OptionError, match=r"choose |Leave one out|dg\.Gas and dg\.Bsp") as refused:
                run()
            named = ["engine", *asked] if (engine, kind) in NEVER else asked
            assert any(f"{name}=" in str(refused.value) for name in named), f"{asked}: {refused.value}"
        else:
            found = run()
            for column, values in expected[asked.get("max_rounds")].items():
                np.testing.assert_allclose(found.by_number(column), values, rtol=1e-9, err_msg=str(asked))


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_refuse_fields_that_only_other_engines_have(engine):
    """These are left out above: of every engine, the fields that only others have."""
    written = {*OF_ALL, *fields_of(engine)}
    absent = {
        "gas": set(),
        "bsp": set(),
        "bulk_async": {"rebalance", "deterministic"},
        "block_descent": {"rebalance", "skip_exchange", "deterministic", "direction"},
        "local": {"rebalance", "skip_exchange", "deterministic", "direction"},
    }
    assert VALUES.keys() - written == absent[engine]
    if engine in ENGINE_VALUES:
        for name in absent[engine]:
            with pytest.raises(OptionError, match=rf"has no option {name}=.* (has|have) it$"):
                ENGINE_VALUES[engine](**{name: VALUES[name][1]})
