"""The door to local solvers: when they are taken, and what they are given."""

import _thread
import importlib
import threading
from functools import partial

import numpy as np
import pandas as pd
import pytest
from mixing import wait_until

import dgraph as dg
from dgraph.cli.signatures import needed
from dgraph.errors import OptionError
from dgraph.native.interruptible_calls import InterruptibleCall, call_interruptibly
from dgraph.native.team import (
    STOP,
    atomic_add,
    atomic_max,
    atomic_min,
    barrier,
    compare_and_swap,
    kernel,
    new_signals,
    share,
    team,
    worthwhile_threads,
)
from dgraph.native.threads import cores
from dgraph.runs import solver_run
from dgraph.solvers.paths import breadth_first
from dgraph.solvers.solver import Solution, Solver
from dgraph.solvers.subgraphs import components, sides
from dgraph.tables.edge_tables import EdgeTables

TEAM = importlib.import_module("dgraph.native.team")  # the module, not the function of the same name
EDGES = pd.DataFrame({"src": ["b", "a", "c", "e"], "dst": ["a", "b", "b", "c"], "weight": [1.0, 2.0, 3.0, 4.0]})
seen = []


def largest_in_weight(problem):
    """What `Heaviest` means, in one call."""
    seen.append(problem)
    (side,) = problem.edges.receivers("out", joined=True)
    weights = problem.edges.column(side, "weight")
    largest = np.full(problem.vertices, problem.values["least"])
    np.maximum.at(largest, np.asarray(side.rows()), weights)
    return Solution({"largest": largest, "to": np.full(problem.vertices, problem.values["whom"])}, 1, side.num_edges)


class Heaviest(dg.VertexProgram):
    solver = Solver(largest_in_weight, orders=("incoming",))
    kind = "synchronous"
    largest = dg.State(float)
    to = dg.State(dg.vertex)
    message = dg.Message(float, dg.MAX)
    least = dg.Parameter(float, 1.5)
    whom = dg.Parameter(dg.vertex)

    def start(whom):
        return 0.0, whom

    def send(weight):
        return weight

    def apply(to, message, least):
        return max(message, least), to

    def stop(round):
        return True


def frame_of(result):
    return result.compute().set_index("vertex")


@pytest.mark.parametrize("options", [{}, {"engine": "local"}, {"engine": "auto", "device": "cpu"}])
def test_a_solver_gives_the_answer_of_its_program(options):
    G = dg.Graph.from_edges(EDGES, weight="weight")
    seen.clear()
    mine, rounds = (dg.run(G, Heaviest(whom="e"), **how) for how in (options, {"engine": "gas"}))
    assert len(seen) == 1
    assert mine.report.options["engine"] == "local"
    assert rounds.report.options["engine"] == "gas"
    pd.testing.assert_frame_equal(frame_of(mine), frame_of(rounds))
    assert frame_of(mine)["to"].tolist() == ["e"] * 4
    assert mine.report[["superstep", "fired", "edges", "direction"]].to_numpy().tolist() == [[1, 4, 4, "local"]]


@pytest.mark.parametrize(
    "asked",
    [
        {"max_rounds": 3},
        {"engine": dg.Gas(direction="pull")},
        {"engine": dg.Gas(optimizations=dg.Optimizations(active_only=False))},
        {"daemons": dg.Daemons("in process")},
        {"checkpoint": dg.Checkpoint()},
        {"progress": lambda done: None},
    ],
)
def test_options_that_need_rounds_are_run_in_rounds(asked):
    G = dg.Graph.from_edges(EDGES, weight="weight")
    assert dg.run(G, Heaviest(whom="a"), **asked).report.options["engine"] == "gas"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"daemons": "own process"}, r"daemons=dg.Daemons\('own process'\)"),
        ({"checkpoint": dg.Checkpoint()}, r"checkpoint=dg.Checkpoint\(\)"),
        ({"device": "cuda"}, r"device=dg.Cuda\(\)"),
    ],
)
def test_options_that_exclude_a_local_solver_are_refused(asked, said):
    G = dg.Graph.from_edges(EDGES, weight="weight")
    with pytest.raises(OptionError, match=f"engine='local' and {said} are mutually exclusive: .*Leave one out"):
        dg.run(G, Heaviest(whom="a"), engine="local", **asked)


