"""Runs tasks on threads in this process, or on the workers of a Dask cluster, through one interface."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import cycle
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from dask.delayed import Delayed

from dgraph.arguments import check_bytes
from dgraph.cluster.current_client import current_client, secede_from_task
from dgraph.cluster.pickling_refusal import NotPicklable, refuse_pickling
from dgraph.cluster.scheduler import (
    WorkerWatch,
    all_paused,
    ask_all,
    gather_results,
    is_closed,
    not_connected,
    places_of,
    run_coroutine,
    translate_cancellations,
    wait_for,
    worker_infos,
    workers_of,
)
from dgraph.cluster.tasks import compute_here, copy_here, key_for, pick, task
from dgraph.devices import probe
from dgraph.errors import LostError, OptionError, RunError
from dgraph.frames.any_frame import DeviceFrame, LazyPieces, is_cudf, is_lazy, split_frame, to_main_memory
from dgraph.native import threads

REDUCE_FAN_IN = 8  # results that one task of a reduction combines
PATIENCE = 1.0  # seconds in which a value that is sent waits for a worker; then `send` looks whether there is one


class Workers(NotPicklable):
    """The workers of a cluster, or this process if `client` is None. *Held* results stay where they were computed: they
    are futures on a cluster, and values in this process."""

    call = staticmethod(task)

    def __init__(self, client: Any = None, threads: int | None = None, limit: int | None = None):
        self.client, self._threads = client, threads
        self.limit = limit  # the bytes that each process may use, if the user has set them
        self._kept: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # values kept by `keep` -> their futures

    @classmethod
    def find(cls, client: Any = None, memory: Any = None) -> Workers:
        """The workers of the given client, or of the thread's default client, or this process. Each may use so much
        memory."""
        limit = None if memory is None else check_bytes("memory", memory, 1)
        if client is None:
            client = current_client()
        elif not hasattr(client, "submit"):
            raise OptionError(f"client={client!r} must be a distributed.Client")
        if client is not None and client.asynchronous:
            raise OptionError(
                f"client={client!r} is asynchronous; pass a synchronous one, or call through asyncio.to_thread"
            )
        if client is not None:
            secede_from_task()
            require_dgraph(client)
        return cls(client, limit=limit)

    def __getstate__(self) -> Any:
        refuse_pickling()

    def _client(self) -> Any:
        return self.client

    @property
    def addresses(self) -> list[str]:
        return self.addresses_known()

    def addresses_known(self, *, fresh: bool = True) -> list[str]:
        """The sorted addresses of the workers; they may be slightly outdated unless `fresh`."""
        addresses = sorted(self._infos(fresh=fresh))
        if not addresses and self.client is not None:
            raise OptionError("the cluster has no workers; start some, or pass client=None to run in this process")
        return addresses

    @property
    def number(self) -> int:
        """The number of workers, which may be slightly outdated; 1 in this process."""
        return len(self._infos(fresh=False)) or 1

    def parts_for(self, arcs: int, each: int) -> int:
        """The number of partitions for `arcs` arcs: one per worker, or several if one would fill a worker's memory.
        `each` is how much memory should be there for an arc while a worker builds a single partition."""
        workers, least = len(self._infos()), self.memory or 1 << 62
        return workers * max(1, -(-arcs * each // (least * workers)))

    @property
    def memory(self) -> int | None:
        """The memory limit of the smallest worker, in bytes, or the user's if that is lower; None if there is none."""
        limits = [info["memory_limit"] for info in self._infos().values() if info["memory_limit"]]
        return min([*limits, *([] if self.limit is None else [self.limit])], default=None)

    @property
    def by_name(self) -> dict[Any, str]:
        """The addresses of workers by name."""
        return {info["name"]: address for address, info in self._infos().items()}

    def _infos(self, *, fresh: bool = True) -> dict[str, dict[str, Any]]:
        """The scheduler's information on each worker; it may be slightly outdated unless `fresh`."""
        return {} if self.client is None else worker_infos(self.client, fresh=fresh)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of each worker."""
        return Capabilities(self)

    @cached_property
    def _has_cuda(self) -> bool:
        return not probe.missing_requirements()

    def with_cuda(self) -> list[str]:
        """The workers that can run kernels on a GPU; one item for this process."""
        if self.client is None:
            return ["this process"] if self._has_cuda else []
        return self.capabilities.with_cuda

    @property
    def threads(self) -> int:
        """The threads of a task if every worker runs one."""
        return self.threads_each(1)

    def threads_each(self, tasks: int) -> int:
        """The threads of each of `tasks` tasks that are divided among the workers."""
        if self.client is None:
            return self._threads or threads.cores()
        infos = self._infos().values()
        least = min((info["nthreads"] for info in infos), default=1)
        return max(1, least // -(-tasks // max(1, len(infos))))

    def kernel_threads(self, parts: int) -> int | None:
        """The threads for kernels of each of `parts` partitions in this process; None on a cluster, where each worker
        has its own number."""
        return max(1, self.threads // min(parts, self.threads)) if self.client is None else None

    def host(self, part: int, parts: int) -> str | None:
        """The worker that builds a partition; None in this process."""
        if self.client is None:
            return None
        addresses = self.addresses
        return addresses[part * len(addresses) // parts]

    def where(self, held: Sequence[Any]) -> list[str] | None:
        """The worker of each held result; None in this process."""
        return None if self.client is None else homes_of(self.client, held)

    def item(self, held: Any, place: Any) -> Any:
        """An item of a held result; in this process, no task is needed."""
        return held[place] if self.client is None else self.call(pick, held, place)

    def hold(self, tasks: Sequence[Delayed]) -> list[Any]:
        """Start tasks and hold their results."""
        if self.client is None:
            return compute_here(tasks)
        if is_closed(self.client):
            raise not_connected(self.client)
        return list(self.client.compute(list(tasks)))

    def each(self, function: Any, arguments: Sequence[tuple], homes: Sequence[str | None] | None = None) -> list[Any]:
        """Call `function` with each tuple of arguments, on `homes`, and hold the results. A single call in this process
        avoids Dask."""
        if self.client is None and len(arguments) == 1:
            return [function(*arguments[0])]
        places = zip(arguments, homes or cycle([None]), strict=False)
        return self.hold([self.call(function, *one, on=on) for one, on in places])

    def ask(self, function: Any, arguments: Sequence[tuple], homes: Sequence[str | None] | None = None) -> list[Any]:
        """What a short function returns for each tuple of arguments, in this process. A call here avoids Dask."""
        if self.client is None:
            return [function(*one) for one in arguments]
        return self.bring(self.each(function, arguments, homes))

    def reduce(self, function: Any, tasks: Sequence[Any]) -> Any:
        """Apply `function` to lists of results until one is left, and hold it. A tree of tasks keeps few results on a
        worker at once."""
        held = self.hold(list(tasks))
        while len(held) > 1:
            held = self.hold(
                [self.call(function, held[i : i + REDUCE_FAN_IN]) for i in range(0, len(held), REDUCE_FAN_IN)]
            )
        return held[0]

    def wait(self, held: list[Any]) -> list[Any]:
        """The same results, once all are computed; raises an error if one failed."""
        if self.client is not None:
            with translate_cancellations():
                for future in held:
                    wait_for(self.client, [future])
                    if future.status != "finished":
                        future.result()
        return held

    def pieces(self, frame: Any, slices: int = 0) -> list[Any]:
        """A frame in pieces that tasks can read: the partitions of a lazy frame; a frame in memory, in slices if it
        goes to a cluster, by default one for each worker."""
        if is_lazy(frame) and is_cudf(frame) and not isinstance(frame, LazyPieces):  # copied to main memory, to be sent
            fitting = cycle(self.capabilities.that_have("a dask-cudf frame", probe.CUDF_PACKAGES, probe.INSTALL))
            return [self.call(to_main_memory, one, on=on) for one, on in zip(frame.to_delayed(), fitting, strict=False)]
        if is_lazy(frame):
            return frame.to_delayed()
        if self.client is None:
            return [frame]
        frame = to_main_memory(frame) if isinstance(frame, DeviceFrame) else frame
        return self.send(split_frame(frame, slices or len(self.addresses)))

    def send(self, values: Sequence[Any]) -> list[Any]:
        """Send values of this process to workers, and hold them there."""
        if self.client is None:
            return list(values)
        watch = WorkerWatch(self.client)
        while True:
            try:
                return self.client.sync(_scatter, self.client, values)
            except (TimeoutError, KeyError, OSError) as cause:  # a receiver, or the last worker, has left
                if not (isinstance(cause, TimeoutError) and all_paused(self.client)):
                    raise LostError(f"a worker left the cluster while data was being sent to it ({cause!r})") from cause
                watch.look()

    def spilled(self) -> int:
        """The bytes that workers have moved from memory to disk."""
        spilled = [info["metrics"].get("spilled_bytes", {}) for info in self._infos().values()]
        return int(sum(one.get("disk", 0) for one in spilled))

    def keep(self, task: Delayed) -> Any:
        """Fetch the result of a task to this process, and also keep it on the workers, for `share`."""
        (held,) = self.hold([task])
        if self.client is None:
            return held
        (value,) = self.get([self.call(copy_here, held)])
        self._kept[value] = held
        return value

    def forget(self) -> None:
        """Forget the values kept on the workers, after one of them has left."""
        self._kept.clear()

    def share(self, value: Any) -> Any:
        """A value that many tasks read, held on the workers; `keep` avoids sending it."""
        if self.client is None:
            return value
        held = self._kept.get(value)
        return self.hold([self.call(copy_here, value)])[0] if held is None or any_lost([held]) else held

    def get(self, tasks: Sequence[Any]) -> list[Any]:
        """Run tasks and fetch their results to this process."""
        return self.bring(self.hold(tasks))

    def bring(self, held: Sequence[Any]) -> list[Any]:
        """Fetch held results to this process."""
        if self.client is None:
            return list(held)
        return gather_results(self.client, self.wait(list(held)))


async def _scatter(client: Any, values: Sequence[Any]) -> list[Any]:
    """Send each value in a separate request. If a single request failed, values that had reached other workers would
    stay there forever, unknown to the scheduler. Requests are shielded from Ctrl-C for the same reason."""
    requests = (client.scatter({key_for("data"): one}, asynchronous=True, timeout=PATIENCE) for one in values)
    answers = await asyncio.shield(asyncio.gather(*requests, return_exceptions=True))
    futures: list[Any] = []
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
        futures += answer.values()
    return futures


def threads_of_worker() -> int:
    """The threads of the worker that runs this task, at most its cores."""
    from distributed import get_worker

    return min(get_worker().state.nthreads, threads.cores())


def any_lost(held: Sequence[Any]) -> bool:
    """Whether a result was lost with its worker (Dask may have failed to compute it again)."""
    futures = (one for one in held if hasattr(type(one), "status"))  # others are tasks, or values in this process
    return any(future.status in ("lost", "cancelled", "error") for future in futures)


# -- where partitions are ----------------------------------------------------------------------------------------------


def homes_of(client: Any, partitions: Sequence[Any]) -> list[str]:
    """The worker of each partition: the one that holds its future, or else all workers in equal shares."""
    from distributed import Future

    if all(isinstance(partition, Future) for partition in partitions):
        wait_for(client, partitions)
        places = places_of(client, partitions)
        if all(places):
            return _evenly(places)
    workers = workers_of(client)
    if not workers:
        raise OptionError(f"{client!r} has no workers; start some, or pass client=None to run in this process")
    return [workers[partition * len(workers) // len(partitions)] for partition in range(len(partitions))]


def _evenly(places: Sequence[list[str]]) -> list[str]:
    """One of the workers that hold each result, chosen so that workers get equal shares. (A worker that has read
    another worker's result holds a copy.)"""
    homes, held = [""] * len(places), Counter[str]()
    for one in sorted(range(len(places)), key=lambda one: len(places[one])):
        homes[one] = min(sorted(places[one]), key=held.__getitem__)
        held[homes[one]] += 1
    return homes


# -- what workers are capable of ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of some workers. Each worker is asked once, and its answers are kept as long as the client
    lives."""

    workers: Workers

    @property
    def with_cuda(self) -> list[str]:
        """The workers (or this process) that can run kernels on a GPU."""
        return [where for where, missing in self.lacking(probe.KERNEL_PACKAGES).items() if not missing]

    def lacking(self, packages: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """For each worker (or this process): which of a GPU and some packages are missing."""
        if self.workers.client is None:
            return {"this process": probe.missing_requirements(packages)}
        known, addresses = self.answers(tuple(packages)), self.workers.addresses_known(fresh=False)
        if not known.keys() >= set(addresses):  # ask all, since one in `addresses` may have left
            known |= ask_all(self.workers.client, probe.missing_requirements, dict(packages))
        return {address: known[address] for address in addresses if address in known}  # a new worker may be missing

    def that_have(self, what: str, packages: Mapping[str, str], remedy: str) -> list[str | None]:
        """The workers with a GPU and some packages (None stands for this process). Raises an error if there are
        none."""
        missing_at = self.lacking(packages)
        if all(missing_at.values()):
            probe.require(what, missing_at, remedy)
        return [None if self.workers.client is None else where for where, missing in missing_at.items() if not missing]

    def answers(self, what: Any) -> dict[str, Any]:
        """The workers' answers to a question so far, kept as long as the client lives."""
        return _answers.setdefault(self.workers.client, {}).setdefault(what, {})


def require_dgraph(client: Any) -> None:
    """Raise a RunError if a worker cannot import dgraph. Dask loses such a worker at its first task, and does not say
    why."""
    if client in _complete:
        return
    answers = dict(run_coroutine(client, client.run(find_spec, "dgraph", on_error="return", asynchronous=True)))
    if lacking := [one for one, found in answers.items() if found is None or isinstance(found, ImportError)]:
        places = f"worker{'s' * (len(lacking) > 1)} {', '.join(sorted(lacking))}"
        raise RunError(f"dgraph is not installed on {places}: install dask-dgraph in the environment of every worker")
    if answers:
        _complete.add(client)


_complete: WeakSet[Any] = WeakSet()  # clients whose workers have dgraph
_answers: WeakKeyDictionary[Any, dict[Any, dict[str, Any]]] = WeakKeyDictionary()
