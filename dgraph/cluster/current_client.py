"""The cluster that nobody names: of the client that is open, or of the task that this thread is in."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

import dask
from dask.base import named_schedulers


def current_client() -> Any:
    """The default client of this thread; None where work is for threads of this process."""
    if "distributed" not in sys.modules or dask.config.get("scheduler", None) in named_schedulers:  # not a client's
        return None
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None


def secede_from_task() -> None:
    """In a task of a cluster: give this thread to other tasks, as Dask's `compute` does, for they may be the
    graph's."""
    from distributed import secede

    with suppress(ValueError, KeyError):  # in no task; or it has done so already
        secede()