def test_several_partitions_are_run_in_rounds():
    G = dg.Graph.from_edges(EDGES, weight="weight", parts=2)
    assert dg.run(G, Heaviest(whom="a")).report.options["engine"] == "gas"
    with pytest.raises(OptionError, match="the graph has 2 partitions"):
        dg.run(G, Heaviest(whom="a"), engine="local")


def test_a_program_without_a_solver_says_so():
    class Plain(Heaviest):
        solver = None

    with pytest.raises(OptionError, match="the program has no solver"):
        dg.run(dg.Graph.from_edges(EDGES, weight="weight"), Plain(whom="a"), engine="local")


def test_a_solver_on_a_cluster_runs_where_the_partition_is(client):
    G = dg.Graph.from_edges(EDGES, weight="weight", parts=1, client=client)
    seen.clear()
    result = dg.run(G, Heaviest(whom="b"))
    assert (result.report.options["engine"], seen) == ("local", [])
    assert frame_of(result)["largest"].tolist() == [1.5, 3.0, 4.0, 1.5]


@kernel
def together(rank, size, signals, counts, least, most, claimed, turns):
    """Every thread writes everywhere; after a barrier all read what rank 0 wrote."""
    for i in range(turns):
        atomic_add(counts, 0, 1)
        atomic_min(least, 0, -float(i * size + rank))
        atomic_max(most, 0, i * size + rank)
        lo, hi = share(rank, size, len(claimed))
        if compare_and_swap(claimed, i % len(claimed), 0, rank + 1) and not 0 <= lo <= hi:
            return -1
    wrong = 0
    for i in range(turns):
        barrier(size, signals)
        if rank == 0:
            counts[1] = i
        barrier(size, signals)
        wrong += counts[1] != i
    atomic_add(counts, 2, wrong)
    barrier(size, signals)
    return counts[2]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_team_shares_memory(threads):
    counts, least, most = np.zeros(3, np.int64), np.zeros(1), np.zeros(1, np.int32)
    claimed, turns = np.zeros(50, np.uint32), 300
    assert team(together, threads, counts, least, most, claimed, turns) == 0
    assert counts[0] == threads * turns
    assert -least[0] == most[0] == threads * turns - 1
    assert set(claimed) <= set(range(1, threads + 1))


@pytest.mark.parametrize(
    "operation", [dg.pagerank, dg.hits, partial(dg.pagerank, personalization=[{i: 1} for i in range(4)])]
)
@pytest.mark.parametrize("looks", [1, 1 << 40])  # on several threads, and on one
def test_ctrl_c_ends_a_kernel_that_would_go_on_for_years(operation, looks, monkeypatch):
    monkeypatch.setattr(TEAM, "LOOKS", looks)
    graph = dg.rmat(scale=6, seed=1)
    operation(graph, max_iter=1, tol=0.0)  # compiles
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            operation(graph, max_iter=10**15, tol=0.0)
    finally:
        timer.cancel()
    for errand in [one for one in threading.enumerate() if isinstance(one, InterruptibleCall)]:
        assert isinstance(errand.outcome.exception(60), KeyboardInterrupt)


@pytest.mark.parametrize(
    ("max_iter", "vertices", "looks", "sent"),
    [(100, 5, 1 << 40, False), (10**9, 5, 1 << 40, True), (100, 10**5, 1 << 40, True), (100, 5, 1, True)],
)
def test_a_solver_leaves_the_main_thread_only_for_long_or_parallel_work(monkeypatch, max_iter, vertices, looks, sent):
    calls = []
    monkeypatch.setattr(solver_run, "call_interruptibly", lambda call: calls.append(call) or call_interruptibly(call))
    monkeypatch.setattr(TEAM, "LOOKS", looks)
    graph = dg.Graph.from_edges({"src": np.array([0, 1, 2]), "dst": np.array([1, 2, 3])}, vertices=vertices)
    dg.pagerank(graph, max_iter=max_iter)
    assert bool(calls) == sent


