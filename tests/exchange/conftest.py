"""One cluster for all tests of the exchange; tests that kill workers start their own."""

import pytest
from clusters import worker_processes
from distributed import Client


@pytest.fixture(scope="session")
def cluster():
    with worker_processes() as client:
        yield client.cluster


@pytest.fixture
def client(cluster):
    with Client(cluster, set_as_default=False) as client:
        yield client
