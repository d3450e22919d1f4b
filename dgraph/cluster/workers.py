"""Where tasks run: on threads in this process, or on the workers of a Dask cluster, by the same calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import cycle
from operator import itemgetter
from typing import Any
from weakref import WeakKeyDictionary

from dask.delayed import Delayed

from dgraph.cluster.abilities import Capabilities
from dgraph.cluster.current_client import current_client, secede_from_task
from dgraph.cluster.pickling_refusal import NotPicklable, refuse_pickling
from dgraph.cluster.tasks import task
from dgraph.cluster.waits import compute_here, gather_results, is_closed, translate_cancellations, wait_for
from dgraph.devices import probe
from dgraph.errors import LostError, OptionError
from dgraph.frames.any_frame import LazyPieces, cut, is_cudf, is_lazy, local
from dgraph.frames.device_frame import DeviceFrame
from dgraph.native import threads

FAN = 8  # results that one task of a reduction takes
BYTES_TO_SORT = 32  # an edge, while its partition is put together: its ends by number, by local id, and in place
MEMORY_SHARE = 6  # the edges of one partition may take this fraction of a worker's memory while they are sorted


class Workers(NotPicklable):
    """A cluster; with `client=None` this process. *Held* results stay where they were made: futures, or here the
    values."""

    call = staticmethod(task)

    def __init__(self, client: Any = None, threads: int | None = None):
        self.client, self._threads = client, threads
        self._kept: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # values made by tasks -> where they were made

    @classmethod
    def find(cls, client: Any = None) -> Workers:
        """Those of the client given, else of the default client of this thread, else this process."""
        if client is None:
            client = current_client()
        elif not hasattr(client, "submit"):
            raise OptionError(f"client={client!r} is not a distributed.Client, as Client(cluster) is")
        if client is not None and client.asynchronous:
            raise OptionError(f"client={client!r} is asynchronous; pass one that is not, or call by asyncio.to_thread")
        if client is not None:
            secede_from_task()
        return cls(client)

    def __getstate__(self) -> Any:
        refuse_pickling()

    def _client(self) -> Any:
        return self.client

    @property
    def addresses(self) -> list[str]:
        return self.addresses_known()

    def addresses_known(self, *, fresh: bool = True) -> list[str]:
        """The workers, sorted; unless `fresh`, as of a moment ago."""
        found = sorted(self._infos(fresh=fresh))
        if not found and self.client is not None:
            raise OptionError("the cluster has no workers; start some, or pass client=None to run in this process")
        return found

    def parts_for(self, arcs: int) -> int:
        """Partitions to make of so many edges: one a worker, or several where one would fill a worker's memory."""
        if self.client is None:
            return 1
        workers, least = len(self._infos()), self.memory or 1 << 62
        return workers * max(1, -(-arcs * BYTES_TO_SORT * MEMORY_SHARE // (least * workers)))

    @property
    def memory(self) -> int | None:
        """Bytes that the smallest worker may use; None if there is no limit."""
        limits = [info["memory_limit"] for info in self._infos().values() if info["memory_limit"]]
        return min(limits, default=None)

    @property
    def by_name(self) -> dict[Any, str]:
        """The addresses of workers by the names that their user gave them."""
        return {info["name"]: address for address, info in self._infos().items()}

    def _infos(self, *, fresh: bool = True) -> dict[str, dict[str, Any]]:
        """What the scheduler knows of each worker; unless `fresh`, as of a moment ago."""
        if self.client is None:
            return {}
        from dgraph.cluster.scheduler_calls import worker_infos  # a quarter of a second where there is no cluster

        return worker_infos(self.client, fresh=fresh)

    @property
    def abilities(self) -> Capabilities:
        """What each of them can do."""
        return Capabilities(self)

    @property
    def threads(self) -> int:
        """Threads that a task may use if every worker has one task."""
        return self.threads_each(1)

    def threads_each(self, tasks: int) -> int:
        """Threads that each of so many tasks may use, which the workers share out."""
        if self.client is None:
            return self._threads or threads.cores()
        infos = self._infos().values()
        least = min((info["nthreads"] for info in infos), default=1)
        return max(1, least // -(-tasks // max(1, len(infos))))

    def kernel_threads(self, parts: int) -> int | None:
        """Threads for the kernels of each of so many partitions here; None on a cluster: each worker knows its own."""
        return max(1, self.threads // min(parts, self.threads)) if self.client is None else None

    def host(self, part: int, parts: int) -> str | None:
        """The worker on which a partition is to be built; None in this process."""
        if self.client is None:
            return None
        addresses = self.addresses
        return addresses[part * len(addresses) // parts]

    def where(self, held: Sequence[Any]) -> list[str] | None:
        """The worker of each held result; None in this process."""
        if self.client is None:
            return None
        from dgraph.cluster.homes import homes_of

        return homes_of(self.client, held)

    def item(self, held: Any, place: Any) -> Any:
        """An item of a held result: what is in this process needs no task."""
        return held[place] if self.client is None else self.call(itemgetter(place), held)

    def hold(self, tasks: Sequence[Delayed]) -> list[Any]:
        """Start tasks, and hold their results."""
        if self.client is None:
            return compute_here(tasks)
        if is_closed(self.client):
            from dgraph.cluster.scheduler_calls import not_connected

            raise not_connected(self.client)
        return list(self.client.compute(list(tasks)))

    def each(self, function: Any, given: Sequence[tuple], homes: Sequence[str] | None = None) -> list[Any]:
        """Call `function` with each tuple (held on `homes`); held. A single call in this process avoids Dask."""
        if self.client is None and len(given) == 1:
            return [function(*given[0])]
        places = zip(given, homes or cycle([None]), strict=False)
        return self.hold([self.call(function, *one, on=on) for one, on in places])

    def reduce(self, function: Any, tasks: Sequence[Any]) -> Any:
        """`function` of the list of all results, held; by a tree of tasks, so that no worker has many of them at
        once."""
        held = self.hold(list(tasks))
        while len(held) > 1:
            held = self.hold([self.call(function, held[i : i + FAN]) for i in range(0, len(held), FAN)])
        return held[0]

    def wait(self, held: list[Any]) -> list[Any]:
        """The same results, once all are there; raises if one failed."""
        if self.client is not None:
            with translate_cancellations():
                for future in held:
                    wait_for(self.client, [future])
                    if future.status != "finished":
                        future.result()
        return held

    def pieces(self, frame: Any) -> list[Any]:
        """A frame in pieces that tasks can read: a lazy frame's partitions; a frame in memory, on a cluster in
        slices."""
        if (
            is_lazy(frame) and is_cudf(frame) and not isinstance(frame, LazyPieces)
        ):  # to main memory, where they can travel
            fitting = cycle(self.abilities.workers_with("a frame of dask-cudf", probe.CUDF, probe.INSTALL))
            return [self.call(local, one, on=on) for one, on in zip(frame.to_delayed(), fitting, strict=False)]
        if is_lazy(frame):
            return frame.to_delayed()
        if self.client is None:
            return [frame]
        frame = local(frame) if isinstance(frame, DeviceFrame) else frame
        return self.send(cut(frame, len(self.addresses)))

    def send(self, values: Sequence[Any]) -> list[Any]:
        """Values of this process, each held by some worker."""
        if self.client is None:
            return list(values)
        try:
            return self.client.sync(_sent, self.client, values)
        except (TimeoutError, KeyError, OSError) as cause:  # the worker that took one, or the last of all, has left
            raise LostError(f"a worker left while data were sent to it ({cause!r})") from cause

    def spilled(self) -> int:
        """Bytes that the workers have moved from memory to disk."""
        spilled = [info["metrics"].get("spilled_bytes", {}) for info in self._infos().values()]
        return int(sum(one.get("disk", 0) for one in spilled))

    def keep(self, task: Delayed) -> Any:
        """The result of a task, in this process; and on the workers, for `share`."""
        (held,) = self.hold([task])
        if self.client is None:
            return held
        (value,) = self.get([self.call(identity, held)])
        self._kept[value] = held
        return value

    def forget(self) -> None:
        """Let go of what is kept on the workers: one of them has left."""
        self._kept.clear()

    def share(self, value: Any) -> Any:
        """A value that many tasks read, held by the worker that made it if it is still there."""
        if self.client is None:
            return value
        held = self._kept.get(value)
        return self.hold([self.call(identity, value)])[0] if held is None or any_lost([held]) else held

    def get(self, tasks: Sequence[Any]) -> list[Any]:
        """Run tasks; their results, in this process."""
        return self.bring(self.hold(tasks))

    def bring(self, held: Sequence[Any]) -> list[Any]:
        """Held results, in this process."""
        if self.client is None:
            return list(held)
        return gather_results(self.client, self.wait(list(held)))


async def _sent(client: Any, values: Sequence[Any]) -> list[Any]:
    """Each by a request of its own. Of one for all that fails, what has come to other workers would stay there for
    ever, and the scheduler would not know of it. Ctrl-C does not stop them, for nobody would let go of what comes."""
    requests = (client.scatter([value], hash=False, asynchronous=True) for value in values)
    answers = await asyncio.shield(asyncio.gather(*requests, return_exceptions=True))
    found: list[Any] = []
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
        found += answer
    return found


def threads_of_worker() -> int:
    """Threads of the worker that runs this task; no more than it has cores."""
    from distributed import get_worker

    return min(get_worker().state.nthreads, threads.cores())


def any_lost(held: Sequence[Any]) -> bool:
    """Whether some result, which was there, went away with its worker (Dask may have tried to make it again)."""
    futures = (one for one in held if hasattr(type(one), "status"))  # others are delayed, or in this process
    return any(future.status in ("lost", "cancelled", "error") for future in futures)


def identity(value: Any) -> Any:  # as a task: a copy, where that runs
    return value