@pytest.mark.usefixtures("several_threads")
@pytest.mark.parametrize("operation", [dg.core_number, dg.wcc, dg.triangles])
def test_ctrl_c_at_any_moment_leaves_no_thread_waiting(operation, monkeypatch):
    """Here, as soon as a team has met."""
    graph, wait = dg.rmat(scale=6, seed=1, directed=False), threading.Barrier.wait
    operation(graph)  # compiles
    before = set(threading.enumerate())

    def interrupted(self, timeout=None):
        _thread.interrupt_main()
        return wait(self, timeout)

    monkeypatch.setattr(threading.Barrier, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        operation(graph)
    monkeypatch.undo()
    wait_until(lambda: set(threading.enumerate()) <= before)  # some may not have begun yet, so cannot be joined


@pytest.mark.parametrize(("solver", "find"), [(components, components.local_components), (sides, sides.local_cover)])
def test_union_find_ends_early_once_it_is_stopped(solver, find, monkeypatch):
    begun = []

    def already_stopped(kernel, threads, *arrays):
        signals, taken = new_signals(), arrays[-1]
        signals[STOP] = 1
        kernel(0, 1, signals, *arrays)
        begun.append(np.count_nonzero(taken))

    monkeypatch.setattr(solver, "team", already_stopped)
    find(EdgeTables(dg.rmat(scale=6, seed=1).partitioned(("out",)).held[0], True, {}, 1))
    assert begun == [1]


def test_no_thread_is_started_for_too_little(monkeypatch):
    monkeypatch.setattr("dgraph.native.team.LOOKS", 10)
    assert [worthwhile_threads(4, looks) for looks in (0, 19, 20, 39, 400)] == [1, 1, 2, 3, 4]


ANSWERS = {
    **{name: partial(one, **dict.fromkeys(needed(one), 0)) for name in dg.OPERATIONS for one in [getattr(dg, name)]},
    "katz": partial(dg.katz, alpha=0.001),
    "several sources": partial(dg.sssp, source=[0, 1, 2], per_source=True),
    "several personalizations": partial(dg.pagerank, personalization=[{0: 1}, {1: 1}]),
}


GRAPHS = {
    "matching": partial(dg.ratings, users=40, items=30, ratings=300, seed=3),
    "topological_generations": partial(dg.Graph.from_edges, {"src": range(300), "dst": range(1, 301)}),
    **{name: partial(dg.rmat, scale=6, seed=3, directed=False) for name in ("core_number", "k_core")},
}


SOLVED = {  # these must keep their solvers; operations that are added later may lack one
    *("pagerank", "bfs", "sssp", "wcc", "scc", "label_propagation", "leiden", "louvain", "cdlp", "lcc", "triangles"),
    *("core_number", "k_core", "matching", "hits", "katz", "degrees", "several sources", "several personalizations"),
    *("maximal_independent_set", "coloring", "topological_generations"),
}


BY_ONE_THREAD = ("degrees", "degree_centrality", "topological_generations")


@pytest.mark.parametrize("name", ANSWERS)
def test_a_small_graph_gets_one_thread_which_finds_what_several_do(name, monkeypatch):
    graph = GRAPHS.get(name, partial(dg.rmat, scale=6, seed=3, weights=(1, 9)))()
    sizes, barrier = [], threading.Barrier
    monkeypatch.setattr(threading, "Barrier", lambda size: sizes.append(size) or barrier(size))
    result = ANSWERS[name](graph)
    if name not in SOLVED and result.options.engine == dg.Gas():
        pytest.skip(f"{name} has no solver, so an engine runs it on one partition too")
    alone = result.compute()
    assert sizes == []
    monkeypatch.setattr(TEAM, "LOOKS", 1)
    together = ANSWERS[name](graph).compute()
    pd.testing.assert_frame_equal(alone, together)
    assert bool(sizes) == (cores() > 1 and name not in BY_ONE_THREAD)


def test_each_of_several_searches_starts_only_the_threads_it_is_worth(monkeypatch):
    threads = []
    monkeypatch.setattr(
        breadth_first, "team", lambda kernel, count, *rest: threads.append(count) or team(kernel, count, *rest)
    )
    graph = dg.rmat(scale=7, seed=3)
    arcs = graph.num_vertices + graph.num_edges
    monkeypatch.setattr(TEAM, "LOOKS", arcs + 1)  # one search is less, all together are more
    dg.sssp(graph, list(range(8)), per_source=True)
    assert set(threads) == {1}


def test_an_error_of_a_solver_is_raised_where_it_was_called():
    with pytest.raises(ZeroDivisionError):
        call_interruptibly(lambda: 1 // 0)
    assert call_interruptibly(threading.current_thread) is not threading.main_thread()
