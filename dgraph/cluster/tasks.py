"""Dask tasks that call a function, named after it, and their results in this process."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any
from uuid import uuid4

from dask import threaded
from dask._task_spec import GraphNode
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph
from dask.local import get_sync
from dask.optimization import cull

from dgraph.errors import InputError
from dgraph.native.free_memory import explain_lack_of_memory


def task(function: Callable[..., Any], *arguments: Any, on: str | None = None, **options: Any) -> Delayed:
    """A task that prefers the worker `on` but can run on any: a task pinned to a worker that dies would wait forever.

    The items of a list are passed to Dask as separate arguments. Dask would search a list for tasks once per item, and
    within `dask.annotate` it would also place those tasks where the list is needed.
    """
    spread, sizes = [], []
    for one in arguments:
        sizes.append(len(one) if isinstance(one, list) else None)
        spread += one if isinstance(one, list) else [one]
    key = key_for(function)
    made = delayed(partial(_with_lists, function, sizes), pure=False)(*spread, **options, dask_key_name=key)
    if on is not None:
        made.dask.layers[made.key].annotations = {"workers": [on], "allow_other_workers": True}
    return made


def key_for(what: Any) -> str:
    """A new key for a task that calls a function, or for data: `dgraph-` and its name, in words that Dask's dashboard
    shows. The dashboard groups tasks by the words before the first one that does not consist of letters only."""
    return f"{label(what)}-{uuid4()}"


def label(what: Any) -> str:
    """`dgraph-edge-ids` for a function `_edge_ids`, `dgraph-placement-to-positions` for a method, `dgraph-local-job`
    for an instance of LocalJob."""
    while isinstance(what, partial):
        what = what.func
    name = what if isinstance(what, str) else getattr(what, "__qualname__", type(what).__qualname__)
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name.rpartition("<locals>.")[2])
    return "-".join(["dgraph", *map(str.lower, words)])


def copy_here(value: Any) -> Any:
    """As a task, copies a value to the worker that runs it."""
    return value


def pick(values: Any, place: Any) -> Any:
    """An item of a result that has several."""
    return values[place]


def _with_lists(function: Callable[..., Any], sizes: Sequence[int | None], *spread: Any, **options: Any) -> Any:
    """Call a function, after putting the arguments that have a size back into lists."""
    items = iter(spread)
    return function(*(next(items) if size is None else list(islice(items, size)) for size in sizes), **options)


def external_keys(graph: Mapping[Any, Any]) -> set[Any]:
    """The keys that a Dask graph's tasks read but that are not in the graph: their values are on a cluster."""
    nodes = [node for node in graph.values() if isinstance(node, GraphNode)]
    return set().union(*(node.dependencies for node in nodes)) - graph.keys()


def compute_here(tasks: Sequence[Any]) -> list[Any]:
    """The results of tasks, computed by threads of this process; other values are returned unchanged. This is
    `dask.compute` without its optimizers, which take half a millisecond."""
    graph, keys = _merged(tasks)
    results = dict(zip(keys, _computed(cull(graph, keys)[0], keys, threaded.get), strict=True))
    return [results[one.key] if isinstance(one, Delayed) else one for one in tasks]


def one_by_one(tasks: Sequence[Delayed]) -> Callable[[int], Any]:
    """A function that computes the task of a number in the thread that calls it."""
    graph, keys = _merged(tasks)
    graph = cull(graph, keys)[0]  # it may be sent to a worker, which needs nothing else
    return lambda number: _computed(cull(graph, [keys[number]])[0], keys[number], get_sync)


def are_independent(tasks: Sequence[Delayed]) -> bool:
    """Whether each task can be computed alone, anywhere: no two need the same task, and none a result on a cluster."""
    graph, keys = _merged(tasks)
    if external_keys(graph) or any(hasattr(type(getattr(node, "value", node)), "status") for node in graph.values()):
        return False
    return sum(len(cull(graph, [key])[0]) for key in keys) == len(cull(graph, keys)[0])


def _merged(tasks: Sequence[Any]) -> tuple[dict[Any, Any], list[Any]]:
    """The graph of all tasks, and the key of each."""
    tasks = [one for one in tasks if isinstance(one, Delayed)]
    graphs = {id(one.dask): one.dask for one in tasks}
    return dict(HighLevelGraph.merge(*graphs.values()).to_dict()), [one.key for one in tasks]


def _computed(graph: dict[Any, Any], keys: Any, by: Callable[..., Any]) -> Any:
    try:
        with explain_lack_of_memory("a graph in this process", "build it or to run on it"):
            return by(graph, keys)
    except ValueError as error:
        if not (missing := external_keys(graph)):
            raise
        raise InputError(
            f"a lazy frame reads data on a cluster ({min(map(str, missing))}), but the graph is in this process: pass "
            "client=; if that client was closed, make the frame again, or pass frame.compute()"
        ) from error
