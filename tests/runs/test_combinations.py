"""Options of `run` together: the answer is the reference's, or an error names an option that is in the way, and what to
choose instead. Beside the engine two are not as usual at a time; with DGRAPH_ALL=1 any number of them."""

import os
from itertools import product

import numpy as np
import pytest
from cases import SEED, edges_for, graph_for
from programs import Components, Katz, PageRank

import dgraph as dg
from dgraph.engines import rebalance_decision
from dgraph.errors import OptionError
from dgraph.programs.reference import Reference

PROGRAMS = {"accumulative": Components(), "of sums": Katz(alpha=0.02), "synchronous": PageRank(alpha=0.3, tol=1e-11)}
ENGINES = ("gas", "bsp", "bulk_async", "block_descent", "local")
ROUNDS = 3
VALUES = {  # the first is as usual
    "daemons": ["in process", "own process"],
    "checkpoint": [None, "a folder"],
    "rebalance": [False, True],
    "skip_exchange": [True, False],
    "deterministic": [False, True],
    "direction": ["auto", "push", "pull"],
    "max_rounds": [None, ROUNDS],
}


def combinations():
    """What is asked beside the engine; first nothing."""
    at_most = len(VALUES) if os.environ.get("DGRAPH_ALL") else 2
    for values in product(*VALUES.values()):
        asked = {name: value for name, value in zip(VALUES, values, strict=True) if value != VALUES[name][0]}
        if len(asked) <= at_most:
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


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", PROGRAMS)
def test_right_or_refused(kind, engine, tmp_path, monkeypatch):
    for name, value in {"WARM": 0, "WORTH": -9.0}.items():  # edges move whatever that costs
        monkeypatch.setattr(rebalance_decision, name, value)
    monkeypatch.setattr("dgraph.runs.edge_moves.move_cost", lambda graph: -1e9)
    program, graph = PROGRAMS[kind], graph_for("any", parts=1 if engine == "local" else 3)
    expected = {rounds: meant(program, rounds) for rounds in (None, ROUNDS)}
    never = (engine == "local" and program.solver is None) or (engine, kind) == ("bulk_async", "synchronous")
    for number, asked in enumerate(combinations()):
        given = {"checkpoint": dg.Checkpoint(tmp_path / str(number), every=2)} if "checkpoint" in asked else {}
        try:
            found = dg.run(graph, program, engine=engine, random_seed=SEED, **{**asked, **given})
        except OptionError as error:
            said = str(error)
            assert any(f"{name}=" in said for name in ["engine"] * never + [*asked]), f"{asked}: {said}"
            assert "choose " in said or " is for " in said, f"{asked}: {said}"
            continue
        for column, values in expected[asked.get("max_rounds")].items():
            np.testing.assert_allclose(found.by_number(column), values, rtol=1e-9, err_msg=str(asked))
