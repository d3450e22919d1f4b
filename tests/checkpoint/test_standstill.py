"""Asynchronous runs make checkpoints that miss nothing: mail under way is in them, and a stopped run goes on from them,
in other partitions and in another engine, to the same answer."""

import sys
import threading
import time
from pathlib import Path

import pytest

import dgraph as dg
from dgraph.analysis import analyse
from dgraph.checkpoint.folder import Folder
from dgraph.codegen.explain import engines_for
from dgraph.exchange.local import LocalExchange

sys.path.append(str(Path(__file__).parents[1] / "engines"))

from cases import PROGRAMS, graph_for
from test_bulk_async import check_values

FREELY = [name for name, program in PROGRAMS.items() if "bulk_async" in engines_for(analyse(program))]


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
    write, written = Folder.write, []

    def until(count: int) -> None:
        def stopping(folder, checkpoint, piece) -> None:
            if len(written) >= count:
                raise Stopped
            written.append(piece.round)
            write(folder, checkpoint, piece)

        monkeypatch.setattr(Folder, "write", stopping)

    yield until
    monkeypatch.setattr(Folder, "write", write)


@pytest.mark.parametrize("name", FREELY)
def test_it_goes_on(tmp_path, name, late, stops, monkeypatch):
    graph = graph_for(name, parts=3, policy="cartesian")
    option = {"random_seed": 11, "checkpoint": dg.Checkpoint(tmp_path, every=1)}
    stops(6)
    try:
        dg.run(graph, PROGRAMS[name], engine="bulk_async", local_rounds=1, **option)
    except Stopped:
        stops(1 << 30)
        other = graph_for(name, parts=2, policy="outgoing")
        whole = bool(list(tmp_path.glob("*/*/p2.piece")))
        result = dg.run(other, PROGRAMS[name], engine="bulk_async", **option)
        assert not whole or result.report["superstep"].min() > 1, "it went on, and did not begin anew"
        check_values(name, True, result)
    else:
        assert list(tmp_path.glob("*")) == [], "over before it could be stopped"


@pytest.mark.parametrize("name", ["ShortestPaths", "KCore", "Residuals"])
def test_many_of_them_change_nothing(tmp_path, name, late):
    graph = graph_for(name, parts=4, policy="hybrid")
    option = dg.Checkpoint(tmp_path, every=None, seconds=1e-9)
    check_values(name, True, dg.run(graph, PROGRAMS[name], engine="bulk_async", local_rounds=1, checkpoint=option))


@pytest.mark.parametrize("name", ["Katz", "Residuals"])
def test_from_an_engine_to_another(tmp_path, name, stops):
    graph = graph_for(name, parts=3)
    option = {"checkpoint": dg.Checkpoint(tmp_path, every=1)}
    stops(7)
    with pytest.raises(Stopped):
        dg.run(graph, PROGRAMS[name], engine="bulk_async", local_rounds=1, **option)
    stops(1 << 30)
    found = dg.run(graph, PROGRAMS[name], engine="gas", **option)
    assert found.report["superstep"].min() > 1
    check_values(name, True, found)


def test_on_a_cluster_in_memory(client):
    graph = dg.rmat(scale=10, client=client, parts=4)
    begun = time.monotonic()
    option = dg.Checkpoint(every=None, seconds=0.01)
    found = dg.pagerank(graph, engine="bulk_async", tol=1e-9, checkpoint=option).compute()
    expected = dg.pagerank(dg.rmat(scale=10), tol=1e-9).compute()
    assert abs(found["pagerank"] - expected["pagerank"]).max() < 1e-7
    assert time.monotonic() - begun < 60
