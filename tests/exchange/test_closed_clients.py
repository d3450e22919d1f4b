"""A client that is closed while results are on their way is an error that says so, and never a wait without end."""

import asyncio
import re
import threading

import dask.dataframe as dd
import pandas as pd
import pytest
from distributed import Client, Future
from distributed.comm import CommClosedError

import dgraph as dg
from dgraph.cluster.retry import retry
from dgraph.cluster.scheduler import gather_results, wait_for, workers_of
from dgraph.errors import InputError, RunError


def test_a_client_closed_meanwhile_is_an_error(cluster, monkeypatch):
    """What is submitted while the client closes never ends: nobody may wait for it."""
    monkeypatch.setattr("dgraph.cluster.scheduler.CLIENT_INTERVAL", 0.05)
    gone = Client(cluster, set_as_default=False)
    never = Future("never", gone)
    closing = threading.Timer(0.2, gone.close)
    closing.start()
    monkeypatch.setattr(Future, "exception", lambda future, timeout=None: future.client.sync(wait_in_vain, timeout))
    with pytest.raises(RunError, match="closed during the run"):
        wait_for(gone, [never])
    closing.join()
    with pytest.raises(RunError, match="not connected"):
        workers_of(gone)


def test_a_client_closed_between_supersteps_is_named(cluster, monkeypatch):
    """The error told to check that the cluster runs, as if the scheduler had been lost."""
    monkeypatch.setattr("dgraph.runs.progress.EVERY", 0.0)
    gone = Client(cluster.scheduler_address, set_as_default=False)
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [0, 1, 2, 3], "dst": [1, 2, 3, 0]}), client=gone, parts=2)

    def close(done) -> None:
        if done["superstep"] >= 5:
            gone.close()

    with pytest.raises(RunError, match="closed during the run; run again with another client"):
        dg.pagerank(graph, max_iter=10**6, tol=None, engine="gas", progress=close)


def test_a_client_that_has_just_been_closed_is_an_error(cluster, monkeypatch):
    """When all has been waited for and is to be brought, its thread may have ended."""
    gone = Client(cluster.scheduler_address, set_as_default=False)
    done = gone.submit(int, pure=False)
    monkeypatch.setattr("dgraph.cluster.scheduler.wait_for", lambda client, *_: client.close())
    with pytest.raises(RunError, match="closed during the run"):
        gather_results(gone, [done])


def test_work_that_is_not_done_because_the_client_was_closed_says_so(cluster):
    """It said that the connection to the scheduler was lost, and to check that the cluster is running."""
    gone = Client(cluster.scheduler_address, set_as_default=False)

    def work():
        gone.close()
        raise CommClosedError("in the middle")

    with pytest.raises(RunError, match="closed during the run; run again with another client"):
        retry(gone, work, lambda: None)


def test_a_client_that_has_lost_its_scheduler_is_an_error_soon(cluster, monkeypatch):
    """Calls would wait half a minute for it."""
    monkeypatch.setattr("dgraph.cluster.scheduler.RECONNECT_TIMEOUT", 0.2)
    with Client(cluster.scheduler_address, set_as_default=False) as client:
        client.status = "connecting"
        with pytest.raises(RunError, match=r"connection to the scheduler of .* was lost; check that"):
            workers_of(client)
        found_again = threading.Timer(0.1, lambda: setattr(client, "status", "running"))
        found_again.start()
        assert workers_of(client)
        found_again.join()


def test_running_a_graph_whose_client_was_closed_is_an_error(cluster):
    gone = Client(cluster.scheduler_address, set_as_default=False)
    frame = dd.from_pandas(pd.DataFrame({"src": [0, 1], "dst": [1, 2]}), npartitions=2)
    graph = dg.Graph.from_edges(frame, client=gone)
    gone.close()
    with pytest.raises(RunError, match=r"not connected.*make the graph again with a new client"):
        dg.wcc(graph)


def test_frames_of_a_graph_whose_client_was_closed_are_an_error(cluster):
    gone = Client(cluster.scheduler_address, set_as_default=False)
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [0, 1], "dst": [1, 2]}), client=gone)
    result = dg.wcc(graph)
    gone.close()
    assert repr(result.column("component")) == f"<column 'component' of {result!r}>"
    for frame in (lambda: graph.edges, lambda: graph.vertices, lambda: result.frame):
        with pytest.raises(RunError, match=r"not connected.*make the graph again with a new client"):
            frame()


async def wait_in_vain(timeout):
    await asyncio.wait_for(asyncio.Event().wait(), timeout)


def test_a_graph_of_a_frame_whose_client_was_closed_is_refused(cluster):
    """Dask would say that a dependency is missing."""
    edges = pd.DataFrame({"src": [0, 1], "dst": [1, 2]})
    gone = Client(cluster.scheduler_address, set_as_default=False)
    graph = dg.Graph.from_edges(edges, client=gone)
    rows, found = graph.edges, dg.wcc(graph).frame
    gone.close()
    with pytest.raises(InputError, match=r"cluster at tcp.*client is closed; make the graph and the frame again"):
        _ = dg.Graph.from_edges(rows, client=None).num_edges
    with pytest.raises(InputError, match=r"client is closed"):
        _ = dg.Graph.from_edges(edges, vertices=found[["vertex"]]).num_vertices


def test_frames_are_computed_on_the_cluster_that_has_them(client, caplog):
    """Another current client is told where to compute them; without one, they are fetched."""
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [0, 1, 5], "dst": [1, 2, 6]}), client=client)
    component = dg.wcc(graph).frame["component"]
    for frame in (graph.edges["src"], graph.vertices["id"], component):
        assert len(frame.compute()) == len(client.compute(frame).result())
    address = re.escape(client.scheduler.address)
    with (
        Client(processes=False, n_workers=1, dashboard_address=":0", set_as_default=False) as other,
        other.as_current(),
    ):
        assert component.nunique().compute(scheduler=client) == 2
        for frame in (graph.edges, graph.vertices, component.nunique()):
            with pytest.raises(InputError, match=rf"{address}.*compute it there: frame.compute\(scheduler=client\)"):
                frame.compute()
        with pytest.raises(InputError, match="compute it there"):
            _ = dg.Graph.from_edges(graph.edges, client=other).num_edges
        assert len(client.compute(graph.edges).result()) == 3, "the current client does not matter if one is named"
    assert "different `run_spec`" not in caplog.text


def test_a_graph_of_a_frame_on_another_cluster_is_refused(cluster, monkeypatch):
    """To the scheduler that is as if it had been lost."""
    monkeypatch.setattr("dgraph.cluster.retry.PAUSE", 0.01)
    with (
        Client(cluster.scheduler_address, set_as_default=False) as client,
        Client(processes=False, n_workers=1, dashboard_address=":0", set_as_default=False) as other,
    ):
        rows = dg.Graph.from_edges(pd.DataFrame({"src": [0, 1], "dst": [1, 2]}), client=other).edges
        with pytest.raises(RunError, match=r"get its lazy frames .* again; frames of another cluster cannot be read"):
            _ = dg.Graph.from_edges(rows, client=client).num_edges
