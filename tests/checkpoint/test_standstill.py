"""Asynchronous runs make checkpoints that miss nothing: mail under way is in them, and a stopped run goes on from them,
in other partitions and in another engine, to the same answer."""

import threading
import time
from functools import partial

import numpy as np
import pytest
from cases import BY_BLOCK, PROGRAMS, STATES, SYNCHRONOUS, check_values, graph_for

import dgraph as dg
from dgraph.checkpoint.folder import CheckpointFolder
from dgraph.engines.free_rounds import Standstill
from dgraph.errors import OptionError
from dgraph.exchange.local import LocalExchange
from dgraph.exchange.termination import Status
from dgraph.programs.analysis import analyse, engines_for

FREELY = [name for name, program in PROGRAMS.items() if "bulk_async" in engines_for(analyse(program))]
CHANGES = [name for name in BY_BLOCK if name not in SYNCHRONOUS]  # are what travels; else states
ASYNC = {"engine": dg.BulkAsync(local_rounds=1)}


def by_blocks(**how) -> dict:
    """Options of a run by blocks of four vertices."""
    return {"engine": dg.BlockDescent(block_size=4, **how)}


BLOCKS, PUSH = by_blocks(), by_blocks(operator="push")
BY_BLOCKS = [(name, how) for name in CHANGES for how in (PUSH, by_blocks(operator="push", mode="barrier"))]
BY_BLOCKS += [(name, by_blocks(operator=operator)) for name in STATES[::2] for operator in ("pull", "pull_push")]


class Stopped(Exception):
    """As if the machine went away."""


@pytest.fixture
def late(monkeypatch):
    """Mail that takes its time, each message its own."""
    now, count = LocalExchange.post, [0]

    def post(exchange, peer, message) -> None:
        count[0] += 1
        threading.Timer((count[0] % 5) * 1e-3, now, (exchange, peer, message)).start()

    monkeypatch.setattr(LocalExchange, "post", post)


@pytest.fixture
def stops(monkeypatch):
    """Checkpoints can be written until there are so many pieces, and then the run is stopped."""
    write, written = CheckpointFolder.write, []

    def until(count: int) -> None:
        def stopping(folder, checkpoint, piece) -> None:
            if len(written) >= count:
                raise Stopped
            written.append(piece.round)
            write(folder, checkpoint, piece)

        monkeypatch.setattr(CheckpointFolder, "write", stopping)

    yield until
    monkeypatch.setattr(CheckpointFolder, "write", write)


@pytest.mark.parametrize(("name", "how"), [(name, ASYNC) for name in FREELY] + BY_BLOCKS)
def test_a_run_without_rounds_resumes_with_other_partitions(tmp_path, name, how, late, stops):
    graph, other = graph_for(name, parts=3, policy="cartesian"), graph_for(name, parts=2, policy="outgoing")
    _stopped_and_again(tmp_path, name, how, stops, graph, other)


@pytest.mark.parametrize(("name", "how"), BY_BLOCKS + [(name, PUSH) for name in SYNCHRONOUS])
def test_a_run_of_one_partition_resumes(tmp_path, name, how, stops):
    graph = graph_for(name, parts=1)
    _stopped_and_again(tmp_path, name, how, stops, graph, graph)


def _stopped_and_again(tmp_path, name, how, stops, graph, other) -> None:
    option = {**how, "random_seed": 11, "checkpoint": dg.Checkpoint(tmp_path, every=1)}
    stops(2 * graph.num_parts)
    try:
        dg.run(graph, PROGRAMS[name], **option)
    except Stopped:
        stops(1 << 30)
        whole = bool(list(tmp_path.glob(f"*/*/p{graph.num_parts - 1}.piece")))
        result = dg.run(other, PROGRAMS[name], **option)
        assert not whole or result.report["superstep"].min() > 1, "it went on, and did not begin anew"
        check_values(name, True, result)
    else:
        assert list(tmp_path.glob("*")) == [], "over before it could be stopped"


