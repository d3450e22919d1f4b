"""Dask tasks that call a function, named after it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any
from uuid import uuid4

from dask.delayed import Delayed, delayed


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
