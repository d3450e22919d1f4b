"""Block coordinate descent: the reference's answer for every size, order, mode, operator; nothing lost or doubled."""

import os
import random
from itertools import product

import numpy as np
import pytest
from cases import BY_BLOCK, PROGRAMS, STATES, SYNCHRONOUS, check_values, graph_for, has_order
from test_agreement import by_ends, by_hash
from test_bulk_async import Unreliable

import dgraph as dg
from dgraph.engines.descent.over_relaxation import RelaxationSearch
from dgraph.errors import ProgramError
from dgraph.native import block_queue as queue
from dgraph.native.team import kernel, team
from dgraph.partition.policies import POLICY_NAMES
from dgraph.programs.monoid import MAX, PRODUCT, SUM
from dgraph.programs.program import Delta, Global, Message, Parameter, State, VertexProgram
from dgraph.supersteps import run_steps


def test_block_descent_accepts_the_expected_programs():
    assert set(BY_BLOCK) == {
        *("ShortestPaths", "BreadthFirst", "Descent", "Components", "Residuals", "PageRank", "PersonalPageRank"),
        *("Katz", "KCore", "NearestByte"),
    }


def cases():
    operators = [(name, "push") for name in BY_BLOCK]
    operators += [(name, operator) for name in STATES for operator in ("pull", "pull_push")]
    found = list(product(operators, ("priority", "cyclic"), ("async", "barrier", "bsp"), (1, 4, 64), (True, False)))
    found = [one for one in found if has_order(*one[:3])]
    return found if os.environ.get("DGRAPH_ALL") else found[::13]


@pytest.mark.parametrize(("what", "order", "mode", "block_size", "directed"), cases())
def test_block_descent_matches_the_reference(what, order, mode, block_size, directed):
    name, operator = what
    engine = dg.BlockDescent(operator=operator, order=order, mode=mode, block_size=block_size)
    check_values(name, directed, dg.run(graph_for(name, directed), PROGRAMS[name], engine=engine))


def spread():
    """Programs and operators over partitions: all of both with each policy in turn."""
    operators = [(name, "push") for name in BY_BLOCK if name not in SYNCHRONOUS]
    operators += [(name, operator) for name in STATES for operator in ("pull", "pull_push")]
    policies, modes = (*POLICY_NAMES, by_hash, by_ends), ("async", "barrier")
    found = list(product(operators, modes, (2, 3, 8), policies, (True, False), ("priority", "cyclic")))
    found = [one for one in found if has_order(one[0], one[-1], one[1])]
    return found if os.environ.get("DGRAPH_ALL") else found[::53]


@pytest.mark.parametrize(("what", "mode", "parts", "policy", "directed", "order"), spread())
def test_each_partition_updates_its_own_blocks(what, mode, parts, policy, directed, order):
    name, operator = what
    graph = graph_for(name, directed, parts=parts, policy=policy)
    engine = dg.BlockDescent(operator=operator, mode=mode, order=order, block_size=4)
    result = dg.run(graph, PROGRAMS[name], engine=engine)
    check_values(name, directed, result)
    assert set(result.report["partition"]) == set(range(parts))
    assert (result.report.groupby("partition")["epochs"].max() > 0).any()


@pytest.mark.parametrize("name", ["ShortestPaths", "Residuals", "PageRank"])
def test_block_descent_on_a_cluster_matches_the_reference(name, client):
    graph = graph_for(name, parts=4, policy="cartesian", client=client)
    check_values(name, True, dg.run(graph, PROGRAMS[name], engine=dg.BlockDescent(block_size=4)))


@pytest.mark.parametrize("name", ["ShortestPaths", "KCore", "Katz"])
def test_mail_that_is_lost_late_or_duplicated_changes_no_answer(name, monkeypatch):
    Unreliable.draw, Unreliable.held = random.Random(1), []
    monkeypatch.setattr(run_steps, "LocalExchange", Unreliable)
    monkeypatch.setattr(run_steps, "PATIENCE", 0.02)
    monkeypatch.setattr(Unreliable, "patience", property(lambda self: 0.02, lambda self, value: None), raising=False)
    graph = graph_for(name, parts=4, policy="cartesian")
    check_values(name, True, dg.run(graph, PROGRAMS[name], engine=dg.BlockDescent(block_size=4)))


