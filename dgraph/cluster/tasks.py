"""One task of Dask's, which calls a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any
from uuid import uuid4

from dask.delayed import Delayed, delayed
from dask.utils import funcname


def task(function: Callable[..., Any], *arguments: Any, on: str | None = None, **options: Any) -> Delayed:
    """A task, wanted on one worker but able to run on any: one pinned to a worker that dies would wait for ever.

    To Dask the items of a list are arguments of their own. Of a list it would look at everything that its items are
    made of, for each of them anew; and within `dask.annotate` want these tasks where the list is wanted."""
    spread, sizes = [], []
    for one in arguments:
        sizes.append(len(one) if isinstance(one, list) else None)
        spread += one if isinstance(one, list) else [one]
    what = funcname(function).strip("_").replace("_", "-")  # Dask's dashboard groups tasks by what precedes the id
    name = f"dgraph-{what}-{uuid4()}"
    made = delayed(partial(_with_lists, function, sizes), pure=False)(*spread, **options, dask_key_name=name)
    if on is not None:
        made.dask.layers[made.key].annotations = {"workers": [on], "allow_other_workers": True}
    return made


def _with_lists(function: Callable[..., Any], sizes: Sequence[int | None], *spread: Any, **options: Any) -> Any:
    """Call a function with arguments of which those with a size are lists."""
    items = iter(spread)
    return function(*(next(items) if size is None else list(islice(items, size)) for size in sizes), **options)
