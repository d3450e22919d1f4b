"""Every hook of distributed that is not public and that the exchange uses: run with each supported version of Dask."""

import inspect

import distributed
from distributed.protocol.serialize import Serialized, serialize


def test_the_scheduler_has_what_the_registry_uses(cluster, client):
    s = cluster.scheduler
    assert isinstance(s.handlers, dict)
    assert isinstance(s.stream_handlers, dict)
    assert isinstance(s.plugins, dict)
    assert isinstance(s.extensions, dict)
    assert {"address", "extensions"} <= set(inspect.signature(s.heartbeat_worker).parameters)
    assert isinstance(s.http_application.applications, list)
    assert {"comm", "plugin", "name", "idempotent"} <= set(inspect.signature(s.register_worker_plugin).parameters)
    assert {"keys", "client", "force", "reason", "msg"} <= set(inspect.signature(s.stimulus_cancel).parameters)
    assert {"keys", "client"} <= set(inspect.signature(s.client_releases_keys).parameters)
    assert {"msg", "client"} <= set(inspect.signature(s.report).parameters)
    assert list(inspect.signature(s.send_all).parameters) == ["client_msgs", "worker_msgs"]
    locks = s.extensions["multi_locks"]
    assert {"locks", "id", "num_locks"} <= set(inspect.signature(locks.acquire).parameters)
    assert isinstance(locks.requests, dict)
    client.submit(int, key="hook").result()
    assert hasattr(
        s.tasks.get("hook", next(iter(s.tasks.values()), None)) or distributed.scheduler.TaskState, "who_wants"
    )


def test_workers_have_what_the_exchange_uses(client):
    def look(dask_worker):
        w = dask_worker
        dicts = w.handlers, w.stream_handlers, w.extensions
        return all(isinstance(one, dict) for one in dicts) and hasattr(w.batched_stream, "send")

    assert all(client.run(look).values())


def test_frames_in_an_envelope_are_neither_compressed_nor_split():
    from distributed.protocol import dumps, loads

    zeros = memoryview(bytes(100 << 20))
    frames = dumps({"x": Serialized(*serialize([zeros]))}, context={"compression": "zlib"}, frame_split_size=1 << 20)
    assert [len(frame) for frame in frames if len(frame) > 1000] == [100 << 20]
    assert loads(frames)["x"][0].nbytes == 100 << 20


def test_an_expression_is_all_that_a_chunk_sends():
    from dask._expr import Expr
    from distributed.protocol.pickle import dumps

    from dgraph.supersteps.step_graph import StepChunk

    workers = ("tcp://127.0.0.1:1234", "tcp://127.0.0.1:1235")
    chunk = StepChunk("0" * 32, workers, 0, 10, fuse=False)
    expression = chunk.expression()
    assert isinstance(expression, Expr)
    assert expression.__dask_keys__() == chunk.last_keys()
    assert set(expression.__dask_annotations__()["workers"]) == set(expression.__dask_graph__())
    assert len(dumps(expression)) < 1000