class Shares(VertexProgram):
    """Every vertex has a share of 1, keeps half of what comes, and passes the other half on: nothing gets lost."""

    share = State(float)
    gain = Delta(float)
    merge = SUM
    least = Parameter(float, 1e-3)

    def seed(vertices):
        return 1 / vertices

    def send(gain, degree):
        return 0.5 * gain / degree

    def apply(share, message, degree, least, vertices):
        if degree == 0 or message < least / vertices:
            return share + message, 0.0
        return share + 0.5 * message, message


@pytest.mark.parametrize("block_size", [1, 16, 1024])
@pytest.mark.parametrize("order", ["priority", "cyclic"])
def test_mass_is_conserved_under_contention(order, block_size):
    """Threads add to inboxes that others are just taking: a lost or doubled message would change the sum."""
    graph = dg.rmat(scale=12, seed=3, parts=1)
    for _ in range(3):
        result = dg.run(graph, Shares(), engine=dg.BlockDescent(order=order, block_size=block_size))
        assert abs(result.by_number("share").sum() - 1) < 1e-9


class Halved(VertexProgram):
    """Ends when no value changes any more, to the last bit."""

    kind = "synchronous"
    value = State(float, start=1.0)
    merge = SUM

    def send(value, degree):
        return value / degree

    def apply(message):
        return 1 + 0.5 * message


class WeightedShares(Shares):
    """What goes along an edge is of its own: it cannot merge on its way to a proxy."""

    def send(gain, degree, weight):
        return 0.5 * gain / degree * (weight / weight)


@pytest.mark.parametrize("program", [Shares, WeightedShares])
@pytest.mark.parametrize("policy", ["outgoing", "incoming", "cartesian"])
def test_mass_is_conserved_across_partitions(program, policy):
    graph = dg.rmat(scale=10, seed=3, weights=(1, 9), parts=3, policy=policy)
    result = dg.run(graph, program(), engine=dg.BlockDescent(block_size=16))
    assert abs(result.by_number("share").sum() - 1) < 1e-9


@kernel
def _work_off(rank, size, signals, heap, place, keys, live, board, limits, pace, seen, order):
    """Each block puts the next two until all have been taken twice; `seen` counts, `order` lists."""
    while True:
        b = queue.next_block(rank, size, signals, heap, place, keys, board, limits)
        if b == queue.NONE:
            break
        if b == queue.LATER:
            continue
        order[board[queue.DONE] % order.size] = b
        seen[b] += 1
        if seen[b] < 3:
            for other in range(b, min(b + 3, seen.size)):
                if seen[other] < 2:
                    queue.changed(other, 1.0, size, heap, place, keys, live, board, limits)
        queue.finish(b, rank, 1, 1, pace, 0.0, heap, place, keys, board)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("together", [False, True])
def test_no_block_is_lost_or_has_two_writers(threads, together):
    blocks = 500
    arrays = queue.new_queue(blocks, threads)
    limits = np.zeros(8, np.int64)
    limits[[queue.BLOCKS, queue.BUDGET, queue.BOUND, queue.TOGETHER]] = blocks, queue.NEVER, blocks, together
    seen, order = np.zeros(blocks, np.int64), np.zeros(4 * blocks, np.int64)
    queue.put(0, 0.0, *(arrays[name] for name in ("heap", "place", "keys", "board")))
    team(_work_off, threads, *arrays.values(), limits, np.zeros(threads), seen, order)
    assert seen.min() >= 1
    assert arrays["board"][queue.DONE] == seen.sum()  # two writers of a block would count it once
    assert arrays["board"][queue.COUNT] == arrays["board"][queue.WORKING] == 0


def test_the_heap_gives_the_least_first():
    arrays = queue.new_queue(300, 1)
    parts = [arrays[name] for name in ("heap", "place", "keys", "board")]
    keys = np.random.default_rng(1).permutation(300).astype(float)
    for block, key in enumerate(keys):
        queue.put(block, key + 1000, *parts)
        queue.put(block, key, *parts)  # moves up
        queue.put(block, key + 500, *parts)  # does not move down
    limits = np.zeros(8, np.int64)
    found = [int(queue.take(0, *parts, limits)) for _ in range(300)]
    assert keys[found].tolist() == sorted(keys)
    assert queue.take(0, *parts, limits) == queue.LATER  # who took the others might make more


def test_the_report_tells_epochs_residual_and_staleness():
    graph = dg.rmat(scale=10, seed=1, parts=1)
    engine = dg.BlockDescent(operator="push", order="priority", block_size=64)
    report = dg.pagerank(graph, tol=1e-9, engine=engine).report
    assert (np.diff(report["epochs"]) > 0).all()
    assert report["residual"].iloc[-1] < 1e-3 * report["residual"].iloc[0]
    assert report["staleness"].max() <= 2 * 1024 // 64
    assert report.options["order"] == "priority"


