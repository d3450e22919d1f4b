"""Mail in two hops among a few workers, as among many: a plugin for all workers of a cluster, and for those to come."""

from distributed import WorkerPlugin

from dgraph.exchange.grid import FEW_WORKERS


class TwoHops(WorkerPlugin):
    name = "two-hops"

    def setup(self, worker):
        set_few(0)

    def teardown(self, worker):
        set_few(FEW_WORKERS)


def set_few(few):
    from dgraph.exchange import dask

    dask.FEW_WORKERS = few


def few_workers():
    """On a worker: up to how many send mail directly."""
    from dgraph.exchange import dask

    return dask.FEW_WORKERS
