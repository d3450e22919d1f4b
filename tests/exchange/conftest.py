"""One cluster for all tests of the exchange; tests that kill workers start their own."""

import pytest
from distributed import Client, LocalCluster


def start_cluster(workers: int = 2) -> LocalCluster:
    return LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1"
    )


@pytest.fixture(scope="session")
def cluster():
    with start_cluster() as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster, set_as_default=False) as client:
        yield client