@pytest.mark.parametrize("weighted", [False, True])
def test_small_changes_wait_and_are_not_forgotten(weighted):
    graph = dg.rmat(scale=10, seed=1, weights=(1, 9), parts=1)
    options = {"tol": 1e-12, "weighted": weighted}
    expected = dg.pagerank(graph, engine="bsp", **options).by_number("pagerank")
    engines = [dg.BlockDescent(operator="push", order=order) for order in ("priority", "cyclic", "auto")]
    first, turns, usual = (dg.pagerank(graph, engine=engine, **options) for engine in engines)
    for result in (first, turns, usual):
        assert np.abs(result.by_number("pagerank") - expected).sum() < 1e-8
    assert first.report["epochs"].max() < 0.9 * turns.report["epochs"].max()


def test_a_fixed_point_without_a_stopping_rule_matches_gas():
    graph = dg.rmat(scale=7, seed=2, parts=1)
    result = dg.run(graph, Halved(), engine=dg.BlockDescent(operator="push"), max_rounds=None)
    expected = dg.run(graph, Halved(), engine="gas").by_number("value")
    np.testing.assert_allclose(result.by_number("value"), expected, rtol=1e-12)


def test_over_relaxation_saves_epochs(monkeypatch):
    graph, options = dg.grid(rows=80, cols=80, seed=1, parts=1), {"engine": "block_descent", "tol": 1e-12}
    beyond = dg.pagerank(graph, **options)
    monkeypatch.setattr(RelaxationSearch, "learn", lambda self, residual: None)
    exactly = dg.pagerank(graph, **options)
    np.testing.assert_allclose(beyond.by_number("pagerank"), exactly.by_number("pagerank"), rtol=1e-7)
    # About two thirds; more where threads have to wait for a core, so that they read older values of each other.
    assert beyond.report["epochs"].max() < 0.9 * exactly.report["epochs"].max()


@pytest.mark.parametrize("shape", ["cycle", "reversed", "two sides", "hub"])
def test_over_relaxation_changes_no_answer(shape):
    """Where residuals would grow, a vertex goes no further than to its best value."""
    n, draw = 2000, np.random.default_rng(1)
    ends = {
        "cycle": (np.arange(n), (np.arange(n) + 1) % n),
        "reversed": ((np.arange(n) + 1) % n, np.arange(n)),
        "two sides": (draw.integers(0, n // 2, 4 * n), draw.integers(n // 2, n, 4 * n)),
        "hub": (np.r_[np.zeros(n), np.arange(n)].astype(int), np.r_[np.arange(n), np.zeros(n)].astype(int)),
    }[shape]
    graph = dg.Graph.from_edges({"src": ends[0], "dst": ends[1]}, parts=1)
    result = dg.pagerank(graph, engine="block_descent", tol=1e-13, max_iter=500)
    expected = dg.pagerank(graph, tol=0, max_iter=500).by_number("pagerank")
    np.testing.assert_allclose(result.by_number("pagerank"), expected, atol=1e-9)
    assert result.report["epochs"].max() < 200


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.7, 0.9])
def test_a_relaxation_that_does_not_help_is_given_up(rate):
    found, residual = RelaxationSearch(), 1.0
    for _ in range(60):
        residual *= rate if found.factor == 1 else 1.1
        found.learn(residual)
    assert found.factor == 1
    assert residual < rate**20


def test_a_relaxation_factor_rejected_too_early_is_tried_again():
    """Residuals fall fast at first, whatever the factor; then by 0.9 without any, and by 0.7 with one."""
    found, residual = RelaxationSearch(), 1.0
    for epoch in range(80):
        residual *= 0.5 if epoch < 8 else 0.9 if found.factor == 1 else 0.7
        found.learn(residual)
    assert found.factor > 1
    assert residual < 0.75**80


