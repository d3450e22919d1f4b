"""What a lazy frame reads of a cluster: retained there as long as the frame is, and named in its tasks by key alone.

Dask would put futures into the tasks. A scheduler that runs in the client's process, as a LocalCluster's does, makes
futures of that client of them, and its logs of messages to workers keep a thousand: results would stay on the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dask._task_spec import GraphNode, TaskRef
from dask.delayed import Delayed

from dgraph.cluster.waits import external_keys


class RetainedFutures:
    """Futures, as an argument of the frame's tasks. It travels without them."""

    def __init__(self, futures: Sequence[Any] = ()):
        self.futures = futures

    def __reduce__(self) -> Any:
        return RetainedFutures, ()

    def __dask_tokenize__(self) -> Any:
        return [future.key for future in self.futures]


def by_key(client: Any, tasks: Sequence[Delayed]) -> tuple[list[Delayed], RetainedFutures]:
    """The tasks with what they read named by its keys, and what keeps that."""
    from distributed import Future

    read: set[Any] = set()
    named = []
    for task in tasks:
        graph = dict(task.dask)
        absent = external_keys(graph)
        names: Any = {key: TaskRef(key) for key in absent}
        own = {key: node.substitute(names) if isinstance(node, GraphNode) else node for key, node in graph.items()}
        named.append(Delayed(task.key, own))
        read |= absent
    return named, RetainedFutures([Future(key, client) for key in read])
