"""What workers were sent or have found, and nobody wants any more, goes: from them, and from the scheduler."""

import asyncio
import gc
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from distributed.comm import CommClosedError
from oracle import frame_with_ids

import dgraph as dg
from dgraph.cluster.workers import Workers, _scatter
from dgraph.errors import LostError


def test_partitions_are_freed_when_another_worker_fails_to_build(client):
    """Nobody else would: it is known to no client, and to the scheduler neither."""

    def take_nothing(dask_worker):
        async def fail(**_):
            raise CommClosedError("as when it leaves")

        dask_worker.handlers["update_data"] = fail

    def take_again(dask_worker):
        dask_worker.handlers["update_data"] = dask_worker.update_data

    def kept(dask_worker):
        return [key for key in dask_worker.data if str(key).startswith("DataFrame")]

    workers = Workers(client)
    client.run(take_nothing, workers=workers.addresses[:1])
    try:
        with pytest.raises(LostError, match="left the cluster while data was being sent"):
            workers.pieces(frame_with_ids("dense"))
    finally:
        client.run(take_again, workers=workers.addresses[:1])
    held, until = client.run(kept), time.monotonic() + 10
    while any(held.values()) and time.monotonic() < until:
        held = client.run(kept)
    assert not any(held.values())
    whole = [client.submit(len, one).result() for one in workers.pieces(frame_with_ids("dense"))]
    assert (len(whole), sum(whole)) == (len(workers.addresses), 300)


def test_partitions_under_way_are_freed_after_ctrl_c(client):
    """Ctrl-C cancels what the client's thread waits for. The scheduler goes on sending, for a client that has left."""

    async def interrupted(values, after):
        sending = asyncio.ensure_future(_scatter(client, values))
        await asyncio.sleep(after)
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending

    def sent():
        gc.collect()
        return client.run_on_scheduler(lambda dask_scheduler: [k for k in dask_scheduler.tasks if "ndarray" in str(k)])

    for after in np.linspace(0, 0.02, 12):
        client.sync(interrupted, [np.zeros(1 << 18) for _ in range(4)], float(after))
    until = time.monotonic() + 10
    time.sleep(0.5)  # what has been asked for is sent
    while sent() and time.monotonic() < until:
        time.sleep(0.1)
    assert not sent()


def test_a_deleted_lazy_frame_leaves_nothing_on_the_cluster(client):
    """Its scheduler is in this process, and logs what it tells workers: that must not have futures of this client."""

    def left():
        gc.collect()
        return set(client.run_on_scheduler(lambda dask_scheduler: list(map(str, dask_scheduler.tasks))))

    before = left()
    graph = dg.Graph.from_edges(
        frame_with_ids("string"), vertices=pd.DataFrame({"id": ["zoe"], "age": [7]}), client=client
    )
    result = dg.wcc(graph)
    for frame, size in ((result.frame, 41), (graph.edges, 300), (graph.vertices, 41)):
        assert len(frame.compute(scheduler=client)) == size
    count = client.compute(result.frame["component"].nunique())  # of frames that nobody keeps
    joined = client.compute(result.frame.merge(graph.vertices, left_on="vertex", right_on="id").to_delayed())
    del frame, graph, result
    assert count.result() == 2
    assert sum(map(len, client.gather(joined))) == 41
    del count, joined
    until = time.monotonic() + 10
    while left() - before and time.monotonic() < until:
        time.sleep(0.1)
    assert not left() - before
