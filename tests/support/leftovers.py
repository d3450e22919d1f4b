"""Whether a cluster is as sound as before, once a run is over: all workers are there, and nothing of it is left."""

import gc
import os
import time

from distributed import Client

from dgraph.exchange.run_registry import PLUGIN_NAME

SOON = 60  # seconds


def await_all(client: Client, workers: int, hosts) -> None:
    """Until all workers answer: one that has just been killed may still be listed."""
    until = time.monotonic() + SOON
    while len(client.run(os.getpid, on_error="ignore")) < workers:
        if time.monotonic() > until:
            raise AssertionError("the workers that were killed do not come again")
        if hosts is not None:
            hosts.mend()
        else:
            client.cluster.scale(workers)  # one that has retired is started again
        time.sleep(0.2)


def await_nothing(client: Client, of_frames: set[str], lazily: bool) -> set[str]:
    """Until nobody has anything of a run that is over: tasks, its ends and mail, pieces of checkpoints. Of a lazy frame
    Dask itself remembers some, which are returned."""
    until = time.monotonic() + SOON
    while True:
        gc.collect()
        told = [client.run_on_scheduler(left_there), *client.run(left_here, on_error="ignore").values()]
        left = {one for some in told for one in some} - of_frames
        if not left or lazily:
            return left
        if time.monotonic() > until:
            raise AssertionError(f"of a run that is over there is left: {left}; {client.run_on_scheduler(standing)}")
        time.sleep(0.1)


def left_there(dask_scheduler) -> list[str]:
    return [*map(str, dask_scheduler.tasks), *(["runs"] if runs_of(dask_scheduler) else [])]


def left_here(dask_worker) -> list[str]:
    from dgraph.checkpoint import memory_store

    plugin = dask_worker.plugins.get(PLUGIN_NAME)
    found = [*map(str, dask_worker.data), *map(str, dask_worker.state.tasks), *map(str, memory_store._pieces)]
    return found + ([*plugin.ends, *(["mail"] if plugin.window.used else [])] if plugin is not None else [])


def standing(dask_scheduler) -> str:
    """Who is there, and the tasks: where they are, or what they wait for, and who wants them."""
    told = [f"{worker.address} {worker.status.name}" for worker in dask_scheduler.workers.values()]
    for task in dask_scheduler.tasks.values():
        wanted = [one.client_key for one in task.who_wants or ()] + [one.key for one in task.waiters or ()]
        told.append(f"{task.key} {task.state} at {[one.address for one in task.who_has or ()]} wanted by {wanted}")
        if task.state not in ("memory", "released", "forgotten"):
            needs = [(one.key, one.state, [w.address for w in one.who_has or ()]) for one in task.dependencies]
            told.append(f"  {task.processing_on} {task.worker_restrictions} {needs}")
    return "\n".join(told)


def runs_of(dask_scheduler) -> int:
    plugin = dask_scheduler.plugins.get(PLUGIN_NAME)
    return len(plugin.runs) if plugin is not None else 0
