"""Several GPUs of cuGraph, each a thread of this process: raft's communicator, and graphs and functions of pylibcugraph
that all of a team call together, computed by the stand-in for one GPU. Who does not come is missed, and the answer of
each is of some vertices only. Names and what they take are those of 26.10."""

import threading
import uuid
from types import ModuleType

import cugraph_on_cpu
import numpy as np
from cugraph_on_cpu import Array, ResourceHandle, SGGraph

PATIENCE = 100
teams = {}  # by session, until they are ended


class Team:
    def __init__(self, size):
        self.size, self.divided = size, set()
        self.barrier, self.slots = threading.Barrier(size), [None] * size

    def meet(self, rank, value):
        """What all have brought, in order of rank."""
        self.slots[rank] = value
        self.barrier.wait(PATIENCE)
        found = list(self.slots)
        self.barrier.wait(PATIENCE)
        return found


handles = {}  # by what pylibcugraph is told of them


class Handle:
    def __init__(self, team, rank):
        self.team, self.rank = team, rank
        handles[id(self)] = self

    def getHandle(self):
        return id(self)


class Comms:
    def __init__(self, comms_p2p=False, client=None, verbose=False, nccl_root_location="scheduler"):
        assert comms_p2p and client is not None and nccl_root_location in ("client", "worker", "scheduler")
        self.client, self.sessionId = client, uuid.uuid4().bytes

    def init(self, workers=None):
        assert len(set(workers)) == len(workers) > 1
        teams[self.sessionId], self.workers = Team(len(workers)), list(workers)
        ranks = {worker: rank for rank, worker in enumerate(reversed(workers))}
        self.client.run(_init, self.sessionId, ranks, workers=workers)

    def destroy(self):
        self.client.run(_destroy, self.sessionId, workers=self.workers)
        del teams[self.sessionId]


def _init(session, ranks, dask_worker):
    rank = ranks[dask_worker.address]
    state = get_raft_comm_state(session, dask_worker)
    state |= {"wid": rank, "nworkers": len(ranks), "handle": Handle(teams[session], rank)}


def _destroy(session, dask_worker):
    del get_raft_comm_state(session, dask_worker)["handle"]


def get_raft_comm_state(sessionId, state_object=None, dask_worker=None):
    worker = state_object or dask_worker
    if not hasattr(worker, "_raft_comm_state"):
        worker._raft_comm_state = {}
    return worker._raft_comm_state.setdefault(sessionId, {})


def init_subcomms(handle, row_comm_size):
    assert handle.team.size % row_comm_size == 0
    handle.team.divided.add(handle.rank)


class MGGraph:
    def __init__(
        self,
        resource_handle,
        graph_properties,
        src_array,
        dst_array,
        weight_array=None,
        store_transposed=False,
        do_expensive_check=False,
        edge_id_array=None,
        edge_type_array=None,
        edge_start_time_array=None,
        edge_end_time_array=None,
        vertices_array=None,
        num_arrays=1,
        drop_self_loops=False,
        drop_multi_edges=False,
        symmetrize=False,
    ):
        self.handle = handles[resource_handle.handle]
        team = self.handle.team
        assert team.divided == set(range(team.size)), "sub-communicators are missing"
        given = src_array, dst_array, vertices_array, *([] if weight_array is None else [weight_array])
        assert all(type(one) is list and len(one) == num_arrays == 1 for one in given)  # else asked if it is true
        each = team.meet(self.handle.rank, [one[0] for one in given])
        source, destination, vertices, *weights = (joined(one) for one in zip(*each, strict=True))
        options = {"drop_self_loops": drop_self_loops, "drop_multi_edges": drop_multi_edges}
        options |= {"store_transposed": store_transposed, "vertices_array": vertices, "symmetrize": symmetrize}
        options |= {"weight_array": weights[0] if weights else None, "renumber": True}
        assert sorted(vertices.get()) == list(range(len(vertices))), "a vertex is listed once"
        self.whole = SGGraph(ResourceHandle(), graph_properties, source, destination, **options)


def joined(arrays):
    return Array(np.concatenate([one.get() for one in arrays]))


def together(function):
    """A function that all of a team call."""

    def called(resource_handle, graph, *given, **options):
        if isinstance(graph, SGGraph):
            return function(resource_handle, graph, *given, **options)
        team, rank = graph.handle.team, graph.handle.rank
        assert handles[resource_handle.handle] is graph.handle
        everybody = team.meet(rank, (*given, *options.values()))
        whole = [joined(one) if isinstance(one[0], Array) else one[0] for one in zip(*everybody, strict=True)]
        for mine, first in zip((*given, *options.values()), everybody[0], strict=True):
            assert isinstance(mine, Array) or mine == first, "all ask the same"
        named = dict(zip(options, whole[len(given) :], strict=True))
        found = function(ResourceHandle(), graph.whole, *whole[: len(given)], **named)
        return tuple(Array(one.get()[rank :: team.size]) if isinstance(one, Array) else one for one in found)

    called.__name__ = function.__name__
    return called


def modules() -> dict[str, ModuleType]:
    """To be put into `sys.modules`."""
    found = cugraph_on_cpu.modules()
    more = ("raft_dask", "raft_dask.common", "raft_dask.common.comms", "pylibcugraph.comms")
    found |= {name: ModuleType(name) for name in more}
    for one in (*map(together, cugraph_on_cpu.FUNCTIONS), MGGraph):
        setattr(found["pylibcugraph"], one.__name__, one)
    found["raft_dask.common.comms"].Comms = Comms
    found["raft_dask.common.comms"].get_raft_comm_state = get_raft_comm_state
    found["pylibcugraph.comms"].init_subcomms = init_subcomms
    return found
