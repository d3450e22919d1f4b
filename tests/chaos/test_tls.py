"""On a cluster of TLS all is encrypted: no plain client comes in, and one of TLS takes no plain cluster for it."""

import asyncio
import gc
import ssl

import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from distributed.comm import CommClosedError
from distributed.core import connect
from distributed.security import Security

import dgraph as dg

FRAME = pd.DataFrame(np.random.default_rng(4).integers(0, 900, (4000, 2)), columns=["src", "dst"])


@pytest.fixture(scope="module")
def secure():
    """A cluster of two worker processes whose keys nobody else has."""
    security = Security.temporary()
    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "host": "127.0.0.1"}
    with (
        LocalCluster(processes=True, protocol="tls://", security=security, **how) as cluster,
        Client(cluster, security=security, set_as_default=False) as client,
    ):
        yield client, security


@pytest.mark.parametrize("engine", ["gas", "bulk_async"])
def test_a_run_over_tls_gives_the_right_answer(secure, engine):
    client, _ = secure
    graph = dg.Graph.from_edges(FRAME, client=client, parts=2)
    found = dg.wcc(graph, engine=engine)
    pd.testing.assert_frame_equal(found.compute(), dg.wcc(dg.Graph.from_edges(FRAME)).compute())
    assert found.report["bytes"].sum() > 0
    places = [place for found in client.who_has(found._held.results).values() for place in found]
    assert places and all(place.startswith("tls://") for place in places)


def test_a_client_without_tls_is_refused(secure):
    client = secure[0]
    address, known = client.scheduler.address.replace("tls://", "tcp://"), client.run_on_scheduler(clients_of)
    with pytest.raises(OSError, match=r"Timed out|closed"), Client(address, timeout=1, set_as_default=False):
        pass
    assert client.run_on_scheduler(clients_of) == known


def clients_of(dask_scheduler) -> set[str]:
    return set(dask_scheduler.clients)


@pytest.mark.filterwarnings("ignore:unclosed <socket")  # distributed leaves one where a handshake fails
def test_a_tls_client_refuses_a_cluster_without_tls(secure, client):
    keys = secure[1].get_connection_args("client")
    plain = client.scheduler.address
    with pytest.raises(RuntimeError, match=f"encryption required .* refusing communication from/to '{plain}'"):
        asyncio.run(connect(plain, timeout=30, **keys))
    with pytest.raises((CommClosedError, ValueError)) as refused:
        asyncio.run(connect(plain.replace("tcp://", "tls://"), timeout=30, **keys))
    error = refused.value  # of the handshake, or if the other side was quicker to speak, of what should begin one
    assert isinstance(error.__cause__, ssl.SSLError) or "cannot convert to SSL" in str(error)
    del refused, error
    gc.collect()
