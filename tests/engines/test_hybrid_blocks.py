"""Daemons take blocks from the queue of the CPU's threads: same answers, nothing lost, and who fails ends the run."""

import os
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from cases import BY_BLOCK, PROGRAMS, STATES, SYNCHRONOUS, check_values, graph_for, has_order
from test_block_descent import Shares, WeightedShares

import dgraph as dg
from dgraph.agents.local_daemon import LocalDaemon
from dgraph.errors import DeviceError, OptionError
from dgraph.testing.stand_in import StandIn

BESIDE = ["in process", StandIn(compute=1e-7, call=1e-4)]
ALONE = [StandIn()]
GRAPH = dg.rmat(scale=10, seed=1, weights=(1, 9), parts=1)
HUB = int(dg.degrees(GRAPH).by_number("out_degree").argmax())
OPERATIONS = {
    "pagerank": (dg.pagerank, {"tol": 1e-12}),
    "sssp": (lambda g, **options: dg.sssp(g, HUB, predecessors=False, **options), {}),
    "bfs": (lambda g, **options: dg.bfs(g, HUB, **options), {}),
    "wcc": (dg.wcc, {}),
    "katz": (dg.katz, {"alpha": 0.001, "tol": 1e-12}),
}


def ways():
    """All of them with DGRAPH_ALL=1; else a few, of programs whose kernels differ."""
    everything, few = bool(os.environ.get("DGRAPH_ALL")), ("ShortestPaths", "Components", "PageRank")
    operators = [(name, "push") for name in BY_BLOCK if name not in SYNCHRONOUS] + [(name, "pull") for name in STATES]
    operators = [(name, operator) for name, operator in operators if everything or name in few]
    orders, modes = ("priority", "cyclic"), ("async", "barrier", "bsp")
    found = list(product(operators, orders, modes, (1, 3), (True, False), ("beside", "alone")))
    found = [one for one in found if has_order(*one[:3])]
    return found[:: 1 if everything else 7]


@pytest.mark.parametrize(("what", "order", "mode", "parts", "directed", "who"), ways())
def test_daemons_in_block_descent_match_the_reference(what, order, mode, parts, directed, who):
    name, operator = what
    graph = graph_for(name, directed, parts=parts, policy="cartesian")
    engine = dg.BlockDescent(operator=operator, order=order, mode=mode, block_size=4)
    daemons = BESIDE if who == "beside" else ALONE
    check_values(name, directed, dg.run(graph, PROGRAMS[name], engine=engine, daemons=daemons))


@pytest.fixture(scope="module")
def expected():
    return {name: run(GRAPH, engine="gas", **options).compute() for name, (run, options) in OPERATIONS.items()}


@pytest.mark.parametrize(
    ("name", "order"), [one for one in product(OPERATIONS, ("priority", "cyclic")) if one != ("pagerank", "priority")]
)
@pytest.mark.parametrize("mode", ["async", "barrier"])
def test_both_kinds_take_blocks(name, mode, order, expected):
    """Where all wait for each other after a block, each takes one; else as many as it can."""
    run, options = OPERATIONS[name]
    engine = dg.BlockDescent(mode=mode, order=order, block_size=16)
    result = run(GRAPH, engine=engine, daemons=BESIDE, **options)
    column = expected[name].columns[1]
    np.testing.assert_allclose(result.by_number(column), expected[name][column], rtol=1e-6, atol=1e-9)
    report = result.report
    for what in ("blocks", "edges"):
        shares = report[[f"{what} in process", f"{what} StandIn"]].sum()
        assert shares.sum() == report[what].sum()
        assert mode == "async" or shares.min() > 0
    assert report["staleness"].max() <= 2 * GRAPH.num_vertices // 16  # 0 if one kind was always done before the other
    assert set(report["block_size"]) == {16}


@pytest.mark.parametrize(("program", "parts"), [(Shares, 1), (Shares, 3), (WeightedShares, 3)])
@pytest.mark.parametrize("mode", ["async", "barrier"])
def test_mass_is_conserved(program, parts, mode):
    """A daemon merges messages by itself, and they are added to what threads are adding to."""
    graph = dg.rmat(scale=10, seed=3, weights=(1, 9), parts=parts, policy="cartesian")
    result = dg.run(graph, program(), engine=dg.BlockDescent(block_size=16, mode=mode), daemons=BESIDE)
    assert abs(result.by_number("share").sum() - 1) < 1e-9


class Full(LocalDaemon):
    """Its third block finds no room."""

    blocks = 0

    def compute(self, table, call):
        self.blocks += 1
        if self.blocks % 3 == 0:
            raise DeviceError("no room")
        return super().compute(table, call)


@dataclass(frozen=True)
class RunsFull:
    device = "cpu"

    def start(self, threads):
        return Full(threads)


@pytest.mark.parametrize(
    ("mode", "daemons"),
    [("async", [RunsFull(), RunsFull()]), ("barrier", [RunsFull(), "in process", RunsFull()])],
)
@pytest.mark.parametrize("operator", ["push", "pull"])
def test_a_failed_daemon_ends_the_run(operator, mode, daemons):
    """Nobody is left waiting. Where all wait for each other, every daemon gets to its third block."""
    with pytest.raises(DeviceError, match="no room"):
        dg.wcc(GRAPH, engine=dg.BlockDescent(operator=operator, mode=mode, block_size=1), daemons=daemons)


@pytest.mark.parametrize(
    ("run", "options", "message"),
    [
        (
            dg.wcc,
            {"engine": dg.BlockDescent(operator="pull_push")},
            'operator="pull_push" is not available with daemons=.*choose "pull"',
        ),
        (dg.pagerank, {"engine": dg.BlockDescent(operator="push")}, 'operator="push" of .* choose "pull"'),
        (
            dg.wcc,
            {"daemons": dg.Daemons(BESIDE, block=64)},
            r"engine=dg.BlockDescent\(\) and daemons=.*block=64\) are mutually exclusive: block_size= .*Leave one",
        ),
    ],
)
def test_what_daemons_cannot_do_is_refused(run, options, message):
    with pytest.raises(OptionError, match=message):
        run(GRAPH, **{"engine": "block_descent", "daemons": BESIDE, **options})


def test_bsp_mode_gives_daemons_blocks_of_edges():
    found = dg.wcc(GRAPH, engine=dg.BlockDescent(mode="bsp"), daemons=dg.Daemons(ALONE, block=64))
    assert found.report["block_size"].max() == 64
    np.testing.assert_array_equal(found.by_number("component"), dg.wcc(GRAPH).by_number("component"))
