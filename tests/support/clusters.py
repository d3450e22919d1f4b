"""Clusters that tests start: worker processes of one thread."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import dask
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context

# By default a cluster ends the nanny of a worker that was lost and is not back in 15 seconds: a busy machine takes
# longer, and then the new worker is ended as it joins, and nobody comes instead.
PATIENT = {"distributed.deploy.lost-worker-timeout": "1 day"}

# As in the tests of Dask, workers are forked from a process that has imported what they need, and start in a tenth of
# the time. Those of commands with `--workers` do not: see tests/cli/conftest.py.
METHOD = "distributed.worker.multiprocessing-method"
IMPORTED = ["dask.dataframe", "numba", "dgraph.exchange.dask", "dgraph.ops.pagerank", "dgraph.runs.execution"]
dask.config.set({METHOD: "forkserver"})
get_mp_context().set_forkserver_preload(IMPORTED)


class Watched(LocalCluster):
    """A cluster that stays when its watch over workers hears of one leaving that it does not know, any more or yet:
    Dask's ends with a KeyError then, and cannot be closed."""

    def _update_worker_status(self, op, msg):
        with suppress(KeyError):
            super()._update_worker_status(op, msg)


@contextmanager
def worker_processes(workers: int = 2, **options) -> Iterator[Client]:
    """Their client, which is not the default one: a test that wants the cluster names it."""
    place = {"processes": True, "dashboard_address": ":0", "host": "127.0.0.1", **options}
    with (
        dask.config.set(PATIENT),
        Watched(n_workers=workers, threads_per_worker=1, **place) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
