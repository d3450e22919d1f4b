"""Runs one cuGraph call on several GPUs (experimental), through a communicator of NCCL and UCX among Dask workers. It
resembles that of `cugraph.dask`, but includes only the workers that take part, so that the scheduler may have other
workers too. The client needs none of these packages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from dgraph.cluster.scheduler import run_on_each_held
from dgraph.cluster.workers import Workers
from dgraph.cugraph.calls import PACKAGES, Arcs, CugraphCall, GpuAnswer, call_gpu
from dgraph.partition.policies import grid_columns

TEAM_PACKAGES = {**PACKAGES, "raft_dask": "raft-dask"}
_teams: dict[bytes, Any] = {}  # teams that this worker started, by session


def run_team(workers: Workers, on: Sequence[str], shares: Sequence[Any], call: CugraphCall) -> list[Any]:
    """Make a call on the GPU of each worker with its share of the edges; the answers stay there."""
    from distributed import Lock

    client, name = workers.client, "dgraph: one team of GPUs at a time"
    with Lock(name, scheduler_rpc=client.scheduler, loop=client.loop), _team(workers, on) as session:
        return run_on_each_held(client, on, _ask, [(share, call, len(on), session) for share in shares])


@contextmanager
def _team(workers: Workers, on: Sequence[str]) -> Iterator[bytes]:
    from distributed import fire_and_forget

    (session,) = workers.get([workers.call(_start, list(on), on=on[0])])
    try:
        yield session
    except BaseException:  # do not wait: a worker that waits for a failed one would block the end of the team
        fire_and_forget(workers.hold([workers.call(_end, session, on=on[0])]))
        raise
    workers.get([workers.call(_end, session, on=on[0])])


def _start(addresses: list[str]) -> bytes:
    """Start a team from one of its workers, together with the event loops of the others."""
    from distributed import Client, get_worker

    worker = get_worker()
    client = Client(worker.scheduler.address, security=worker.security, set_as_default=False)
    team = import_module("raft_dask.common.comms").Comms(comms_p2p=True, client=client, nccl_root_location="worker")
    team.init(workers=addresses)
    client.run(_divide, team.sessionId, grid_columns(len(addresses)), workers=addresses)
    _teams[team.sessionId] = team
    return team.sessionId


def _divide(session: bytes, columns: int, dask_worker: Any) -> None:
    import_module("pylibcugraph.comms").init_subcomms(_state(session, dask_worker)["handle"], columns)


def _end(session: bytes) -> None:
    if (team := _teams.pop(session, None)) is not None:
        team.destroy()
        team.client.close()


def _ask(worker: str, number: int, edges: Arcs, call: CugraphCall, gpus: int, session: bytes) -> GpuAnswer:
    from distributed import get_worker

    state = _state(session, get_worker())
    return call_gpu(edges, call, state["wid"], gpus, state["handle"])


def _state(session: bytes, worker: Any) -> dict[str, Any]:
    return import_module("raft_dask.common.comms").get_raft_comm_state(session, worker)