def test_priority_needs_fewer_epochs():
    graph = dg.grid(rows=60, cols=60, seed=1, weights=(1, 20), parts=1)
    engines = [dg.BlockDescent(order=order, block_size=16) for order in ("priority", "cyclic")]
    first, turns = (dg.sssp(graph, 0, predecessors=False, engine=engine) for engine in engines)
    np.testing.assert_array_equal(first.by_number("distance"), turns.by_number("distance"))
    assert first.report["epochs"].max() < 0.8 * turns.report["epochs"].max()


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(
    "name", ["pagerank", "weighted", "push", "personal", "bfs", "sssp", "wcc", "katz", "gains", "weighted katz"]
)
def test_operations_agree_with_other_engines(name, parts):
    graph = dg.rmat(scale=8, seed=1, weights=(1, 9), parts=parts, policy="cartesian")
    ranks = {"tol": 1e-12}
    operation, column, options, more = {
        "pagerank": (dg.pagerank, "pagerank", ranks, {}),
        "weighted": (dg.pagerank, "pagerank", {**ranks, "weighted": True}, {}),
        "push": (dg.pagerank, "pagerank", ranks, {"operator": "push"}),
        "personal": (dg.pagerank, "pagerank", {**ranks, "personalization": {3: 1}, "dangling": "uniform"}, {}),
        "bfs": (lambda g, **k: dg.bfs(g, 7, **k), "distance", {}, {}),
        "sssp": (lambda g, **k: dg.sssp(g, 7, **k), "distance", {}, {}),
        "wcc": (dg.wcc, "component", {}, {"operator": "pull"}),
        "katz": (dg.katz, "katz", {"alpha": 0.001, "tol": 1e-12}, {}),
        "weighted katz": (dg.katz, "katz", {"alpha": 0.0001, "tol": 1e-12, "weighted": True}, {}),
        "gains": (dg.katz, "katz", {"alpha": 0.001, "tol": 1e-9}, {"operator": "push"}),
    }[name]
    found = operation(graph, engine=dg.BlockDescent(**more), **options).by_number(column)
    np.testing.assert_allclose(found, operation(graph, engine="bsp", **options).by_number(column), rtol=1e-6, atol=1e-9)


class HalfWay(VertexProgram):
    """Moves half way to where its message leads: a vertex goes on although its neighbours have come to rest."""

    kind = "synchronous"
    view = State(float)
    merge = MAX

    def start(id):
        return 8.0 if id == 0 else 0.0

    def send(view):
        return view

    def apply(view, message):
        return view if message < 0 else (view + message / 2 + 1) / 2

    @Global(float, MAX)
    def moved(view, view_before):
        return abs(view - view_before)

    def stop(moved):
        return moved < 1e-6


class Consensus(HalfWay):
    """Has as many fixed points as there are values: which one is reached depends on the order."""

    def apply(view, message):
        return view if message < 0 else (view + message) / 2


@pytest.mark.parametrize("parts", [1, 2])
def test_a_vertex_goes_on_until_its_own_state_has_settled(parts):
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}, parts=parts)
    for operator in ("pull", "pull_push"):
        views = dg.run(graph, HalfWay(), engine=dg.BlockDescent(operator=operator)).compute()["view"]
        assert views.tolist() == pytest.approx([8, 5, 3.5], abs=1e-4)


class KeepsWhatPasses(VertexProgram):
    """Notes whether a message was ever the larger. Here a vertex that is ahead of its neighbours sees what rounds do
    not show."""

    kind = "synchronous"
    total = State(int)
    was_less = State(bool, start=True)
    message = Message(int, PRODUCT)

    def start(id):
        return id, False

    def send(total, was_less):
        return total + (total if was_less else 0)

    def apply(total, was_less, message):
        return min(total, message) + max(message, 5), was_less or message > total


@pytest.mark.parametrize("program", [Consensus, KeepsWhatPasses])
def test_several_fixed_points_are_refused(program):
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
    with pytest.raises(ProgramError, match="depend on their order; choose gas or bsp"):
        dg.run(graph, program(), engine="block_descent")


class Growing(VertexProgram):
    """Grows until `stop` ends the run, by its round or by a global value that settles nothing."""

    kind = "synchronous"
    level = State(int, start=1)
    merge = SUM

    def send(level):
        return level

    def apply(level, message):
        return level + message + 1

    @Global(int, MAX)
    def largest(level):
        return level

    def stop(largest, round):
        return largest > 1000 or round == 3


class GrowingTo(Growing):
    """The same without a round."""

    def stop(largest):
        return largest > 10


@pytest.mark.parametrize("program", [Growing, GrowingTo])
def test_a_stop_before_values_have_settled_is_refused(program):
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
    with pytest.raises(ProgramError, match=r"`stop` ends the run after \d+ rounds.*choose gas or bsp"):
        dg.run(graph, program(), engine="block_descent")
