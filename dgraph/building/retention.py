"""The results on a cluster that a lazy frame reads. The frame keeps them there as long as it lives, and knows which
client they belong to.

Tasks refer to the results by key alone, because the scheduler of that client has them. Dask would put futures into the
tasks. If the scheduler runs in the client's process, as a LocalCluster's does, it turns them into futures of that
client, and its logs keep a thousand messages to workers, so the results would never be freed.

Without a cluster, the frame's tasks fetch the results through the frame's client. When the tasks are sent to another
cluster, a `MissingResult` is put there under the same key, so that the error says where the results are; the scheduler
of that cluster alone would only report lost dependencies.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from dask._task_spec import Alias, GraphNode, Task, TaskRef
from dask.delayed import Delayed

from dgraph.cluster.current_client import current_client
from dgraph.cluster.scheduler import gather_results, is_closed
from dgraph.cluster.tasks import external_keys
from dgraph.errors import InputError

# The name of the threads in which schedulers turn frames into tasks. If Dask renames them, schedulers in this process
# log a warning about tasks that differ, and use the results that they have all the same.
OF_SCHEDULERS = "Dask-Offload"


def refer_by_key(client: Any, tasks: Sequence[Delayed]) -> list[Delayed]:
    """The tasks, changed to refer to data on the client's cluster by key alone."""
    held: dict[Any, HeldResult] = {}
    by_name: list[Delayed] = []
    for task in tasks:
        graph: Mapping[Any, Any] = dict(task.dask)
        read = external_keys(graph)
        held |= {key: HeldResult(key, client) for key in read - held.keys()}
        checked: Any = {key: Task(key, _checked, TaskRef(key)) for key in read}
        own = {key: node.substitute(checked) if isinstance(node, GraphNode) else node for key, node in graph.items()}
        by_name.append(FrameTask(task.key, own, [held[key] for key in read]))
    return by_name


class HeldResult:
    """A result on the cluster of one client. Calling it fetches the result to this process."""

    def __init__(self, key: Any, client: Any):
        from distributed import Future

        self.key, self.client, self.address = key, client, client.scheduler.address
        self.future: Any = Future(key, client)
        self._absent: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # other clients -> what they have instead

    def __call__(self) -> Any:
        return gather_results(self.client, [self.future])[0]

    @property
    def remedy(self) -> str:
        reads = f"this lazy frame reads data on the cluster at {self.address}"
        if is_closed(self.client):
            return f"{reads}, whose client is closed; make the graph and the frame again with another client"
        calls = "frame.compute(scheduler=client) or client.compute(frame)"
        return f"{reads}; compute it there: {calls}, where client is the graph's"

    def refuse_if_closed(self) -> None:
        if is_closed(self.client):
            raise InputError(self.remedy)

    def mark_absent(self) -> None:
        """Put a `MissingResult` under the same key on the cluster of the current client, if that is another one. Does
        not wait: Dask pickles tasks while it holds a lock of that client."""
        client = current_client()
        elsewhere = client is not None and client is not self.client and client.scheduler.address != self.address
        if elsewhere and client not in self._absent:
            self._absent[client] = client.submit(MissingResult, self.remedy, key=self.key, pure=False)


class FrameTask(Delayed):
    """A task that reads held results. Pickled for a scheduler, it is an ordinary Dask task without them."""

    __slots__ = ("_held",)

    def __init__(self, key: Any, graph: dict[Any, Any], held: Sequence[HeldResult]):
        super().__init__(key, graph)
        self._held = held

    @property
    def dask(self) -> dict[Any, Any]:
        """The task's graph. A scheduler in this process reads this property too, since Dask does not copy a frame
        there; it must not see tasks under the keys of results that it has."""
        for one in self._held:
            one.refuse_if_closed()
        if threading.current_thread().name.startswith(OF_SCHEDULERS):
            return super().dask
        return super().dask | {one.key: FetchingTask(one.key, one) for one in self._held}

    def __reduce__(self) -> Any:
        for one in self._held:
            one.mark_absent()
        return Delayed, (self.key, super().dask)


class FetchingTask(Task):
    """Fetches a held result. When pickled, it becomes an alias for the key of the result."""

    __slots__ = ()
    func: HeldResult

    def __reduce__(self) -> Any:
        self.func.mark_absent()
        return Alias, (self.key, self.func.key)


class MissingResult:
    """Stands in for a result on a cluster that does not have it."""

    def __init__(self, remedy: str):
        self.remedy = remedy


def _checked(value: Any) -> Any:
    if isinstance(value, MissingResult):
        raise InputError(value.remedy)
    return value
