"""What a run has found stays with the workers that found it, and goes with them."""

from distributed import Event

from dgraph.cluster.scheduler import install
from dgraph.exchange.run_registry import PLUGIN_NAME


def test_results_that_are_about_to_be_found_are_not_lost(cluster, client):
    """A run may end before the last of its tasks has, whose result no worker has by then, and another worker leave."""
    install(client)
    begun, end = Event("begun", client), Event("end", client)

    def last() -> str:
        Event("begun").set()
        Event("end").wait(30)
        return "found"

    future = client.submit(last, pure=False)
    assert begun.wait(30)

    async def left(dask_scheduler, key=future.key) -> None:
        plugin = dask_scheduler.plugins[PLUGIN_NAME]
        plugin.ended_results.add(key)
        plugin._cancel_lost_results("a worker left")

    client.run_on_scheduler(left)
    end.set()
    assert future.result(30) == "found"