@pytest.mark.parametrize("how", [ASYNC, BLOCKS])
@pytest.mark.parametrize("name", ["ShortestPaths", "KCore", "Residuals"])
def test_many_checkpoints_change_no_answer(tmp_path, name, how, late):
    graph = graph_for(name, parts=4, policy="hybrid")
    option = dg.Checkpoint(tmp_path, every=None, seconds=1e-9)
    check_values(name, True, dg.run(graph, PROGRAMS[name], **how, checkpoint=option))


def test_no_checkpoint_begins_once_a_worker_knows_that_the_run_has_ended(tmp_path, monkeypatch):
    """Whoever knows the end leaves, so nobody is asked to come to a standstill any more."""
    there, look, begin = {}, Standstill.look, Standstill.__init__

    def begun(one, free, keeper) -> None:
        begin(one, free, keeper)
        there[free.exchange.worker] = free

    def late(one) -> None:
        """The first worker has voted for the end, and is slow to hear that the other has."""
        if one.free.exchange.worker == 0 and one.free.end.status is Status.READY2:
            until = time.monotonic() + 0.2
            while not there[1].end.over and time.monotonic() < until:
                time.sleep(0.001)
            if there[1].end.over:
                one.keeper._opened = -1e9
        look(one)

    monkeypatch.setattr(Standstill, "__init__", begun)
    monkeypatch.setattr(Standstill, "look", late)
    found, graph = [], graph_for("Residuals", parts=2)
    option = dg.Checkpoint(tmp_path, every=None, seconds=3600)

    def run() -> None:
        found.append(dg.run(graph, PROGRAMS["Residuals"], **ASYNC, checkpoint=option))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert found
    check_values("Residuals", True, found[0])


@pytest.mark.parametrize("parts", [1, 3])
def test_operations_on_block_descent_resume(tmp_path, stops, parts):
    """Ranks that pull, with values of all vertices that are read; on one partition they go beyond their best value."""
    ranks = partial(dg.pagerank, tol=1e-10, max_iter=500)
    option = {"engine": dg.BlockDescent(operator="pull"), "checkpoint": dg.Checkpoint(tmp_path, every=3)}
    graph, other = (dg.grid(rows=30, cols=30, seed=1, parts=count) for count in (parts, 2))
    stops(3 * parts)
    with pytest.raises(Stopped):
        ranks(graph, **option)
    stops(1 << 30)
    found = ranks(other, **option)
    assert found.report["superstep"].min() > 3
    expected = ranks(graph, engine="bsp").by_number("pagerank")
    np.testing.assert_allclose(found.by_number("pagerank"), expected, atol=1e-9)


def test_another_operator_s_checkpoint_is_refused(tmp_path, stops):
    graph, checkpoint = graph_for("Components", parts=2), dg.Checkpoint(tmp_path, every=1)
    stops(2)
    with pytest.raises(Stopped):
        dg.run(graph, PROGRAMS["Components"], **BLOCKS, checkpoint=checkpoint)
    with pytest.raises(OptionError, match="another run of Components: kernels is"):
        dg.run(graph, PROGRAMS["Components"], **by_blocks(operator="pull"), checkpoint=checkpoint)


@pytest.mark.parametrize("name", ["Katz", "Residuals"])
def test_a_run_resumes_on_another_engine(tmp_path, name, stops):
    graph = graph_for(name, parts=3)
    option = {"checkpoint": dg.Checkpoint(tmp_path, every=1)}
    stops(7)
    with pytest.raises(Stopped):
        dg.run(graph, PROGRAMS[name], engine=dg.BulkAsync(local_rounds=1), **option)
    stops(1 << 30)
    found = dg.run(graph, PROGRAMS[name], engine="gas", **option)
    assert found.report["superstep"].min() > 1
    check_values(name, True, found)


@pytest.mark.parametrize("engine", ["bulk_async", "block_descent"])
def test_frequent_checkpoints_in_cluster_memory_change_no_answer(client, engine):
    graph = dg.rmat(scale=10, client=client, parts=4)
    begun = time.monotonic()
    option = dg.Checkpoint(every=None, seconds=0.01)
    found = dg.pagerank(graph, engine=engine, tol=1e-9, checkpoint=option).compute()
    expected = dg.pagerank(dg.rmat(scale=10), tol=1e-9).compute()
    assert abs(found["pagerank"] - expected["pagerank"]).max() < 1e-7
    assert time.monotonic() - begun < 60
