"""Objects that stay in the process that made them: graphs, partitions, results. Passing one to a task on a cluster
raises an error at once, because Dask's own error would hide the reason."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NoReturn
from uuid import uuid4

from dgraph.cluster.current_client import current_client
from dgraph.errors import InputError


def refuse_pickling() -> NoReturn:
    raise InputError(
        "graphs and results cannot be pickled or sent to a task; pass the frame from result.compute(), or the "
        "folder of a graph saved by G.save(folder), which dgraph.open_graph(folder) opens"
    )


class NotPicklable(ABC):
    """The base class of objects that stay in the process that made them."""

    @abstractmethod
    def _client(self) -> Any:
        """The client whose workers hold the object; None if it is in this process."""

    def __dask_tokenize__(self) -> str:
        """Called by `client.submit` and `client.map`."""
        self._refuse_on_a_cluster()
        return uuid4().hex  # unique, like Dask's token of any object of an unknown type

    def __dask_graph__(self) -> None:
        """Called by `dask.delayed`; None says that this is not a Dask collection."""
        self._refuse_on_a_cluster()

    def _refuse_on_a_cluster(self) -> None:
        if self._client() is not None or current_client() is not None:
            refuse_pickling()
