"""A relay that dies in the middle of a step, when it has its row's mail and has passed nothing on yet."""

import os

import numpy as np
import pandas as pd
import pytest
from clusters import worker_processes
from distributed import WorkerPlugin
from mixing import check, mixing, results, start
from two_hops import TwoHops

import dgraph as dg
from dgraph.errors import LostError
from dgraph.supersteps.run_steps import run_steps

WORKERS = 5  # in rows of three and two
DIES_AT = 3  # the step that it has just heard of


class DyingRelay(WorkerPlugin):
    """The workers at some addresses die when they are to pass mail on; those that come in their place do not."""

    name = "dying-relay"

    def __init__(self, address: str):
        self.address = address

    def setup(self, worker):
        from dgraph.exchange.dask import DaskExchange

        sound, address = DaskExchange.pass_on, worker.address

        def pass_on(end, step, *mail):
            if step == DIES_AT and address == self.address:
                os._exit(1)
            sound(end, step, *mail)

        DaskExchange.pass_on = pass_on


@pytest.fixture(scope="module")
def cluster_of_relays():
    with worker_processes(WORKERS) as client:
        client.register_plugin(TwoHops())
        yield client


def doomed(client) -> str:
    """The address of a worker that will die."""
    client.wait_for_workers(WORKERS, timeout=120)
    victim = sorted(client.run(os.getpid))[1]
    client.register_plugin(DyingRelay(victim))
    return victim


def test_steps_end_in_one_error_that_names_it(cluster_of_relays, monkeypatch):
    client, parts = cluster_of_relays, 2 * WORKERS
    monkeypatch.setattr("dgraph.supersteps.run_steps.PATIENCE", 600.0)  # for mail: nobody waits for so long
    check(results(run_steps(mixing(6), start(parts), client=client)), parts, 6)
    victim = doomed(client)
    with pytest.raises(LostError, match=victim):
        run_steps(mixing(10**6), start(parts), client=client)
    client.wait_for_workers(WORKERS, timeout=120)
    outcome = run_steps(mixing(6), start(parts), client=client)
    check(results(outcome), parts, 6)
    assert outcome.mail_route == "two hops"


@pytest.mark.parametrize("checkpoint", [None, 2])
def test_a_run_goes_on_without_it(cluster_of_relays, checkpoint):
    client = cluster_of_relays
    frame = pd.DataFrame(np.random.default_rng(3).integers(0, 900, (4000, 2)), columns=["src", "dst"])
    options = {"engine": "gas", "max_iter": 12, "tol": 0.0}
    expected = dg.pagerank(dg.Graph.from_edges(frame), **options).by_number("pagerank")
    graph = dg.Graph.from_edges(frame, client=client)
    victim = doomed(client)
    found = dg.pagerank(graph, **options, checkpoint=checkpoint and dg.Checkpoint(every=checkpoint))
    np.testing.assert_allclose(found.by_number("pagerank"), expected, rtol=1e-9)
    assert victim not in client.run(os.getpid), "it has not died"
    assert found.report.options["mail route"] == "two hops"
