"""What all tests share: one small cluster, the folder of real graphs, and how Hypothesis searches."""

import gc
import os
import signal
from pathlib import Path

import dask
import pytest
from clusters import worker_processes
from hypothesis import HealthCheck, settings

from dgraph.native import team
from dgraph.partition import policies

pytest_plugins = ["gpu_stand_ins"]  # fixtures of GPUs and packages that are not here

DATA = Path(os.environ.get("DGRAPH_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")

# A background job of a shell ignores Ctrl-C, and the tests of it would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Dask's profiler of workers calls `sys._current_frames()` every 10 ms. In CPython 3.11 that can let go of the
# interpreter's lock while it holds the list of threads, and whoever starts a thread then waits for ever
# (python/cpython#106883). Ten workers of this process met it.
dask.config.set({"distributed.worker.profile.enabled": False})

# On two busy cores a slow example says nothing, so there is no deadline. CI draws the same examples every time, so that
# a change fails for what it did, and few, because more of the same find nothing. Elsewhere they are fresh: the search
# goes on.
settings.register_profile(
    "ci",
    deadline=None,
    max_examples=25,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("dev", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


def pytest_xdist_auto_num_workers():
    """Of three tests at once on two cores one mostly waits, for a cluster or for a new process."""
    return os.cpu_count() * 3 // 2


def pytest_collection_finish():
    """Thousands of tests stay until the end: whoever looks for garbage need not look through them each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def dask_is_left_alone():
    """A test, and what it calls, may not change which scheduler Dask uses for everybody else in the process."""
    before = dask.config.get("scheduler", None)
    yield
    after = dask.config.get("scheduler", None)
    if after != before:
        dask.config.set(scheduler=before)
        pytest.fail(f"Dask's setting `scheduler` was {before!r} and is now {after!r}: who entered a client and stayed?")


@pytest.fixture
def apart(monkeypatch):
    """Operations leave even very many partitions as they are."""
    monkeypatch.setattr(policies, "VERY_MANY", 1 << 16)


@pytest.fixture(autouse=True)
def apart_in_some_rooms(request):
    """Engines and operations are tested on partitions as they are."""
    if request.path.parent.name in ("engines", "ops"):
        request.getfixturevalue("apart")


@pytest.fixture
def several_threads(monkeypatch):
    """Solvers start a thread for each core even for a small graph, so that tests see what threads do to each other.
    Without this fixture one thread does the work, as it does for users."""
    monkeypatch.setattr(team, "LOOKS", 1)


@pytest.fixture(scope="session")
def cluster():
    """A cluster for tests that look at what is left on it, or connect clients of their own."""
    with worker_processes() as client:
        yield client.cluster


@pytest.fixture(scope="session")
def client():
    """The client of one cluster for the whole session, which tests leave as they found it."""
    with worker_processes() as client:
        yield client


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real graphs with reference results."""
    if not DATA.is_dir():
        pytest.skip(f"shared/data is not here: looked in {DATA} (set DGRAPH_DATA to the folder of real graphs)")
    return DATA
