"""Tests of steps look at all that a client leaves on a cluster: each has a client of its own."""

import pytest
from distributed import Client


@pytest.fixture
def client(cluster):
    with Client(cluster, set_as_default=False) as client:
        yield client
