"""What stays where it was made: graphs, partitions, results. Who hands one to a task on a cluster is told so at once,
because Dask's own error would bury why that cannot be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NoReturn
from uuid import uuid4

from dgraph.cluster.current_client import current_client
from dgraph.errors import InputError


def refuse_pickling() -> NoReturn:
    raise InputError(
        "a graph and its results stay where they are made, and cannot be pickled or sent to a task: pass on what "
        "result.compute() gives, or a folder from G.save(folder), which dgraph.open_graph opens"
    )


class NotPicklable(ABC):
    """The base of such things."""

    @abstractmethod
    def _client(self) -> Any:
        """The client whose workers it is on; None if it is in this process."""

    def __dask_tokenize__(self) -> str:
        """`client.submit` and `client.map` ask for it."""
        self._refuse_on_a_cluster()
        return uuid4().hex  # of nothing else, as of any object that Dask does not know

    def __dask_graph__(self) -> None:
        """`dask.delayed` asks for it; None says that this is no collection of Dask's."""
        self._refuse_on_a_cluster()

    def _refuse_on_a_cluster(self) -> None:
        if self._client() is not None or current_client() is not None:
            refuse_pickling()
