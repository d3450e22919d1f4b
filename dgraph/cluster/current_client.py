"""The default cluster: that of the open client, or of the task that this thread runs."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

import dask
from dask.base import named_schedulers


def current_client() -> Any:
    """The default client of this thread; None if work is to run on threads of this process."""
    if (
        "distributed" not in sys.modules or dask.config.get("scheduler", None) in named_schedulers
    ):  # a scheduler in this process
        return None
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None


def secede_from_task() -> None:
    """In a task of a cluster, let other tasks use this thread, like Dask's `compute`: the graph's own tasks may need
    it."""
    from distributed import secede

    with suppress(ValueError, KeyError):  # not in a task, or already seceded
        secede()
